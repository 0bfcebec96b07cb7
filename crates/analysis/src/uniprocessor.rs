//! Synchronous callbacks of executors with one thread, which may share a core.
//!
//! Theorems and proofs: `book/src/analysis/one-thread.md`.

use response_time_analysis::supply::Dedicated;
use rospin_core::EntityKind;

use crate::arrivals::Arrivals;
use crate::budget::Budget;
use crate::end_to_end;
use crate::inside;
use crate::known::{Found, Known};
use crate::locks;
use crate::set::{self, Set};
use crate::suspension;
use crate::system::{Callback, Policy, System};
use crate::window::{Ahead, Blocker, Interferer, Supply, Window};
use crate::within;

const PREEMPTIVE: &str = "preemptive fixed priority (Bozhko and Brandenburg 2020)";
const FIXED_PRIORITY: &str = "non-preemptive fixed priority (Bozhko and Brandenburg 2020)";
const INSIDE: &str =
    "non-preemptive fixed priority, messages inside the executor without jitter (after Choi et al. 2021)";
const EDF: &str = "non-preemptive EDF (Bozhko and Brandenburg 2020)";
const FIFO: &str = "FIFO (Bedarkar et al. 2022)";
const WAIT_SET: &str = "wait set by polling points and busy window (Casini et al. 2019, Blass et al. 2021)";
const SHARED: &str = "busy window of the core: OS priority between executors, no preemption inside";
const LOCKED: &str =
    "busy window of the core, shared locks with priority inheritance (Sha, Rajkumar and Lehoczky 1990)";
const RESERVED: &str = "busy window under a reservation (supply bound of Shin and Lee 2003)";

/// Returns the bound of a callback of an executor with one thread, where nothing suspends itself, with the name of the
/// analysis.
pub(crate) fn bound(known: &Known<'_>, callback: usize) -> Found {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let alone = system.neighbours(plan.executor).next().is_none() && system.receive == 0;
    let applies = inside::applies(system, plan.executor);
    let method = match (executor.reservation, alone, executor.policy) {
        (Some(_), _, _) => RESERVED,
        (None, false, _) if system.shares_locks[executor.core] => LOCKED,
        (None, false, _) if !applies && system.receive == 0 && preempts_like_tasks(system, plan.executor) => PREEMPTIVE,
        (None, false, _) => SHARED,
        (None, true, Policy::Fifo) => FIFO,
        (None, true, Policy::FixedPriority) if applies => INSIDE,
        (None, true, Policy::FixedPriority) => FIXED_PRIORITY,
        (None, true, Policy::Edf) => EDF,
        (None, true, Policy::WaitSet { .. }) => WAIT_SET,
    };
    let bound = window(known, callback).and_then(|window| window.bound()?.checked_add(known.delay(callback)?));
    // A single callback is a chain of one, too. The messages that follow from its own later releases do not come before
    // it.
    let bound = if applies { bound.into_iter().chain(end_to_end::bound(known, &[callback])).min() } else { bound };
    Found { bound, method, stop: known.budget.stop() }
}

/// Returns true if all callbacks of an executor have the same bound: first in, first out, with nothing else on its
/// core.
///
/// Consider an activation that is released at an offset A of a busy window. It ends once all activations that were
/// released from 0 to A have run, whichever callback it belongs to. The longest time from any A to that end is the
/// bound of each callback, since each callback may be the one that is released at A.
pub(crate) fn has_common_bound(known: &Known<'_>, executor: usize) -> bool {
    let comes = |callback: &usize| known.arrivals[*callback].as_ref().is_some_and(|arrivals| arrivals.number(1) > 0);
    let system = known.system;
    let own = &system.executors[executor];
    own.policy == Policy::Fifo
        && own.threads == 1
        && system.receive == 0
        && !system.moves(executor)
        && !system.shares_locks[own.core]
        && system.neighbours(executor).next().is_none()
        && !own.callbacks.iter().any(|callback| system.callbacks[*callback].is_async())
        && own.callbacks.iter().all(comes)
}

/// Returns true if all executors on the core have one callback and a priority of their own: tasks, as in the text
/// books.
fn preempts_like_tasks(system: &System, executor: usize) -> bool {
    let core = &system.cores[system.executors[executor].core];
    let executors = || core.executors.iter().map(|member| &system.executors[*member]);
    executors().all(|member| member.callbacks.len() == 1 && member.reservation.is_none())
        && executors().all(|member| executors().filter(|other| other.os_priority == member.os_priority).count() == 1)
}

/// Returns the busy window of a callback, with all work on its core that matters; `None` if some of that work has no
/// bound.
pub(crate) fn window<'a>(known: &Known<'a>, callback: usize) -> Option<ReadyWindow<'a>> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let mut own = known.seen(callback)?;
    let mut inside = None;
    let mut releasers: &[usize] = &[];
    let applies = inside::applies(system, plan.executor);
    if applies {
        releasers = inside::releasers(system, callback);
        let mut arrivals = inside::arrivals(known, callback, None)?;
        own = arrivals[callback].clone();
        if !releasers.is_empty() {
            // Messages that follow from the callback's own release come after it.
            arrivals = inside::arrivals(known, callback, Some((callback, own.number(1) - 1)))?;
        }
        inside = Some(arrivals);
    } else if set::counts(system, callback) {
        let arrivals = within::arrivals(known, &Set::Core(plan.executor).members(system))?;
        own = arrivals[callback].clone();
        inside = Some(arrivals);
    }
    let of_mate = |mate: usize| match &inside {
        Some(arrivals) => Some(arrivals[mate].clone()),
        None => known.work_arrivals(mate),
    };
    let mut window = ReadyWindow {
        own,
        released_after: releasers.iter().map(|releaser| system.blocking(*releaser)).collect(),
        cost: plan.cost(),
        interferers: Vec::new(),
        blockers: Vec::new(),
        supply: Supply::of(executor),
        limit: system.limit,
        budget: known.budget,
        enough: known.enough(callback),
    };
    let mut has_peers = false;
    let are_shared = system.shares_locks[executor.core];
    for other in system.neighbours(plan.executor) {
        // A thread keeps its core from threads of equal priority until it has nothing left to do.
        let ahead = match other.os_priority.cmp(&executor.os_priority) {
            std::cmp::Ordering::Greater => Ahead::UntilEnd,
            // A thread that waits for a lock leaves its core to threads of equal priority.
            std::cmp::Ordering::Equal if are_shared => Ahead::UntilEnd,
            std::cmp::Ordering::Equal => Ahead::UntilStart,
            std::cmp::Ordering::Less => continue,
        };
        has_peers |= other.os_priority == executor.os_priority;
        for callback in &other.callbacks {
            let arrivals = match &inside {
                Some(arrivals) if !applies => arrivals[*callback].clone(),
                _ => known.work_arrivals(*callback)?,
            };
            window.add(arrivals, system.callbacks[*callback].cost(), ahead);
        }
    }
    let locked = if are_shared { locks::blocking(system, executor) } else { 0 };
    if locked > 0 {
        window.add(Arrivals::Once { count: 1 }, locked, Ahead::UntilEnd);
    }
    for arrivals in known.receive_load(executor.core)? {
        window.add(arrivals, system.receive, Ahead::UntilEnd);
    }
    for &other in executor.callbacks.iter().filter(|other| **other != callback) {
        let cost = system.callbacks[other].cost();
        match order_of(known, callback, other)? {
            Order::Before(ahead) => window.add(of_mate(other)?, cost, ahead),
            Order::Key { lead } => {
                window.add(of_mate(other)?, cost, Ahead::ByKey { lead, overtakes: has_peers });
                // The other callback comes after jobs that are released at least `below` before it.
                let below = u64::try_from(-lead).unwrap_or(0);
                window.blockers.push(Blocker { cost: system.blocking(other), below });
            }
            Order::After if has_peers => {
                window.add(of_mate(other)?, cost, Ahead::BeforeRelease);
            }
            Order::After => window.blockers.push(Blocker { cost: system.blocking(other), below: u64::MAX }),
        }
    }
    if executor.policy == Policy::FixedPriority {
        // No less urgent callback starts in the window, so one that inherits priority held its group before the window.
        let inherited = suspension::inherited(known, callback)?;
        if inherited > 0 {
            window.add(Arrivals::Once { count: 1 }, inherited, Ahead::UntilStart);
        }
    }
    Some(window)
}

/// Returns the busy window of a callback in which only its group is served, on a thread that is always there; `None` if
/// some of the group's work has no bound. A wait set is polled before each activation of the group.
pub(crate) fn group_window<'a>(known: &Known<'a>, callback: usize) -> Option<ReadyWindow<'a>> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let mut window = ReadyWindow {
        own: known.seen(callback)?,
        released_after: Vec::new(),
        cost: plan.cost(),
        interferers: Vec::new(),
        blockers: Vec::new(),
        supply: Supply::Whole(Dedicated::new()),
        limit: system.limit,
        budget: known.budget,
        enough: known.enough(callback),
    };
    for &mate in &plan.mates {
        let cost = system.callbacks[mate].cost();
        let order = match system.executors[plan.executor].policy {
            Policy::WaitSet { .. } if goes_first(system, mate, callback) => Order::Before(Ahead::UntilStart),
            Policy::WaitSet { .. } => Order::After,
            _ => order_of(known, callback, mate)?,
        };
        match order {
            Order::Before(ahead) => window.add(known.seen(mate)?, cost, ahead),
            Order::Key { lead } => {
                window.add(known.seen(mate)?, cost, Ahead::ByKey { lead, overtakes: false });
                let below = u64::try_from(-lead).unwrap_or(0);
                window.blockers.push(Blocker { cost: system.blocking(mate), below });
            }
            Order::After => window.blockers.push(Blocker { cost: system.blocking(mate), below: u64::MAX }),
        }
    }
    Some(window)
}

/// A [`Window`] that owns its arrivals.
#[derive(Clone, Debug)]
pub(crate) struct ReadyWindow<'a> {
    own: Arrivals,
    /// Execution times of the callbacks that release this one at their ends, one of which runs when the window begins;
    /// empty if the callback is released in another way.
    released_after: Vec<u64>,
    cost: u64,
    interferers: Vec<Interferer>,
    blockers: Vec<Blocker>,
    supply: Supply,
    limit: u64,
    budget: &'a Budget,
    enough: u64,
}

impl ReadyWindow<'_> {
    fn add(&mut self, arrivals: Arrivals, cost: u64, ahead: Ahead) {
        self.interferers.push(Interferer { arrivals, cost, ahead });
    }

    /// Returns the last offset at which a release can end later than `due` after it, and the number of releases from
    /// the first such offset to that one. `None` if the window has no bound, or if callbacks of the same executor
    /// release this one.
    pub(crate) fn late(self, due: u64) -> Option<(u64, u64)> {
        let Self { own, cost, interferers, blockers, supply, limit, budget, released_after, .. } = self;
        if !released_after.is_empty() {
            return None;
        }
        let blockers = Blocker::longest(blockers);
        let window = Window { own: &own, cost, interferers, blockers, supply, limit, budget, enough: 0 };
        let (first, last) = window.late(due)?;
        Some((last, own.number(last - first + 1)))
    }

    /// Returns the longest time from release to end; `None` if there is no bound.
    pub(crate) fn bound(self) -> Option<u64> {
        let Self { own, released_after, cost, interferers, blockers, supply, limit, budget, enough } = self;
        let blockers = Blocker::longest(blockers);
        let window = Window { own: &own, cost, interferers, blockers, supply, limit, budget, enough };
        if released_after.is_empty() {
            return window.bound();
        }
        released_after.into_iter().try_fold(0, |longest, releaser| Some(longest.max(window.after(releaser)?)))
    }
}

/// Returns true if `one` comes before `other` in a ready set that has both.
pub(crate) fn goes_first(system: &System, one: usize, other: usize) -> bool {
    let order = |callback: usize| {
        let kind = system.callbacks[callback].kind;
        (kind != EntityKind::Timer, kind, callback)
    };
    order(one) < order(other)
}

/// The order of another callback with respect to the one under analysis, in their executor. `Before` has the
/// activations of it that come before; with `After`, all of them come after.
pub(crate) enum Order {
    Before(Ahead),
    /// By a key, the time of release plus a constant: the other callback may be released up to `lead` later and still
    /// go first.
    Key {
        lead: i64,
    },
    After,
}

/// Returns the order in which the executor serves `other` compared with `callback`; `None` if it depends on something
/// without a bound.
pub(crate) fn order_of(known: &Known<'_>, callback: usize, other: usize) -> Option<Order> {
    let system = known.system;
    let (plan, mate) = (&system.callbacks[callback], &system.callbacks[other]);
    // Keys are times of sending. A message that is sent later may be received while an earlier one is still on its way.
    let delay = known.delay(callback)? as i64;
    Some(match system.executors[plan.executor].policy {
        Policy::Fifo => Order::Key { lead: delay },
        Policy::FixedPriority => match mate.priority.cmp(&plan.priority) {
            std::cmp::Ordering::Greater => Order::Before(Ahead::UntilStart),
            std::cmp::Ordering::Equal => Order::Key { lead: delay },
            std::cmp::Ordering::Less => Order::After,
        },
        Policy::Edf => match (plan.deadline, mate.deadline) {
            (Some(own), Some(its)) => Order::Key { lead: own as i64 - its as i64 + delay },
            (None, Some(_)) => Order::Before(Ahead::UntilStart),
            (Some(_), None) => Order::After,
            (None, None) => Order::Key { lead: delay },
        },
        Policy::WaitSet { timers_inside } => {
            let goes_first = goes_first(system, other, callback);
            let is_timer = |plan: &Callback| !timers_inside && plan.kind == EntityKind::Timer;
            match (is_timer(plan), is_timer(mate)) {
                (true, true) if goes_first => Order::Before(Ahead::UntilStart),
                (true, _) => Order::After,
                (false, true) => Order::Before(Ahead::UntilStart),
                (false, false) => {
                    let waiting = known.arrivals[callback].as_ref()?.number(known.responses[callback]?);
                    Order::Before(Ahead::Rounds(waiting + u64::from(goes_first)))
                }
            }
        }
    })
}
