//! Private functions that the fuzz targets call. The module exists under `--cfg fuzzing` only.

use crate::names::NodeName;
use crate::parameters::{ParameterFile, ParameterValue};

/// Returns the parameters that the file has for a node.
#[must_use]
pub fn parameters(file: &ParameterFile, node: &NodeName) -> Vec<(String, ParameterValue)> {
    file.of_node(node).collect()
}
