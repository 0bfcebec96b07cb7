//! Creation of a node's entities, on its own group or on another one.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use rospin_engine::{
    ClockKind, ClockPoint, Declaration, GroupGone, GroupOptions, Instant, Rate, RateError, Sleep, SourceError, Time,
    TimeoutError, Timer, TimerError,
};

use crate::callback::{Callback, Nothing, ServiceCallback, SubscriptionCallback};
use crate::error::{ServiceError, TopicError};
use crate::group::{Group, OwnGroup};
use crate::message::{Message, ServiceInterface};
use crate::node::Node;
use crate::options::{ServiceOptions, SubscriptionOptions};
use crate::service::{self, Service};
use crate::service_types::RustTypes;
use crate::subscription::{self, Subscription};
use crate::timer::{GivesTick, Tick, TimerOptions};

/// Creator of a node's entities on one group. [`Node::on`] returns it, and [`CallbackGroup`](crate::CallbackGroup) and
/// [`ReentrantGroup`](crate::ReentrantGroup) are one.
///
/// It dereferences to the group, for what needs no node, such as streams.
#[derive(Clone)]
pub struct On<G> {
    node: Node,
    group: G,
}

impl<G: Group> On<G> {
    pub(crate) const fn new(node: Node, group: G) -> Self {
        Self { node, group }
    }

    /// Returns the node whose entities it creates.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) const fn group(&self) -> &G {
        &self.group
    }

    /// Returns the group.
    pub(crate) fn into_group(self) -> G {
        self.group
    }

    /// Creates a subscription. A plain `&str` is its topic. The module [`callback`](crate::callback) lists the forms
    /// of `callback`.
    ///
    /// The type of the callback's parameter says which messages it hears. `create_subscription::<UInt32, _>` may name
    /// it, too, as with rclrs.
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_subscription<M: Message, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: impl SubscriptionCallback<G, M, Form>,
    ) -> Result<Subscription, TopicError> {
        let asks_for_info = asks_for_info(&callback);
        let draft =
            subscription::Draft::<PhantomData<M>>::of_message(&self.node, &self.group, options.into(), asks_for_info)?;
        draft.finish(&self.group, callback)
    }

    /// Creates a subscription whose callback uses no payload, for code that is generic over the kind of group. A plain
    /// `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_plain_subscription<M: Message>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: impl Fn(Arc<M>) + Send + Sync + 'static,
    ) -> Result<Subscription, TopicError> {
        let draft = subscription::Draft::<PhantomData<M>>::of_message(&self.node, &self.group, options.into(), false)?;
        draft.finish_plain(&self.group, callback)
    }

    /// Creates a service, which answers each request with the callback's return value. A plain `&str` is its name. The
    /// module [`callback`](crate::callback) lists the forms of `callback`.
    ///
    /// The types of request and response say which service it is. `create_service::<AddTwoInts, _>` names it, for a
    /// callback that takes no request, or takes one that several services have.
    ///
    /// ```
    /// use rospin::msgs::example_interfaces::srv::{AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::{Context, ContextOptions, Node, Ros};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let ros = Ros::in_process(&context);
    /// let node = ros.create_node("calculator")?;
    /// let group = node.create_group("sums", 0)?;
    /// let add = |count: &mut u32, request: AddTwoIntsRequest| {
    ///     *count += 1;
    ///     AddTwoIntsResponse { sum: request.a + request.b }
    /// };
    /// let _server = group.create_service("add_two_ints", add)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the service's or the type's name is invalid, the middleware refuses, or the group is gone.
    pub fn create_service<S: ServiceInterface, Form>(
        &self,
        options: impl Into<ServiceOptions>,
        callback: impl ServiceCallback<G, S, Form>,
    ) -> Result<Service, ServiceError> {
        let draft = service::Draft::on(&self.node, &self.group, options.into(), RustTypes::<S>::new())?;
        let answering = draft.answering();
        draft.finish(|options, requests| callback.create(&self.group, options, requests, answering))
    }

    /// Creates a timer on the node's clock, which is ROS time, as in rclcpp and rclpy. A plain
    /// [`Duration`](std::time::Duration) is its period. The module [`callback`](crate::callback) lists the forms of
    /// `callback`.
    ///
    /// In simulation (`use_sim_time`) the timer follows `/clock`: it stands still with it, and runs as fast. When that
    /// jumps forward, the due times in between were missed, and the [overrun policy](TimerOptions::overrun) says what
    /// becomes of them. When it jumps back, the timer waits for at most its period.
    ///
    /// Otherwise the timer keeps the pace of the steady clock, also when the system clock is set. That is different in
    /// rclcpp, where such a timer stalls when the system clock is set back. When a program changes between both, the
    /// time that is left to wait stays the same.
    ///
    /// A timer that must not follow `/clock`, such as one that supervises a driver, is created by
    /// [`create_wall_timer`](Self::create_wall_timer).
    ///
    /// # Errors
    /// If the period is zero, or the group is gone.
    pub fn create_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Time>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<G, Tick, Nothing, Form>,
    {
        self.create_timer_on(options.into(), callback)
    }

    /// Creates a timer on the steady clock, which does not follow `/clock`, as in rclcpp. A plain
    /// [`Duration`](std::time::Duration) is its period. Its callback takes a `Tick<Instant>`, or nothing.
    ///
    /// # Errors
    /// If the period is zero, or the group is gone.
    pub fn create_wall_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Instant>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<G, Tick<Instant>, Nothing, Form>,
    {
        self.create_timer_on(options.into(), callback)
    }

    fn create_timer_on<D: ClockPoint, F, Form>(
        &self,
        options: TimerOptions<D>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<G, Tick<D>, Nothing, Form>,
    {
        let name = options.given_name().map(|given| self.group.name_given(given));
        let options = name.into_iter().fold(options, TimerOptions::name);
        let gives = GivesTick::default();
        let timer = callback.on_timer(&self.group, options.into_engine(), gives.clone())?;
        gives.set(self.group.failures(timer.name()), timer.skips());
        self.node
            .link()
            .recorder()
            .declare(|| Declaration::Timer { node: self.node.fully_qualified_name(), account: timer.account() });
        Ok(timer)
    }
}

impl<G> Deref for On<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.group
    }
}

impl<G: Group> fmt::Debug for On<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("On").field("node", &self.node).field("group", &self.group.name()).finish()
    }
}

/// Returns true if the callback takes a [`MessageInfo`](crate::MessageInfo).
const fn asks_for_info<G, M, Form, F: SubscriptionCallback<G, M, Form>>(_: &F) -> bool {
    F::ASKS_FOR_INFO
}

/// Entities on the node's own group, whose callbacks run one at a time. [`create_group`](Self::create_group) creates
/// other groups.
impl Node {
    /// Returns the creator of this node's entities on `group`, which may be that of another node or of an executor of
    /// the node's context. A group that the node itself [created](Self::create_group) needs no such step.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, ExecutorOptions, Ros, SpinOptions};
    /// use rospin::msgs::std_msgs::msg::String as Text;
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let node = Ros::in_process(&context).create_node("listener")?;
    /// let group = executor.create_group("listener", Vec::new());
    /// // No other callback of the group has the payload while this one runs.
    /// let _subscription = node.on(&group).create_subscription("chatter", |heard: &mut Vec<_>, message: Text| heard.push(message.data))?;
    ///
    /// node.create_publisher("chatter")?.publish(Text { data: "hello".to_owned() })?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(group.into_payload().unwrap(), ["hello"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on<G: Group>(&self, group: &G) -> On<G::Kind> {
        On::new(self.clone(), group.kind().clone())
    }

    /// Creates a subscription on the node's own group. A plain `&str` is its topic. See [`On::create_subscription`].
    ///
    /// # Errors
    /// Those of [`On::create_subscription`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_subscription<M: Message, Form>(
        &self,
        options: impl Into<SubscriptionOptions>,
        callback: impl SubscriptionCallback<OwnGroup, M, Form>,
    ) -> Result<Subscription, TopicError> {
        self.on(self.own_group_for_source()?).create_subscription(options, callback)
    }

    /// Creates a service on the node's own group. A plain `&str` is its name. See [`On::create_service`].
    ///
    /// ```
    /// use rospin::msgs::example_interfaces::srv::{AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::{Context, ContextOptions, Node, Ros};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let ros = Ros::in_process(&context);
    /// let node = ros.create_node("calculator")?;
    /// let _server = node.create_service("add_two_ints", |request: AddTwoIntsRequest| {
    ///     AddTwoIntsResponse { sum: request.a + request.b }
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`On::create_service`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_service<S: ServiceInterface, Form>(
        &self,
        options: impl Into<ServiceOptions>,
        callback: impl ServiceCallback<OwnGroup, S, Form>,
    ) -> Result<Service, ServiceError> {
        self.on(self.own_group_for_source()?).create_service(options, callback)
    }

    /// Creates a timer on the node's clock, which is ROS time, and on the node's own group. A plain
    /// [`Duration`](std::time::Duration) is its period. In simulation it follows `/clock`, see [`On::create_timer`].
    ///
    /// # Errors
    /// Those of [`On::create_timer`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Time>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<OwnGroup, Tick, Nothing, Form>,
    {
        self.on(self.own_group()?).create_timer(options, callback)
    }

    /// Creates a timer on the steady clock, which does not follow `/clock`, and on the node's own group. See
    /// [`On::create_wall_timer`].
    ///
    /// # Errors
    /// Those of [`On::create_wall_timer`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_wall_timer<F, Form>(
        &self,
        options: impl Into<TimerOptions<Instant>>,
        callback: F,
    ) -> Result<Timer, TimerError>
    where
        F: Callback<OwnGroup, Tick<Instant>, Nothing, Form>,
    {
        self.on(self.own_group()?).create_wall_timer(options, callback)
    }

    /// Returns a sleep on the node's clock, which is ROS time. If a thread of an executor polls it, that executor wakes
    /// it; otherwise, that of the node's own group does.
    ///
    /// # Errors
    /// If the node's [`Ros`](crate::Ros) was dropped.
    pub fn sleep(&self, duration: Duration) -> Result<Sleep, GroupGone> {
        Ok(self.executor_of_groups()?.sleep(ClockKind::Ros, duration))
    }

    /// Returns a future that resolves to the output of `future`, or to an error if that did not come within `limit` of
    /// the node's clock, which is ROS time. The future is dropped then. The time counts from this call on.
    ///
    /// It is `tokio::time::timeout` on the node's clock: in simulation it follows `/clock`, and in a test the clock of
    /// the test. It works in callbacks and wherever else a future is awaited, and needs no Tokio. See
    /// [`sleep`](Self::sleep) for the executor that wakes it. Neither blocks, locks nor allocates. A limit on the
    /// steady clock is given by an [executor's handle](rospin_engine::ExecutorHandle::timeout).
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
    /// use rospin::{Context, ContextOptions, Ros};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("calculator")?;
    /// let _server = node.create_service("add", |request: AddTwoIntsRequest| AddTwoIntsResponse { sum: request.a + request.b })?;
    /// let client = node.create_client::<AddTwoInts>("add")?;
    ///
    /// let call = node.timeout(Duration::from_secs(1), client.call(AddTwoIntsRequest { a: 2, b: 3 }));
    /// // An error of the limit, an error of the call, or the response.
    /// let response = ros.spin_until(call)???;
    /// assert_eq!(response.sum, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cancel safe if the limited future is: that is dropped at the end of the limit, or with this one.
    ///
    /// # Errors
    /// The future returns [`TimeoutError::Elapsed`] once the limit is over, and another error if the node's
    /// [`Ros`](crate::Ros) was dropped, so that nobody measures the time.
    #[must_use = "the future runs only while it is awaited"]
    pub fn timeout<F: IntoFuture>(
        &self,
        limit: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, TimeoutError>> + use<F> {
        let executor = self.executor_of_groups();
        let limited = executor.map(|executor| executor.timeout(ClockKind::Ros, limit, future));
        async move { limited?.await }
    }

    /// Creates a rate on the node's clock, which is ROS time, for a loop that awaits a [tick](Rate::tick) in each
    /// round. See [`sleep`](Self::sleep) for the executor that wakes it. Rates on other clocks are created by an
    /// [executor's handle](rospin_engine::ExecutorHandle::create_rate).
    ///
    /// # Errors
    /// If the period is zero, or the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_rate(&self, period: Duration) -> Result<Rate, RateError> {
        self.executor_of_groups()?.create_rate(ClockKind::Ros, period)
    }

    /// Returns the node's own group, and creates it on first use. It is for code that is generic over the kind of
    /// group.
    ///
    /// # Errors
    /// If the node's [`Ros`](crate::Ros) was dropped.
    pub fn own_group(&self) -> Result<&OwnGroup, GroupGone> {
        let executor = self.executor_of_groups()?;
        let options = GroupOptions::new(self.name()).node(self.fully_qualified_name()).releases_at_await();
        Ok(self.own().get_or_init(|| OwnGroup(executor.create_group(options, ()))))
    }

    /// Returns the node's [own group](Self::own_group), with the error of entities over a source.
    pub(crate) fn own_group_for_source(&self) -> Result<&OwnGroup, SourceError> {
        Ok(self.own_group()?)
    }
}
