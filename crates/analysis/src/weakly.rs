//! Weakly hard deadlines: how many of so many activations in a row may miss theirs.
//!
//! After the typical worst-case analysis of Quinton, Hanke and Ernst (DATE 2012) and Xu et al. (ECRTS 2015). Let O be
//! callbacks without which the bound is within the deadline. Then an activation misses its deadline only if one of O
//! runs in its busy window, and each activation of O runs in one busy window only:
//!
//! - the activation of O is as urgent, and that window does not end before it does; or
//! - it is less urgent and had begun before the window. A window in which an activation of the callback waits for it
//!   lasts beyond its end.
//!
//! So the misses of k activations in a row are no more than the activations of O that run from the begin of the first
//! one's window to the end of the last one, times the misses in one window. The misses in a window are counted by
//! offsets: all releases between the first and the last offset at which a release may miss.
//!
//! Theorems and proofs: `book/src/analysis/joins-locks-reservations.md`.

use crate::known::Known;
use crate::system::System;
use crate::uniprocessor::{self, window};

/// Largest number of other callbacks that are considered.
const OTHERS_MAX: usize = 64;

/// Returns the most misses of `of` activations in a row; `None` if nothing is known. `gap` is the longest time between
/// two releases; without one, nothing is known about a callback that can be late.
pub(crate) fn misses(known: &Known<'_>, callback: usize, of: u64, gap: Option<u64>) -> Option<u64> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let (due, response) = (plan.due?, known.responses[callback]?);
    if response <= due {
        return Some(0);
    }
    let moves = system.moves(plan.executor);
    if moves || system.executors[plan.executor].threads > 1 || system.suspends(callback) {
        return None;
    }
    known.budget.begin(known.budget.whole() / 8);
    let (last, each) = window(known, callback)?.late(due)?;
    let span = (of - 1).checked_mul(gap?)?;
    let reach = last.checked_add(span)?.checked_add(response)?;
    // Number of windows that the other callback's activations can be in, times the misses in each.
    let caused = |other: usize| {
        let under_way = reach.checked_add(known.responses[other]?)?;
        Some(known.arrivals[other].as_ref()?.number(under_way).saturating_mul(each))
    };
    let before = ancestors(system, callback);
    let core = system.executors[plan.executor].core;
    let is_beside = |other: &usize| {
        *other != callback && !before[*other] && system.executors[system.callbacks[*other].executor].core == core
    };
    let mut others: Vec<(u64, usize)> = (0..system.callbacks.len())
        .filter(is_beside)
        .filter_map(|other| Some((caused(other)?, other)))
        .take(OTHERS_MAX)
        .collect();
    // The callback with the fewest activations is tried first: alone, then together with as many of the next ones as
    // are needed.
    others.sort_unstable();
    let holds = |changed: &System| {
        let without = Known {
            system: changed,
            budget: known.budget,
            arrivals: known.arrivals.clone(),
            responses: known.responses.clone(),
            receiving: known.receiving.clone(),
            waits: known.waits.clone(),
            thresholds: Vec::new(),
            counts_queues: known.counts_queues,
        };
        uniprocessor::bound(&without, callback).bound.is_some_and(|bound| bound <= due)
    };
    let silence = |system: &mut System, other: usize| {
        system.callbacks[other].segments.iter_mut().for_each(|segment| *segment = 0);
    };
    for (misses, other) in &others {
        let mut changed = system.clone();
        silence(&mut changed, *other);
        if holds(&changed) {
            return Some((*misses).min(of));
        }
    }
    let (mut changed, mut sum) = (system.clone(), 0_u64);
    for (misses, other) in others {
        silence(&mut changed, other);
        sum = sum.saturating_add(misses);
        if sum >= of {
            break;
        }
        if holds(&changed) {
            return Some(sum);
        }
    }
    Some(of)
}

/// Returns for each callback if its ends lead to releases of this one; true for this one, too.
fn ancestors(system: &System, callback: usize) -> Vec<bool> {
    let mut before = vec![false; system.callbacks.len()];
    before[callback] = true;
    for &receiver in system.order.iter().rev() {
        if before[receiver] {
            system.callbacks[receiver].publishers.iter().for_each(|publisher| before[*publisher] = true);
        }
    }
    before
}
