//! Names of types, split into their parts.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::description::Description;
use crate::message::{Message, ServiceInterface};

/// Error of an invalid name of a type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is not a valid name of a type; it should look like `{example}`")]
pub struct TypeNameError {
    /// Name that was given.
    pub name: String,
    /// A valid name of the same kind.
    pub example: &'static str,
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

/// Suffix of the names of services' events.
pub const EVENT_SUFFIX: &str = "_Event";
/// A valid name of a type, for error messages.
const EXAMPLE: &str = "std_msgs/msg/String";

/// Splits a type's name into package, kind and name; `None` if it is invalid.
fn take_apart(name: &str) -> Option<(&str, TypeKind, &str)> {
    let parts: Vec<_> = name.split('/').collect();
    let [package, kind, base] = parts[..] else { return None };
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let kind = [TypeKind::Msg, TypeKind::Srv, TypeKind::Action].into_iter().find(|each| each.as_str() == kind)?;
    if is_word(package) && is_word(base) { Some((package, kind, base)) } else { None }
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
    /// The type hash, `RIHS01_` and 64 digits; `None` if the type has none, or it is not known.
    pub hash: Option<Cow<'static, str>>,
    /// Hash of the type's definition, if that is known only at run time. Unlike `hash`, it is there even if no end
    /// announces it.
    #[doc(hidden)]
    pub definition: Option<Cow<'static, str>>,
    /// Description of a generated type. Names are compared without it.
    #[doc(hidden)]
    pub described: Described,
}

/// Description of a generated type beside its name. Two of them are always equal, because a name means the same type
/// with and without it.
#[doc(hidden)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Described(pub Option<&'static Description>);

impl PartialEq for Described {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Described {}

impl Hash for Described {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl TypeName {
    /// Returns the type of a message.
    ///
    /// # Errors
    /// If its name is invalid.
    pub fn of_message<M: Message>() -> Result<Self, TypeNameError> {
        let name = Self::parse(M::TYPE, M::TYPE_SUFFIX, M::TYPE_HASH, TypeKind::Msg, EXAMPLE)?;
        Ok(Self { described: Described(M::DESCRIPTION), ..name })
    }

    /// Returns the type of a service.
    ///
    /// # Errors
    /// If its name is invalid.
    pub fn of_service<S: ServiceInterface>() -> Result<Self, TypeNameError> {
        let example = "example_interfaces/srv/AddTwoInts";
        let name = Self::parse(S::TYPE, S::TYPE_SUFFIX, S::TYPE_HASH, TypeKind::Srv, example)?;
        Ok(Self { described: Described(S::DESCRIPTION), ..name })
    }

    fn parse(
        name: &str,
        suffix: &str,
        hash: Option<&'static str>,
        kind: TypeKind,
        example: &'static str,
    ) -> Result<Self, TypeNameError> {
        // Only parts of actions and the events of services have a suffix.
        let kind = match suffix {
            "" => kind,
            EVENT_SUFFIX => TypeKind::Srv,
            _ => TypeKind::Action,
        };
        let (package, given, base) =
            take_apart(name).ok_or_else(|| TypeNameError { name: name.to_owned(), example })?;
        if given != kind {
            return Err(TypeNameError { name: name.to_owned(), example });
        }
        let package = package.to_owned();
        let name = format!("{base}{suffix}");
        Ok(Self { package, kind, name, hash: hash.map(Cow::Borrowed), definition: None, described: Described(None) })
    }

    /// Returns the type with that name, without a hash: a message, or a part of a service or an action.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn new(name: &str) -> Result<Self, TypeNameError> {
        let error = || TypeNameError { name: name.to_owned(), example: EXAMPLE };
        let (package, kind, base) = take_apart(name).ok_or_else(error)?;
        let package = package.to_owned();
        let name = base.to_owned();
        Ok(Self { package, kind, name, hash: None, definition: None, described: Described(None) })
    }

    /// Sets the hash.
    #[must_use]
    pub fn with_hash(mut self, hash: impl Into<Cow<'static, str>>) -> Self {
        self.hash = Some(hash.into());
        self
    }

    /// Sets the hash of a definition that is known only at run time.
    #[doc(hidden)]
    #[must_use]
    pub fn with_definition(mut self, hash: impl Into<Cow<'static, str>>) -> Self {
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
