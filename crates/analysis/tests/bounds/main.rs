//! Bounds against simulations, published figures and searches through all schedules: one program, because linking one
//! takes longer than compiling most of these files.

mod accelerators;
mod always;
mod anything;
mod assignments;
mod book;
mod busy;
mod chains;
mod changes;
mod circles;
mod common;
mod drawn;
mod inheritance;
mod inside;
mod large;
mod locks;
mod migrating;
mod paper;
mod polled;
mod queues;
mod random;
mod refusals;
#[path = "../../../sim/tests/simulator/common/mod.rs"]
mod scenarios;
mod several;
mod shallow;
mod starvation;
#[path = "../../benches/systems/mod.rs"]
mod systems;
mod threads;
mod traffic;
mod weakly;
mod witness;
