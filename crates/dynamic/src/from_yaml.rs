//! Messages from YAML, in the manner of `ros2 topic pub` and `ros2 service call`.
//!
//! The field's type decides what a scalar means, so the text of a string need not be quoted: `{data: 12}` is the string
//! `12` where the field is one.

use crate::access::SetFieldError;
use crate::message::DynamicMessage;
use crate::message_type::{FieldType, MessageType};
use crate::path::PathError;
use crate::scalar::boolean;
use crate::tree::{self, Content, Node, Scalar};
use crate::value::Value;

/// Reasons for which a text is no message of a type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FromYamlError {
    /// The text is not YAML.
    #[error("line {line}: {reason}")]
    Syntax {
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// The text, or the value of a field that is a message, is no mapping.
    #[error("{place} is {message_type}; write its fields in braces, such as `{{{example}: ...}}`")]
    NoFields {
        /// The field, or "the value" if it is the whole text.
        place: String,
        /// The type of the message.
        message_type: String,
        /// Name of a field of the message.
        example: String,
    },
    /// A message has no field of that name.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The text of a field is no value of its type.
    #[error("`{path}` is {field_type}, which cannot be `{text}`")]
    Scalar {
        /// Path of the field.
        path: String,
        /// The field's type.
        field_type: String,
        /// The text.
        text: String,
    },
    /// A field that is an array or a sequence has no list.
    #[error("`{path}` is {field_type}; write its elements in brackets, such as `[a, b]`")]
    NoList {
        /// Path of the field.
        path: String,
        /// The field's type.
        field_type: String,
    },
    /// The value does not fit the field's type, such as a list that is too long.
    #[error(transparent)]
    Set(#[from] SetFieldError),
}

impl DynamicMessage {
    /// Returns a message with the values of a YAML text; fields that the text does not have keep their defaults.
    ///
    /// ```
    /// use rospin::dynamic::{DynamicMessage, MessageType};
    ///
    /// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
    /// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
    /// let message = DynamicMessage::from_yaml(&twist, "{linear: {x: 1.5}, angular: {z: -2}}")?;
    /// assert_eq!(message.get::<f64>("angular.z")?, -2.0);
    /// let error = DynamicMessage::from_yaml(&twist, "{linear: {w: 1.5}}").unwrap_err();
    /// assert_eq!(error.to_string(), "`linear.w`: geometry_msgs/msg/Vector3 has no field `w`; it has x, y, z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not YAML, or does not fit the type.
    pub fn from_yaml(message_type: &MessageType, text: &str) -> Result<Self, FromYamlError> {
        Reader { now: None }.read(message_type, text)
    }

    /// Returns a message with the values of a YAML text, in which `now` stands for this time in a
    /// `builtin_interfaces/msg/Time`, and `auto` in a `std_msgs/msg/Header` for a header with this time.
    ///
    /// # Errors
    /// Those of [`from_yaml`](Self::from_yaml).
    pub fn from_yaml_at(
        message_type: &MessageType,
        text: &str,
        seconds: i32,
        nanoseconds: u32,
    ) -> Result<Self, FromYamlError> {
        Reader { now: Some((seconds, nanoseconds)) }.read(message_type, text)
    }
}

struct Reader {
    /// Seconds and nanoseconds that `now` stands for, if it may be written.
    now: Option<(i32, u32)>,
}

impl Reader {
    fn read(&self, message_type: &MessageType, text: &str) -> Result<DynamicMessage, FromYamlError> {
        let documents =
            tree::read(text).map_err(|problem| FromYamlError::Syntax { line: problem.line, reason: problem.reason })?;
        let mut message = DynamicMessage::new(message_type);
        match &documents[..] {
            [] => {}
            [only] if only.is_nothing() => {}
            [only] => self.fill(&mut message, only, "")?,
            [_, second, ..] => {
                let reason = "a second document begins here; write one".to_owned();
                return Err(FromYamlError::Syntax { line: second.line, reason });
            }
        }
        Ok(message)
    }

    /// Sets the fields of a message, which is the field at `path`, or the whole message if that is empty.
    fn fill(&self, message: &mut DynamicMessage, node: &Node, path: &str) -> Result<(), FromYamlError> {
        let message_type = message.message_type().clone();
        let Content::Mapping(entries) = &node.content else {
            if self.fill_now(message, node) {
                return Ok(());
            }
            let place = if path.is_empty() { "the value".to_owned() } else { format!("`{path}`") };
            let example = message_type.fields().first().map_or("", |field| field.name()).to_owned();
            return Err(FromYamlError::NoFields { place, message_type: message_type.name().to_owned(), example });
        };
        for entry in entries {
            let whole = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            let Some(at) = message_type.position(&entry.key) else {
                let known = message_type.fields().iter().map(|field| field.name()).collect::<Vec<_>>().join(", ");
                let (message_type, name) = (message_type.name().to_owned(), entry.key.clone());
                return Err(PathError::NoField { path: whole, message_type, name, known }.into());
            };
            // A field that is not written keeps its default.
            if is_null(&entry.value) {
                continue;
            }
            let field_type = message_type.fields()[at].field_type();
            let value = self.value(&message.values()[at], field_type, &entry.value, &whole)?;
            message.values_mut()[at] = fitted(value, field_type, &whole)?;
        }
        Ok(())
    }

    /// Sets a message to the time, if the node asks for that and the message has one. Returns true if so.
    fn fill_now(&self, message: &mut DynamicMessage, node: &Node) -> bool {
        let (Some((seconds, nanoseconds)), Content::Scalar(Scalar { text, .. })) = (self.now, &node.content) else {
            return false;
        };
        let (sec, nanosec) = match (message.message_type().name(), text.as_str()) {
            ("builtin_interfaces/msg/Time", "now") => ("sec", "nanosec"),
            ("std_msgs/msg/Header", "auto") => ("stamp.sec", "stamp.nanosec"),
            _ => return false,
        };
        message.set(sec, seconds).is_ok() && message.set(nanosec, nanoseconds).is_ok()
    }

    /// Returns the value that a node means. `default` is the field's value before.
    fn value(&self, default: &Value, field_type: &FieldType, node: &Node, path: &str) -> Result<Value, FromYamlError> {
        match (field_type, &node.content) {
            (FieldType::Message(message_type), _) => {
                let mut message = match default {
                    Value::Message(message) => message.clone(),
                    _ => DynamicMessage::new(message_type),
                };
                self.fill(&mut message, node, path)?;
                Ok(Value::Message(message))
            }
            (FieldType::Array { of, .. } | FieldType::Sequence { of, .. }, Content::List(nodes)) => {
                let mut elements = Vec::with_capacity(nodes.len());
                for (at, node) in nodes.iter().enumerate() {
                    let path = format!("{path}[{at}]");
                    let default = of.default_value("");
                    elements.push(fitted(self.value(&default, of, node, &path)?, of, &path)?);
                }
                Ok(many(of, elements))
            }
            (FieldType::Array { .. } | FieldType::Sequence { .. }, _) => {
                Err(FromYamlError::NoList { path: path.to_owned(), field_type: field_type.to_string() })
            }
            (_, Content::Scalar(scalar)) => one(field_type, scalar).ok_or_else(|| FromYamlError::Scalar {
                path: path.to_owned(),
                field_type: field_type.to_string(),
                text: scalar.text.clone(),
            }),
            (_, Content::List(_) | Content::Mapping(_)) => {
                let text = if matches!(node.content, Content::List(_)) { "a list" } else { "a mapping" }.to_owned();
                Err(FromYamlError::Scalar { path: path.to_owned(), field_type: field_type.to_string(), text })
            }
        }
    }
}

/// Returns true for `null` and its like, and where nothing is written.
fn is_null(node: &Node) -> bool {
    let Content::Scalar(scalar) = &node.content else { return false };
    node.is_nothing()
        || (!scalar.is_quoted
            && !scalar.is_tagged_text
            && matches!(scalar.text.as_str(), "~" | "null" | "Null" | "NULL"))
}

/// Returns the value of a scalar for a field that is neither a message nor has elements.
fn one(field_type: &FieldType, scalar: &Scalar) -> Option<Value> {
    let text = scalar.text.as_str();
    match field_type {
        FieldType::String { .. } => Some(Value::String(text.to_owned())),
        FieldType::Bool => match text {
            "1" => Some(Value::Bool(true)),
            "0" => Some(Value::Bool(false)),
            _ => boolean(text).map(Value::Bool),
        },
        FieldType::Float32 | FieldType::Float64 => float(text).map(Value::Float64),
        _ => integer(text).map(|number| match i64::try_from(number) {
            Ok(number) => Value::Int64(number),
            Err(_) => Value::UInt64(u64::try_from(number).unwrap_or(u64::MAX)),
        }),
    }
}

/// Returns an integer: decimal, hexadecimal with `0x`, binary with `0b`, octal with `0o` or `0`, with underscores
/// between digits, or a floating-point number without a fraction. `None` if the text is no integer, or one that no field
/// can hold.
fn integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain = digits.replace('_', "");
    let prefixed = |prefix: &str, radix| plain.strip_prefix(prefix).map(|digits| i128::from_str_radix(digits, radix));
    let parsed = prefixed("0x", 16).or_else(|| prefixed("0b", 2)).or_else(|| prefixed("0o", 8));
    let parsed = match parsed {
        Some(parsed) => parsed.ok(),
        None if plain.len() > 1 && plain.chars().all(|c| c.is_digit(8)) && plain.starts_with('0') => {
            i128::from_str_radix(&plain, 8).ok()
        }
        None => plain.parse().ok(),
    };
    let number = match parsed {
        Some(number) => number,
        None => {
            let number: f64 = plain.parse().ok()?;
            // Beyond that, neighbouring integers are the same floating-point number.
            if number.fract() != 0.0 || number.abs() > 9_007_199_254_740_992.0 {
                return None;
            }
            number as i128
        }
    };
    let number = if is_negative { -number } else { number };
    if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number) { Some(number) } else { None }
}

fn float(text: &str) -> Option<f64> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match rest.to_ascii_lowercase().as_str() {
        ".inf" | "inf" | "infinity" => f64::INFINITY,
        ".nan" | "nan" => f64::NAN,
        _ if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') => return None,
        _ => match rest.replace('_', "").parse() {
            Ok(value) => value,
            Err(_) => integer(rest)? as f64,
        },
    };
    Some(if is_negative { -value } else { value })
}

/// Returns values of one type as one value.
fn many(of: &FieldType, elements: Vec<Value>) -> Value {
    let mut all = FieldType::Array { of: Box::new(of.clone()), length: elements.len() }.default_value("");
    for (at, element) in elements.into_iter().enumerate() {
        all.set_element(at, element);
    }
    all
}

/// Converts a value to the field's type.
fn fitted(value: Value, field_type: &FieldType, path: &str) -> Result<Value, FromYamlError> {
    crate::access::fit_at(value, field_type, path).map_err(FromYamlError::Set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_type as id;
    use crate::tests::{build, field, individual, nested};

    fn read(text: &str) -> Result<DynamicMessage, String> {
        let time =
            individual("builtin_interfaces/msg/Time", vec![field("sec", id::INT32), field("nanosec", id::UINT32)]);
        let header = individual(
            "std_msgs/msg/Header",
            vec![nested("stamp", 1, "builtin_interfaces/msg/Time"), field("frame_id", id::STRING)],
        );
        let fields = vec![
            field("on", id::BOOLEAN),
            field("small", id::INT8),
            field("large", id::UINT64),
            field("ratio", id::FLOAT),
            field("name", id::STRING),
            field("names", id::STRING + id::UNBOUNDED_SEQUENCE),
            field("numbers", id::INT32 + id::UNBOUNDED_SEQUENCE),
            nested("header", 1, "std_msgs/msg/Header"),
            nested("times", id::NESTED_TYPE + id::UNBOUNDED_SEQUENCE, "builtin_interfaces/msg/Time"),
        ];
        let message_type = build(fields, vec![header, time]).unwrap();
        DynamicMessage::from_yaml_at(&message_type, text, 7, 8).map_err(|error| error.to_string())
    }

    #[test]
    fn the_field_decides_what_a_scalar_means() {
        for (text, path, expected) in [
            ("on: yes", "on", Value::Bool(true)),
            ("{on: 0}", "on", Value::Bool(false)),
            ("small: -128", "small", Value::Int8(-128)),
            ("small: 0x1f", "small", Value::Int8(31)),
            ("small: 010", "small", Value::Int8(8)),
            ("small: 0o17", "small", Value::Int8(15)),
            ("small: 2.0", "small", Value::Int8(2)),
            ("large: 18446744073709551615", "large", Value::UInt64(u64::MAX)),
            ("large: 1_000", "large", Value::UInt64(1000)),
            ("ratio: 1", "ratio", Value::Float32(1.0)),
            ("ratio: 1e3", "ratio", Value::Float32(1000.0)),
            ("ratio: -.inf", "ratio", Value::Float32(f32::NEG_INFINITY)),
            ("name: 12", "name", Value::from("12")),
            ("name: 'yes'", "name", Value::from("yes")),
            ("{name: Hello World}", "name", Value::from("Hello World")),
            ("name: null", "name", Value::from("")),
            ("names: [a, 1, true]", "names", Value::from(vec!["a", "1", "true"])),
            ("numbers: [1, -2]", "numbers", Value::from(vec![1, -2])),
            ("numbers: []", "numbers", Value::Int32Array(Vec::new())),
            ("header: {frame_id: map}", "header.frame_id", Value::from("map")),
            ("header: auto", "header.stamp.nanosec", Value::UInt32(8)),
            ("header: {stamp: now}", "header.stamp.sec", Value::Int32(7)),
            ("times: [{sec: 1}, now]", "times[1].sec", Value::Int32(7)),
            ("times: [{sec: 1}, now]", "times[0].sec", Value::Int32(1)),
            ("", "small", Value::Int8(0)),
            ("{}", "small", Value::Int8(0)),
        ] {
            let message = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(*message.value(path).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_path() {
        for (text, expected) in [
            ("small: 128", "`small` is int8, which cannot hold 128"),
            ("small: 1.5", "`small` is int8, which cannot be `1.5`"),
            ("small: one", "`small` is int8, which cannot be `one`"),
            ("small: [1]", "`small` is int8, which cannot be `a list`"),
            ("large: -1", "`large` is uint64, which cannot hold -1"),
            ("large: 99999999999999999999", "`large` is uint64, which cannot be `99999999999999999999`"),
            ("on: maybe", "`on` is bool, which cannot be `maybe`"),
            ("ratio: 1e60", "`ratio` is float32, which cannot hold 1e60"),
            ("numbers: 1", "`numbers` is int32[]; write its elements in brackets, such as `[a, b]`"),
            ("numbers: [1, b]", "`numbers[1]` is int32, which cannot be `b`"),
            (
                "header: {stamp: {secs: 1}}",
                "`header.stamp.secs`: builtin_interfaces/msg/Time has no field `secs`; it has sec, nanosec",
            ),
            ("header: later", "`header` is std_msgs/msg/Header; write its fields in braces, such as `{stamp: ...}`"),
            ("12", "the value is test_msgs/msg/Main; write its fields in braces, such as `{on: ...}`"),
            ("on: yes\n---\non: no", "line 3: a second document begins here; write one"),
            ("{on: ", "line 1: "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
