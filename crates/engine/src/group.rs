//! Mutually exclusive callback groups, and the methods that create entities on them.
//!
//! Methods that take asynchronous callbacks have names of their own. With one trait over both forms, the compiler no
//! longer derives the types of a closure's parameters, because a synchronous callback takes `&mut P` and an
//! asynchronous one `Payload<P>`: `|planner, _| planner.obstacles += 1` would be E0282, "type annotations needed".
//! Callbacks of nodes name their message anyway; most of the engine's name nothing.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::Stream;
use rospin_core::{EntityKind, GroupKind};

use crate::body::{Payload, Tick};
use crate::draft::Draft;
use crate::entity::{Entity, JumpCallback, Service, Subscription};
use crate::error::{GroupGone, TimerError};
use crate::executor_handle::ExecutorHandle;
use crate::group_core::{GroupCore, common_methods};
use crate::options::{EntityOptions, GroupOptions, ServiceOptions, SubscriptionOptions, TimerOptions};
use crate::ros_time::{JumpThreshold, TimeJump};
use crate::service::ServiceError;
use crate::source::{Source, SourceError, StreamSource};
use crate::timer::Timer;
use crate::topic::TopicError;

/// A mutually exclusive callback group with a payload: one of its callbacks runs at a time, and has the payload to
/// itself. rclrs calls it a worker.
///
/// Cheap to clone. The group lives as long as a handle to it or to one of its entities. An entity lives as long as the
/// handle that its `create_` method returns. All methods may be called while the executor spins, also from callbacks.
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
/// let _obstacles = planner.create_local_subscription("obstacles", |planner, count: Arc<u32>| planner.obstacles = *count)?;
/// let _plan = planner.create_timer(Duration::from_millis(100), |planner, _| {
///     println!("around {} obstacles", planner.obstacles);
/// })?;
/// # executor.spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CallbackGroup<P: Send + 'static> {
    core: Arc<GroupCore>,
    /// Neither a subtype nor a supertype may stand in for the payload's type, since callbacks take the payload
    /// unchecked.
    payload: PhantomData<fn(P) -> P>,
}

impl<P: Send + 'static> CallbackGroup<P> {
    pub(crate) fn new(executor: &ExecutorHandle, options: GroupOptions, payload: P) -> Self {
        let core = GroupCore::create(executor, options, GroupKind::MutuallyExclusive, Some(Box::new(payload)));
        Self { core, payload: PhantomData }
    }

    common_methods!();

    /// Creates a timer; a plain [`Duration`](std::time::Duration) is its period.
    ///
    /// # Errors
    /// If the period is zero, or if the group is gone.
    pub fn create_timer<F>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: FnMut(&mut P, Tick) + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.exclusive(callback)))
    }

    /// Creates a timer with an asynchronous callback, see [`create_timer`](Self::create_timer).
    ///
    /// # Errors
    /// If the period is zero, or if the group is gone.
    pub fn create_timer_async<F, Fut>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: FnMut(Payload<P>, Tick) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.exclusive_async(callback)))
    }

    /// Creates a callback that runs before ROS time jumps, if the jump reaches the threshold: see
    /// [`RosTime::set`](crate::RosTime::set).
    ///
    /// It precedes everything that the policy picks from, and runs as soon as no callback of its group runs. It does
    /// not wait for an asynchronous callback that is suspended, even if that holds the group, since that callback may
    /// itself wait for ROS time. So it may change the payload between two polls of such a callback, but never during
    /// one.
    ///
    /// There is no callback after a jump: the new time is known before it.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_jump_callback<F>(&self, threshold: JumpThreshold, mut callback: F) -> Result<JumpCallback, GroupGone>
    where
        F: FnMut(&mut P, &TimeJump) + Send + 'static,
    {
        let draft = Draft::jump(&self.core, threshold)?;
        // `told` is dropped at the end, also after a panic, and lets time move.
        Ok(JumpCallback { handle: draft.exclusive(move |payload, told| callback(payload, &told.jump)) })
    }

    /// Creates a subscription of a local topic: a topic of this context, no ROS topic. A plain `&str` is its name.
    ///
    /// # Errors
    /// If the topic carries messages of another type, if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX), or if the
    /// group is gone.
    pub fn create_local_subscription<T, F>(
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

    /// Creates a subscription of a local topic with an asynchronous callback, see
    /// [`create_local_subscription`](Self::create_local_subscription).
    ///
    /// # Errors
    /// If the topic carries messages of another type, if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX), or if the
    /// group is gone.
    pub fn create_local_subscription_async<T, F, Fut>(
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

    /// Creates a local service: a service of this context, no ROS service. The callback returns the response to a
    /// request. A plain `&str` is its name.
    ///
    /// # Errors
    /// If the service exists already, or has other types, if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX), or if
    /// the group is gone.
    pub fn create_local_service<Req, Resp, F>(
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

    /// Creates a local service with an asynchronous callback, see [`create_local_service`](Self::create_local_service).
    ///
    /// # Errors
    /// If the service exists already, or has other types, if the depth is above [`DEPTH_MAX`](crate::DEPTH_MAX), or if
    /// the group is gone.
    pub fn create_local_service_async<Req, Resp, F, Fut>(
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

    /// Creates an entity that takes the items of any [`Source`], and calls `callback` with the group's payload and each
    /// item. `kind` is the kind that the entity has for policies and traces.
    ///
    /// # Errors
    /// If the source cannot notify, or if the group is gone.
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

    /// Creates an entity over a source with an asynchronous callback, see [`create_source`](Self::create_source).
    ///
    /// # Errors
    /// If the source cannot notify, or if the group is gone.
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

    /// Creates an entity over any stream, such as a channel or a socket. The entity is removed when the stream ends.
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

    /// Creates an entity over a stream with an asynchronous callback, see [`create_stream`](Self::create_stream).
    ///
    /// ```
    /// use std::time::Duration;
    /// use futures::stream;
    /// use rospin_engine::{Context, ContextOptions, ExecutorOptions, Payload, SpinOptions, TimerOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let group = executor.create_group("group", 0);
    /// let add = |sum: &mut i32, number| *sum += number;
    /// let add_later = move |sum: Payload<i32>, number| async move { sum.with(|sum| add(sum, number)) };
    /// let _now = group.create_stream("now", stream::iter([1, 2]), add)?;
    /// let _later = group.create_stream_async("later", stream::iter([10, 20]), add_later)?;
    /// let once = TimerOptions::one_shot(Duration::ZERO);
    /// let _once = group.create_timer_async(once, move |sum, _| add_later(sum, 100))?;
    /// let _messages = group.create_local_subscription_async("numbers", move |sum, number| add_later(sum, *number))?;
    /// let read = |sum: Payload<i32>, (): ()| async move { sum.with(|sum| *sum) };
    /// let _service = group.create_local_service_async("sum", read)?;
    /// context.create_local_publisher::<i32>("numbers")?.publish(1000);
    /// let client = context.create_local_client::<(), i32>("sum")?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(executor.spin_until(client.call(()), SpinOptions::new())??, 1133);
    /// # drop((_now, _later, _once, _messages, _service));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Removes the group with all of its entities, and returns the payload. May wait for a lock, never for a callback.
    ///
    /// # Errors
    /// If the executor spins or was dropped, or if the group was removed before. The error is the group itself.
    pub fn into_payload(self) -> Result<P, Self> {
        let id = Arc::clone(&self.core.id);
        let payload = self.core.executor.wait_for_idle_state(|state| {
            let id = *id.get()?;
            let payload = state.payload_mut(id).and_then(Option::take);
            state.remove_group(id);
            payload
        });
        match payload.flatten().and_then(|payload| payload.downcast().ok()) {
            Some(payload) => {
                self.core.set_removed();
                Ok(*payload)
            }
            None => Err(self),
        }
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
