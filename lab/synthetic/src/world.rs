//! State that callbacks and drivers share: the time, and the agenda of events from outside.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Duration;

use rospin_engine::{Clock, Instant, ManualClock};
use rustix::time::{ClockId, clock_gettime};

use super::agenda::{Agenda, Due};
use super::{lock, nanos};

/// Way in which time passes.
pub(super) enum Pace {
    /// Time passes by itself. `start` is the scenario's zero, and `scale` the length of one of its seconds in seconds.
    Real { start: Instant, scale: f64 },
    /// Callbacks move the clock, which shows [`MANUAL_ZERO`] at the beginning.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test of parity"))]
    Manual(ManualClock),
}

/// Reading of a manual clock at the scenario's zero. It is not 0, because the inbox moves an arrival at the clock's own
/// zero to 1 ns.
pub(super) const MANUAL_ZERO: Instant = Instant::from_millis(1_000);

/// All executors under a manual clock, as a callback that spends time sees them: those that are more urgent interrupt
/// it.
pub(super) trait Others: Send + Sync {
    /// Runs everything that is ready in executors that are more urgent than `os_priority`. That takes time on the
    /// clock.
    fn preempt(&self, os_priority: u8);
    /// Returns the next time after now at which one of the executors may have something to do; `None` if nothing is
    /// left.
    fn next_ns(&self) -> Option<u64>;
}

/// State that callbacks and drivers share.
pub(super) struct World {
    clock: Clock,
    pace: Pace,
    /// End of the scenario. All times in nanoseconds in this file are the scenario's.
    pub(super) end_ns: u64,
    agenda: Mutex<Agenda>,
    /// Signal that the agenda has a new first entry, or that the run is over.
    changed: Condvar,
    /// True once the run is over.
    closed: Mutex<bool>,
    /// The executors that may interrupt a running callback; `None` unless a manual clock is driven.
    others: Mutex<Option<Arc<dyn Others>>>,
}

impl World {
    pub(super) fn new(clock: Clock, pace: Pace, end_ns: u64, agenda: Agenda) -> Self {
        Self {
            clock,
            pace,
            end_ns,
            agenda: Mutex::new(agenda),
            changed: Condvar::new(),
            closed: Mutex::new(false),
            others: Mutex::default(),
        }
    }

    /// Returns the present time, on the engine's clock.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the present time of the scenario.
    pub(super) fn now_ns(&self) -> u64 {
        self.scenario_ns(self.now())
    }

    /// Converts a reading of the engine's steady clock to the scenario's time.
    pub(super) fn scenario_ns(&self, at: Instant) -> u64 {
        match &self.pace {
            Pace::Real { start, scale } => (at.saturating_since(*start).as_nanos() as f64 / scale) as u64,
            Pace::Manual(_) => nanos(at.saturating_since(MANUAL_ZERO)),
        }
    }

    /// Returns the length of one of the scenario's durations on the engine's clocks.
    pub(super) fn scaled(&self, duration: Duration) -> Duration {
        match &self.pace {
            Pace::Real { scale, .. } => duration.mul_f64(*scale),
            Pace::Manual(_) => duration,
        }
    }

    /// Returns the scenario's zero, on the engine's steady clock.
    pub(super) fn zero(&self) -> Instant {
        match &self.pace {
            Pace::Real { start, .. } => *start,
            Pace::Manual(_) => MANUAL_ZERO,
        }
    }

    // ---- for callbacks ----

    /// Spends `time` of the scenario on a thread of priority `os_priority`.
    pub(super) fn spend(&self, time: Duration, os_priority: u8) {
        match &self.pace {
            Pace::Real { .. } => burn(self.scaled(time)),
            Pace::Manual(clock) => self.pass(clock, nanos(time), os_priority),
        }
    }

    /// Handles the end of a callback's segment. Call it after the callback published. In manual time, events of this
    /// very instant happen before the activation is completed. In real time, this does nothing.
    pub(super) fn segment_ends(&self) {
        if let Pace::Manual(_) = self.pace {
            self.fire_due(self.now_ns());
        }
    }

    /// Makes the agenda call `waker` after `wait` of the scenario's time. Returns the time of that call.
    pub(super) fn wake_after(&self, wait: Duration, waker: Waker) -> u64 {
        let at_ns = self.now_ns().saturating_add(nanos(wait));
        lock(&self.agenda).enter_wake(at_ns, waker);
        self.changed.notify_all();
        at_ns
    }

    // ---- for drivers ----

    /// Gives access to the agenda, under its lock.
    pub(super) fn enter<R>(&self, enter: impl FnOnce(&mut Agenda) -> R) -> R {
        enter(&mut lock(&self.agenda))
    }

    /// Publishes the messages and wakes the callbacks that are due by `now_ns`.
    pub(super) fn fire_due(&self, now_ns: u64) {
        loop {
            // A statement of its own, so that the lock is released before the entry is handled.
            let due = lock(&self.agenda).pop(now_ns);
            match due {
                Some(Due::Message(outlets)) => outlets.iter().for_each(|outlet| outlet.send(self.now())),
                Some(Due::Wake(waker)) => waker.wake(),
                None => return,
            }
        }
    }

    /// Sets the executors that may interrupt a running callback under a manual clock. `None` releases them at the end
    /// of a run, since they refer to this world.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test of parity"))]
    pub(super) fn set_others(&self, others: Option<Arc<dyn Others>>) {
        *lock(&self.others) = others;
    }

    /// Lets a callback run for `left_ns` in manual time, while more urgent executors interrupt it. Events at the very
    /// end are left, so that the callback's own messages come before them.
    fn pass(&self, clock: &ManualClock, mut left_ns: u64, os_priority: u8) {
        let others = lock(&self.others).clone();
        loop {
            self.fire_due(self.now_ns());
            if left_ns == 0 {
                return;
            }
            let mut next_ns = None;
            if let Some(others) = &others {
                others.preempt(os_priority);
                next_ns = others.next_ns();
            }
            let now_ns = self.now_ns();
            let step_ns = next_ns.map_or(left_ns, |next_ns| left_ns.min(next_ns.saturating_sub(now_ns)));
            clock.advance(Duration::from_nanos(step_ns));
            left_ns -= step_ns;
            if left_ns == 0 {
                return;
            }
        }
    }

    /// Sends messages and wakes callbacks at their times in real time, until the world is closed.
    pub(super) fn publish_until_closed(&self) {
        while !*lock(&self.closed) {
            self.fire_due(self.now_ns());
            let agenda = lock(&self.agenda);
            let left = agenda.next_ns().map(|next_ns| self.left_until(next_ns)).unwrap_or(Duration::from_millis(100));
            if !left.is_zero() {
                // The loop wakes every 100 ms at the latest, and then notices that the world is closed.
                let left = left.min(Duration::from_millis(100));
                drop(self.changed.wait_timeout(agenda, left).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Ends [`publish_until_closed`](Self::publish_until_closed).
    pub(super) fn close(&self) {
        *lock(&self.closed) = true;
        self.changed.notify_all();
    }

    /// Sleeps until that time of the scenario.
    pub(super) fn sleep_until(&self, at_ns: u64) {
        self.sleep_at_most(at_ns, Duration::MAX);
    }

    /// Sleeps until that time of the scenario, but not for longer than `at_most` of real time.
    pub(super) fn sleep_at_most(&self, at_ns: u64, at_most: Duration) {
        thread::sleep(self.left_until(at_ns).min(at_most));
    }

    /// Returns the real time that is left until `at_ns`. Before the scenario's zero, the time until then is a part of
    /// it.
    fn left_until(&self, at_ns: u64) -> Duration {
        let at = self.zero() + self.scaled(Duration::from_nanos(at_ns));
        at.saturating_since(self.now())
    }
}

/// Burns `work` of the calling thread's processor time, which is not shortened if the thread is preempted. It reads the
/// clock all the time, so that it is exact even for the short callbacks of a scaled scenario.
pub(crate) fn burn(work: Duration) {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        // Neither part of a CPU time is ever negative.
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let end = used() + work;
    while used() < end {
        std::hint::spin_loop();
    }
}
