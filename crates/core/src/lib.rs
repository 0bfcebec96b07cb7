//! The scheduling model of rospin. It decides which callback runs next, without threads, clocks or I/O.
//!
//! A driver is the engine with real threads, or a simulator with virtual time. It tells a [`Scheduler`] of events
//! ([`release`](Scheduler::release), [`complete`](Scheduler::complete)). It asks for the next callback
//! ([`next`](Scheduler::next)), and for the time until which it may sleep ([`next_due`](Scheduler::next_due)). The
//! order is decided by a [`Policy`], which the user chooses or writes. Every driver calls the same methods, so a
//! simulation makes the same decisions as production.
//!
//! ```
//! use rospin_core::{EntityKind, EntitySpec, GroupKind, Instant, Priority, Scheduler, ThreadIndex};
//! use rospin_core::policy::FixedPriority;
//!
//! let mut scheduler = Scheduler::new(Box::new(FixedPriority::new()));
//! let group = scheduler.add_group(GroupKind::MutuallyExclusive);
//! let map = scheduler.add_entity(EntitySpec::new("map", EntityKind::Subscription, group)).unwrap();
//! let stop = scheduler
//!     .add_entity(EntitySpec::new("stop", EntityKind::Subscription, group).priority(Priority(9)))
//!     .unwrap();
//!
//! let now = Instant::ZERO;
//! scheduler.release(now, map);
//! scheduler.release(now, stop);
//! let first = scheduler.next(now, ThreadIndex(0)).unwrap();
//! assert_eq!(first.entity, stop, "the more urgent one, although it was released later");
//! assert!(scheduler.next(now, ThreadIndex(1)).is_none(), "its group is taken");
//! scheduler.complete(now, &first);
//! assert_eq!(scheduler.next(now, ThreadIndex(0)).unwrap().entity, map);
//! ```

#![forbid(unsafe_code)]

mod activation;
pub mod chain;
mod entity;
mod group;
mod heap;
mod id;
mod os;
pub mod policy;
pub mod recording;
mod ros_time;
mod scheduler;
mod time;
mod timer;
pub mod trace;

pub use activation::Activation;
pub use chain::{Chain, ChainError, Criticality, PriorityMap};
pub use entity::{DEPTH_MAX, EntityKind, EntitySpec, Priority};
pub use group::{GroupKind, Groups};
pub use id::{EntityId, GroupId, ThreadIndex};
pub use os::{OsScheduling, OsSchedulingError};
pub use policy::{Order, Policy};
pub use ros_time::Time;
pub use scheduler::{AddError, Release, Repeated, Scheduler};
pub use time::Instant;
pub use timer::{ClockKind, Overrun, TimerSpec};
