//! Handles of timers: requests to the executor, and queries without it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use crate::clock::Clock;
use crate::entity::{EntityHandle, handle};
use crate::executor_core::ExecutorCore;
use crate::loss::{LossCause, LossCounters};
use crate::membership::{DueOn, Membership, TimerKind, TimerRequest, TimerSettings, TimerShared};
use crate::state::State;

handle! {
    /// A timer, which fires when its clock gets to a due time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{Context, ContextOptions, ExecutorOptions, ManualClock, SpinOptions, TimerOptions};
    ///
    /// let clock = ManualClock::new();
    /// let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let watchdog = executor.create_group("watchdog", false);
    /// let alarm = watchdog.create_timer(TimerOptions::one_shot(Duration::from_secs(1)), |barked, _| *barked = true)?;
    ///
    /// clock.advance(Duration::from_millis(900));
    /// alarm.reset();
    /// clock.advance(Duration::from_millis(900));
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert!(!watchdog.into_payload().unwrap(), "it was fed in time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Timer, setter: DueSetter
}

/// All methods may be called from any thread and from callbacks, and never wait for a callback. A change takes effect
/// before the executor's next pick, and the last of several changes wins; it allocates and may lock. A query sees
/// changes at once and locks for a moment.
impl Timer {
    pub(crate) fn new(handle: EntityHandle, shared: Arc<TimerShared>) -> Self {
        let setter = DueSetter {
            shared,
            membership: Arc::clone(&handle.membership),
            executor: Arc::clone(&handle.group.executor),
            clock: handle.group.context.clock().clone(),
        };
        Self { handle, setter }
    }

    /// Stops the timer. If it has fired but its callback has not started, the callback does not run.
    pub fn cancel(&self) {
        self.setter.cancel();
    }

    /// Restarts the timer, also if it was cancelled. It is next due one period from now; a one-shot after its delay.
    pub fn reset(&self) {
        self.setter.restart(None);
    }

    /// Restarts the timer with another period, or a one-shot with another delay. Zero is ignored.
    pub fn set_period(&self, period: Duration) {
        if !period.is_zero() {
            self.setter.restart(Some(period));
        }
    }

    /// Makes the timer next due at `due` on its clock, also if it was cancelled, and after that each period later. If
    /// it has fired but its callback has not started, the callback runs for `due` instead.
    pub fn set_due(&self, due: Instant) {
        self.setter.set(due);
    }

    /// Returns a setter of the due time, for the timer's own callback and for others that must not keep the timer.
    #[must_use]
    pub fn due_setter(&self) -> DueSetter {
        self.setter.clone()
    }

    /// Returns true if the timer was cancelled and not restarted since. A one-shot that has fired was not cancelled.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.setter.shared.settings.lock().is_cancelled
    }

    /// Returns the period; `None` for a one-shot.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.setter.shared.kind.is_periodic.then(|| self.setter.shared.settings.lock().wait)
    }

    /// Returns the time on the timer's clock until the timer is due, and zero if its callback is due to run.
    ///
    /// Returns `None` if the timer will not fire: it was cancelled, or it is a one-shot whose callback has started.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{Context, ContextOptions, ExecutorOptions, LossCause, ManualClock, SpinOptions};
    ///
    /// let clock = ManualClock::new();
    /// let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let group = executor.create_group("group", ());
    /// let period = Duration::from_millis(10);
    /// let timer = group.create_timer(period, |_, _| ())?;
    /// let skips = timer.skips();
    /// assert_eq!((timer.period(), timer.time_until_next_call()), (Some(period), Some(period)));
    /// clock.advance(Duration::from_millis(35));
    /// assert!(timer.is_ready());
    /// executor.spin(SpinOptions::spin_all())?;
    /// // The callback ran once for three due times.
    /// assert_eq!((skips.count(), timer.lost(LossCause::TimerOverrun)), (2, 2));
    /// timer.set_period(period * 2);
    /// assert_eq!(timer.time_until_next_call(), Some(period * 2));
    /// timer.cancel();
    /// assert!(timer.is_canceled() && timer.time_until_next_call().is_none());
    /// timer.reset();
    /// timer.detach();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn time_until_next_call(&self) -> Option<Duration> {
        let asked = self.setter.shared.settings.lock().request;
        let due = match asked {
            Some(TimerRequest::Cancel) => return None,
            Some(TimerRequest::At(at)) => DueOn { at, clock: self.setter.shared.kind.clock },
            Some(TimerRequest::Restart { wait, begin }) => {
                DueOn { at: begin.now + wait, clock: self.setter.shared.kind.clock }
            }
            None => self.setter.shared.due()?,
        };
        Some(due.at.saturating_since(self.setter.clock.read(due.clock)))
    }

    /// Returns true if the timer's callback is due to run.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.time_until_next_call() == Some(Duration::ZERO)
    }

    /// Returns the counter of the due times that the timer has skipped, for its own callback.
    #[must_use]
    pub fn skips(&self) -> Skips {
        Skips(Arc::clone(&self.handle.losses))
    }
}

/// Setter of a timer's next due time. It does not keep the timer, and does nothing once that is removed. Cheap to
/// clone.
///
/// A callback that calculates its own due times calls it in each run. If they are mostly a period apart, make the timer
/// periodic: a due time that the timer has anyway takes no change, and is known to recordings. Otherwise make it a
/// one-shot. The methods may be called from any thread, as [those of the timer](Timer).
#[derive(Clone)]
pub struct DueSetter {
    shared: Arc<TimerShared>,
    membership: Arc<Membership>,
    executor: Arc<ExecutorCore>,
    clock: Clock,
}

impl DueSetter {
    /// Makes the timer next due at `due`, see [`Timer::set_due`].
    pub fn set(&self, due: Instant) {
        if self.is_next(due) {
            return;
        }
        self.request(|settings| {
            settings.is_cancelled = false;
            TimerRequest::At(due)
        });
    }

    /// Returns true if the timer is next due at `due` anyway: mostly true in the callback of a periodic one. Then
    /// nothing is allocated.
    fn is_next(&self, due: Instant) -> bool {
        let settings = self.shared.settings.lock();
        let is_unchanged = settings.request.is_none() && !settings.is_granting && !settings.is_cancelled;
        is_unchanged && self.shared.due() == Some(DueOn { at: due, clock: self.shared.kind.clock })
    }

    /// Stops the timer, see [`Timer::cancel`].
    pub fn cancel(&self) {
        self.request(|settings| {
            settings.is_cancelled = true;
            TimerRequest::Cancel
        });
    }

    fn restart(&self, period: Option<Duration>) {
        let begin = self.clock.begin_wait(self.shared.kind.clock);
        self.request(|settings| {
            settings.wait = period.unwrap_or(settings.wait);
            settings.is_cancelled = false;
            TimerRequest::Restart { wait: settings.wait, begin }
        });
    }

    fn request(&self, change: impl FnOnce(&mut TimerSettings) -> TimerRequest) {
        let is_known = {
            let mut settings = self.shared.settings.lock();
            let request = change(&mut settings);
            // Without a ticket, another thread has not submitted the former request yet, and may be preempted for long.
            settings.request.replace(request).is_some() && settings.ticket.is_some()
        };
        if is_known {
            return;
        }
        let membership = Arc::clone(&self.membership);
        let shared = Arc::clone(&self.shared);
        let clock = self.clock.clone();
        let ticket = self.executor.submit(move |state| {
            let request = {
                let mut settings = shared.settings.lock();
                settings.ticket = None;
                settings.is_granting = true;
                settings.request.take()
            };
            if let (Some(id), Some(request)) = (membership.id(), request) {
                state.change_timer(id, |state| grant(request, state, (id, shared.kind), &clock));
            }
            shared.settings.lock().is_granting = false;
        });
        let mut settings = self.shared.settings.lock();
        if settings.request.is_some() {
            settings.ticket = ticket;
        }
    }
}

impl fmt::Debug for DueSetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueSetter").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Counter of the due times that a timer has skipped because it was late. It does not keep the timer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Skips(Arc<LossCounters>);

impl Skips {
    /// Returns the number of due times that were skipped so far, as [`lost`](Timer::lost) does for
    /// [`TimerOverrun`](LossCause::TimerOverrun). Neither blocks nor locks.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.get(LossCause::TimerOverrun)
    }
}

/// Cancels or restarts the timer, as its handle requested.
fn grant(request: TimerRequest, state: &mut State, (id, kind): (EntityId, TimerKind), clock: &Clock) {
    let Some(timer) = state.scheduler.timer(id) else {
        return;
    };
    let period = timer.period;
    match request {
        TimerRequest::Cancel => {
            state.scheduler.cancel_timer(id);
        }
        TimerRequest::At(due) => {
            let due = if kind.clock == ClockKind::Ros { state.due_of_follower(kind, due, clock) } else { due };
            state.scheduler.restart_timer(id, due, None);
        }
        TimerRequest::Restart { wait, begin } => {
            let due = if kind.clock == ClockKind::Ros {
                state.due_of_wait(kind, begin, wait, clock)
            } else {
                begin.now + wait
            };
            state.scheduler.set_delay(id, wait);
            state.scheduler.restart_timer(id, due, period.map(|_| wait));
        }
    }
}
