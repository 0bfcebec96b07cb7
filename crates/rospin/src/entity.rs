//! Handles to entities: an entity lives as long as its handle.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{ClockKind, EntityId};

use crate::group::GroupCore;
use crate::loss::{LossCause, LossCounters};
use crate::shared::Signal;
use crate::state::State;

/// What all handles have in common.
pub(crate) struct EntityHandle {
    /// Keeps the group alive.
    group: Arc<GroupCore>,
    name: String,
    losses: Arc<LossCounters>,
    signal: Arc<Signal>,
}

impl EntityHandle {
    pub(crate) fn new(group: Arc<GroupCore>, name: String, losses: Arc<LossCounters>, signal: Arc<Signal>) -> Self {
        Self { group, name, losses, signal }
    }

    fn detach(self) {
        let executor = Arc::clone(self.signal.executor());
        executor.submit(move |state| state.detached.push(Box::new(self)));
    }
}

impl Drop for EntityHandle {
    fn drop(&mut self) {
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
        /// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One
        /// that is running is not waited for.
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
    Timer, delay: Duration
}

impl Timer {
    /// Stops the timer. If it has fired but its callback has not started, the callback does not run.
    ///
    /// As with [`reset`](Self::reset) and [`set_period`](Self::set_period), the change is made before the executor's next
    /// pick, and these may be called from callbacks. All of them allocate and may lock, but never wait for a callback.
    pub fn cancel(&self) {
        self.change(|state, id| {
            state.scheduler.cancel_timer(id);
        });
    }

    /// Starts the timer anew, also if it was cancelled: it is next due one period (a one-shot: its delay) from now.
    pub fn reset(&self) {
        self.restart(None);
    }

    /// Starts the timer anew with another period (a one-shot: another delay). Zero is ignored.
    pub fn set_period(&self, period: Duration) {
        self.restart(Some(period).filter(|period| !period.is_zero()));
    }

    fn restart(&self, period: Option<Duration>) {
        let clock = self.handle.group.context.clock();
        let (steady, system) = (clock.read(ClockKind::Steady), clock.read(ClockKind::System));
        let delay = self.delay;
        self.change(move |state, id| {
            let Some(timer) = state.scheduler.timer(id) else {
                return;
            };
            let now = if timer.clock == ClockKind::System { system } else { steady };
            let new_period = timer.period.and(period);
            let wait = period.or(timer.period).unwrap_or(delay);
            state.scheduler.restart_timer(id, now + wait, new_period);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State, EntityId) + Send + 'static) {
        let signal = Arc::clone(&self.handle.signal);
        self.handle.signal.executor().submit(move |state| {
            if let Some(id) = signal.entity() {
                change(state, id);
            }
        });
    }
}
