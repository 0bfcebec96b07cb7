//! Simulation in virtual time: a [scenario](rospin_scenario) runs on the engine's scheduling core, without threads and
//! without waiting.
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
//! # Order of an instant
//! At one instant, things happen in this order, as in the engine's loop:
//! 1. Runs whose execution time is over end, by thread, and publish.
//! 2. Events from outside happen, in the order of the scenario: messages are queued, the executors of their receivers
//!    are notified, awaits end, segments of accelerators end.
//! 3. Each thread whose run ended drains its executor's inbox and completes its activation, which frees the group. If
//!    messages are left that were there when it took its own, the entity is released with the arrival of the oldest.
//! 4. Parked threads that were notified, or whose timer is due, become runnable.
//! 5. The cores go to the most urgent threads.
//! 6. Threads with a core pick one after the other, by number. Each drains the inbox (messages first, in the order of
//!    registration, then due timers), asks the scheduler, takes the item, and runs or parks. That takes no time.
//!
//! This repeats until nothing is left to do at the instant, because a run may take no time.
//!
//! # Actions of a thread
//! As in the engine, a message's release is its arrival, and a timer's is its due time. A message that is displaced
//! leaves its release, and so its deadline, to the callback's next run. A thread keeps its core between two callbacks.
//! A notification wakes the thread that has been parked longest. A thread that gets work wakes one more if there may be
//! more work, or if no parked thread watches the next timer. Only one parked thread watches timers; the others stay
//! asleep.
//!
//! # Actions of the OS
//! The threads of an executor have one priority, and a larger one preempts a smaller one. Equal priorities are served
//! in the order of becoming runnable, and a preempted thread continues first (`SCHED_FIFO`). A thread may use the
//! cores of its executor. It moves to another core whenever that lets a more urgent thread, or one more thread, run.
//! Switching takes no time.
//!
//! # Actions of an accelerator
//! The scheduling core picks its segments as it picks those of a `rospin-accelerator`: when a request comes, and when a
//! segment ends, before anything else happens. Requests that come at the same instant come by the numbers of their
//! threads.
//!
//! # Locks
//! A thread that waits for a lock leaves its core, and lends its priority to the thread that holds the lock. On
//! release, the most urgent waiting thread gets the lock (`PTHREAD_PRIO_INHERIT`).

#![forbid(unsafe_code)]

mod agenda;
mod clocks;
mod cpu;
mod devices;
mod driver;
mod error;
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

pub use error::SimulationError;
pub use event::{Event, Observer, What, render};
pub use outcome::{AcceleratorOutcome, CallbackOutcome, ChainOutcome, Outcome, PollingPoint, Run};
pub use simulation::Simulation;
pub use statistics::Statistics;
