//! The part of a group that both kinds of groups have: its identity and its lifetime.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rospin_core::{EntityKind, GroupId, GroupKind, Priority};
use rospin_scenario::deployment::names::namespace_of;

use crate::body::AnyPayload;
use crate::changes::Ticket;
use crate::context::Context;
use crate::error::GroupGone;
use crate::executor_core::ExecutorCore;
use crate::executor_handle::ExecutorHandle;
use crate::failures::Failures;
use crate::incident::OnPanic;
use crate::options::GroupOptions;
use crate::registry::Name;
use crate::waits::GroupKey;

/// The part of a group that its handles and entities share. The group lives as long as one of them.
pub(crate) struct GroupCore {
    pub(crate) name: String,
    /// The beginning of its entities' names: the node and the group.
    path: String,
    /// The namespace of the group's node, such as `/robot1`; empty for the root, and for a group of no node.
    pub(crate) namespace: String,
    pub(crate) kind: GroupKind,
    pub(crate) on_panic: OnPanic,
    /// True if its asynchronous callbacks release it while they wait.
    pub(crate) releases_at_await: bool,
    /// The group's id, once its executor has added the group.
    pub(crate) id: Arc<OnceLock<GroupId>>,
    pub(crate) executor: Arc<ExecutorCore>,
    pub(crate) context: Context,
    /// Number of the executor's threads.
    pub(crate) threads: u16,
    /// Numbers of entities that were given no name.
    unnamed: Arc<Unnamed>,
    /// Ticket of the change that adds the group to its executor.
    addition: Option<Ticket>,
    removed: AtomicBool,
}

impl GroupCore {
    pub(crate) fn create(
        executor: &ExecutorHandle,
        options: GroupOptions,
        kind: GroupKind,
        payload: Option<AnyPayload>,
    ) -> Arc<Self> {
        let id = Arc::new(OnceLock::new());
        let path = options.path();
        let namespace = namespace_of(&options.node).to_owned();
        // A node can have several groups whose entities' names begin alike, such as its own group and one that has the
        // node's name.
        let unnamed = if options.node.is_empty() { Arc::default() } else { executor.context.unnamed(&path) };
        let name = options.name.as_str().into();
        let added = Arc::clone(&id);
        let addition = executor.core.submit(move |state| {
            let _ = added.set(state.add_group(name, kind, payload));
        });
        let node = options.node;
        let name = options.name;
        let core = Arc::new(Self {
            name,
            path,
            namespace,
            kind,
            on_panic: options.on_panic,
            releases_at_await: options.releases_at_await,
            id,
            executor: Arc::clone(&executor.core),
            context: executor.context.clone(),
            threads: executor.threads,
            unnamed,
            addition,
            removed: AtomicBool::new(false),
        });
        core.context.catalog().group((&node, &core.name), &core.executor.shared.name, &core);
        core
    }

    /// Returns a name for an entity that was given none.
    pub(crate) fn unnamed(&self, kind: EntityKind) -> String {
        self.entity_name(&format!("{kind}{}", self.unnamed.next()))
    }

    /// Returns the name that an entity has unless its options give it one.
    pub(crate) fn entity_name(&self, of: &str) -> String {
        // `~/` stands for the node's name, with which the path begins already.
        format!("{}/{}", self.path, of.strip_prefix("~/").unwrap_or(of).trim_start_matches('/'))
    }

    /// Returns the name of an entity whose options give it the name `given`: relative to the node's namespace, unless
    /// it begins with `/`.
    pub(crate) fn name_given(&self, given: &str) -> String {
        match given.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None if self.namespace.is_empty() => given.to_owned(),
            None => format!("{}/{given}", self.namespace.trim_start_matches('/')),
        }
    }

    /// Returns a reporter for errors of an entity's callback.
    pub(crate) fn failures(&self, entity: &str) -> Failures {
        Failures::new(self.context.reporter(), &self.executor.shared, &self.name, entity)
    }

    /// Returns the queue depth that the deployment file has for the entity, if it has one.
    pub(crate) fn deployed_depth(&self, entity: &str) -> Option<usize> {
        let deployed = self.context.deployed()?;
        deployed.callback(entity, &self.namespace).depth.map(|depth| depth as usize)
    }

    /// Returns the priority that the deployment file gives the entity, if it gives one.
    pub(crate) fn deployed_priority(&self, entity: &str) -> Option<Priority> {
        self.context.deployed()?.callback(entity, &self.namespace).priority.map(Priority)
    }

    /// Removes the group with its entities.
    pub(crate) fn remove(&self) {
        let was_removed = self.removed.swap(true, Ordering::Relaxed);
        if was_removed || self.addition.is_some_and(|addition| self.executor.withdraw(addition)) {
            return;
        }
        let id = Arc::clone(&self.id);
        self.executor.submit(move |state| {
            if let Some(id) = id.get() {
                state.remove_group(*id);
            }
        });
    }

    /// Notes that the executor has removed the group. From then on its other handles create nothing any more.
    pub(crate) fn set_removed(&self) {
        self.removed.store(true, Ordering::Relaxed);
    }

    /// Returns the key of a mutually exclusive group, which its callbacks hold; `None` for a reentrant group.
    pub(crate) fn key(self: &Arc<Self>) -> Option<GroupKey> {
        if self.kind == GroupKind::MutuallyExclusive { GroupKey::of(self) } else { None }
    }

    /// Checks that entities can still be created on the group.
    pub(crate) fn check(&self) -> Result<(), GroupGone> {
        if self.removed.load(Ordering::Relaxed) || self.executor.is_closed() {
            return Err(GroupGone { group: self.name.clone() });
        }
        Ok(())
    }
}

/// Numbers of entities that were given no name, so that no two of them share a name.
#[derive(Default)]
pub(crate) struct Unnamed {
    count: AtomicUsize,
    /// The beginning of the entities' names in the context's registry, which forgets it with this value.
    _path: Option<Name>,
}

impl Unnamed {
    /// Returns numbers that are kept under `path`.
    pub(crate) fn new(path: Name) -> Self {
        Self { count: AtomicUsize::new(0), _path: Some(path) }
    }

    fn next(&self) -> usize {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for GroupCore {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The methods that both kinds of groups have in common. Each group has its [`GroupCore`] in the field `core`.
macro_rules! common_methods {
    () => {
        /// Returns the group's name.
        #[must_use]
        pub fn name(&self) -> &str {
            &self.core.name
        }

        /// Returns the name of the executor that the group is on. A deployment file may have put it on another one than
        /// the program did.
        #[must_use]
        pub fn executor_name(&self) -> &str {
            &self.core.executor.shared.name
        }

        /// Returns the context that the group's executor belongs to.
        #[must_use]
        pub fn context(&self) -> &$crate::Context {
            &self.core.context
        }

        /// Returns the name that an entity of the group has unless its options give it one: the node, the group, and
        /// `of`, which says what the entity serves, such as a topic. Leading slashes are left out, and so is the name
        /// of a group that is called as its node: `controller/scan` for the topic `scan` in the node's own group, and
        /// `left/controller/sensing/scan` for one in the group `sensing` of the node `/left/controller`.
        #[must_use]
        pub fn entity_name(&self, of: &str) -> String {
            self.core.entity_name(of)
        }

        /// Returns the full name of an entity of the group to which a user gives the name `given`: as ROS names, it is
        /// relative to the namespace of the group's node unless it begins with `/`. In `/left`, `safety/scan` is
        /// `left/safety/scan`, and `/safety/scan` is `safety/scan`.
        #[must_use]
        pub fn name_given(&self, given: &str) -> String {
            self.core.name_given(given)
        }

        /// Returns the depth that the deployment file sets for the queue of the entity called `entity`; `None` if it
        /// sets none.
        ///
        /// It is for sources that are not rospin's. Queues of topics and services have that depth anyway.
        #[must_use]
        pub fn deployed_depth(&self, entity: &str) -> Option<usize> {
            self.core.deployed_depth(entity)
        }

        /// Returns the priority that the deployment file gives the entity called `entity`, itself or by a chain; `None`
        /// if it gives none.
        ///
        /// It is for work that an entity hands on to another one. The entity itself has that priority anyway.
        #[must_use]
        pub fn deployed_priority(&self, entity: &str) -> Option<$crate::Priority> {
            self.core.deployed_priority(entity)
        }

        /// Returns a reporter for errors that the callback of the entity called `entity` returns. It does not keep the
        /// group alive.
        ///
        /// ```
        /// use rospin_engine::{Context, ContextOptions, ExecutorOptions, GroupOptions};
        ///
        /// let context = Context::new(ContextOptions::new());
        /// let executor = context.create_executor(ExecutorOptions::new("main"));
        /// let group = executor.create_reentrant_group(GroupOptions::new("sensing").node("/left/controller"));
        /// let scan = group.entity_name("scan");
        /// assert_eq!((group.name(), scan.as_str()), ("sensing", "left/controller/sensing/scan"));
        /// assert_eq!(group.name_given("safety/scan"), "left/safety/scan");
        /// // No deployment file says anything of it.
        /// assert_eq!((group.deployed_depth(&scan), group.deployed_priority(&scan)), (None, None));
        /// group.failures(&scan).report("the sensor is cold");
        /// assert!(group.context().losses().is_empty());
        /// group.remove();
        /// ```
        #[must_use]
        pub fn failures(&self, entity: &str) -> $crate::Failures {
            self.core.failures(entity)
        }

        /// Removes the group with all of its entities, whose handles do nothing from then on.
        ///
        /// Callbacks that are running are not waited for.
        pub fn remove(self) {
            self.core.remove();
        }
    };
}

pub(crate) use common_methods;
