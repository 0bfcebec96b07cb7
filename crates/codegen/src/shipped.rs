//! The packages of `rospin-msgs`. Their definitions are in the crate `hiroz-codegen`.

use std::path::PathBuf;

use hiroz_codegen::bundled_assets_dir_for;

/// The packages whose types `rospin-msgs` has.
pub const SHIPPED: &[&str] = &[
    "action_msgs",
    "action_tutorials_interfaces",
    "builtin_interfaces",
    "composition_interfaces",
    "diagnostic_msgs",
    "example_interfaces",
    "geometry_msgs",
    "lifecycle_msgs",
    "nav_msgs",
    "rcl_interfaces",
    "rosgraph_msgs",
    "sensor_msgs",
    "service_msgs",
    "shape_msgs",
    "statistics_msgs",
    "std_msgs",
    "std_srvs",
    "stereo_msgs",
    "test_msgs",
    "tf2_msgs",
    "trajectory_msgs",
    "type_description_interfaces",
    "unique_identifier_msgs",
    "visualization_msgs",
];

/// Packages whose definitions for Jazzy in `hiroz-codegen` lack constants, comments or whole messages. Those for
/// Lyrical are used for both distributions; they have the same fields, except for what [`correct`] changes back.
const FROM_LYRICAL: [&str; 4] = ["lifecycle_msgs", "rcl_interfaces", "test_msgs", "type_description_interfaces"];

/// Returns true if the definitions of Lyrical are requested. Rolling has those of the next distribution.
fn is_lyrical(distribution: Option<&str>) -> bool {
    matches!(distribution, Some("lyrical" | "rolling"))
}

/// Returns the folders with the definitions of a package, or `None` if it is not shipped. The first folder that has a
/// definition counts.
pub(crate) fn folders(package: &str, distribution: Option<&str>) -> Option<Vec<PathBuf>> {
    let distributions: &[&str] = match package {
        _ if !SHIPPED.contains(&package) => return None,
        _ if is_lyrical(distribution) => &["lyrical"],
        _ if FROM_LYRICAL.contains(&package) => &["lyrical", "jazzy"],
        _ => &["jazzy"],
    };
    Some(distributions.iter().map(|distribution| bundled_assets_dir_for(distribution).join(package)).collect())
}

/// Returns the folders with the packages of each distribution, Jazzy first. For tests.
#[doc(hidden)]
#[must_use]
pub fn definitions() -> Vec<PathBuf> {
    ["jazzy", "lyrical"].map(bundled_assets_dir_for).to_vec()
}

/// Returns the text of a shipped definition as the distribution has it.
pub(crate) fn correct(package: &str, name: &str, distribution: Option<&str>, text: String) -> String {
    match (package, name) {
        // Lyrical replaced the integer by a message, and both folders have the message.
        ("lifecycle_msgs", "TransitionEvent") if !is_lyrical(distribution) => {
            text.replace("builtin_interfaces/Time stamp", "uint64 timestamp")
        }
        _ => text,
    }
}
