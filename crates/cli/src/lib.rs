//! The `rospin` command: what a machine can promise, whether the deadlines of a described system hold, simulation, and
//! deployment files.
//!
//! `rospin lab ARGS` runs the program `rospin-lab`, which has the experiments and a workspace of its own.

mod action;
mod analyze;
mod bag;
mod bridge;
mod command_line;
mod complete;
mod demo;
mod deploy;
mod doctor;
#[cfg(test)]
mod faults;
mod interface;
mod isolated;
mod lab;
mod launch;
mod lifecycle;
mod manual;
mod node;
mod param;
mod replay;
mod ros;
mod scenario_file;
mod service;
mod simulate;
mod top;
mod topic;
mod trace;

pub use command_line::main;
