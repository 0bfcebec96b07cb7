//! The kinds of events.
//!
//! The type of the parameter of an event's callback names the event, as that of a subscription's callback names the
//! message.

use rospin_engine::Source;

use super::record::{Changes, EndEvents, Losses};
use super::status::{DeadlineMissed, IncompatibleQos, LivelinessChanged, LivelinessLost, MatchedStatus, MessageLost};
use super::timed::Passing;

/// The side of a publisher: it offers quality of service.
#[derive(Debug)]
pub enum PublisherSide {}

/// The side of a subscription: it requests quality of service.
#[derive(Debug)]
pub enum SubscriptionSide {}

/// Event of a publisher or subscription, the argument of a callback.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event of the {Side}",
    label = "this end has no such event",
    note = "publishers and subscriptions have `MatchedStatus`, `IncompatibleQos` and `DeadlineMissed`, publishers also \
            `LivelinessLost`, subscriptions also `LivelinessChanged` and `MessageLost`"
)]
pub trait Event<Side>: Send + Sized + 'static {
    /// The last part of the entity's name.
    #[doc(hidden)]
    const NAME: &'static str;

    /// Returns the events as the source of an entity.
    #[doc(hidden)]
    fn source(events: &EndEvents) -> impl Source<Item = Self>;
}

/// Implements [`Event`] for `$event` of the ends `$side`: its name is `$name`, and `$source` is its source.
macro_rules! event {
    ([$($generics:tt)*] $event:ty, $side:ty, $name:literal, $source:ty) => {
        impl<$($generics)*> Event<$side> for $event {
            const NAME: &'static str = $name;

            fn source(events: &EndEvents) -> impl Source<Item = Self> {
                <$source>::new(events)
            }
        }
    };
}

event!([] MatchedStatus, PublisherSide, "matched", Changes<Self>);
event!([] MatchedStatus, SubscriptionSide, "matched", Changes<Self>);
event!([] IncompatibleQos, PublisherSide, "incompatible_qos", Changes<Self>);
event!([] IncompatibleQos, SubscriptionSide, "incompatible_qos", Changes<Self>);
event!([] DeadlineMissed, PublisherSide, "deadline_missed", Passing<Self>);
event!([] DeadlineMissed, SubscriptionSide, "deadline_missed", Passing<Self>);
event!([] LivelinessLost, PublisherSide, "liveliness_lost", Passing<Self>);
event!([] LivelinessChanged, SubscriptionSide, "liveliness_changed", Passing<Self>);
event!([] MessageLost, SubscriptionSide, "message_lost", Losses);
