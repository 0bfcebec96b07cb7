//! Virtual time: a [scenario](rospin_scenario) runs on the engine's scheduling core, without threads and without waiting.
//!
//! ```
//! use rospin_scenario::Scenario;
//! use rospin_sim::Simulation;
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
//!     period = "10 ms"
//!     execution = "1 ms"
//!
//!     [[callback]]
//!     name = "map"
//!     kind = "subscription"
//!     execution = "30 ms"
//!
//!     [[release]]
//!     to = ["map"]
//!     at = ["95 ms"]
//! "#)?;
//! let outcome = Simulation::new(&scenario)?.run()?;
//! let control = &outcome.callbacks[0];
//! assert_eq!(control.overruns, 2, "due at 110 and 120 ms, while `map` runs");
//! assert_eq!(control.response.max.as_millis(), 26, "due at 100 ms, starts at 125 ms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What an instant is made of
//! Things that happen at one instant happen in this order, as they do in the engine's loop:
//! 1. Runs that have had all their processor time end, by thread, and publish.
//! 2. What comes from outside arrives, in the order of the scenario: messages are queued, their receivers' executors are
//!    notified, what was awaited is there.
//! 3. Each thread whose run ended drains its executor's inbox and hands its activation back: the group is free; if
//!    messages are left that were there when it took its own, the entity is released with the arrival of the oldest.
//! 4. Parked threads that were notified, or whose timer is due, can run.
//! 5. The cores go to the most urgent threads.
//! 6. Threads with a core pick, by number, one after the other: each drains the inbox (messages first, in the order of
//!    registration, then due timers), asks the scheduler, takes the item, and runs or parks. That takes no time.
//!
//! All this is repeated until nothing is left to do at this instant, since a run may take no time at all.
//!
//! # What a thread does
//! As in the engine: a message's release is its arrival, a timer's is its due time. A thread keeps its core between two
//! callbacks. A notification wakes the thread that has been parked longest; a thread that got work wakes one more if there
//! may be more, or if there is a timer that no parked thread watches: one of them does, the others sleep on.
//!
//! # What the OS does
//! The threads of an executor have one priority; the larger one preempts the smaller one. At equal priority: first
//! runnable, first served, and who was preempted goes on first (`SCHED_FIFO`). A thread may use the cores of its executor;
//! it changes core whenever that lets a more urgent thread, or one more thread, run. Switching takes no time.
//!
//! A thread that waits for a lock leaves its core and lends its priority to the thread that has it, until that gives it back;
//! then the most urgent thread that waits has it (`PTHREAD_PRIO_INHERIT`).

#![forbid(unsafe_code)]

mod agenda;
mod clocks;
mod cpu;
mod driver;
mod event;
mod locks;
mod mail;
pub mod oracle;
mod outcome;
mod simulation;
mod statistics;
mod system;
mod thread;
mod unfinished;

pub use event::{Event, Observer, What, render};
pub use outcome::{CallbackOutcome, ChainOutcome, Outcome, PollingPoint, Run};
pub use simulation::{Simulation, SimulationError};
pub use statistics::Statistics;
