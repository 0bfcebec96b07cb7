//! Instruments of rospin's commands and experiments.
//!
//! [`machine`] describes the machine, [`setup`] chooses core and scheduling of the measuring threads, [`wake_up`]
//! records how late threads start, [`timer`] has the two timers that every other one is compared with, [`process`]
//! measures the use of processor and memory, [`others`] what other programs use of it, [`callbacks`] notes what the
//! callbacks of an executor see, and [`stats`] summarises many values. Nothing here prints.

pub mod callbacks;
pub mod machine;
pub mod others;
pub mod process;
pub mod setup;
pub mod stats;
pub mod timer;
pub mod wake_up;
