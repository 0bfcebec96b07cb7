//! Nodes that meet over the loopback interface: one program, because linking one takes longer than compiling most of
//! these files. Tests that install a logger or need networks of their own are programs of their own.

mod actions;
mod clock;
#[path = "../common/mod.rs"]
mod common;
mod cyclonedds;
mod foreign;
mod graph;
mod isolation;
mod keep_all;
mod large;
mod malformed;
mod many;
mod parameters;
mod restart;
mod services;
mod topics;
