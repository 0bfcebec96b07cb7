//! All callbacks at once: response times and the jitter that they pass on depend on each other.
//!
//! The holistic iteration of Tindell and Clark (1994), with the arrival curves of compositional analysis: start from the
//! execution times, compute every bound with the jitter that the bounds so far give, until nothing changes. Each bound
//! grows with the others, so what is reached is the least solution; that a solution is a bound follows by induction over
//! the ends of activations: the first one to exceed its bound would have been delayed by activations that did not.

use rospin_core::EntityKind;

use crate::arrivals::Arrivals;
use crate::system::System;
use crate::{parallel, suspension, uniprocessor};

/// After as many rounds, what still changes is given up.
const ROUNDS_MAX: usize = 64;

/// What is known in a round.
pub(crate) struct Known<'a> {
    pub(crate) system: &'a System,
    /// Of messages at the time they are sent, of timers when they are due.
    pub(crate) arrivals: Vec<Option<Arrivals>>,
    /// From there to the end; `None` if there is no bound.
    pub(crate) responses: Vec<Option<u64>>,
    /// Until a message is received, by core.
    pub(crate) receiving: Vec<Option<u64>>,
}

/// A bound and how it came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) bound: Option<u64>,
    pub(crate) method: &'static str,
}

/// What came of all callbacks.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) found: Vec<Found>,
    pub(crate) arrivals: Vec<Option<Arrivals>>,
}

impl<'a> Known<'a> {
    /// What is known in the end.
    pub(crate) fn of(system: &'a System, solution: &Solution) -> Self {
        let arrivals = solution.arrivals.clone();
        let responses = solution.found.iter().map(|found| found.bound).collect();
        let mut known = Self { system, arrivals, responses, receiving: Vec::new() };
        known.receiving = (0..system.cores.len()).map(|core| uniprocessor::receiving(&known, core)).collect();
        known
    }

    fn propagate(&mut self) {
        for &callback in &self.system.order {
            let plan = &self.system.callbacks[callback];
            self.arrivals[callback] = if plan.publishers.is_empty() {
                Some(plan.source.clone())
            } else {
                let own = if plan.source.is_never() { None } else { Some(Some(plan.source.clone())) };
                let sent = plan.publishers.iter().map(|publisher| self.sent(*publisher));
                let parts: Option<Vec<_>> = own.into_iter().chain(sent).collect();
                parts.map(|mut parts| if parts.len() == 1 { parts.remove(0) } else { Arrivals::Sum(parts) })
            };
        }
        self.receiving = (0..self.system.cores.len()).map(|core| uniprocessor::receiving(self, core)).collect();
    }

    /// What a callback sends: as often as it is released, with the jitter of its response time.
    pub(crate) fn sent(&self, publisher: usize) -> Option<Arrivals> {
        let jitter = self.responses[publisher]?.saturating_sub(self.system.callbacks[publisher].shortest);
        Some(self.arrivals[publisher].as_ref()?.later(jitter))
    }

    /// How much later than it is sent or due an activation can be seen by its executor.
    pub(crate) fn delay(&self, callback: usize) -> Option<u64> {
        let plan = &self.system.callbacks[callback];
        let core = self.system.executors[plan.executor].core;
        if plan.kind == EntityKind::Timer { Some(0) } else { self.receiving[core] }
    }

    /// Arrivals as the executor sees them.
    pub(crate) fn seen(&self, callback: usize) -> Option<Arrivals> {
        let delay = self.delay(callback)?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(delay))
    }

    /// As long as an activation of this callback may be under way, its execution can be anywhere in that time.
    pub(crate) fn spread(&self, callback: usize) -> Option<Arrivals> {
        let response = self.responses[callback]?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(response))
    }

    fn bound(&self, callback: usize) -> Found {
        let plan = &self.system.callbacks[callback];
        let executor = &self.system.executors[plan.executor];
        let found = if executor.threads > 1 {
            parallel::bound(self, callback)
        } else if suspension::concerns(self.system, callback) {
            suspension::bound(self, callback)
        } else {
            uniprocessor::bound(self, callback)
        };
        Found { bound: found.bound.filter(|bound| *bound <= self.system.limit), ..found }
    }
}

/// Bounds for all callbacks.
pub(crate) fn solve(system: &System) -> Solution {
    let count = system.callbacks.len();
    let first = |callback: usize| Some(system.callbacks[callback].cost() + system.callbacks[callback].waits);
    let mut known = Known {
        system,
        arrivals: vec![None; count],
        responses: (0..count).map(first).collect(),
        receiving: vec![Some(0); system.cores.len()],
    };
    let mut found = vec![Found { bound: None, method: "" }; count];
    for round in 0.. {
        known.propagate();
        let mut changed = false;
        for &callback in &system.order {
            let now = known.bound(callback);
            found[callback].method = now.method;
            let before = known.responses[callback];
            let grown = before.zip(now.bound).map(|(before, now)| before.max(now));
            if grown != before {
                changed = true;
                // Beyond the rounds: each further one gives at least one callback up, so this ends.
                known.responses[callback] = if round < ROUNDS_MAX { grown } else { None };
            }
        }
        if !changed || !system.is_interdependent() {
            break;
        }
    }
    for (found, response) in found.iter_mut().zip(&known.responses) {
        found.bound = *response;
    }
    Solution { found, arrivals: known.arrivals }
}
