//! Events of schedulers on their way into files that begin while the program runs: they wait behind a cut, in the logs'
//! order. Where a file begins, it begins with the state that the events before the cut have led to.
//!
//! A cut is a place in the order in which each scheduler saw its events, not an instant: a thread reads the clock
//! before it has an executor's lock. Each hand-over from one thread to another says how many events precede it, so that
//! an event is taken only after everything that the scheduler saw before.

mod state;

use std::collections::{BTreeMap, VecDeque};

use rospin_core::Instant;
use rospin_core::recording::{DefinitionKey, Event, Words};

use crate::handover::{executor_of, is_of_snapshot};
use state::State;

/// The time that an event waits at most for another thread's. It comes never if a log was full.
const PATIENCE_NS: u64 = 5_000_000_000;

/// Events of one thread.
pub(crate) type Batch = (u32, Vec<Words>);

/// The events behind the cut, and the schedulers at the cut.
#[derive(Default)]
pub(crate) struct Follower {
    threads: BTreeMap<u32, Waiting>,
    executors: BTreeMap<u16, Followed>,
    cut_ns: u64,
    /// The latest time of an event that was added.
    latest_ns: u64,
    /// The times of the losses behind the cut. A snapshot that is later waits for them: it replaces the state that they
    /// end.
    losses: Vec<u64>,
    /// Threads and executors that are gone, with the latest time of an event then.
    gone: Vec<(u64, DefinitionKey)>,
}

/// A thread's events behind the cut.
#[derive(Default)]
struct Waiting {
    events: VecDeque<Words>,
    /// The latest time before the cut: a release is noted later than it happened.
    latest_ns: u64,
    /// The number of the thread's last hand-over of each executor before the cut.
    numbers: BTreeMap<u16, u64>,
}

/// A scheduler at the cut.
struct Followed {
    /// The number of the last hand-over, its thread, and the number of events since.
    number: u64,
    thread: u32,
    count: u64,
    /// `None` while it is not known: before the first snapshot, and after events were lost.
    state: Option<State>,
    /// True until the first snapshot: it comes before the first hand-over, whose time may be earlier.
    is_expected: bool,
}

impl Follower {
    /// Adds the next events of a thread.
    pub(crate) fn add(&mut self, thread: u32, events: &[Words]) {
        let waiting = self.threads.entry(thread).or_default();
        waiting.events.extend(events);
        for words in events {
            self.latest_ns = self.latest_ns.max(words[0]);
            if is_loss(words) {
                self.losses.push(words[0]);
            }
        }
    }

    /// Forgets a thread or an executor that is gone, once the cut is behind its last event.
    pub(crate) fn forget(&mut self, key: DefinitionKey) {
        if matches!(key, DefinitionKey::Thread(_) | DefinitionKey::Executor(_)) {
            self.gone.push((self.latest_ns, key));
        }
    }

    /// Drops what is gone, and has no event behind the cut.
    fn drop_gone(&mut self) {
        let Self { threads, executors, gone, cut_ns, .. } = self;
        gone.retain(|(until_ns, key)| match key {
            _ if *until_ns >= *cut_ns => true,
            DefinitionKey::Thread(thread) => {
                let waits = threads.get(thread).is_some_and(|waiting| !waiting.events.is_empty());
                if !waits {
                    threads.remove(thread);
                }
                waits
            }
            DefinitionKey::Executor(executor) => {
                executors.remove(executor);
                for waiting in threads.values_mut() {
                    waiting.numbers.remove(executor);
                }
                false
            }
            _ => false,
        });
    }

    /// Returns the latest time of an event that was added, in nanoseconds.
    pub(crate) const fn latest_ns(&self) -> u64 {
        self.latest_ns
    }

    /// Returns the time of the cut in nanoseconds.
    pub(crate) const fn cut_ns(&self) -> u64 {
        self.cut_ns
    }

    /// Returns the events behind the cut, by thread.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, &VecDeque<Words>)> {
        self.threads.iter().map(|(thread, waiting)| (*thread, &waiting.events))
    }

    /// Returns the times of the events behind the cut that are no later than `end_ns`, each at least that of the one
    /// before it of its thread.
    pub(crate) fn times_until(&self, end_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for waiting in self.threads.values() {
            let mut latest_ns = waiting.latest_ns;
            for words in &waiting.events {
                latest_ns = latest_ns.max(words[0]);
                if latest_ns > end_ns {
                    break;
                }
                times.push(latest_ns);
            }
        }
        times
    }

    /// Moves the cut to `end_ns`. Returns the events that are before it now, each thread's in order.
    pub(crate) fn advance(&mut self, end_ns: u64) -> Vec<Batch> {
        let mut taken: Vec<Batch> = Vec::new();
        loop {
            let before = taken.len();
            let Self { threads, executors, losses, .. } = self;
            for (thread, waiting) in threads {
                let mut batch = Vec::new();
                while let Some(words) = waiting.take(executors, losses, *thread, end_ns) {
                    batch.push(words);
                }
                if !batch.is_empty() {
                    taken.push((*thread, batch));
                }
            }
            if taken.len() == before && !self.give_up(end_ns) {
                break;
            }
        }
        self.cut_ns = self.cut_ns.max(end_ns);
        if !self.gone.is_empty() {
            self.drop_gone();
        }
        taken
    }

    /// Gives up the states that events wait for too long. Returns true if it did.
    fn give_up(&mut self, end_ns: u64) -> bool {
        let is_overdue = |waiting: &Waiting| {
            let first = waiting.events.front().map(|words| waiting.latest_ns.max(words[0]));
            first.is_some_and(|at| at.saturating_add(PATIENCE_NS) < end_ns)
        };
        let is_stuck = self.threads.values().any(is_overdue);
        let waited_for = |followed: &&mut Followed| followed.state.is_some() || followed.is_expected;
        let mut gives_up = false;
        for followed in self.executors.values_mut().filter(|_| is_stuck).filter(waited_for) {
            followed.lose();
            gives_up = true;
        }
        gives_up
    }

    /// Returns the events with which a file begins that has the events behind the cut: the thread that works with each
    /// scheduler, and the scheduler's state, unless that is not known.
    pub(crate) fn beginning(&self) -> Vec<Batch> {
        let at = Instant::from_nanos(self.cut_ns);
        let begin = |(executor, followed): (&u16, &Followed)| {
            let Followed { number, thread, count, state, .. } = followed;
            let executor = *executor;
            let number = *number;
            let count = *count;
            let mut events = Vec::new();
            if number > 0 || count > 0 {
                events.push(Event::HandedOver { executor, number, previous: number, count });
            }
            events.extend(state.iter().flat_map(|state| state.snapshot(executor)));
            (*thread, events.iter().map(|event| event.encode(at)).collect())
        };
        self.executors.iter().map(begin).collect()
    }
}

fn is_loss(words: &Words) -> bool {
    matches!(Event::decode(words), Some((_, Event::Dropped { .. })))
}

impl Waiting {
    /// Takes the thread's next event, if it is no later than `end_ns`, and if its scheduler saw nothing before that
    /// waits.
    fn take(
        &mut self,
        executors: &mut BTreeMap<u16, Followed>,
        losses: &mut Vec<u64>,
        thread: u32,
        end_ns: u64,
    ) -> Option<Words> {
        let words = *self.events.front()?;
        if words[0].max(self.latest_ns) > end_ns {
            return None;
        }
        let event = Event::decode(&words).map(|(_, event)| event);
        match event {
            Some(Event::Dropped { .. }) => {
                if let Some(place) = losses.iter().position(|at| *at == words[0]) {
                    losses.swap_remove(place);
                }
                for executor in executors.values_mut() {
                    executor.lose();
                }
            }
            Some(Event::Snapshot { .. }) if losses.iter().any(|at| *at < words[0]) => return None,
            _ => {}
        }
        if let Some(event) = &event
            && let Some(executor) = executor_of(event)
        {
            let fresh = || Followed { number: 0, thread, count: 0, state: None, is_expected: true };
            let followed = executors.entry(executor).or_insert_with(fresh);
            let number = self.numbers.entry(executor).or_default();
            if !followed.take(thread, number, event) {
                return None;
            }
        }
        self.latest_ns = words[0].max(self.latest_ns);
        self.events.pop_front()
    }
}

impl Followed {
    /// Gives up the state: events were lost, perhaps those of this scheduler, and perhaps its first snapshot.
    fn lose(&mut self) {
        (self.state, self.is_expected) = (None, false);
    }

    /// Takes note of an event of a thread, whose last hand-over has that number. Returns false if the scheduler saw
    /// others before.
    fn take(&mut self, thread: u32, of_thread: &mut u64, event: &Event) -> bool {
        if let Event::HandedOver { number, previous, count, .. } = event {
            let is_first = *previous == u64::MAX;
            let is_next = (*previous, *count) == (self.number, self.count);
            let is_over = *number < self.number;
            if !is_first && !is_over && (self.is_expected || (self.state.is_some() && !is_next)) {
                return false;
            }
            *of_thread = *number;
            if !is_over {
                (self.number, self.thread, self.count) = (*number, thread, 0);
                // The recording of the executor begins anew, with a snapshot.
                self.state.take_if(|_| is_first);
            }
            return true;
        }
        if let Event::Snapshot { count, .. } = event {
            (self.number, self.thread) = (*of_thread, thread);
            (self.state, self.is_expected) = (Some(State::new(*count)), false);
        } else if (self.number, self.thread) == (*of_thread, thread) {
            self.count += u64::from(!is_of_snapshot(event));
            self.state.take_if(|state| !state.apply(event));
        }
        true
    }
}
