//! Handles of entities. An entity lives as long as its handle.

use std::fmt;
use std::sync::Arc;

use crate::changes::Ticket;
use crate::group_core::GroupCore;
use crate::incident::IncidentKind;
use crate::loss::{LossCause, LossCounters};
use crate::membership::{Membership, TimerShared};
use crate::panics::caught;
use crate::source::Closer;
use crate::state::State;

/// Part that the handles of all kinds of entities have in common.
pub(crate) struct EntityHandle {
    /// The entity's group, which the handle keeps alive.
    pub(crate) group: Arc<GroupCore>,
    pub(crate) name: String,
    pub(crate) losses: Arc<LossCounters>,
    pub(crate) membership: Arc<Membership>,
    /// Ticket of the change that adds the entity to its executor; `None` if the executor was dropped.
    pub(crate) addition: Option<Ticket>,
    pub(crate) closer: Option<Closer>,
    /// The timer's shared part, if the entity is a timer.
    pub(crate) timer: Option<Arc<TimerShared>>,
}

impl EntityHandle {
    pub(crate) fn detach(self) {
        let executor = Arc::clone(&self.group.executor);
        executor.submit(move |state| state.detached.push(Box::new(self)));
    }
}

impl Drop for EntityHandle {
    fn drop(&mut self) {
        if self.membership.executor.is_copy() {
            return;
        }
        if let Some(close) = &self.closer
            && let Err(message) = caught(close)
        {
            let number = self.membership.id().map_or(u64::MAX, rospin_core::EntityId::to_bits);
            self.group.failures(&self.name).tell(number, IncidentKind::Panicked(message));
        }
        let executor = &self.group.executor;
        self.membership.end();
        if !self.addition.is_some_and(|addition| executor.withdraw(addition)) {
            let membership = Arc::clone(&self.membership);
            executor.submit(move |state: &mut State| {
                if let Some(id) = membership.id() {
                    state.remove_entity(id);
                }
            });
        }
        // The removal was submitted first. If the timer's request were taken back before that, the timer could fire in
        // between although its handle had cancelled it.
        if let Some(ticket) = self.timer.as_ref().and_then(|timer| timer.take_ticket()) {
            executor.withdraw(ticket);
        }
    }
}

impl fmt::Debug for EntityHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityHandle").field("name", &self.name).field("group", &self.group.name).finish()
    }
}

/// Defines the handle `$name` of one kind of entity. `$doc` is the beginning of its documentation, and `$field` the
/// part that only this kind has.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident $(, $field:ident: $type:ty)?) => {
        $(#[$doc])*
        ///
        /// Dropping the handle removes the entity. From then on it gets no more items, and from the executor's next
        /// pick on its callback does not start any more. A callback that is running is not waited for.
        #[derive(Debug)]
        #[must_use = "the entity is removed when its handle is dropped, and its callback never runs; keep it (`let _timer = ..`, not `let _ = ..`)"]
        pub struct $name {
            pub(crate) handle: EntityHandle,
            $(pub(crate) $field: $type,)?
        }

        impl $name {
            /// Returns the entity's name.
            #[must_use]
            pub fn name(&self) -> &str {
                &self.handle.name
            }

            /// Returns the entity's account: the number under which recordings have its losses. It is unique in the
            /// process.
            #[must_use]
            pub fn account(&self) -> u64 {
                self.handle.losses.number
            }

            /// Returns the number of items that were lost for that cause.
            #[must_use]
            pub fn lost(&self, cause: LossCause) -> u64 {
                self.handle.losses.get(cause)
            }

            /// Returns the number of activations that ended after their deadlines: the one that the options set, or
            /// else a timer's period. They are counted under every policy.
            #[must_use]
            pub fn missed_deadlines(&self) -> u64 {
                self.handle.losses.misses()
            }

            /// Returns the losses for that cause as the source of another entity, which runs when there are more.
            ///
            /// ```
            /// use std::sync::Arc;
            /// use rospin_engine::{Context, ContextOptions, EntityKind, ExecutorOptions, LossCause};
            /// use rospin_engine::{SpinOptions, SubscriptionOptions};
            ///
            /// let context = Context::new(ContextOptions::new());
            /// let executor = context.create_executor(ExecutorOptions::new("main"));
            /// let group = executor.create_group("group", 0_u64);
            /// let options = SubscriptionOptions::new("scan").keep_last(1).name("scan");
            /// let scans = group.create_local_subscription(options, |_: &mut u64, _: Arc<u32>| ())?;
            /// let watch = scans.watch_losses(LossCause::QueueFull);
            /// group.create_source(EntityKind::Waitable, "losses", watch, |lost, total| *lost = total)?.detach();
            ///
            /// let publisher = context.create_local_publisher::<u32>("scan")?;
            /// (1..=3).for_each(|scan| drop(publisher.publish(scan)));
            /// executor.spin(SpinOptions::spin_all())?;
            /// assert_eq!((scans.name(), scans.lost(LossCause::QueueFull), scans.missed_deadlines()), ("scan", 2, 0));
            /// assert!(scans.account() > 0);
            /// assert_eq!(group.into_payload().unwrap(), 2);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[must_use]
            pub fn watch_losses(&self, cause: LossCause) -> $crate::LossWatch {
                $crate::LossWatch::new(&self.handle.losses, cause)
            }

            /// Gives up the handle and keeps the entity for as long as its executor lives.
            pub fn detach(self) {
                self.handle.detach();
            }
        }
    };
}

handle! {
    /// Handle of a subscription, which receives the messages of a local topic.
    Subscription
}
handle! {
    /// Handle of a local service, which answers requests.
    Service
}
handle! {
    /// Handle of an entity that receives the items of a source or a stream.
    Entity
}
handle! {
    /// Handle of a callback that is told of jumps of ROS time.
    JumpCallback
}

pub(crate) use handle;
