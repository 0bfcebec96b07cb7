//! Timers: what their handles ask of the executor, and what they see without asking.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use crate::changes::Ticket;
use crate::clock::Clock;
use crate::entity::{EntityHandle, handle};
use crate::loss::LossCause;
use crate::shared::Shared;
use crate::state::State;

handle! {
    /// Fires by the passing of time.
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

/// A timer, as its handle and its executor share it.
#[derive(Debug)]
pub(crate) struct TimerShared {
    pub(crate) clock: ClockKind,
    is_periodic: bool,
    /// When it is due, as the handle sees it while the executor is busy; [`NEVER`] if it is not.
    due_ns: AtomicU64,
    settings: Mutex<TimerSettings>,
}

/// What was asked of a timer.
#[derive(Debug)]
struct TimerSettings {
    /// From now to the next due time, when it is reset.
    wait: Duration,
    is_cancelled: bool,
    /// What the executor has yet to do; later requests replace earlier ones, so that they cannot pile up.
    request: Option<TimerRequest>,
    /// What has the executor do it.
    ticket: Option<Ticket>,
}

#[derive(Clone, Copy, Debug)]
enum TimerRequest {
    Cancel,
    /// Due after `wait`, from when it was asked for: at `now` on the timer's clock, in that turn of ROS time.
    Restart {
        wait: Duration,
        now: Instant,
        turn: u64,
    },
}

/// A due time that never comes.
const NEVER: u64 = u64::MAX;

impl TimerShared {
    /// A timer that is due at `due`, and a period (a one-shot: its delay) after it is reset.
    pub(crate) fn new(clock: ClockKind, is_periodic: bool, wait: Duration, due: Instant) -> Self {
        let settings = TimerSettings { wait, is_cancelled: false, request: None, ticket: None };
        Self { clock, is_periodic, due_ns: AtomicU64::new(due.as_nanos()), settings: Mutex::new(settings) }
    }

    /// The timer is due then, or not any more.
    pub(crate) fn note_due(&self, due: Option<Instant>) {
        self.due_ns.store(due.map_or(NEVER, Instant::as_nanos), Ordering::Relaxed);
    }

    /// Whether it was cancelled or reset, and the executor has not seen to that yet.
    pub(crate) fn has_request(&self) -> bool {
        self.settings.lock().request.is_some()
    }

    /// Takes back what was asked of it: its handle is dropped.
    pub(crate) fn take_back_request(&self, executor: &Shared) {
        let ticket = self.settings.lock().ticket.take();
        ticket.map(|ticket| executor.take_back(ticket));
    }

    fn due(&self) -> Option<Instant> {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        (due_ns != NEVER).then_some(Instant::from_nanos(due_ns))
    }
}

/// These may be called from any thread and from callbacks, and never wait for a callback. What changes the timer allocates,
/// and may lock; it is done before the executor's next pick, and the last of several changes wins. What asks locks for a
/// moment, and sees changes at once.
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

    /// Starts the timer anew, also if it was cancelled: it is next due one period (a one-shot: its delay) from now.
    pub fn reset(&self) {
        self.restart(None);
    }

    /// Starts the timer anew with another period (a one-shot: another delay). Zero is ignored.
    pub fn set_period(&self, period: Duration) {
        if !period.is_zero() {
            self.restart(Some(period));
        }
    }

    /// Whether the timer was cancelled, and not started anew since.
    ///
    /// A one-shot that has fired was not cancelled.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.shared.settings.lock().is_cancelled
    }

    /// The period, `None` if it is a one-shot.
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.shared.is_periodic.then(|| self.shared.settings.lock().wait)
    }

    /// The time on its clock until it is due, zero if its callback is due to run. `None` if it will not fire: it was
    /// cancelled, or it is a one-shot whose callback has started.
    #[must_use]
    pub fn time_until_next_call(&self) -> Option<Duration> {
        let asked = self.shared.settings.lock().request;
        let due = match asked {
            Some(TimerRequest::Cancel) => return None,
            Some(TimerRequest::Restart { wait, now, .. }) => now + wait,
            None => self.shared.due()?,
        };
        Some(due.saturating_since(self.clock().read(self.shared.clock)))
    }

    /// Whether its callback is due to run.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.time_until_next_call() == Some(Duration::ZERO)
    }

    fn restart(&self, period: Option<Duration>) {
        let (now, turn) = read(self.clock(), self.shared.clock);
        self.request(|settings| {
            settings.wait = period.unwrap_or(settings.wait);
            settings.is_cancelled = false;
            TimerRequest::Restart { wait: settings.wait, now, turn }
        });
    }

    fn request(&self, change: impl FnOnce(&mut TimerSettings) -> TimerRequest) {
        let is_known = {
            let mut settings = self.shared.settings.lock();
            let request = change(&mut settings);
            // Whoever left the former request may not have submitted it yet, and may be preempted for long.
            settings.request.replace(request).is_some() && settings.ticket.is_some()
        };
        if is_known {
            return;
        }
        let (membership, shared) = (Arc::clone(&self.handle.membership), Arc::clone(&self.shared));
        let clock = self.clock().clone();
        let ticket = self.handle.membership.executor.submit(move |state| {
            let request = {
                let mut settings = shared.settings.lock();
                settings.ticket = None;
                settings.request.take()
            };
            if let (Some(id), Some(request)) = (membership.id(), request) {
                state.change_timer(id, |state| request.grant(state, id, &clock));
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

/// What the clock shows, and for ROS time in which turn.
pub(crate) fn read(clock: &Clock, kind: ClockKind) -> (Instant, u64) {
    if kind == ClockKind::Ros {
        let current = clock.read_ros();
        (current.now, current.reading.turn)
    } else {
        (clock.read(kind), 0)
    }
}

impl TimerRequest {
    fn grant(self, state: &mut State, id: EntityId, clock: &Clock) {
        let Self::Restart { wait, now, turn } = self else {
            state.scheduler.cancel_timer(id);
            return;
        };
        let Some(timer) = state.scheduler.timer(id) else {
            return;
        };
        let (kind, period) = (timer.clock, timer.period.map(|_| wait));
        let mut start = now;
        if kind == ClockKind::Ros {
            let current = state.follow_ros_time(clock);
            // ROS time jumped since, or the system clock was set back that it follows: the wait begins now.
            start = if current.reading.turn == turn { start.min(current.now) } else { current.now };
        }
        state.scheduler.set_delay(id, wait);
        state.scheduler.restart_timer(id, start + wait, period);
    }
}
