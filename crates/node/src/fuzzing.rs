//! Private functions that the fuzz targets call. The module exists under `--cfg fuzzing` only.

use crate::names::{NameError, NodeName, TypeKind, TypeName};
use crate::parameters::{ParameterFile, ParameterValue};

/// Returns the parameters that the file has for a node.
#[must_use]
pub fn parameters(file: &ParameterFile, node: &NodeName) -> Vec<(String, ParameterValue)> {
    file.of_node(node).collect()
}

/// Returns the type of a message with that name.
///
/// # Errors
/// If the name is invalid.
pub fn type_of_message(name: &str) -> Result<TypeName, NameError> {
    TypeName::parse(name, "", None, TypeKind::Msg, "std_msgs/msg/String")
}
