//! Callback groups that a node creates.

use std::fmt;
use std::ops::Deref;

use rospin_engine::{
    Context, Entity, EntityKind, EntityOptions, ExecutorHandle, Failures, GroupGone, GroupOptions, JumpCallback,
    Source, SourceError, TimeJump, Timer, TimerError, TimerOptions,
};

use crate::group::{Exclusive, Group, RESET, group};
use crate::node::Node;
use crate::on::On;

/// A mutually exclusive callback group of a node, with a payload: one of its callbacks runs at a time, and has the
/// payload to itself. rclrs calls it a worker. [`Node::create_group`] creates it.
///
/// Its methods create entities of the node: subscriptions of ROS topics, ROS services, timers, action servers. They are
/// those of [`On`]. The module [`callback`](crate::callback) lists the forms of callbacks.
///
/// Cheap to clone. The group lives as long as a handle to it or to one of its entities. An entity lives as long as the
/// handle that its `create_` method returns. All methods may be called while the executor spins, also from callbacks.
///
/// ```
/// use rospin::msgs::std_msgs::msg::UInt32;
/// use rospin::prelude::*;
///
/// #[derive(Default)]
/// struct Planner {
///     obstacles: u32,
/// }
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("planner")?;
/// let planner = node.create_group("plan", Planner::default())?;
/// // Both callbacks have the payload to themselves while they run: no mutex needed.
/// let _obstacles = planner
///     .create_subscription("obstacles", |planner: &mut Planner, count: &UInt32| planner.obstacles = count.data)?;
/// let _plan = planner.create_timer(Duration::from_millis(100), |planner: &mut Planner, _: Tick| {
///     println!("around {} obstacles", planner.obstacles);
/// })?;
///
/// node.create_publisher("obstacles")?.publish(UInt32 { data: 3 })?;
/// ros.executor().spin(SpinOptions::spin_all())?;
/// assert_eq!(planner.into_payload().unwrap().obstacles, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The groups of an [executor](rospin_engine::Executor::create_group) have no node, so they have no ROS topics:
/// [`Node::on`] creates a node's entities on them.
///
/// ```compile_fail,E0599
/// # use rospin::prelude::*;
/// # use rospin::msgs::std_msgs::msg::UInt32;
/// # fn wrong(executor: &Executor) {
/// let group = executor.create_group("plan", 0_u32);
/// group.create_subscription("obstacles", |count: &mut u32, message: &UInt32| *count = message.data); // error: no method
/// # }
/// ```
#[doc(alias = "Worker")]
#[doc(alias = "MutuallyExclusiveCallbackGroup")]
pub struct CallbackGroup<P: Send + 'static>(On<rospin_engine::CallbackGroup<P>>);

impl<P: Send + 'static> CallbackGroup<P> {
    /// Removes the group with all of its entities, and returns the payload. May wait for a lock, never for a callback.
    ///
    /// # Errors
    /// If the executor spins or was dropped, or if the group was removed before. The error is the group itself.
    pub fn into_payload(self) -> Result<P, Self> {
        let node = self.node().clone();
        self.0.into_group().into_payload().map_err(|group| Self(On::new(node, group)))
    }
}

/// A reentrant callback group of a node: its callbacks run on any number of the executor's threads at once, also
/// several activations of one callback. It has no payload; callbacks share data by capturing it.
/// [`Node::create_reentrant_group`] creates it.
///
/// In all other respects it is like a [`CallbackGroup`].
#[doc(alias = "ReentrantCallbackGroup")]
#[derive(Clone)]
pub struct ReentrantGroup(On<rospin_engine::ReentrantGroup>);

/// Implements for the group `$group` what both kinds of groups have in common. `$engines` is the engine's group.
macro_rules! common {
    ([$($generics:tt)*] $group:ty, $engines:ty, $name:literal) => {
        impl<$($generics)*> $group {
            /// Removes the group with all of its entities, whose handles do nothing from then on.
            ///
            /// Callbacks that are running are not waited for.
            pub fn remove(self) {
                self.0.into_group().remove();
            }
        }

        impl<$($generics)*> Deref for $group {
            type Target = On<$engines>;

            fn deref(&self) -> &On<$engines> {
                &self.0
            }
        }

        impl<$($generics)*> fmt::Debug for $group {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name).field("name", &self.name()).finish_non_exhaustive()
            }
        }
    };
}

common!([P: Send + 'static] CallbackGroup<P>, rospin_engine::CallbackGroup<P>, "CallbackGroup");
common!([] ReentrantGroup, rospin_engine::ReentrantGroup, "ReentrantGroup");

group!([P: Send + 'static] CallbackGroup<P>, (_), |group| group.group(), rospin_engine::CallbackGroup<P>: group.group());
group!([] ReentrantGroup, (), |group| group.group(), rospin_engine::ReentrantGroup: group.group());

impl<P: Send + 'static> Exclusive for CallbackGroup<P> {
    type Payload = P;

    fn group(&self) -> &rospin_engine::CallbackGroup<P> {
        self.deref().group()
    }
}

impl<P: Send + 'static> Clone for CallbackGroup<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Callback groups beside the node's own group.
impl Node {
    /// Creates a mutually exclusive callback group of this node, with a payload that its callbacks share. A plain
    /// `&str` is its name. It is on the executor of the node's own group, unless a deployment file moves it.
    ///
    /// A callback has the group to itself from its beginning to its end, also while it awaits. If it awaits what
    /// another callback of the group does, neither goes on, and the program tells of both after a second
    /// ([`HeldUp`](rospin_engine::IncidentKind::HeldUp)). The node's [own group](crate::OwnGroup), reentrant groups,
    /// and groups whose [options say so](rospin_engine::GroupOptions::releases_at_await), let others run meanwhile.
    ///
    /// It is rclrs' `create_worker`, and rclcpp's `create_callback_group(CallbackGroupType::MutuallyExclusive)`:
    /// instead of naming the group in an entity's options, create the entity on the group.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, Ros, SpinOptions};
    /// use rospin::msgs::std_msgs::msg::UInt32;
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("brake")?;
    /// let last = node.create_group("scan", 0)?;
    /// let _subscription = last.create_subscription("scan", |last: &mut u32, scan: &UInt32| *last = scan.data)?;
    ///
    /// node.create_publisher("scan")?.publish(UInt32 { data: 7 })?;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// assert_eq!(last.into_payload().unwrap(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the node's [`Ros`](crate::Ros) was dropped.
    #[doc(alias = "create_worker")]
    #[doc(alias = "create_callback_group")]
    pub fn create_group<P: Send + 'static>(
        &self,
        options: impl Into<GroupOptions>,
        payload: P,
    ) -> Result<CallbackGroup<P>, GroupGone> {
        Ok(self.create_group_on(&self.executor_of_groups()?, options, payload))
    }

    /// Creates a mutually exclusive callback group of this node on another executor, see
    /// [`create_group`](Self::create_group). A deployment file may move it.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, ExecutorOptions, Ros, SpinOptions};
    /// use rospin::msgs::std_msgs::msg::UInt32;
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let urgent = context.create_executor(ExecutorOptions::new("urgent"));
    /// let node = Ros::in_process(&context).create_node("brake")?;
    /// let last = node.create_group_on(&urgent.handle(), "scan", 0);
    /// let _subscription = last.create_subscription("scan", |last: &mut u32, scan: &UInt32| *last = scan.data)?;
    ///
    /// node.create_publisher("scan")?.publish(UInt32 { data: 7 })?;
    /// urgent.spin(SpinOptions::spin_all())?;
    /// assert_eq!(last.into_payload().unwrap(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "add_callback_group")]
    pub fn create_group_on<P: Send + 'static>(
        &self,
        executor: &ExecutorHandle,
        options: impl Into<GroupOptions>,
        payload: P,
    ) -> CallbackGroup<P> {
        let group = executor.create_group(options.into().node(self.fully_qualified_name()), payload);
        CallbackGroup(On::new(self.clone(), group))
    }

    /// Creates a reentrant callback group of this node, as [`create_group`](Self::create_group) creates mutually
    /// exclusive ones.
    ///
    /// # Errors
    /// If the node's [`Ros`](crate::Ros) was dropped.
    #[doc(alias = "create_callback_group")]
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> Result<ReentrantGroup, GroupGone> {
        Ok(self.create_reentrant_group_on(&self.executor_of_groups()?, options))
    }

    /// Creates a reentrant callback group of this node on another executor, as
    /// [`create_group_on`](Self::create_group_on) creates mutually exclusive ones.
    #[doc(alias = "add_callback_group")]
    pub fn create_reentrant_group_on(
        &self,
        executor: &ExecutorHandle,
        options: impl Into<GroupOptions>,
    ) -> ReentrantGroup {
        let group = executor.create_reentrant_group(options.into().node(self.fully_qualified_name()));
        ReentrantGroup(On::new(self.clone(), group))
    }

    /// Returns the executor of the node's own group and of its other groups.
    pub(crate) fn executor_of_groups(&self) -> Result<ExecutorHandle, GroupGone> {
        self.own_executor().ok_or_else(|| GroupGone { group: self.name().to_owned() })
    }
}
