//! The part of an executor that any thread may touch: notifiers, wakers, clocks, and those who sleep on it.
//!
//! It knows nothing of the executor's state, which is in [`executor_core`](crate::executor_core).

use crate::sync::atomic::{AtomicBool, Ordering};
use std::fmt;
// The standard library's lock in the model checkers, too: no step of a model happens under it.
use std::sync::OnceLock;
use std::time::Duration;

use rospin_core::Instant;

use crate::clock::Clock;
use crate::incident::{MissReporter, Reporter};
use crate::lock_free::dial::Dial;
use crate::lock_free::inbox::Inbox;
use crate::lock_free::news::News;
use crate::lock_free::parker::Parker;
use crate::lock_free::presence::Presence;
use crate::os::{Process, ThreadSetup};
use crate::recorder::{ExecutorNumber, Scribe};
use crate::signal_box::SignalBox;
use crate::sleep::sleeps::Sleeps;
use crate::time_source::TimeListener;
use crate::times::Times;

/// The words that every notification writes: on a cache line of their own.
#[repr(align(64))]
pub(crate) struct Bell {
    pub(crate) inbox: Inbox,
    pub(crate) parker: Parker,
}

/// The part of an executor that any thread may touch.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) times: Times,
    pub(crate) bell: Bell,
    pub(crate) signals: SignalBox,
    pub(crate) threads: ThreadSetup,
    /// True if a spin may have several threads.
    pub(crate) has_threads: bool,
    /// The time for which idle threads look for work before they park.
    pub(crate) busy_poll: Duration,
    pub(crate) report: Reporter,
    /// Function that is called for each missed deadline, if the context has one.
    pub(crate) report_miss: Option<MissReporter>,
    pub(crate) scribe: Scribe,
    /// The number of the executor in recordings.
    pub(crate) number: ExecutorNumber,
    process: Process,
    /// Tasks that sleep on the executor.
    pub(crate) sleeps: Sleeps,
    /// Tells that a thread of the executor must look at something besides the inbox: a change that was submitted, or a
    /// clock that was moved.
    pub(crate) news: News,
    /// True from a call for an idle thread until a thread looks for work. Used only if idle threads poll.
    called: AtomicBool,
    /// True from a halt until the end of the spin that it ends.
    pub(crate) halt: AtomicBool,
    /// True while the executor spins. From its first jump callback on, a jump of ROS time may wait for it to stop.
    pub(crate) spinning: Presence,
    /// The time at which it spun for the first time.
    first_spin: OnceLock<Instant>,
}

impl Shared {
    pub(crate) fn new(
        name: String,
        (clock, scribe): (Clock, Scribe),
        (report, report_miss): (Reporter, Option<MissReporter>),
        (threads, has_threads): (ThreadSetup, bool),
        busy_poll: Duration,
    ) -> Self {
        Self {
            number: ExecutorNumber::new(&scribe.recorder, &name),
            name,
            times: Times::new(clock),
            bell: Bell { inbox: Inbox::new(), parker: Parker::new() },
            signals: SignalBox::default(),
            threads,
            has_threads,
            busy_poll,
            report,
            report_miss,
            scribe,
            process: Process::this(),
            sleeps: Sleeps::new(),
            news: News::new(),
            called: AtomicBool::new(false),
            halt: AtomicBool::new(false),
            spinning: Presence::new(),
            first_spin: OnceLock::new(),
        }
    }

    /// Notes that a spin begins.
    pub(crate) fn note_spin(&self) {
        self.first_spin.get_or_init(|| self.times.now());
    }

    /// Returns the time of the first spin if that came after `release`; `None` if the executor spun before.
    pub(crate) fn first_spin_after(&self, release: Instant) -> Option<Instant> {
        self.first_spin.get().copied().filter(|first| *first > release)
    }

    /// Has a thread of the executor look at the changes and the clocks.
    pub(crate) fn poke(&self) {
        self.news.tell();
        self.bell.parker.unpark_one();
    }

    /// Has an idle thread of the executor look for work.
    pub(crate) fn call_another(&self) {
        if self.busy_poll.is_zero() {
            self.bell.parker.unpark_one();
        } else {
            // Threads that poll are not parked, so a flag tells them.
            self.called.store(true, Ordering::Release);
            self.bell.parker.unpark_one();
        }
    }

    /// Ends a call for an idle thread, since the calling thread looks for work now. If it finds more than it can run,
    /// it calls another thread itself.
    pub(crate) fn answer_call(&self) {
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
        }
    }

    /// Ends the spin that is going on, or else the next one.
    pub(crate) fn halt(&self) {
        self.halt.store(true, Ordering::Release);
        self.bell.parker.unpark_all();
    }

    /// Returns true if a thread that is about to park should look around once more.
    pub(crate) fn wants_attention(&self) -> bool {
        !self.bell.inbox.is_empty() || self.has_other_news()
    }

    /// Returns true if a thread must look at something besides the inbox.
    pub(crate) fn has_other_news(&self) -> bool {
        self.news.are_there()
            || self.called.load(Ordering::Relaxed)
            || self.halt.load(Ordering::Acquire)
            || self.times.ros_watch.is_up(self.times.dial())
    }

    /// Notes that the spin is over: ROS time does not wait for this executor's jump callbacks any more.
    pub(crate) fn stop_spinning(&self) {
        if self.spinning.leave() {
            self.times.clock.driver().leave(self);
        }
    }

    /// Returns the time on the steady clock.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.times.now()
    }

    /// Returns true in a process that was forked off: locks may be held by threads that are not there.
    pub(crate) fn is_copy(&self) -> bool {
        self.process.is_another()
    }
}

impl TimeListener for Shared {
    fn clock_moved(&self) {
        self.poke();
        // Under a manual clock, the thread that watches the timers parks without a deadline, and may be any of them. So
        // all threads are unparked.
        self.bell.parker.unpark_all();
    }

    fn ros_time_moved(&self, dial: &Dial) {
        if self.times.ros_watch.is_up_now(dial) {
            if self.times.ros_watch.has_turned(dial) {
                // A thread that runs callbacks in place must look, too: timers may change their clock.
                self.poke();
            }
            self.bell.parker.unpark_one();
        }
    }

    fn is_spinning(&self) -> bool {
        self.spinning.is_there()
    }

    fn add_jump_callback(&self) {
        self.spinning.be_awaited();
    }

    fn add_jump(&self) {
        self.times.jumps_left.fetch_add(1, Ordering::SeqCst);
    }

    fn remove_jump(&self, is_waited_for: bool) {
        if is_waited_for {
            self.times.clock.driver().arrived();
        }
        if self.times.jumps_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Timers on ROS time may continue.
            self.poke();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.name).finish_non_exhaustive()
    }
}
