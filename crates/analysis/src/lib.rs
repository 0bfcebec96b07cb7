//! Response-time analysis: will every deadline hold, and which priorities make it so.
//!
//! From a [scenario](rospin_scenario) to a proven bound for each callback and chain, with the reason where there is
//! none:
//!
//! ```
//! use rospin_analysis::Analysis;
//! use rospin_scenario::Scenario;
//!
//! let scenario = Scenario::parse(r#"
//!     duration = "1 s"
//!
//!     [[executor]]
//!     name = "main"
//!
//!     [[group]]
//!     name = "node"
//!
//!     [[callback]]
//!     name = "control"
//!     kind = "timer"
//!     priority = 2
//!     period = "10 ms"
//!     execution = "1 ms"
//!
//!     [[callback]]
//!     name = "map"
//!     kind = "timer"
//!     priority = 1
//!     period = "100 ms"
//!     execution = "12 ms"
//! "#)?;
//! let report = Analysis::new(&scenario).run()?;
//! let control = report.callback("control").unwrap();
//! // Due a nanosecond after `map` started, which is not preempted.
//! assert_eq!(control.bound.unwrap().as_nanos(), 12_999_999);
//! assert!(!control.holds, "its deadline is the end of its period");
//! assert!(report.callback("map").unwrap().holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Analyses
//! - One executor with one thread, alone on its core: non-preemptive fixed priority, EDF or first-in first-out; the
//!   emulated wait set by polling points and busy window, timers outside (E1) or inside (E2).
//! - Several of them on one core: executors preempt each other by OS priority, callbacks of one executor do not; with
//!   one callback each, this is the preemptive fixed priority of the text books.
//! - Asynchronous callbacks: segments that are not preempted, suspension counted as jitter, groups that are held with
//!   priority inheritance.
//! - Executors with one thread each that share several cores: interference of threads that are no less urgent.
//! - Locks that executors on one core share, with priority inheritance; deadlines of which some may be missed among so
//!   many in a row.
//! - Several threads: global and non-preemptive, by fixed priority, EDF, first-in first-out or in any order; with a
//!   thread for each group, each of those as on a thread of its own; with more groups than threads, by a busy window
//!   for each group in which the others may keep all threads busy, and, first-in first-out and under EDF, by the age of
//!   what waits. A callback without a bound may starve, and the report says so.
//! - Executors with a [`Reservation`]: the same under a supply bound.
//! - Requests to a device that is shared by priority, such as a GPU: [`device_bounds`], apart from the rest.
//! - Chains: latency, reaction time and data age, with the jitter that callbacks pass on; inside one executor with
//!   fixed priorities without it, since nothing less urgent runs in a busy window.
//!
//! The theorems, with proof sketches, sources and the tests that attack them, are in `book/src/analysis`.
//!
//! Bounds hold for every phase of timers and releases, so a simulation stays below them; how far is up to the phases.
//! An execution time of zero is refused: a callback whose scenario states none has zero.

#![forbid(unsafe_code)]

mod accelerators;
mod ages;
#[cfg(test)]
mod agreement;
mod analysis;
mod apart;
mod arrivals;
mod assemble;
mod assign;
mod assured;
mod budget;
mod busy;
mod chains;
mod change;
mod critical;
mod curves;
mod demand;
mod device;
mod diagnosis;
mod division;
mod end_to_end;
mod error;
mod global;
mod inside;
mod interference;
mod known;
mod left;
mod locks;
mod lower;
mod migrating;
mod overheads;
mod parallel;
mod placement;
mod polled;
mod reason;
mod remedies;
mod report;
mod search;
mod sensitivity;
mod set;
mod solve;
mod starvation;
mod suspension;
mod system;
mod trial;
mod uniprocessor;
mod unit;
mod units;
mod weakly;
mod window;
mod within;

pub use analysis::Analysis;
pub use assign::{Assignment, OsSetting};
pub use budget::Monitor;
pub use change::Change;
pub use device::{DeviceClient, DeviceRules, among_blocks, device_bounds};
pub use diagnosis::Late;
pub use error::AnalysisError;
pub use overheads::{Overheads, Reservation};
pub use report::{AcceleratorLoad, AcceleratorUse, CallbackBound, ChainBound, CoreLoad, Report, Unbounded};
pub use sensitivity::Sensitivity;
pub use trial::Margin;
