//! A scenario as the analysis sees it: longest execution times, arrival curves, and the place of each callback.

use std::time::Duration;

use rospin_core::EntityKind;

use crate::accelerators;
use crate::accelerators::{Device, Request};
use crate::arrivals::Arrivals;
use crate::error::AnalysisError;
use crate::overheads::Reservation;

/// Largest time in nanoseconds, 36 years, so that sums of times fit.
pub(crate) const TIME_MAX: u64 = 1 << 60;

/// Order in which an executor serves its callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    Fifo,
    FixedPriority,
    Edf,
    WaitSet { timers_inside: bool },
}

/// Executor as the analysis sees it. Callbacks are places in [`System::callbacks`].
#[derive(Clone, Debug)]
pub(crate) struct Executor {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) threads: u64,
    pub(crate) os_priority: u8,
    pub(crate) callbacks: Vec<usize>,
    /// Place of the executor's core in [`System::cores`].
    pub(crate) core: usize,
    pub(crate) reservation: Option<Reservation>,
}

/// Callback as the analysis sees it. Times are in nanoseconds; other callbacks are places in [`System::callbacks`].
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    pub(crate) name: String,
    /// Name of its group.
    pub(crate) group: String,
    pub(crate) executor: usize,
    pub(crate) kind: EntityKind,
    pub(crate) priority: u32,
    /// Deadline by which EDF orders.
    pub(crate) deadline: Option<u64>,
    /// Deadline by which the bound is judged. It is the same as `deadline`, unless a trial changes it.
    pub(crate) due: Option<u64>,
    /// Longest execution times of the segments, including overheads.
    pub(crate) segments: Vec<u64>,
    /// Longest time that the callback awaits something in total, without waiting for others that use the same
    /// accelerators.
    pub(crate) waits: u64,
    /// Requests to accelerators, in their order. Their device time is part of `waits`.
    pub(crate) requests: Vec<Request>,
    /// Shortest time from start to end.
    pub(crate) shortest: u64,
    /// True if some segment or wait may take no time: messages can then arrive at an instant at which other callbacks
    /// were picked already.
    pub(crate) instantaneous: bool,
    /// Other callbacks of the same mutually exclusive group, in their order; empty for a callback of a reentrant group.
    pub(crate) mates: Vec<usize>,
    /// True if other callbacks of the group can run while it awaits something.
    pub(crate) releases_group: bool,
    /// Largest number of its activations in flight at once.
    pub(crate) in_flight: u32,
    /// Number of messages that its queue holds.
    pub(crate) depth: u64,
    /// Largest number of its activations that wait at one time; more are displaced or skipped.
    pub(crate) waiting_max: u64,
    /// Arrivals of its timer, or from outside.
    pub(crate) source: Arrivals,
    /// Times by which releases are sure to come; `None` if the scenario does not say.
    pub(crate) pace: Option<Pace>,
    /// Callbacks whose ends release it, each as often as it publishes to it.
    pub(crate) publishers: Vec<usize>,
    /// Ways of messages, one for each publisher.
    pub(crate) ways: Vec<Way>,
    /// For a join: arrivals from outside for each of its topics. A join has no other source.
    pub(crate) joined: Vec<Outside>,
    /// Locks that it takes, one after the other, with the times for which it holds them.
    pub(crate) sections: Vec<(usize, u64)>,
    /// Number of tolerated misses, and number of consecutive deadlines that they are counted in.
    pub(crate) tolerates: Option<(u64, u64)>,
}

/// Way of messages from one callback to another, with the shortest and longest time from sending to arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Way {
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    /// Number of the join's topic; 0 if the receiver is no join.
    pub(crate) input: usize,
}

/// Arrivals from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outside {
    pub(crate) arrivals: Arrivals,
    /// Times by which messages are sure to come; `None` if the scenario does not say.
    pub(crate) pace: Option<Pace>,
}

impl Callback {
    /// Returns the execution time of all segments together.
    pub(crate) fn cost(&self) -> u64 {
        self.segments.iter().sum()
    }

    pub(crate) fn longest_segment(&self) -> u64 {
        self.segments.iter().copied().max().unwrap_or(0)
    }

    /// Returns true if it runs once there is a message of each of several topics.
    pub(crate) const fn is_join(&self) -> bool {
        !self.joined.is_empty()
    }

    /// Returns the places in `publishers` of those that send to one topic of a join.
    pub(crate) fn of_input(&self, input: usize) -> impl Iterator<Item = usize> {
        self.ways.iter().enumerate().filter(move |(_, way)| way.input == input).map(|(place, _)| place)
    }

    pub(crate) const fn is_async(&self) -> bool {
        self.segments.len() > 1
    }

    /// Returns the largest number of its activations that are not done at one time, waiting or begun.
    pub(crate) fn held(&self) -> u64 {
        self.waiting_max.saturating_add(u64::from(self.in_flight))
    }

    /// Returns true if the callback keeps its group while it waits.
    pub(crate) fn holds_group(&self) -> bool {
        self.is_async() && !self.mates.is_empty() && !self.releases_group
    }
}

/// Times by which releases are sure to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    /// Longest time between two releases.
    pub(crate) gap: u64,
    /// Latest time of the first release.
    pub(crate) first: u64,
}

impl Pace {
    /// Returns the pace of several sources together: the smallest gap, and the earliest first release. `None` if there
    /// is no source.
    pub(crate) fn least(paces: impl Iterator<Item = Self>) -> Option<Self> {
        paces.reduce(|one, other| Self { gap: one.gap.min(other.gap), first: one.first.min(other.first) })
    }
}

/// Core with its executors, or the cores of one multi-threaded executor, or cores that several executors share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Core {
    /// Numbers of the cores; several for a multi-threaded executor, or for executors with one thread each that move
    /// between them.
    pub(crate) numbers: Vec<u16>,
    pub(crate) executors: Vec<usize>,
}

/// System under analysis: executors, callbacks and cores, which refer to each other by their places in these lists.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) executors: Vec<Executor>,
    pub(crate) callbacks: Vec<Callback>,
    /// Callbacks in an order in which publishers come before receivers.
    pub(crate) order: Vec<usize>,
    pub(crate) cores: Vec<Core>,
    /// For each callback, the first callback of its component, see [`components`](crate::division::components).
    pub(crate) components: Vec<usize>,
    /// Accelerators, in the scenario's order.
    pub(crate) devices: Vec<Device>,
    /// For each core, true if executors on it share a lock.
    pub(crate) shares_locks: Vec<bool>,
    /// Processor time of the middleware's receive thread for a message.
    pub(crate) receive: u64,
    /// True if the executor or the middleware takes time, which may be part of execution times.
    pub(crate) has_overheads: bool,
    /// Largest response time that is searched for.
    pub(crate) limit: u64,
}

/// Returns the duration in nanoseconds, at most [`TIME_MAX`].
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(TIME_MAX, |nanos| nanos.min(TIME_MAX))
}

impl System {
    /// Returns a number that is larger the more urgent a callback is, if its executor serves it before all that is less
    /// urgent whenever its group is free; 0 for other callbacks.
    ///
    /// Fixed priorities are such an order. So is that of timers outside the ready set of a wait set: they go first, by
    /// registration.
    pub(crate) fn urgency(&self, callback: usize) -> u32 {
        let plan = &self.callbacks[callback];
        let executor = &self.executors[plan.executor];
        let is_timer = |callback: usize| self.callbacks[callback].kind == EntityKind::Timer;
        match executor.policy {
            Policy::FixedPriority => plan.priority,
            Policy::WaitSet { timers_inside: false } if is_timer(callback) => {
                let later = executor.callbacks.iter().filter(|other| **other >= callback && is_timer(**other));
                u32::try_from(later.count()).unwrap_or(u32::MAX)
            }
            Policy::WaitSet { .. } | Policy::Fifo | Policy::Edf => 0,
        }
    }

    /// Returns the number of activations per nanosecond, by callback.
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

    /// Returns a load for each entry of `cores`: the share of its time that callbacks and receiving take. For an entry
    /// of several cores, it is the mean of their loads.
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

    /// Returns the loads of all cores, then of all reservations, of all accelerators, and of all mutually exclusive
    /// groups: the time that is asked for as a share of the time that there is.
    pub(crate) fn loads(&self) -> Vec<f64> {
        let rates = self.rates();
        let load = |callback: &usize| rates[*callback] * self.callbacks[*callback].cost() as f64;
        let reserved = self.executors.iter().filter_map(|executor| {
            let Reservation { budget, period } = executor.reservation?;
            let share = nanos(budget) as f64 / nanos(period) as f64;
            Some(executor.callbacks.iter().map(load).sum::<f64>() / share)
        });
        let reserved: Vec<f64> = reserved.collect();
        let groups = self.group_loads().into_iter().map(|(load, _)| load);
        self.utilizations().into_iter().chain(reserved).chain(self.device_loads()).chain(groups).collect()
    }

    /// Returns for each mutually exclusive group of several callbacks, and each callback that does not run at the same
    /// time as itself, its load as a share of the time of one thread, and its callbacks.
    pub(crate) fn group_loads(&self) -> Vec<(f64, Vec<usize>)> {
        let rates = self.rates();
        let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
        for (callback, plan) in self.callbacks.iter().enumerate() {
            // The group's first callback stands for the whole group.
            if plan.in_flight > 1 && plan.mates.is_empty() || plan.mates.first().is_some_and(|mate| *mate < callback) {
                continue;
            }
            let members: Vec<usize> = std::iter::once(callback).chain(plan.mates.iter().copied()).collect();
            let load = |member: &usize| rates[*member] * self.callbacks[*member].cost() as f64;
            groups.push((members.iter().map(load).sum(), members));
        }
        groups
    }

    /// Checks that no core, no reservation, no group and no accelerator is asked for more than it has.
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
        for (utilization, members) in self.group_loads() {
            if utilization > 1.0 + 1e-9 {
                let group = self.callbacks[members[0]].group.clone();
                let callbacks = members.iter().map(|member| self.callbacks[*member].name.clone()).collect();
                return Err(AnalysisError::GroupOverloaded { group, utilization, callbacks });
            }
        }
        for (device, utilization) in self.device_loads().into_iter().enumerate() {
            if utilization > 1.0 + 1e-9 {
                let accelerator = self.devices[device].name.clone();
                let callbacks = accelerators::users(self, device).map(|(_, plan)| plan.name.clone()).collect();
                return Err(AnalysisError::AcceleratorOverloaded { accelerator, utilization, callbacks });
            }
        }
        Ok(())
    }

    /// Returns the callbacks of other executors on the callback's core that may run while it is ready.
    pub(crate) fn elsewhere(&self, callback: usize) -> impl Iterator<Item = usize> + '_ {
        let own = self.callbacks[callback].executor;
        let others = self.neighbours(own).filter(move |other| other.os_priority >= self.executors[own].os_priority);
        others.flat_map(|other| other.callbacks.iter().copied())
    }

    /// Returns the other executors that share the executor's core, unless a reservation separates them.
    pub(crate) fn neighbours(&self, executor: usize) -> impl Iterator<Item = &Executor> {
        let apart = self.executors[executor].reservation.is_some();
        let core = &self.cores[self.executors[executor].core];
        core.executors.iter().filter(move |other| !apart && **other != executor).map(|other| &self.executors[*other])
    }

    /// Returns true if bounds of some callbacks depend on those of others, so that one round is not enough.
    pub(crate) fn is_interdependent(&self) -> bool {
        self.receive > 0
            || self.callbacks.iter().any(|plan| !plan.publishers.is_empty() || plan.is_join() || plan.is_async())
            || self.cores.iter().any(|core| core.numbers.len() > 1 && core.executors.len() > 1)
            || self
                .executors
                .iter()
                .any(|executor| executor.threads > 1 || matches!(executor.policy, Policy::WaitSet { .. }))
    }

    /// Returns true if this executor shares several cores with others, and moves between them.
    pub(crate) fn moves(&self, executor: usize) -> bool {
        let core = &self.cores[self.executors[executor].core];
        core.numbers.len() > 1 && core.executors.len() > 1
    }

    /// Returns true if a callback can wait in the middle of its work: for what it awaits, or for its group.
    pub(crate) fn is_late(&self, callback: usize) -> bool {
        let plan = &self.callbacks[callback];
        plan.is_async() || plan.mates.iter().any(|mate| self.callbacks[*mate].holds_group())
    }

    /// Returns true if the busy window does not hold for a callback of an executor with one thread, since it suspends
    /// itself, or others do.
    pub(crate) fn suspends(&self, callback: usize) -> bool {
        let executor = &self.executors[self.callbacks[callback].executor];
        let by_priority = executor.policy == Policy::FixedPriority;
        self.is_late(callback)
            || (!by_priority && executor.callbacks.iter().any(|other| self.callbacks[*other].is_async()))
    }

    /// Returns how long this callback may still run when a more urgent one becomes ready: a nanosecond less than its
    /// longest segment, unless a callback that takes no time can make the more urgent one ready right after that
    /// segment started.
    pub(crate) fn blocking(&self, callback: usize) -> u64 {
        let instantaneous = self.callbacks.iter().any(|plan| plan.instantaneous);
        self.callbacks[callback].longest_segment().saturating_sub(u64::from(!instantaneous))
    }

    /// Returns a time that is longer than any response time of interest.
    pub(crate) fn divergence_limit(&self) -> u64 {
        let rates = self.rates();
        let longest = |rate: &f64| if *rate > 0.0 { (1.0 / rate) as u64 } else { 0 };
        let period = rates.iter().map(longest).max().unwrap_or(0);
        let once: u64 = self.callbacks.iter().map(|callback| callback.cost() + callback.waits).sum();
        period.saturating_mul(1_000).saturating_add(once.saturating_mul(1_000)).min(TIME_MAX)
    }
}
