//! Errors about the parameters of the program's own nodes.

use std::fmt;

use rospin_engine::SourceError;

use super::value::{ParameterKind, UnknownType};
use crate::error::{ServiceError, TopicError};

/// Reasons for which parameters were not set. If one of several that are set together fails, none is set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetParameterError {
    /// The node has no parameter of that name.
    #[error("parameter `{name}` is not declared; declare it before, or check how its name is written")]
    NotDeclared {
        /// Name of the parameter.
        name: String,
    },
    /// The parameter is read-only.
    #[error("parameter `{name}` is read-only; override it when the node is started")]
    ReadOnly {
        /// Name of the parameter.
        name: String,
    },
    /// The parameter has another type, and its type cannot change.
    #[error("parameter `{name}` is of type {expected}, the value is {found}; {}", value_of_its_type(*expected, found))]
    WrongType {
        /// Name of the parameter.
        name: String,
        /// The parameter's type.
        expected: ParameterKind,
        /// Type of the value to set, or `not set`.
        found: String,
    },
    /// The value is not in the parameter's range.
    #[error("{value} is not a value for parameter `{name}`; it may be {range}")]
    OutOfRange {
        /// Name of the parameter.
        name: String,
        /// Value to set, as text.
        value: String,
        /// Allowed range, as text.
        range: String,
    },
    /// An on-set callback rejected the value.
    #[error("{reason}")]
    Rejected {
        /// The reason that the callback returned.
        reason: String,
    },
    /// A pre-set or an on-set callback panicked.
    #[error("a callback that checks parameters panicked: {message}; nothing was set")]
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// A pre-set callback left no parameter to set.
    #[error("no parameters are left to be set; a pre-set callback removed them")]
    NothingLeft,
    /// A pre-set or on-set callback tried to change parameters.
    #[error(
        "parameters cannot be changed by a callback that checks parameters; have a pre-set callback extend the list, or a \
         post-set callback react"
    )]
    InsideCallback,
    /// Other threads changed parameters again and again while the on-set callbacks checked these values.
    #[error("other parameters change too often for these to be checked; set them again")]
    Contended,
    /// The value came from another node, and ROS 2 does not define its type number.
    #[error(transparent)]
    UnknownType(#[from] UnknownType),
}

/// Returns what to do about a value of another type. Most often, the decimal point is missing.
fn value_of_its_type(expected: ParameterKind, found: &str) -> &'static str {
    match (expected, found) {
        (ParameterKind::Double, "integer") | (ParameterKind::DoubleArray, "integer_array") => {
            "write numbers with a decimal point, such as 1.0"
        }
        _ => "set it to a value of its type",
    }
}

/// Error of a [`ParameterValue`](crate::ParameterValue) that is converted to a Rust type that it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongParameterType {
    /// The parameter type of the Rust type.
    pub expected: ParameterKind,
    /// The value's type; `None` if it is not set.
    pub found: Option<ParameterKind>,
}

impl fmt::Display for WrongParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(found) => write!(f, "the value is of type {found}, not of type {}", self.expected),
            None => write!(f, "the value is not set, and should be of type {}", self.expected),
        }
    }
}

impl std::error::Error for WrongParameterType {}

/// Reasons for which a parameter could not be declared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// The name is empty.
    #[error("a parameter's name is empty; give it one, such as `motor.max_speed`")]
    EmptyName,
    /// The name is declared already.
    #[error("parameter `{name}` is declared already; keep the handle, or undeclare it before")]
    AlreadyDeclared {
        /// Name of the parameter.
        name: String,
    },
    /// The parameter must have a value, and has neither a default nor an override.
    #[error(
        "parameter `{name}` of node `{node}` has no value; give it a default, override it when the node is started, or declare it as \
         `Option`"
    )]
    NoValue {
        /// Name of the node.
        node: String,
        /// Name of the parameter.
        name: String,
    },
    /// The range is invalid.
    #[error("the range of parameter `{name}` is invalid: {reason}")]
    Range {
        /// Name of the parameter.
        name: String,
        /// The problem with the range.
        reason: &'static str,
    },
    /// The initial value does not have the parameter's type, is out of its range, or was rejected by a callback.
    #[error("parameter `{name}` of node `{node}` cannot start with its {origin}: {reason}")]
    Initial {
        /// Name of the node.
        node: String,
        /// Name of the parameter.
        name: String,
        /// The origin of the value: the default or the override.
        origin: &'static str,
        /// The problem with the value.
        reason: Box<SetParameterError>,
    },
    /// A parameter file gives the parameter something that no parameter of its type can have.
    #[error("parameter `{name}` of node `{node}` cannot start with its override, which {reason}")]
    Override {
        /// Name of the node.
        node: String,
        /// Name of the parameter.
        name: String,
        /// The problem, as the end of a sentence about the override, with its place.
        reason: String,
    },
    /// A pre-set or on-set callback tried to declare the parameter.
    #[error("parameter `{name}` cannot be declared by a callback that checks parameters; declare it before")]
    InsideCallback {
        /// Name of the parameter.
        name: String,
    },
}

/// Reasons for which a parameter could not be undeclared.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndeclareError {
    /// The node has no parameter of that name.
    #[error("parameter `{name}` is not declared; check how its name is written")]
    NotDeclared {
        /// Name of the parameter.
        name: String,
    },
    /// The parameter is read-only.
    #[error("parameter `{name}` is read-only and stays; declare it without `read_only` if it has to go")]
    ReadOnly {
        /// Name of the parameter.
        name: String,
    },
    /// A pre-set or on-set callback tried to undeclare the parameter.
    #[error("parameter `{name}` cannot be undeclared by a callback that checks parameters; do it elsewhere")]
    InsideCallback {
        /// Name of the parameter.
        name: String,
    },
}

/// Reasons for which the parameters of a node could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeParametersError {
    /// The node's parameters are served already.
    #[error("the parameters of node `{node}` are served already; keep what the first call returned")]
    AlreadyServed {
        /// Fully qualified name of the node.
        node: String,
    },
    /// `use_sim_time` could not be declared.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// The program declared `use_sim_time` with another type than `bool`.
    #[error("parameter `use_sim_time` must be a bool; declare it as one, or leave that to `serve_parameters`")]
    NoBool,
    /// Another node of the context has the other value of `use_sim_time`, and they have one ROS time.
    #[error(
        "`use_sim_time` is {value} in node `{node}` and {} in node `{other}` of the same context, which has one ROS time: give both the \
         same value, or create one of them in a context of its own", !value
    )]
    TwoTimes {
        /// Fully qualified name of the node.
        node: String,
        /// Its value.
        value: bool,
        /// Fully qualified name of the other node.
        other: String,
    },
    /// A service could not be created.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The publisher of `/parameter_events`, or the subscription of `/clock`, could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The executor was dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}
