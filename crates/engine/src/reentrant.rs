//! Reentrant callback groups, and the methods that create entities on them.

use std::sync::Arc;

use futures_core::Stream;
use rospin_core::{EntityKind, GroupKind};

use crate::body::Tick;
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

/// A reentrant callback group: its callbacks run on any number of the executor's threads at once, also several
/// activations of one callback. It has no payload; callbacks share data by capturing it.
///
/// In all other respects it is like a [`CallbackGroup`](crate::CallbackGroup).
///
/// ```
/// use std::sync::Arc;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("vision").threads(2));
/// let group = executor.create_reentrant_group("detectors");
/// let publisher = context.create_local_publisher::<Vec<u8>>("images")?;
/// let _subscription = group.create_local_subscription("images", |image: Arc<Vec<u8>>| {
///     println!("{} bytes", image.len());
/// })?;
/// publisher.publish(vec![0; 640 * 480]);
/// executor.spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ReentrantGroup {
    core: Arc<GroupCore>,
}

impl ReentrantGroup {
    pub(crate) fn new(executor: &ExecutorHandle, options: GroupOptions) -> Self {
        Self { core: GroupCore::create(executor, options, GroupKind::Reentrant, None) }
    }

    common_methods!();

    /// Creates a timer; a plain [`Duration`](std::time::Duration) is its period.
    ///
    /// # Errors
    /// If the period is zero, or if the group is gone.
    pub fn create_timer<F>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: Fn(Tick) + Send + Sync + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.reentrant(callback)))
    }

    /// Creates a timer with an asynchronous callback, see [`create_timer`](Self::create_timer).
    ///
    /// # Errors
    /// If the period is zero, or if the group is gone.
    pub fn create_timer_async<F, Fut>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: Fn(Tick) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.reentrant_async(callback)))
    }

    /// Creates a callback that runs before ROS time jumps, if the jump reaches the threshold: see
    /// [`RosTime::set`](crate::RosTime::set).
    ///
    /// It precedes everything that the policy picks from. There is no callback after a jump: the new time is known
    /// before it.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_jump_callback<F>(&self, threshold: JumpThreshold, callback: F) -> Result<JumpCallback, GroupGone>
    where
        F: Fn(&TimeJump) + Send + Sync + 'static,
    {
        let draft = Draft::jump(&self.core, threshold)?;
        // `told` is dropped at the end, also after a panic, and lets time move.
        Ok(JumpCallback { handle: draft.reentrant(move |told| callback(&told.jump)) })
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
        F: Fn(Arc<T>) + Send + Sync + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.reentrant(callback);
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
        F: Fn(Arc<T>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.reentrant_async(callback);
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
        callback: F,
    ) -> Result<Service, ServiceError>
    where
        Req: Send + 'static,
        Resp: Send + 'static,
        F: Fn(Req) -> Resp + Send + Sync + 'static,
    {
        let draft = Draft::service(&self.core, options.into())?;
        let handle = draft.reentrant(move |request| {
            let (request, reply) = request.open();
            reply.send(callback(request));
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
        callback: F,
    ) -> Result<Service, ServiceError>
    where
        Req: Send + 'static,
        Resp: Send + 'static,
        F: Fn(Req) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Resp> + Send + 'static,
    {
        let draft = Draft::service(&self.core, options.into())?;
        let handle = draft.reentrant_async(move |request| {
            let (request, reply) = request.open();
            let response = callback(request);
            async move { reply.send(response.await) }
        });
        Ok(Service { handle })
    }

    /// Creates an entity that takes the items of any [`Source`], and calls `callback` with each item. `kind` is the
    /// kind that the entity has for policies and traces.
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
        F: Fn(S::Item) + Send + Sync + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.reentrant(callback);
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
        F: Fn(S::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.reentrant_async(callback);
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
        F: Fn(S::Item) + Send + Sync + 'static,
    {
        self.create_source(EntityKind::Waitable, options, StreamSource::new(stream), callback)
    }

    /// Creates an entity over a stream with an asynchronous callback, see [`create_stream`](Self::create_stream).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicI32, Ordering};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use futures::stream;
    /// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions, TimerOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let group = executor.create_reentrant_group("group");
    /// let sum = Arc::new(AtomicI32::new(0));
    /// let add = {
    ///     let sum = Arc::clone(&sum);
    ///     move |number| drop(sum.fetch_add(number, Ordering::Relaxed))
    /// };
    /// let add_later = {
    ///     let add = add.clone();
    ///     move |number| std::future::ready(add(number))
    /// };
    /// let (now, later) = (add.clone(), add_later.clone());
    /// let _now = group.create_stream("now", stream::iter([1, 2]), now)?;
    /// let _later = group.create_stream_async("later", stream::iter([10, 20]), later)?;
    /// let (once, later) = (TimerOptions::one_shot(Duration::ZERO), add_later.clone());
    /// let _once = group.create_timer(once.clone(), move |_| add(100))?;
    /// let _once_later = group.create_timer_async(once, move |_| later(100))?;
    /// let _messages = group.create_local_subscription_async("numbers", move |number: Arc<i32>| add_later(*number))?;
    /// let _service = group.create_local_service("negate", |number: i32| -number)?;
    /// let _service_later = group.create_local_service_async("double", |number: i32| async move { 2 * number })?;
    /// context.create_local_publisher::<i32>("numbers")?.publish(1000);
    /// let double = context.create_local_client::<i32, i32>("double")?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(executor.spin_until(double.call(4), SpinOptions::new())??, 8);
    /// assert_eq!(sum.load(Ordering::Relaxed), 1233);
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
        F: Fn(S::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.create_source_async(EntityKind::Waitable, options, StreamSource::new(stream), callback)
    }
}

impl std::fmt::Debug for ReentrantGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReentrantGroup").field("name", &self.core.name).finish_non_exhaustive()
    }
}
