//! The dial that shows ROS time: set under a lock by the thread that drives it, read by any thread without a lock.
//!
//! The dial has two faces, and the number of turns says which one is current. Time that passes is written to the
//! current face. A jump is written to the other face, which becomes current with the next turn. So a reading belongs to
//! one turn, although it consists of several words. A reader tries again only if the dial was turned meanwhile: it
//! never waits for a preempted writer.

use super::sync::{AtomicU64, Ordering, fence};

/// Value in place of a time while ROS time follows the system clock.
const FOLLOWS_SYSTEM: u64 = u64::MAX;

/// Value in place of a due time while an executor waits for none on ROS time.
const NO_TIMER: u64 = u64::MAX;

/// The dial that shows ROS time. Any number of threads may read it; threads that set it must take turns.
pub(crate) struct Dial {
    turns: AtomicU64,
    faces: [Face; 2],
}

/// A [`Reading`] as words, without its turn.
struct Face {
    /// [`FOLLOWS_SYSTEM`] while ROS time follows the system clock.
    time_ns: AtomicU64,
    /// As [`Reading::shift_ns`], an `i64` in two's complement.
    shift_ns: AtomicU64,
    base_ns: AtomicU64,
}

/// A reading of a dial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// The number of jumps so far. If two readings differ in it, time has jumped in between, and timers must be told of
    /// it.
    pub(crate) turn: u64,
    /// ROS time in nanoseconds; `None` if it follows the system clock.
    pub(crate) time_ns: Option<u64>,
    /// The sum of all shifts of the time line, in nanoseconds. Each change of the source of ROS time shifts it, by the
    /// difference of the new source's time to the old one's.
    pub(crate) shift_ns: i64,
    /// ROS time right after the last turn, in nanoseconds, also if it follows the system clock.
    pub(crate) base_ns: u64,
}

impl Dial {
    /// Creates a dial that follows the system clock.
    pub(crate) fn new() -> Self {
        let face = || Face {
            time_ns: AtomicU64::new(FOLLOWS_SYSTEM),
            shift_ns: AtomicU64::new(0),
            base_ns: AtomicU64::new(0),
        };
        Self { turns: AtomicU64::new(0), faces: [face(), face()] }
    }

    pub(crate) fn read(&self) -> Reading {
        loop {
            let turn = self.turns.load(Ordering::Acquire);
            let face = self.face(turn);
            let time_ns = face.time_ns.load(Ordering::Acquire);
            let shift_ns = face.shift_ns.load(Ordering::Acquire) as i64;
            let base_ns = face.base_ns.load(Ordering::Acquire);
            // A face is written for turn n + 2 only after turn n + 1 was stored. So if this has read a later face, it
            // also sees that the dial was turned.
            if self.turns.load(Ordering::Relaxed) == turn {
                let time_ns = (time_ns != FOLLOWS_SYSTEM).then_some(time_ns);
                return Reading { turn, time_ns, shift_ns, base_ns };
            }
        }
    }

    /// Moves time on without a jump.
    pub(crate) fn advance(&self, time_ns: u64) {
        let turn = self.turns.load(Ordering::Relaxed);
        self.face(turn).time_ns.store(time_ns.min(FOLLOWS_SYSTEM - 1), Ordering::Release);
    }

    /// Has time jump to `base_ns`. With `follows_system`, it is the system clock's from there on. `shift_ns` is the sum
    /// of all shifts of the time line, including that of this jump.
    pub(crate) fn turn(&self, base_ns: u64, follows_system: bool, shift_ns: i64) {
        let turn = self.turns.load(Ordering::Relaxed) + 1;
        let face = self.face(turn);
        let time_ns = if follows_system { FOLLOWS_SYSTEM } else { base_ns.min(FOLLOWS_SYSTEM - 1) };
        face.time_ns.store(time_ns, Ordering::Release);
        face.shift_ns.store(shift_ns as u64, Ordering::Release);
        face.base_ns.store(base_ns, Ordering::Release);
        self.turns.store(turn, Ordering::Release);
    }

    fn face(&self, turn: u64) -> &Face {
        &self.faces[(turn % 2) as usize]
    }
}

/// The due time that an executor waits for on a dial.
///
/// The executor writes the watch, then reads the dial. The setter writes the dial, then reads the watch. Both have a
/// fence in between, so one of them sees the other, as with the [`Parker`](super::parker::Parker). A setter that sees
/// only one word of the two looks in vain at worst, since then the executor sees the dial.
pub(crate) struct Watch {
    due_ns: AtomicU64,
    turn: AtomicU64,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { due_ns: AtomicU64::new(NO_TIMER), turn: AtomicU64::new(0) }
    }

    /// Sets the next due time, on the time line of that turn; `None` if the executor waits for none. A fence and
    /// [`is_up`](Self::is_up) must follow.
    pub(crate) fn set(&self, due_ns: Option<u64>, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
        self.due_ns.store(due_ns.map_or(NO_TIMER, |due_ns| due_ns.min(NO_TIMER - 1)), Ordering::Relaxed);
    }

    /// Returns true if the executor should look: the dial was turned, or shows a time at which its due time has come.
    /// Returns false if it waits for none. While the dial follows the system clock, only a turn counts.
    pub(crate) fn is_up(&self, dial: &Dial) -> bool {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        if due_ns == NO_TIMER {
            return false;
        }
        let reading = dial.read();
        reading.turn != self.turn.load(Ordering::Relaxed) || reading.time_ns.is_some_and(|time_ns| due_ns <= time_ns)
    }

    /// Returns true if the dial was turned since the executor set a due time. Returns false if it waits for none.
    pub(crate) fn has_turned(&self, dial: &Dial) -> bool {
        self.due_ns.load(Ordering::Relaxed) != NO_TIMER && dial.read().turn != self.turn.load(Ordering::Relaxed)
    }

    /// Returns the same as [`is_up`](Self::is_up), for a thread that has just written the dial or the watch.
    pub(crate) fn is_up_now(&self, dial: &Dial) -> bool {
        fence(Ordering::SeqCst);
        self.is_up(dial)
    }
}
