//! Messages as text: YAML in the manner of `ros2 topic echo`, and values with commas between them.

use std::fmt::{self, Display, Formatter};

use crate::field_type;
use crate::message::DynamicMessage;
use crate::message_type::{FieldType, MessageType};
use crate::scalar::{append, float, python_float};
use crate::value::{Value, scalars};

/// Largest number of elements, or of characters of a string, that `{}` shows of a field.
const SHOWN_MAX: usize = 128;

/// The field that ROS 2 gives to a message without fields, and that its tools do not show.
const NOTHING: &str = "structure_needs_at_least_one_member";

/// Format of messages as text, by the options of `ros2 topic echo`.
///
/// ```
/// use rospin::dynamic::{DynamicMessage, MessageType, YamlFormat};
///
/// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
/// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
/// let mut message = DynamicMessage::new(&twist);
/// message.set("linear.x", 0.5)?;
/// let flow = YamlFormat::new().flow_style(true).truncate_length(Some(8)).no_arr(true).no_str(true);
/// assert_eq!(flow.text(&message), "{linear: {x: 0.5, y: 0.0, z: 0.0}, angular: {x: 0.0, y: 0.0, z: 0.0}}");
/// assert_eq!(YamlFormat::new().csv(&message), "0.5,0.0,0.0,0.0,0.0,0.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YamlFormat {
    length_max: Option<usize>,
    has_arrays: bool,
    has_strings: bool,
    is_flow: bool,
}

impl Default for YamlFormat {
    fn default() -> Self {
        Self::new()
    }
}

impl YamlFormat {
    /// Returns the format that shows at most 128 elements or characters of a field.
    #[must_use]
    pub const fn new() -> Self {
        Self { length_max: Some(SHOWN_MAX), has_arrays: true, has_strings: true, is_flow: false }
    }

    /// Sets the largest number of elements, or of characters of a string, that is shown of a field; `None` for all.
    #[must_use]
    pub const fn truncate_length(mut self, max: Option<usize>) -> Self {
        self.length_max = max;
        self
    }

    /// Shows types and lengths of arrays and sequences in place of their elements, or shows the elements.
    #[must_use]
    pub const fn no_arr(mut self, yes: bool) -> Self {
        self.has_arrays = !yes;
        self
    }

    /// Shows the lengths of strings in place of them, or shows the strings.
    #[must_use]
    pub const fn no_str(mut self, yes: bool) -> Self {
        self.has_strings = !yes;
        self
    }

    /// Writes a message on one line with braces, or one line for each value.
    #[must_use]
    pub const fn flow_style(mut self, yes: bool) -> Self {
        self.is_flow = yes;
        self
    }

    /// Returns the message as YAML, without a line feed at its end.
    #[must_use]
    pub fn text(&self, message: &DynamicMessage) -> String {
        let mut writer = Writer { format: *self, out: String::new() };
        writer.message(message, 0);
        writer.out
    }

    /// Returns a value as YAML, without a line feed at its end.
    #[must_use]
    pub fn value_text(&self, value: &Value) -> String {
        let mut writer = Writer { format: *self, out: String::new() };
        writer.value(value, false, 0);
        writer.out
    }

    /// Returns all values of the message with commas between them, as `ros2 topic echo --csv` does.
    #[must_use]
    pub fn csv(&self, message: &DynamicMessage) -> String {
        let mut values = Vec::new();
        for (at, (name, value)) in message.fields().enumerate() {
            if name == NOTHING {
                continue;
            }
            match self.abbreviated(message.message_type(), at, value) {
                Some(text) => values.push(text),
                None => values.push(self.csv_value(value, is_byte(message.message_type(), at))),
            }
        }
        values.join(",")
    }

    /// Returns a value as `ros2 topic echo --csv` does.
    #[must_use]
    pub fn value_csv(&self, value: &Value) -> String {
        self.csv_value(value, false)
    }

    fn csv_value(&self, value: &Value, is_byte: bool) -> String {
        let Some(length) = value.length() else {
            return match value {
                Value::Message(message) => self.csv(message),
                Value::String(text) => self.shown(text),
                Value::Bool(true) => "True".to_owned(),
                Value::Bool(false) => "False".to_owned(),
                Value::UInt8(byte) if is_byte => format!("b'{}'", [*byte].escape_ascii()),
                Value::Float32(number) => python_float(f64::from(*number)),
                Value::Float64(number) => python_float(*number),
                other => number(other),
            };
        };
        let shown = self.length_max.map_or(length, |max| max.min(length));
        let mut values = Vec::with_capacity(shown);
        for at in 0..shown {
            values.push(value.element(at).map_or(String::new(), |element| self.csv_value(&element, is_byte)));
        }
        if shown < length {
            values.push("...".to_owned());
        }
        values.join(",")
    }

    /// Returns a string as it is shown: cut if it is long, or its length.
    fn shown(&self, text: &str) -> String {
        if !self.has_strings {
            return format!("<string length: <{}>>", text.chars().count());
        }
        match self.length_max.and_then(|max| text.char_indices().nth(max)) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }

    /// Returns what is shown of an array or a sequence in place of its elements; `None` if these are shown, or the
    /// value has none.
    fn abbreviated(&self, message_type: &MessageType, at: usize, value: &Value) -> Option<String> {
        if self.has_arrays {
            return None;
        }
        let length = value.length()?;
        let name = |of: &FieldType| match of {
            FieldType::Bool => "boolean".to_owned(),
            FieldType::Float32 => "float".to_owned(),
            FieldType::Float64 => "double".to_owned(),
            FieldType::UInt8 if is_byte(message_type, at) => "octet".to_owned(),
            FieldType::String { .. } => "string".to_owned(),
            other => other.to_string(),
        };
        Some(match message_type.fields()[at].field_type() {
            FieldType::Array { of, length } => format!("<array type: {}[{length}]>", name(of)),
            FieldType::Sequence { of, max: Some(max) } => {
                format!("<sequence type: {}[{max}], length: {length}>", name(of))
            }
            FieldType::Sequence { of, max: None } => format!("<sequence type: {}, length: {length}>", name(of)),
            _ => return None,
        })
    }
}

impl Display for DynamicMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&format_of(f).text(self))
    }
}

/// Formats the value on one line, unless it is a message or has several elements.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&format_of(f).value_text(self))
    }
}

/// Returns the format of `{}`, or that of `{:#}`, which shows everything.
fn format_of(f: &Formatter<'_>) -> YamlFormat {
    let format = YamlFormat::new();
    if f.alternate() { format.truncate_length(None) } else { format }
}

/// Returns true if the type says `byte`, which the tools of ROS 2 show as a character.
fn is_byte(message_type: &MessageType, at: usize) -> bool {
    message_type.type_id(at) % field_type::ARRAY == field_type::BYTE
}

struct Writer {
    format: YamlFormat,
    out: String,
}

impl Writer {
    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Writes the fields, one per line, or in braces. The first one goes where the cursor is.
    fn message(&mut self, of: &DynamicMessage, indent: usize) {
        let is_flow = self.format.is_flow;
        let mut is_first = true;
        for (at, (name, value)) in of.fields().enumerate() {
            if name == NOTHING {
                continue;
            }
            match (is_flow, is_first) {
                (true, true) => self.out.push('{'),
                (true, false) => self.out.push_str(", "),
                (false, true) => {}
                (false, false) => self.line(indent),
            }
            is_first = false;
            self.out.push_str(name);
            self.out.push(':');
            if let Some(text) = self.format.abbreviated(of.message_type(), at, value) {
                self.out.push(' ');
                append(&mut self.out, &text, indent + 2, is_flow);
                continue;
            }
            let is_byte = is_byte(of.message_type(), at);
            match value {
                Value::Message(nested) if !is_flow && has_fields(nested) => {
                    self.line(indent + 2);
                    self.message(nested, indent + 2);
                }
                value if !is_flow && value.length().is_some_and(|length| length > 0) => {
                    self.line(indent);
                    self.value(value, is_byte, indent);
                }
                value => {
                    self.out.push(' ');
                    self.value(value, is_byte, indent);
                }
            }
        }
        match (is_flow, is_first) {
            (true, false) => self.out.push('}'),
            (_, true) => self.out.push_str("{}"),
            (false, false) => {}
        }
    }

    /// Writes a value. Elements are in brackets, or each on a line of its own, the first one where the cursor is.
    fn value(&mut self, value: &Value, is_byte: bool, indent: usize) {
        let Some(length) = value.length() else { return self.one(value, is_byte, indent) };
        let is_flow = self.format.is_flow;
        if is_flow || length == 0 {
            self.out.push('[');
        }
        let shown = self.format.length_max.map_or(length, |max| max.min(length));
        for at in 0..shown {
            self.separate(at, indent);
            match value {
                Value::MessageArray(messages) => self.message(&messages[at], indent + 2),
                Value::StringArray(texts) => {
                    let text = self.format.shown(&texts[at]);
                    append(&mut self.out, &text, indent + 2, is_flow);
                }
                others => {
                    if let Some(element) = others.element(at) {
                        self.one(&element, is_byte, indent);
                    }
                }
            }
        }
        if shown < length {
            self.separate(shown, indent);
            self.out.push_str("'...'");
        }
        if is_flow || length == 0 {
            self.out.push(']');
        }
    }

    /// Begins an element.
    fn separate(&mut self, at: usize, indent: usize) {
        match (self.format.is_flow, at) {
            (true, 0) => {}
            (true, _) => self.out.push_str(", "),
            (false, 0) => self.out.push_str("- "),
            (false, _) => {
                self.line(indent);
                self.out.push_str("- ");
            }
        }
    }

    /// Writes a value that has no elements.
    fn one(&mut self, value: &Value, is_byte: bool, indent: usize) {
        match value {
            Value::Message(message) => self.message(message, indent),
            Value::UInt8(byte) if is_byte => {
                append(&mut self.out, &char::from(*byte).to_string(), indent + 2, self.format.is_flow);
            }
            Value::String(text) => {
                let text = self.format.shown(text);
                append(&mut self.out, &text, indent + 2, self.format.is_flow);
            }
            Value::Float32(number) => self.out.push_str(&float(f64::from(*number))),
            Value::Float64(number) => self.out.push_str(&float(*number)),
            other => self.out.push_str(&number(other)),
        }
    }
}

/// Returns true if the message has a field that is shown.
fn has_fields(message: &DynamicMessage) -> bool {
    message.fields().any(|(name, _)| name != NOTHING)
}

/// Defines the format of single values, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        /// Returns a number or a Boolean as text.
        fn number(value: &Value) -> String {
            match value {
                $(Value::$one(value) => value.to_string(),)*
                _ => String::new(),
            }
        }
    };
}

scalars!(of_scalars);
