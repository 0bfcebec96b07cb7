//! Decoding. CDR does not describe its content, so the decoder walks the type.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};

use crate::message::DynamicMessage;
use crate::message_type::{Field, FieldType, MessageType};
use crate::value::{Value, scalars};

/// Number of elements for which memory is allocated before they are read.
const AHEAD_MAX: usize = 1024;

/// The seed with which serde decodes messages of a type. Cheap to clone.
///
/// Lengths in the input are not trusted: they are checked against bounds, and memory is allocated as elements arrive.
#[derive(Clone, Debug)]
pub struct DynamicSeed(MessageType);

impl DynamicSeed {
    /// Returns the seed of a type.
    #[must_use]
    pub fn new(message_type: &MessageType) -> Self {
        Self(message_type.clone())
    }
}

impl<'de> DeserializeSeed<'de> for DynamicSeed {
    type Value = DynamicMessage;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DynamicMessage, D::Error> {
        MessageSeed(&self.0).deserialize(deserializer)
    }
}

#[derive(Clone, Copy)]
struct MessageSeed<'a>(&'a MessageType);

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = DynamicMessage;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DynamicMessage, D::Error> {
        deserializer.deserialize_tuple(self.0.fields().len(), self)
    }
}

impl<'de> Visitor<'de> for MessageSeed<'_> {
    type Value = DynamicMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of type {}", self.0.name())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<DynamicMessage, A::Error> {
        let mut values = Vec::with_capacity(self.0.fields().len());
        for (at, field) in self.0.fields().iter().enumerate() {
            let value = fields.next_element_seed(FieldSeed(field))?;
            values.push(value.ok_or_else(|| A::Error::invalid_length(at, &self))?);
        }
        Ok(DynamicMessage::with(self.0.clone(), values))
    }
}

struct FieldSeed<'a>(&'a Field);

/// The seed of a string, which may have a bound.
#[derive(Clone, Copy)]
struct StringSeed<'a> {
    field: &'a str,
    max: Option<usize>,
}

impl<'de> DeserializeSeed<'de> for StringSeed<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let text: String = serde::Deserialize::deserialize(deserializer)?;
        match self.max {
            Some(max) if text.len() > max => {
                Err(D::Error::custom(format!("`{}` has {} bytes, and may have {max}", self.field, text.len())))
            }
            _ => Ok(text),
        }
    }
}

/// The seed of the elements of an array or a sequence.
struct Elements<'a, S> {
    field: &'a str,
    one: S,
    bound: Bound,
}

/// Number of elements that an array or a sequence may have.
#[derive(Clone, Copy)]
enum Bound {
    Exactly(usize),
    AtMost(usize),
    None,
}

impl<'de, S: DeserializeSeed<'de> + Clone> Elements<'_, S> {
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<S::Value>, D::Error> {
        match self.bound {
            Bound::Exactly(length) => deserializer.deserialize_tuple(length, self),
            Bound::AtMost(_) | Bound::None => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de, S: DeserializeSeed<'de> + Clone> Visitor<'de> for Elements<'_, S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::Exactly(length) => write!(f, "`{}` with {length} elements", self.field),
            Bound::AtMost(max) => write!(f, "`{}` with no more than {max} elements", self.field),
            Bound::None => write!(f, "`{}`", self.field),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<S::Value>, A::Error> {
        let (ahead, max) = match self.bound {
            Bound::Exactly(length) => (length, length),
            Bound::AtMost(max) => (0, max),
            Bound::None => (0, usize::MAX),
        };
        let ahead = elements.size_hint().unwrap_or(ahead).min(AHEAD_MAX);
        let mut values = Vec::with_capacity(ahead);
        while let Some(value) = elements.next_element_seed(self.one.clone())? {
            if values.len() == max {
                return Err(A::Error::invalid_length(max + 1, &self));
            }
            values.push(value);
        }
        match self.bound {
            Bound::Exactly(length) if values.len() < length => Err(A::Error::invalid_length(values.len(), &self)),
            _ => Ok(values),
        }
    }
}

/// The seed of a sequence of bytes, which are copied at once, since images consist of them.
struct Bytes<'a>(Elements<'a, PhantomData<u8>>);

impl<'a> Bytes<'a> {
    fn check<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        match self.0.bound {
            Bound::AtMost(max) if bytes.len() > max => Err(E::invalid_length(bytes.len(), &self.0)),
            _ => Ok(bytes),
        }
    }
}

impl<'de> Visitor<'de> for Bytes<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        self.check(bytes.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        self.check(bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Vec<u8>, A::Error> {
        self.0.visit_seq(elements)
    }
}

/// Implements the seed of a field, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
            type Value = Value;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                let field = self.0.name();
                let (of, bound) = match self.0.field_type() {
                    $(FieldType::$one => {
                        return PhantomData::<$rust>.deserialize(deserializer).map(Value::$one);
                    })*
                    FieldType::String { max } => {
                        return StringSeed { field, max: *max }.deserialize(deserializer).map(Value::String);
                    }
                    FieldType::Message(of) => {
                        return MessageSeed(of).deserialize(deserializer).map(Value::Message);
                    }
                    FieldType::Array { of, length } => (of, Bound::Exactly(*length)),
                    FieldType::Sequence { of, max } => (of, max.map_or(Bound::None, Bound::AtMost)),
                };
                match &**of {
                    FieldType::UInt8 if !matches!(bound, Bound::Exactly(_)) => {
                        let bytes = Bytes(Elements { field, one: PhantomData, bound });
                        deserializer.deserialize_byte_buf(bytes).map(Value::UInt8Array)
                    }
                    $(FieldType::$one => {
                        let one = PhantomData::<$rust>;
                        Elements { field, one, bound }.deserialize(deserializer).map(Value::$many)
                    })*
                    FieldType::String { max } => {
                        let one = StringSeed { field, max: *max };
                        Elements { field, one, bound }.deserialize(deserializer).map(Value::StringArray)
                    }
                    FieldType::Message(of) => {
                        Elements { field, one: MessageSeed(of), bound }.deserialize(deserializer).map(Value::MessageArray)
                    }
                    FieldType::Array { .. } | FieldType::Sequence { .. } => {
                        Err(D::Error::custom(format!("`{field}` has arrays in an array, which there are not")))
                    }
                }
            }
        }
    };
}

scalars!(of_scalars);
