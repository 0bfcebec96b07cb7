//! What ROS time shows: set under a lock by whoever drives it, read by any thread without one.
//!
//! Two faces, of which the number of turns tells the current one. Time that passes is written to the current face; a jump is
//! written to the other one, which is current from the next turn on. So a reading is of one turn, although it is several
//! words. A reader tries again only if the dial was turned meanwhile: it never waits for a preempted writer.

use super::sync::{AtomicU64, Ordering, fence};

/// In place of a time: ROS time is the system clock's.
const FOLLOWS_SYSTEM: u64 = u64::MAX;

/// Beyond every due time.
const NO_TIMER: u64 = u64::MAX;

/// The current reading, for any number of readers; setters must take turns.
pub(crate) struct Dial {
    turns: AtomicU64,
    faces: [Face; 2],
}

struct Face {
    time_ns: AtomicU64,
    /// An `i64` in two's complement.
    shift_ns: AtomicU64,
    base_ns: AtomicU64,
}

/// What a dial showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// How often time has jumped in a way that timers must be told of.
    pub(crate) turn: u64,
    /// `None`: the system clock's time.
    pub(crate) time_ns: Option<u64>,
    /// By how much all changes of the time line together moved it.
    pub(crate) shift_ns: i64,
    /// What it showed right after the turn.
    pub(crate) base_ns: u64,
}

impl Dial {
    /// A dial that follows the system clock.
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
            // Whoever saw the face of a later turn also sees that the dial was turned: that was stored before.
            if self.turns.load(Ordering::Relaxed) == turn {
                let time_ns = (time_ns != FOLLOWS_SYSTEM).then_some(time_ns);
                return Reading { turn, time_ns, shift_ns, base_ns };
            }
        }
    }

    /// Time passes.
    pub(crate) fn advance(&self, time_ns: u64) {
        let turn = self.turns.load(Ordering::Relaxed);
        self.face(turn).time_ns.store(time_ns.min(FOLLOWS_SYSTEM - 1), Ordering::Release);
    }

    /// Time jumps to `base_ns`, and is the system clock's from there on if `follows_system`.
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

/// What an executor waits for on a dial.
///
/// Both sides write, then fence, then read: the executor what it waits for and then the dial, the setter the dial and then
/// what is waited for. So one of them sees the other, as with the [`Parker`](super::parker::Parker).
pub(crate) struct Watch {
    due_ns: AtomicU64,
    turn: AtomicU64,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { due_ns: AtomicU64::new(NO_TIMER), turn: AtomicU64::new(0) }
    }

    /// The next timer is due then, on the time line of that turn; to be followed by a fence and [`is_up`](Self::is_up).
    pub(crate) fn set(&self, due_ns: Option<u64>, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
        self.due_ns.store(due_ns.map_or(NO_TIMER, |due_ns| due_ns.min(NO_TIMER - 1)), Ordering::Release);
    }

    /// Whether the executor should look: what it waits for has come, or the dial was turned.
    pub(crate) fn is_up(&self, dial: &Dial) -> bool {
        let due_ns = self.due_ns.load(Ordering::Acquire);
        if due_ns == NO_TIMER {
            return false;
        }
        let reading = dial.read();
        reading.turn != self.turn.load(Ordering::Relaxed) || reading.time_ns.is_some_and(|time_ns| due_ns <= time_ns)
    }

    /// As [`is_up`](Self::is_up), for whoever has just written the dial or the watch.
    pub(crate) fn is_up_now(&self, dial: &Dial) -> bool {
        fence(Ordering::SeqCst);
        self.is_up(dial)
    }
}
