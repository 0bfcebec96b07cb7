//! The options of groups and entities.

use std::time::Duration;

use rospin_core::{ClockKind, Instant, Overrun, Priority};

use crate::guarantees::Guarantees;
use crate::incident::OnPanic;
use crate::topics::Topics;

/// The options of a callback group.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, GroupOptions, OnPanic, SpinOptions, TimerOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let options = GroupOptions::new("sensing").node("/robot/driver").on_panic(OnPanic::Remove).releases_at_await();
/// let group = executor.create_group(options, 0);
/// assert_eq!(group.name(), "sensing");
/// assert_eq!(group.entity_name("scan"), "robot/driver/sensing/scan");
/// assert_eq!(group.name_given("scan"), "robot/scan");
/// let broken = group.create_timer(TimerOptions::one_shot(Duration::ZERO), |_, _| panic!("no sensor"))?;
/// executor.spin(SpinOptions::spin_all())?;
/// assert!(broken.name().starts_with("robot/driver/sensing/"));
/// group.remove();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroupOptions {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) on_panic: OnPanic,
    pub(crate) releases_at_await: bool,
}

impl GroupOptions {
    /// Creates options for a group of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), node: String::new(), on_panic: OnPanic::default(), releases_at_await: false }
    }

    /// Sets the node that the group belongs to, by its full name. [Deployment files](crate::ContextOptions::deployment)
    /// use it, and it is part of the [names of the group's entities](crate::CallbackGroup::entity_name).
    #[must_use]
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// Returns the beginning of the names of the group's entities, see
    /// [`entity_name`](crate::CallbackGroup::entity_name).
    pub(crate) fn path(&self) -> String {
        let node = self.node.trim_start_matches('/');
        let name = &self.name;
        match node.rsplit('/').next() {
            Some("") | None => name.clone(),
            Some(base_name) if base_name == name => node.to_owned(),
            Some(_) => format!("{node}/{name}"),
        }
    }

    /// Sets the reaction to a panic of one of the group's callbacks.
    #[must_use]
    pub const fn on_panic(mut self, reaction: OnPanic) -> Self {
        self.on_panic = reaction;
        self
    }

    /// Lets other callbacks of the group run while an asynchronous one waits. They still exclude each other between two
    /// awaits. One activation of each entity is under way at a time, unless
    /// [`max_in_flight`](EntityOptions::max_in_flight) says otherwise.
    ///
    /// Without it, an asynchronous callback holds the group from its beginning to its end: what the callback finds in
    /// the payload after an await is what it left there.
    #[must_use]
    pub const fn releases_at_await(mut self) -> Self {
        self.releases_at_await = true;
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

/// The options that all kinds of entities have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    pub(crate) name: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_in_flight: Option<u32>,
    pub(crate) releases_group_at_await: bool,
    /// Set by the engine only, see [`EntitySpec::precedes_all`](rospin_core::EntitySpec::precedes_all).
    pub(crate) precedes_all: bool,
}

/// The setters of [`Common`], for each of the options below.
macro_rules! common_setters {
    () => {
        /// Sets the name under which the entity appears in messages, traces, chains and loss counts. Without it, the
        /// group [makes a name](crate::CallbackGroup::entity_name).
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.common.name = Some(name.into());
            self
        }

        /// Sets the priority for [`FixedPriority`](crate::policy::FixedPriority). It takes precedence over the
        /// context's [priorities](crate::ContextOptions::priorities).
        #[must_use]
        pub const fn priority(mut self, priority: Priority) -> Self {
            self.common.priority = Some(priority);
            self
        }

        /// Sets the time from the release until the callback should have ended, for [`Edf`](crate::policy::Edf).
        /// Without it, a periodic timer has its period as the deadline, and any other entity has none.
        #[must_use]
        pub const fn deadline(mut self, deadline: Duration) -> Self {
            self.common.deadline = Some(deadline);
            self
        }

        /// Sets the number of activations that may be in flight at the same time (running, or suspended at an await),
        /// at least 1 and at most 1024. Memory for all of them is allocated when the entity is created. Further items
        /// wait in the source.
        ///
        /// It has an effect in a reentrant group, and in a mutually exclusive one for an asynchronous callback that
        /// [releases the group](Self::releases_group_at_await). The default is the number of the executor's threads,
        /// and 16 for an asynchronous callback. It is 1 in a group whose [options](GroupOptions::releases_at_await) let
        /// all of its callbacks release it, such as a node's own. Other callbacks have one activation at a time.
        #[must_use]
        pub fn max_in_flight(mut self, count: u32) -> Self {
            self.common.max_in_flight = Some(count.clamp(1, 1024));
            self
        }

        /// Lets other callbacks of the group run while this asynchronous one waits. Without it, the callback holds the
        /// group until it ends.
        #[must_use]
        pub const fn releases_group_at_await(mut self) -> Self {
            self.common.releases_group_at_await = true;
            self
        }
    };
}

/// The options of the entity of a [`Source`](crate::Source) or a stream.
///
/// ```
/// use std::time::Duration;
/// use futures::stream;
/// use rospin_engine::{Context, ContextOptions, EntityOptions, ExecutorOptions, Payload, Priority, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("group", Vec::new());
/// let push = |seen: &mut Vec<u32>, number| seen.push(number);
/// let _last = group.create_stream(EntityOptions::new("last").priority(Priority(1)), stream::iter([1]), push)?;
/// let first = EntityOptions::new("").name("first").priority(Priority(2)).deadline(Duration::from_secs(1)).depth(1);
/// let _first = group.create_stream(first, stream::iter([2]), push)?;
/// let waits = EntityOptions::new("waits").releases_group_at_await().max_in_flight(4);
/// let later = move |seen: Payload<Vec<u32>>, number| async move { seen.with(|seen| push(seen, number)) };
/// let _waits = group.create_stream_async(waits, stream::iter([3]), later)?;
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap()[0], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EntityOptions {
    pub(crate) common: Common,
    pub(crate) depth: Option<usize>,
}

impl EntityOptions {
    /// Creates options for an entity of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { common: Common { name: Some(name.into()), ..Common::default() }, depth: None }
    }

    /// Sets the number of items that the source keeps, as a template of a deployment file shows it. It does not change
    /// the source, which should have been created with the depth of
    /// [`CallbackGroup::deployed_depth`](crate::CallbackGroup::deployed_depth).
    #[must_use]
    pub const fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    common_setters!();
}

impl From<&str> for EntityOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// The options of a timer.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, ManualClock};
/// use rospin_engine::{Overrun, SpinOptions, TimerOptions};
///
/// let clock = ManualClock::new();
/// let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("group", 0);
/// let period = Duration::from_millis(10);
/// let options = TimerOptions::periodic(period)
///     .name("control")
///     .clock(ClockKind::Steady)
///     .first_due(context.clock().now())
///     .deadline(Duration::from_millis(5))
///     .overrun(Overrun::CatchUp(5));
/// let _control = group.create_timer(options, |ticks, _| *ticks += 1)?;
/// let _once = group.create_timer(TimerOptions::one_shot(period), |ticks, _| *ticks += 100)?;
/// // It is late for three due times, and makes up for them.
/// clock.advance(period * 2);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), 103);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TimerOptions {
    pub(crate) common: Common,
    pub(crate) period: Option<Duration>,
    /// The time from the creation of the timer to the first due time, unless `first_due` is given.
    pub(crate) delay: Duration,
    pub(crate) first_due: Option<Instant>,
    pub(crate) clock: ClockKind,
    pub(crate) overrun: Overrun,
}

impl TimerOptions {
    /// Returns the name that was given to the timer, if there is one.
    #[must_use]
    pub fn given_name(&self) -> Option<&str> {
        self.common.name.as_deref()
    }

    /// Creates options for a timer that fires every `period`, for the first time one period after the timer is created.
    #[must_use]
    pub fn periodic(period: Duration) -> Self {
        Self {
            common: Common::default(),
            period: Some(period),
            delay: period,
            first_due: None,
            clock: ClockKind::default(),
            overrun: Overrun::default(),
        }
    }

    /// Creates options for a timer that fires once, `delay` after it is created.
    #[must_use]
    pub fn one_shot(delay: Duration) -> Self {
        Self { period: None, ..Self::periodic(delay) }
    }

    /// Sets the first due time, on the timer's clock, in place of the one that follows from the period or the delay.
    #[must_use]
    pub const fn first_due(mut self, due: Instant) -> Self {
        self.first_due = Some(due);
        self
    }

    /// Sets the timer's clock. The default is the steady clock, as for rclcpp's wall timers. [`ClockKind::Ros`] is the
    /// context's [ROS time](crate::RosTime).
    #[must_use]
    pub const fn clock(mut self, clock: ClockKind) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the overrun policy: the treatment of due times that a late timer missed. The default skips them.
    #[must_use]
    pub const fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    common_setters!();
}

impl From<Duration> for TimerOptions {
    fn from(period: Duration) -> Self {
        Self::periodic(period)
    }
}

/// The options of a subscription of a local topic.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, Priority};
/// use rospin_engine::{PublisherOptions, SpinOptions, SubscriptionOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("group", Vec::new());
/// let maps = context.create_local_publisher::<u32>(PublisherOptions::new("map").transient_local(2))?;
/// (1..=3).for_each(|map| drop(maps.publish(map)));
/// // A late subscription gets the maps that are kept.
/// let options = SubscriptionOptions::new("map").keep_last(5).transient_local().name("map").priority(Priority(3));
/// let subscription = group.create_local_subscription(options, |seen: &mut Vec<u32>, map: Arc<u32>| seen.push(*map))?;
/// let all = SubscriptionOptions::new("map").keep_all(2).deadline(Duration::from_millis(5)).max_in_flight(1);
/// let _all = group.create_local_subscription(all, |_: &mut Vec<u32>, _: Arc<u32>| ())?;
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(subscription.name(), "map");
/// assert_eq!(group.into_payload().unwrap(), [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(crate) common: Common,
    pub(crate) topic: String,
    pub(crate) depth: usize,
    /// True if publishers that keep all wait for room in this queue.
    pub(crate) keeps_all: bool,
    pub(crate) transient_local: bool,
    pub(crate) demands: Guarantees,
    /// Namespace of the topic; `None` for the context's own.
    pub(crate) topics: Option<Topics>,
}

impl SubscriptionOptions {
    /// Creates options for a subscription of the topic that keeps the last 10 messages.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self {
            common: Common::default(),
            topic: topic.into(),
            depth: 10,
            keeps_all: false,
            transient_local: false,
            demands: Guarantees::NONE,
            topics: None,
        }
    }

    /// Sets the number of messages that are kept, at least 1 and at most [`DEPTH_MAX`](crate::DEPTH_MAX). If the queue
    /// is full, the oldest message makes room for a new one, and is counted as lost. When the subscription is created,
    /// 16 bytes are allocated for each message, rounded up to a power of two.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        (self.depth, self.keeps_all) = (depth.max(1), false);
        self
    }

    /// Keeps all messages as long as there are at most `room`, at least 1 and at most [`DEPTH_MAX`](crate::DEPTH_MAX).
    /// Publishers that [keep all](PublisherOptions::keep_all), too, wait for room. Otherwise it is as with
    /// [`keep_last`](Self::keep_last).
    #[must_use]
    pub fn keep_all(mut self, room: usize) -> Self {
        (self.depth, self.keeps_all) = (room.max(1), true);
        self
    }

    /// Makes the subscription also receive earlier messages of [transient local](PublisherOptions::transient_local)
    /// publishers.
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.transient_local = true;
        self
    }

    /// Sets the guarantees that publishers must give: messages of other publishers are not received. The default
    /// demands nothing.
    #[must_use]
    pub const fn demands(mut self, demands: Guarantees) -> Self {
        self.demands = demands;
        self
    }

    /// Looks up the topic in the namespace `topics` instead of the context's own.
    #[must_use]
    pub fn within(mut self, topics: &Topics) -> Self {
        self.topics = Some(topics.clone());
        self
    }

    common_setters!();
}

impl From<&str> for SubscriptionOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// The options of a publisher on a local topic.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, PublisherOptions, SubscriptionOptions, Topics};
///
/// let (context, topics) = (Context::new(ContextOptions::new()), Topics::new());
/// let options = PublisherOptions::new("scan").within(&topics).wait_for_room(Duration::from_millis(1));
/// let scans = context.create_local_publisher::<u32>(options)?;
/// let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("scan").within(&topics).keep_last(1))?;
/// assert_eq!(scans.publish(1).queued, 1);
/// // Nobody takes it within a millisecond, so the next one displaces it.
/// assert_eq!(scans.publish(2).displaced, 1);
/// assert_eq!(queue.try_take().as_deref(), Some(&2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    pub(crate) topic: String,
    /// The number of messages that are kept for late subscriptions.
    pub(crate) latched: usize,
    pub(crate) promises: Guarantees,
    /// The longest time for which a message waits for room; `None` if it never waits.
    pub(crate) patience: Option<Duration>,
    /// True if it waits only for subscriptions that keep all.
    pub(crate) keeps_all: bool,
    /// Namespace of the topic; `None` for the context's own.
    pub(crate) topics: Option<Topics>,
}

impl PublisherOptions {
    /// Creates options for a publisher that keeps no messages.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self {
            topic: topic.into(),
            latched: 0,
            promises: Guarantees::ALL,
            patience: None,
            keeps_all: false,
            topics: None,
        }
    }

    /// Makes [`publish`](crate::Publisher::publish) wait while the queue of a subscription is full, at most for that
    /// time (real time, also under a manual clock). So a publisher that is faster than its subscriptions is slowed, and
    /// loses nothing. After that time it displaces the oldest messages, as it does at once by default.
    ///
    /// Threads that spin an executor never wait: a callback that waited for another callback might keep that from
    /// running. They displace at once, or use [`publish_if_room`](crate::Publisher::publish_if_room). A wait does not
    /// end when executors halt: choose a time after which the thread may still end the program.
    #[must_use]
    pub const fn wait_for_room(mut self, at_most: Duration) -> Self {
        (self.patience, self.keeps_all) = (Some(at_most), false);
        self
    }

    /// Makes [`publish`](crate::Publisher::publish) wait as [`wait_for_room`](Self::wait_for_room) does, but only for
    /// subscriptions that [keep all](SubscriptionOptions::keep_all). In others it displaces at once. This is what a
    /// reliable writer that keeps all does in DDS, with `at_most` as its `max_blocking_time`.
    #[must_use]
    pub const fn keep_all(mut self, at_most: Duration) -> Self {
        (self.patience, self.keeps_all) = (Some(at_most), true);
        self
    }

    /// Makes the publisher keep its last `depth` messages, at most [`DEPTH_MAX`](crate::DEPTH_MAX), for later
    /// [subscriptions that ask for them](SubscriptionOptions::transient_local). When the publisher is created, 32 bytes
    /// are allocated for each.
    #[must_use]
    pub const fn transient_local(mut self, depth: usize) -> Self {
        self.latched = depth;
        self
    }

    /// Sets the publisher's promises: subscriptions that demand more do not receive its messages. The default promises
    /// everything.
    #[must_use]
    pub const fn promises(mut self, promises: Guarantees) -> Self {
        self.promises = promises;
        self
    }

    /// Looks up the topic in the namespace `topics` instead of the context's own.
    #[must_use]
    pub fn within(mut self, topics: &Topics) -> Self {
        self.topics = Some(topics.clone());
        self
    }
}

impl From<&str> for PublisherOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// The options of a local service.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{CallError, Context, ContextOptions, ExecutorOptions, ServiceOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("group", ());
/// let options = ServiceOptions::new("square").keep_last(1).name("square").deadline(Duration::from_millis(1));
/// let _service = group.create_local_service(options, |_, number: i64| number * number)?;
/// let client = context.create_local_client::<i64, i64>("square")?;
/// let (first, second) = (client.call(3), client.call(4));
/// // The service keeps one request.
/// let squares = executor.spin_until(async { (first.await, second.await) }, SpinOptions::new())?;
/// assert!(matches!(squares, (Err(CallError::QueueFull { .. }), Ok(16))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    pub(crate) common: Common,
    pub(crate) service: String,
    pub(crate) depth: usize,
}

impl ServiceOptions {
    /// Creates options for a service that keeps the last 10 requests.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::default(), service: service.into(), depth: 10 }
    }

    /// Sets the number of requests that are kept, at least 1 and at most [`DEPTH_MAX`](crate::DEPTH_MAX). If the queue
    /// is full, the oldest request makes room for a new one, and its caller gets
    /// [`CallError::QueueFull`](crate::CallError::QueueFull). When the service is created, 16 bytes are allocated for
    /// each request, rounded up to a power of two.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.depth = depth.max(1);
        self
    }

    common_setters!();
}

impl From<&str> for ServiceOptions {
    fn from(service: &str) -> Self {
        Self::new(service)
    }
}
