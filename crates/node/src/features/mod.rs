//! What a node has beyond topics, services, timers and its place in the graph.
//!
//! Each feature is an extension of the modules below this folder: its methods of `Node` and of [`On`](crate::On) stand
//! in its own module, and no module outside of this folder, [`start`](crate::start) and
//! [`lifecycle`](crate::lifecycle) names it. Features may import each other, without circles: dynamic messages and ROS
//! time are switched by parameters, for instance. What a feature keeps in each node is a part of the node, which
//! [`start`](crate::start) adds.
//!
//! What must see each message stands below: [topic statistics](crate::statistics) are measured where a subscription
//! takes its messages, so they cannot be here.

pub(crate) mod action;
pub(crate) mod clock;
pub mod dynamic;
pub(crate) mod event_callbacks;
pub mod message_filters;
pub(crate) mod parameters;
pub(crate) mod rosout;
mod serialized;
pub(crate) mod wait_for_message;
