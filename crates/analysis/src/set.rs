//! Sets of callbacks that have a busy window in common.

use rospin_core::EntityKind;

use crate::division::Division;
use crate::system::{Policy, System};

/// Name of the analysis for the window of a thread.
pub(crate) const THREAD: &str = "busy window of the executor, whatever the order inside it";
/// Name of the analysis for the window of a group on a thread of its own.
pub(crate) const GROUP: &str = "busy window of the group, for which there is always a thread";

/// Name of the analysis for the window of a group that shares the threads.
const AMONG: &str = "busy window of the group among all threads, whatever the order inside it";
/// Name of the analysis for the window of several groups, or of all of them.
const TOGETHER: &str = "busy window of groups that send to each other, among all threads, whatever the order inside it";

/// A set of callbacks with a busy window. Two callbacks belong to the same set if these are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Set {
    /// The executors on the core of this one that are no less urgent than it, and this one.
    Core(usize),
    /// The mutually exclusive group whose first callback this is.
    Group(usize),
    /// A unit of an executor with several threads, see [`units`](crate::units).
    Unit {
        executor: usize,
        division: Division,
        /// The least urgency of its callbacks.
        level: u32,
        /// Its first callback.
        first: usize,
    },
}

impl Set {
    /// Returns the name of the analysis.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Core(_) => THREAD,
            Self::Group(_) => GROUP,
            Self::Unit { division: Division::Groups, .. } => AMONG,
            Self::Unit { .. } => TOGETHER,
        }
    }

    /// Returns true if a callback belongs to this set.
    pub(crate) fn has(self, system: &System, callback: usize) -> bool {
        let plan = &system.callbacks[callback];
        match self {
            Self::Core(executor) => {
                let (own, host) = (&system.executors[executor], &system.executors[plan.executor]);
                let shares = own.reservation.is_none() && own.core == host.core && own.os_priority <= host.os_priority;
                plan.executor == executor || shares
            }
            Self::Group(first) => callback == first || plan.mates.first() == Some(&first),
            Self::Unit { executor, division, level, first } => {
                plan.executor == executor
                    && (level == 0 || system.urgency(callback) >= level)
                    && division.unit_of(system, callback) == first
            }
        }
    }

    /// Returns for each callback if it belongs to this set.
    pub(crate) fn members(self, system: &System) -> Vec<bool> {
        (0..system.callbacks.len()).map(|callback| self.has(system, callback)).collect()
    }

    /// Returns true if a chain of these callbacks stays in the set: no message is under way for a time, or waits in a
    /// join.
    pub(crate) fn has_chain(self, system: &System, members: &[usize]) -> bool {
        let passes_at_once = |pair: &[usize]| {
            let receiver = &system.callbacks[pair[1]];
            let mut senders = receiver.publishers.iter().zip(&receiver.ways);
            !receiver.is_join() && senders.all(|(sender, way)| *sender != pair[0] || way.longest == 0)
        };
        members.iter().all(|member| self.has(system, *member)) && members.windows(2).all(passes_at_once)
    }
}

/// Returns true if the busy window in which a callback is analysed is that of its executor's whole set, so that
/// [arrivals](crate::within::arrivals) are those from its beginning on: under first in, first out, and in a wait set,
/// where everything may come before the callback.
pub(crate) fn counts(system: &System, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let is_whole = match executor.policy {
        Policy::Fifo | Policy::WaitSet { timers_inside: true } => true,
        Policy::WaitSet { timers_inside: false } => plan.kind != EntityKind::Timer,
        Policy::FixedPriority | Policy::Edf => false,
    };
    let set = Set::Core(plan.executor);
    let waits = |other: &usize| set.has(system, *other) && system.callbacks[*other].is_async();
    is_whole && system.receive == 0 && !(0..system.callbacks.len()).any(|other| waits(&other))
}
