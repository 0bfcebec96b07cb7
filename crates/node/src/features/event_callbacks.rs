//! Callbacks of [events](crate::events) as entities.

use std::fmt;

use rospin_engine::{Entity, EntityKind, EntityOptions, SourceError};

use crate::callback::{Callback, GivesItem, Nothing};
use crate::events::{EndEvents, Event, PublisherSide, SubscriptionSide};
use crate::group::{Group, OwnGroup};
use crate::message::Encode;
use crate::node::Node;
use crate::on::On;
use crate::publisher::Publisher;
use crate::subscription::Subscription;

/// A publisher or subscription, whose [events](Event) callbacks are told of.
pub trait Eventful {
    /// Side of the topic: publisher or subscription.
    type Side;

    /// Returns the record of the end's events.
    #[doc(hidden)]
    fn events(&self) -> &EndEvents;

    /// Returns the first part of the names of its callbacks' entities. The event's name follows.
    #[doc(hidden)]
    fn entity_name(&self) -> String;
}

impl<M: Encode> Eventful for Publisher<M> {
    type Side = PublisherSide;

    fn events(&self) -> &EndEvents {
        self.record()
    }

    fn entity_name(&self) -> String {
        let node = self.node().fully_qualified_name();
        let topic = self.topic();
        format!("{}/{}", node.trim_start_matches('/'), topic.trim_start_matches('/'))
    }
}

impl Eventful for Subscription {
    type Side = SubscriptionSide;

    fn events(&self) -> &EndEvents {
        self.record()
    }

    fn entity_name(&self) -> String {
        self.name().to_owned()
    }
}

impl<G: Group> On<G> {
    /// Creates a callback of an event of a publisher or subscription. The type of its argument, which the closure must
    /// write, decides which: [`MatchedStatus`], [`IncompatibleQos`] or [`DeadlineMissed`], of a publisher also
    /// [`LivelinessLost`], of a subscription also [`LivelinessChanged`] or [`MessageLost`]. The module
    /// [`callback`](crate::callback) lists the forms of `callback`.
    ///
    /// [`MatchedStatus`]: crate::MatchedStatus
    /// [`IncompatibleQos`]: crate::IncompatibleQos
    /// [`DeadlineMissed`]: crate::DeadlineMissed
    /// [`LivelinessLost`]: crate::LivelinessLost
    /// [`LivelinessChanged`]: crate::LivelinessChanged
    /// [`MessageLost`]: crate::MessageLost
    ///
    /// The callback is an entity of this group like any other, so it runs on the executor's threads, when the policy
    /// says so. Any number of events since its last run are told at once. The first run tells everything that happened
    /// since the publisher or subscription was created. The entity's name is that of the subscription (of a publisher:
    /// node and topic), followed by the event's, such as `/matched` or `/deadline_missed`.
    ///
    /// Over Zenoh there is no incompatible quality of service: it connects all ends of one type, as `rmw_zenoh_cpp`
    /// does.
    ///
    /// ```
    /// use rospin::events::{IncompatibleQos, MatchedStatus, QosPolicy};
    /// use rospin::{Context, ContextOptions, PublisherOptions, Ros, SpinOptions};
    /// use rospin::msgs::std_msgs::msg::String as Text;
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("listener")?;
    /// let chatter = node.create_subscription("chatter", |message: &Text| println!("{}", message.data))?;
    /// let _matched = node.create_event_callback(&chatter, |status: MatchedStatus| println!("{} talkers", status.current))?;
    /// let _refused = node.create_event_callback(&chatter, |refused: IncompatibleQos| {
    ///     println!("a talker is not heard: its {} does not fit", refused.policy);
    ///     assert_eq!(refused.policy, QosPolicy::Reliability);
    /// })?;
    /// let _talker = node.create_publisher::<Text>(PublisherOptions::new("chatter").best_effort())?;
    /// ros.executor().spin(SpinOptions::spin_all())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_event_callback<T, E, F, Form>(&self, of: &T, callback: F) -> Result<EventCallback, SourceError>
    where
        T: Eventful,
        E: Event<T::Side>,
        F: Callback<G, E, Nothing, Form>,
    {
        let node = self.node();
        let group = self.group();
        let name = format!("{}/{}", of.entity_name(), E::NAME);
        let failures = group.failures(&name);
        let options = EntityOptions::new(name);
        let source = E::source(of.events());
        let entity = callback.on_source(group, EntityKind::Waitable, options, source, GivesItem(failures))?;
        Ok(EventCallback { entity, _node: node.clone() })
    }
}

impl Node {
    /// Creates a callback of an event of a publisher or subscription, on the node's own group. See
    /// [`On::create_event_callback`].
    ///
    /// # Errors
    /// Those of [`On::create_event_callback`], and if the node's [`Ros`](crate::Ros) was dropped.
    pub fn create_event_callback<T, E, F, Form>(&self, of: &T, callback: F) -> Result<EventCallback, SourceError>
    where
        T: Eventful,
        E: Event<T::Side>,
        F: Callback<OwnGroup, E, Nothing, Form>,
    {
        self.on(self.own_group_for_source()?).create_event_callback(of, callback)
    }
}

/// Callback of an event. [`Node::create_event_callback`] and [`On::create_event_callback`] create it.
///
/// Dropping the handle removes the entity: its callback does not run again, from the executor's next pick on. A
/// callback that is running is not waited for. The publisher or subscription may be dropped before it; then it does not
/// run any more.
#[must_use = "the callback is removed when its handle is dropped, and never runs; keep it (`let _callback = ..`, not `let _ = ..`)"]
pub struct EventCallback {
    entity: Entity,
    _node: Node,
}

impl EventCallback {
    /// Returns the entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// Returns the number of runs of the callback that ended after their deadlines, which a deployment file sets. They
    /// are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.entity.missed_deadlines()
    }
}

impl fmt::Debug for EventCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventCallback").field("name", &self.name()).finish_non_exhaustive()
    }
}
