//! Private functions that the fuzz targets call. The module exists under `--cfg fuzzing` only.

use crate::features::parameters::{Given, ParameterFile, ParameterValue};
use crate::names::NodeName;

/// Returns the parameters for which the file has a value for a node.
#[must_use]
pub fn parameters(file: &ParameterFile, node: &NodeName) -> Vec<(String, ParameterValue)> {
    let mut values = Vec::new();
    for (name, given) in file.of_node(node) {
        if let Given::Value(value) = given {
            values.push((name, value));
        }
    }
    values
}
