//! What travels: messages and services, with the names that ROS 2 knows them by.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A message type: a struct with serde's derives whose fields are those of the ROS 2 message, in its order.
///
/// ```
/// use rospin_ros2_client::Message;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Text {
///     data: String,
/// }
///
/// impl Message for Text {
///     const TYPE: &str = "std_msgs/msg/String";
/// }
/// ```
pub trait Message: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The type's name as `ros2 interface list` shows it: package, `msg`, name.
    const TYPE: &'static str;
}

/// A service type: request and response are structs with serde's derives.
///
/// ```
/// use rospin_ros2_client::Service;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct AddRequest {
///     a: i64,
///     b: i64,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct AddResponse {
///     sum: i64,
/// }
///
/// enum AddTwoInts {}
///
/// impl Service for AddTwoInts {
///     type Request = AddRequest;
///     type Response = AddResponse;
///     const TYPE: &str = "example_interfaces/srv/AddTwoInts";
/// }
/// ```
pub trait Service: 'static {
    /// What a client asks.
    type Request: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// What a server answers.
    type Response: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The type's name as `ros2 interface list` shows it: package, `srv`, name.
    const TYPE: &'static str;
}

/// A message as the middleware wants it; the same bytes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub(crate) struct Wire<T>(pub(crate) T);

impl<T: Serialize + DeserializeOwned> ros2_client::Message for Wire<T> {}
