//! Messages as Python shows them, which is what `ros2 topic pub` and `ros2 service call` print.

use rospin::dynamic::{DynamicMessage, FieldType, Value};

/// The field that ROS 2 gives to a message without fields, and that its tools do not show.
const NOTHING: &str = "structure_needs_at_least_one_member";

/// Returns the message as Python's `repr` does: `std_msgs.msg.String(data='hello')`.
pub(crate) fn repr(message: &DynamicMessage) -> String {
    let message_type = message.message_type();
    let mut fields = Vec::new();
    for ((name, value), field) in message.fields().zip(message_type.fields()) {
        if name != NOTHING {
            fields.push(format!("{name}={}", repr_value(value, field.field_type())));
        }
    }
    format!("{}({})", message_type.name().replace('/', "."), fields.join(", "))
}

/// Returns the value of a field of that type as Python's `repr` does.
fn repr_value(value: &Value, field_type: &FieldType) -> String {
    let Some(length) = value.length() else { return repr_one(value) };
    let mut elements = Vec::with_capacity(length);
    for at in 0..length {
        elements.push(value.element(at).as_ref().map_or(String::new(), repr_one));
    }
    let list = format!("[{}]", elements.join(", "));
    let Some((code, numpy)) = kind_of(value) else { return list };
    match field_type {
        FieldType::Array { .. } => {
            let mut list = list;
            if numpy.starts_with("float") {
                // NumPy leaves out the zero behind the dot.
                list = list.replace(".0,", ".,").replace(".0]", ".]");
            }
            match numpy {
                "float64" | "int64" => format!("array({list})"),
                other => format!("array({list}, dtype={other})"),
            }
        }
        _ if length == 0 => format!("array('{code}')"),
        _ => format!("array('{code}', {list})"),
    }
}

/// Returns Python's code for an array of these numbers, and NumPy's name for them. `None` for what Python keeps in a
/// list.
const fn kind_of(value: &Value) -> Option<(char, &'static str)> {
    Some(match value {
        Value::Int8Array(_) => ('b', "int8"),
        Value::UInt8Array(_) => ('B', "uint8"),
        Value::Int16Array(_) => ('h', "int16"),
        Value::UInt16Array(_) => ('H', "uint16"),
        Value::Int32Array(_) => ('i', "int32"),
        Value::UInt32Array(_) => ('I', "uint32"),
        Value::Int64Array(_) => ('q', "int64"),
        Value::UInt64Array(_) => ('Q', "uint64"),
        Value::Float32Array(_) => ('f', "float32"),
        Value::Float64Array(_) => ('d', "float64"),
        _ => return None,
    })
}

fn repr_one(value: &Value) -> String {
    match value {
        Value::Message(message) => repr(message),
        Value::String(text) => repr_text(text),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => shown(other),
    }
}

/// Returns a value as Python's `str` does: a string as it is, a list in brackets.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Message(message) => repr(message),
        Value::String(text) => text.clone(),
        other => match other.length() {
            None => rospin::dynamic::YamlFormat::new().value_csv(other),
            Some(length) => {
                let elements = (0..length).filter_map(|at| other.element(at));
                format!("[{}]", elements.map(|element| repr_one(&element)).collect::<Vec<_>>().join(", "))
            }
        },
    }
}

/// Returns a string in quotes, as Python writes it.
pub(crate) fn repr_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Returns bytes as Python writes them: `b'\x00a'`.
pub(crate) fn repr_bytes(bytes: &[u8]) -> String {
    let has_quote = bytes.contains(&b'\'') && !bytes.contains(&b'"');
    let quote = if has_quote { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\'' if !has_quote => out.push_str("\\'"),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => out.push_str(&format!("\\x{other:02x}")),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::types;

    #[test]
    fn messages_are_shown_as_python_shows_them() {
        let header = types::message("std_msgs/msg/Header").unwrap();
        let message = DynamicMessage::from_yaml(&header, "{stamp: {sec: 7}, frame_id: it's}").unwrap();
        let expected = "std_msgs.msg.Header(stamp=builtin_interfaces.msg.Time(sec=7, nanosec=0), frame_id=\"it's\")";
        assert_eq!(repr(&message), expected);
        let empty = types::service("std_srvs/srv/Empty").unwrap();
        assert_eq!(repr(&DynamicMessage::new(empty.request())), "std_srvs.srv.Empty_Request()");
        let joints = types::message("sensor_msgs/msg/JointState").unwrap();
        let message = DynamicMessage::from_yaml(&joints, "{name: [a], position: [1, 0.5]}").unwrap();
        let shown = repr(&message);
        assert!(
            shown.ends_with("name=['a'], position=array('d', [1.0, 0.5]), velocity=array('d'), effort=array('d'))"),
            "{shown}"
        );
    }

    #[test]
    fn texts_and_bytes_are_escaped() {
        assert_eq!(repr_text("a'b\"\n"), "'a\\'b\"\\n'");
        assert_eq!(repr_bytes(b"\0a'\n"), "b\"\\x00a'\\n\"");
    }
}
