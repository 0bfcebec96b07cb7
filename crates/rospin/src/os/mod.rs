//! Threads under the control of the operating system: scheduling class and priority, cores, memory, timer slack.
//!
//! What is asked for is set, read back from the kernel, and told: a [`ThreadReport`] says what a thread has and, in words,
//! what it could not have. Whether that ends the program is the user's choice ([`OnShortfall`]).
//!
//! ```
//! use rospin::os::{OsScheduling, ThreadOptions};
//!
//! // For any thread; those of an executor get theirs by `ExecutorOptions::thread`.
//! std::thread::spawn(|| {
//!     let report = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 10 }).apply();
//!     // "SCHED_FIFO 10", or what it has instead, why, and what to do about it.
//!     println!("{report}");
//! });
//! ```

mod apply;
mod cores;
mod kernel;
mod memory;
mod options;
mod report;
mod setup;
mod threads;

pub use rospin_core::{OsScheduling, OsSchedulingError};

pub use apply::{Applied, scheduling_of};
pub use cores::{CoreSet, CoreSetError};
pub use memory::{lock_memory, prefault_stack};
pub use options::{OnShortfall, ThreadOptions};
pub use report::{Shortfall, ThreadReport};
pub(crate) use setup::ThreadSetup;
pub use threads::{ThreadId, threads_of_process};
pub(crate) use threads::{cut_off, named};
