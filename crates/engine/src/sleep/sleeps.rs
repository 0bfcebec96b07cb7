//! Who sleeps on one executor, and what its dispatch loop asks about them.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use rospin_core::{ClockKind, Instant};
use smallvec::SmallVec;

use super::queue::{Queue, Sleeper, Ticket};
use crate::clock::{Clock, SystemDue};
use crate::incident::contain;
use crate::lock_free::dial::Reading;
use crate::ros_time::{Follower, Leap};
use crate::times::Times;

/// In place of a due time: nobody sleeps on that clock.
const NOBODY: u64 = u64::MAX;

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

/// Who sleeps on an executor, by clock.
///
/// The dispatch loop asks without the lock: the earliest due times are also in atomics, written under the lock. It
/// 1. asks [`is_due`](Self::is_due) before a pick, and if so gives back what it has, leaves the state alone, and calls
///    [`wake_due`](Self::wake_due); then it begins anew, since wakers have raised flags;
/// 2. has a parked thread get up for the [`earlier`](Self::earlier) of its next timer and the next sleeper, and likewise
///    [by the system clock](Self::earlier_by_system_clock);
/// 3. calls [`watch_ros_time`](Self::watch_ros_time) where it says what its timers wait for on ROS time.
///
/// Whoever falls asleep first of all calls a thread of the executor, so that one gets up in time.
pub(crate) struct Sleeps {
    book: Mutex<Book>,
    /// Of each clock, in nanoseconds; [`NOBODY`] if there is none.
    earliest_ns: [AtomicU64; 3],
    /// Whether there is anybody.
    has_any: AtomicBool,
    /// The turn of ROS time that its due times are reckoned in.
    turn: AtomicU64,
    /// Whether the executor's watch on ROS time is set for sleeps.
    watches: AtomicBool,
}

struct Book {
    queues: [Queue; 3],
    /// What ROS time showed when its sleepers were last told of jumps.
    ros: Follower,
    is_closed: bool,
}

/// How long somebody wants to sleep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) clock: ClockKind,
    pub(super) due: Instant,
    /// See [`Sleeper`].
    pub(super) longest: Option<Duration>,
    /// What ROS time showed when `due` was reckoned.
    pub(super) ros: Reading,
}

/// What has become of a sleeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Asleep,
    Woken,
    /// It slept when the executor was dropped.
    Closed,
}

impl Sleeps {
    pub(crate) fn new() -> Self {
        let ros = Follower::new();
        Self {
            book: Mutex::new(Book { queues: <[Queue; 3]>::default(), ros, is_closed: false }),
            earliest_ns: [NOBODY, NOBODY, NOBODY].map(AtomicU64::new),
            has_any: AtomicBool::new(false),
            turn: AtomicU64::new(0),
            watches: AtomicBool::new(false),
        }
    }

    // ---- for the dispatch loop ----

    /// Whether nobody sleeps. One load.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_any.load(Ordering::Acquire)
    }

    /// Whether somebody sleeps on another clock than the steady one. A few instructions.
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.load(SYSTEM) != NOBODY || self.load(ROS) != NOBODY
    }

    /// Whether [`wake_due`](Self::wake_due) has something to do. One load while nobody sleeps; otherwise it may read
    /// clocks, and takes a lock if somebody sleeps on ROS time.
    #[inline]
    pub(crate) fn is_due(&self, times: &Times, now: Instant) -> bool {
        !self.is_empty() && self.is_anybody_due(times, now)
    }

    #[cold]
    fn is_anybody_due(&self, times: &Times, now: Instant) -> bool {
        let is_over = |clock: usize, now: Instant| self.load(clock) <= now.as_nanos();
        // No clock shows `NOBODY`.
        is_over(STEADY, now)
            || (self.load(SYSTEM) != NOBODY && is_over(SYSTEM, times.clock.system()))
            || (self.load(ROS) != NOBODY && {
                // Looked at each time: the system clock, which it may follow, can be set back at any time.
                let mut book = self.book.lock();
                let ros_now = self.follow(&mut book, &times.clock, now);
                self.note(&book);
                is_over(ROS, ros_now) && !times.are_jumps_left()
            })
    }

    /// Wakes all who are due, in the order of their due times; `now` is the time on the steady clock.
    ///
    /// Wakers are foreign code: to be called where nothing is locked or borrowed. Each is called once, and who falls asleep
    /// meanwhile is not among them, so that it ends.
    pub(crate) fn wake_due(&self, times: &Times, now: Instant) {
        let mut wakers = SmallVec::<[Waker; 8]>::new();
        let mut book = self.book.lock();
        book.pop_due(STEADY, now, &mut wakers);
        if self.load(SYSTEM) != NOBODY {
            book.pop_due(SYSTEM, times.clock.system(), &mut wakers);
        }
        if self.load(ROS) != NOBODY {
            let now = self.follow(&mut book, &times.clock, now);
            // After the reading: a jump that it shows was counted before.
            if !times.are_jumps_left() {
                book.pop_due(ROS, now, &mut wakers);
            }
        }
        self.note(&book);
        drop(book);
        for waker in wakers {
            contain(|| waker.wake());
        }
    }

    /// When the next one on the steady clock is due, or `timer` if that is earlier. One load while nobody sleeps.
    #[inline]
    pub(crate) fn earlier(&self, timer: Option<Instant>) -> Option<Instant> {
        if self.is_empty() { timer } else { [timer, self.earliest(STEADY)].into_iter().flatten().min() }
    }

    /// The same by the system clock, which ROS time may follow. One load while nobody sleeps.
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

    /// Says what is waited for on ROS time. Two loads while nobody sleeps on it. The caller looks at the watch afterwards.
    #[inline]
    pub(crate) fn watch_ros_time(&self, times: &Times) {
        if !self.is_empty() || self.watches.load(Ordering::Relaxed) {
            self.set_watch(times);
        }
    }

    #[cold]
    fn set_watch(&self, times: &Times) {
        let due_ns = self.load(ROS);
        // None while jump callbacks have to run first: the last of them wakes the executor.
        let due_ns = (due_ns != NOBODY && !times.are_jumps_left()).then_some(due_ns);
        times.ros_watch.set_sleeps(due_ns, self.turn.load(Ordering::Acquire));
        self.watches.store(due_ns.is_some(), Ordering::Relaxed);
    }

    /// The executor is dropped: wakes everybody, who then learn of it. From now on nobody falls asleep here.
    pub(crate) fn close(&self) {
        let mut book = self.book.lock();
        book.is_closed = true;
        let wakers: Vec<Waker> = book.queues.iter_mut().flat_map(Queue::take_wakers).collect();
        drop(book);
        for waker in wakers {
            contain(|| waker.wake());
        }
    }

    // ---- for those who sleep ----

    /// Adds a sleeper. Returns `None` if the executor was dropped, and otherwise true if a thread of the executor must look at
    /// the clock again. Takes O(log n), may allocate.
    pub(super) fn add(&self, times: &Times, wish: &Wish, waker: Waker) -> Option<(Ticket, bool)> {
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
            // The system clock, which it may follow, may have been set back since.
            sleeper.due = sleeper.longest.map_or(sleeper.due, |longest| sleeper.due.min(now + longest));
        }
        let due_ns = sleeper.due.as_nanos().min(NOBODY - 1);
        let is_first = due_ns < self.load(queue);
        let ticket = book.queues[queue].add(sleeper);
        self.note(&book);
        Some((ticket, is_first))
    }

    /// Asks what has become of it; if it still sleeps, `waker` is the one to call.
    pub(super) fn ask(&self, clock: ClockKind, ticket: Ticket, waker: Waker) -> Asked {
        let mut book = self.book.lock();
        let is_closed = book.is_closed;
        let Some(sleeper) = book.queues[index(clock)].get_mut(ticket) else {
            return Asked::Woken;
        };
        if is_closed {
            return Asked::Closed;
        }
        let former = std::mem::replace(&mut sleeper.waker, waker);
        drop(book);
        // Foreign code.
        drop(former);
        Asked::Asleep
    }

    /// It sleeps here no longer. Says what it still waited for, none if it was woken. Takes O(log n).
    pub(super) fn remove(&self, clock: ClockKind, ticket: Ticket) -> Option<(Instant, Reading)> {
        let mut book = self.book.lock();
        let sleeper = book.queues[index(clock)].remove(ticket)?;
        self.note(&book);
        let ros = book.ros.told();
        drop(book);
        // The waker is dropped here: foreign code.
        Some((sleeper.due, ros))
    }

    /// Reads ROS time, and tells its sleepers if it was turned.
    fn follow(&self, book: &mut Book, clock: &Clock, now: Instant) -> Instant {
        let (current, leap) = book.ros.follow(clock, now);
        if let Some(Leap { to, shift_ns }) = leap {
            book.queues[ROS].change_all(|sleeper| sleeper.due_after_jump(to, shift_ns));
        }
        current.now
    }

    /// Lets those who do not lock see what is in the book.
    fn note(&self, book: &Book) {
        for (earliest_ns, queue) in self.earliest_ns.iter().zip(&book.queues) {
            let due_ns = queue.earliest().map_or(NOBODY, |due| due.as_nanos().min(NOBODY - 1));
            earliest_ns.store(due_ns, Ordering::Release);
        }
        self.turn.store(book.ros.told().turn, Ordering::Release);
        let has_any = book.queues.iter().any(|queue| queue.earliest().is_some());
        self.has_any.store(has_any, Ordering::Release);
    }

    #[inline]
    fn load(&self, clock: usize) -> u64 {
        self.earliest_ns[clock].load(Ordering::Acquire)
    }

    fn earliest(&self, clock: usize) -> Option<Instant> {
        let due_ns = self.load(clock);
        (due_ns != NOBODY).then_some(Instant::from_nanos(due_ns))
    }
}

impl Book {
    fn pop_due(&mut self, clock: usize, now: Instant, wakers: &mut SmallVec<[Waker; 8]>) {
        let queue = &mut self.queues[clock];
        wakers.extend(std::iter::from_fn(|| queue.pop_due(now)).map(|sleeper| sleeper.waker));
    }
}
