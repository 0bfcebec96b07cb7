//! The events of a process, followed for what waits, and for what ran meanwhile.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use rospin_core::EntityKind;
use rospin_core::recording::{Definition, Event, Step};

use super::patience;
use crate::waits::{Beside, Reason, explain, reason};

/// The largest number of callbacks, activations and threads that are remembered.
const REMEMBERED: usize = 1 << 16;
/// The number of past segments of each executor, which say whom a callback waited for.
const PARTS: usize = 1024;
/// The nanoseconds for which a thread of a busy executor may run nothing: it picks the next callback meanwhile, or just
/// woke up.
const PAUSE: u64 = 1_000_000;

/// The number of a callback: its executor, and its entity there.
pub(crate) type Number = (u16, u64);
/// An activation: executor, entity, sequence number.
type Key = (u16, u64, u64);

/// A callback that should run and does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overdue {
    /// The callback.
    pub(crate) of: Number,
    /// Its kind.
    pub(crate) kind: EntityKind,
    /// The nanoseconds for which it has not run: since its last run if it is a timer, or else since what waits for it
    /// came.
    pub(crate) for_ns: u64,
    /// True if no release of it was seen: it is a timer of which only the period tells that it should have run.
    pub(crate) is_inferred: bool,
    /// True if it was not seen to run either, so that it may not have run for longer.
    pub(crate) is_at_least: bool,
    /// The period of a timer; otherwise the deadline of what waits, if that has one.
    pub(crate) limit_ns: Option<u64>,
    /// The reason that kept it from running for most of the time.
    pub(crate) reason: Reason,
    /// The callback that did; `None` for [`Reason::Idle`].
    pub(crate) culprit: Option<Number>,
}

#[derive(Default)]
struct Executor {
    policy: String,
    threads: u64,
    /// The time of its first callback or polling point.
    since: Option<u64>,
    /// True if it was at work before the events begin.
    is_found: bool,
    /// The number of its threads that run a callback.
    running: u64,
    /// The time since which some thread of it runs nothing, if one does.
    free_since: u64,
    /// The last time at which a thread of it had run nothing for longer than a pause.
    idle_until: u64,
    /// Segments that ended, and times for which a suspended activation held its group.
    parts: VecDeque<Part>,
}

/// A time for which a callback ran, or held its group.
#[derive(Clone, Copy)]
struct Part {
    entity: u64,
    sequence: u64,
    start: u64,
    end: u64,
    is_held: bool,
}

struct Callback {
    kind: EntityKind,
    group: String,
    excludes: bool,
    /// True if a suspended activation frees its group.
    frees_group: bool,
    priority: u32,
    period_ns: Option<u64>,
    deadline_ns: Option<u64>,
    /// The number of its activations that run or are suspended.
    open: u32,
    /// The release of its last activation, and the end.
    last_release: Option<u64>,
    last_end: Option<u64>,
    /// The largest sequence number that began. Its release may come later, from another thread.
    begun: Option<u64>,
}

/// An activation that has begun and not ended.
#[derive(Clone, Copy)]
struct Open {
    is_running: bool,
    /// The time since which it is so.
    since: u64,
    /// The nanoseconds for which it waited before its executor spun.
    before_spin: u64,
}

/// Activation that waits: its release, and its absolute deadline.
#[derive(Clone, Copy)]
struct Pending {
    release: u64,
    deadline: u64,
}

/// The executors of a process, followed for callbacks that do not run.
#[derive(Default)]
pub(crate) struct Watch {
    executors: HashMap<u16, Executor>,
    callbacks: HashMap<Number, Callback>,
    /// The bits of the last entity in each place of an executor's table.
    places: HashMap<(u16, u32), u64>,
    /// The activation of each callback that was released and has not begun, with its sequence number.
    pending: HashMap<Number, (u64, Pending)>,
    /// Suspended activations that were woken.
    woken: HashMap<Key, Pending>,
    open: HashMap<Key, Open>,
    /// The activation that each thread runs.
    threads: HashMap<u32, Key>,
}

impl Watch {
    /// Takes note of an executor or an entity.
    pub(crate) fn define(&mut self, definition: &Definition) {
        match definition {
            Definition::Executor { executor, policy, threads, .. } => {
                let of = self.executor(*executor);
                (of.policy, of.threads) = (policy.clone(), u64::from(*threads).max(1));
            }
            Definition::Entity {
                executor, entity, group, excludes, kind, priority, deadline, period, rules, ..
            } => {
                let is_known = self.places.contains_key(&(*executor, *entity as u32));
                if self.places.len() >= REMEMBERED && !is_known {
                    return;
                }
                if let Some(former) = self.places.insert((*executor, *entity as u32), *entity)
                    && former != *entity
                {
                    // That entity is gone.
                    self.callbacks.remove(&(*executor, former));
                    self.pending.remove(&(*executor, former));
                }
                let ns = |time: &Option<Duration>| time.and_then(|time| u64::try_from(time.as_nanos()).ok());
                let Some(of) = self.callback(*executor, *entity) else { return };
                (of.kind, of.group, of.excludes, of.priority) = (*kind, group.clone(), *excludes, *priority);
                of.frees_group = rules.is_some_and(|rules| rules.frees_group);
                (of.deadline_ns, of.period_ns) = (ns(deadline), ns(period));
            }
            _ => {}
        }
    }

    /// Takes an event, which a thread recorded at the time `at`. Events come in the order of time.
    pub(crate) fn event(&mut self, thread: u32, at: u64, event: &Event) {
        match *event {
            Event::Released { step, release, deadline } | Event::Antedated { step, release, deadline } => {
                self.released(step, release.as_nanos(), deadline.as_nanos());
            }
            Event::FoundReady { step, release, deadline, .. } => {
                // A timer is ready only once its executor has looked at it.
                self.executor(step.executor).is_found = true;
                self.released(step, release.as_nanos(), deadline.as_nanos());
            }
            Event::FoundRunning { step } => self.found(step, at, true),
            Event::FoundSuspended { step } => self.found(step, at, false),
            Event::PollingPoint { executor, .. } => {
                let of = self.executor(executor);
                if of.since.is_none() {
                    (of.since, of.free_since) = (Some(at), at);
                }
            }
            Event::Dispatched { step, release, .. } => self.dispatched(thread, step, at, release.as_nanos()),
            Event::Suspended { step, .. } => self.ended(thread, step, at, true),
            Event::Completed { step, .. } => self.ended(thread, step, at, false),
            Event::Withdrawn { step } => self.withdrawn(step, at),
            Event::Dropped { .. } => self.forget(at),
            _ => {}
        }
    }

    /// Returns the callbacks with an activation that was released and has not begun: the time from which it waits, and
    /// its absolute deadline.
    #[cfg(feature = "model")]
    pub(crate) fn pending(&self) -> impl Iterator<Item = (Number, u64, Option<u64>)> + '_ {
        self.pending.iter().filter_map(|(number, (_, of))| {
            let since = self.since(number.0)?;
            let before_spin = since.saturating_sub(of.release);
            let deadline = if of.deadline < u64::MAX { Some(of.deadline.saturating_add(before_spin)) } else { None };
            Some((*number, of.release.max(since), deadline))
        })
    }

    /// Returns the activations that were released and have not begun: the callback, the sequence number, and the time
    /// from which it waits.
    #[cfg(feature = "mcap")]
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Number, u64, u64)> + '_ {
        self.pending.iter().filter_map(|(number, (sequence, of))| {
            let since = self.since(number.0)?;
            Some((*number, *sequence, of.release.max(since)))
        })
    }

    /// Returns the time of the executor's first callback or polling point; `None` before that.
    pub(crate) fn since(&self, executor: u16) -> Option<u64> {
        self.executors.get(&executor)?.since
    }

    /// Returns the nanoseconds for which an activation that has not ended waited before its executor spun.
    pub(crate) fn before_spin(&self, step: &Step) -> u64 {
        self.open.get(&(step.executor, step.entity, step.sequence)).map_or(0, |open| open.before_spin)
    }

    /// Returns how many of the due times that the timer skips at the time `at` were due before its executor spun.
    pub(crate) fn skipped_before_spin(&self, executor: u16, entity: u64, at: u64, count: u64) -> u64 {
        // The event comes right before that of the activation which is late, perhaps the executor's first one.
        let since = self.since(executor).unwrap_or(at);
        let waiting = self.pending.get(&(executor, entity));
        let period = self.callbacks.get(&(executor, entity)).and_then(|of| of.period_ns);
        match (waiting, period) {
            (Some((_, waiting)), Some(period)) => count.min(since.saturating_sub(waiting.release) / period.max(1)),
            (None, _) if self.since(executor).is_none() => count,
            _ => 0,
        }
    }

    fn executor(&mut self, number: u16) -> &mut Executor {
        self.executors.entry(number).or_insert_with(|| Executor { threads: 1, ..Executor::default() })
    }

    /// Returns the callback, which is added if it is not known; `None` if there are too many.
    fn callback(&mut self, executor: u16, entity: u64) -> Option<&mut Callback> {
        if self.callbacks.len() >= REMEMBERED && !self.callbacks.contains_key(&(executor, entity)) {
            return None;
        }
        Some(self.callbacks.entry((executor, entity)).or_insert_with(|| Callback {
            kind: EntityKind::Waitable,
            group: String::new(),
            excludes: false,
            frees_group: false,
            priority: 0,
            period_ns: None,
            deadline_ns: None,
            open: 0,
            last_release: None,
            last_end: None,
            begun: None,
        }))
    }

    fn released(&mut self, step: Step, release: u64, deadline: u64) {
        let Some(of) = self.callback(step.executor, step.entity) else { return };
        let has_begun = of.begun.is_some_and(|begun| begun >= step.sequence);
        let pending = Pending { release, deadline };
        if step.segment == 0 {
            // There are no more of them than callbacks.
            if !has_begun {
                self.pending.insert((step.executor, step.entity), (step.sequence, pending));
            }
            return;
        }
        let key = (step.executor, step.entity, step.sequence);
        let runs_already = self.open.get(&key).is_some_and(|open| open.is_running);
        if !runs_already && self.woken.len() < REMEMBERED {
            self.woken.insert(key, pending);
        }
    }

    fn dispatched(&mut self, thread: u32, step: Step, at: u64, release: u64) {
        let key = (step.executor, step.entity, step.sequence);
        if let Entry::Occupied(pending) = self.pending.entry((step.executor, step.entity))
            && pending.get().0 <= step.sequence
        {
            pending.remove();
        }
        self.woken.remove(&key);
        if let Some(former) = self.threads.insert(thread, key) {
            // Its end is missing.
            self.close(former, at);
        }
        let of = self.executor(step.executor);
        if of.since.is_none() {
            (of.since, of.free_since) = (Some(at), at);
        }
        // A callback that waited already when the thread became free was kept from running by the kernel: the
        // executor was not idle.
        if release > of.free_since {
            of.note_pause(at);
        }
        of.running += 1;
        let before_spin = match self.open.get(&key) {
            Some(open) => open.before_spin,
            None => self.since(step.executor).unwrap_or(at).saturating_sub(release),
        };
        match self.open.insert(key, Open { is_running: true, since: at, before_spin }) {
            Some(Open { is_running: false, since, .. }) => {
                self.add_part(
                    step.executor,
                    Part { entity: step.entity, sequence: step.sequence, start: since, end: at, is_held: true },
                );
            }
            Some(Open { is_running: true, .. }) => {}
            None => {
                if let Some(of) = self.callback(step.executor, step.entity) {
                    of.open = of.open.saturating_add(1);
                }
            }
        }
        if self.open.len() > REMEMBERED || self.threads.len() > REMEMBERED {
            // Threads and entities that ended amid a callback, which only a damaged recording has.
            self.forget(at);
        }
        if let Some(of) = self.callback(step.executor, step.entity)
            && step.segment == 0
        {
            of.begun = of.begun.max(Some(step.sequence));
            of.last_release = Some(release);
        }
    }

    /// Takes an activation that was under way when the recording began: its thread is not known, nor the time since
    /// which it is so.
    fn found(&mut self, step: Step, at: u64, is_running: bool) {
        let key = (step.executor, step.entity, step.sequence);
        if self.open.contains_key(&key) || self.open.len() >= REMEMBERED {
            return;
        }
        self.open.insert(key, Open { is_running, since: at, before_spin: 0 });
        let of = self.executor(step.executor);
        of.is_found = true;
        if is_running {
            of.running += 1;
        }
        if of.since.is_none() {
            (of.since, of.free_since) = (Some(at), at);
        }
        if let Some(of) = self.callback(step.executor, step.entity) {
            of.open = of.open.saturating_add(1);
            of.begun = of.begun.max(Some(step.sequence));
        }
    }

    /// Ends the segment that the thread runs.
    fn ended(&mut self, thread: u32, step: Step, at: u64, is_suspended: bool) {
        let key = (step.executor, step.entity, step.sequence);
        if self.threads.get(&thread) == Some(&key) {
            self.threads.remove(&thread);
        }
        self.close(key, at);
        if is_suspended {
            if let Some(open) = self.open.get_mut(&key) {
                (open.is_running, open.since) = (false, at);
            }
            return;
        }
        let was_open = self.open.remove(&key).is_some();
        if let Some(of) = self.callback(step.executor, step.entity) {
            of.open = of.open.saturating_sub(u32::from(was_open));
            of.last_end = Some(at);
        }
    }

    /// Notes the segment of the activation that runs until now.
    fn close(&mut self, key: Key, at: u64) {
        let Some(open) = self.open.get_mut(&key).filter(|open| open.is_running) else { return };
        let start = std::mem::replace(&mut open.since, at);
        open.is_running = false;
        self.add_part(key.0, Part { entity: key.1, sequence: key.2, start, end: at, is_held: false });
        let of = self.executor(key.0);
        if of.running >= of.threads {
            of.free_since = at;
        }
        of.note_pause(at);
        of.running = of.running.saturating_sub(1);
    }

    fn add_part(&mut self, executor: u16, part: Part) {
        let parts = &mut self.executor(executor).parts;
        if parts.len() == PARTS {
            parts.pop_front();
        }
        parts.push_back(part);
    }

    fn withdrawn(&mut self, step: Step, at: u64) {
        let key = (step.executor, step.entity, step.sequence);
        if let Entry::Occupied(pending) = self.pending.entry((step.executor, step.entity))
            && pending.get().0 == step.sequence
        {
            pending.remove();
        }
        self.woken.remove(&key);
        // It was suspended. In a damaged recording, it may also run.
        self.close(key, at);
        if let Some(Open { since: start, .. }) = self.open.remove(&key) {
            let Step { entity, sequence, .. } = step;
            self.add_part(step.executor, Part { entity, sequence, start, end: at, is_held: true });
            if let Some(of) = self.callback(step.executor, step.entity) {
                of.open = of.open.saturating_sub(1);
            }
        }
    }

    /// Forgets what waits and what runs: events are missing, so that nothing of it is known any more.
    fn forget(&mut self, at: u64) {
        self.pending.clear();
        self.woken.clear();
        self.open.clear();
        self.threads.clear();
        for of in self.callbacks.values_mut() {
            (of.open, of.last_release, of.last_end) = (0, None, None);
        }
        for of in self.executors.values_mut() {
            (of.running, of.free_since, of.idle_until) = (0, at, at);
        }
    }

    /// Returns the parts of the wait of a callback from `from` to `to`, as [`explain`] tells them, the longest first.
    /// It waits with the activation that has that sequence number, if it has one yet.
    pub(crate) fn shares(
        &self,
        of: Number,
        sequence: Option<u64>,
        from: u64,
        to: u64,
    ) -> Vec<(Reason, Option<Number>, u64)> {
        let Some((waiting, executor)) = self.callbacks.get(&of).zip(self.executors.get(&of.0)) else {
            return vec![(Reason::Idle, None, to.saturating_sub(from))];
        };
        let mut numbers = Vec::new();
        let mut beside = Vec::new();
        let mut add = |part: Part| {
            let Some(other) = self.callbacks.get(&(of.0, part.entity)) else { return };
            if part.entity == of.1 && Some(part.sequence) == sequence {
                return;
            }
            let excludes = waiting.excludes && other.excludes && other.group == waiting.group;
            let ns = part.end.min(to).saturating_sub(part.start.max(from));
            if ns == 0 || part.is_held && (!excludes || other.frees_group) {
                return;
            }
            let why = reason(&executor.policy, other.priority > waiting.priority, part.start >= from);
            beside.push(Beside { callback: numbers.len(), ns, excludes, reason: why });
            numbers.push((of.0, part.entity));
        };
        // The last ones first: those before the wait need not be looked at, as they are in the order of their ends.
        for part in executor.parts.iter().rev().take_while(|part| part.end > from) {
            add(*part);
        }
        for ((_, entity, sequence), open) in self.open.iter().filter(|(key, _)| key.0 == of.0) {
            let entity = *entity;
            let sequence = *sequence;
            add(Part { entity, sequence, start: open.since, end: to, is_held: !open.is_running });
        }
        let mut shares: HashMap<(Reason, Option<Number>), u64> = HashMap::new();
        explain(to.saturating_sub(from), executor.threads, beside.iter().copied(), |why, by, ns| {
            if ns > 0 {
                *shares.entry((why, by.map(|by| numbers[by]))).or_default() += ns;
            }
        });
        let mut shares: Vec<_> = shares.into_iter().map(|((why, by), ns)| (why, by, ns)).collect();
        shares.sort_by_key(|(why, by, ns)| (std::cmp::Reverse(*ns), *why, *by));
        shares
    }

    /// Returns the callbacks that should have run by `now` and have not, in the order of their numbers. Timers of which
    /// no release was seen are among them if their executor had no thread free since they must have been due.
    pub(crate) fn overdue(&self, now: u64) -> Vec<Overdue> {
        let mut found: HashMap<Number, Overdue> = HashMap::new();
        let pending = self.pending.iter().map(|(number, (sequence, pending))| (*number, *sequence, *pending));
        let woken = self.woken.iter().map(|(key, pending)| ((key.0, key.1), key.2, *pending));
        for (number, sequence, pending) in pending.chain(woken) {
            if let Some(one) = self.unserved(number, sequence, pending, now) {
                let longest = found.entry(number).or_insert(one);
                *longest = if longest.for_ns < one.for_ns { one } else { *longest };
            }
        }
        for (number, of) in &self.callbacks {
            if of.open == 0
                && !found.contains_key(number)
                && let Some(one) = self.unnoticed(*number, of, now)
            {
                found.insert(*number, one);
            }
        }
        let mut found: Vec<Overdue> = found.into_values().collect();
        found.sort_by_key(|one| one.of);
        found
    }

    /// Returns the callback with that release if it has waited too long by `now`.
    fn unserved(&self, number: Number, sequence: u64, pending: Pending, now: u64) -> Option<Overdue> {
        let of = self.callbacks.get(&number)?;
        let since = self.since(number.0)?;
        let release = pending.release.max(since);
        let own =
            if pending.deadline < u64::MAX { Some(pending.deadline.saturating_sub(pending.release)) } else { None };
        let limit = of.period_ns.or(of.deadline_ns).or(own);
        if now.saturating_sub(release) <= patience(limit) {
            return None;
        }
        let is_timer = of.kind == EntityKind::Timer;
        let last = if is_timer { of.last_end.unwrap_or(since) } else { release };
        let one = self.waits(number, Some(sequence), of, release, now);
        let for_ns = now.saturating_sub(last.min(release));
        // Before the events begin, nothing is known of its runs.
        let is_found = self.executors.get(&number.0).is_some_and(|of| of.is_found);
        Some(Overdue { for_ns, limit_ns: limit, is_at_least: is_timer && of.last_end.is_none() && is_found, ..one })
    }

    /// Returns the timer if its executor has been busy for so long that it must have been due meanwhile.
    fn unnoticed(&self, number: Number, of: &Callback, now: u64) -> Option<Overdue> {
        let period = of.period_ns?;
        let executor = self.executors.get(&number.0)?;
        let since = executor.since?;
        let is_busy = executor.running >= executor.threads || now.saturating_sub(executor.free_since) <= PAUSE;
        let due = of.last_release.map_or(since, |release| release.max(since)).saturating_add(period);
        // A free thread runs each timer that is due. One that did not run is cancelled, or its clock stands still.
        if !is_busy || executor.idle_until > due || now.saturating_sub(due) <= patience(Some(period)) {
            return None;
        }
        let last = of.last_end.unwrap_or(since);
        let for_ns = now.saturating_sub(last);
        let is_at_least = of.last_end.is_none();
        let one = self.waits(number, None, of, due, now);
        Some(Overdue { for_ns, limit_ns: Some(period), is_inferred: true, is_at_least, ..one })
    }

    /// Returns the callback as one that should have run and waits since `from`, with the activation that has that
    /// sequence number, if it has one yet. The caller sets the limit.
    fn waits(&self, of: Number, sequence: Option<u64>, callback: &Callback, from: u64, now: u64) -> Overdue {
        let shares = self.shares(of, sequence, from, now);
        let (reason, culprit, _) = shares.first().copied().unwrap_or((Reason::Idle, None, 0));
        Overdue {
            of,
            kind: callback.kind,
            for_ns: now.saturating_sub(from),
            is_inferred: false,
            is_at_least: false,
            limit_ns: None,
            reason,
            culprit,
        }
    }
}

impl Executor {
    /// Notes that a thread had run nothing for longer than a pause until now, if one had.
    const fn note_pause(&mut self, at: u64) {
        if self.running < self.threads && at.saturating_sub(self.free_since) > PAUSE {
            self.idle_until = at;
        }
    }
}
