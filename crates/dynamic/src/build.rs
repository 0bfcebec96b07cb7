//! Construction of types from descriptions. Everything that can be wrong with a description is found here, and nowhere
//! else.
//!
//! A type that nests deeply, or takes much memory when it is empty, is refused: a description may come from the
//! network.

use std::collections::{BTreeMap, BTreeSet};

use rospin_msgs::type_description_interfaces::msg::{self as wire, IndividualTypeDescription, TypeDescription};
use rospin_wire::TypeName;

use crate::error::{DEPTH_MAX, MEMORY_MAX, MessageTypeError};
use crate::field_type;
use crate::message::DynamicMessage;
use crate::message_type::{Field, FieldType, MessageType, Size};
use crate::value::Value;

impl MessageType {
    /// Returns the described type. Types that it does not refer to are left out.
    ///
    /// # Errors
    /// If the description is not a usable type.
    pub fn from_description(description: &TypeDescription) -> Result<Self, MessageTypeError> {
        let mut descriptions = BTreeMap::new();
        let referenced = &description.referenced_type_descriptions;
        for each in referenced.iter().chain([&description.type_description]) {
            let before = descriptions.insert(each.type_name.as_str(), each);
            // A type may be described twice only if both descriptions are equal.
            if before.is_some_and(|before| before != each) {
                return Err(MessageTypeError::Duplicate { name: each.type_name.clone() });
            }
        }
        Builder { descriptions, built: BTreeMap::new(), under_way: Vec::new() }.build(&description.type_description)
    }
}

/// Builder of the types of a description.
struct Builder<'a> {
    descriptions: BTreeMap<&'a str, &'a IndividualTypeDescription>,
    built: BTreeMap<&'a str, MessageType>,
    /// The type that is being built, and the types that contain it.
    under_way: Vec<&'a str>,
}

impl<'a> Builder<'a> {
    /// Returns the described type, built once.
    fn build(&mut self, described: &'a IndividualTypeDescription) -> Result<MessageType, MessageTypeError> {
        let type_name = described.type_name.as_str();
        if let Some(built) = self.built.get(type_name) {
            return Ok(built.clone());
        }
        let message_type = || type_name.to_owned();
        let name = TypeName::new(type_name)?;
        if self.under_way.contains(&type_name) {
            return Err(MessageTypeError::Recursive { message_type: message_type() });
        }
        if self.under_way.len() == DEPTH_MAX {
            return Err(MessageTypeError::Deep { message_type: self.under_way[0].to_owned() });
        }
        if described.fields.is_empty() {
            return Err(MessageTypeError::Empty { message_type: message_type() });
        }
        self.under_way.push(type_name);
        let mut fields = Vec::with_capacity(described.fields.len());
        let mut names = BTreeSet::new();
        let mut size = Size { depth: 0, memory: size_of::<DynamicMessage>() };
        for field in &described.fields {
            if !is_name(&field.name) {
                return Err(MessageTypeError::FieldName { message_type: message_type(), field: field.name.clone() });
            }
            if !names.insert(&field.name) {
                return Err(MessageTypeError::Duplicate { name: format!("{} of {type_name}", field.name) });
            }
            let field_type = self.field_type(type_name, field)?;
            let nested = field_type.size();
            size.depth = size.depth.max(nested.depth);
            size.memory = size.memory.saturating_add(nested.memory).saturating_add(size_of::<Value>());
            fields.push(Field { name: field.name.clone(), field_type });
        }
        self.under_way.pop();
        size.depth += 1;
        if size.depth > DEPTH_MAX {
            return Err(MessageTypeError::Deep { message_type: message_type() });
        }
        if size.memory > MEMORY_MAX {
            return Err(MessageTypeError::Large { message_type: message_type() });
        }
        let built = MessageType::new(name, fields, described.clone(), size);
        self.built.insert(type_name, built.clone());
        Ok(built)
    }

    /// Returns the type of a field of the type `type_name`.
    fn field_type(&mut self, type_name: &str, field: &'a wire::Field) -> Result<FieldType, MessageTypeError> {
        let described = &field.r#type;
        let unsupported = |what: String| MessageTypeError::Unsupported {
            message_type: type_name.to_owned(),
            field: field.name.clone(),
            what,
        };
        let capacity = |capacity: u64, what: &str| match usize::try_from(capacity) {
            Ok(capacity) if capacity > 0 => Ok(capacity),
            _ => Err(unsupported(format!("{what} of {capacity}"))),
        };
        let (shape, kind) = shape_and_kind(described.type_id);
        let of = match kind {
            field_type::NESTED_TYPE => {
                let nested = self.descriptions.get(described.nested_type_name.as_str());
                let nested = nested.ok_or_else(|| MessageTypeError::Unknown {
                    message_type: type_name.to_owned(),
                    field: field.name.clone(),
                    nested: described.nested_type_name.clone(),
                })?;
                FieldType::Message(self.build(nested)?)
            }
            field_type::INT8 => FieldType::Int8,
            field_type::UINT8 | field_type::CHAR | field_type::BYTE => FieldType::UInt8,
            field_type::INT16 => FieldType::Int16,
            field_type::UINT16 => FieldType::UInt16,
            field_type::INT32 => FieldType::Int32,
            field_type::UINT32 => FieldType::UInt32,
            field_type::INT64 => FieldType::Int64,
            field_type::UINT64 => FieldType::UInt64,
            field_type::FLOAT => FieldType::Float32,
            field_type::DOUBLE => FieldType::Float64,
            field_type::BOOLEAN => FieldType::Bool,
            field_type::STRING => FieldType::String { max: None },
            field_type::BOUNDED_STRING => {
                FieldType::String { max: Some(capacity(described.string_capacity, "a string")?) }
            }
            // Implementations of DDS do not agree on the width of a wide character.
            field_type::WCHAR | field_type::WSTRING | field_type::FIXED_WSTRING | field_type::BOUNDED_WSTRING => {
                return Err(unsupported("of wide characters".to_owned()));
            }
            field_type::LONG_DOUBLE => return Err(unsupported("a long double".to_owned())),
            field_type::FIXED_STRING => return Err(unsupported("a string of fixed length".to_owned())),
            _ => return Err(unsupported(format!("of type id {}", described.type_id))),
        };
        let of = Box::new(of);
        Ok(match shape {
            Shape::One => *of,
            Shape::Array => FieldType::Array { of, length: capacity(described.capacity, "an array")? },
            Shape::Bounded => FieldType::Sequence { of, max: Some(capacity(described.capacity, "a sequence")?) },
            Shape::Unbounded => FieldType::Sequence { of, max: None },
        })
    }
}

/// Number of values in a field: one, a fixed number, or a sequence.
enum Shape {
    One,
    Array,
    Bounded,
    Unbounded,
}

/// Splits a type number into shape and kind. An unknown number gives a kind that does not exist.
fn shape_and_kind(type_id: u8) -> (Shape, u8) {
    let within = |first: u8| if type_id > first { Some(type_id - first) } else { None };
    if let Some(kind) = within(field_type::UNBOUNDED_SEQUENCE) {
        return (Shape::Unbounded, kind);
    }
    if let Some(kind) = within(field_type::BOUNDED_SEQUENCE) {
        return (Shape::Bounded, kind);
    }
    match within(field_type::ARRAY) {
        Some(kind) => (Shape::Array, kind),
        None => (Shape::One, type_id),
    }
}

/// Returns true if a field may have this name.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl FieldType {
    /// Returns the limits of the field: the levels of messages in it, and its memory besides its [`Value`].
    fn size(&self) -> Size {
        let memory = match self {
            Self::Message(message_type) => return message_type.size(),
            Self::Array { of, length } => {
                let one = of.size();
                let memory = one.memory.saturating_add(of.width()).saturating_mul(*length);
                return Size { memory, ..one };
            }
            Self::Sequence { of, .. } => return Size { memory: 0, ..of.size() },
            _ => 0,
        };
        Size { depth: 0, memory }
    }

    /// Returns the memory that one element takes in the vector of an array, in bytes; 0 for types whose `size` includes
    /// it.
    const fn width(&self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
            Self::String { .. } => size_of::<String>(),
            // `size` of the element's type includes this memory.
            Self::Message(_) | Self::Array { .. } | Self::Sequence { .. } => 0,
        }
    }
}
