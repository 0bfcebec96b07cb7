//! Recorded messages, played to the nodes under test.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use rospin_node::{Publisher, PublisherOptions, SerializedMessage, TopicError, TypeName};
use rospin_trace::bag::Bag;

use super::{Harness, HarnessError, clock_now};

/// Reasons for which a bag could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The nodes could not go on.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    /// A topic cannot be published.
    #[error("topic `{topic}` of the bag cannot be published")]
    Topic {
        /// The topic.
        topic: String,
        /// The reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A topic of the bag has no subscription of that type.
    #[error(
        "nobody subscribes to `{topic}` with the type {message_type}; create the nodes before, or leave it out: \
         `Bag::only`"
    )]
    Unheard {
        /// The topic.
        topic: String,
        /// The type of its messages in the bag.
        message_type: String,
    },
}

impl Harness {
    /// Publishes the messages of a bag, each at its recorded time, and runs everything that is due between them. So the
    /// nodes see what they saw on the robot, in the same order in every run, as fast as their callbacks are.
    ///
    /// The first message comes now; the system's clock, and with it ROS time, is set to the time at which it was
    /// recorded. Nodes must be there before, because each topic needs a subscription. Timers that are due at the time
    /// of a message run before it.
    ///
    /// ```no_run
    /// use rospin::testing::{Bag, Harness};
    ///
    /// # fn create_nodes(_: &rospin::Ros) -> rospin::Result<()> { Ok(()) }
    /// let mut test = Harness::new();
    /// create_nodes(test.ros())?;
    /// let commands = test.record::<rospin::msgs::std_msgs::msg::UInt32>("commands")?;
    /// // The nodes publish everything else themselves.
    /// test.play(&Bag::open("drive.mcap")?.only(["scan", "odom"]))?;
    /// assert!(commands.len() > 100);
    /// # Ok::<(), rospin::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and if a topic cannot be published, or nobody subscribes to it.
    pub fn play(&mut self, bag: &Bag) -> Result<(), PlayError> {
        let Some(first) = bag.messages.first() else { return Ok(()) };
        let used: BTreeSet<usize> = bag.messages.iter().map(|message| message.topic).collect();
        let mut publishers: Vec<Option<Publisher<SerializedMessage>>> = bag.topics.iter().map(|_| None).collect();
        for place in used {
            publishers[place] = Some(self.publisher_of(bag, place)?);
        }
        // Subscriptions find publishers of their process at once, but notice of it may be a callback.
        self.run()?;
        for (topic, publisher) in bag.topics.iter().zip(&publishers) {
            if publisher.as_ref().is_some_and(|publisher| publisher.subscription_count() == 0) {
                let message_type = topic.message_type.clone();
                return Err(PlayError::Unheard { topic: topic.name.clone(), message_type });
            }
        }
        let begin = clock_now(self.ros.context());
        self.clock.set_system(SystemTime::UNIX_EPOCH + Duration::from_nanos(first.time_ns));
        for message in &bag.messages {
            let due = begin + Duration::from_nanos(message.time_ns - first.time_ns);
            self.run_for(due.saturating_since(clock_now(self.ros.context())))?;
            let failed = |source| Self::failed(bag, message.topic, source);
            let payload = SerializedMessage::from_bytes(message.payload.clone());
            let payload = payload.map_err(|error| failed(Box::new(error)))?;
            if let Some(publisher) = &publishers[message.topic] {
                publisher.publish(payload).map_err(|error| failed(Box::new(error)))?;
            }
            self.run()?;
        }
        Ok(())
    }

    fn publisher_of(&self, bag: &Bag, place: usize) -> Result<Publisher<SerializedMessage>, PlayError> {
        /// The most messages with the same time that wait in a publisher's history.
        const DEPTH: usize = 1000;
        let topic = &bag.topics[place];
        let message_type = TypeName::new(&topic.message_type);
        let message_type = message_type.map_err(|error| Self::failed(bag, place, Box::new(error)))?;
        let create = |options: PublisherOptions| -> Result<_, TopicError> {
            self.node.create_serialized_publisher(options, &message_type)
        };
        // It offers what any subscription may ask for.
        let options = PublisherOptions::new(topic.name.as_str()).keep_last(DEPTH).transient_local();
        create(options).map_err(|error| Self::failed(bag, place, Box::new(error)))
    }

    fn failed(bag: &Bag, place: usize, source: Box<dyn std::error::Error + Send + Sync>) -> PlayError {
        PlayError::Topic { topic: bag.topics[place].name.clone(), source }
    }
}
