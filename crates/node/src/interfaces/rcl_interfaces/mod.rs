//! Package `rcl_interfaces`: messages and services of parameters and logs.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;
use crate::message::Message;

mod services;

pub use services::*;

/// What a parameter's type is called by.
pub mod parameter_type {
    /// No value.
    pub const NOT_SET: u8 = 0;
    /// A Boolean.
    pub const BOOL: u8 = 1;
    /// An integer.
    pub const INTEGER: u8 = 2;
    /// A floating-point number.
    pub const DOUBLE: u8 = 3;
    /// A string.
    pub const STRING: u8 = 4;
    /// Bytes.
    pub const BYTE_ARRAY: u8 = 5;
    /// Booleans.
    pub const BOOL_ARRAY: u8 = 6;
    /// Integers.
    pub const INTEGER_ARRAY: u8 = 7;
    /// Floating-point numbers.
    pub const DOUBLE_ARRAY: u8 = 8;
    /// Strings.
    pub const STRING_ARRAY: u8 = 9;
}

/// How severe a record of a log is.
pub mod log_level {
    /// Of use to those who look for a fault.
    pub const DEBUG: u8 = 10;
    /// Worth to be known.
    pub const INFO: u8 = 20;
    /// Not as it should be.
    pub const WARN: u8 = 30;
    /// Something failed.
    pub const ERROR: u8 = 40;
    /// The node cannot go on.
    pub const FATAL: u8 = 50;
}

/// Between which values, and in which steps, an integer parameter may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IntegerRange {
    /// The least value.
    pub from_value: i64,
    /// The greatest value.
    pub to_value: i64,
    /// The distance of values from the least one is a multiple of it, unless it is 0. The greatest value is allowed anyway.
    pub step: u64,
}

impl Message for IntegerRange {
    const TYPE: &str = "rcl_interfaces/msg/IntegerRange";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_f7b7fdc0f65f07702e099218e13288c3963bcb9345bde78b560e6cd19800fc5a");
}

/// Between which values, and in which steps, a floating-point parameter may be.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FloatingPointRange {
    /// The least value.
    pub from_value: f64,
    /// The greatest value.
    pub to_value: f64,
    /// The distance of values from the least one is a multiple of it, unless it is 0. The greatest value is allowed anyway.
    pub step: f64,
}

impl Message for FloatingPointRange {
    const TYPE: &str = "rcl_interfaces/msg/FloatingPointRange";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_e6af23a23c177fee5f3075c8b1e435162a9b63c863d78c06017460b49684262d");
}

/// What is known of a parameter beside its value.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ParameterDescriptor {
    /// Its name.
    pub name: String,
    /// Its type, see [`parameter_type`].
    pub r#type: u8,
    /// What it is for, to be read by people.
    pub description: String,
    /// What its values have to obey beside the ranges, to be read by people.
    pub additional_constraints: String,
    /// Whether it keeps the value that it was declared with.
    pub read_only: bool,
    /// Whether its type may change.
    pub dynamic_typing: bool,
    /// Its range if it is a floating-point number and has one; one at most.
    pub floating_point_range: Vec<FloatingPointRange>,
    /// Its range if it is an integer and has one; one at most.
    pub integer_range: Vec<IntegerRange>,
}

impl Message for ParameterDescriptor {
    const TYPE: &str = "rcl_interfaces/msg/ParameterDescriptor";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_52175dbfda6c51153101d33d2a9da05743f66f02d5ab2ca9ec4709b46b73d704");
}

/// The value of a parameter: `type` says which of the other fields it is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ParameterValue {
    /// Which field is the value, see [`parameter_type`].
    pub r#type: u8,
    /// A Boolean.
    pub bool_value: bool,
    /// An integer.
    pub integer_value: i64,
    /// A floating-point number.
    pub double_value: f64,
    /// A string.
    pub string_value: String,
    /// Bytes.
    pub byte_array_value: Vec<u8>,
    /// Booleans.
    pub bool_array_value: Vec<bool>,
    /// Integers.
    pub integer_array_value: Vec<i64>,
    /// Floating-point numbers.
    pub double_array_value: Vec<f64>,
    /// Strings.
    pub string_array_value: Vec<String>,
}

impl Message for ParameterValue {
    const TYPE: &str = "rcl_interfaces/msg/ParameterValue";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_115fc089a387e23c7ecd3525c9189c379109119d6ab82e8dfbde0fdf6a7f9b68");
}

/// A parameter's name and value.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The value.
    pub value: ParameterValue,
}

impl Message for Parameter {
    const TYPE: &str = "rcl_interfaces/msg/Parameter";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_ddfe6442cffc462317adb5c92536a7b6dd55858c5c3e1e328165a6b73c2831af");
}

/// How a node's parameters changed: the topic `/parameter_events`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ParameterEvent {
    /// When, in ROS time.
    pub stamp: Time,
    /// The node, with its namespace.
    pub node: String,
    /// Those that were declared.
    pub new_parameters: Vec<Parameter>,
    /// Those that were set.
    pub changed_parameters: Vec<Parameter>,
    /// Those that are no longer declared, with their last values.
    pub deleted_parameters: Vec<Parameter>,
}

impl Message for ParameterEvent {
    const TYPE: &str = "rcl_interfaces/msg/ParameterEvent";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204");
}

/// Names of parameters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListParametersResult {
    /// The names.
    pub names: Vec<String>,
    /// What stands before the last dot of a name, once each.
    pub prefixes: Vec<String>,
}

impl Message for ListParametersResult {
    const TYPE: &str = "rcl_interfaces/msg/ListParametersResult";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_237ae3428413dcbcfb452b510c42355f3a2b021dc091afa3e18526d57022f1cd");
}

/// Whether parameters were set.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SetParametersResult {
    /// Whether they were.
    pub successful: bool,
    /// Why not.
    pub reason: String,
}

impl Message for SetParametersResult {
    const TYPE: &str = "rcl_interfaces/msg/SetParametersResult";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_cfcc0fb0371ee5159b403960ef4300f8f9d2f1fd6117c8666b7f9654d528a9b1");
}

/// A record of a log: the topic `/rosout`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// When, by the system clock.
    pub stamp: Time,
    /// How severe, see [`log_level`].
    pub level: u8,
    /// The logger: a node's namespace and name with dots between.
    pub name: String,
    /// The message.
    pub msg: String,
    /// The file of the source code it is from.
    pub file: String,
    /// The function it is from.
    pub function: String,
    /// The line it is from.
    pub line: u32,
}

impl Message for Log {
    const TYPE: &str = "rcl_interfaces/msg/Log";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac");
}
