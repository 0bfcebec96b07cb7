//! Events of publishers and subscriptions: matches, quality of service that does not fit, and lost messages.
//!
//! The middleware and the topics of this process record events in an end's [`EndEvents`], on any thread. A callback is
//! an entity whose source compares the record with what the callback was last told. So any number of events between two
//! runs become one, no event is lost because its callback came later, and no memory is needed for events.
//!
//! The records are below everything that sends or hears messages. The callbacks are a feature: `event_callbacks` in
//! [`features`](crate::features).

mod deadline;
mod kind;
mod liveliness;
mod record;
mod status;
mod timed;

pub use kind::{Event, PublisherSide, SubscriptionSide};
pub use record::EndEvents;
pub use status::{
    DeadlineMissed, IncompatibleQos, LivelinessChanged, LivelinessLost, MatchedStatus, MessageLost, QosPolicy,
};
