//! Names of topics, services, nodes and types, and the errors of invalid ones.

use std::borrow::Cow;
use std::fmt;

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
        /// The name.
        name: String,
        /// The rule that the name breaks.
        reason: String,
    },
    /// The name of a node is invalid.
    #[error(
        "`{name}` is not a valid name of a node ({reason}); use letters, digits and underscores, and a namespace such as `/robot`"
    )]
    Node {
        /// The namespace and the name.
        name: String,
        /// The rule that the name breaks.
        reason: String,
    },
    /// The name of a type is invalid.
    #[error("`{name}` is not a valid name of a type; it should look like `{example}`")]
    Type {
        /// The name.
        name: String,
        /// A valid name of the same kind.
        example: &'static str,
    },
}

/// Checks one part of a name, between two slashes.
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

/// Checks an absolute name.
fn check_absolute(name: &str) -> Result<(), String> {
    let parts = name.strip_prefix('/').ok_or("it does not begin with a slash")?;
    parts.split('/').try_for_each(check_part)
}

/// Name of a node, with its namespace.
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
        let error = |reason| NameError::Node { name: format!("{namespace} {name}"), reason };
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
    /// [remapping](crate::Node::resolve_topic). A name that begins with a slash is absolute, one that begins with `~/` is
    /// below the node, and any other is in the node's namespace.
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

/// The kind of interface that a type is part of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TypeKind {
    /// A message.
    Msg,
    /// A service.
    Srv,
    /// An action.
    Action,
}

impl TypeKind {
    /// Returns the kind as it is written in type names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Msg => "msg",
            Self::Srv => "srv",
            Self::Action => "action",
        }
    }
}

/// A valid name of a type, for error messages.
const EXAMPLE: &str = "std_msgs/msg/String";

/// Splits a type's name into package, kind and name.
fn take_apart(name: &str) -> Option<(&str, TypeKind, &str)> {
    let parts: Vec<_> = name.split('/').collect();
    let [package, kind, base] = parts[..] else { return None };
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let kind = [TypeKind::Msg, TypeKind::Srv, TypeKind::Action].into_iter().find(|each| each.as_str() == kind)?;
    (is_word(package) && is_word(base)).then_some((package, kind, base))
}

/// The name of a type, split into its parts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct TypeName {
    /// The package, such as `std_msgs`.
    pub package: String,
    /// The kind of interface.
    pub kind: TypeKind,
    /// The name, such as `String`, or for a part of an action `Fibonacci_FeedbackMessage`.
    pub name: String,
    /// The type hash, `RIHS01_` and 64 digits, if it is known.
    pub hash: Option<Cow<'static, str>>,
    /// The hash of a definition that is known only at run time, announced or not.
    pub(crate) definition: Option<Cow<'static, str>>,
}

impl TypeName {
    /// Returns the type of a message.
    ///
    /// # Errors
    /// If its name is invalid.
    pub fn of_message<M: crate::Message>() -> Result<Self, NameError> {
        Self::parse(M::TYPE, M::TYPE_SUFFIX, M::TYPE_HASH, TypeKind::Msg, EXAMPLE)
    }

    /// Returns the type of a service.
    ///
    /// # Errors
    /// If its name is invalid.
    pub fn of_service<S: crate::Service>() -> Result<Self, NameError> {
        Self::parse(S::TYPE, S::TYPE_SUFFIX, S::TYPE_HASH, TypeKind::Srv, "example_interfaces/srv/AddTwoInts")
    }

    pub(crate) fn parse(
        name: &str,
        suffix: &str,
        hash: Option<&'static str>,
        kind: TypeKind,
        example: &'static str,
    ) -> Result<Self, NameError> {
        // Only parts of actions have a suffix.
        let kind = if suffix.is_empty() { kind } else { TypeKind::Action };
        let (package, given, base) =
            take_apart(name).ok_or_else(|| NameError::Type { name: name.to_owned(), example })?;
        if given != kind {
            return Err(NameError::Type { name: name.to_owned(), example });
        }
        let (package, name) = (package.to_owned(), format!("{base}{suffix}"));
        Ok(Self { package, kind, name, hash: hash.map(Cow::Borrowed), definition: None })
    }

    /// Returns the type with that name: a message, or a part of a service or an action.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let error = || NameError::Type { name: name.to_owned(), example: EXAMPLE };
        let (package, kind, base) = take_apart(name).ok_or_else(error)?;
        Ok(Self { package: package.to_owned(), kind, name: base.to_owned(), hash: None, definition: None })
    }

    /// Sets the hash.
    #[must_use]
    pub fn with_hash(mut self, hash: impl Into<Cow<'static, str>>) -> Self {
        self.hash = Some(hash.into());
        self
    }

    /// Sets the hash of a definition that is known only at run time.
    pub(crate) fn with_definition(mut self, hash: impl Into<Cow<'static, str>>) -> Self {
        self.definition = Some(hash.into());
        self
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.package, self.kind.as_str(), self.name)
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
    fn what_is_no_name_is_refused_with_a_reason() {
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

    #[test]
    fn types_are_taken_apart() {
        let parse = |name, suffix| TypeName::parse(name, suffix, None, TypeKind::Msg, "std_msgs/msg/String");
        assert_eq!(parse("std_msgs/msg/String", "").unwrap().to_string(), "std_msgs/msg/String");
        let feedback = parse("example_interfaces/action/Fibonacci", "_FeedbackMessage").unwrap();
        assert_eq!(feedback.to_string(), "example_interfaces/action/Fibonacci_FeedbackMessage");
        for name in
            ["", "String", "std_msgs/String", "std_msgs/srv/String", "std msgs/msg/String", "a/msg/b/c", "/msg/A"]
        {
            let error = parse(name, "").unwrap_err();
            assert!(error.to_string().contains("std_msgs/msg/String"), "{name}: {error}");
        }
    }
}
