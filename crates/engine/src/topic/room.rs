//! Memory for the lists of a topic: allocated before the topic's lock is taken, and freed after the unlock.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Alarms, AnyMessage, History, Queue, Topic, TopicState};
use crate::guarantees::Guarantees;
use crate::sync::MutexGuard;

/// The number of displaced messages for which no memory has to be allocated.
pub(super) const INLINE: usize = 8;

/// Memory that a change of a topic's lists needs, and afterwards the memory that is left over.
pub(super) struct Room {
    queues: Vec<Queue>,
    alarms: Alarms,
    histories: Vec<History>,
    /// Memory for the messages that publishers keep, with their places in the order of publication, behind those that
    /// are kept elsewhere.
    pub(super) kept: Vec<(u64, AnyMessage)>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { queues: Vec::new(), alarms: Arc::new([]), histories: Vec::new(), kept: Vec::new() }
    }

    /// Returns true if each list that is full can grow, and if there is room for the new list of alarms and for the
    /// kept messages.
    fn is_enough(&self, need: &Need) -> bool {
        let has = |full: bool, room: usize| !full || room >= need.room();
        has(need.queues_full, self.queues.capacity())
            && has(need.histories_full, self.histories.capacity())
            && self.alarms.len() > need.queues
            && self.kept.capacity() - self.kept.len() >= need.kept
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

/// The memory that a change of a topic's lists may need: the lengths of the lists, true for those that are full, and
/// the number of messages that publishers keep.
struct Need {
    queues: usize,
    queues_full: bool,
    histories: usize,
    histories_full: bool,
    kept: usize,
}

impl Need {
    /// Returns the number of places for a list that is full: more than twice as many as it has now, so that growing
    /// lists are seldom moved.
    fn room(&self) -> usize {
        2 * self.queues.max(self.histories) + 1
    }
}

impl Topic {
    /// Locks the topic for a change of its lists, with enough room for it, and for the messages that publishers keep
    /// for a late subscription that demands `late_demands`; `None` if there is no such subscription.
    pub(super) fn lock_with(&self, room: &mut Room, late_demands: Option<Guarantees>) -> MutexGuard<'_, TopicState> {
        loop {
            let state = self.lock();
            let need = Need {
                queues: state.queues.len(),
                queues_full: state.queues.len() == state.queues.capacity(),
                histories: state.histories.len(),
                histories_full: state.histories.len() == state.histories.capacity(),
                kept: late_demands.map_or(0, |demands| state.count_kept_for(demands)),
            };
            if room.is_enough(&need) {
                return state;
            }
            drop(state);
            room.make(&need);
        }
    }

    /// Locks the topic for a message, with room for all messages that it displaces.
    #[inline(always)]
    pub(super) fn lock_to_push(&self, displaced: &mut SmallVec<[AnyMessage; INLINE]>) -> MutexGuard<'_, TopicState> {
        self.with_room_to_push(self.lock(), displaced)
    }

    /// Makes room for all messages that one message displaces. The topic may be unlocked for that, and locked again.
    #[inline(always)]
    pub(super) fn with_room_to_push<'a>(
        &'a self,
        state: MutexGuard<'a, TopicState>,
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> MutexGuard<'a, TopicState> {
        // One more place is for the message that a transient local publisher stops keeping.
        if state.queues.len() < displaced.capacity() { state } else { self.lock_with_many(state, displaced) }
    }

    /// Does what [`lock_to_push`](Self::lock_to_push) does, for a topic with more queues than there is room for.
    #[inline(never)]
    fn lock_with_many<'a>(
        &'a self,
        mut state: MutexGuard<'a, TopicState>,
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> MutexGuard<'a, TopicState> {
        loop {
            if state.queues.iter().filter(|queue| queue.producer.is_full()).count() < displaced.capacity() {
                return state;
            }
            let queues = state.queues.len();
            drop(state);
            displaced.reserve(queues + 1);
            state = self.lock();
        }
    }
}

impl TopicState {
    /// Adds a queue. If the list is full, it moves into the memory that `room` has ready, and leaves its old memory
    /// there.
    pub(super) fn add_queue(&mut self, queue: Queue, room: &mut Room) {
        push(&mut self.queues, queue, &mut room.queues);
    }

    /// Adds a history. If the list is full, it moves into the memory that `room` has ready, and leaves its old memory
    /// there.
    pub(super) fn add_history(&mut self, history: History, room: &mut Room) {
        push(&mut self.histories, history, &mut room.histories);
    }

    /// Updates the list of alarms after a queue or its alarm has come or gone.
    pub(super) fn update_alarms(&mut self, room: &mut Room) {
        let alarms = self.queues.iter().filter_map(|queue| queue.alarm.clone());
        // The new list has no other owner yet.
        if let Some(places) = Arc::get_mut(&mut room.alarms) {
            places.iter_mut().zip(alarms).for_each(|(place, alarm)| *place = Some(alarm));
        }
        std::mem::swap(&mut self.alarms, &mut room.alarms);
    }
}

/// Appends an element. If the list is full, moves it into `room`, and leaves the list's old memory there.
fn push<E>(list: &mut Vec<E>, one: E, room: &mut Vec<E>) {
    if list.len() == list.capacity() {
        room.append(list);
        std::mem::swap(list, room);
    }
    list.push(one);
}
