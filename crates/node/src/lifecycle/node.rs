//! Managed nodes.

use std::fmt;
use std::ops::Deref;

use rospin_engine::{Entity, EntityKind, EntityOptions, ExecutorHandle, Priority};

use super::callbacks::Lifecycle;
use super::error::LifecycleError;
use super::handle::LifecycleHandle;
use super::requests::Request;
use super::run;
use super::services::{self, Services};
use crate::start::{NodeOptions, Ros};

/// Managed node: a [`Node`](crate::Node), and a callback group of its own whose payload implements [`Lifecycle`].
///
/// The node starts unconfigured, before any callback has run. Transitions are requested through the service that ROS
/// 2's tools use, and through [`request`](LifecycleHandle::request). They run one after the other on the group. The
/// services that only query the state are in a group `lifecycle` of their own, so an executor with several threads
/// answers them during a transition.
///
/// Dropping it removes the node's group with its payload and all entities on it. No transition starts after that. One
/// that is running is not waited for, and runs to its end.
///
/// The [module](super) has an example.
#[must_use = "the node is removed when it is dropped, with all of its entities; keep it (`let _node = ..`, not `let _ = ..`)"]
pub struct LifecycleNode<P: Lifecycle> {
    handle: LifecycleHandle<P>,
    _services: Services,
    _requests: Entity,
}

impl Ros {
    /// Creates a managed node, whose transitions run the methods of `payload`, as [`create_node`](Self::create_node)
    /// creates plain nodes: its group is on the [main executor](Self::executor), or on the one that the
    /// [options](NodeOptions::executor) name. A plain `&str` is the node's name.
    ///
    /// # Errors
    /// If the name is invalid, the middleware refuses, or the executor was dropped.
    pub fn create_lifecycle_node<P: Lifecycle>(
        &self,
        options: impl Into<NodeOptions>,
        payload: P,
    ) -> Result<LifecycleNode<P>, LifecycleError> {
        let options = options.into();
        let executor = options.executor.clone().unwrap_or_else(|| self.executor().handle());
        LifecycleNode::new(self, &executor, options, payload)
    }
}

impl<P: Lifecycle> LifecycleNode<P> {
    /// Creates a node on `executor`, in a group that has the node's name and `payload`. A plain `&str` is the node's
    /// name.
    ///
    /// # Errors
    /// If the name is invalid, the middleware refuses, or the executor was dropped.
    pub fn new(
        ros: &Ros,
        executor: &ExecutorHandle,
        options: impl Into<NodeOptions>,
        payload: P,
    ) -> Result<Self, LifecycleError> {
        let node = ros.create_node(options)?;
        let group = node.create_group_on(executor, node.name(), payload);
        let queries = node.create_reentrant_group_on(executor, "lifecycle");
        let handle = LifecycleHandle::new(group, executor.context().ros_time())?;
        let removed_on_error = RemoveGroup(&handle);
        let services = services::create(&handle, &queries)?;
        let requests = listen(&handle)?;
        std::mem::forget(removed_on_error);
        Ok(Self { handle, _services: services, _requests: requests })
    }

    /// Returns a handle, which other callbacks and threads can use.
    #[must_use]
    pub fn handle(&self) -> LifecycleHandle<P> {
        self.handle.clone()
    }
}

impl<P: Lifecycle> Deref for LifecycleNode<P> {
    type Target = LifecycleHandle<P>;

    fn deref(&self) -> &LifecycleHandle<P> {
        &self.handle
    }
}

impl<P: Lifecycle> Drop for LifecycleNode<P> {
    fn drop(&mut self) {
        drop(RemoveGroup(&self.handle));
    }
}

impl<P: Lifecycle> fmt::Debug for LifecycleNode<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.handle, f)
    }
}

/// Guard that removes a node's group when it is dropped. Otherwise handles inside of the payload and the callbacks
/// would keep the group for ever.
struct RemoveGroup<'a, P: Lifecycle>(&'a LifecycleHandle<P>);

impl<P: Lifecycle> Drop for RemoveGroup<'_, P> {
    fn drop(&mut self) {
        self.0.group().clone().remove();
    }
}

/// Creates the entity that runs requested transitions.
fn listen<P: Lifecycle>(handle: &LifecycleHandle<P>) -> Result<Entity, LifecycleError> {
    let group = handle.group();
    let options = EntityOptions::new(group.entity_name("transitions")).priority(Priority::WAY_IN);
    let node = handle.clone();
    let source = handle.requests().source();
    let entity = group.create_source(EntityKind::Waitable, options, source, move |payload, request| {
        let Request { ask, answer } = request;
        if let Err(Err(unheard)) = answer.send(run::transition(payload, &node, &ask)) {
            log::warn!(target: "rospin", "{unheard}");
        }
    })?;
    Ok(entity)
}
