//! The sleepers of one executor.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};
use smallvec::SmallVec;

use super::queue::{Queue, Sleeper, SleeperId};
use crate::clock::{Clock, SystemDue};
use crate::foreign_waker::ForeignWaker;
use crate::lock_free::dial::Reading;
use crate::lock_free::dues::{CLOCKS, Dues};
use crate::ros_time::{Follower, Leap};
use crate::times::Times;

/// The most sleepers of a clock that one round wakes, which takes some 10 us. Then the executor looks at its other
/// work, and begins the next round. So an urgent message does not wait for all sleepers, if very many are due at once.
/// On the other hand, one callback may run before a more urgent sleeper that a later round wakes.
const ROUND: usize = 256;

const STEADY: usize = 0;
const SYSTEM: usize = 1;
const ROS: usize = 2;

const fn index(clock: ClockKind) -> usize {
    match clock {
        ClockKind::System => SYSTEM,
        ClockKind::Ros => ROS,
        _ => STEADY,
    }
}

/// The sleepers of an executor, by clock.
///
/// The dispatch loop does not lock: the earliest due times are also in [`Dues`], which are written under the lock. The
/// loop
/// 1. calls [`is_due`](Self::is_due) before a pick. If so, it gives back its run, leaves the state alone and calls
///    [`wake_due`](Self::wake_due). Then it begins anew, since wakers have raised flags;
/// 2. lets a parked thread wake for the [`earlier`](Self::earlier) of its next timer and the next sleeper, and likewise
///    [by the system clock](Self::earlier_by_system_clock);
/// 3. calls [`watch_ros_time`](Self::watch_ros_time) when it sets the due time of its timers on ROS time.
///
/// A sleeper that is due before all others wakes a thread of the executor, so that a parked thread learns of the due
/// time.
pub(crate) struct Sleeps {
    book: Mutex<Sleepers>,
    dues: Dues,
    /// True if the executor's watch on ROS time is set for sleepers.
    watches: AtomicBool,
}

struct Sleepers {
    queues: [Queue; CLOCKS],
    /// The last reading of ROS time, to which sleepers on ROS time were adjusted.
    ros: Follower,
    is_closed: bool,
}

/// The due time of a sleep, before it is in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) clock: ClockKind,
    pub(super) due: Instant,
    /// The longest sleep, see [`Sleeper`].
    pub(super) longest: Option<Duration>,
    /// The reading of ROS time that `due` was calculated with.
    pub(super) ros: Reading,
}

/// State of a sleeper, for the task that polls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Asleep,
    Woken,
    /// The executor was dropped while the task slept.
    Closed,
}

impl Sleeps {
    pub(crate) fn new() -> Self {
        let ros = Follower::new();
        Self {
            book: Mutex::new(Sleepers { queues: <[Queue; CLOCKS]>::default(), ros, is_closed: false }),
            dues: Dues::new(),
            watches: AtomicBool::new(false),
        }
    }

    // ---- for the dispatch loop ----

    /// Returns true if nobody sleeps. Costs one load.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.dues.are_none()
    }

    /// Returns true if somebody sleeps on another clock than the steady one. Costs a few instructions.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.earliest(SYSTEM).is_some() || self.earliest(ROS).is_some()
    }

    /// Returns true if [`wake_due`](Self::wake_due) has something to do. Costs one load while nobody sleeps. Otherwise
    /// it may read clocks, and it takes a lock if somebody sleeps on ROS time.
    #[inline]
    pub(crate) fn is_due(&self, times: &Times, now: Instant) -> bool {
        !self.is_empty() && self.is_anybody_due(times, now)
    }

    #[cold]
    fn is_anybody_due(&self, times: &Times, now: Instant) -> bool {
        let is_over = |clock: usize, now: Instant| self.earliest(clock).is_some_and(|due| due <= now);
        is_over(STEADY, now)
            || (self.earliest(SYSTEM).is_some() && is_over(SYSTEM, times.clock.system()))
            || (self.earliest(ROS).is_some() && {
                // ROS time is read each time: it may follow the system clock, which can be set back at any time.
                let mut book = self.book.lock();
                let ros_now = self.follow(&mut book, &times.clock, now);
                self.note(&book);
                is_over(ROS, ros_now) && !times.are_jumps_left()
            })
    }

    /// Wakes the sleepers that are due, in the order of their due times, at most [`ROUND`] of each clock; `now` is the
    /// time on the steady clock.
    ///
    /// Wakers are foreign code, so call this while nothing is locked or borrowed.
    pub(crate) fn wake_due(&self, times: &Times, now: Instant) {
        let mut wakers = SmallVec::<[ForeignWaker; 8]>::new();
        let mut book = self.book.lock();
        book.pop_due(STEADY, now, &mut wakers);
        if self.earliest(SYSTEM).is_some() {
            book.pop_due(SYSTEM, times.clock.system(), &mut wakers);
        }
        if self.earliest(ROS).is_some() {
            let now = self.follow(&mut book, &times.clock, now);
            if !times.are_jumps_left() {
                book.pop_due(ROS, now, &mut wakers);
            }
        }
        self.note(&book);
        drop(book);
        for waker in wakers {
            waker.wake();
        }
    }

    /// Returns the earlier of `timer` and the next due time on the steady clock. Costs one load while nobody sleeps.
    #[inline]
    pub(crate) fn earlier(&self, timer: Option<Instant>) -> Option<Instant> {
        if self.is_empty() { timer } else { [timer, self.earliest(STEADY)].into_iter().flatten().min() }
    }

    /// Returns the earlier of `timer` and the next due time that is measured by the system clock, which ROS time may
    /// follow. Costs one load while nobody sleeps.
    #[inline]
    pub(crate) fn earlier_by_system_clock(&self, times: &Times, timer: Option<SystemDue>) -> Option<SystemDue> {
        if self.is_empty() { timer } else { self.earlier_of_others(times, timer) }
    }

    #[cold]
    fn earlier_of_others(&self, times: &Times, timer: Option<SystemDue>) -> Option<SystemDue> {
        let follows_system = || times.dial().read().time_ns.is_none() && !times.are_jumps_left();
        let ros = self.earliest(ROS).filter(|_| follows_system());
        let ros = ros.map(|due| SystemDue { due, follows_steps_back: true });
        let system = self.earliest(SYSTEM).map(|due| SystemDue { due, follows_steps_back: false });
        SystemDue::sooner(timer, SystemDue::sooner(system, ros))
    }

    /// Sets the due time that sleepers wait for on ROS time. Costs two loads while nobody sleeps. The caller reads the
    /// watch afterwards.
    #[inline]
    pub(crate) fn watch_ros_time(&self, times: &Times) {
        if !self.is_empty() || self.watches.load(Ordering::Relaxed) {
            self.set_watch(times);
        }
    }

    #[cold]
    fn set_watch(&self, times: &Times) {
        let (turn, due_ns) = self.dues.earliest_of_turn(ROS);
        // While jump callbacks have to run first there is no due time. The last of them wakes the executor.
        let due_ns = due_ns.filter(|_| !times.are_jumps_left());
        times.ros_watch.set_sleeps(due_ns, turn);
        self.watches.store(due_ns.is_some(), Ordering::Relaxed);
    }

    /// Closes the queues because the executor is dropped. Wakes all sleepers, whose sleeps then end with an error.
    pub(crate) fn close(&self) {
        let mut book = self.book.lock();
        book.is_closed = true;
        let wakers: Vec<ForeignWaker> = book.queues.iter_mut().flat_map(Queue::take_wakers).collect();
        drop(book);
        for waker in wakers {
            waker.wake();
        }
    }

    // ---- for sleepers ----

    /// Adds a sleeper. Returns `None` if the executor was dropped, and otherwise the sleeper's id, with true if a
    /// thread of the executor must look at the clock again. Takes O(log n), may allocate.
    pub(super) fn add(&self, times: &Times, wish: &Wish, waker: ForeignWaker) -> Option<(SleeperId, bool)> {
        let queue = index(wish.clock);
        let mut sleeper = Sleeper { due: wish.due, longest: wish.longest, waker };
        let mut book = self.book.lock();
        if book.is_closed {
            return None;
        }
        if queue == ROS {
            let now = self.follow(&mut book, &times.clock, times.now());
            let Reading { turn, shift_ns, base_ns, .. } = book.ros.told();
            if turn != wish.ros.turn {
                let shift_ns = shift_ns.wrapping_sub(wish.ros.shift_ns);
                sleeper.due = sleeper.due_after_jump(Instant::from_nanos(base_ns), shift_ns);
            }
            // ROS time may follow the system clock, which may have been set back since.
            sleeper.due = sleeper.longest.map_or(sleeper.due, |longest| sleeper.due.min(now + longest));
        }
        let is_first = self.earliest(queue).is_none_or(|earliest| sleeper.due < earliest);
        let id = book.queues[queue].add(sleeper);
        self.note(&book);
        Some((id, is_first))
    }

    /// Returns the state of the sleeper. If it still sleeps, `waker` replaces its waker.
    pub(super) fn ask(&self, clock: ClockKind, id: SleeperId, waker: ForeignWaker) -> Asked {
        let mut book = self.book.lock();
        let is_closed = book.is_closed;
        let Some(sleeper) = book.queues[index(clock)].get_mut(id) else {
            return Asked::Woken;
        };
        if is_closed {
            return Asked::Closed;
        }
        let former = std::mem::replace(&mut sleeper.waker, waker);
        drop(book);
        // The waker is dropped after the unlock, because that runs foreign code.
        drop(former);
        Asked::Asleep
    }

    /// Removes the sleeper. Returns its due time and the reading of ROS time that belongs to it; `None` if it was
    /// woken. Takes O(log n).
    pub(super) fn remove(&self, clock: ClockKind, id: SleeperId) -> Option<(Instant, Reading)> {
        let mut book = self.book.lock();
        let sleeper = book.queues[index(clock)].remove(id)?;
        self.note(&book);
        let ros = book.ros.told();
        drop(book);
        // The waker is dropped after the unlock, because that runs foreign code.
        Some((sleeper.due, ros))
    }

    /// Reads and returns ROS time, and adjusts its sleepers if it jumped. The steady clock shows `now`.
    fn follow(&self, book: &mut Sleepers, clock: &Clock, now: Instant) -> Instant {
        let (current, leap) = book.ros.follow(clock, now);
        if let Some(Leap { to, shift_ns }) = leap {
            book.queues[ROS].change_all(|sleeper| sleeper.due_after_jump(to, shift_ns));
        }
        current.now
    }

    /// Writes the earliest due times down for readers without the lock.
    fn note(&self, book: &Sleepers) {
        let earliest_ns = std::array::from_fn(|clock| book.queues[clock].earliest().map(Instant::as_nanos));
        self.dues.note(earliest_ns, book.ros.told().turn);
    }

    #[inline]
    fn earliest(&self, clock: usize) -> Option<Instant> {
        self.dues.earliest_ns(clock).map(Instant::from_nanos)
    }
}

impl Sleepers {
    fn pop_due(&mut self, clock: usize, now: Instant, wakers: &mut SmallVec<[ForeignWaker; 8]>) {
        let queue = &mut self.queues[clock];
        let due = std::iter::from_fn(|| queue.pop_due(now)).take(ROUND);
        wakers.extend(due.map(|sleeper| sleeper.waker));
    }
}
