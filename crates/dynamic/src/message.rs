//! Messages whose type is known only at run time.

use std::fmt;

use rospin_wire::Given;

use crate::message_type::MessageType;
use crate::value::Value;

/// Message of a [`MessageType`]. It has the fields of the type, with values that fit them.
///
/// Fields are found by paths: `linear.x`, `poses[2].position`, `ranges[7]`. `{}` formats the message as `ros2 topic
/// echo` does, with at most 128 elements or bytes of each field; `{:#}` formats all of them.
///
/// ```
/// use rospin::dynamic::{DynamicMessage, MessageType};
///
/// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
/// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
/// let mut message = DynamicMessage::new(&twist);
/// message.set("linear.x", 0.5)?;
/// assert_eq!(message.get::<f64>("linear.x")?, 0.5);
/// assert_eq!(message.to_string().lines().take(2).collect::<Vec<_>>(), ["linear:", "  x: 0.5"]);
///
/// let error = message.set("linear.w", 0.5).unwrap_err();
/// assert_eq!(error.to_string(), "`linear.w`: geometry_msgs/msg/Vector3 has no field `w`; it has x, y, z");
/// let error = message.set("linear.x", "fast").unwrap_err();
/// assert_eq!(error.to_string(), "`linear.x` is float64, which cannot hold string");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct DynamicMessage {
    message_type: MessageType,
    /// Values of the fields, in order. Each fits its field's type.
    values: Vec<Value>,
}

impl Given for DynamicMessage {}

impl DynamicMessage {
    /// Returns a message whose fields have their default values: those of the type, or else zero, empty or false.
    #[must_use]
    pub fn new(message_type: &MessageType) -> Self {
        let fields = message_type.fields().iter().enumerate();
        let values = fields.map(|(at, field)| field.field_type().default_value(message_type.default_text(at)));
        Self { message_type: message_type.clone(), values: values.collect() }
    }

    /// Returns a message with these values, which must fit.
    pub(crate) const fn with(message_type: MessageType, values: Vec<Value>) -> Self {
        Self { message_type, values }
    }

    /// Returns the message's type.
    #[must_use]
    pub const fn message_type(&self) -> &MessageType {
        &self.message_type
    }

    /// Returns names and values of the fields, in order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.message_type.fields().iter().zip(&self.values).map(|(field, value)| (field.name(), value))
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }
}

impl fmt::Debug for DynamicMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.message_type.name());
        for (name, value) in self.fields() {
            shown.field(name, value);
        }
        shown.finish()
    }
}
