//! Message and service types, with the names that they have in ROS 2.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::description::Description;

/// A message type: a struct with serde's derives, whose fields are those of the ROS 2 message, in the same order.
///
/// ```
/// use rospin_wire::Message;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Text {
///     data: String,
/// }
///
/// impl Message for Text {
///     const TYPE: &str = "std_msgs/msg/String";
/// }
/// ```
pub trait Message: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Name of the type as `ros2 interface list` shows it: package, `msg`, name.
    const TYPE: &'static str;
    /// Hash of the type as `ros2 topic info --verbose` shows it, `RIHS01_` and 64 digits. Zenoh matches endpoints by
    /// it; DDS does not. An endpoint without a hash is matched over Zenoh only with others without one.
    const TYPE_HASH: Option<&'static str> = None;
    /// Description of the type, which generated types have. Nodes send it to those that ask `~/get_type_description`.
    const DESCRIPTION: Option<&'static Description> = None;
    /// Suffix of the type's name, for messages that are part of an action, and `_Event` for those of a service.
    #[doc(hidden)]
    const TYPE_SUFFIX: &'static str = "";
}

/// A type of messages that a subscription can receive: every [`Message`], messages whose type is known only at run
/// time, and messages that stay encoded. Users do not implement it.
pub trait Given: Clone + Send + Sync + 'static {}

impl<M: Message> Given for M {}

/// A message with the time to which its content belongs, such as the time of a measurement.
///
/// Generated messages whose first field is a `std_msgs/Header` implement it, and so does the header itself.
///
/// ```
/// use rospin_wire::Stamped;
///
/// struct Reading {
///     measured_at_ns: i64,
/// }
///
/// impl Stamped for Reading {
///     fn stamp_ns(&self) -> i64 {
///         self.measured_at_ns
///     }
/// }
/// ```
pub trait Stamped {
    /// Returns the stamp in nanoseconds. Stamps that are compared with each other must count from the same moment; ROS
    /// time counts from the epoch of its clock.
    fn stamp_ns(&self) -> i64;
}

impl<M: Stamped + ?Sized> Stamped for std::sync::Arc<M> {
    fn stamp_ns(&self) -> i64 {
        (**self).stamp_ns()
    }
}

/// A type that is the request or the response of the service `S`.
///
/// By it the compiler finds the service of a callback: `create_service("add", |request: AddTwoIntsRequest| ..)` names
/// it nowhere else.
pub trait ServicePart<S>: 'static {}

/// A service type, as a `.srv` file defines it: an interface of ROS. Request and response are structs with serde's
/// derives.
///
/// ```
/// use rospin_wire::{ServiceInterface, ServicePart};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct AddRequest {
///     a: i64,
///     b: i64,
/// }
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct AddResponse {
///     sum: i64,
/// }
///
/// enum AddTwoInts {}
///
/// impl ServiceInterface for AddTwoInts {
///     type Request = AddRequest;
///     type Response = AddResponse;
///     const TYPE: &str = "example_interfaces/srv/AddTwoInts";
/// }
///
/// impl ServicePart<AddTwoInts> for AddRequest {}
/// impl ServicePart<AddTwoInts> for AddResponse {}
/// ```
pub trait ServiceInterface: Sized + Send + Sync + 'static {
    /// Type of the request, which a client sends.
    type Request: ServicePart<Self> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Type of the response, which a server sends.
    type Response: ServicePart<Self> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// Name of the type as `ros2 interface list` shows it: package, `srv`, name.
    const TYPE: &'static str;
    /// Hash of the type, `RIHS01_` and 64 digits. Zenoh matches endpoints by it; DDS does not. An endpoint without a
    /// hash is matched over Zenoh only with others without one.
    const TYPE_HASH: Option<&'static str> = None;
    /// Hash of the type of the service's events, which generated types have. Service introspection publishes them.
    const EVENT_TYPE_HASH: Option<&'static str> = None;
    /// Description of the type, which generated types have. Nodes send it to those that ask `~/get_type_description`.
    const DESCRIPTION: Option<&'static Description> = None;
    /// Suffix of the type's name, for services that are part of an action.
    #[doc(hidden)]
    const TYPE_SUFFIX: &'static str = "";
}
