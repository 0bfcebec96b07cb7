//! Publishers of `/tf` and `/tf_static`.

use rospin_engine::Mutex;
use rospin_msgs::geometry_msgs::msg::TransformStamped;
use rospin_msgs::tf2_msgs::msg::TFMessage;
use rospin_node::{Node, PublishError, Publisher, PublisherOptions, TopicError};

/// The depth of the queue of `/tf`, as in `tf2_ros`.
const DEPTH: usize = 100;

/// Publisher of transforms that change over time, on `/tf`.
#[derive(Debug)]
pub struct TransformBroadcaster {
    publisher: Publisher<TFMessage>,
}

impl TransformBroadcaster {
    /// Creates the publisher.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(node: &Node) -> Result<Self, TopicError> {
        Ok(Self { publisher: node.create_publisher(PublisherOptions::new("/tf").keep_last(DEPTH))? })
    }

    /// Publishes one transform, as [`send`](Self::send) does.
    ///
    /// # Errors
    /// If the message was not published.
    #[doc(alias = "sendTransform")]
    pub fn send_transform(&self, transform: TransformStamped) -> Result<(), PublishError> {
        self.send([transform])
    }

    /// Publishes transforms in one message. May allocate, and wait for room as [`Publisher::publish`] does.
    ///
    /// # Errors
    /// If the message was not published.
    pub fn send(&self, transforms: impl IntoIterator<Item = TransformStamped>) -> Result<(), PublishError> {
        self.publisher.publish(TFMessage { transforms: transforms.into_iter().collect() })
    }

    /// Returns the publisher, to wait for subscriptions.
    #[must_use]
    pub const fn publisher(&self) -> &Publisher<TFMessage> {
        &self.publisher
    }
}

/// Publisher of transforms that hold for all times, on `/tf_static`. Listeners that start later get them, too.
#[derive(Debug)]
pub struct StaticTransformBroadcaster {
    publisher: Publisher<TFMessage>,
    /// All transforms so far, one for each child.
    sent: Mutex<Vec<TransformStamped>>,
}

impl StaticTransformBroadcaster {
    /// Creates the publisher, which keeps its last message for listeners that come later.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(node: &Node) -> Result<Self, TopicError> {
        let options = PublisherOptions::new("/tf_static").keep_last(1).transient_local();
        Ok(Self { publisher: node.create_publisher(options)?, sent: Mutex::new(Vec::new()) })
    }

    /// Publishes one transform, as [`send`](Self::send) does.
    ///
    /// # Errors
    /// If the message was not published. The next one has this transform, too.
    pub fn send_transform(&self, transform: TransformStamped) -> Result<(), PublishError> {
        self.send([transform])
    }

    /// Publishes transforms, together with all that this broadcaster has sent before. A transform replaces that of the
    /// same child.
    ///
    /// Calls of several threads take turns, so that the last message has all transforms. May allocate, and wait for
    /// room as [`Publisher::publish`] does.
    ///
    /// # Errors
    /// If the message was not published. The next one has these transforms, too.
    pub fn send(&self, transforms: impl IntoIterator<Item = TransformStamped>) -> Result<(), PublishError> {
        // The iterator is user code, so it is not run under the lock.
        let transforms: Vec<_> = transforms.into_iter().collect();
        let mut sent = self.sent.lock();
        for transform in transforms {
            match sent.iter_mut().find(|other| other.child_frame_id == transform.child_frame_id) {
                Some(other) => *other = transform,
                None => sent.push(transform),
            }
        }
        self.publisher.publish(TFMessage { transforms: sent.clone() })
    }

    /// Returns the publisher, to wait for subscriptions.
    #[must_use]
    pub const fn publisher(&self) -> &Publisher<TFMessage> {
        &self.publisher
    }
}
