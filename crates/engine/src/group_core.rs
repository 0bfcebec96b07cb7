//! What a group is apart from its callbacks: options, identity, and how long it lives.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rospin_core::{EntityKind, GroupId, GroupKind};

use crate::body::GroupKey;
use crate::changes::Ticket;
use crate::context::Context;
use crate::executor::ExecutorHandle;
use crate::incident::{Failures, OnPanic};
use crate::shared::Shared;

/// How a callback group is set up.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) on_panic: OnPanic,
}

impl GroupOptions {
    /// A group of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), node: String::new(), on_panic: OnPanic::default() }
    }

    /// Sets the node that the group belongs to, for [deployment files](crate::ContextOptions::deployment).
    #[must_use]
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// Sets what happens after a callback of the group panicked.
    #[must_use]
    pub const fn on_panic(mut self, reaction: OnPanic) -> Self {
        self.on_panic = reaction;
        self
    }
}

impl From<&str> for GroupOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for GroupOptions {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// Why a timer could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// It would always be due.
    #[error("timer `{timer}` has a period of zero; give it a positive one, or make it a one-shot")]
    ZeroPeriod {
        /// The timer.
        timer: String,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}

/// The group was removed, or its executor dropped: it can have no entities any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("group `{group}` was removed, or its executor dropped; create entities before, or on another group")]
pub struct GroupGone {
    /// The group.
    pub group: String,
}

/// What a group's handles and entities share. The group lives as long as one of them.
pub(crate) struct GroupCore {
    pub(crate) name: String,
    pub(crate) kind: GroupKind,
    pub(crate) id: Arc<OnceLock<GroupId>>,
    pub(crate) executor: Arc<Shared>,
    pub(crate) context: Context,
    pub(crate) threads: u16,
    unnamed: AtomicUsize,
    /// What has the executor add the group.
    addition: Option<Ticket>,
    removed: AtomicBool,
}

impl GroupCore {
    pub(crate) fn create<P: Send + 'static>(
        executor: &ExecutorHandle,
        options: GroupOptions,
        kind: GroupKind,
        payload: Option<P>,
    ) -> Arc<Self> {
        let id = Arc::new(OnceLock::new());
        let (name, added) = (options.name.as_str().into(), Arc::clone(&id));
        let addition = executor.shared.submit(move |state| {
            let payload = payload.map(|payload| Box::new(payload) as _);
            let _ = added.set(state.add_group(name, kind, payload, options.on_panic));
        });
        Arc::new(Self {
            name: options.name,
            kind,
            id,
            executor: Arc::clone(&executor.shared),
            context: executor.context.clone(),
            threads: executor.threads,
            unnamed: AtomicUsize::new(0),
            addition,
            removed: AtomicBool::new(false),
        })
    }

    /// A name for an entity that was given none.
    pub(crate) fn unnamed(&self, kind: EntityKind) -> String {
        format!("{}/{kind}{}", self.name, self.unnamed.fetch_add(1, Ordering::Relaxed))
    }

    /// What reports errors of an entity's callback.
    pub(crate) fn failures(&self, entity: &str) -> Failures {
        Failures::new(self.context.reporter(), &self.executor.name, &self.name, entity)
    }

    /// How many items the deployment file has the queue of that entity keep.
    pub(crate) fn deployed_depth(&self, entity: &str) -> Option<usize> {
        let deployed = self.context.deployed()?;
        deployed.callback(entity).depth.map(|depth| depth as usize)
    }

    /// Removes the group with its entities.
    pub(crate) fn remove(&self) {
        let was_removed = self.removed.swap(true, Ordering::Relaxed);
        if was_removed || self.addition.is_some_and(|addition| self.executor.take_back(addition)) {
            return;
        }
        let id = Arc::clone(&self.id);
        self.executor.submit(move |state| {
            if let Some(id) = id.get() {
                state.remove_group(*id);
            }
        });
    }

    /// What a callback of the group holds while it waits, for [`CallError::SameGroup`](crate::CallError::SameGroup).
    pub(crate) fn key(self: &Arc<Self>) -> Option<GroupKey> {
        if self.kind == GroupKind::MutuallyExclusive { GroupKey::of(self) } else { None }
    }

    /// Whether entities can be created on the group.
    pub(crate) fn check(&self) -> Result<(), GroupGone> {
        if self.removed.load(Ordering::Relaxed) || self.executor.is_closed() {
            return Err(GroupGone { group: self.name.clone() });
        }
        Ok(())
    }
}

impl Drop for GroupCore {
    fn drop(&mut self) {
        self.remove();
    }
}
