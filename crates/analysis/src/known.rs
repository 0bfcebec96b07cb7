//! Values that one round of the analysis uses and produces, and the solution that the rounds lead to.
//!
//! The solvers of single callbacks read them, and [`solve`](crate::solve) writes them. This module uses no solver.

use response_time_analysis::supply::Dedicated;
use rospin_core::EntityKind;

use crate::arrivals::Arrivals;
use crate::budget::{Budget, Stop};
use crate::search::Search;
use crate::system::System;
use crate::window::{Supply, at_least};

/// Units of work for each callback whose arrivals are gathered before a search begins.
pub(crate) const GATHERING: u64 = 10;

/// Arrivals and bounds in one round of the analysis, from which the bounds of the next round are calculated.
pub(crate) struct Known<'a> {
    pub(crate) system: &'a System,
    pub(crate) budget: &'a Budget,
    /// Arrivals, by callback: of messages at the times at which they are sent, of timers at their due times. `None` if
    /// they have no bound.
    pub(crate) arrivals: Vec<Option<Arrivals>>,
    /// Bounds of the times from those arrivals to the ends, by callback; `None` if there is no bound.
    pub(crate) responses: Vec<Option<u64>>,
    /// Bounds of the times until a message is received, by core; `None` if there is no bound.
    pub(crate) receiving: Vec<Option<u64>>,
    /// Bounds of the times that activations await something in total, by callback; `None` if there is no bound.
    pub(crate) waits: Vec<Option<u64>>,
    /// By callback: bounds up to this one need not be exact, since only longer ones are asked for. Empty if all must be
    /// exact.
    pub(crate) thresholds: Vec<u64>,
    /// True if bounds may follow from the depths of queues.
    pub(crate) counts_queues: bool,
}

/// Bound of a callback's response time, and the analysis that found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// Longest time from release to end, in nanoseconds; `None` if no bound was found.
    pub(crate) bound: Option<u64>,
    pub(crate) method: &'static str,
    /// Reason for the missing bound; without a meaning if there is a bound.
    pub(crate) stop: Stop,
}

impl Found {
    /// Returns the shorter of this bound and another one, with the name of its analysis.
    pub(crate) fn at_most(self, other: Option<(u64, &'static str)>) -> Self {
        match other {
            Some((length, method)) if self.bound.is_none_or(|bound| length < bound) => {
                Self { bound: Some(length), method, ..self }
            }
            _ => self,
        }
    }
}

/// Bounds and arrivals of all callbacks, by callback: the result of the analysis.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) found: Vec<Found>,
    pub(crate) arrivals: Vec<Option<Arrivals>>,
    /// Bounds of the times that activations await something in total.
    pub(crate) waits: Vec<Option<u64>>,
    /// The solution that holds for queues of any depth, if this one follows from their depths.
    pub(crate) deep: Option<Box<Self>>,
}

impl Solution {
    /// Returns the solution that holds for queues of any depth.
    pub(crate) fn for_any_depth(&self) -> &Self {
        self.deep.as_deref().unwrap_or(self)
    }
}

impl<'a> Known<'a> {
    /// Returns the values of a solution, as if they were those of a round.
    pub(crate) fn of(system: &'a System, solution: &Solution, budget: &'a Budget) -> Self {
        let arrivals = solution.arrivals.clone();
        let responses = solution.found.iter().map(|found| found.bound).collect();
        let waits = solution.waits.clone();
        let (receiving, thresholds) = (Vec::new(), Vec::new());
        let counts_queues = solution.deep.is_some();
        let mut known = Self { system, budget, arrivals, responses, receiving, waits, thresholds, counts_queues };
        known.receiving = (0..system.cores.len()).map(|core| known.receiving_on(core)).collect();
        known
    }

    /// Passes arrivals on to receivers. Returns the callbacks whose arrivals have changed.
    pub(crate) fn propagate(&mut self) -> Vec<usize> {
        let mut changed = Vec::new();
        for &callback in &self.system.order {
            let plan = &self.system.callbacks[callback];
            let now = if plan.is_join() {
                self.joined(callback)
            } else if plan.publishers.is_empty() {
                Some(plan.source.clone())
            } else {
                let own = if plan.source.is_never() { None } else { Some(Some(plan.source.clone())) };
                let sent = (0..plan.publishers.len()).map(|place| self.sent(callback, place));
                own.into_iter().chain(sent).collect::<Option<Vec<_>>>().map(Arrivals::sum)
            };
            if now != self.arrivals[callback] {
                self.arrivals[callback] = now;
                changed.push(callback);
            }
        }
        changed
    }

    /// Returns what the publisher at `place` of its [publishers](crate::system::Callback::publishers) sends to a
    /// callback: as often as that is released, with the jitter of its response time and of the way. No more activations
    /// of it end in an interval than are released there and were held when it began, however long its response time is.
    pub(crate) fn sent(&self, receiver: usize, place: usize) -> Option<Arrivals> {
        let plan = &self.system.callbacks[receiver];
        let (publisher, way) = (plan.publishers[place], plan.ways[place]);
        let way = way.longest - way.shortest;
        let arrivals = self.arrivals[publisher].as_ref()?;
        let sender = &self.system.callbacks[publisher];
        let jitter = self.responses[publisher].map(|response| response.saturating_sub(sender.shortest));
        let held = self.held(publisher);
        match (jitter, held) {
            (Some(jitter), held) if held.is_none_or(|held| arrivals.more(jitter) <= held) => {
                Some(arrivals.later(jitter.saturating_add(way)))
            }
            (_, Some(held)) => Some(Arrivals::sum(vec![arrivals.later(way), Arrivals::Once { count: held }])),
            _ => None,
        }
    }

    /// Returns the largest number of activations of a callback that wait or have begun at one time, by what its queue
    /// holds; `None` if bounds must hold for queues of any depth, or if messages also wait for the receive thread.
    pub(crate) fn held(&self, callback: usize) -> Option<u64> {
        (self.counts_queues && self.system.receive == 0).then(|| self.system.callbacks[callback].held())
    }

    /// Returns how many activations of a callback can be under way at once, waiting or not; `None` if that has no
    /// bound.
    pub(crate) fn at_once(&self, callback: usize) -> Option<u64> {
        let by_response =
            self.arrivals[callback].as_ref().zip(self.responses[callback]).map(|(all, response)| all.number(response));
        by_response.into_iter().chain(self.held(callback)).min()
    }

    /// Returns the releases of a join; `None` if those of an input have no bound.
    fn joined(&self, callback: usize) -> Option<Arrivals> {
        let plan = &self.system.callbacks[callback];
        let input = |input: usize| {
            let outside = &plan.joined[input].arrivals;
            let own = if outside.is_never() { None } else { Some(Some(outside.clone())) };
            let sent = plan.of_input(input).map(|place| self.sent(callback, place));
            own.into_iter().chain(sent).collect::<Option<Vec<_>>>().map(Arrivals::sum)
        };
        let inputs = (0..plan.joined.len()).map(input).collect::<Option<Vec<_>>>()?;
        Some(Arrivals::Joined { inputs, depth: plan.depth })
    }

    /// Returns how much later than it is sent or due an activation can be seen by its executor; `None` if receiving has
    /// no bound.
    pub(crate) fn delay(&self, callback: usize) -> Option<u64> {
        let plan = &self.system.callbacks[callback];
        let core = self.system.executors[plan.executor].core;
        if plan.kind == EntityKind::Timer { Some(0) } else { self.receiving[core] }
    }

    /// Returns the arrivals as the executor sees them; `None` if they have no bound.
    pub(crate) fn seen(&self, callback: usize) -> Option<Arrivals> {
        let delay = self.delay(callback)?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(delay))
    }

    /// Returns the arrivals of the callback's execution, which can be anywhere in the time for which an activation may
    /// be in flight.
    pub(crate) fn spread(&self, callback: usize) -> Option<Arrivals> {
        let response = self.responses[callback]?;
        self.arrivals[callback].as_ref().map(|arrivals| arrivals.later(response))
    }

    /// Returns the threshold up to which the bound of a callback need not be exact; zero if it must be exact.
    pub(crate) fn enough(&self, callback: usize) -> u64 {
        self.thresholds.get(callback).copied().unwrap_or(0)
    }

    /// Returns the least length, from `start` on, that gives an executor enough time for the demand in it; see
    /// [`Budget::fixed_point`].
    pub(crate) fn fixed_point(
        &self,
        executor: usize,
        start: u64,
        weight: u64,
        demand: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let supply = Supply::of(&self.system.executors[executor]);
        self.budget.fixed_point(&supply, self.system.limit, start, weight, demand)
    }

    /// Returns when the work of another callback arrives: at any time of its response if it waits in between or for its
    /// group, and otherwise as its executor sees it.
    pub(crate) fn work_arrivals(&self, callback: usize) -> Option<Arrivals> {
        if self.system.is_late(callback) { self.spread(callback) } else { self.seen(callback) }
    }

    /// Returns the arrivals of the messages that the receive thread has to handle on a core: none if receiving costs
    /// nothing, and `None` if a callback's arrivals have no bound.
    pub(crate) fn receive_load(&self, core: usize) -> Option<impl Iterator<Item = Arrivals>> {
        let system = self.system;
        let executors = system.cores[core].executors.iter();
        let callbacks = executors.flat_map(|executor| &system.executors[*executor].callbacks);
        let received =
            callbacks.filter(|callback| system.receive > 0 && system.callbacks[**callback].kind != EntityKind::Timer);
        let arrivals: Option<Vec<_>> = received.map(|callback| self.arrivals[*callback].clone()).collect();
        arrivals.map(Vec::into_iter)
    }

    /// Returns how long it takes until a message on this core is received; `None` if that has no bound. The receive
    /// thread serves messages first-in first-out, and nothing is more urgent.
    pub(crate) fn receiving_on(&self, core: usize) -> Option<u64> {
        let load: Vec<_> = self.receive_load(core)?.collect();
        if load.is_empty() {
            return Some(0);
        }
        let (all, cost) = (Arrivals::sum(load), self.system.receive);
        let demand = |length| all.number(length).saturating_mul(cost);
        let start = at_least(0, std::iter::once((&all, cost)));
        let limit = self.system.limit;
        let length = self.budget.fixed_point(&Supply::Whole(Dedicated::new()), limit, start, all.weight(), demand)?;
        let search = Search::of_window(self.budget, length);
        search.longest(|at| Some(demand(at + 1)), |at| Some(all.next_step(at + 1)? - 1))
    }
}
