//! Handles to entities: an entity lives as long as its handle.

use std::fmt;
use std::sync::Arc;

use crate::group_core::GroupCore;
use crate::loss::{LossCause, LossCounters};
use crate::signal::Signal;
use crate::source::Closer;

/// What all handles have in common.
pub(crate) struct EntityHandle {
    /// Keeps the group alive.
    pub(crate) group: Arc<GroupCore>,
    pub(crate) name: String,
    pub(crate) losses: Arc<LossCounters>,
    pub(crate) signal: Arc<Signal>,
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

    pub(crate) fn detach(self) {
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
    /// Is told of jumps of ROS time.
    JumpCallback
}

pub(crate) use handle;
