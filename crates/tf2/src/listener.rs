//! `/tf` and `/tf_static` as the source of a buffer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rospin_engine::{JumpCallback, SourceError};
use rospin_msgs::geometry_msgs::msg::TransformStamped;
use rospin_msgs::tf2_msgs::msg::TFMessage;
use rospin_node::{Complaints, Group, Node, Subscription, SubscriptionOptions, TopicError};

use crate::buffer::Buffer;
use crate::error::SetTransformError;
use crate::wait::WaitForTransform;
use crate::when::When;

/// The depth of both queues, as in `tf2_ros`.
const DEPTH: usize = 100;

/// Listener that keeps a [`Buffer`] filled from `/tf` and `/tf_static` until it is dropped.
///
/// It adds to its group the subscriptions `tf` and `tf_static`, which a deployment file names as it names others:
/// `planner/tf` on the own group of the node `planner`, in any namespace, and `planner/frames/tf` on its group
/// `frames`. It also adds a jump callback that [clears](Buffer::clear) the buffer when ROS time jumps back or changes
/// its source. It starts no thread: a transform is in the buffer once an executor has run the subscription's callback.
///
/// Transforms that the buffer refuses are [counted](Self::refused), and logged once for each frame and reason.
#[must_use = "the buffer gets no more transforms when it is dropped"]
pub struct TransformListener {
    buffer: Buffer,
    dynamic: Subscription,
    fixed: Subscription,
    refusals: Arc<Refusals>,
    node: Node,
    _reset: JumpCallback,
}

impl TransformListener {
    /// Creates a listener with a buffer of its own, on the node's own group.
    ///
    /// Callbacks of that group that await a transform must let others run meanwhile, or the transform cannot come: see
    /// [`releases_group_at_await`](SubscriptionOptions::releases_group_at_await). Or give the listener a group of its
    /// own.
    ///
    /// # Errors
    /// If the middleware refuses, or the node's [`Ros`](rospin_node::Ros) was dropped.
    pub fn new(node: &Node) -> Result<Self, TopicError> {
        Self::on(node, node.own_group().map_err(SourceError::from)?, Buffer::new())
    }

    /// Creates a listener on a group, which fills `buffer`.
    ///
    /// # Errors
    /// If the middleware refuses, or the group is gone.
    pub fn on(node: &Node, group: &impl Group, buffer: Buffer) -> Result<Self, TopicError> {
        let refusals = Arc::new(Refusals { node: node.fully_qualified_name(), ..Refusals::default() });
        let subscribe = |topic: &str, is_static: bool| {
            let options = SubscriptionOptions::new(format!("/{topic}")).keep_last(DEPTH);
            let options = options.name(format!("/{}", group.entity_name(topic)));
            let options = if is_static { options.transient_local() } else { options };
            let buffer = buffer.clone();
            let refusals = Arc::clone(&refusals);
            node.on(group).create_plain_subscription(options, move |message: Arc<TFMessage>| {
                for transform in &message.transforms {
                    let set = if is_static { Buffer::set_static_transform } else { Buffer::set_transform };
                    if let Err(error) = set(&buffer, transform, "unknown publisher") {
                        refusals.add(transform, &error);
                    }
                }
            })
        };
        let dynamic = subscribe("tf", false)?;
        let fixed = subscribe("tf_static", true)?;
        let cleared = buffer.clone();
        let reset = group.create_reset_callback(move |_| cleared.clear()).map_err(SourceError::from)?;
        Ok(Self { buffer, dynamic, fixed, refusals, node: node.clone(), _reset: reset })
    }

    /// Returns the buffer, for look-ups.
    #[must_use]
    pub const fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns the subscription of `/tf`, which counts lost messages.
    pub const fn dynamic(&self) -> &Subscription {
        &self.dynamic
    }

    /// Returns the subscription of `/tf_static`, which counts lost messages.
    pub const fn fixed(&self) -> &Subscription {
        &self.fixed
    }

    /// Returns the number of transforms that the buffer refused: see [`SetTransformError`].
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refusals.count.load(Ordering::Relaxed)
    }

    /// Waits for a transform, at most for `timeout` on the node's clock, which is ROS time. See
    /// [`Buffer::wait_for_transform`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use rospin::msgs::geometry_msgs::msg::TransformStamped;
    /// use rospin::tf2::{Latest, TransformBroadcaster, TransformListener};
    /// use rospin::{Context, ContextOptions, Ros};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let ros = Ros::in_process(&context);
    /// let node = ros.create_node("robot")?;
    /// let listener = TransformListener::new(&node)?;
    /// let wait = listener.wait_for_transform("map", "base", Latest, Duration::from_secs(10));
    ///
    /// let mut transform = TransformStamped { child_frame_id: "base".to_owned(), ..TransformStamped::default() };
    /// transform.header.frame_id = "map".to_owned();
    /// TransformBroadcaster::new(&node)?.send([transform])?;
    /// let found = ros.spin_until(wait)??;
    /// assert_eq!(found.header.frame_id, "map");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`WaitError`](crate::WaitError).
    pub fn wait_for_transform(
        &self,
        target: impl Into<String>,
        source: impl Into<String>,
        when: impl Into<When>,
        timeout: Duration,
    ) -> WaitForTransform {
        // The timeout counts from this call, not from the first poll.
        let sleep = self.node.sleep(timeout);
        self.buffer.wait_for_transform(target, source, when).timeout_after(sleep, timeout)
    }
}

/// Transforms that the buffer refused.
#[derive(Debug, Default)]
struct Refusals {
    /// Fully qualified name of the listener's node.
    node: String,
    count: AtomicU64,
    complaints: Complaints,
}

impl Refusals {
    /// Counts a transform, and tells of it once for each frame and reason.
    fn add(&self, transform: &TransformStamped, error: &SetTransformError) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let matter = format!("{} {:?}", transform.child_frame_id, std::mem::discriminant(error));
        self.complaints.tell(matter, &format!("{}: {error}", self.node));
    }
}

impl fmt::Debug for TransformListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformListener").field("node", &self.node).finish_non_exhaustive()
    }
}
