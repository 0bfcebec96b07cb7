//! Executors, threads and callbacks of a scenario, as the driver represents them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_core::trace::TraceEvent;
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Policy, Priority, PriorityMap,
    Scheduler, ThreadIndex, TimerSpec, policy,
};
use rospin_scenario::draw::{ExecutionTimes, Stream};
use rospin_scenario::{Chain, Fault, Priorities, Scenario};

use crate::error::SimulationError;

/// The system clock's reading when the steady clock shows zero. It is large, so that the clock can be set back without
/// reaching its epoch.
pub(crate) const SYSTEM_START: Instant = Instant::from_millis(1_000_000_000_000);

/// The sink of a scheduler's trace, from which the driver fetches.
#[derive(Clone, Default)]
pub(crate) struct Sink(Arc<Mutex<Vec<TraceEvent>>>);

impl Sink {
    fn push(&self, event: TraceEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Moves the recorded events to the end of `events`.
    pub(crate) fn fetch(&self, events: &mut Vec<TraceEvent>) {
        events.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A notification or a wake-up in an executor's inbox.
///
/// Ordered as the inbox is drained: by callback, as the engine's flags are by registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Signal {
    pub(crate) callback: usize,
    /// The activation whose await ended. `None` for a notification of a message.
    pub(crate) awaited: Option<u64>,
    /// The time of the first notification since the inbox was drained.
    pub(crate) arrival: Instant,
}

/// Stage of an executor's spin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spin {
    NotYet,
    On,
    Halted,
    Returned,
}

/// Executor, with its scheduler and the threads that spin it. Threads and callbacks are numbers over all executors.
pub(crate) struct Executor {
    pub(crate) scheduler: Scheduler,
    pub(crate) sink: Sink,
    /// Numbers of the executor's callbacks, by entity index.
    pub(crate) callbacks: Vec<usize>,
    pub(crate) threads: std::ops::Range<usize>,
    pub(crate) inbox: Vec<Signal>,
    pub(crate) spin: Spin,
    /// Threads that are parked, or were woken and did not run yet. The one that was parked first comes first.
    pub(crate) parked: VecDeque<usize>,
    /// The parked thread that watches the timers, and the due time.
    pub(crate) watch: Option<(usize, Instant)>,
    pub(crate) os_priority: u8,
    /// The cores that its threads may use, a bit per core.
    pub(crate) affinity: u64,
}

/// The state of a thread.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Not spinning.
    Off,
    /// Parked until that time, or until it is woken.
    Parked(Instant),
    /// Asks for work as soon as it has a core.
    Picking,
    /// Runs a callback. The progress is the end time if the thread has a core, or else the remaining time.
    Running(Work, Progress),
    /// Runs a callback that waits for a lock, with the remaining time until its next lock operation.
    Blocked(Work, Duration),
    /// The callback has ended, and its activation is not completed yet.
    Ended(Work),
}

/// Remaining part of a run, up to its next lock operation or its end: the time of its end if the thread has a core, or
/// else the execution time that is left.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    EndsAt(Instant),
    Left(Duration),
}

/// Segment of an activation that is being executed.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) callback: usize,
    pub(crate) activation: Activation,
    pub(crate) item: Item,
    /// Arrival of the oldest message that was left in the queue.
    pub(crate) pending: Option<Instant>,
    /// The lock operations, in reverse order.
    pub(crate) steps: Vec<Step>,
}

/// A lock operation: take or release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) lock: usize,
    /// True if the operation takes the lock, false if it releases it.
    pub(crate) takes: bool,
    /// Execution time from this operation to the next one, or to the end.
    pub(crate) then: Duration,
}

/// A lock with priority inheritance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lock {
    /// Thread that holds the lock.
    pub(crate) owner: Option<usize>,
    /// Threads that wait for it, in the order of arrival.
    pub(crate) waiting: Vec<usize>,
}

/// The item of an activation, from its first segment to its last.
#[derive(Debug)]
pub(crate) struct Item {
    /// The release: arrival of the message, or of an older one that was displaced since the last take, or due time of
    /// the timer.
    pub(crate) release: Instant,
    /// Arrival of the message, or due time of the timer: the age of the data.
    pub(crate) arrival: Instant,
    pub(crate) start: Instant,
    pub(crate) thread: ThreadIndex,
    pub(crate) origins: Vec<Origin>,
    /// True if there was something to take.
    pub(crate) taken: bool,
    /// The number of the activation among those of its callback that took something, from 0.
    pub(crate) number: usize,
}

/// Thread of an executor. Its index counts within the executor.
pub(crate) struct Thread {
    pub(crate) executor: usize,
    pub(crate) index: ThreadIndex,
    pub(crate) phase: Phase,
}

/// The point at which data of a message entered a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) chain: usize,
    /// The place in the chain, from 0, of the last callback that the data went through.
    pub(crate) position: usize,
    /// Release of the chain's first callback.
    pub(crate) release: Instant,
}

/// Message in a queue, with the chains whose data it carries.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) arrival: Instant,
    pub(crate) origins: Vec<Origin>,
}

/// The receiver of a message: a callback, and the number of the topic among those that it joins, or 0 if it joins none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    pub(crate) callback: usize,
    pub(crate) input: usize,
}

/// Route of messages from one callback to another.
pub(crate) struct Route {
    pub(crate) to: Address,
    /// The delay of messages, if there is a link.
    pub(crate) delay: Option<ExecutionTimes>,
    /// The arrival of the last message. Messages keep their order.
    pub(crate) last: Instant,
}

/// Returns the receivers of a message to `name`, which is a topic or a callback.
pub(crate) fn addresses<'a>(scenario: &'a Scenario, name: &'a str) -> impl Iterator<Item = Address> {
    scenario.receivers(name).map(move |(callback, plan)| {
        let input = plan.joins.iter().position(|topic| topic == name).unwrap_or(0);
        Address { callback, input }
    })
}

/// A callback with its queue and its random streams.
pub(crate) struct Callback {
    pub(crate) executor: usize,
    pub(crate) id: EntityId,
    pub(crate) is_timer: bool,
    /// True if several activations run at a time, so that a take reports at once that there is more.
    pub(crate) tells_of_more: bool,
    pub(crate) queue: VecDeque<Message>,
    /// Arrival of the oldest message that was displaced since the last take: the callback has been ready since then.
    pub(crate) displaced: Option<Instant>,
    pub(crate) depth: usize,
    /// True if the callback's notification is in the executor's inbox.
    pub(crate) notified: bool,
    pub(crate) execution: ExecutionTimes,
    /// Critical sections: lock, execution time before it, and execution time in it.
    pub(crate) sections: Vec<(usize, Duration, Duration)>,
    /// Awaits, in order: the wait, and the segment after it.
    pub(crate) awaits: Vec<(ExecutionTimes, ExecutionTimes)>,
    /// Suspended activations, by sequence number.
    pub(crate) suspended: Vec<(u64, Item)>,
    /// A join's queues, by topic.
    pub(crate) inputs: Vec<VecDeque<Message>>,
    /// Receivers of the callback's messages.
    pub(crate) routes: Vec<Route>,
    /// The number of messages that each activation publishes by each route; `None` for one by each.
    pub(crate) outputs: Option<Vec<Vec<u32>>>,
    /// The number of activations that took something.
    pub(crate) starts: usize,
    /// Chains that the callback is part of, with its position in each.
    pub(crate) chains: Vec<(usize, usize)>,
    /// Fault by which activations run longer: its probability, the additional time, and its random numbers.
    pub(crate) overrun: Option<(f64, Duration, Stream)>,
    /// Fault by which notifications are lost: its probability, and its random numbers.
    pub(crate) loss: Option<(f64, Stream)>,
}

impl Callback {
    /// Returns the number of messages that the activation with that number publishes by the route.
    pub(crate) fn messages(&self, activation: usize, route: usize) -> u32 {
        let Some(outputs) = &self.outputs else { return 1 };
        let of = activation.checked_rem(outputs.len()).map(|place| &outputs[place]);
        of.and_then(|counts| counts.get(route)).copied().unwrap_or(0)
    }
}

/// Returns the executors of a scenario. Each has the policy given for it, or else the scenario's. With `everything`,
/// their sinks get all events of their schedulers, otherwise only polling points with the ready sets. The error is a
/// policy that does not exist.
pub(crate) fn executors(
    scenario: &Scenario,
    mut policies: Vec<Option<Box<dyn Policy>>>,
    everything: bool,
) -> Result<Vec<Executor>, SimulationError> {
    let mut executors = Vec::new();
    let mut first_thread = 0;
    for (number, plan) in scenario.executors.iter().enumerate() {
        let chosen = match policies.get_mut(number).and_then(Option::take) {
            Some(policy) => policy,
            None => policy::by_name(&plan.policy).map_err(SimulationError::Policy)?,
        };
        let mut scheduler = Scheduler::new(chosen);
        let sink = Sink::default();
        let into = sink.clone();
        scheduler.set_trace(Some(Box::new(move |_, event| {
            let kept = matches!(event, TraceEvent::PollingPoint(_) | TraceEvent::Collected(_));
            if everything || kept {
                into.push(event);
            }
        })));
        let all_cores = u64::MAX;
        let bits = plan.cores.iter().fold(0, |bits, core| bits | 1_u64 << core);
        executors.push(Executor {
            scheduler,
            sink,
            callbacks: Vec::new(),
            threads: first_thread..first_thread + usize::from(plan.threads),
            inbox: Vec::new(),
            spin: Spin::NotYet,
            parked: VecDeque::new(),
            watch: None,
            os_priority: plan.os_priority,
            affinity: if bits == 0 { all_cores } else { bits },
        });
        first_thread += usize::from(plan.threads);
    }
    Ok(executors)
}

/// Returns the threads of all executors.
pub(crate) fn threads(executors: &[Executor]) -> Vec<Thread> {
    let of = |(number, executor): (usize, &Executor)| {
        let indices = (0..).take(executor.threads.len()).map(ThreadIndex);
        indices.map(move |index| Thread { executor: number, index, phase: Phase::Off })
    };
    executors.iter().enumerate().flat_map(of).collect()
}

/// Returns the priorities of the callbacks: those that are given, or else those that follow from the chains.
pub(crate) fn priorities(scenario: &Scenario) -> Vec<Priority> {
    let derived = match scenario.priorities {
        Priorities::Picas => {
            let chains: Vec<_> = scenario.chains.iter().map(Chain::to_core).collect();
            PriorityMap::picas(&chains).unwrap_or_default()
        }
        _ => PriorityMap::default(),
    };
    let of = |plan: &rospin_scenario::Callback| plan.priority.map(Priority).or_else(|| derived.get(&plan.name));
    scenario.callbacks.iter().map(|plan| of(plan).unwrap_or_default()).collect()
}

/// Registers the callbacks in their order with the schedulers of their executors. The error is a refusal of a
/// scheduler.
pub(crate) fn callbacks(
    scenario: &Scenario,
    executors: &mut [Executor],
    seed: u64,
) -> Result<Vec<Callback>, SimulationError> {
    let groups = groups(scenario, executors);
    let priorities = priorities(scenario);
    let mut callbacks = Vec::new();
    for (number, plan) in scenario.callbacks.iter().enumerate() {
        let Some((_, kind, executor, group)) = groups.iter().find(|(name, ..)| *name == plan.group) else {
            continue;
        };
        let threads = scenario.executors[*executor].threads;
        let in_flight = plan.in_flight(*kind, threads);
        let excludes = *kind == GroupKind::MutuallyExclusive;
        let mut spec = EntitySpec::new(&plan.name, plan.kind, *group)
            .priority(priorities[number])
            .max_in_flight(in_flight)
            .releases_group_at_await(excludes && plan.releases_group_at_await);
        spec.deadline = plan.deadline;
        let host = &mut executors[*executor];
        let is_timer = plan.kind == EntityKind::Timer;
        let id = if is_timer {
            host.scheduler.add_timer(spec, timer(plan)).map_err(SimulationError::Refused)?
        } else {
            host.scheduler.add_entity(spec).map_err(SimulationError::Refused)?
        };
        host.callbacks.push(number);
        let draws = |model, part: &str| ExecutionTimes::new(model, seed, &format!("{}{part}", plan.name));
        let awaits = plan.awaits.iter().enumerate();
        let awaits = awaits.map(|(n, a)| (draws(&a.wait, &format!(" wait {n}")), draws(&a.run, &format!(" run {n}"))));
        callbacks.push(Callback {
            executor: *executor,
            id,
            is_timer,
            tells_of_more: !is_timer && in_flight > 1,
            queue: VecDeque::new(),
            displaced: None,
            depth: plan.depth as usize,
            notified: false,
            execution: draws(&plan.execution, ""),
            sections: sections(scenario, plan),
            awaits: awaits.collect(),
            suspended: Vec::new(),
            inputs: plan.joins.iter().map(|_| VecDeque::new()).collect(),
            routes: routes(scenario, plan, seed),
            outputs: None,
            starts: 0,
            chains: chains_of(scenario, &plan.name),
            overrun: None,
            loss: None,
        });
    }
    inject(scenario, &mut callbacks, seed);
    Ok(callbacks)
}

/// Returns a callback's critical sections: the lock, the execution time before it, and the execution time in it.
fn sections(scenario: &Scenario, plan: &rospin_scenario::Callback) -> Vec<(usize, Duration, Duration)> {
    let of = |section: &rospin_scenario::Section| {
        let lock = scenario.locks.iter().position(|lock| *lock == section.lock)?;
        Some((lock, section.after, section.hold))
    };
    plan.locks.iter().filter_map(of).collect()
}

/// Returns the routes of a callback's messages: one for each receiver of each topic or callback that it publishes to.
fn routes(scenario: &Scenario, plan: &rospin_scenario::Callback, seed: u64) -> Vec<Route> {
    let of = |name: &'_ String| {
        let link = scenario.links.iter().find(|link| link.to.contains(name));
        let route = |to: Address| {
            let part = || format!("{} to {} of {}", plan.name, name, scenario.callbacks[to.callback].name);
            let delay = link.map(|link| ExecutionTimes::new(&link.delay, seed, &part()));
            Route { to, delay, last: Instant::ZERO }
        };
        addresses(scenario, name).map(route).collect::<Vec<_>>()
    };
    plan.publishes.iter().flat_map(of).collect()
}

/// Group in its executor's scheduler: name, kind, number of the executor, and the scheduler's id of the group.
type PlacedGroup<'a> = (&'a str, GroupKind, usize, GroupId);

/// Adds the scenario's groups to the schedulers of their executors.
fn groups<'a>(scenario: &'a Scenario, executors: &mut [Executor]) -> Vec<PlacedGroup<'a>> {
    let place = |group: &'a rospin_scenario::Group| {
        let executor = scenario.executors.iter().position(|executor| executor.name == group.executor)?;
        let id = executors[executor].scheduler.add_group(group.kind);
        Some((group.name.as_str(), group.kind, executor, id))
    };
    scenario.groups.iter().filter_map(place).collect()
}

/// Returns the timer of a callback, which is due on the callback's own clock.
fn timer(plan: &rospin_scenario::Callback) -> TimerSpec {
    let start = match plan.clock {
        rospin_core::ClockKind::System | rospin_core::ClockKind::Ros => SYSTEM_START,
        _ => Instant::ZERO,
    };
    let due = start + plan.first_due();
    let timer = plan.period.map_or(TimerSpec::one_shot(due), |period| TimerSpec::periodic(due, period));
    timer.clock(plan.clock).overrun(plan.overrun)
}

/// Returns the chains that the callback is part of, with its position in each.
fn chains_of(scenario: &Scenario, name: &str) -> Vec<(usize, usize)> {
    let place = |(number, chain): (usize, &Chain)| {
        chain.callbacks.iter().position(|callback| callback == name).map(|position| (number, position))
    };
    scenario.chains.iter().enumerate().filter_map(place).collect()
}

/// Adds faults to the callbacks.
fn inject(scenario: &Scenario, callbacks: &mut [Callback], seed: u64) {
    for (number, fault) in scenario.faults.iter().enumerate() {
        let stream = Stream::new(seed, &format!("fault {number}"));
        let find = |name: &str| scenario.callbacks.iter().position(|callback| callback.name == name);
        match fault {
            Fault::Overrun { callback, probability, extra } => {
                if let Some(callback) = find(callback) {
                    callbacks[callback].overrun = Some((*probability, *extra, stream));
                }
            }
            Fault::LostNotification { callback, probability } => {
                if let Some(callback) = find(callback) {
                    callbacks[callback].loss = Some((*probability, stream));
                }
            }
            _ => {}
        }
    }
}
