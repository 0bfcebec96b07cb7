//! Time as one executor sees it: its clocks, and the due times that it waits for on ROS time.

use crate::sync::atomic::{AtomicUsize, Ordering};

use rospin_core::Instant;

use crate::clock::Clock;
use crate::lock_free::dial::{Dial, Watch};

/// The clocks of an executor, and the due times that it waits for on ROS time.
pub(crate) struct Times {
    pub(crate) clock: Clock,
    pub(crate) ros_watch: RosWatch,
    /// The number of jumps of ROS time that callbacks of the executor have yet to be told of.
    pub(crate) jumps_left: AtomicUsize,
}

impl Times {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, ros_watch: RosWatch::new(), jumps_left: AtomicUsize::new(0) }
    }

    /// Returns the time on the steady clock.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns true if jump callbacks have to run before timers and sleepers follow ROS time.
    ///
    /// Ask after ROS time was read: a jump that the reading shows was counted before.
    pub(crate) fn are_jumps_left(&self) -> bool {
        self.jumps_left.load(Ordering::SeqCst) > 0
    }

    /// Returns the dial that shows ROS time.
    pub(crate) fn dial(&self) -> &Dial {
        &self.clock.driver().dial
    }
}

/// The due times that an executor waits for on ROS time: of its timers, and of the tasks that sleep on it.
pub(crate) struct RosWatch {
    timers: Watch,
    sleeps: Watch,
}

impl RosWatch {
    fn new() -> Self {
        Self { timers: Watch::new(), sleeps: Watch::new() }
    }

    /// Sets the due time of the next timer, see [`Watch::set`].
    pub(crate) fn set(&self, due_ns: Option<u64>, turn: u64) {
        self.timers.set(due_ns, turn);
    }

    /// Sets the due time of the next sleeper, see [`Watch::set`].
    pub(crate) fn set_sleeps(&self, due_ns: Option<u64>, turn: u64) {
        self.sleeps.set(due_ns, turn);
    }

    /// Returns true if the executor should look, see [`Watch::is_up`].
    pub(crate) fn is_up(&self, dial: &Dial) -> bool {
        self.timers.is_up(dial) || self.sleeps.is_up(dial)
    }

    /// Returns true if timers wait for ROS time, and the dial was turned since.
    pub(crate) fn has_turned(&self, dial: &Dial) -> bool {
        self.timers.has_turned(dial)
    }

    /// Returns the same as [`is_up`](Self::is_up), for a caller that has just written the dial or the watch of the
    /// timers.
    pub(crate) fn is_up_now(&self, dial: &Dial) -> bool {
        self.timers.is_up_now(dial) || self.sleeps.is_up(dial)
    }
}
