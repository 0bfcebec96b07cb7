//! Managed nodes and their handles.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use futures_channel::oneshot;
use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, ExecutorHandle, GroupOptions, RosTime};

use super::callbacks::Lifecycle;
use super::error::{LifecycleError, TransitionError};
use super::machine::{Ask, Edge, State, Transition};
use super::publisher::LifecyclePublisher;
use super::requests::{NotQueued, Request, Requests};
use super::run;
use super::services::{self, Services};
use super::stage::Stage;
use crate::error::TopicError;
use crate::interfaces::lifecycle_msgs::TransitionEvent;
use crate::message::Message;
use crate::node::{Node, NodeOptions};
use crate::options::PublisherOptions;
use crate::publisher::Publisher;
use crate::ros::Ros;

/// A managed node: a [`Node`], and a callback group of its own whose payload implements [`Lifecycle`].
///
/// The node starts unconfigured, before any callback has run. Transitions are requested through the services that ROS
/// 2's tools use, and through [`request`](LifecycleHandle::request). They run one after the other on the group. The
/// services that only query the state are in a group `lifecycle` of their own, so an executor with several threads
/// answers them during a transition.
///
/// Dropping it removes the node's group with its payload and all entities on it. No transition starts after that. One
/// that is running is not waited for, and runs to its end.
///
/// The [module](super) has an example.
#[must_use = "the node is removed when it is dropped"]
pub struct LifecycleNode<P: Lifecycle> {
    handle: LifecycleHandle<P>,
    _services: Services,
    _requests: Entity,
}

impl<P: Lifecycle> LifecycleNode<P> {
    /// Creates a node on `executor`, in a group with the node's name. A plain `&str` is the node's name.
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
        let name = node.fully_qualified_name();
        let group = executor.create_group(GroupOptions::new(node.name().base_name()).node(&name), payload);
        let queries = executor.create_reentrant_group(GroupOptions::new("lifecycle").node(&name));
        let handle = LifecycleHandle(Arc::new(Inner {
            events: node.create_publisher("~/transition_event")?,
            node,
            group,
            stage: Arc::new(Stage::new(State::Unconfigured)),
            requests: Requests::default(),
            time: executor.context().ros_time(),
        }));
        let removed_on_error = RemoveGroup(&handle);
        let services = services::create(&handle, &queries)?;
        let requests = handle.listen()?;
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

/// Removes a node's group on drop. Without it, handles inside of the payload and the callbacks would keep the group
/// for ever.
struct RemoveGroup<'a, P: Lifecycle>(&'a LifecycleHandle<P>);

impl<P: Lifecycle> Drop for RemoveGroup<'_, P> {
    fn drop(&mut self) {
        self.0.0.group.clone().remove();
    }
}

/// A managed node for users who do not own it: its callbacks, and callers that request transitions. Cheap to clone.
pub struct LifecycleHandle<P: Lifecycle>(Arc<Inner<P>>);

struct Inner<P: Lifecycle> {
    node: Node,
    group: CallbackGroup<P>,
    stage: Arc<Stage>,
    events: Publisher<TransitionEvent>,
    requests: Requests,
    time: RosTime,
}

impl<P: Lifecycle> LifecycleHandle<P> {
    /// Returns the node, which creates subscriptions, services and clients.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Returns the group on which transitions run, for the node's other callbacks.
    #[must_use]
    pub fn group(&self) -> &CallbackGroup<P> {
        &self.0.group
    }

    /// Returns the node's state. Neither blocks nor allocates.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.stage.get()
    }

    /// Creates a publisher that is silent while the node is not active. A plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, or the middleware refuses.
    pub fn create_publisher<M: Message>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<LifecyclePublisher<M>, TopicError> {
        Ok(LifecyclePublisher::new(self.0.node.create_publisher(options)?, &self.0.stage))
    }

    /// Requests a transition. It runs on the node's group, after the transitions that were requested before, even if
    /// the future is dropped. The future resolves to the state that the node is in afterwards.
    ///
    /// May be called anywhere, also in a transition. Allocates, and locks for a moment. A callback of the node's own
    /// group must not await the future: the transition waits for that callback to end.
    pub fn request(
        &self,
        transition: Transition,
    ) -> impl Future<Output = Result<State, TransitionError>> + Send + use<P> {
        let (answer, answered) = oneshot::channel();
        let queued = self.0.requests.push(Request { ask: Ask::from(transition), answer });
        let node = self.name();
        async move {
            match queued {
                Ok(()) => answered.await.unwrap_or(Err(TransitionError::Gone { node })),
                Err(NotQueued::Full) => Err(TransitionError::TooMany { node }),
                Err(NotQueued::Closed) => Err(TransitionError::Gone { node }),
            }
        }
    }

    /// Creates the entity that runs requested transitions.
    fn listen(&self) -> Result<Entity, LifecycleError> {
        let options = EntityOptions::new(format!("{}/transitions", self.0.group.name()));
        let (node, source) = (self.clone(), self.0.requests.source());
        let entity = self.0.group.create_source(EntityKind::Waitable, options, source, move |payload, request| {
            let Request { ask, answer } = request;
            if let Err(Err(unheard)) = answer.send(run::transition(payload, &node, &ask)) {
                log::warn!(target: "rospin", "{unheard}");
            }
        })?;
        Ok(entity)
    }

    pub(super) fn name(&self) -> String {
        self.0.node.fully_qualified_name()
    }

    /// Enters the edge's goal state and publishes the change. Only callbacks of the node's group call it.
    pub(super) fn enter(&self, edge: &Edge) {
        self.0.stage.set(edge.goal);
        let event = services::event(edge, self.0.time.now());
        if let Err(error) = self.0.events.publish(event) {
            log::warn!(target: "rospin", "node `{}` is {}, and could not say so: {error}", self.name(), edge.goal);
        }
    }
}

impl<P: Lifecycle> Clone for LifecycleHandle<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Lifecycle> fmt::Debug for LifecycleHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        f.debug_struct("LifecycleNode").field("name", &name).field("state", &self.state()).finish_non_exhaustive()
    }
}
