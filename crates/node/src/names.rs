//! Names of topics, services and nodes, and the errors of invalid ones. Names of types are those of `rospin-wire`.

use std::fmt;

pub use rospin_wire::{TypeKind, TypeName, TypeNameError};

/// Errors of invalid names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name of a topic or a service is invalid.
    #[error(
        "`{name}` is not a valid name of a topic or service ({reason}); use letters, digits and underscores between slashes, as in \
         `/camera/image`"
    )]
    Topic {
        /// Name, as it was given.
        name: String,
        /// The rule that the name breaks.
        reason: String,
    },
    /// The name of a node is invalid.
    #[error(
        "`{name}` is not a valid name of a node ({reason}); use letters, digits and underscores, and a namespace such as `/robot`"
    )]
    Node {
        /// The namespace, a slash and the name, as they were given.
        name: String,
        /// The rule that the name breaks.
        reason: String,
    },
    /// The name of a type is invalid.
    #[error(transparent)]
    Type(#[from] TypeNameError),
}

/// Checks one part of a name, between two slashes. The error is the problem, as text.
fn check_part(part: &str) -> Result<(), String> {
    let Some(first) = part.chars().next() else {
        return Err("a part of it is empty".to_owned());
    };
    if first.is_ascii_digit() {
        return Err(format!("`{part}` begins with a digit"));
    }
    match part.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
        Some(wrong) => Err(format!("`{wrong}` is not allowed")),
        None => Ok(()),
    }
}

/// Checks an absolute name. The error is the problem, as text.
fn check_absolute(name: &str) -> Result<(), String> {
    let parts = name.strip_prefix('/').ok_or("it does not begin with a slash")?;
    parts.split('/').try_for_each(check_part)
}

/// Name of a node, with its namespace.
///
/// ```
/// use rospin_node::NodeName;
///
/// let node = NodeName::new("/robot", "talker")?;
/// assert_eq!((node.to_string().as_str(), node.namespace(), node.base_name()), ("/robot/talker", "/robot", "talker"));
/// assert_eq!(node.resolve("chatter")?.as_str(), "/robot/chatter");
/// assert_eq!(node.resolve("~/state")?.as_str(), "/robot/talker/state");
/// assert!(node.resolve("two words").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeName {
    namespace: String,
    name: String,
}

impl NodeName {
    /// Returns the name of a node. The namespace begins with a slash; `/` is the outermost one.
    ///
    /// # Errors
    /// If the name or the namespace is invalid.
    pub fn new(namespace: &str, name: &str) -> Result<Self, NameError> {
        let error = |reason| NameError::Node { name: format!("{}/{name}", namespace.trim_end_matches('/')), reason };
        if namespace != "/" {
            check_absolute(namespace).map_err(error)?;
        }
        check_part(name).map_err(error)?;
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// Returns the namespace, which begins with a slash.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name without its namespace.
    #[must_use]
    pub fn base_name(&self) -> &str {
        &self.name
    }

    /// Returns the absolute name of the topic or service that a node of this name calls `name`, without
    /// [remapping](crate::Node::resolve_topic). A name that begins with a slash is absolute, one that begins with `~/`
    /// is below the node, and any other is in the node's namespace.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<FullName, NameError> {
        let namespace = self.namespace.trim_end_matches('/');
        let absolute = match name.strip_prefix("~/") {
            Some(below) => format!("{namespace}/{}/{below}", self.name),
            None if name.starts_with('/') => name.to_owned(),
            None => format!("{namespace}/{name}"),
        };
        match check_absolute(&absolute) {
            Ok(()) => Ok(FullName(absolute)),
            Err(reason) => Err(NameError::Topic { name: name.to_owned(), reason }),
        }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace.trim_end_matches('/'), self.name)
    }
}

/// The absolute name of a topic or a service, such as `/robot/camera/image`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FullName(String);

impl FullName {
    /// Returns the name, which begins with a slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_resolved_as_ros_resolves_them() {
        let cases = [
            ("/", "chatter", "/chatter"),
            ("/", "/chatter", "/chatter"),
            ("/", "~/chatter", "/talker/chatter"),
            ("/robot/arm", "chatter", "/robot/arm/chatter"),
            ("/robot/arm", "/chatter", "/chatter"),
            ("/robot/arm", "camera/image", "/robot/arm/camera/image"),
            ("/robot/arm", "~/state", "/robot/arm/talker/state"),
            ("/", "fibonacci/_action/feedback", "/fibonacci/_action/feedback"),
        ];
        for (namespace, name, expected) in cases {
            let node = NodeName::new(namespace, "talker").unwrap();
            assert_eq!(node.resolve(name).unwrap().as_str(), expected, "{namespace} {name}");
        }
    }

    #[test]
    fn invalid_names_are_refused_with_a_reason() {
        let node = NodeName::new("/", "talker").unwrap();
        for name in ["", "/", "a b", "1st", "a//b", "chatter/", "ü", "~"] {
            let error = node.resolve(name).unwrap_err();
            assert!(error.to_string().contains("as in `/camera/image`"), "{name}: {error}");
        }
        assert!(NodeName::new("/robot/arm", "talker").is_ok());
        for (namespace, name) in [("robot", "talker"), ("/", ""), ("/", "a/b"), ("/robot/", "a"), ("", "a")] {
            assert!(NodeName::new(namespace, name).is_err(), "{namespace} {name}");
        }
    }
}
