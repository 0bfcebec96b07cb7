//! Definitions of interfaces for tools that learn of types at run time: those of an installed ROS 2, and those that a
//! program carries along.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use hiroz_schema::to_ros2_json;

use crate::error::GenerateError;
use crate::hash::{self, Identity};
use crate::idl;
use crate::model::{Interface, Kind, TypeRef};
use crate::packages::Packages;
use crate::parse;
use crate::shipped;
use crate::sources::Sources;

/// Definitions of messages, services and actions, found by their names, such as `std_msgs/msg/String`. A definition
/// that is installed is used in place of one of the same name that the program carries along.
///
/// ```
/// use rospin_codegen::Definitions;
///
/// let definitions = Definitions::new().carried(&[("my_msgs/msg/Pair", "int32 a\nint32 b\n")]).prefixes([]);
/// assert_eq!(definitions.text("my_msgs/msg/Pair")?.unwrap().lines().count(), 2);
/// assert_eq!(definitions.describe("my_msgs/msg/Pair")?.unwrap()[0].name, "my_msgs/msg/Pair");
/// assert_eq!(definitions.names()?.into_iter().collect::<Vec<_>>(), ["my_msgs/msg/Pair"]);
/// assert!(definitions.text("my_msgs/msg/Triple")?.is_none());
/// # Ok::<(), rospin_codegen::GenerateError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Definitions {
    /// Names and texts that the program carries along, sorted by name.
    carried: &'static [(&'static str, &'static str)],
    prefixes: Option<Vec<PathBuf>>,
}

/// A type that a definition defines, as other nodes know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// Name of the type, such as `std_srvs/srv/SetBool`.
    pub name: String,
    /// Hash of the type, `RIHS01_` and 64 digits.
    pub hash: String,
    /// Description of the type and of all types that it contains, as the JSON files of an installed ROS 2 have it.
    pub json: String,
}

impl Definitions {
    /// Returns the definitions of the installed ROS 2: those below the folders of `AMENT_PREFIX_PATH`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds definitions that the program carries along: names with their texts, sorted by name.
    #[must_use]
    pub const fn carried(mut self, carried: &'static [(&'static str, &'static str)]) -> Self {
        self.carried = carried;
        self
    }

    /// Sets the folders where ROS 2 is installed, in place of those of `AMENT_PREFIX_PATH`.
    #[must_use]
    pub fn prefixes(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.prefixes = Some(folders.into_iter().collect());
        self
    }

    /// Returns the text of a definition; `None` if no definition has that name. Blocks while it reads a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, GenerateError> {
        Ok(self.find(name)?.map(|(_, text)| text))
    }

    /// Returns the address of the page that explains a definition, if the definition comes with this crate: those are
    /// without the comments of the originals. `None` for one that is installed, or that the program has itself. Blocks
    /// while it looks for files.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn page(&self, name: &str) -> Result<Option<String>, GenerateError> {
        let Some((package, _, _)) = split(name) else { return Ok(None) };
        let is_carried = self.find(name)?.is_some_and(|(file, _)| file.is_relative());
        Ok(if is_carried && shipped::SHIPPED.contains(&package) { Some(shipped::page(name)) } else { None })
    }

    /// Returns the types that a definition defines: a message or a service itself, and of an action the services
    /// `_SendGoal` and `_GetResult` and the message `_FeedbackMessage`, in that order. `None` if there is no definition
    /// of that name. Blocks while it reads files.
    ///
    /// # Errors
    /// If a file cannot be read, a definition is invalid, or one that it refers to is missing.
    pub fn describe(&self, name: &str) -> Result<Option<Vec<Described>>, GenerateError> {
        let Some(interface) = self.interface(name)? else { return Ok(None) };
        let mut packages = Packages::default();
        packages.add_interface(interface.clone());
        let mut seen = BTreeSet::new();
        let mut next: Vec<TypeRef> = interface.references().map(|(of, _)| of.clone()).collect();
        while let Some(reference) = next.pop() {
            if !seen.insert(reference.clone()) {
                continue;
            }
            // A reference that leads nowhere is reported by the check, which knows its line.
            if let Some(found) = self.interface(&reference.to_string())? {
                next.extend(found.references().map(|(of, _)| of.clone()));
                packages.add_interface(found);
            }
        }
        packages.check()?;
        let identities = match interface.kind {
            Kind::Message => vec![hash::message(&packages, &interface)],
            Kind::Service => vec![hash::service(&packages, &interface).0],
            Kind::Action => hash::action(&packages, &interface).into_iter().map(|(_, identity)| identity).collect(),
        };
        Ok(Some(identities.into_iter().map(described).collect()))
    }

    /// Returns the names of all definitions. Blocks while it reads folders.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn names(&self) -> Result<BTreeSet<String>, GenerateError> {
        let mut names: BTreeSet<String> = self.carried.iter().map(|(name, _)| (*name).to_owned()).collect();
        for prefix in self.folders() {
            let index = prefix.join("share/ament_index/resource_index/rosidl_interfaces");
            if !index.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&index).map_err(GenerateError::io(&index))? {
                let package = entry.map_err(GenerateError::io(&index))?.file_name().to_string_lossy().into_owned();
                let sources = Sources::installed(&prefix, &package)?.unwrap_or_default();
                for (_, file) in sources.definitions {
                    names.extend(name_of(&package, &file));
                }
            }
        }
        Ok(names)
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.prefixes.clone().unwrap_or_else(|| {
            let variable = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
            env::split_paths(&variable).filter(|folder| !folder.as_os_str().is_empty()).collect()
        })
    }

    /// Returns the file and the text of a definition. A definition that the program carries along has the name of the
    /// file that it would have.
    fn find(&self, name: &str) -> Result<Option<(PathBuf, String)>, GenerateError> {
        let Some((package, kind, base)) = split(name) else { return Ok(None) };
        for prefix in self.folders() {
            let folder = prefix.join("share").join(package).join(kind.word());
            for extension in [kind.word(), "idl"] {
                let file = folder.join(format!("{base}.{extension}"));
                if file.is_file() {
                    let text = fs::read_to_string(&file).map_err(GenerateError::io(&file))?;
                    return Ok(Some((file, text)));
                }
            }
        }
        let Ok(at) = self.carried.binary_search_by_key(&name, |(name, _)| name) else { return Ok(None) };
        let file = PathBuf::from(format!("{package}/{}/{base}.{}", kind.word(), kind.word()));
        Ok(Some((file, self.carried[at].1.to_owned())))
    }

    fn interface(&self, name: &str) -> Result<Option<Interface>, GenerateError> {
        let Some((package, kind, _)) = split(name) else { return Ok(None) };
        let Some((file, text)) = self.find(name)? else { return Ok(None) };
        if file.extension().is_some_and(|extension| extension == "idl") {
            return idl::parse(package, &file, &text).map(Some);
        }
        parse::parse(package, kind, &file, &text).map(Some)
    }
}

/// Returns package, kind and name of a definition's name. `None` if it is no such name, or could leave the folder of a
/// package.
fn split(name: &str) -> Option<(&str, Kind, &str)> {
    let mut parts = name.split('/');
    let (package, kind, base) = (parts.next()?, parts.next()?, parts.next()?);
    let kind = Kind::ALL.into_iter().find(|known| known.word() == kind)?;
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if parts.next().is_some() || !is_word(package) || !is_word(base) {
        return None;
    }
    Some((package, kind, base))
}

/// Returns the name of the definition in a file of a package: the file's folder is the kind.
fn name_of(package: &str, file: &Path) -> Option<String> {
    let folder = file.parent()?.file_name()?.to_str()?;
    let base = file.file_stem()?.to_str()?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == folder)?;
    Some(format!("{package}/{}/{base}", kind.word()))
}

fn described(identity: Identity) -> Described {
    let name = identity.description.type_description.type_name.clone();
    // The description consists of texts and numbers, which are always JSON.
    let description = to_ros2_json(&identity.description).unwrap_or_default();
    Described { name, hash: identity.hash, json: format!("{{\"type_description_msg\": {description}}}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIED: &[(&str, &str)] = &[
        ("a_msgs/action/Walk", "int32 far\n---\nbool is_there\n---\nb_msgs/Point at\n"),
        ("a_msgs/msg/Broken", "c_msgs/Missing it\n"),
        ("a_msgs/srv/Move", "b_msgs/Point to\n---\nbool is_done\n"),
        ("b_msgs/msg/Point", "float64 x 1.5\n"),
    ];

    fn definitions() -> Definitions {
        Definitions::new().carried(CARRIED).prefixes([])
    }

    #[test]
    fn a_service_is_described_with_its_parts() {
        let described = definitions().describe("a_msgs/srv/Move").unwrap().unwrap();
        assert_eq!(described.len(), 1);
        assert!(described[0].hash.starts_with("RIHS01_"), "{}", described[0].hash);
        for part in ["a_msgs/srv/Move_Request", "a_msgs/srv/Move_Event", "b_msgs/msg/Point", "\"1.5\""] {
            assert!(described[0].json.contains(part), "{part}: {}", described[0].json);
        }
    }

    #[test]
    fn an_action_has_two_services_and_a_message() {
        let described = definitions().describe("a_msgs/action/Walk").unwrap().unwrap();
        let names: Vec<_> = described.iter().map(|each| each.name.as_str()).collect();
        let expected =
            ["a_msgs/action/Walk_SendGoal", "a_msgs/action/Walk_GetResult", "a_msgs/action/Walk_FeedbackMessage"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_missing_reference_is_an_error_with_its_line() {
        let error = definitions().describe("a_msgs/msg/Broken").unwrap_err().to_string();
        assert!(error.starts_with("a_msgs/msg/Broken.msg:1: there is no message `c_msgs/msg/Missing`"), "{error}");
    }

    #[test]
    fn names_that_leave_the_folder_of_a_package_find_nothing() {
        let folder = env!("CARGO_MANIFEST_DIR");
        let definitions = Definitions::new().prefixes([PathBuf::from(folder)]);
        for name in ["../msg/A", "a/msg/../../b", "a/msg", "a/msg/B/c", "", "a/other/B", "/msg/A"] {
            assert_eq!(definitions.text(name).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn shipped_definitions_are_complete() {
        let texts = crate::texts().unwrap();
        assert!(texts["geometry_msgs/msg/Twist"].contains("Vector3"));
        assert!(
            texts.contains_key("example_interfaces/action/Fibonacci") && texts.contains_key("std_srvs/srv/SetBool")
        );
        let carried: Vec<(&'static str, &'static str)> =
            texts.into_iter().map(|(name, text)| (&*name.leak(), &*text.leak())).collect();
        let definitions = Definitions::new().carried(carried.leak()).prefixes([]);
        for name in definitions.names().unwrap() {
            definitions.describe(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let twist = definitions.describe("geometry_msgs/msg/Twist").unwrap().unwrap();
        assert_eq!(twist[0].hash, "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a");
    }
}
