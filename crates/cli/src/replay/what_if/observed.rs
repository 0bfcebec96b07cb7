//! Recorded behaviour of programs, callback by callback: arrivals from outside, execution times, and messages to other
//! callbacks.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rospin_engine::recording::{Event, Step};
use rospin_trace::Recording;
use rospin_trace::names::Name;
use rospin_trace::replay::{Described, Entity, described};

/// The most awaits of an activation that are repeated one by one; later ones are left out.
const AWAITS: usize = 16;

/// The place of the cause "queue full" among [`LOSS_CAUSES`](rospin_engine::recording::LOSS_CAUSES).
const QUEUE_FULL: usize = 0;

/// A callback, as it was recorded.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    /// The place of the recording, the number of the executor, and the entity.
    pub(super) recording: usize,
    pub(super) executor: u16,
    pub(super) entity: Entity,
    /// The period of a timer.
    pub(super) period_ns: Option<u64>,
    /// The depth of its queue; the largest one if it has several, `None` if it has none.
    pub(super) depth: Option<u64>,
    pub(super) activations: Vec<Observation>,
    /// Arrivals from outside, in nanoseconds on the steady clock.
    pub(super) arrivals: Vec<u64>,
    /// Due times that a timer skipped.
    pub(super) overruns: u64,
    /// True if it was ready when the recording ended.
    is_waiting: bool,
    /// Messages that were displaced in its queue, or never arrived.
    pub(super) lost: u64,
}

/// An activation, as it was recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    pub(super) release_ns: u64,
    /// The time for which it waited before its executor ran its first callback. It counts neither as response nor as
    /// lateness.
    pub(super) before_spin_ns: u64,
    pub(super) deadline_ns: Option<u64>,
    pub(super) end_ns: Option<u64>,
    /// The execution time of each segment, and the time that it awaited before each but the first one.
    pub(super) runs_ns: Vec<u64>,
    pub(super) waits_ns: Vec<u64>,
    /// The number of messages to each callback, by its place.
    pub(super) outputs: BTreeMap<usize, u32>,
    /// True if it took a message from a queue of its callback.
    takes: bool,
}

/// An activation that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    callback: usize,
    activation: usize,
    /// The start of its segment, with the processor time of the thread then.
    start_ns: u64,
    cpu_ns: u64,
    suspended_ns: u64,
}

/// Everything that was recorded.
#[derive(Debug, Default)]
pub(super) struct System {
    pub(super) executors: Vec<(usize, Described)>,
    pub(super) callbacks: Vec<Observed>,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// The number of events that are missing.
    pub(super) dropped: u64,
    places: HashMap<(usize, u16, u64), usize>,
}

/// The sender of a message: a callback, and the place of its activation; `None` for a message from outside.
type Sender = Option<(usize, usize)>;

impl System {
    /// Puts together what the recordings say.
    pub(super) fn of(recordings: &[Recording]) -> Self {
        let mut system = Self { begin_ns: u64::MAX, ..Self::default() };
        for (number, recording) in recordings.iter().enumerate() {
            system.recording(number, recording);
        }
        system.begin_ns = system.begin_ns.min(system.end_ns);
        system
    }

    fn recording(&mut self, number: usize, recording: &Recording) {
        for executor in described(recording) {
            for entity in &executor.entities {
                self.places.insert((number, executor.number, entity.bits), self.callbacks.len());
                self.callbacks.push(Observed {
                    recording: number,
                    executor: executor.number,
                    entity: entity.clone(),
                    period_ns: None,
                    depth: None,
                    activations: Vec::new(),
                    arrivals: Vec::new(),
                    overruns: 0,
                    is_waiting: false,
                    lost: 0,
                });
            }
            self.executors.push((number, executor));
        }
        let mut accounts: HashMap<u64, usize> = HashMap::new();
        let mut queues: HashMap<u64, (u64, u64)> = HashMap::new();
        for name in &recording.names {
            match name {
                Name::Entity { executor, entity, account, period_ns, .. } => {
                    if let Some(place) = self.places.get(&(number, *executor, *entity)) {
                        accounts.insert(*account, *place);
                        self.callbacks[*place].period_ns = *period_ns;
                    }
                }
                Name::Queue { queue, account, depth, .. } => _ = queues.insert(*queue, (*account, *depth)),
                _ => {}
            }
        }
        let mut receivers: HashMap<u64, usize> = HashMap::new();
        let mut queue_counts: HashMap<usize, u32> = HashMap::new();
        for (queue, (account, depth)) in queues {
            if let Some(place) = accounts.get(&account) {
                receivers.insert(queue, *place);
                *queue_counts.entry(*place).or_default() += 1;
                let known = self.callbacks[*place].depth.unwrap_or(0);
                self.callbacks[*place].depth = Some(depth.max(known));
            }
        }
        let joins = |place: &usize| queue_counts.get(place).is_some_and(|count| *count > 1);
        let mut follow = Follow { number, current: HashMap::new(), open: HashMap::new(), since: HashMap::new() };
        // Each activation of a callback that joins queues was released by the message that came last.
        let mut sent: HashMap<(u64, u64), (u64, Sender)> = HashMap::new();
        let mut last_input: HashMap<(usize, usize), (u64, Sender)> = HashMap::new();
        for recorded in &recording.events {
            let at = recorded.at.as_nanos();
            self.begin_ns = self.begin_ns.min(at);
            self.end_ns = self.end_ns.max(at);
            let running = follow.current.get(&recorded.thread).copied();
            match recorded.event {
                Event::Queued { queue, ticket, .. } => {
                    let Some(receiver) = receivers.get(&queue) else { continue };
                    if joins(receiver) {
                        sent.insert((queue, ticket), (at, running));
                    } else {
                        self.send(running, *receiver, at);
                    }
                }
                Event::Taken { queue, ticket } => {
                    let (Some(receiver), Some((callback, activation))) = (receivers.get(&queue), running) else {
                        continue;
                    };
                    if *receiver != callback {
                        continue;
                    }
                    self.callbacks[callback].activations[activation].takes = true;
                    if let Some((queued, sender)) = sent.remove(&(queue, ticket)) {
                        let last = last_input.entry((callback, activation)).or_insert((queued, sender));
                        if queued >= last.0 {
                            *last = (queued, sender);
                        }
                    }
                }
                Event::Overrun { executor, entity, count } => {
                    if let Some(place) = self.places.get(&(number, executor, entity)) {
                        self.callbacks[*place].overruns += count;
                    }
                }
                // Encoded messages are no events of their queue, and those that one displaced are not, either. The
                // count has all of them.
                Event::Lost { account, cause, count } if usize::from(cause) == QUEUE_FULL => {
                    if let Some(place) = accounts.get(&account) {
                        self.callbacks[*place].lost += count;
                    }
                }
                Event::Dropped { count } => self.dropped += count,
                _ => self.follow(&mut follow, recorded.thread, at, &recorded.event),
            }
        }
        let mut joined: Vec<_> = last_input.into_iter().collect();
        joined.sort_unstable_by_key(|(of, (queued, _))| (*queued, *of));
        for ((callback, _), (queued, sender)) in joined {
            self.send(sender, callback, queued);
        }
        self.come_from_outside(number);
    }

    /// Notes a message to the callback `to` at the time `at`: as an output of its sender, or as an arrival from
    /// outside.
    fn send(&mut self, from: Sender, to: usize, at: u64) {
        match from {
            Some((callback, activation)) => {
                *self.callbacks[callback].activations[activation].outputs.entry(to).or_default() += 1;
            }
            None => self.callbacks[to].arrivals.push(at),
        }
    }

    /// Adds an arrival from outside for each activation of callbacks without a queue or a period, at its release. A
    /// middleware, a request or a stream released it.
    fn come_from_outside(&mut self, recording: usize) {
        for callback in self.callbacks.iter_mut().filter(|callback| callback.recording == recording) {
            if callback.period_ns.is_none() {
                let others = callback.activations.iter().filter(|activation| !activation.takes);
                // With a queue, an activation that took nothing had a spurious notification, which is no arrival.
                if callback.depth.is_none() {
                    callback.arrivals.extend(others.map(|activation| activation.release_ns));
                }
            }
            callback.arrivals.sort_unstable();
        }
    }

    fn follow(&mut self, follow: &mut Follow, thread: u32, at: u64, event: &Event) {
        let key = |step: &Step| (step.executor, step.entity, step.sequence);
        match event {
            Event::Released { step, .. } | Event::Withdrawn { step } => {
                if let Some(place) = self.places.get(&(follow.number, step.executor, step.entity)) {
                    self.callbacks[*place].is_waiting = matches!(event, Event::Released { .. });
                }
            }
            Event::Dispatched { step, release, cpu_ns, .. } => {
                let Some(place) = self.places.get(&(follow.number, step.executor, step.entity)).copied() else {
                    return;
                };
                let callback = &mut self.callbacks[place];
                callback.is_waiting = false;
                let begun = follow.open.get(&key(step)).copied();
                let since = *follow.since.entry(step.executor).or_insert(at);
                let mut open = begun.unwrap_or_else(|| {
                    let release_ns = release.as_nanos();
                    let before_spin_ns = since.saturating_sub(release_ns);
                    callback.activations.push(Observation { release_ns, before_spin_ns, ..Observation::default() });
                    let activation = callback.activations.len() - 1;
                    Open { callback: place, activation, start_ns: at, cpu_ns: 0, suspended_ns: at }
                });
                if begun.is_some() {
                    let waited = release.as_nanos().saturating_sub(open.suspended_ns);
                    callback.activations[open.activation].waits_ns.push(waited);
                }
                (open.start_ns, open.cpu_ns) = (at, *cpu_ns);
                follow.open.insert(key(step), open);
                follow.current.insert(thread, (open.callback, open.activation));
            }
            Event::Suspended { step, cpu_ns } | Event::Completed { step, cpu_ns, .. } => {
                let Some(open) = follow.open.get_mut(&key(step)) else { return };
                let activation = &mut self.callbacks[open.callback].activations[open.activation];
                let ran = if open.cpu_ns > 0 && *cpu_ns >= open.cpu_ns {
                    cpu_ns - open.cpu_ns
                } else {
                    at.saturating_sub(open.start_ns)
                };
                activation.runs_ns.push(ran);
                open.suspended_ns = at;
                follow.current.remove(&thread);
                if let Event::Completed { deadline, .. } = event {
                    activation.end_ns = Some(at);
                    activation.deadline_ns = Some(deadline.as_nanos()).filter(|deadline| *deadline != u64::MAX);
                    follow.open.remove(&key(step));
                }
            }
            Event::PollingPoint { executor, .. } => _ = follow.since.entry(*executor).or_insert(at),
            _ => {}
        }
    }
}

/// Activations that are under way while the events of a recording are followed.
struct Follow {
    number: usize,
    current: HashMap<u32, (usize, usize)>,
    open: HashMap<(u16, u64, u64), Open>,
    /// The time of the first callback or polling point of each executor.
    since: HashMap<u16, u64>,
}

impl Observation {
    /// Returns the time from its release, or the beginning of its executor's work, to its end; `None` if it did not
    /// end.
    pub(super) fn response_ns(&self) -> Option<u64> {
        Some(self.end_ns?.saturating_sub(self.release_ns).saturating_sub(self.before_spin_ns))
    }

    /// Returns true if it ended after its deadline.
    pub(super) fn is_late(&self) -> bool {
        let deadline = self.deadline_ns.map(|deadline| deadline.saturating_add(self.before_spin_ns));
        self.end_ns.zip(deadline).is_some_and(|(end, deadline)| end > deadline)
    }
}

impl Observed {
    /// Returns the number of due times that it skipped, less those that had passed before its executor ran anything.
    pub(super) fn overruns_while_spinning(&self) -> u64 {
        let Some(period) = self.period_ns.filter(|period| *period > 0) else { return self.overruns };
        let before = self.activations.iter().map(|of| of.before_spin_ns / period).max().unwrap_or(0);
        self.overruns.saturating_sub(before)
    }

    /// Returns the execution times of the first segments, in the order of activations.
    pub(super) fn first_runs(&self) -> Vec<Duration> {
        self.activations.iter().map(|of| Duration::from_nanos(of.runs_ns.first().copied().unwrap_or(0))).collect()
    }

    /// Returns the number of awaits of the activation that has most of them, at most [`AWAITS`].
    pub(super) fn awaits(&self) -> usize {
        let awaits = self.activations.iter().map(|of| of.runs_ns.len().saturating_sub(1));
        awaits.max().unwrap_or(0).min(AWAITS)
    }

    /// Returns the times that activations awaited at the await with that number, and the execution times behind it.
    pub(super) fn await_times(&self, number: usize) -> (Vec<Duration>, Vec<Duration>) {
        let of = |times: &Vec<u64>, place: usize| Duration::from_nanos(times.get(place).copied().unwrap_or(0));
        self.activations
            .iter()
            .map(|activation| (of(&activation.waits_ns, number), of(&activation.runs_ns, number + 1)))
            .unzip()
    }

    /// Returns the first due time and the period of a timer that ran with this period until `end_ns`, both in
    /// nanoseconds; `None` for other callbacks.
    pub(super) fn steady_period(&self, end_ns: u64) -> Option<(u64, u64)> {
        let period = self.period_ns.filter(|period| *period > 0)?;
        let first = self.activations.first()?.release_ns;
        let on_grid = |activation: &Observation| {
            let phase = activation.release_ns.saturating_sub(first) % period;
            // Rounding of clocks, if any.
            phase.min(period - phase) <= 1_000
        };
        let last = self.activations.last()?.release_ns;
        let due = (last - first) / period + 1;
        let seen = self.activations.len() as u64 + self.overruns;
        // A timer that starved went on, too.
        let lasts = self.is_waiting || end_ns.saturating_sub(last) <= period.saturating_mul(3) + self.longest_ns();
        (self.activations.iter().all(on_grid) && lasts && seen.abs_diff(due) <= 1 + self.overruns)
            .then_some((first, period))
    }

    fn longest_ns(&self) -> u64 {
        self.activations.iter().filter_map(Observation::response_ns).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rospin_engine::{
        Carried, Context, ContextOptions, EntityKind, EntityOptions, Envelope, ExecutorOptions, Mixed, Recorder,
        SubscriptionOptions,
    };
    use rospin_trace::{FileSink, ProcessName};

    use super::*;

    /// A message from elsewhere.
    #[derive(Default)]
    struct Letter(Option<Carried>);

    impl Envelope for Letter {
        fn order(&self) -> u64 {
            0
        }
        fn came_through_inlet(&self) -> bool {
            true
        }
        fn carried(&mut self) -> Option<&mut Option<Carried>> {
            Some(&mut self.0)
        }
    }

    #[test]
    fn messages_that_encoded_ones_displace_are_lost_and_encoded_ones_too() {
        let recorder = Recorder::new();
        let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let publisher = context.create_mixed_publisher::<u32, Letter>("numbers").unwrap();
        let options = SubscriptionOptions::new("numbers").keep_last(1);
        let queue = context.create_mixed_queue::<u32, Letter>(options, false).unwrap();
        let inlet = queue.inlet();
        let hear = |(): &mut (), _: Mixed<u32, Letter>| {};
        let options = EntityOptions::new("listener");
        let _listener = group.create_source(EntityKind::Subscription, options, queue, hear).unwrap();
        let path = std::env::temp_dir().join(format!("rospin-what-if-{}.mcap", std::process::id()));
        recorder.start(FileSink::create(&path, &ProcessName::of_this(0)).unwrap()).unwrap();
        for _ in 0..2 {
            publisher.publish(Arc::new(1));
            drop(inlet.push(Letter::default(), context.clock().now(), 0));
        }
        recorder.stop();
        let recording = Recording::open(&path);
        std::fs::remove_file(&path).unwrap();
        let system = System::of(&recording.unwrap());
        let lost: Vec<_> = system.callbacks.iter().map(|callback| callback.lost).collect();
        assert_eq!(lost, [3]);
    }
}
