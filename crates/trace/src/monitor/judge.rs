//! The judge: events in the order of time, one by one, against the limits of a system. Pure, with bounded memory.
//!
//! Bounds come from a file, because the analysis would be a dependency of every robot, and because a robot should start
//! with bounds that somebody has seen. The monitor is a sink, so executors do nothing for it; a missed deadline alone
//! is counted by the engine, which tells the program at once.

use std::collections::{HashMap, HashSet, VecDeque};

use rospin_core::recording::Event;
use rospin_core::{EntityKind, Instant};

use super::known::{Callback, Executor, Segment};
use super::limits::Limits;
use super::messages::{Queue, Tag};
use super::violation::{Cause, Excess, Violation, ViolationKind};
use crate::overdue::Watch;
use crate::waits::Reason;

/// The largest number of callbacks, queues, messages under way, and activations that are remembered.
pub(super) const REMEMBERED: usize = 1 << 16;
/// The number of past segments of each executor, which say whom a callback waited for.
pub(super) const SEGMENTS: usize = 512;
/// The nanoseconds after which callbacks that still run are looked at again.
const LOOK: u64 = 10_000_000;
/// The nanoseconds beyond its limit after which a callback that still runs is told of. Others are judged at their end,
/// when more is known of the cause.
const HANGS: u64 = 1_000_000_000;
/// The nanoseconds for which a thread may not run within a callback, although it should. Interrupts take that, and the
/// system calls that read its processor time.
const STALL: u64 = 100_000;
/// The queue's length where no definition tells it.
pub(super) const UNKNOWN_DEPTH: u64 = u64::MAX;

/// An activation: executor, entity, sequence number.
type Key = (u16, u64, u64);
/// A message through a middleware: publisher and number.
type Letter = ([u8; 16], u64);

/// An activation that has not ended.
pub(super) struct Open {
    pub(super) callback: usize,
    pub(super) sequence: u64,
    /// The time from which it is judged: its release, or the first callback of its executor if that came later.
    pub(super) release: u64,
    /// The nanoseconds by which its release was earlier.
    before_spin: u64,
    /// The times for which it was eligible and did not run.
    pub(super) waits: Vec<(u64, u64)>,
    pub(super) execution: u64,
    /// The processor time of all segments; `None` if it is not recorded.
    pub(super) cpu: Option<u64>,
    pub(super) segment_start: u64,
    segment_cpu: u64,
    pub(super) tags: Vec<Tag>,
    /// The number of messages that it put into each queue.
    pub(super) published: Vec<(u64, u32)>,
    /// True if there was a violation while it ran, because it runs too long.
    is_long_told: bool,
    /// True if there was a violation while it ran, because it is late.
    is_late_told: bool,
}

/// The judge of one process.
pub(super) struct Judge {
    pub(super) limits: Limits,
    /// The callbacks that wait, and those that ran meanwhile.
    pub(super) watch: Watch,
    pub(super) executors: HashMap<u16, Executor>,
    pub(super) callbacks: Vec<Callback>,
    pub(super) entities: HashMap<(u16, u64), usize>,
    pub(super) accounts: HashMap<u64, usize>,
    pub(super) names: HashMap<String, usize>,
    pub(super) queues: HashMap<u64, Queue>,
    /// The lengths of queues by the accounts of their entities.
    pub(super) depths: HashMap<u64, u64>,
    pub(super) running: HashMap<u32, Key>,
    /// Threads whose beginning of a callback was seen, and no gap in their events since.
    pub(super) seen: HashSet<u32>,
    /// Threads with a gap in their events since the last beginning of a callback.
    pub(super) dropping: HashSet<u32>,
    /// The time of the first event.
    pub(super) begin: Option<u64>,
    pub(super) open: HashMap<Key, Open>,
    letters: HashMap<Letter, Vec<Tag>>,
    letter_order: VecDeque<Letter>,
    pub(super) violations: Vec<Violation>,
    /// The time of the next look at callbacks that run.
    next_look: u64,
    /// The number of events that were dropped before they came here.
    pub(super) dropped: u64,
    pub(super) events: u64,
    /// The number of queues that were defined.
    pub(super) defined: u64,
}

impl Judge {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            watch: Watch::default(),
            executors: HashMap::new(),
            callbacks: Vec::new(),
            entities: HashMap::new(),
            accounts: HashMap::new(),
            names: HashMap::new(),
            queues: HashMap::new(),
            depths: HashMap::new(),
            running: HashMap::new(),
            seen: HashSet::new(),
            dropping: HashSet::new(),
            begin: None,
            open: HashMap::new(),
            letters: HashMap::new(),
            letter_order: VecDeque::new(),
            violations: Vec::new(),
            next_look: 0,
            dropped: 0,
            events: 0,
            defined: 0,
        }
    }

    /// Judges an event of a thread. Events come in the order of time.
    pub(super) fn event(&mut self, thread: u32, at: Instant, event: &Event) {
        let at = at.as_nanos();
        self.events += 1;
        self.begin.get_or_insert(at);
        if at >= self.next_look {
            self.look(at);
        }
        self.watch.event(thread, at, event);
        match *event {
            Event::Dispatched { step, release, cpu_ns, .. } => {
                let key = (step.executor, step.entity, step.sequence);
                self.dispatch(thread, key, step.segment, at, release.as_nanos(), cpu_ns);
            }
            Event::Withdrawn { step } => {
                // It will not go on, because its entity was removed.
                let key = (step.executor, step.entity, step.sequence);
                self.open.remove(&key);
                self.running.retain(|_, of| *of != key);
            }
            Event::Suspended { step, cpu_ns } => {
                self.close((step.executor, step.entity, step.sequence), at, cpu_ns);
                self.running.remove(&thread);
            }
            Event::Completed { step, deadline, cpu_ns } => {
                let key = (step.executor, step.entity, step.sequence);
                self.close(key, at, cpu_ns);
                self.running.remove(&thread);
                if let Some(open) = self.open.remove(&key) {
                    self.judge(&open, at, deadline.as_nanos());
                }
            }
            Event::Queued { queue, ticket, displaced } => self.queued(thread, at, queue, ticket, displaced),
            Event::Taken { queue, ticket } => {
                let now = self.events.saturating_add(self.defined);
                let tags = self.queues.get_mut(&queue).and_then(|queue| {
                    queue.used = now;
                    queue.tags.remove(&ticket)
                });
                self.take(thread, &tags.unwrap_or_default());
            }
            Event::Sent { publisher, number } => {
                let tags = self.published_tags(thread, at);
                if !tags.is_empty() && self.letters.insert((publisher, number), tags).is_none() {
                    self.letter_order.push_back((publisher, number));
                    if self.letter_order.len() > REMEMBERED {
                        self.letter_order.pop_front().and_then(|oldest| self.letters.remove(&oldest));
                    }
                }
            }
            Event::Received { publisher, number } => {
                let tags = self.letters.get(&(publisher, number)).cloned().unwrap_or_default();
                self.take(thread, &tags);
                let running = self.running.get(&thread).and_then(|key| self.open.get(key));
                if let Some((place, release)) = running.map(|open| (open.callback, open.release))
                    && self.callbacks[place].kind == EntityKind::Subscription
                    && !self.callbacks[place].has_queue
                {
                    self.arrive(place, release, Cause::Published, None);
                }
            }
            Event::Lost { account, cause: 0, count } => {
                let place = self.accounts.get(&account).copied();
                // Without a word in the file, a short queue may be one for the newest value.
                let is_stated = |place: &usize| {
                    let of = &self.callbacks[*place];
                    of.limit.as_ref().is_none_or(|limit| limit.may_lose && of.depth >= limit.depth.unwrap_or(0))
                };
                if let Some(place) = place.filter(|place| !is_stated(place)) {
                    let (cause, culprit) = self.cause_of_loss(place, at);
                    let depth = self.callbacks[place].depth;
                    let depth = if depth == UNKNOWN_DEPTH { 0 } else { depth };
                    self.violate(
                        place,
                        at,
                        Excess { kind: ViolationKind::Overflow, measured: count, limit: depth },
                        (cause, culprit),
                        0,
                    );
                }
            }
            Event::Dropped { count } => {
                // The thread may have done anything meanwhile.
                self.dropped = self.dropped.saturating_add(count);
                self.seen.remove(&thread);
                if self.dropping.len() >= REMEMBERED {
                    // Threads that are gone.
                    self.dropping.clear();
                }
                self.dropping.insert(thread);
                self.running.remove(&thread).and_then(|key| self.open.remove(&key));
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, thread: u32, key: Key, segment: u32, at: u64, arrival: u64, cpu: u64) {
        let place = self.callback(key.0, key.1);
        // Timers count from their creation, so the first spin finds them late. Nobody promised that it comes in time.
        let release = arrival.max(self.watch.since(key.0).unwrap_or(at).min(at));
        if self.running.len() >= REMEMBERED {
            // Threads that ended amid a callback, which only a damaged recording has.
            self.running.clear();
        }
        self.running.insert(thread, key);
        if self.seen.len() < REMEMBERED {
            self.seen.insert(thread);
        }
        self.dropping.remove(&thread);
        if let Some(open) = self.open.get_mut(&key) {
            (open.segment_start, open.segment_cpu) = (at, cpu);
            if open.waits.len() < SEGMENTS {
                open.waits.push((release, at));
            }
            return;
        }
        if self.open.len() >= REMEMBERED {
            // Asynchronous callbacks whose entities were removed never end.
            self.open.clear();
        }
        let of = &self.callbacks[place];
        // Of a further segment, the beginning was not seen, and its release is no arrival.
        let first = of.links.iter().filter(|(_, place)| *place == 0 && segment == 0);
        let tags = first.map(|(chain, _)| Tag { chain: *chain, place: 0, origin: release, worst: (0, place) });
        let open = Open {
            callback: place,
            sequence: key.2,
            release,
            before_spin: release - arrival,
            waits: vec![(release, at)],
            execution: 0,
            cpu: if cpu > 0 { Some(0) } else { None },
            segment_start: at,
            segment_cpu: cpu,
            tags: tags.collect(),
            published: Vec::new(),
            is_long_told: false,
            is_late_told: false,
        };
        let is_subscription = of.kind == EntityKind::Subscription;
        let is_timer = of.kind == EntityKind::Timer;
        self.open.insert(key, open);
        self.callbacks[place].told_ns = 0;
        if !is_subscription && segment == 0 {
            self.arrive(place, arrival, if is_timer { Cause::Itself } else { Cause::Published }, None);
        }
    }

    /// Ends the segment that runs.
    fn close(&mut self, key: Key, at: u64, cpu: u64) {
        let Some(open) = self.open.get_mut(&key) else { return };
        let wall = at.saturating_sub(open.segment_start);
        let used = if open.segment_cpu > 0 && cpu >= open.segment_cpu { Some(cpu - open.segment_cpu) } else { None };
        open.cpu = open.cpu.zip(used).map(|(cpu, used)| cpu.saturating_add(used));
        open.execution = open.execution.saturating_add(wall);
        let limit = self.callbacks[open.callback].limit.as_ref().and_then(|limit| limit.execution_ns);
        let excess = limit.map_or(0, |limit| open.execution.saturating_sub(limit).min(wall));
        let stall = used.map_or(0, |used| wall.saturating_sub(used));
        let segment = Segment { callback: open.callback, start: open.segment_start, end: at, excess, stall };
        let segments = &mut self.executor(key.0).segments;
        if segments.len() == SEGMENTS {
            segments.pop_front();
        }
        segments.push_back(segment);
    }

    /// Compares an activation that ended at `at` with its limits.
    fn judge(&mut self, open: &Open, at: u64, deadline: u64) {
        let place = open.callback;
        let limit = self.callbacks[place].limit.clone();
        let limit = limit.as_deref();
        let most = limit.and_then(|limit| limit.execution_ns).filter(|most| open.execution > *most);
        if let Some(most) = most.filter(|_| !open.is_long_told) {
            let stall = open.cpu.filter(|cpu| *cpu <= most).map(|cpu| open.execution - cpu);
            let cause = if stall.is_some() { Cause::NotScheduled } else { Cause::Itself };
            if stall.is_none_or(|stall| stall > STALL) {
                self.violate(
                    place,
                    at,
                    Excess { kind: ViolationKind::Execution, measured: open.execution, limit: most },
                    (cause, None),
                    0,
                );
            }
        }
        let response = at.saturating_sub(open.release);
        let deadline = deadline.saturating_add(open.before_spin);
        let of_program = if deadline < u64::MAX { Some(deadline.saturating_sub(open.release)) } else { None };
        let due = [limit.and_then(|limit| limit.deadline_ns), of_program].into_iter().flatten().min();
        let is_late = due.is_some_and(|due| response > due);
        let is_told = self.count_activation(place, is_late, limit.map_or((0, 1), |limit| limit.tolerates));
        let late = due.filter(|_| is_late && is_told && !open.is_late_told).map(|due| (ViolationKind::Deadline, due));
        let bound = limit.and_then(|limit| limit.bound_ns).filter(|bound| response > *bound);
        let bound = bound.map(|bound| (ViolationKind::Bound, bound));
        for (kind, most) in late.into_iter().chain(bound) {
            let cause = self.cause_of_delay(open, at, response - most);
            self.violate(place, at, Excess { kind, measured: response, limit: most }, cause, 0);
        }
        for tag in &open.tags {
            self.judge_chain(open, *tag, at);
        }
        self.callbacks[place].last_end = at;
    }

    /// Tells of what should have happened by now and has not.
    pub(super) fn look(&mut self, at: u64) {
        self.next_look = at.saturating_add(LOOK);
        self.look_at_running(at);
        self.look_at_waiting(at, 2);
    }

    /// Tells of callbacks that should have run and have not: again once they have waited `times` as long as was told
    /// last.
    pub(super) fn look_at_waiting(&mut self, at: u64, times: u64) {
        for one in self.watch.overdue(at) {
            let place = self.callback(one.of.0, one.of.1);
            let of = &self.callbacks[place];
            let is_stated = of.limit.as_ref().is_some_and(|limit| limit.arrivals.is_some());
            let stated = of.limit.as_ref().and_then(|limit| limit.deadline_ns);
            let limit = one.limit_ns.or(stated);
            let is_due = one.for_ns > of.told_ns.saturating_mul(times);
            // Without a limit nobody promised anything. What waits while no callback runs belongs to an executor that
            // does not spin, or else is judged when it ends.
            let Some(limit) = limit.filter(|_| is_due && one.reason != Reason::Idle && (!one.is_inferred || is_stated))
            else {
                continue;
            };
            self.callbacks[place].told_ns = one.for_ns;
            let kind = if one.kind == EntityKind::Timer { ViolationKind::NotRun } else { ViolationKind::NotServed };
            let culprit = one.culprit.map(|(executor, entity)| self.callback(executor, entity));
            self.violate(place, at, Excess { kind, measured: one.for_ns, limit }, (cause_of(one.reason), culprit), 0);
        }
    }

    /// Tells of callbacks that have run too long, or beyond their deadlines, by a second and still run: perhaps for
    /// ever.
    pub(super) fn look_at_running(&mut self, at: u64) {
        let mut found = Vec::new();
        for key in self.running.values() {
            let Some(open) = self.open.get(key) else { continue };
            let Some(limit) = self.callbacks[open.callback].limit.as_deref() else { continue };
            let execution = open.execution.saturating_add(at.saturating_sub(open.segment_start));
            let is_beyond = |time: u64, most: &u64| time.saturating_sub(*most) > HANGS;
            let long = limit.execution_ns.filter(|most| is_beyond(execution, most) && !open.is_long_told);
            let response = at.saturating_sub(open.release);
            let is_strict = limit.tolerates.0 == 0;
            let late = limit.deadline_ns.filter(|due| is_beyond(response, due) && is_strict && !open.is_late_told);
            if long.is_some() || late.is_some() {
                let cause = late.map(|due| self.cause_of_delay(open, at, response - due));
                found.push((*key, open.callback, (execution, long), (response, late.zip(cause))));
            }
        }
        for (key, place, (execution, long), (response, late)) in found {
            if let Some(most) = long {
                self.violate(
                    place,
                    at,
                    Excess { kind: ViolationKind::Execution, measured: execution, limit: most },
                    (Cause::Itself, None),
                    0,
                );
            }
            if let Some((due, cause)) = late {
                self.violate(
                    place,
                    at,
                    Excess { kind: ViolationKind::Deadline, measured: response, limit: due },
                    cause,
                    0,
                );
            }
            if let Some(open) = self.open.get_mut(&key) {
                open.is_long_told |= long.is_some();
                open.is_late_told |= late.is_some();
            }
        }
    }

    /// Tells of what still waits at the end of the events.
    #[cfg(feature = "read")]
    pub(super) fn finish(&mut self, at: u64) {
        self.look_at_waiting(at, 1);
    }

    fn judge_chain(&mut self, open: &Open, tag: Tag, at: u64) {
        let Some(chain) = self.limits.chains.get(tag.chain as usize - 1) else { return };
        if tag.place + 1 != chain.callbacks.len() {
            return;
        }
        // A message may have waited until the executors of further callbacks spun.
        let executors = chain.callbacks.iter().filter_map(|name| self.names.get(name));
        let since = executors.filter_map(|place| self.watch.since(self.callbacks[*place].executor)).max();
        let origin = tag.origin.max(since.unwrap_or(0).min(at));
        let latency = at.saturating_sub(origin);
        let limits = [(ViolationKind::ChainDeadline, chain.deadline_ns), (ViolationKind::ChainBound, chain.bound_ns)];
        for (kind, most) in limits {
            let Some(most) = most.filter(|most| latency > *most) else { continue };
            let own = (at.saturating_sub(open.release), open.callback);
            let worst = if tag.worst.0 > own.0 { tag.worst.1 } else { own.1 };
            let broken = self.broken_assumption_of_chain(tag.chain, origin, at, latency - most);
            let cause = broken.unwrap_or((Cause::Itself, Some(worst)));
            self.violate(open.callback, at, Excess { kind, measured: latency, limit: most }, cause, tag.chain);
        }
    }

    /// Counts an activation. Returns true if it missed its deadline, and more are missed than are `tolerated`: so
    /// many misses of so many activations.
    fn count_activation(&mut self, place: usize, is_late: bool, tolerated: (u64, u64)) -> bool {
        let (misses, of) = tolerated;
        let callback = &mut self.callbacks[place];
        callback.activations += 1;
        if !is_late {
            return false;
        }
        let number = callback.activations;
        callback.misses.push_back(number);
        while callback.misses.front().is_some_and(|first| number - first >= of) {
            callback.misses.pop_front();
        }
        callback.misses.len() as u64 > misses
    }

    pub(super) fn violate(
        &mut self,
        place: usize,
        at: u64,
        excess: Excess,
        reason: (Cause, Option<usize>),
        chain: u32,
    ) {
        let Excess { kind, measured, limit } = excess;
        let (cause, culprit) = reason;
        let of = &self.callbacks[place];
        let culprit = culprit.map(|place| &self.callbacks[place]);
        let named = (chain as usize).checked_sub(1).and_then(|place| self.limits.chains.get(place));
        self.violations.push(Violation {
            at: Instant::from_nanos(at),
            kind,
            callback: of.name.clone(),
            executor: self.executors.get(&of.executor).map_or_else(String::new, |executor| executor.name.clone()),
            chain: named.map(|chain| chain.name.clone()),
            measured,
            limit,
            cause,
            culprit: culprit.map(|culprit| culprit.name.clone()),
            numbers: (of.executor, of.entity, chain, culprit.map_or(0, |culprit| culprit.account)),
        });
    }
}

/// Returns the cause for which something waited for this reason.
const fn cause_of(reason: Reason) -> Cause {
    match reason {
        Reason::Group => Cause::Group,
        Reason::Priority => Cause::Priority,
        Reason::Running | Reason::Order => Cause::Running,
        Reason::Idle => Cause::NotScheduled,
    }
}
