//! Reentrant groups: callbacks that exclude nothing.

use std::sync::Arc;

use futures_core::Stream;
use rospin_core::{EntityKind, GroupKind};

use crate::body::Tick;
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

/// A reentrant callback group: its callbacks run on any number of the executor's threads at once, also several
/// activations of one callback. It has no payload; callbacks share what they capture.
///
/// Otherwise as [`CallbackGroup`](crate::CallbackGroup).
///
/// ```
/// use std::sync::Arc;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("vision").threads(2));
/// let group = executor.create_reentrant_group("detectors");
/// let publisher = context.create_publisher::<Vec<u8>>("images")?;
/// let _subscription = group.create_subscription("images", |image: Arc<Vec<u8>>| {
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
        Self { core: GroupCore::create(executor, options, GroupKind::Reentrant, None::<()>) }
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
        F: Fn(Tick) + Send + Sync + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.reentrant(callback)))
    }

    /// As [`create_timer`](Self::create_timer), with an asynchronous callback.
    ///
    /// # Errors
    /// If the period is zero, or the group is gone.
    pub fn create_timer_async<F, Fut>(&self, options: impl Into<TimerOptions>, callback: F) -> Result<Timer, TimerError>
    where
        F: Fn(Tick) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Ok(Draft::timer(&self.core, options.into())?.into_timer(|draft| draft.reentrant_async(callback)))
    }

    /// Creates a callback that is told of jumps of ROS time beyond the threshold, before time moves on: see
    /// [`RosTime::set`](crate::RosTime::set).
    ///
    /// It runs as soon as its group is free, before everything that the policy chooses from. There is none for what happens
    /// after a jump: what time will be is known before.
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_jump_callback<F>(&self, threshold: JumpThreshold, callback: F) -> Result<JumpCallback, GroupGone>
    where
        F: Fn(&TimeJump) + Send + Sync + 'static,
    {
        let draft = Draft::jump(&self.core, threshold)?;
        // Time may move once what was told is dropped: at the end, also of a panic.
        Ok(JumpCallback { handle: draft.reentrant(move |told| callback(&told.jump)) })
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
        F: Fn(Arc<T>) + Send + Sync + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.reentrant(callback);
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
        F: Fn(Arc<T>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::subscription(&self.core, options.into())?.reentrant_async(callback);
        Ok(Subscription { handle })
    }

    /// Creates a service, which answers requests with what the callback returns; a plain `&str` is its name.
    ///
    /// # Errors
    /// If there is such a service already, or one with other types, or the group is gone.
    pub fn create_service<Req, Resp, F>(
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

    /// As [`create_service`](Self::create_service), with an asynchronous callback.
    ///
    /// # Errors
    /// If there is such a service already, or one with other types, or the group is gone.
    pub fn create_service_async<Req, Resp, F, Fut>(
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
        F: Fn(S::Item) + Send + Sync + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.reentrant(callback);
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
        F: Fn(S::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handle = Draft::source(&self.core, kind, options.into(), source)?.reentrant_async(callback);
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
        F: Fn(S::Item) + Send + Sync + 'static,
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
        F: Fn(S::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.create_source_async(EntityKind::Waitable, options, StreamSource::new(stream), callback)
    }

    /// Removes the group with all of its entities, whose handles do nothing from then on.
    ///
    /// Callbacks that are running are not waited for.
    pub fn remove(self) {
        self.core.remove();
    }
}

impl std::fmt::Debug for ReentrantGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReentrantGroup").field("name", &self.core.name).finish_non_exhaustive()
    }
}
