//! Type descriptions that ROS 2 installs, from Iron on: a JSON file for each type.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rospin_msgs::type_description_interfaces::msg::TypeDescription;
use rospin_wire::{TypeKind, TypeName, TypeNameError};
use serde::Deserialize;

use crate::error::MessageTypeError;
use crate::message_type::MessageType;

/// The environment variable with the places where ROS 2 is installed.
const VARIABLE: &str = "AMENT_PREFIX_PATH";

/// Reasons for which an installed type could not be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindTypeError {
    /// The type's name is invalid.
    #[error(transparent)]
    Name(#[from] TypeNameError),
    /// The type is a service or an action, which have no messages of their own.
    #[error("`{name}` is part of a service or an action; only messages have a file of their own")]
    NoMessage {
        /// Name of the type.
        name: String,
    },
    /// The environment variable `AMENT_PREFIX_PATH` is not set, so that no place to search is known.
    #[error("{VARIABLE} is not set, so there is no place to look for `{name}`; source the `setup.bash` of ROS 2 first")]
    NoPlaces {
        /// Name of the type.
        name: String,
    },
    /// The type is not installed.
    #[error("no type `{name}` is installed: there is no `{file}` below {}; install its package", .places.join(", "))]
    NotInstalled {
        /// Name of the type.
        name: String,
        /// Path of the missing file, relative to the places.
        file: String,
        /// The places that were searched.
        places: Vec<String>,
    },
    /// The file cannot be read.
    #[error("could not read `{file}`: {reason}")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// The system's reason.
        reason: String,
    },
    /// The file's content is not a usable type.
    #[error("`{file}`: {reason}")]
    Wrong {
        /// Path of the file.
        file: String,
        /// The problem.
        reason: MessageTypeError,
    },
    /// The file describes another type.
    #[error("`{file}` describes {found}")]
    Other {
        /// Path of the file.
        file: String,
        /// The name of the type that the file describes.
        found: String,
    },
}

/// The parts that are used of the JSON file of an installed type.
#[derive(Deserialize)]
struct Installed {
    type_description_msg: TypeDescription,
    #[serde(default)]
    type_hashes: Vec<Hash>,
}

#[derive(Deserialize)]
struct Hash {
    type_name: String,
    hash_string: String,
}

/// Returns the description in a JSON text, and the hash that the text gives for the described type, if it gives one.
pub(crate) fn description_in(text: &str) -> Result<(TypeDescription, Option<String>), MessageTypeError> {
    let installed: Installed =
        serde_json::from_str(text).map_err(|error| MessageTypeError::Json { reason: error.to_string() })?;
    let name = &installed.type_description_msg.type_description.type_name;
    let hash = installed.type_hashes.into_iter().find(|hash| hash.type_name == *name);
    Ok((installed.type_description_msg, hash.map(|hash| hash.hash_string)))
}

impl MessageType {
    /// Returns the type that a JSON text describes, such as that of `share/std_msgs/msg/String.json` in an installed
    /// ROS 2. If the text has a hash of the type, the type must have that hash.
    ///
    /// # Errors
    /// If the text is not a description, or the type is not usable.
    pub fn from_json(text: &str) -> Result<Self, MessageTypeError> {
        let (description, hash) = description_in(text)?;
        let found = Self::from_description(&description)?;
        if let Some(hash) = hash {
            found.check_hash(&hash)?;
        }
        Ok(found)
    }

    /// Loads the type of a message, such as `std_msgs/msg/String`, from the places in `AMENT_PREFIX_PATH`, which ROS 2
    /// Iron and later set. Blocks while it reads files.
    ///
    /// # Errors
    /// If the type is not installed, or is not usable.
    pub fn find(name: &str) -> Result<Self, FindTypeError> {
        TypeName::new(name)?;
        let places = std::env::var_os(VARIABLE).unwrap_or_default();
        let places: Vec<PathBuf> = std::env::split_paths(&places).filter(|place| *place != *OsStr::new("")).collect();
        if places.is_empty() {
            return Err(FindTypeError::NoPlaces { name: name.to_owned() });
        }
        Self::find_in(name, &places)
    }

    /// Loads the type of a message from these places, see [`find`](Self::find). The first place that has it counts.
    ///
    /// # Errors
    /// If the type is not installed, or is not usable.
    pub fn find_in(name: &str, places: &[impl AsRef<Path>]) -> Result<Self, FindTypeError> {
        let TypeName { package, kind, name: base, .. } = TypeName::new(name)?;
        if kind != TypeKind::Msg {
            return Err(FindTypeError::NoMessage { name: name.to_owned() });
        }
        let file = format!("share/{package}/msg/{base}.json");
        let paths = places.iter().map(|place| place.as_ref().join(&file));
        let Some(path) = paths.into_iter().find(|path| path.is_file()) else {
            let places = places.iter().map(|place| place.as_ref().display().to_string()).collect();
            return Err(FindTypeError::NotInstalled { name: name.to_owned(), file, places });
        };
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| FindTypeError::Unreadable { file: file.clone(), reason: error.to_string() })?;
        let found = Self::from_json(&text).map_err(|reason| FindTypeError::Wrong { file: file.clone(), reason })?;
        if found.name() != name {
            return Err(FindTypeError::Other { file, found: found.name().to_owned() });
        }
        Ok(found)
    }
}
