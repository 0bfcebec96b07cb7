//! Code that the targets share: messages of ROS 2's own packages, and CDR.

use byteorder::LittleEndian;
use rospin_node::interfaces::{action_msgs, lifecycle_msgs, rcl_interfaces, rosgraph_msgs};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A check of bytes as a message of a type, which [`for_a_message`] chooses.
pub trait Check {
    /// Checks the bytes as a `T`.
    fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]);
}

/// Checks the bytes after the first one as the message type that the first one selects.
pub fn for_a_message<C: Check>(bytes: &[u8]) {
    let checks: [fn(&[u8]); 18] = [
        C::check::<rcl_interfaces::ParameterEvent>,
        C::check::<rcl_interfaces::Log>,
        C::check::<rcl_interfaces::GetParametersRequest>,
        C::check::<rcl_interfaces::GetParametersResponse>,
        C::check::<rcl_interfaces::GetParameterTypesResponse>,
        C::check::<rcl_interfaces::SetParametersRequest>,
        C::check::<rcl_interfaces::SetParametersResponse>,
        C::check::<rcl_interfaces::DescribeParametersResponse>,
        C::check::<rcl_interfaces::ListParametersRequest>,
        C::check::<rcl_interfaces::ListParametersResponse>,
        C::check::<action_msgs::CancelGoalRequest>,
        C::check::<action_msgs::CancelGoalResponse>,
        C::check::<action_msgs::GoalStatusArray>,
        C::check::<lifecycle_msgs::ChangeStateRequest>,
        C::check::<lifecycle_msgs::GetAvailableStatesResponse>,
        C::check::<lifecycle_msgs::GetAvailableTransitionsResponse>,
        C::check::<lifecycle_msgs::TransitionEvent>,
        C::check::<rosgraph_msgs::Clock>,
    ];
    if let Some((&first, rest)) = bytes.split_first() {
        checks[usize::from(first) % checks.len()](rest);
    }
}

/// Decodes a value from CDR without a header.
#[must_use]
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    cdr_encoding::from_bytes::<T, LittleEndian>(bytes).ok().map(|(value, _)| value)
}

/// Encodes a value as CDR without a header.
///
/// # Panics
/// If the value cannot be encoded.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    cdr_encoding::to_vec::<T, LittleEndian>(value).expect("what was read can be written")
}
