//! Instruments of rospin's commands and experiments.
//!
//! [`machine`] is where something is measured, [`setup`] what the measuring threads have of the operating system, [`wake_up`] how late
//! threads are, [`timer`] the two timers that every other one is compared with, [`process`] what a process uses, and [`stats`] what
//! is made of many values. Nothing here prints.

pub mod machine;
pub mod process;
pub mod setup;
pub mod stats;
pub mod timer;
pub mod wake_up;
