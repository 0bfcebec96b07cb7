//! Handles of timers: requests to the executor, and queries without it.

use std::sync::Arc;
use std::time::Duration;

use rospin_core::{ClockKind, EntityId};

use crate::clock::Clock;
use crate::entity::{EntityHandle, handle};
use crate::loss::{LossCause, LossCounters};
use crate::membership::{DueOn, TimerKind, TimerRequest, TimerSettings, TimerShared};
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
    Timer, shared: Arc<TimerShared>
}

/// All methods may be called from any thread and from callbacks, and never wait for a callback. A change takes effect
/// before the executor's next pick, and the last of several changes wins; it allocates and may lock. A query sees
/// changes at once and locks for a moment.
impl Timer {
    pub(crate) const fn new(handle: EntityHandle, shared: Arc<TimerShared>) -> Self {
        Self { handle, shared }
    }

    /// Stops the timer. If it has fired but its callback has not started, the callback does not run.
    pub fn cancel(&self) {
        self.request(|settings| {
            settings.is_cancelled = true;
            TimerRequest::Cancel
        });
    }

    /// Restarts the timer, also if it was cancelled. It is next due one period from now; a one-shot after its delay.
    pub fn reset(&self) {
        self.restart(None);
    }

    /// Restarts the timer with another period, or a one-shot with another delay. Zero is ignored.
    pub fn set_period(&self, period: Duration) {
        if !period.is_zero() {
            self.restart(Some(period));
        }
    }

    /// Returns true if the timer was cancelled and not restarted since. A one-shot that has fired was not cancelled.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.shared.settings.lock().is_cancelled
    }

    /// Returns the period; `None` for a one-shot.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.shared.kind.is_periodic.then(|| self.shared.settings.lock().wait)
    }

    /// Returns the time on the timer's clock until the timer is due, and zero if its callback is due to run.
    ///
    /// Returns `None` if the timer will not fire: it was cancelled, or it is a one-shot whose callback has started.
    #[must_use]
    pub fn time_until_next_call(&self) -> Option<Duration> {
        let asked = self.shared.settings.lock().request;
        let due = match asked {
            Some(TimerRequest::Cancel) => return None,
            Some(TimerRequest::Restart { wait, begin }) => {
                DueOn { at: begin.now + wait, clock: self.shared.kind.clock }
            }
            None => self.shared.due()?,
        };
        Some(due.at.saturating_since(self.clock().read(due.clock)))
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

    fn restart(&self, period: Option<Duration>) {
        let begin = self.clock().begin_wait(self.shared.kind.clock);
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
        let membership = Arc::clone(&self.handle.membership);
        let shared = Arc::clone(&self.shared);
        let clock = self.clock().clone();
        let ticket = self.handle.group.executor.submit(move |state| {
            let request = {
                let mut settings = shared.settings.lock();
                settings.ticket = None;
                settings.request.take()
            };
            if let (Some(id), Some(request)) = (membership.id(), request) {
                state.change_timer(id, |state| grant(request, state, (id, shared.kind), &clock));
            }
        });
        let mut settings = self.shared.settings.lock();
        if settings.request.is_some() {
            settings.ticket = ticket;
        }
    }

    fn clock(&self) -> &Clock {
        self.handle.group.context.clock()
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
    let TimerRequest::Restart { wait, begin } = request else {
        state.scheduler.cancel_timer(id);
        return;
    };
    let Some(timer) = state.scheduler.timer(id) else {
        return;
    };
    let period = timer.period.map(|_| wait);
    let due = if kind.clock == ClockKind::Ros { state.due_of_wait(kind, begin, wait, clock) } else { begin.now + wait };
    state.scheduler.set_delay(id, wait);
    state.scheduler.restart_timer(id, due, period);
}
