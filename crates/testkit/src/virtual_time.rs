//! A small driver in virtual time. Callbacks take exactly the times of their [`Behaviour`].
//!
//! At each instant things happen in this order: callbacks end and publish, messages arrive and awaits end, idle
//! threads ask for work in the order of their numbers. Then time jumps to the next instant at which something is known
//! to happen.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, EntityId, Instant, Scheduler, ThreadIndex};

/// The behaviour of an entity's callback.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// Execution time, up to the first await if there is one.
    pub run: Duration,
    /// For each await its duration, and the execution time after it.
    pub awaits: Vec<(Duration, Duration)>,
    /// Entities that get a message when the callback has ended.
    pub publishes: Vec<EntityId>,
}

impl Behaviour {
    /// Returns the behaviour of a callback that takes `ms` milliseconds, and neither awaits nor publishes.
    #[must_use]
    pub fn runs_ms(ms: u64) -> Self {
        Self { run: Duration::from_millis(ms), ..Self::default() }
    }
}

/// Number of rounds at one instant, after which the driver assumes an endless loop.
const ROUNDS_MAX: usize = 10_000;

/// The arrival of a message, or the end of an await.
enum Happening {
    Message(EntityId),
    Awaited(EntityId, u64),
}

struct Entity {
    id: EntityId,
    behaviour: Behaviour,
    /// Number of messages that were not taken yet.
    queued: u32,
}

/// A trace, in order.
pub type Events = Vec<(Instant, TraceEvent)>;

/// Threads that run the activations of a scheduler in virtual time.
pub struct VirtualTime {
    scheduler: Scheduler,
    now: Instant,
    entities: Vec<Entity>,
    /// The activation of each thread, and its end.
    threads: Vec<Option<(Instant, Activation)>>,
    agenda: BTreeMap<Instant, VecDeque<Happening>>,
    events: Arc<Mutex<Events>>,
}

impl VirtualTime {
    /// Returns `threads` threads that run the activations of `scheduler`, and replaces the scheduler's trace by [one of
    /// their own](Self::events).
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

    /// Sets the behaviour of an entity's callback. Without one, it takes no time, and messages that arrive before it
    /// runs count as one.
    pub fn behave(&mut self, id: EntityId, behaviour: Behaviour) {
        match self.entities.iter_mut().find(|entity| entity.id == id) {
            Some(entity) => entity.behaviour = behaviour,
            None => self.entities.push(Entity { id, behaviour, queued: 0 }),
        }
    }

    /// Schedules a message for the entity at `at`.
    pub fn message(&mut self, at: Instant, id: EntityId) {
        self.agenda.entry(at).or_default().push_back(Happening::Message(id));
    }

    /// Runs until nothing more happens up to `end`, inclusive.
    ///
    /// # Panics
    /// If things happen without end at one instant.
    pub fn run_until(&mut self, end: Instant) {
        while self.now <= end {
            self.instant();
            match self.next_instant() {
                Some(next) if next <= end => self.now = next,
                _ => return,
            }
        }
    }

    /// Returns the scheduler.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Returns the trace so far.
    #[must_use]
    pub fn events(&self) -> Events {
        self.events.lock().map(|events| events.clone()).unwrap_or_default()
    }

    /// Returns the time and the thread of each start of the entity's callback.
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

    /// Handles everything at this instant. Callbacks that take no time end in the same one.
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
            // A timer that catches up may have due times in the past, which are served now.
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
                for id in behaviour.publishes {
                    self.deliver(id);
                }
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

    /// Puts a message into the entity's queue, and releases the entity, unless it is ready already.
    fn deliver(&mut self, id: EntityId) {
        if let Some(entity) = self.entities.iter_mut().find(|entity| entity.id == id) {
            entity.queued += 1;
        }
        self.scheduler.release(self.now, id);
    }

    /// Takes one message. If there are more, the entity is released again at once.
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

    /// Returns the next instant at which something ends, arrives, or, if a thread is idle, is due; `None` if nothing
    /// will happen.
    fn next_instant(&self) -> Option<Instant> {
        let idle = self.threads.iter().any(Option::is_none);
        let ends = self.threads.iter().flatten().map(|(until, _)| *until).min();
        let arrives = self.agenda.keys().next().copied();
        let due = self.scheduler.next_due().filter(|_| idle);
        [ends, arrives, due].into_iter().flatten().min()
    }
}
