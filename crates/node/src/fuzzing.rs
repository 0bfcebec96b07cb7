//! What the fuzz targets want of the private parts; there is this module under `--cfg fuzzing` only.

use crate::names::{NameError, NodeName, TypeKind, TypeName};
use crate::parameters::{ParameterFile, ParameterValue};

/// What a parameter file says of a node.
#[must_use]
pub fn parameters(file: &ParameterFile, node: &NodeName) -> Vec<(String, ParameterValue)> {
    file.of_node(node).collect()
}

/// The type of a message with that name.
///
/// # Errors
/// If it is none.
pub fn type_of_message(name: &str) -> Result<TypeName, NameError> {
    TypeName::parse(name, "", None, TypeKind::Msg, "std_msgs/msg/String")
}
