//! Messages between callbacks of one executor, under fixed priorities.
//!
//! Compositional analysis gives each link of a chain the jitter of all links before it. Inside an executor that is too
//! pessimistic: under a load of 95 % there is no bound at all. With one thread and fixed priorities more is known.
//! Consider a level, which is a priority, and a busy window of it: an interval in which the executor has something at
//! least as urgent to run, and before which it had nothing. A less urgent callback runs in it only if it had begun
//! before, so:
//! - messages from less urgent callbacks come once: from the one that was running when the window began;
//! - messages from others come as often as those are released in the window, since nothing was left over from before
//!   it.
//!
//! The window ends at a time at which nothing as urgent is left *nor is just being sent*: otherwise a message could
//! enter the next window without its sender's release. The demand counts what follows from every release in the window,
//! so once it is met, nothing more is on its way.
//!
//! A callback that only less urgent ones of its executor release is not blocked by any of them: it is released by the
//! end of one, and from then on none begins. Others may have been released while that one ran, which is why its
//! execution time belongs to the window, but not to the response. The idea is that of PiCAS (Choi et al., RTAS 2021),
//! which gives the later callback of a chain the higher priority for this very reason.
//!
//! Theorems and proofs: `book/src/analysis/chains.md`.

use crate::arrivals::Arrivals;
use crate::known::{GATHERING, Known};
use crate::system::{Callback, Policy, System};

/// Returns true if the argument of this module holds for an executor, and makes a difference.
pub(crate) fn applies(system: &System, executor: usize) -> bool {
    let own = &system.executors[executor];
    let plans = || own.callbacks.iter().map(|callback| &system.callbacks[*callback]);
    // With a peer of the same OS priority less urgent callbacks run while the peer keeps a message from being there,
    // and what a receive thread is about to deliver is left over from before the window.
    let has_peers = system.neighbours(executor).any(|other| other.os_priority == own.os_priority);
    own.policy == Policy::FixedPriority
        && own.threads == 1
        && !system.moves(executor)
        && system.receive == 0
        && !has_peers
        && !plans().any(Callback::is_async)
        && plans().any(|plan| plan.publishers.iter().any(|publisher| system.callbacks[*publisher].executor == executor))
}

/// Returns the arrivals in a busy window of the callback's level, by callback; none for callbacks of other executors
/// and for less urgent ones. `only` limits one callback to a number of arrivals. Returns `None` if arrivals from
/// outside the level have no bound.
pub(crate) fn arrivals(known: &Known<'_>, callback: usize, only: Option<(usize, u64)>) -> Option<Vec<Arrivals>> {
    let system = known.system;
    let level = &system.callbacks[callback];
    let mut found = vec![Arrivals::Sum(Vec::new()); system.callbacks.len()];
    known.budget.spend(GATHERING * system.callbacks.len() as u64);
    // Publishers come before receivers in this order.
    for &receiver in &system.order {
        let plan = &system.callbacks[receiver];
        if plan.executor != level.executor || plan.priority < level.priority {
            continue;
        }
        if let Some((_, count)) = only.filter(|(given, _)| *given == receiver) {
            found[receiver] = Arrivals::Once { count };
            continue;
        }
        if plan.is_join() {
            // Some messages of the topics that it joins may be left over from before the window.
            found[receiver] = known.arrivals[receiver].clone()?;
            continue;
        }
        let mut parts = Vec::new();
        if !plan.source.is_never() {
            parts.push(plan.source.clone());
        }
        for (place, publisher) in plan.publishers.iter().enumerate() {
            let sender = &system.callbacks[*publisher];
            // A message that is under way when the window begins enters it without its sender's release.
            parts.push(match sender.executor == level.executor && plan.ways[place].longest == 0 {
                true if sender.priority < level.priority => Arrivals::Once { count: 1 },
                true => found[*publisher].clone(),
                false => known.sent(receiver, place)?,
            });
        }
        found[receiver] = Arrivals::sum(parts);
    }
    Some(found)
}

/// Returns the callbacks whose ends release this one, if all of them are less urgent ones of its executor and nothing
/// else releases it; otherwise nothing.
pub(crate) fn releasers(system: &System, callback: usize) -> &[usize] {
    let plan = &system.callbacks[callback];
    let is_below = |publisher: &usize| {
        let sender = &system.callbacks[*publisher];
        sender.executor == plan.executor && sender.priority < plan.priority
    };
    let at_once = !plan.is_join() && plan.ways.iter().all(|way| way.longest == 0);
    if at_once && plan.source.is_never() && plan.publishers.iter().all(is_below) { &plan.publishers } else { &[] }
}
