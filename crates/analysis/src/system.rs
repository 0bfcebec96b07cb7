//! A scenario as the analysis sees it: the longest execution times, arrival curves, who runs where.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_core::EntityKind;
use rospin_scenario::Scenario;

use crate::arrivals::Arrivals;
use crate::chains::Pace;
use crate::error::AnalysisError;
use crate::locks;
use crate::lower;
use crate::overheads::{Overheads, Reservation};
use crate::placement::{self, Core};

/// Times are at most this, 36 years, so that sums of them fit.
const TIME_MAX: u64 = 1 << 60;

/// In which order an executor serves its callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    Fifo,
    FixedPriority,
    Edf,
    WaitSet { timers_inside: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Executor {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) threads: u64,
    pub(crate) os_priority: u8,
    pub(crate) callbacks: Vec<usize>,
    /// Its place in [`System::cores`].
    pub(crate) core: usize,
    pub(crate) reservation: Option<Reservation>,
}

#[derive(Clone, Debug)]
pub(crate) struct Callback {
    pub(crate) name: String,
    pub(crate) executor: usize,
    pub(crate) kind: EntityKind,
    pub(crate) priority: u32,
    /// By which EDF orders.
    pub(crate) deadline: Option<u64>,
    /// By which it is judged: the same, as long as nobody asks what if.
    pub(crate) due: Option<u64>,
    /// The longest times, overheads included: one for each segment.
    pub(crate) segments: Vec<u64>,
    /// The longest time that it awaits something, in all.
    pub(crate) waits: u64,
    /// The shortest time from start to end.
    pub(crate) shortest: u64,
    /// True if some segment or wait may take no time: what comes of it then arrives after others have picked.
    pub(crate) instantaneous: bool,
    /// Others that it excludes, being in one mutually exclusive group.
    pub(crate) mates: Vec<usize>,
    pub(crate) releases_group: bool,
    /// The number of its activations that may be under way at once.
    pub(crate) in_flight: u32,
    pub(crate) depth: u64,
    /// Timers and what comes from outside.
    pub(crate) source: Arrivals,
    /// When those are sure to come, if anything says so.
    pub(crate) pace: Option<Pace>,
    /// Callbacks whose ends release it, as often as they do.
    pub(crate) publishers: Vec<usize>,
    /// For each of those, the way of its messages.
    pub(crate) ways: Vec<Way>,
    /// For a join: arrivals from outside for each of its topics. It has no other source.
    pub(crate) joined: Vec<Outside>,
    /// Locks that it takes, one after the other, and for how long.
    pub(crate) sections: Vec<(usize, u64)>,
    /// Tolerated misses, and of how many deadlines in a row.
    pub(crate) tolerates: Option<(u64, u64)>,
}

/// The way of messages from one callback to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Way {
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    /// The topic of a join.
    pub(crate) input: usize,
}

/// Arrivals from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outside {
    pub(crate) arrivals: Arrivals,
    /// When those are sure to come, if anything says so.
    pub(crate) pace: Option<Pace>,
}

impl Callback {
    /// All its segments.
    pub(crate) fn cost(&self) -> u64 {
        self.segments.iter().sum()
    }

    pub(crate) fn longest_segment(&self) -> u64 {
        self.segments.iter().copied().max().unwrap_or(0)
    }

    /// True if it runs once there is a message of each of several topics.
    pub(crate) const fn is_join(&self) -> bool {
        !self.joined.is_empty()
    }

    /// Places in `publishers` of those that send to one topic of a join.
    pub(crate) fn of_input(&self, input: usize) -> impl Iterator<Item = usize> {
        self.ways.iter().enumerate().filter(move |(_, way)| way.input == input).map(|(place, _)| place)
    }

    pub(crate) const fn is_async(&self) -> bool {
        self.segments.len() > 1
    }

    /// Returns true if its group waits with it.
    pub(crate) fn holds_group(&self) -> bool {
        self.is_async() && !self.mates.is_empty() && !self.releases_group
    }
}

#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) executors: Vec<Executor>,
    pub(crate) callbacks: Vec<Callback>,
    /// Callbacks, publishers before receivers.
    pub(crate) order: Vec<usize>,
    pub(crate) cores: Vec<Core>,
    /// By core, whether executors on it share a lock.
    pub(crate) shares_locks: Vec<bool>,
    /// Time of the middleware's receive thread for a message.
    pub(crate) receive: u64,
    /// Response times beyond this are given up.
    pub(crate) limit: u64,
}

/// In nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(TIME_MAX, |nanos| nanos.min(TIME_MAX))
}

impl System {
    /// Without a look at how much the cores have to do.
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
        refuse_starvation(&executors, &callbacks)?;
        let order = order(&callbacks)?;
        let cores = placement::place(scenario, &mut executors, &callbacks)?;
        let mut system = Self {
            executors,
            callbacks,
            order,
            cores,
            shares_locks: Vec::new(),
            receive: nanos(overheads.receive),
            limit: TIME_MAX,
        };
        system.check_times()?;
        locks::check(&system, &scenario.locks)?;
        system.shares_locks = (0..system.cores.len()).map(|core| locks::are_shared(&system, core)).collect();
        system.limit = system.divergence_limit();
        Ok(system)
    }

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

    /// Activations a nanosecond, by callback.
    pub(crate) fn rates(&self) -> Vec<f64> {
        let mut rates = vec![0.0; self.callbacks.len()];
        for &callback in &self.order {
            let plan = &self.callbacks[callback];
            if plan.is_join() {
                let sent = |input| plan.of_input(input).map(|place| rates[plan.publishers[place]]).sum::<f64>();
                let of = |(input, outside): (usize, &Outside)| outside.arrivals.rate() + sent(input);
                rates[callback] = plan.joined.iter().enumerate().map(of).fold(f64::MAX, f64::min);
                continue;
            }
            let sent: f64 = plan.publishers.iter().map(|publisher| rates[*publisher]).sum();
            rates[callback] = plan.source.rate() + sent;
        }
        rates
    }

    /// Share of its cores' time that each core's callbacks take, receiving included.
    pub(crate) fn utilizations(&self) -> Vec<f64> {
        let rates = self.rates();
        let load = |callback: usize| {
            let plan = &self.callbacks[callback];
            let receive = if plan.kind == EntityKind::Timer { 0 } else { self.receive };
            rates[callback] * (plan.cost() + receive) as f64
        };
        let of = |core: &Core| {
            let callbacks = core.executors.iter().flat_map(|executor| &self.executors[*executor].callbacks);
            callbacks.map(|callback| load(*callback)).sum::<f64>() / core.numbers.len().max(1) as f64
        };
        self.cores.iter().map(of).collect()
    }

    /// The same of all cores, then of all reservations: what is asked for as a share of what there is.
    pub(crate) fn loads(&self) -> Vec<f64> {
        let rates = self.rates();
        let load = |callback: &usize| rates[*callback] * self.callbacks[*callback].cost() as f64;
        let reserved = self.executors.iter().filter_map(|executor| {
            let Reservation { budget, period } = executor.reservation?;
            let share = nanos(budget) as f64 / nanos(period) as f64;
            Some(executor.callbacks.iter().map(load).sum::<f64>() / share)
        });
        let reserved: Vec<f64> = reserved.collect();
        self.utilizations().into_iter().chain(reserved).collect()
    }

    /// Checks that no core and no reservation is asked for more than it has.
    pub(crate) fn check_load(&self) -> Result<(), AnalysisError> {
        for (core, utilization) in self.cores.iter().zip(self.utilizations()) {
            if utilization > 1.0 + 1e-9 {
                let executors = core.executors.iter().map(|executor| self.executors[*executor].name.clone()).collect();
                let core = core.numbers.first().copied().unwrap_or_default();
                return Err(AnalysisError::Overloaded { core, utilization, executors });
            }
        }
        for executor in &self.executors {
            let Some(Reservation { budget, period }) = executor.reservation else { continue };
            let rates = self.rates();
            let load = |callback: &usize| rates[*callback] * self.callbacks[*callback].cost() as f64;
            let share = nanos(budget) as f64 / nanos(period) as f64;
            let utilization = executor.callbacks.iter().map(load).sum::<f64>() / share;
            if utilization > 1.0 + 1e-9 {
                let core = self.cores[executor.core].numbers.first().copied().unwrap_or_default();
                return Err(AnalysisError::Overloaded { core, utilization, executors: vec![executor.name.clone()] });
            }
        }
        Ok(())
    }

    /// Long enough for any response time of interest.
    fn divergence_limit(&self) -> u64 {
        let rates = self.rates();
        let longest = |rate: &f64| if *rate > 0.0 { (1.0 / rate) as u64 } else { 0 };
        let period = rates.iter().map(longest).max().unwrap_or(0);
        let once: u64 = self.callbacks.iter().map(|callback| callback.cost() + callback.waits).sum();
        period.saturating_mul(1_000).saturating_add(once.saturating_mul(1_000)).min(TIME_MAX)
    }
}

/// With several threads, rclcpp's wait set does not poll for a group that is held, and forgets what it did not serve.
fn refuse_starvation(executors: &[Executor], callbacks: &[Callback]) -> Result<(), AnalysisError> {
    for callback in callbacks {
        let executor = &executors[callback.executor];
        let emulated = matches!(executor.policy, Policy::WaitSet { .. }) && executor.threads > 1;
        if let Some(mate) = callback.mates.first().filter(|_| emulated) {
            return Err(AnalysisError::not_analyzable(
                &callback.name,
                format!(
                    "its response time is unbounded, because of starvation: a wait set with several threads passes over \
                     a mutually exclusive group that is held, so `{}` can keep it from running for ever",
                    callbacks[*mate].name
                ),
                "choose another `policy`, one thread, or a group for each",
            ));
        }
    }
    Ok(())
}

/// Publishers before receivers.
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

/// A cycle among what could not be placed: each of those has a publisher among them.
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
    // Against the flow of data until here.
    path.reverse();
    path.into_iter().map(|callback| callbacks[callback].name.clone()).collect()
}
