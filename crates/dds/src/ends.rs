//! Conversion of quality of service, user data and errors between ROS and DDS.

use std::fmt;

use rospin_node::{Durability, Liveliness, Qos, Refused, Reliability, TypeName};

use crate::cyclone::{EntityQos, Times};
use crate::user_data::{self, Pair};

/// Converts an error of the library.
pub(crate) fn refused(error: impl fmt::Display) -> Refused {
    Refused(error.to_string())
}

/// Returns the user data of a reader or writer.
pub(crate) fn endpoint_data(pair: Option<&Pair>, type_name: &TypeName) -> String {
    user_data::of_endpoint(pair, type_name.hash.as_deref())
}

/// Returns the quality of service in the library's terms. Ends of one participant are matched.
pub(crate) fn entity_qos<'a>(qos: &Qos, user_data: &'a str) -> EntityQos<'a> {
    EntityQos {
        is_reliable: qos.reliability == Reliability::Reliable,
        is_transient_local: qos.durability == Durability::TransientLocal,
        depth: qos.depth(),
        ignores_own: false,
        times: Times {
            deadline: qos.deadline(),
            lifespan: qos.lifespan(),
            is_manual: qos.liveliness == Liveliness::ManualByTopic,
            lease: qos.liveliness_lease(),
        },
        max_blocking_time: qos.max_blocking_time,
        user_data: user_data.as_bytes(),
    }
}

/// Returns the quality of service of a topic's reader or writer. Messages between nodes of one participant are
/// delivered without DDS.
pub(crate) fn topic_qos<'a>(qos: &Qos, user_data: &'a str) -> EntityQos<'a> {
    EntityQos { ignores_own: true, ..entity_qos(qos, user_data) }
}

/// Returns `qos` for a writer of requests or responses: with a history that keeps all of them, so that none displaces
/// another one on its way. The reader decides how many it keeps.
pub(crate) fn keeps_all<'a>(qos: &EntityQos<'a>) -> EntityQos<'a> {
    EntityQos { depth: None, ..*qos }
}
