//! Room that the lists of a topic need, allocated before its lock is taken and freed after it was given back.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Alarm, History, Queue, Topic, TopicState};
use crate::sync::MutexGuard;

/// How many displaced messages leave a topic's lock without room that was allocated for them.
pub(super) const INLINE: usize = 8;

/// What a change to a topic's lists needs, and afterwards what it has left over.
pub(super) struct Room<T> {
    queues: Vec<Queue<T>>,
    alarms: Arc<[Option<Alarm<T>>]>,
    histories: Vec<History<T>>,
    /// For messages that publishers keep.
    pub(super) kept: Vec<(u64, Arc<T>)>,
}

impl<T> Room<T> {
    pub(super) fn new() -> Self {
        Self { queues: Vec::new(), alarms: Arc::new([]), histories: Vec::new(), kept: Vec::new() }
    }

    /// Makes room for one more of everything, and for so many kept messages, if there is too little; says whether there was
    /// enough.
    fn is_enough(&self, need: &Need) -> bool {
        let has = |full: bool, room: usize| !full || room >= need.room();
        has(need.queues_full, self.queues.capacity())
            && has(need.histories_full, self.histories.capacity())
            && self.alarms.len() > need.queues
            && self.kept.capacity() >= need.kept
    }

    fn make(&mut self, need: &Need) {
        if need.queues_full {
            self.queues.reserve(need.room());
        }
        if need.histories_full {
            self.histories.reserve(need.room());
        }
        self.alarms = (0..=need.queues).map(|_| None).collect();
        self.kept.reserve(need.kept);
    }
}

/// How much there is in a topic's lists.
struct Need {
    queues: usize,
    queues_full: bool,
    histories: usize,
    histories_full: bool,
    kept: usize,
}

impl Need {
    /// Twice as much as there is, so that lists that grow are moved seldom.
    fn room(&self) -> usize {
        2 * self.queues.max(self.histories) + 1
    }
}

impl<T: Send + Sync + 'static> Topic<T> {
    /// Locks the topic for a change of its lists, with enough room for it, and for as many kept messages as `kept` says.
    pub(super) fn lock_with(
        &self,
        room: &mut Room<T>,
        kept: impl Fn(&TopicState<T>) -> usize,
    ) -> MutexGuard<'_, TopicState<T>> {
        loop {
            let state = self.lock();
            let need = Need {
                queues: state.queues.len(),
                queues_full: state.queues.len() == state.queues.capacity(),
                histories: state.histories.len(),
                histories_full: state.histories.len() == state.histories.capacity(),
                kept: kept(&state),
            };
            if room.is_enough(&need) {
                return state;
            }
            drop(state);
            room.make(&need);
        }
    }

    /// Locks the topic for a message, with room for all those that it displaces.
    pub(super) fn lock_to_push(&self, displaced: &mut SmallVec<[Arc<T>; INLINE]>) -> MutexGuard<'_, TopicState<T>> {
        loop {
            let state = self.lock();
            // One more for a message that is kept no longer.
            let fits = |queues: usize| queues < displaced.capacity();
            if fits(state.queues.len()) || fits(state.queues.iter().filter(|queue| queue.producer.is_full()).count()) {
                return state;
            }
            let queues = state.queues.len();
            drop(state);
            displaced.reserve(queues + 1);
        }
    }
}

impl<T> TopicState<T> {
    /// What `room` was brought for.
    pub(super) fn add_queue(&mut self, queue: Queue<T>, room: &mut Room<T>) {
        push(&mut self.queues, queue, &mut room.queues);
    }

    /// What `room` was brought for.
    pub(super) fn add_history(&mut self, history: History<T>, room: &mut Room<T>) {
        push(&mut self.histories, history, &mut room.histories);
    }

    /// To be called when a queue, or its alarm, has come or gone.
    pub(super) fn update_alarms(&mut self, room: &mut Room<T>) {
        let alarms = self.queues.iter().filter_map(|queue| queue.alarm.clone());
        // Nobody else has it yet.
        if let Some(places) = Arc::get_mut(&mut room.alarms) {
            places.iter_mut().zip(alarms).for_each(|(place, alarm)| *place = Some(alarm));
        }
        std::mem::swap(&mut self.alarms, &mut room.alarms);
    }
}

/// Appends it; moves the list to where there is room, if need be, and leaves the place where it was.
fn push<E>(list: &mut Vec<E>, one: E, room: &mut Vec<E>) {
    if list.len() == list.capacity() {
        room.append(list);
        std::mem::swap(list, room);
    }
    list.push(one);
}
