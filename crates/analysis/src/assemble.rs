//! Assembly of a [`System`] from a scenario. Systems without any sound bound are refused here.

use std::collections::BTreeMap;

use rospin_scenario::Scenario;

use crate::error::AnalysisError;
use crate::overheads::{Overheads, Reservation};
use crate::system::{Callback, System, TIME_MAX, nanos};
use crate::{division, locks, lower, placement};

impl System {
    /// Returns the system of a scenario, without a check of the load of its cores.
    pub(crate) fn new(
        scenario: &Scenario,
        overheads: &Overheads,
        reservations: &BTreeMap<String, Reservation>,
    ) -> Result<Self, AnalysisError> {
        scenario.check()?;
        let mut executors = lower::executors(scenario, reservations)?;
        let mut callbacks = lower::callbacks(scenario, overheads)?;
        for (number, callback) in callbacks.iter().enumerate() {
            executors[callback.executor].callbacks.push(number);
        }
        lower::inject(scenario, &mut callbacks)?;
        lower::link(scenario, &mut callbacks);
        lower::lock(scenario, &mut callbacks);
        let order = order(&callbacks)?;
        let cores = placement::place(scenario, &mut executors, &callbacks)?;
        let mut system = Self {
            components: division::components(&callbacks),
            executors,
            callbacks,
            order,
            cores,
            devices: lower::devices(scenario),
            shares_locks: Vec::new(),
            receive: nanos(overheads.receive),
            has_overheads: *overheads != Overheads::default(),
            limit: TIME_MAX,
        };
        system.check_times()?;
        locks::check(&system, &scenario.locks)?;
        system.shares_locks = (0..system.cores.len()).map(|core| locks::are_shared(&system, core)).collect();
        system.limit = system.divergence_limit();
        Ok(system)
    }

    /// Refuses the first callback that has no execution time, or that nothing releases.
    fn check_times(&self) -> Result<(), AnalysisError> {
        for (callback, never) in self.callbacks.iter().zip(self.never_released()) {
            if callback.cost() == 0 {
                return Err(AnalysisError::NoExecutionTime { callback: callback.name.clone() });
            }
            if never {
                return Err(AnalysisError::NeverReleased { callback: callback.name.clone() });
            }
        }
        Ok(())
    }

    /// Returns for each callback if nothing ever releases it.
    fn never_released(&self) -> Vec<bool> {
        let mut never = vec![true; self.callbacks.len()];
        for &callback in &self.order {
            let plan = &self.callbacks[callback];
            never[callback] = if plan.is_join() {
                let dry = |input: usize| {
                    let mut places = plan.of_input(input);
                    plan.joined[input].arrivals.is_never() && places.all(|place| never[plan.publishers[place]])
                };
                (0..plan.joined.len()).any(dry)
            } else {
                plan.source.is_never() && plan.publishers.iter().all(|publisher| never[*publisher])
            };
        }
        never
    }
}

/// Returns the callbacks in an order in which publishers come before receivers. The error is a cycle.
fn order(callbacks: &[Callback]) -> Result<Vec<usize>, AnalysisError> {
    let mut order = Vec::new();
    let mut placed = vec![false; callbacks.len()];
    while order.len() < callbacks.len() {
        let before = order.len();
        for (number, callback) in callbacks.iter().enumerate() {
            if !placed[number] && callback.publishers.iter().all(|publisher| placed[*publisher]) {
                placed[number] = true;
                order.push(number);
            }
        }
        if order.len() == before {
            return Err(AnalysisError::Cycle { path: cycle(callbacks, &placed) });
        }
    }
    Ok(order)
}

/// Returns a cycle among the callbacks that could not be placed: each of them has a publisher among them.
fn cycle(callbacks: &[Callback], placed: &[bool]) -> Vec<String> {
    let mut path: Vec<usize> = placed.iter().position(|done| !done).into_iter().collect();
    while let Some(last) = path.last() {
        let Some(next) = callbacks[*last].publishers.iter().copied().find(|publisher| !placed[*publisher]) else {
            break;
        };
        let seen = path.iter().position(|known| *known == next);
        path.push(next);
        if let Some(start) = seen {
            path.drain(..start);
            break;
        }
    }
    // Until here, the path runs against the flow of data.
    path.reverse();
    path.into_iter().map(|callback| callbacks[callback].name.clone()).collect()
}
