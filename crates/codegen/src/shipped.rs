//! The packages of `rospin-msgs`. Their definitions are in the folder `interfaces`, which has a page about them.
//!
//! None is written by hand. From Iron to Rolling, one message that several distributions have differs,
//! so nodes of all of them understand each other (`tests/distributions.rs`). Humble has no hashes, so in a program for
//! Humble dynamic types announce none either: Zenoh matches ends by what they announce.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::error::GenerateError;
use crate::sources::Sources;

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

/// A distribution of ROS 2, or several that have equal definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distribution {
    /// Humble, which has no type hashes.
    Humble,
    /// Iron and Jazzy; also any unknown distribution.
    Jazzy,
    /// Kilted: Jazzy's definitions, and new messages.
    Kilted,
    /// Lyrical, and Rolling, from which the next distribution is made.
    Lyrical,
}

impl Distribution {
    /// Returns the distribution with that name, as `ROS_DISTRO` has it; Jazzy if there is no name, or if it is unknown.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("humble") => Self::Humble,
            Some("kilted") => Self::Kilted,
            Some("lyrical" | "rolling") => Self::Lyrical,
            _ => Self::Jazzy,
        }
    }

    /// Returns the name of the distribution, or of one of those that are equal to it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Humble => "humble",
            Self::Jazzy => "jazzy",
            Self::Kilted => "kilted",
            Self::Lyrical => "lyrical",
        }
    }

    /// Returns the folders of `interfaces` with the definitions of the distribution. The first that has one counts.
    const fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Humble => &["humble", "jazzy", "all"],
            Self::Jazzy => &["jazzy", "all"],
            Self::Kilted => &["kilted", "jazzy", "all"],
            Self::Lyrical => &["lyrical", "kilted", "all"],
        }
    }

    /// Returns true if types have hashes. Without them, endpoints of Zenoh match by the types' names.
    pub(crate) fn has_hashes(self) -> bool {
        self != Self::Humble
    }
}

/// Returns the folders with the definitions of a package, or `None` if it is not shipped. The first folder that has a
/// definition counts.
///
/// # Errors
/// If a shipped package's definitions are not where they were when this crate was compiled.
pub(crate) fn folders(package: &str, distribution: Distribution) -> Result<Option<Vec<PathBuf>>, GenerateError> {
    if !SHIPPED.contains(&package) {
        return Ok(None);
    }
    let mut candidates = Vec::new();
    for folder in distribution.folders() {
        candidates.push(interfaces(folder).join(package));
    }
    Ok(Some(existing(package, &candidates)?))
}

/// Returns those of a shipped package's folders that exist.
fn existing(package: &str, candidates: &[PathBuf]) -> Result<Vec<PathBuf>, GenerateError> {
    let mut folders = Vec::new();
    for folder in candidates {
        // Cargo runs a build script each time that watches a folder which is not there.
        if folder.is_dir() {
            folders.push(folder.clone());
        }
    }
    if folders.is_empty() {
        return Err(GenerateError::Package {
            folder: candidates[0].clone(),
            problem: format!(
                "the definitions of `{package}` were here when `rospin-codegen` was compiled, and are gone"
            ),
            fix: "compile it again, by `cargo clean -p rospin-codegen` and a build".to_owned(),
        });
    }
    Ok(folders)
}

/// Returns a folder of `interfaces`.
fn interfaces(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces").join(folder)
}

/// Returns the address of ROS 2's page about a shipped type, such as `std_msgs/msg/String`, with the comments of its
/// definition.
pub(crate) fn page(name: &str) -> String {
    // The pages of Jazzy, which has nearly all of them.
    format!("https://docs.ros.org/en/jazzy/p/{name}.html")
}

/// Returns the folders that have the packages' definitions for the distribution of `ROS_DISTRO`. The first that has one
/// counts. For tests.
#[doc(hidden)]
#[must_use]
pub fn definitions() -> Vec<PathBuf> {
    let distribution = Distribution::named(env::var("ROS_DISTRO").ok().as_deref());
    distribution.folders().iter().map(|folder| interfaces(folder)).collect()
}

/// Returns the names and the texts of all shipped definitions, as the distribution of `ROS_DISTRO` has them. For build
/// scripts of programs that carry them along.
///
/// # Errors
/// If a file cannot be read.
#[doc(hidden)]
pub fn texts() -> Result<BTreeMap<String, String>, GenerateError> {
    let distribution = Distribution::named(env::var("ROS_DISTRO").ok().as_deref());
    let mut texts = BTreeMap::new();
    for package in SHIPPED {
        for folder in folders(package, distribution)?.into_iter().flatten() {
            for (kind, file) in Sources::in_folders(&folder)?.definitions {
                let Some(kind) = kind else { continue };
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name = format!("{package}/{}/{stem}", kind.word());
                // The first folder that has a definition counts.
                if let Entry::Vacant(entry) = texts.entry(name) {
                    let text = fs::read_to_string(&file).map_err(GenerateError::io(&file))?;
                    entry.insert(text);
                }
            }
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_are_gone_are_an_error() {
        let gone = [PathBuf::from("/gone/std_msgs")];
        let error = existing("std_msgs", &gone).unwrap_err().to_string();
        let said =
            "/gone/std_msgs: the definitions of `std_msgs` were here when `rospin-codegen` was compiled, and are gone";
        assert!(error.starts_with(said), "{error}");
        assert!(!folders("std_msgs", Distribution::Jazzy).unwrap().unwrap().is_empty());
    }
}
