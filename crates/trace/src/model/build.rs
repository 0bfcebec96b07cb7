//! Building of the model: names give the numbers in events their meaning, and events become activations and messages.

use std::collections::{BTreeMap, HashMap};

use rospin_core::EntityKind;
use rospin_core::recording::{Event, LOSS_CAUSES, Step};

use super::{
    Activation, Callback, Executor, Incident, Loss, Message, Model, Overdue, Process, Queue, Segment, Thread,
    Violation, Waiting,
};
use crate::fill::Fill;
use crate::names::{Name, hexadecimal, kind_named};
use crate::overdue::Watch;
use crate::recording::{Recorded, Recording};

/// Numbers by which the events of one process name items, each with the item's place in the model.
#[derive(Default)]
struct Numbers {
    process: usize,
    executors: HashMap<u16, usize>,
    threads: HashMap<u32, usize>,
    entities: HashMap<(u16, u64), usize>,
    accounts: HashMap<u64, usize>,
    /// Queues: the account of their entity, by which losses name it, and their place in the model.
    queues: HashMap<u64, (u64, usize)>,
    /// The fill of each queue.
    fills: HashMap<u64, Fill>,
    /// Release and deadline of each segment that was released and not dispatched yet.
    released: HashMap<Step, (u64, u64)>,
    /// Activations that have not ended, by executor, entity and sequence number: the place, and the thread's processor
    /// time at the start of the last segment.
    open: HashMap<(u16, u64, u64), (usize, u64)>,
    /// The activation that each thread runs.
    current: HashMap<u32, usize>,
    queued: HashMap<(u64, u64), usize>,
    chains: HashMap<u32, String>,
    /// The callbacks that wait, and those that run meanwhile.
    watch: Watch,
    /// Takes of messages whose publication comes later in the order of events.
    taken: Vec<((u64, u64), usize, u64)>,
}

/// Identity of a message through a middleware: its publisher, and its number there.
type Key = ([u8; 16], u64);

/// A model that is being built.
#[derive(Default)]
pub(super) struct Build {
    model: Model,
    sent: HashMap<Key, usize>,
    /// Takes of messages through a middleware: the key, the activation, and the time.
    received: Vec<(Key, usize, u64)>,
    publishers: BTreeMap<String, String>,
    span: Option<(u64, u64)>,
}

impl Build {
    /// Adds the recording of one process.
    pub(super) fn recording(&mut self, recording: &Recording) {
        let mut numbers = Numbers { process: self.model.processes.len(), ..Numbers::default() };
        self.model.processes.push(Process::default());
        // All names first: events may come before the names that they use.
        for name in &recording.names {
            self.name(&mut numbers, name);
        }
        let mut end = 0;
        for recorded in &recording.events {
            end = recorded.at.as_nanos().max(end);
            self.event(&mut numbers, recorded);
        }
        self.judge_waiting(&numbers, end);
        for (key, activation, at) in std::mem::take(&mut numbers.taken) {
            if let Some(message) = numbers.queued.get(&key) {
                self.link(*message, activation, at);
            }
        }
        for (account, queue) in numbers.queues.values() {
            self.model.queues[*queue].callback = numbers.accounts.get(account).copied();
        }
    }

    /// Adds what still waits at the end of the events of a process.
    fn judge_waiting(&mut self, numbers: &Numbers, end: u64) {
        for (number, place) in &numbers.executors {
            self.model.executors[*place].since_ns = numbers.watch.since(*number);
        }
        for (number, from_ns, deadline) in numbers.watch.pending() {
            let Some(callback) = numbers.entities.get(&number).copied() else { continue };
            let is_late = deadline.is_some_and(|deadline| end > deadline);
            self.model.waiting.push(Waiting { callback, from_ns, until_ns: end.max(from_ns), is_late });
        }
        self.model.waiting.sort_by_key(|of| of.callback);
        for one in numbers.watch.overdue(end) {
            let Some(callback) = numbers.entities.get(&one.of).copied() else { continue };
            let culprit = one.culprit.and_then(|culprit| numbers.entities.get(&culprit).copied());
            let for_ns = one.for_ns;
            let is_at_least = one.is_at_least;
            let limit_ns = one.limit_ns;
            let reason = one.reason;
            self.model.overdue.push(Overdue { callback, for_ns, is_at_least, limit_ns, reason, culprit });
        }
    }

    fn name(&mut self, numbers: &mut Numbers, name: &Name) {
        if let Some(definition) = name.definition() {
            numbers.watch.define(&definition);
        }
        let process = numbers.process;
        match name.clone() {
            Name::Process { name, process: number, host, system_offset_ns } => {
                self.model.processes[process] = Process { name, process: number, host, system_offset_ns };
            }
            Name::Executor { executor: number, name, policy, threads } => {
                let executor = self.executor(numbers, number);
                self.model.executors[executor] = Executor { process, number, name, policy, threads, since_ns: None };
            }
            Name::Thread { thread: number, kernel_id, name } => {
                let thread = self.thread(numbers, number);
                self.model.threads[thread] = Thread { process, number, kernel_id, name };
            }
            Name::Entity {
                executor,
                entity,
                account,
                name,
                group,
                excludes,
                kind,
                priority,
                deadline_ns,
                period_ns,
                rules,
            } => {
                let callback = self.callback(numbers, executor, entity);
                numbers.accounts.insert(account, callback);
                let of = &mut self.model.callbacks[callback];
                (of.account, of.name, of.group, of.kind) = (account, name, group, kind_named(&kind));
                (of.excludes, of.frees_group) = (excludes, rules.is_some_and(|rules| rules.frees_group));
                (of.priority, of.deadline_ns, of.period_ns) = (priority, deadline_ns, period_ns);
            }
            Name::Queue { queue, account, topic, depth } => {
                let queues = &mut self.model.queues;
                let (of, _) = numbers.queues.entry(queue).or_insert_with(|| {
                    queues.push(Queue { process, topic, depth, callback: None, levels: Vec::new() });
                    (account, queues.len() - 1)
                });
                *of = account;
            }
            Name::Chain { chain, name } => _ = numbers.chains.insert(chain, name),
            Name::Publisher { publisher, topic } => _ = self.publishers.insert(publisher, topic),
        }
    }

    // ---- things by their numbers; what was never named gets its number as its name ----

    fn executor(&mut self, numbers: &mut Numbers, number: u16) -> usize {
        let executors = &mut self.model.executors;
        *numbers.executors.entry(number).or_insert_with(|| {
            let name = format!("executor {number}");
            let process = numbers.process;
            executors.push(Executor { process, number, name, policy: String::new(), threads: 1, since_ns: None });
            executors.len() - 1
        })
    }

    fn thread(&mut self, numbers: &mut Numbers, number: u32) -> usize {
        let threads = &mut self.model.threads;
        *numbers.threads.entry(number).or_insert_with(|| {
            threads.push(Thread { process: numbers.process, number, kernel_id: 0, name: format!("thread {number}") });
            threads.len() - 1
        })
    }

    fn callback(&mut self, numbers: &mut Numbers, executor: u16, entity: u64) -> usize {
        if let Some(callback) = numbers.entities.get(&(executor, entity)) {
            return *callback;
        }
        let place = self.model.callbacks.len();
        numbers.entities.insert((executor, entity), place);
        let process = numbers.process;
        let executor = self.executor(numbers, executor);
        self.model.callbacks.push(Callback {
            process,
            executor,
            entity,
            account: 0,
            name: format!("entity {}", entity as u32),
            group: String::new(),
            excludes: true,
            frees_group: false,
            kind: EntityKind::Waitable,
            priority: 0,
            deadline_ns: None,
            period_ns: None,
            topics: Vec::new(),
            activations: Vec::new(),
            overruns: 0,
        });
        place
    }

    // ---- events ----

    fn event(&mut self, numbers: &mut Numbers, recorded: &Recorded) {
        let Recorded { thread, at, event } = *recorded;
        let at = at.as_nanos();
        self.model.events += 1;
        self.span = Some(self.span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
        let running = numbers.current.get(&thread).copied();
        if let Event::Overrun { executor, entity, count } = event {
            let callback = self.callback(numbers, executor, entity);
            self.model.callbacks[callback].overruns +=
                count - numbers.watch.skipped_before_spin(executor, entity, at, count);
        }
        numbers.watch.event(thread, at, &event);
        match event {
            Event::Released { step, release, deadline } | Event::Antedated { step, release, deadline } => {
                numbers.released.insert(step, (release.as_nanos(), deadline.as_nanos()));
            }
            Event::Dispatched { step, release, cpu_ns, .. } => {
                let activation = self.dispatch(numbers, step, thread, at, release.as_nanos(), cpu_ns);
                numbers.current.insert(thread, activation);
            }
            Event::Suspended { step, cpu_ns } => self.end_segment(numbers, &step, thread, at, cpu_ns, None),
            Event::Completed { step, deadline, cpu_ns } => {
                self.end_segment(numbers, &step, thread, at, cpu_ns, Some(deadline.as_nanos()));
            }
            Event::Queued { queue, ticket, displaced } => {
                let topic = self.change_level(numbers, queue, at, |fill| fill.queued(ticket, displaced));
                let place = numbers.queues.get(&queue).map(|(_, place)| *place);
                let message = self.publish(numbers, topic, place, thread, at, running);
                numbers.queued.insert((queue, ticket), message);
            }
            Event::Taken { queue, ticket } => {
                self.change_level(numbers, queue, at, |fill| fill.taken(ticket));
                if let Some(activation) = running {
                    if let Some((_, queue)) = numbers.queues.get(&queue) {
                        let topic = self.model.queues[*queue].topic.clone();
                        self.note_topic(&topic, activation);
                    }
                    numbers.taken.push(((queue, ticket), activation, at));
                }
            }
            Event::Sent { publisher, number } => {
                let topic = self.publishers.get(&hexadecimal(&publisher)).cloned().unwrap_or_default();
                let message = self.publish(numbers, topic, None, thread, at, running);
                self.sent.insert((publisher, number), message);
            }
            Event::Received { publisher, number } => {
                if let Some(activation) = running {
                    self.received.push(((publisher, number), activation, at));
                }
            }
            Event::Lost { account, cause, count } => {
                let queue = numbers.queues.values().find(|(of, _)| *of == account);
                let topic = queue.map_or_else(String::new, |(_, queue)| self.model.queues[*queue].topic.clone());
                self.model.losses.push(Loss {
                    callback: numbers.accounts.get(&account).copied(),
                    process: numbers.process,
                    topic,
                    at_ns: at,
                    cause: LOSS_CAUSES.get(usize::from(cause)).copied().unwrap_or("unknown"),
                    count,
                });
            }
            Event::Incident { executor, entity, kind } => {
                let of_running = running.map(|activation| self.model.activations[activation].callback);
                let mut named = || self.callback(numbers, executor, entity);
                let callback = if entity == u64::MAX { of_running } else { Some(named()) };
                self.model.incidents.push(Incident { callback, at_ns: at, kind });
            }
            Event::Violation { executor, entity, kind, cause, chain, culprit, measured, limit } => {
                let callback = self.callback(numbers, executor, entity);
                let culprit = numbers.accounts.get(&culprit).copied();
                let chain = numbers.chains.get(&chain).cloned();
                let at_ns = at;
                let violation = Violation { callback, chain, at_ns, kind, cause, culprit, measured, limit };
                self.model.violations.push(violation);
            }
            Event::Dropped { count } => self.model.dropped += count,
            _ => {}
        }
    }

    fn dispatch(&mut self, numbers: &mut Numbers, step: Step, thread: u32, at: u64, release: u64, cpu: u64) -> usize {
        let callback = self.callback(numbers, step.executor, step.entity);
        let thread = self.thread(numbers, thread);
        let (release_ns, deadline) = numbers.released.remove(&step).unwrap_or((release, u64::MAX));
        let segment = Segment { thread, release_ns, start_ns: at, end_ns: at, cpu_ns: None };
        let key = (step.executor, step.entity, step.sequence);
        if let Some((activation, cpu_at_start)) = numbers.open.get_mut(&key) {
            *cpu_at_start = cpu;
            self.model.activations[*activation].segments.push(segment);
            return *activation;
        }
        let place = self.model.activations.len();
        numbers.open.insert(key, (place, cpu));
        let since = numbers.watch.since(step.executor).unwrap_or(at).min(at);
        self.model.activations.push(Activation {
            callback,
            sequence: step.sequence,
            release_ns,
            before_spin_ns: since.saturating_sub(release_ns),
            deadline_ns: Some(deadline).filter(|deadline| *deadline != u64::MAX),
            segments: vec![segment],
            end_ns: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
        });
        self.model.callbacks[callback].activations.push(place);
        place
    }

    /// Ends the activation's last segment at the time `at`, when the thread's processor time is `cpu`. `deadline` is
    /// `None` if the activation goes on after an await. Otherwise it is the activation's deadline, and the activation
    /// ends, too.
    fn end_segment(
        &mut self,
        numbers: &mut Numbers,
        step: &Step,
        thread: u32,
        at: u64,
        cpu: u64,
        deadline: Option<u64>,
    ) {
        let key = (step.executor, step.entity, step.sequence);
        let Some((place, cpu_at_start)) = numbers.open.get(&key).copied() else { return };
        let activation = &mut self.model.activations[place];
        if let Some(segment) = activation.segments.last_mut() {
            segment.end_ns = at.max(segment.start_ns);
            segment.cpu_ns = if cpu_at_start > 0 && cpu >= cpu_at_start { Some(cpu - cpu_at_start) } else { None };
        }
        if let Some(deadline) = deadline {
            activation.end_ns = Some(at);
            activation.deadline_ns = Some(deadline).filter(|deadline| *deadline != u64::MAX);
            numbers.open.remove(&key);
        }
        if numbers.current.get(&thread) == Some(&place) {
            numbers.current.remove(&thread);
        }
    }

    fn publish(
        &mut self,
        numbers: &mut Numbers,
        topic: String,
        queue: Option<usize>,
        thread: u32,
        published_ns: u64,
        from: Option<usize>,
    ) -> usize {
        let thread = self.thread(numbers, thread);
        let place = self.model.messages.len();
        self.model.messages.push(Message { topic, queue, published_ns, from, thread, taken: None });
        if let Some(from) = from {
            self.model.activations[from].outputs.push(place);
        }
        place
    }

    /// Records that the fill of a queue changed at the time `at`. Returns the name of the queue's topic; an empty name
    /// if the queue is not known.
    fn change_level(&mut self, numbers: &mut Numbers, queue: u64, at: u64, change: impl FnOnce(&mut Fill)) -> String {
        let Some((_, place)) = numbers.queues.get(&queue) else { return String::new() };
        let of_model = &mut self.model.queues[*place];
        let fill = numbers.fills.entry(queue).or_insert_with(|| Fill::new(of_model.depth));
        change(fill);
        of_model.levels.push((at, fill.level()));
        of_model.topic.clone()
    }

    fn note_topic(&mut self, topic: &str, activation: usize) {
        let topics = &mut self.model.callbacks[self.model.activations[activation].callback].topics;
        if !topics.iter().any(|known| known == topic) {
            topics.push(topic.to_owned());
        }
    }

    fn link(&mut self, message: usize, activation: usize, at: u64) {
        let Message { taken, .. } = &mut self.model.messages[message];
        if taken.is_none() {
            *taken = Some((activation, at));
            self.model.activations[activation].inputs.push(message);
            return;
        }
        // A message through a middleware has several subscriptions: each has its own entry.
        let mut copy = self.model.messages[message].clone();
        copy.taken = Some((activation, at));
        let place = self.model.messages.len();
        if let Some(from) = copy.from {
            self.model.activations[from].outputs.push(place);
        }
        self.model.messages.push(copy);
        self.model.activations[activation].inputs.push(place);
    }

    /// Links the messages between processes, and returns the model.
    pub(super) fn finish(mut self) -> Model {
        for (key, activation, at) in std::mem::take(&mut self.received) {
            if let Some(topic) = self.publishers.get(&hexadecimal(&key.0)).cloned() {
                self.note_topic(&topic, activation);
            }
            if let Some(message) = self.sent.get(&key) {
                self.link(*message, activation, at);
            }
        }
        self.model.span = self.span.unwrap_or_default();
        self.model
    }
}
