//! Types as ROS 2 installs them, from Iron on: a file in JSON for each.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::build::MessageTypeError;
use super::message_type::MessageType;
use crate::interfaces::type_description_interfaces::TypeDescription;
use crate::names::{NameError, TypeKind, TypeName};

/// What the variable is called that says where ROS 2 is installed.
const VARIABLE: &str = "AMENT_PREFIX_PATH";

/// Why a type was not found in what is installed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindTypeError {
    /// The type's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It is not a message by itself.
    #[error("`{name}` is part of a service or an action; only messages have a file of their own")]
    NoMessage {
        /// The type.
        name: String,
    },
    /// Nothing says where ROS 2 is installed.
    #[error("{VARIABLE} is not set, so there is no place to look for `{name}`; source the `setup.bash` of ROS 2 first")]
    NoPlaces {
        /// The type.
        name: String,
    },
    /// It is not installed.
    #[error("no type `{name}` is installed: there is no `{file}` below {}; install its package", .places.join(", "))]
    NotInstalled {
        /// The type.
        name: String,
        /// The file, below each of the places.
        file: String,
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// The file cannot be read.
    #[error("could not read `{file}`: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// The file does not have what it should.
    #[error("`{file}`: {reason}")]
    Wrong {
        /// The file.
        file: String,
        /// What is wrong.
        #[source]
        reason: MessageTypeError,
    },
    /// The file has another type.
    #[error("`{file}` describes {found}")]
    Other {
        /// The file.
        file: String,
        /// The type that it describes.
        found: String,
    },
}

/// A file, as far as it matters.
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

impl MessageType {
    /// The type that is described by a text as in `share/std_msgs/msg/String.json` where ROS 2 is installed. The hash that is in
    /// there, too, has to be that of the type.
    ///
    /// # Errors
    /// If it is no such text, or there is something wrong with the type.
    pub fn from_json(text: &str) -> Result<Self, MessageTypeError> {
        let installed: Installed =
            serde_json::from_str(text).map_err(|error| MessageTypeError::Json { reason: error.to_string() })?;
        let found = Self::from_description(&installed.type_description_msg)?;
        let hash = installed.type_hashes.iter().find(|hash| hash.type_name == found.name());
        hash.map_or(Ok(()), |hash| found.check_hash(&hash.hash_string))?;
        Ok(found)
    }

    /// Looks for a message, such as `std_msgs/msg/String`, where `AMENT_PREFIX_PATH` says that ROS 2 is installed: Iron or later.
    /// Blocks while it reads files.
    ///
    /// # Errors
    /// If it is not there, or there is something wrong with it.
    pub fn find(name: &str) -> Result<Self, FindTypeError> {
        TypeName::new(name)?;
        let places = std::env::var_os(VARIABLE).unwrap_or_default();
        let places: Vec<PathBuf> = std::env::split_paths(&places).filter(|place| *place != *OsStr::new("")).collect();
        if places.is_empty() {
            return Err(FindTypeError::NoPlaces { name: name.to_owned() });
        }
        Self::find_in(name, &places)
    }

    /// As [`find`](Self::find), in these places; where more than one has it, the first one counts.
    ///
    /// # Errors
    /// If it is not there, or there is something wrong with it.
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
