//! Values and descriptions of parameters as text, as `ros2 param` prints them.

use std::fmt::Write;

use rospin::dynamic::{Value, YamlFormat};
use rospin::message::interfaces::rcl_interfaces::ParameterDescriptor;
use rospin::parameters::ParameterValue;

use crate::ros::python;

/// Returns the name of a parameter's type by its number.
pub(super) const fn type_name(code: u8) -> &'static str {
    match code {
        0 => "not set",
        1 => "boolean",
        2 => "integer",
        3 => "double",
        4 => "string",
        5 => "byte array",
        6 => "boolean array",
        7 => "integer array",
        8 => "double array",
        9 => "string array",
        _ => "unknown",
    }
}

/// Returns the words before a value, such as `Integer value is:`, and the value as Python shows it. The value is `None`
/// for a parameter that is not set.
pub(super) fn labelled(value: &ParameterValue) -> (&'static str, Option<String>) {
    match value {
        ParameterValue::Bool(_) => ("Boolean value is:", Some(shown(value))),
        ParameterValue::Integer(_) => ("Integer value is:", Some(shown(value))),
        ParameterValue::Double(_) => ("Double value is:", Some(shown(value))),
        ParameterValue::String(_) => ("String value is:", Some(shown(value))),
        ParameterValue::ByteArray(_) => ("Byte values are:", Some(shown(value))),
        ParameterValue::BoolArray(_) => ("Boolean values are:", Some(shown(value))),
        ParameterValue::IntegerArray(_) => ("Integer values are:", Some(shown(value))),
        ParameterValue::DoubleArray(_) => ("Double values are:", Some(shown(value))),
        ParameterValue::StringArray(_) => ("String values are:", Some(shown(value))),
        _ => ("Parameter not set.", None),
    }
}

/// Returns a parameter's value as the value of a message's field; `None` for a parameter that is not set.
fn field(value: &ParameterValue) -> Option<Value> {
    Some(match value {
        ParameterValue::Bool(value) => Value::Bool(*value),
        ParameterValue::Integer(value) => Value::Int64(*value),
        ParameterValue::Double(value) => Value::Float64(*value),
        ParameterValue::String(value) => Value::String(value.clone()),
        ParameterValue::ByteArray(values) => Value::UInt8Array(values.clone()),
        ParameterValue::BoolArray(values) => Value::BoolArray(values.clone()),
        ParameterValue::IntegerArray(values) => Value::Int64Array(values.clone()),
        ParameterValue::DoubleArray(values) => Value::Float64Array(values.clone()),
        ParameterValue::StringArray(values) => Value::StringArray(values.clone()),
        _ => return None,
    })
}

fn shown(value: &ParameterValue) -> String {
    if let ParameterValue::ByteArray(bytes) = value {
        let bytes: Vec<_> = bytes.iter().map(|byte| python::repr_bytes(&[*byte])).collect();
        return format!("[{}]", bytes.join(", "));
    }
    field(value).map_or_else(|| "None".to_owned(), |value| python::shown(&value))
}

/// Returns a value as YAML; elements are on lines of their own, each indented by so many spaces.
pub(super) fn yaml(value: &ParameterValue, indent: usize) -> String {
    let Some(value) = field(value) else { return " null".to_owned() };
    let text = YamlFormat::new().truncate_length(None).value_text(&value);
    if value.length().is_none_or(|length| length == 0) {
        return format!(" {text}");
    }
    let mut lines = String::new();
    for line in text.lines() {
        let _ = write!(lines, "\n{:indent$}{line}", "");
    }
    lines
}

/// Returns a description as `ros2 param describe` prints it.
pub(super) fn description(of: &ParameterDescriptor) -> String {
    let mut text = format!("Parameter name: {}\n  Type: {}\n", of.name, type_name(of.r#type));
    if !of.description.is_empty() {
        let _ = writeln!(text, "  Description: {}", of.description);
    }
    text.push_str("  Constraints:\n");
    if of.read_only {
        text.push_str("    Read only: true\n");
    }
    let number = |value: f64| python::shown(&Value::Float64(value));
    let floating = of.floating_point_range.iter();
    let floating =
        floating.map(|range| (number(range.from_value), number(range.to_value), range.step != 0.0, number(range.step)));
    let integers = of.integer_range.iter();
    let integers = integers.map(|range| {
        (range.from_value.to_string(), range.to_value.to_string(), range.step != 0, range.step.to_string())
    });
    if let Some((from, to, has_step, step)) = floating.chain(integers).next() {
        let _ = writeln!(text, "    Min value: {from}\n    Max value: {to}");
        if has_step {
            let _ = writeln!(text, "    Step: {step}");
        }
    }
    if !of.additional_constraints.is_empty() {
        let _ = writeln!(text, "    Additional constraints: {}", of.additional_constraints);
    }
    text
}
