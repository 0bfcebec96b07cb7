//! Publishers.

use std::fmt;
use std::sync::Arc;

use rospin_engine::Declaration;

use crate::error::{NotPublished, PublishError, TopicError};
use crate::events::EndEvents;
use crate::graph::Presence;
use crate::link::{PublisherLink, depth};
use crate::loan::LoanedBytes;
use crate::matches::Matches;
use crate::message::{Encode, Message, Outgoing};
use crate::names::TypeName;
use crate::node::Node;
use crate::options::PublisherOptions;

/// Publisher of messages on a topic. Cheap to clone; clones are the same publisher.
pub struct Publisher<M: Encode>(Arc<Inner<M>>);

struct Inner<M: Encode> {
    topic: String,
    _presence: Presence,
    link: PublisherLink<M>,
    node: Node,
}

impl Node {
    /// Creates a publisher. A plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, or the middleware refuses.
    pub fn create_publisher<M: Message>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<M>, TopicError> {
        self.create_publisher_of(options.into(), &TypeName::of_message::<M>()?)
    }

    /// Creates a publisher for a topic of the type `message_type`, for messages whose Rust type does not say it:
    /// dynamic and serialized ones.
    pub(crate) fn create_publisher_of<M: Encode>(
        &self,
        options: PublisherOptions,
        message_type: &TypeName,
    ) -> Result<Publisher<M>, TopicError> {
        let PublisherOptions { topic, qos } = options;
        qos.check_depth(&topic)?;
        let name = self.resolve_topic(&topic)?;
        let created = self.link().create_publisher(&name, message_type, &qos);
        let link = created.map_err(|reason| TopicError::Refused { topic: topic.clone(), reason })?;
        self.link().recorder().declare(|| Declaration::Publisher {
            node: self.fully_qualified_name(),
            publisher: link.gid().to_bytes(),
            topic: name.to_string(),
            depth: depth(&qos),
        });
        let presence = self.enter_publisher(link.gid(), &name, message_type, &qos);
        Ok(Publisher(Arc::new(Inner { topic, _presence: presence, link, node: self.clone() })))
    }
}

impl<M: Encode> Publisher<M> {
    /// Returns the topic's name as it was given.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.0.topic
    }

    /// Returns the node that it was created by.
    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    /// Returns the record of its events.
    pub(crate) fn record(&self) -> &EndEvents {
        self.0.link.events()
    }

    /// Sends the message, an `M`, an `Arc<M>` or a reference to an `M`, to all subscriptions of the topic.
    ///
    /// A message behind a reference is cloned for subscriptions of this process, once for all of them and only if there
    /// are any. Give an `M` or an `Arc<M>` to avoid that.
    ///
    /// Subscriptions of this process with the same Rust type share the message: it is neither encoded nor copied for
    /// them, unless their quality of service or the publisher's has a deadline, a lifespan, a lease or manual
    /// liveliness. For all other subscriptions the message is encoded once, on the calling thread, which may also send
    /// it to other processes: Cyclone DDS has no thread for that. Allocates, and locks for a moment. Does not wait for
    /// callbacks of subscriptions. A middleware may wait for room on a connection, for as long as its options say, and
    /// encoding waits for [bytes in memory of a device](crate::BlobMemory).
    ///
    /// # Errors
    /// If there is no room for the message in time, see [`KeepAll`](crate::History::KeepAll), or it cannot be encoded.
    /// Subscriptions of other processes do not get it then.
    pub fn publish(&self, message: impl Outgoing<M>) -> Result<(), PublishError> {
        self.0.link.publish(message)
    }

    /// Publishes the message as [`publish`](Self::publish) does, but only if there is room for it: it waits for nothing,
    /// and makes no message lose its place.
    ///
    /// There is room if no subscription of this process that gets the message has a full queue, and, over DDS, if the
    /// publisher's history has room: one that keeps all has too many bytes that reliable subscriptions of other
    /// processes have not confirmed, or one that keeps the last few would overwrite a message that they have not got. A
    /// subscription of another process that keeps the last few messages drops older ones by itself, and refuses none. A
    /// publisher of best effort has always room there.
    ///
    /// Another thread that publishes on the topic at the same moment may take the room. A message is then refused, too;
    /// but if the publisher is transient local, or has subscriptions of another type or with time limits in this
    /// process, one may be displaced, and is counted. If that thread uses this publisher, the call may wait over DDS.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::Int64;
    /// use rospin::errors::PublishError;
    /// use rospin::{Context, ContextOptions, Node, Ros, SubscriptionOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("counter")?;
    /// let publisher = node.create_publisher::<Int64>("count")?;
    /// let options = SubscriptionOptions::new("count").keep_last(1);
    /// let subscription = node.create_subscription(options, |_: Int64| ())?;
    /// publisher.publish_if_room(Int64 { data: 1 })?;
    /// let refused = publisher.publish_if_room(Int64 { data: 2 }).unwrap_err();
    /// assert!(matches!(refused.reason, PublishError::Full { .. }));
    /// assert_eq!((refused.message.data, subscription.missed()), (2, 0));
    /// assert!(publisher.wait_for_room().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NotPublished`] with the message and the reason: [`PublishError::Full`] if there is no room, and
    /// [`PublishError::Failed`] if the middleware cannot tell, as Zenoh cannot while a subscription of another process
    /// listens. A message behind a reference is cloned for that; give an `Arc<M>` to avoid it.
    pub fn publish_if_room(&self, message: impl Outgoing<M>) -> Result<(), NotPublished<M>> {
        self.0.link.publish_if_room(message)
    }

    /// Waits until there is room for [`publish_if_room`](Self::publish_if_room), for the publisher's
    /// [`max_blocking_time`](crate::Qos::with_max_blocking_time) at most. Another thread may take the room before the
    /// next message is published.
    ///
    /// On a thread of an executor it does not wait for subscriptions of this process, because that may be the one which
    /// has to empty their queues. It blocks the thread; there is no asynchronous form.
    ///
    /// # Errors
    /// [`PublishError::Full`] if there is no room in time, and [`PublishError::Failed`] if the middleware cannot tell.
    pub fn wait_for_room(&self) -> Result<(), PublishError> {
        self.0.link.wait_for_room()
    }

    /// Returns true if the publisher lends memory from which subscriptions of other processes read without a copy. It
    /// depends on the middleware, on the message's type and on the quality of service.
    #[must_use]
    pub fn can_loan_messages(&self) -> bool {
        self.0.link.can_lend()
    }

    /// Borrows memory for so many bytes of a message. They are written like a slice, then put into the message, which
    /// is [published](Self::publish) by value:
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, Ros};
    /// use rospin::msgs::std_msgs::msg::UInt8MultiArray;
    ///
    /// # let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// # let node = ros.create_node("camera")?;
    /// let publisher = node.create_publisher::<UInt8MultiArray>("frames")?;
    /// let mut pixels = publisher.borrow_loaned_bytes(1920 * 1080);
    /// pixels.fill(7);
    /// publisher.publish(UInt8MultiArray { data: pixels.into(), ..Default::default() })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// If the publisher [can lend](Self::can_loan_messages), its other processes on this machine read the bytes where
    /// they are. It is safe to do anything else with them: bytes that this process can still read after `publish`,
    /// because it has a clone, published a reference, or has subscriptions of its own, are copied, and so are those that
    /// go to other machines. If the publisher cannot lend, or has lent all that it has, the bytes are in memory of this
    /// process, and nothing else is different.
    ///
    /// Does not block, unless another thread is publishing: it waits for that one, which may wait for a subscription
    /// whose process does not run. Memory that was not lent before is mapped, which takes a system call for each page
    /// of it.
    #[doc(alias = "borrow_loaned_message")]
    #[must_use]
    pub fn borrow_loaned_bytes(&self, length: usize) -> LoanedBytes {
        self.0.link.lend(length).map_or_else(|| LoanedBytes::own(length), LoanedBytes::lent)
    }

    /// Gives a sign of life without a message, for a publisher whose [liveliness](crate::Liveliness) is manual. Each
    /// message is one, too.
    ///
    /// The sign extends the lease of a publisher that is alive. Over Cyclone DDS, a publisher whose lease has ended is
    /// alive again, for other processes, with its next message.
    ///
    /// Locks for a moment.
    pub fn assert_liveliness(&self) {
        self.0.link.assert_liveliness();
    }

    /// Returns the number of subscriptions that the publisher is matched with, as far as discovery knows at this
    /// moment.
    #[must_use]
    #[doc(alias = "get_subscription_count")]
    pub fn subscription_count(&self) -> usize {
        self.0.link.count()
    }

    /// Returns a future that resolves once the publisher is matched with a subscription.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::String as Text;
    /// use rospin::{Context, ContextOptions, Node, Ros, SpinOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("talker")?;
    /// let publisher = node.create_publisher::<Text>("chatter")?;
    /// assert_eq!((publisher.topic(), publisher.subscription_count()), ("chatter", 0));
    /// let subscription = node.create_subscription("chatter", |_: Text| ())?;
    /// let matched = async { (publisher.wait_for_subscription().await, subscription.wait_for_publisher().await) };
    /// ros.spin_until(matched)?;
    /// publisher.publish(Text { data: "hello".to_owned() })?;
    /// publisher.assert_liveliness();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_subscription(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.link.wait()
    }
}

impl<M: Encode> Clone for Publisher<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Encode> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}
