//! What can go wrong with parameters of one's own node.

use super::value::{ParameterKind, UnknownType};

/// Why parameters were not set. None of those that were to be set together was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetParameterError {
    /// The node has no such parameter.
    #[error("parameter `{name}` is not declared; declare it before, or check how its name is written")]
    NotDeclared {
        /// The parameter.
        name: String,
    },
    /// It keeps the value that it was declared with.
    #[error("parameter `{name}` is read-only; override it when the node is started")]
    ReadOnly {
        /// The parameter.
        name: String,
    },
    /// Its type is another one, and does not change.
    #[error("parameter `{name}` is of type {expected}, the value is {found}; set it to a value of its type")]
    WrongType {
        /// The parameter.
        name: String,
        /// Its type.
        expected: ParameterKind,
        /// The value's type.
        found: String,
    },
    /// The value is not in its range.
    #[error("{value} is not a value for parameter `{name}`; it may be {range}")]
    OutOfRange {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// What is allowed.
        range: String,
    },
    /// An on-set callback does not want the value.
    #[error("{reason}")]
    Rejected {
        /// What the callback says.
        reason: String,
    },
    /// A pre-set or an on-set callback panicked.
    #[error("a callback that checks parameters panicked: {message}; nothing was set")]
    Panicked {
        /// What the panic says.
        message: String,
    },
    /// A pre-set callback left nothing to be set.
    #[error("no parameters are left to be set; a pre-set callback removed them")]
    NothingLeft,
    /// A pre-set or an on-set callback wanted to change parameters.
    #[error(
        "parameters cannot be changed by a callback that checks parameters; have a pre-set callback extend the list, or a \
         post-set callback react"
    )]
    InsideCallback,
    /// Others changed parameters again and again while on-set callbacks looked at these values.
    #[error("other parameters change too often for these to be checked; set them again")]
    Contended,
    /// The value came from another node, and is of no type that there is.
    #[error(transparent)]
    UnknownType(#[from] UnknownType),
}

/// Why a parameter was not declared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// Parameters have names.
    #[error("a parameter's name is empty; give it one, such as `motor.max_speed`")]
    EmptyName,
    /// It has been declared before.
    #[error("parameter `{name}` is declared already; keep the handle, or undeclare it before")]
    AlreadyDeclared {
        /// The parameter.
        name: String,
    },
    /// It must have a value, and there is none.
    #[error(
        "parameter `{name}` has no value; give it a default, override it when the node is started, or declare it as `Option`"
    )]
    NoValue {
        /// The parameter.
        name: String,
    },
    /// Its range is none.
    #[error("the range of parameter `{name}` makes no sense: {reason}")]
    Range {
        /// The parameter.
        name: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// What it was to begin with is not allowed.
    #[error("parameter `{name}` cannot begin with its {origin}: {reason}")]
    Initial {
        /// The parameter.
        name: String,
        /// Whether the value is its default or its override.
        origin: &'static str,
        /// What is wrong.
        #[source]
        reason: SetParameterError,
    },
    /// A pre-set or an on-set callback wanted to declare it.
    #[error("parameter `{name}` cannot be declared by a callback that checks parameters; declare it before")]
    InsideCallback {
        /// The parameter.
        name: String,
    },
}

/// Why a parameter is still declared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndeclareError {
    /// The node has no such parameter.
    #[error("parameter `{name}` is not declared; check how its name is written")]
    NotDeclared {
        /// The parameter.
        name: String,
    },
    /// Read-only parameters stay.
    #[error("parameter `{name}` is read-only and stays; declare it without `read_only` if it has to go")]
    ReadOnly {
        /// The parameter.
        name: String,
    },
    /// A pre-set or an on-set callback wanted to.
    #[error("parameter `{name}` cannot be undeclared by a callback that checks parameters; do it elsewhere")]
    InsideCallback {
        /// The parameter.
        name: String,
    },
}
