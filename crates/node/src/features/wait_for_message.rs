//! A future of the next message of a topic.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_channel::oneshot;
use rospin_engine::{ClockKind, ExecutorHandle, GroupGone, GroupOptions, Sleep, SourceError};

use crate::error::TopicError;
use crate::message::Message;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::Subscription;

/// Reasons for which waiting for a message ends without one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitForMessageError {
    /// No message came [in time](WaitForMessage::timeout).
    #[error("no message of topic `{topic}` came within {after:?}; check its publishers with `ros2 topic info -v`")]
    Timeout {
        /// Name of the topic.
        topic: String,
        /// Time for which the future waited.
        after: Duration,
    },
    /// The executor that was to take the message was dropped.
    #[error("executor `{executor}` was dropped, and nobody else would take a message of topic `{topic}`")]
    ExecutorDropped {
        /// Name of the topic.
        topic: String,
        /// Name of the executor.
        executor: String,
    },
}

/// A future of the next message of a topic: see [`Node::wait_for_message`].
///
/// It may be awaited anywhere. It gets a message only while the executor of the node's own group spins. Its
/// subscription ends when the future resolves or is dropped.
///
/// Cancel safe: dropped early, it loses a message that came meanwhile, and nothing else. Polled by reference, it loses
/// none.
///
/// # Errors
/// See [`WaitForMessageError`].
#[must_use = "the message is lost unless the future is awaited"]
pub struct WaitForMessage<M: Message> {
    topic: String,
    executor: ExecutorHandle,
    received: oneshot::Receiver<M>,
    limit: Option<(Duration, Sleep)>,
    /// `None` once there is a result.
    subscription: Option<Subscription>,
}

impl Node {
    /// Subscribes to a topic, and returns a future of the first message that arrives from then on. A plain `&str` is
    /// the topic.
    ///
    /// The options are those of any subscription. With [`transient_local`](SubscriptionOptions::transient_local) the
    /// first message may be one that a publisher kept. If there is one, the future resolves as soon as the executor has
    /// taken it.
    ///
    /// The subscription is in a group of its own, on the executor of the node's own group. So a callback of any group
    /// can await the message while it holds its group, in every executor.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin::{Context, ContextOptions, PublisherOptions, Ros, SubscriptionOptions};
    /// use rospin::msgs::std_msgs::msg::String as Text;
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("planner")?;
    /// let maps = node.create_publisher(PublisherOptions::new("map").transient_local())?;
    /// maps.publish(Text { data: "hall".to_owned() })?;
    ///
    /// let map = node.wait_for_message::<Text>(SubscriptionOptions::new("map").transient_local())?;
    /// let map = ros.spin_until(map.timeout(Duration::from_secs(5)))??;
    /// assert_eq!(map.data, "hall");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid, the middleware refuses, or the node's [`Ros`](crate::Ros) was
    /// dropped.
    pub fn wait_for_message<M: Message>(
        &self,
        options: impl Into<SubscriptionOptions>,
    ) -> Result<WaitForMessage<M>, TopicError> {
        let options = options.into();
        let topic = options.topic.clone();
        let name = format!("wait_for_message/{}", options.topic);
        let executor = self.own_executor();
        let executor = executor.ok_or_else(|| SourceError::from(GroupGone { group: name.clone() }))?;
        let (sender, received) = oneshot::channel();
        let group = executor.create_group(GroupOptions::new(name).node(self.fully_qualified_name()), Some(sender));
        let send = |sender: &mut Option<oneshot::Sender<M>>, message: M| {
            if let Some(sender) = sender.take() {
                // Fails if the future was dropped.
                let _ = sender.send(message);
            }
        };
        let subscription = self.on(&group).create_subscription(options, send)?;
        Ok(WaitForMessage { topic, executor, received, limit: None, subscription: Some(subscription) })
    }
}

impl<M: Message> WaitForMessage<M> {
    /// Sets the time from now, on the steady clock, after which waiting ends with [`WaitForMessageError::Timeout`].
    /// Reads the clock; neither blocks, locks nor allocates.
    pub fn timeout(mut self, after: Duration) -> Self {
        self.limit = Some((after, self.executor.sleep(ClockKind::Steady, after)));
        self
    }

    /// Returns the number of publishers that the future's subscription is matched with, as far as discovery knows at
    /// this moment. Zero once there is a result.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.subscription.as_ref().map_or(0, Subscription::publisher_count)
    }
}

impl<M: Message> Future for WaitForMessage<M> {
    type Output = Result<M, WaitForMessageError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { topic, executor, received, limit, subscription } = &mut *self;
        let gone = || {
            let topic = topic.clone();
            let executor = executor.name().to_owned();
            WaitForMessageError::ExecutorDropped { topic, executor }
        };
        let result = match (Pin::new(received).poll(cx), limit) {
            (Poll::Ready(received), _) => received.map_err(|_| gone()),
            (Poll::Pending, None) => return Poll::Pending,
            (Poll::Pending, Some((after, sleep))) => match Pin::new(sleep).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => Err(WaitForMessageError::Timeout { topic: topic.clone(), after: *after }),
                Poll::Ready(Err(_)) => Err(gone()),
            },
        };
        drop(subscription.take());
        Poll::Ready(result)
    }
}

impl<M: Message> fmt::Debug for WaitForMessage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForMessage").field("topic", &self.topic).finish_non_exhaustive()
    }
}
