//! Handles of managed nodes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use futures_channel::oneshot;
use rospin_engine::{CallbackGroup as EngineGroup, Instant, RosTime, Time, Timer, TimerError};

use super::error::TransitionError;
use super::machine::{Ask, Edge, State, Transition};
use super::publisher::LifecyclePublisher;
use super::requests::{NotQueued, Request, Requests};
use super::stage::Stage;
use crate::callback::{Callback, Nothing, ServiceCallback, SubscriptionCallback};
use crate::error::{ServiceError, TopicError};
use crate::groups::CallbackGroup;
use crate::interfaces::lifecycle_msgs::TransitionEvent;
use crate::message::{Message, ServiceInterface};
use crate::node::Node;
use crate::options::{PublisherOptions, ServiceOptions, SubscriptionOptions};
use crate::publisher::Publisher;
use crate::service::Service;
use crate::subscription::Subscription;
use crate::timer::{Tick, TimerOptions};

/// Handle of a managed node, for its callbacks and for callers that request transitions. Cheap to clone.
///
/// It dereferences to the [`Node`], for its clients, its parameters, its logger and its clock. What it creates itself
/// is different: its publishers are silent while the node is not active, and the callbacks of its subscriptions,
/// services and timers get the payload.
pub struct LifecycleHandle<P: Send + 'static>(Arc<Inner<P>>);

struct Inner<P: Send + 'static> {
    group: CallbackGroup<P>,
    stage: Arc<Stage>,
    events: Publisher<TransitionEvent>,
    requests: Requests,
    time: RosTime,
}

impl<P: Send + 'static> LifecycleHandle<P> {
    /// Creates the handle of a node that is unconfigured, with that group of the node and that clock.
    pub(super) fn new(group: CallbackGroup<P>, time: RosTime) -> Result<Self, TopicError> {
        let events = group.node().create_publisher("~/transition_event")?;
        let stage = Arc::new(Stage::new(State::Unconfigured));
        Ok(Self(Arc::new(Inner { group, stage, events, requests: Requests::default(), time })))
    }

    /// Returns the queue of transitions that the program requests.
    pub(super) fn requests(&self) -> &Requests {
        &self.0.requests
    }

    /// Returns the node. Its publishers always send.
    #[must_use]
    pub fn node(&self) -> &Node {
        self.0.group.node()
    }

    /// Returns the group on which transitions run, for the node's other callbacks. It creates subscriptions, services
    /// and timers of the node, whose callbacks get the payload.
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
        Ok(LifecyclePublisher::new(self.node().create_publisher(options)?, &self.0.stage))
    }

    /// Creates a subscription on the node's [group](Self::group), see
    /// [`On::create_subscription`](crate::On::create_subscription). Its callback gets the payload, and runs in every
    /// state of the node.
    ///
    /// # Errors
    /// Those of [`On::create_subscription`](crate::On::create_subscription).
    pub fn create_subscription<M: Message, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: impl SubscriptionCallback<EngineGroup<P>, M, Form>,
    ) -> Result<Subscription, TopicError> {
        self.group().create_subscription(options, callback)
    }

    /// Creates a service on the node's [group](Self::group), see [`On::create_service`](crate::On::create_service). Its
    /// callback gets the payload, and runs in every state of the node.
    ///
    /// # Errors
    /// Those of [`On::create_service`](crate::On::create_service).
    pub fn create_service<S: ServiceInterface, Form>(
        &self,
        options: impl Into<ServiceOptions>,
        callback: impl ServiceCallback<EngineGroup<P>, S, Form>,
    ) -> Result<Service, ServiceError> {
        self.group().create_service(options, callback)
    }

    /// Creates a timer on the node's clock and its [group](Self::group), see
    /// [`On::create_timer`](crate::On::create_timer). Its callback gets the payload, and runs in every state of the
    /// node.
    ///
    /// # Errors
    /// Those of [`On::create_timer`](crate::On::create_timer).
    pub fn create_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Time>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<EngineGroup<P>, Tick, Nothing, Form>,
    {
        self.group().create_timer(options, callback)
    }

    /// Creates a timer on the steady clock and the node's [group](Self::group), see
    /// [`On::create_wall_timer`](crate::On::create_wall_timer). Its callback gets the payload, and runs in every state
    /// of the node.
    ///
    /// # Errors
    /// Those of [`On::create_wall_timer`](crate::On::create_wall_timer).
    pub fn create_wall_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Instant>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<EngineGroup<P>, Tick<Instant>, Nothing, Form>,
    {
        self.group().create_wall_timer(options, callback)
    }

    /// Requests a transition. It runs on the node's [group](Self::group), after the transitions that this method was
    /// called for before, even if the future is dropped. The future resolves to the state that the node is in
    /// afterwards, or to an error if the transition did not reach its goal. At most 16 requests wait.
    ///
    /// May be called anywhere, also in a transition. Allocates, and locks for a moment. A callback of that group must
    /// not await the future: the transition waits for the callback to end. If one does, the program tells of it after a
    /// second.
    ///
    /// Cancel safe: a future that is dropped early loses the answer. The transition runs in any case.
    pub fn request(
        &self,
        transition: Transition,
    ) -> impl Future<Output = Result<State, TransitionError>> + Send + use<P> {
        let (answer, answered) = oneshot::channel();
        let queued = self.0.requests.push(Request { ask: Ask::from(transition), answer });
        let node = self.fully_qualified_name();
        async move {
            match queued {
                Ok(()) => answered.await.unwrap_or(Err(TransitionError::Gone { node })),
                Err(NotQueued::Full) => Err(TransitionError::TooMany { node }),
                Err(NotQueued::Closed) => Err(TransitionError::Gone { node }),
            }
        }
    }

    /// Enters the edge's goal state and publishes the change. Only callbacks of the node's group call it.
    pub(super) fn enter(&self, edge: &Edge) {
        self.0.stage.set(edge.goal);
        let event = edge.event(self.0.time.now());
        if let Err(error) = self.0.events.publish(event) {
            log::warn!(target: "rospin", "node `{}` is {}, and could not say so: {error}", self.fully_qualified_name(), edge.goal);
        }
    }
}

impl<P: Send + 'static> Deref for LifecycleHandle<P> {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.node()
    }
}

impl<P: Send + 'static> Clone for LifecycleHandle<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Send + 'static> fmt::Debug for LifecycleHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.fully_qualified_name();
        f.debug_struct("LifecycleNode").field("name", &name).field("state", &self.state()).finish_non_exhaustive()
    }
}
