//! Programs while they run: what happened in the last interval, from events as they come, in memory of a fixed size.
//!
//! - [`Feed`] reads the bytes that a program sends, and [`Live`] takes what they say.
//! - [`Live::view`] ends an interval and returns what happened in it: pure data, which a terminal shows.

mod feed;
mod flows;
mod histogram;
mod told;
mod view;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rospin_core::recording::{Event, LOSS_CAUSES, Step};

use crate::fill::Fill;
use crate::model::Process;
use crate::names::{Name, topic_of_node};
use crate::overdue::Watch;
use crate::recording::Recorded;
pub use feed::{Feed, FeedError, Item};
use flows::Flows;
pub use flows::SendView;
pub use histogram::{Histogram, Summary};
use told::Miss;
pub use told::{MissView, WaitView, Waits};
pub use view::{CallbackView, Detail, ExecutorView, LossView, OverdueView, QueueView, ThreadView, View};

/// The largest number of things of a kind. A program that has more is shown in part.
const THINGS: usize = 1 << 16;
/// The largest number of threads. If there are more, those that were seen last stay.
const THREADS: usize = 1 << 12;
/// The number of the worst activations that are kept, and for how long.
const WORST: (usize, u64) = (10, 60_000_000_000);

/// The place of a callback: its executor, and its place in the executor's table.
pub type Place = (u16, u32);

/// A program that is watched.
#[derive(Default)]
pub struct Live {
    process: Process,
    executors: BTreeMap<u16, Executor>,
    threads: BTreeMap<u32, Thread>,
    callbacks: BTreeMap<Place, Callback>,
    accounts: HashMap<u64, Place>,
    queues: BTreeMap<u64, Queue>,
    losses: BTreeMap<(u64, u8), Count>,
    /// Activations that have begun and not ended: executor, entity, sequence.
    open: HashMap<(u16, u64, u64), Open>,
    /// The callbacks that wait, and those that run meanwhile.
    watch: Watch,
    flows: Flows,
    /// The last deadlines that were missed in the interval.
    misses: VecDeque<Miss>,
    /// Waits of the interval; `None` unless somebody asked for them.
    waits: Option<told::Waiting>,
    events: Count,
    /// The number of threads that were named.
    named: u64,
    dropped: u64,
    /// The end of the last interval.
    begun: Option<u64>,
}

/// A number in the interval, and since the program is watched.
#[derive(Clone, Copy, Default)]
struct Count {
    now: u64,
    total: u64,
}

impl Count {
    const fn add(&mut self, more: u64) {
        self.now = self.now.saturating_add(more);
        self.total = self.total.saturating_add(more);
    }
}

struct Executor {
    name: String,
    policy: String,
    threads: u16,
}

#[derive(Default)]
struct Thread {
    kernel_id: u32,
    name: String,
    executor: Option<u16>,
    running: Option<Running>,
    busy_ns: u64,
    /// The number of events and threads that came before it was last seen.
    seen: u64,
}

/// A segment that a thread runs.
#[derive(Clone, Copy)]
struct Running {
    step: Step,
    start_ns: u64,
    /// The time up to which it is in the busy time of an interval.
    counted_ns: u64,
}

#[derive(Clone, Copy)]
struct Open {
    /// The time from which it is judged: its release, or the first callback of its executor if that came later.
    release_ns: u64,
    /// The nanoseconds by which its release was earlier.
    before_spin_ns: u64,
    execution_ns: u64,
}

#[derive(Default)]
struct Callback {
    entity: u64,
    name: String,
    group: String,
    kind: String,
    priority: u32,
    deadline_ns: Option<u64>,
    period_ns: Option<u64>,
    account: u64,
    busy_ns: u64,
    runs: Count,
    missed: Count,
    overruns: Count,
    incidents: Count,
    execution: Both,
    response: Both,
    worst: Vec<Worst>,
}

/// Durations of the interval, and since the program is watched.
#[derive(Default)]
struct Both {
    now: Histogram,
    total: Histogram,
}

impl Both {
    fn add(&mut self, ns: u64) {
        self.now.add(ns);
        self.total.add(ns);
    }
}

/// An activation that took long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Worst {
    /// Its sequence number within its executor.
    pub sequence: u64,
    /// The time at which it ended, on the steady clock.
    pub end_ns: u64,
    /// The time from its release to its end.
    pub response_ns: u64,
    /// The time for which threads ran it.
    pub execution_ns: u64,
    /// The time by which it missed its deadline; `None` if it did not.
    pub late_ns: Option<u64>,
}

struct Queue {
    topic: String,
    account: u64,
    fill: Fill,
    fill_max: u64,
}

const fn place(executor: u16, entity: u64) -> Place {
    (executor, entity as u32)
}

impl Live {
    /// Takes an item that the program sent, and updates the state of the program.
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Name(name) => self.name(name),
            Item::Event(recorded) => self.event(recorded),
            Item::End(_) => {}
        }
    }

    /// Takes the definition of a number in events.
    pub fn name(&mut self, name: Name) {
        if let Some(definition) = name.definition() {
            self.watch.define(&definition);
        }
        let has_room = self.callbacks.len() < THINGS && self.accounts.len() < 4 * THINGS;
        match name {
            Name::Process { name, process, host, system_offset_ns } => {
                self.process = Process { name, process, host, system_offset_ns };
            }
            Name::Executor { executor, name, policy, threads } => {
                self.executors.insert(executor, Executor { name, policy, threads });
            }
            Name::Thread { thread, kernel_id, name } => {
                self.named += 1;
                let of = self.thread(thread);
                (of.kernel_id, of.name) = (kernel_id, name);
            }
            Name::Entity { executor, entity, account, name, group, kind, priority, deadline_ns, period_ns, .. }
                if has_room =>
            {
                let of = self.callbacks.entry(place(executor, entity)).or_default();
                if of.entity != entity || of.name != name {
                    // The place of an entity that is gone.
                    self.accounts.remove(&of.account);
                    *of = Callback::default();
                    self.flows.forget(place(executor, entity));
                }
                (of.entity, of.name, of.group, of.kind) = (entity, name, group, kind);
                (of.priority, of.deadline_ns, of.period_ns, of.account) = (priority, deadline_ns, period_ns, account);
                self.accounts.insert(account, place(executor, entity));
            }
            Name::Queue { queue, account, topic, depth } => {
                let topic = topic_of_node(&topic).unwrap_or(&topic).to_owned();
                let new = Queue { topic, account, fill: Fill::new(depth), fill_max: 0 };
                self.queues.entry(queue).or_insert(new).account = account;
                if self.queues.len() > THINGS {
                    // The program has numbered it first, so that it is gone rather than others.
                    self.queues.pop_first();
                }
            }
            Name::Publisher { publisher, topic } => self.flows.publisher(&publisher, topic),
            _ => {}
        }
    }

    /// Takes an event.
    pub fn event(&mut self, recorded: Recorded) {
        let Recorded { thread, at, event } = recorded;
        let at = at.as_nanos();
        self.events.add(1);
        if let Event::Overrun { executor, entity, count } = event {
            let skipped = count - self.watch.skipped_before_spin(executor, entity, at, count);
            if let Some(callback) = self.callbacks.get_mut(&place(executor, entity)) {
                callback.overruns.add(skipped);
            }
        }
        self.watch.event(thread, at, &event);
        match event {
            Event::Dispatched { step, release, .. } => self.dispatched(thread, step, at, release.as_nanos()),
            Event::Suspended { step, .. } => self.end_segment(thread, &step, at),
            Event::Completed { step, deadline, .. } => self.completed(thread, &step, at, deadline.as_nanos()),
            Event::Sent { publisher, .. } => {
                if let Some(by) = self.running(thread) {
                    self.flows.sent(by, publisher);
                }
            }
            Event::Queued { queue, ticket, displaced } => {
                if let Some(by) = self.running(thread) {
                    self.flows.queued(by, queue);
                }
                if let Some(queue) = self.queues.get_mut(&queue) {
                    queue.fill.queued(ticket, displaced);
                    queue.fill_max = queue.fill_max.max(queue.fill.level());
                }
            }
            Event::Taken { queue, ticket } => {
                if let Some(queue) = self.queues.get_mut(&queue) {
                    queue.fill.taken(ticket);
                }
            }
            Event::Lost { account, cause, count }
                if self.losses.len() < THINGS || self.losses.contains_key(&(account, cause)) =>
            {
                self.losses.entry((account, cause)).or_default().add(count);
            }
            Event::Incident { executor, entity, .. } => {
                let of = if entity == u64::MAX { self.running(thread) } else { Some(place(executor, entity)) };
                if let Some(callback) = of.and_then(|of| self.callbacks.get_mut(&of)) {
                    callback.incidents.add(1);
                }
            }
            Event::Dropped { count } => self.dropped = self.dropped.saturating_add(count),
            _ => {}
        }
    }

    /// Returns the callback that the thread runs.
    fn running(&self, thread: u32) -> Option<Place> {
        let step = self.threads.get(&thread)?.running?.step;
        Some(place(step.executor, step.entity))
    }

    fn callback(&mut self, step: &Step) -> Option<&mut Callback> {
        self.callbacks.get_mut(&place(step.executor, step.entity))
    }

    fn dispatched(&mut self, thread: u32, step: Step, at: u64, released: u64) {
        let release = released.max(self.watch.since(step.executor).unwrap_or(at).min(at));
        let of = self.thread(thread);
        of.executor = Some(step.executor);
        of.running = Some(Running { step, start_ns: at, counted_ns: at });
        if step.segment > 0 {
            return;
        }
        if let Some(waits) = &mut self.waits {
            waits.ended(&self.watch, step, release, at);
        }
        if self.open.len() >= THINGS {
            // Callbacks that were removed while they awaited something never end.
            self.open.clear();
        }
        let opened = Open { release_ns: release, before_spin_ns: release - released, execution_ns: 0 };
        self.open.insert((step.executor, step.entity, step.sequence), opened);
    }

    /// Returns the thread, and notes that it was seen. If there are too many, the half of them goes that was not seen
    /// for longest.
    fn thread(&mut self, number: u32) -> &mut Thread {
        if self.threads.len() >= THREADS && !self.threads.contains_key(&number) {
            let mut seen: Vec<u64> = self.threads.values().map(|thread| thread.seen).collect();
            let (_, middle, _) = seen.select_nth_unstable(THREADS / 2);
            let middle = *middle;
            self.threads.retain(|_, thread| thread.seen > middle);
        }
        let now = self.events.total.saturating_add(self.named);
        let of = self.threads.entry(number).or_default();
        of.seen = now;
        of
    }

    /// Ends the segment that the thread runs.
    fn end_segment(&mut self, thread: u32, step: &Step, at: u64) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let Some(running) = thread.running.take_if(|running| {
            let of = &running.step;
            (of.executor, of.entity, of.sequence) == (step.executor, step.entity, step.sequence)
        }) else {
            return;
        };
        let busy = at.saturating_sub(running.counted_ns);
        thread.busy_ns = thread.busy_ns.saturating_add(busy);
        let execution = at.saturating_sub(running.start_ns);
        if let Some(open) = self.open.get_mut(&(step.executor, step.entity, step.sequence)) {
            open.execution_ns = open.execution_ns.saturating_add(execution);
        }
        if let Some(callback) = self.callback(step) {
            callback.busy_ns = callback.busy_ns.saturating_add(busy);
        }
    }

    fn completed(&mut self, thread: u32, step: &Step, at: u64, deadline: u64) {
        self.end_segment(thread, step, at);
        let open = self.open.remove(&(step.executor, step.entity, step.sequence));
        let deadline = deadline.saturating_add(open.map_or(0, |open| open.before_spin_ns));
        let of = place(step.executor, step.entity);
        let Some(callback) = self.callbacks.get_mut(&of) else { return };
        callback.runs.add(1);
        callback.missed.add(u64::from(at > deadline));
        // The beginning of the first activations was not watched.
        let Some(open) = open else { return };
        let response_ns = at.saturating_sub(open.release_ns);
        if deadline != u64::MAX {
            // Timers have one without an option, too: their next due time.
            callback.deadline_ns.get_or_insert(deadline.saturating_sub(open.release_ns));
        }
        callback.execution.add(open.execution_ns);
        callback.response.add(response_ns);
        let late_ns = if at > deadline { Some(at - deadline) } else { None };
        if let Some(late_ns) = late_ns {
            told::note_miss(&mut self.misses, Miss { of, sequence: step.sequence, end_ns: at, response_ns, late_ns });
        }
        let worst = &mut callback.worst;
        worst.retain(|of| at.saturating_sub(of.end_ns) < WORST.1);
        let before = worst.partition_point(|of| of.response_ns >= response_ns);
        if before < WORST.0 {
            worst.truncate(WORST.0 - 1);
            let execution_ns = open.execution_ns;
            worst.insert(before, Worst { sequence: step.sequence, end_ns: at, response_ns, execution_ns, late_ns });
        }
    }
}

/// Returns the name of a cause of losses.
fn cause(number: u8) -> &'static str {
    LOSS_CAUSES.get(usize::from(number)).unwrap_or(&"unknown")
}
