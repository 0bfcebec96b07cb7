//! Handles to entities: an entity lives as long as its handle.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use crate::group_core::GroupCore;
use crate::loss::{LossCause, LossCounters};
use crate::signal::Signal;
use crate::state::State;

/// Ends what feeds an entity.
pub(crate) type Closer = Box<dyn Fn() + Send + Sync>;

/// What all handles have in common.
pub(crate) struct EntityHandle {
    /// Keeps the group alive.
    group: Arc<GroupCore>,
    name: String,
    losses: Arc<LossCounters>,
    signal: Arc<Signal>,
    closer: Option<Closer>,
}

impl EntityHandle {
    pub(crate) fn new(
        group: &Arc<GroupCore>,
        name: String,
        losses: &Arc<LossCounters>,
        signal: &Arc<Signal>,
        closer: Option<Closer>,
    ) -> Self {
        Self { group: Arc::clone(group), name, losses: Arc::clone(losses), signal: Arc::clone(signal), closer }
    }

    fn detach(self) {
        let executor = Arc::clone(self.signal.executor());
        executor.submit(move |state| state.detached.push(Box::new(self)));
    }
}

impl Drop for EntityHandle {
    fn drop(&mut self) {
        if let Some(close) = &self.closer {
            close();
        }
        let signal = Arc::clone(&self.signal);
        self.signal.executor().submit(move |state| {
            if let Some(id) = signal.entity() {
                state.remove_entity(id);
            }
        });
    }
}

impl fmt::Debug for EntityHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityHandle").field("name", &self.name).field("group", &self.group.name).finish()
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident $(, $field:ident: $type:ty)?) => {
        $(#[$doc])*
        ///
        /// Dropping the handle removes the entity: it gets nothing more at once, and from the executor's next pick on its
        /// callback does not run any more. One that is running is not waited for.
        #[derive(Debug)]
        #[must_use = "the entity is removed when its handle is dropped"]
        pub struct $name {
            pub(crate) handle: EntityHandle,
            $(pub(crate) $field: $type,)?
        }

        impl $name {
            /// The entity's name.
            #[must_use]
            pub fn name(&self) -> &str {
                &self.handle.name
            }

            /// How many items were lost for that cause.
            #[must_use]
            pub fn lost(&self, cause: LossCause) -> u64 {
                self.handle.losses.get(cause)
            }

            /// Gives up the handle and keeps the entity for as long as its executor lives.
            pub fn detach(self) {
                self.handle.detach();
            }
        }
    };
}

handle! {
    /// Receives the messages of a topic.
    Subscription
}
handle! {
    /// Answers requests.
    Service
}
handle! {
    /// Receives the items of a source or a stream.
    Entity
}
handle! {
    /// Fires by the passing of time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin::{Context, ContextOptions, ExecutorOptions, ManualClock, SpinOptions, TimerOptions};
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
    Timer, settings: Arc<Mutex<TimerSettings>>
}

/// What was asked of a timer.
#[derive(Debug)]
pub(crate) struct TimerSettings {
    /// From now to the next due time, when it is reset.
    wait: Duration,
    /// What the executor has yet to do; later requests replace earlier ones, so that they cannot pile up.
    request: Option<TimerRequest>,
}

#[derive(Debug)]
enum TimerRequest {
    Cancel,
    /// Due after `wait`, from when it was asked for.
    Restart {
        wait: Duration,
        steady: Instant,
        system: Instant,
    },
}

impl Timer {
    pub(crate) fn new(handle: EntityHandle, wait: Duration) -> Self {
        Self { handle, settings: Arc::new(Mutex::new(TimerSettings { wait, request: None })) }
    }

    /// Stops the timer. If it has fired but its callback has not started, the callback does not run.
    ///
    /// As with [`reset`](Self::reset) and [`set_period`](Self::set_period), the change is made before the executor's next
    /// pick, the last of several wins, and these may be called from callbacks. All of them allocate and may lock, but never
    /// wait for a callback.
    pub fn cancel(&self) {
        self.request(TimerRequest::Cancel);
    }

    /// Starts the timer anew, also if it was cancelled: it is next due one period (a one-shot: its delay) from now.
    pub fn reset(&self) {
        let wait = self.lock().wait;
        self.restart(wait);
    }

    /// Starts the timer anew with another period (a one-shot: another delay). Zero is ignored.
    pub fn set_period(&self, period: Duration) {
        if !period.is_zero() {
            self.lock().wait = period;
            self.restart(period);
        }
    }

    fn restart(&self, wait: Duration) {
        let clock = self.handle.group.context.clock();
        let (steady, system) = (clock.read(ClockKind::Steady), clock.read(ClockKind::System));
        self.request(TimerRequest::Restart { wait, steady, system });
    }

    fn request(&self, request: TimerRequest) {
        let is_known = self.lock().request.replace(request).is_some();
        if is_known {
            return;
        }
        let (signal, settings) = (Arc::clone(&self.handle.signal), Arc::clone(&self.settings));
        self.handle.signal.executor().submit(move |state| {
            let request = lock(&settings).request.take();
            if let (Some(id), Some(request)) = (signal.entity(), request) {
                request.grant(state, id);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, TimerSettings> {
        lock(&self.settings)
    }
}

fn lock(settings: &Mutex<TimerSettings>) -> MutexGuard<'_, TimerSettings> {
    // Held for plain moves, during which nothing panics.
    settings.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TimerRequest {
    fn grant(self, state: &mut State, id: EntityId) {
        match self {
            Self::Cancel => {
                state.scheduler.cancel_timer(id);
            }
            Self::Restart { wait, steady, system } => {
                let Some(timer) = state.scheduler.timer(id) else {
                    return;
                };
                let now = if timer.clock == ClockKind::System { system } else { steady };
                let period = timer.period.map(|_| wait);
                state.scheduler.restart_timer(id, now + wait, period);
            }
        }
    }
}
