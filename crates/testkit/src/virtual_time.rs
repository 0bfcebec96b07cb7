//! A small virtual-time driver: threads that take as long as they are told, and nothing happens in between.
//!
//! At each instant, in this order: what ends, ends (and publishes); messages arrive and awaited things happen; idle
//! threads ask for work, the lowest numbered first. Then time jumps to the next instant at which something is known to
//! happen.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, EntityId, Instant, Scheduler, ThreadIndex};

/// How an entity's callback behaves.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// How long the callback runs, up to its first await if it has any.
    pub run: Duration,
    /// For each await of the callback: how long it waits, and how long it runs after that.
    pub awaits: Vec<(Duration, Duration)>,
    /// Which entities get a message when the callback has ended.
    pub publishes: Vec<EntityId>,
}

impl Behaviour {
    /// A callback that runs for so many milliseconds.
    #[must_use]
    pub fn runs_ms(ms: u64) -> Self {
        Self { run: Duration::from_millis(ms), ..Self::default() }
    }
}

/// How often threads may ask for work at one instant: a scheduler that goes round in circles is stopped here.
const ROUNDS_MAX: usize = 10_000;

/// A message arrives or something awaited happens.
enum Happening {
    Message(EntityId),
    Awaited(EntityId, u64),
}

struct Entity {
    id: EntityId,
    behaviour: Behaviour,
    /// Messages that are not taken yet.
    queued: u32,
}

/// What a trace recorded, in order.
pub type Events = Vec<(Instant, TraceEvent)>;

/// Threads that run the activations of a scheduler in virtual time.
pub struct VirtualTime {
    scheduler: Scheduler,
    now: Instant,
    entities: Vec<Entity>,
    /// What each thread runs, and until when.
    threads: Vec<Option<(Instant, Activation)>>,
    agenda: BTreeMap<Instant, VecDeque<Happening>>,
    events: Arc<Mutex<Events>>,
}

impl VirtualTime {
    /// So many threads of an executor with `scheduler`, whose trace this takes over.
    #[must_use]
    pub fn new(mut scheduler: Scheduler, threads: u16) -> Self {
        let events = Arc::new(Mutex::new(Events::new()));
        let sink = Arc::clone(&events);
        scheduler.set_trace(Some(Box::new(move |now, event| {
            if let Ok(mut events) = sink.lock() {
                events.push((now, event));
            }
        })));
        let threads = vec![None; usize::from(threads)];
        Self { scheduler, now: Instant::ZERO, entities: Vec::new(), threads, agenda: BTreeMap::new(), events }
    }

    /// Says how an entity's callback behaves; without that it takes no time.
    pub fn behave(&mut self, id: EntityId, behaviour: Behaviour) {
        match self.entities.iter_mut().find(|entity| entity.id == id) {
            Some(entity) => entity.behaviour = behaviour,
            None => self.entities.push(Entity { id, behaviour, queued: 0 }),
        }
    }

    /// A message for the entity arrives at `at`.
    pub fn message(&mut self, at: Instant, id: EntityId) {
        self.agenda.entry(at).or_default().push_back(Happening::Message(id));
    }

    /// Lets time pass until nothing is left to happen up to `end`, that instant included.
    ///
    /// # Panics
    /// If an instant does not come to an end.
    pub fn run_until(&mut self, end: Instant) {
        while self.now <= end {
            self.instant();
            match self.next_instant() {
                Some(next) if next <= end => self.now = next,
                _ => return,
            }
        }
    }

    /// The scheduler, to be looked at.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// What was recorded so far.
    #[must_use]
    pub fn events(&self) -> Events {
        self.events.lock().map(|events| events.clone()).unwrap_or_default()
    }

    /// When the entity's callback was started: the thread and the time of each run.
    #[must_use]
    pub fn starts(&self, id: EntityId) -> Vec<(Instant, ThreadIndex)> {
        let start = |(at, event): (Instant, TraceEvent)| match event {
            TraceEvent::Dispatched(thread, activation) if activation.entity == id && activation.segment == 0 => {
                Some((at, thread))
            }
            _ => None,
        };
        self.events().into_iter().filter_map(start).collect()
    }

    /// Everything that happens at this instant; callbacks that take no time end in the same one.
    fn instant(&mut self) {
        for _ in 0..ROUNDS_MAX {
            self.end_what_is_over();
            for happening in self.agenda.remove(&self.now).unwrap_or_default() {
                match happening {
                    Happening::Message(id) => self.deliver(id),
                    Happening::Awaited(id, sequence) => drop(self.scheduler.resume(self.now, id, sequence)),
                }
            }
            self.start_what_is_ready();
            // A due time in the past, of a timer that catches up, is to be served now.
            if self.next_instant().is_none_or(|next| next > self.now) {
                return;
            }
        }
        panic!("{ROUNDS_MAX} rounds, and there is still something to do at {:?}", self.now);
    }

    fn end_what_is_over(&mut self) {
        for thread in 0..self.threads.len() {
            let Some((_, activation)) = self.threads[thread].filter(|(until, _)| *until <= self.now) else {
                continue;
            };
            self.threads[thread] = None;
            let behaviour = self.behaviour(activation.entity);
            if let Some((wait, _)) = behaviour.awaits.get(activation.segment as usize) {
                self.scheduler.suspend(self.now, &activation);
                let awaited = Happening::Awaited(activation.entity, activation.sequence);
                self.agenda.entry(self.now + *wait).or_default().push_back(awaited);
            } else {
                behaviour.publishes.into_iter().for_each(|id| self.deliver(id));
                self.scheduler.complete(self.now, &activation);
            }
        }
    }

    fn start_what_is_ready(&mut self) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].is_some() {
                continue;
            }
            let Some(activation) = self.scheduler.next(self.now, ThreadIndex(thread as u16)) else {
                continue;
            };
            self.take(&activation);
            let behaviour = self.behaviour(activation.entity);
            let segment = (activation.segment as usize).checked_sub(1);
            let run = segment.map_or(behaviour.run, |awaited| behaviour.awaits[awaited].1);
            self.threads[thread] = Some((self.now + run, activation));
        }
    }

    /// Puts a message into the entity's queue; the first one makes it ready.
    fn deliver(&mut self, id: EntityId) {
        if let Some(entity) = self.entities.iter_mut().find(|entity| entity.id == id) {
            entity.queued += 1;
        }
        self.scheduler.release(self.now, id);
    }

    /// Takes one message; if more are there, the entity is ready again at once.
    fn take(&mut self, activation: &Activation) {
        let Some(entity) = self.entities.iter_mut().find(|entity| entity.id == activation.entity) else {
            return;
        };
        if activation.segment == 0 && entity.queued > 0 {
            entity.queued -= 1;
            if entity.queued > 0 {
                self.scheduler.release(self.now, activation.entity);
            }
        }
    }

    fn behaviour(&self, id: EntityId) -> Behaviour {
        let known = self.entities.iter().find(|entity| entity.id == id);
        known.map(|entity| entity.behaviour.clone()).unwrap_or_default()
    }

    /// The next instant at which something ends, arrives or, if a thread is idle, is due.
    fn next_instant(&self) -> Option<Instant> {
        let idle = self.threads.iter().any(Option::is_none);
        let ends = self.threads.iter().flatten().map(|(until, _)| *until).min();
        let arrives = self.agenda.keys().next().copied();
        let due = self.scheduler.next_due().filter(|_| idle);
        [ends, arrives, due].into_iter().flatten().min()
    }
}
