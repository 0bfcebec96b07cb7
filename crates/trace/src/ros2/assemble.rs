//! Recordings from what was seen: the executors and groups that the tracepoints do not name, and events with their
//! definitions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use rospin_core::recording::{Event, Step};
use rospin_core::{EntityKind, Instant};

use super::activity::{Activity, Input, Run, What};
use super::names::{PARAMETER_EVENTS, ROSOUT, callback_name};
use super::objects::{Entity, Objects};
use crate::file::ProcessName;
use crate::names::{Name, hexadecimal};
use crate::recording::{EventSorter, Recorded, Recording};

/// The time that may lie between the publication of a message and its time of sending, if the latter is not known.
const SENDING_NS: u64 = 1_000_000;

/// An executor that was concluded from threads.
pub(super) struct Executor {
    pub(super) process: usize,
    pub(super) name: String,
    /// Threads in the order of their first callbacks.
    pub(super) threads: Vec<usize>,
    pub(super) has_wait_set: bool,
}

/// Everything that is concluded from the objects and the activity of a trace.
pub(super) struct Assembly<'a> {
    pub(super) objects: &'a Objects,
    pub(super) activity: &'a Activity,
    pub(super) executors: Vec<Executor>,
    /// The executor of each entity that ran.
    pub(super) homes: Vec<Option<usize>>,
    pub(super) names: Vec<String>,
    /// The group of each entity, and true if it is mutually exclusive.
    pub(super) groups: Vec<(String, bool)>,
    /// Publishers of topics by the times of their messages.
    sent: HashMap<&'a str, BTreeMap<u64, usize>>,
    /// Topics of messages whose publishers are not in the trace.
    outside: BTreeSet<&'a str>,
    pub(super) notes: Vec<String>,
}

impl<'a> Assembly<'a> {
    /// Draws the conclusions.
    pub(super) fn new(objects: &'a Objects, activity: &'a Activity) -> Self {
        let mut assembly = Self {
            objects,
            activity,
            executors: Vec::new(),
            homes: vec![None; objects.entities.len()],
            names: Vec::new(),
            groups: Vec::new(),
            sent: HashMap::new(),
            outside: BTreeSet::new(),
            notes: Vec::new(),
        };
        assembly.find_executors();
        assembly.name_entities();
        assembly.name_executors();
        assembly.find_groups();
        assembly.index_messages();
        assembly
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &'a Run> + use<'a> {
        self.activity.runs.iter()
    }

    /// Puts threads that ran the same entity together.
    fn find_executors(&mut self) {
        let mut parents: Vec<usize> = (0..self.activity.threads.len()).collect();
        let mut first: HashMap<usize, usize> = HashMap::new();
        for run in self.runs() {
            let other = *first.entry(run.entity).or_insert(run.thread);
            let one = root(&mut parents, run.thread);
            let other = root(&mut parents, other);
            parents[one.max(other)] = one.min(other);
        }
        let mut places: HashMap<usize, usize> = HashMap::new();
        for run in self.runs() {
            let executors = &mut self.executors;
            let process = self.activity.threads[run.thread].process;
            let place = *places.entry(root(&mut parents, run.thread)).or_insert_with(|| {
                executors.push(Executor { process, name: String::new(), threads: Vec::new(), has_wait_set: false });
                executors.len() - 1
            });
            let executor = &mut executors[place];
            if !executor.threads.contains(&run.thread) {
                executor.threads.push(run.thread);
                executor.has_wait_set |= self.activity.threads[run.thread].has_wait_set;
            }
            self.homes[run.entity] = Some(place);
        }
    }

    /// Names callbacks as rospin's nodes do: by topic or service, and timers by number.
    fn name_entities(&mut self) {
        let mut timers: HashMap<(usize, &str), usize> = HashMap::new();
        for entity in &self.objects.entities {
            let Entity { process, kind, node, of, .. } = entity;
            let node = node.as_deref().unwrap_or_default();
            self.names.push(match kind {
                EntityKind::Timer => {
                    let number = timers.entry((*process, node)).or_default();
                    *number += 1;
                    format!("{}/timer{}", node.trim_start_matches('/'), *number - 1)
                }
                EntityKind::Waitable => of.clone(),
                _ => callback_name(node, of),
            });
        }
    }

    /// Names executors: by the node if they have only one and it has no other, else by process and number.
    fn name_executors(&mut self) {
        let mut nodes: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.executors.len()];
        for (entity, home) in self.objects.entities.iter().zip(&self.homes) {
            if let (Some(home), Some(node)) = (home, entity.node.as_deref()) {
                nodes[*home].insert(node);
            }
        }
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, own) in nodes.iter().enumerate() {
            let process = self.executors[place].process;
            let number = count.entry(process).or_default();
            *number += 1;
            let only = own
                .first()
                .filter(|node| own.len() == 1 && nodes.iter().filter(|other| other.contains(**node)).count() == 1);
            let of = &self.objects.processes[process];
            self.executors[place].name = match only {
                Some(node) => node.trim_start_matches('/').to_owned(),
                None if of.name.is_empty() => format!("process {} {number}", of.number),
                None => format!("{} {number}", of.name),
            };
        }
    }

    fn index_messages(&mut self) {
        for happened in &self.activity.happened {
            if let What::Sent(publisher, number) = happened.what {
                let topic = self.objects.publishers[publisher].topic.as_str();
                self.sent.entry(topic).or_default().insert(number, publisher);
            }
        }
    }

    /// Returns the publisher and the number of the message of a topic that was sent at that time; `None` if it is not
    /// in the trace.
    fn message(&self, topic: &str, time: u64) -> Option<(usize, u64)> {
        let sent = self.sent.get(topic)?;
        if let Some(publisher) = sent.get(&time) {
            return Some((*publisher, time));
        }
        let (number, publisher) = sent.range(time.saturating_sub(SENDING_NS)..=time).next_back()?;
        if self.objects.publishers[*publisher].has_times { None } else { Some((*publisher, *number)) }
    }

    /// Adds sentences about the trace, which has so many events of ros2_tracing.
    pub(super) fn notes(&mut self, events: u64) {
        let unknown =
            self.objects.entities.iter().filter(|entity| entity.kind == EntityKind::Waitable && entity.has_run);
        let unknown = unknown.count();
        if unknown > 0 {
            self.notes.push(format!(
                "{unknown} callbacks belong to no timer, subscription or service that was created while the trace \
                 went on: start the tracing session before the programs."
            ));
        }
        if self.activity.own_takes > 0 {
            self.notes.push(format!(
                "{} messages were taken within callbacks, which they do not release.",
                self.activity.own_takes
            ));
        }
        self.notes[0] = format!("From {events} events of ros2_tracing. {}", self.notes[0]);
    }

    /// Returns the recordings of all processes that ran callbacks.
    pub(super) fn recordings(mut self, path: &Path) -> Vec<Recording> {
        let mut events = self.events();
        let mut recordings = Vec::new();
        for (process, of) in self.objects.processes.iter().enumerate() {
            let events = std::mem::take(&mut events[process]);
            if events.is_empty() {
                continue;
            }
            let described =
                ProcessName { name: of.name.clone(), process: of.number, host: of.host.clone(), system_offset_ns: 0 };
            let mut names = vec![described.to_name()];
            self.definitions(process, &mut names);
            let mut order = EventSorter::default();
            order.add_all(events);
            let path = path.to_owned();
            recordings.push(Recording { path, names, events: order.finish(), ..Recording::default() });
        }
        if let Some(first) = recordings.first_mut() {
            first.notes = std::mem::take(&mut self.notes);
        }
        recordings
    }

    /// Returns the events of each process.
    fn events(&mut self) -> Vec<Vec<Recorded>> {
        let mut events: Vec<Vec<Recorded>> = self.objects.processes.iter().map(|_| Vec::new()).collect();
        let hears = |topic: &&str| self.objects.entities.iter().any(|entity| entity.of == *topic && entity.has_run);
        let silent: Vec<&str> = [ROSOUT, PARAMETER_EVENTS].into_iter().filter(|topic| !hears(topic)).collect();
        for happened in &self.activity.happened {
            let mut push = |event| {
                let thread = happened.thread as u32;
                let at = Instant::from_nanos(happened.at);
                events[self.activity.threads[thread as usize].process].push(Recorded { thread, at, event });
            };
            match happened.what {
                What::Started(run) => {
                    let of = &self.activity.runs[run];
                    let place = self.homes[of.entity].unwrap_or(0);
                    let index = self.executors[place].threads.iter().position(|one| *one == of.thread);
                    let index = u8::try_from(index.unwrap_or(0)).unwrap_or(u8::MAX);
                    let release = Instant::from_nanos(of.release);
                    let cpu_ns = of.cpu[0];
                    push(Event::Dispatched { step: self.step(run), thread: index, release, cpu_ns });
                    match of.input {
                        Input::Nothing => {}
                        Input::Buffered(queue, ticket) => push(Event::Taken { queue: queue as u64, ticket }),
                        Input::Message(time) => {
                            let topic = self.objects.entities[of.entity].of.as_str();
                            let (publisher, number) = match self.message(topic, time) {
                                Some((publisher, number)) => (publisher_id(publisher), number),
                                None => {
                                    self.outside.insert(topic);
                                    (outside_id(topic), 0)
                                }
                            };
                            push(Event::Received { publisher, number });
                        }
                    }
                }
                What::Ended(run) => {
                    let cpu_ns = self.activity.runs[run].cpu[1];
                    push(Event::Completed { step: self.step(run), deadline: Instant::MAX, cpu_ns });
                }
                What::Sent(publisher, number) => {
                    if !silent.contains(&self.objects.publishers[publisher].topic.as_str()) {
                        push(Event::Sent { publisher: publisher_id(publisher), number });
                    }
                }
                What::Buffered(queue, ticket, displaced) => {
                    push(Event::Queued { queue: queue as u64, ticket, displaced });
                    if displaced {
                        let account = self.objects.reader(queue).map_or(0, account);
                        push(Event::Lost { account, cause: 0, count: 1 });
                    }
                }
            }
        }
        events
    }

    fn step(&self, run: usize) -> Step {
        let of = &self.activity.runs[run];
        let executor = self.homes[of.entity].map_or(0, number_of);
        Step { executor, entity: of.entity as u64, sequence: run as u64, segment: 0 }
    }

    /// Appends the definitions of what the process has.
    fn definitions(&self, process: usize, names: &mut Vec<Name>) {
        for (place, executor) in self.executors.iter().enumerate().filter(|(_, of)| of.process == process) {
            let policy = if executor.has_wait_set { "wait-set-e2" } else { "fifo" };
            names.push(Name::Executor {
                executor: number_of(place),
                name: executor.name.clone(),
                policy: policy.to_owned(),
                threads: u16::try_from(executor.threads.len()).unwrap_or(u16::MAX),
            });
        }
        for (place, thread) in self.activity.threads.iter().enumerate().filter(|(_, of)| of.process == process) {
            let kernel_id = thread.kernel_id as u32;
            names.push(Name::Thread { thread: place as u32, kernel_id, name: thread.name.clone() });
        }
        for (place, entity) in self.objects.entities.iter().enumerate().filter(|(_, of)| of.process == process) {
            let Some(home) = self.homes[place] else { continue };
            let (group, excludes) = self.groups[place].clone();
            names.push(Name::Entity {
                executor: number_of(home),
                entity: place as u64,
                account: account(place),
                name: self.names[place].clone(),
                group,
                excludes,
                kind: entity.kind.as_str().to_owned(),
                priority: 0,
                deadline_ns: None,
                period_ns: entity.period_ns,
                rules: None,
            });
            if let Some(depth) = entity.depth {
                // No event has this queue: it is the middleware's.
                let queue = u64::MAX - place as u64;
                names.push(Name::Queue { queue, account: account(place), topic: entity.of.clone(), depth });
            }
        }
        for (place, buffer) in self.objects.buffers.iter().enumerate().filter(|(_, of)| of.process == process) {
            let Some(reader) = self.objects.reader(place) else { continue };
            let topic = self.objects.entities[reader].of.clone();
            names.push(Name::Queue { queue: place as u64, account: account(reader), topic, depth: buffer.capacity });
        }
        for (place, publisher) in self.objects.publishers.iter().enumerate().filter(|(_, of)| of.process == process) {
            let id = hexadecimal(&publisher_id(place));
            let topic = publisher.topic.clone();
            names.push(Name::Publisher { publisher: id, topic });
        }
        for topic in &self.outside {
            names.push(Name::Publisher { publisher: hexadecimal(&outside_id(topic)), topic: (*topic).to_owned() });
        }
    }
}

/// Notes at the end of the recording that events are missing.
pub(super) fn drop_events(recording: &mut Recording, count: u64) {
    let Some(last) = recording.events.last().copied().filter(|_| count > 0) else { return };
    recording.events.push(Recorded { event: Event::Dropped { count }, ..last });
}

fn root(parents: &mut [usize], mut thread: usize) -> usize {
    while parents[thread] != thread {
        parents[thread] = parents[parents[thread]];
        thread = parents[thread];
    }
    thread
}

/// Returns the number of an executor in events. Those beyond the largest number share that.
fn number_of(executor: usize) -> u16 {
    u16::try_from(executor).unwrap_or(u16::MAX)
}

/// Returns the account of an entity. Zero is the unknown one.
const fn account(entity: usize) -> u64 {
    entity as u64 + 1
}

/// Returns the id of a publisher of the trace.
fn publisher_id(publisher: usize) -> [u8; 16] {
    (publisher as u128 + 1).to_be_bytes()
}

/// Returns an id for the publishers of a topic that are not in the trace.
fn outside_id(topic: &str) -> [u8; 16] {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = topic.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (1 << 127 | u128::from(hash)).to_be_bytes()
}
