//! Encoding: the fields in order, as serde encodes a struct.

use serde::ser::{SerializeSeq, SerializeTuple};
use serde::{Serialize, Serializer};

use crate::message::DynamicMessage;
use crate::message_type::FieldType;
use crate::value::{Value, scalars};

impl Serialize for DynamicMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.message_type().fields();
        let mut message = serializer.serialize_tuple(fields.len())?;
        for (field, value) in fields.iter().zip(self.values()) {
            message.serialize_element(&Encoded {
                value,
                is_array: matches!(field.field_type(), FieldType::Array { .. }),
            })?;
        }
        message.end()
    }
}

/// A value with its field's shape. The length of an array is not encoded.
struct Encoded<'a> {
    value: &'a Value,
    is_array: bool,
}

impl Encoded<'_> {
    fn many<S: Serializer, T: Serialize>(&self, values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_array {
            let mut array = serializer.serialize_tuple(values.len())?;
            values.iter().try_for_each(|value| array.serialize_element(value))?;
            return array.end();
        }
        let mut sequence = serializer.serialize_seq(Some(values.len()))?;
        values.iter().try_for_each(|value| sequence.serialize_element(value))?;
        sequence.end()
    }
}

/// Implements the encoding of a value, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        impl Serialize for Encoded<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.value {
                    // Bytes are copied as a whole, because images consist of them.
                    Value::UInt8Array(values) if !self.is_array => serializer.serialize_bytes(values),
                    $(
                        Value::$one(value) => value.serialize(serializer),
                        Value::$many(values) => self.many(values, serializer),
                    )*
                    Value::String(text) => text.serialize(serializer),
                    Value::StringArray(texts) => self.many(texts, serializer),
                    Value::Message(message) => message.serialize(serializer),
                    Value::MessageArray(messages) => self.many(messages, serializer),
                }
            }
        }
    };
}

scalars!(of_scalars);
