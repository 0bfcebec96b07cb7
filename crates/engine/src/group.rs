//! Callback groups: what their callbacks exclude, and the entities that they are made of.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::Stream;
use rospin_core::{EntityKind, GroupKind};

use crate::body::{Payload, Tick};
use crate::context::Context;
use crate::draft::Draft;
use crate::entity::{Entity, JumpCallback, Service, Subscription};
use crate::error::{GroupGone, TimerError};
use crate::executor_handle::ExecutorHandle;
use crate::group_core::GroupCore;
use crate::incident::Failures;
use crate::options::{EntityOptions, GroupOptions, ServiceOptions, SubscriptionOptions, TimerOptions};
use crate::ros_time::{JumpThreshold, TimeJump};
use crate::service::ServiceError;
use crate::source::{Source, SourceError, StreamSource};
use crate::timer::Timer;
use crate::topic::TopicError;

/// A mutually exclusive callback group with a payload: one of its callbacks runs at a time, and has the payload to
/// itself. What rclrs calls a worker.
///
/// Cheap to clone; the group lives as long as a handle to it or to one of its entities. Entities live as long as the
/// handles that the `create_` methods return. All of these may be called while the executor spins, from callbacks, too.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// #[derive(Default)]
/// struct Planner {
///     obstacles: u32,
/// }
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let planner = executor.create_group("planner", Planner::default());
/// // Both callbacks have the payload to themselves while they run: no mutex needed.
/// let _obstacles = planner.create_subscription("obstacles", |planner, count: Arc<u32>| planner.obstacles = *count)?;
/// let _plan = planner.create_timer(Duration::from_millis(100), |planner, _| {
///     println!("around {} obstacles", planner.obstacles);
/// })?;
/// # executor.spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CallbackGroup<P: Send + 'static> {
    core: Arc<GroupCore>,
    payload: PhantomData<fn(P)>,
}

impl<P: Send + 'static> CallbackGroup<P> {
    pub(crate) fn new(executor: &ExecutorHandle, options: GroupOptions, payload: P) -> Self {
        let core = GroupCore::create(executor, options, GroupKind::MutuallyExclusive, Some(payload));
        Self { core, payload: PhantomData }
    }

    /// The group's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The context that the group's executor belongs to, with its clocks.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.core.context
    }

    /// How many items the deployment file has the source of the entity called `entity` keep, if it says so. For sources that
    /// are not rospin's: queues of topics and services have it anyway.
    #[must_use]
    pub fn deployed_depth(&self, entity: &str) -> Option<usize> {
        self.core.deployed_depth(entity)
    }

    /// Returns what reports errors of the callback of the entity called `entity`, for those whose callbacks return some. It does not
    /// keep the group.
    #[must_use]
    pub fn failures(&self, entity: &str) -> Failures {
        self.core.failures(entity)
    }

    /// Creates a timer; a plain [`Duration`](std::time::Duration) is its period.
    ///
    /// # Errors
    /// If the period is zero, or the group is gone.
    pub fn create_timer<F>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: FnMut(&mut P, Tick) + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.exclusive(callback)))
    }

    /// As [`create_timer`](Self::create_timer), with an asynchronous callback.
    ///
    /// # Errors
    /// If the period is zero, or the group is gone.
    pub fn create_timer_async<F, Fut>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: FnMut(Payload<P>, Tick) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.exclusive_async(callback)))
    }

    /// Creates a callback that is told of jumps of ROS time beyond the threshold, before time moves on: see
    /// [`RosTime::set`](crate::RosTime::set).
    ///
    /// It runs before everything that the policy chooses from, as soon as no callback of its group runs. It does not wait for an
    /// asynchronous callback that is suspended, even if that holds the group: that one may itself be waiting for ROS time. So it
    /// can run, and change the payload, between two polls of such a callback, never during one. There is none for what happens
    /// after a jump: what time will be is known before.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_jump_callback<F>(&self, threshold: JumpThreshold, mut callback: F) -> Result<JumpCallback, GroupGone>
    where
        F: FnMut(&mut P, &TimeJump) + Send + 'static,
    {
        let draft = Draft::jump(&self.core, threshold)?;
        // Time may move once what was told is dropped: at the end, also of a panic.
        Ok(JumpCallback { handle: draft.exclusive(move |payload, told| callback(payload, &told.jump)) })
    }

    /// Creates a subscription; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic carries messages of another type, or the group is gone.
    pub fn create_subscription<T, F>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        T: Send + Sync + 'static,
        F: FnMut(&mut P, Arc<T>) + Send + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.exclusive(callback);
        Ok(Subscription { handle })
    }

    /// As [`create_subscription`](Self::create_subscription), with an asynchronous callback.
    ///
    /// # Errors
    /// If the topic carries messages of another type, or the group is gone.
    pub fn create_subscription_async<T, F, Fut>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        T: Send + Sync + 'static,
        F: FnMut(Payload<P>, Arc<T>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.exclusive_async(callback);
        Ok(Subscription { handle })
    }

    /// Creates a service, which answers requests with what the callback returns; a plain `&str` is its name.
    ///
    /// # Errors
    /// If there is such a service already, or one with other types, or the group is gone.
    pub fn create_service<Req, Resp, F>(
        &self,
        options: impl Into<ServiceOptions>,
        mut callback: F,
    ) -> Result<Service, ServiceError>
    where
        Req: Send + 'static,
        Resp: Send + 'static,
        F: FnMut(&mut P, Req) -> Resp + Send + 'static,
    {
        let draft = Draft::service(&self.core, options.into())?;
        let handle = draft.exclusive(move |payload, request| {
            let (request, reply) = request.open();
            reply.send(callback(payload, request));
        });
        Ok(Service { handle })
    }

    /// As [`create_service`](Self::create_service), with an asynchronous callback.
    ///
    /// # Errors
    /// If there is such a service already, or one with other types, or the group is gone.
    pub fn create_service_async<Req, Resp, F, Fut>(
        &self,
        options: impl Into<ServiceOptions>,
        mut callback: F,
    ) -> Result<Service, ServiceError>
    where
        Req: Send + 'static,
        Resp: Send + 'static,
        F: FnMut(Payload<P>, Req) -> Fut + Send + 'static,
        Fut: Future<Output = Resp> + Send + 'static,
    {
        let draft = Draft::service(&self.core, options.into())?;
        let handle = draft.exclusive_async(move |payload, request| {
            let (request, reply) = request.open();
            let response = callback(payload, request);
            async move { reply.send(response.await) }
        });
        Ok(Service { handle })
    }

    /// Creates an entity over any [`Source`].
    ///
    /// # Errors
    /// If the source cannot notify, or the group is gone.
    pub fn create_source<S, F>(
        &self,
        kind: EntityKind,
        options: impl Into<EntityOptions>,
        source: S,
        callback: F,
    ) -> Result<Entity, SourceError>
    where
        S: Source,
        F: FnMut(&mut P, S::Item) + Send + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.exclusive(callback);
        Ok(Entity { handle })
    }

    /// As [`create_source`](Self::create_source), with an asynchronous callback.
    ///
    /// # Errors
    /// If the source cannot notify, or the group is gone.
    pub fn create_source_async<S, F, Fut>(
        &self,
        kind: EntityKind,
        options: impl Into<EntityOptions>,
        source: S,
        callback: F,
    ) -> Result<Entity, SourceError>
    where
        S: Source,
        F: FnMut(Payload<P>, S::Item) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.exclusive_async(callback);
        Ok(Entity { handle })
    }

    /// Creates an entity over any stream: a channel, a socket, the reader of a ROS client library. It is removed when
    /// the stream ends.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_stream<S, F>(
        &self,
        options: impl Into<EntityOptions>,
        stream: S,
        callback: F,
    ) -> Result<Entity, SourceError>
    where
        S: Stream + Send + 'static,
        S::Item: Send + 'static,
        F: FnMut(&mut P, S::Item) + Send + 'static,
    {
        self.create_source(EntityKind::Waitable, options, StreamSource::new(stream), callback)
    }

    /// As [`create_stream`](Self::create_stream), with an asynchronous callback.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_stream_async<S, F, Fut>(
        &self,
        options: impl Into<EntityOptions>,
        stream: S,
        callback: F,
    ) -> Result<Entity, SourceError>
    where
        S: Stream + Send + 'static,
        S::Item: Send + 'static,
        F: FnMut(Payload<P>, S::Item) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.create_source_async(EntityKind::Waitable, options, StreamSource::new(stream), callback)
    }

    /// Removes the group with all of its entities, and returns the payload. May wait for a moment, never for a callback.
    ///
    /// # Errors
    /// With the group, if the payload is not to be had: while the executor spins, or if the group was removed before.
    pub fn into_payload(self) -> Result<P, Self> {
        let id = Arc::clone(&self.core.id);
        let payload = self.core.executor.wait_for_idle_state(|state| {
            let id = *id.get()?;
            let payload = state.payload_mut(id).and_then(Option::take);
            state.remove_group(id);
            payload
        });
        match payload.flatten().and_then(|payload| payload.downcast().ok()) {
            Some(payload) => Ok(*payload),
            None => Err(self),
        }
    }

    /// Removes the group with all of its entities, whose handles do nothing from then on.
    ///
    /// A callback that is running is not waited for.
    pub fn remove(self) {
        self.core.remove();
    }
}

impl<P: Send + 'static> Clone for CallbackGroup<P> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), payload: PhantomData }
    }
}

impl<P: Send + 'static> fmt::Debug for CallbackGroup<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackGroup").field("name", &self.core.name).finish_non_exhaustive()
    }
}
