//! Types of messages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use hiroz_schema as schema;

use super::build::MessageTypeError;
use crate::interfaces::type_description_interfaces::{self as wire, IndividualTypeDescription, TypeDescription};
use crate::names::TypeName;

/// The type of a message, checked once: every field is of a type that is known. Cheap to clone.
///
/// Two of them are the same if name and hash are.
///
/// ```
/// use rospin_node::dynamic::{FieldType, MessageType};
///
/// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
/// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
/// assert_eq!(twist.name(), "geometry_msgs/msg/Twist");
/// assert_eq!(twist.hash(), "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a");
/// let linear = twist.field("linear").unwrap();
/// assert_eq!(linear.field_type().to_string(), "geometry_msgs/msg/Vector3");
/// # Ok::<(), rospin_node::dynamic::FindTypeError>(())
/// ```
#[derive(Clone)]
pub struct MessageType(Arc<Inner>);

struct Inner {
    name: TypeName,
    fields: Vec<Field>,
    /// As it was described: of the wire's types several are one of ours.
    described: IndividualTypeDescription,
    size: Size,
    hash: OnceLock<String>,
}

/// What a type is bounded by.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Size {
    /// How deeply messages nest, itself included.
    pub(super) depth: usize,
    /// About what a message takes in memory, in bytes, with nothing in its sequences.
    pub(super) memory: usize,
}

/// A field of a type.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub(super) name: String,
    pub(super) field_type: FieldType,
}

impl Field {
    /// The field's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub const fn field_type(&self) -> &FieldType {
        &self.field_type
    }
}

/// What a field holds. It is shown as in the files that ROS 2 describes types by: `float64`, `string<=10`, `uint8[]`,
/// `uint8[3]`, `uint8[<=3]`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FieldType {
    /// A Boolean.
    Bool,
    /// An 8-bit integer.
    Int8,
    /// An 8-bit integer without sign; also what ROS calls `byte` and `char`.
    UInt8,
    /// A 16-bit integer.
    Int16,
    /// A 16-bit integer without sign.
    UInt16,
    /// A 32-bit integer.
    Int32,
    /// A 32-bit integer without sign.
    UInt32,
    /// A 64-bit integer.
    Int64,
    /// A 64-bit integer without sign.
    UInt64,
    /// A 32-bit floating-point number.
    Float32,
    /// A 64-bit floating-point number.
    Float64,
    /// A string.
    String {
        /// How many bytes it can have.
        max: Option<usize>,
    },
    /// A message of that type.
    Message(MessageType),
    /// So many of something.
    Array {
        /// What it is; neither array nor sequence.
        of: Box<FieldType>,
        /// How many.
        length: usize,
    },
    /// Any number of something.
    Sequence {
        /// What it is; neither array nor sequence.
        of: Box<FieldType>,
        /// How many there can be.
        max: Option<usize>,
    },
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::UInt8 => "uint8",
            Self::Int16 => "int16",
            Self::UInt16 => "uint16",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::String { max: None } => "string",
            Self::String { max: Some(max) } => return write!(f, "string<={max}"),
            Self::Message(message_type) => message_type.name(),
            Self::Array { of, length } => return write!(f, "{of}[{length}]"),
            Self::Sequence { of, max: None } => return write!(f, "{of}[]"),
            Self::Sequence { of, max: Some(max) } => return write!(f, "{of}[<={max}]"),
        })
    }
}

impl MessageType {
    pub(super) fn new(name: TypeName, fields: Vec<Field>, described: IndividualTypeDescription, size: Size) -> Self {
        Self(Arc::new(Inner { name, fields, described, size, hash: OnceLock::new() }))
    }

    /// The type's name, such as `std_msgs/msg/String`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.described.type_name
    }

    /// The type's hash, `RIHS01_` and 64 digits, calculated from its description.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.0.hash.get_or_init(|| schema::calculate_hash(&hashed(self.description())).to_rihs_string())
    }

    /// The fields, in their order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.position(name).map(|at| &self.fields()[at])
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| field.name == name)
    }

    /// What the field was said to be without a value, as text.
    pub(super) fn default_text(&self, at: usize) -> &str {
        self.0.described.fields.get(at).map_or("", |field| &field.default_value)
    }

    /// The type as others are told of it, with all that it refers to and nothing else.
    #[must_use]
    pub fn description(&self) -> TypeDescription {
        let mut referenced = BTreeMap::new();
        self.collect(&mut referenced);
        TypeDescription {
            type_description: self.0.described.clone(),
            referenced_type_descriptions: referenced.into_values().cloned().collect(),
        }
    }

    fn collect<'a>(&'a self, referenced: &mut BTreeMap<&'a str, &'a IndividualTypeDescription>) {
        for nested in self.fields().iter().filter_map(|field| field.field_type.nested()) {
            if referenced.insert(nested.name(), &nested.0.described).is_none() {
                nested.collect(referenced);
            }
        }
    }

    /// Checks that it has the hash that somebody else says it has.
    ///
    /// # Errors
    /// If it has not: then it is another version of the type.
    pub fn check_hash(&self, expected: &str) -> Result<(), MessageTypeError> {
        if self.hash() == expected {
            return Ok(());
        }
        let (name, hash) = (self.name().to_owned(), self.hash().to_owned());
        Err(MessageTypeError::Hash { name, expected: expected.to_owned(), hash })
    }

    /// The name with the hash, as middlewares want it.
    pub(crate) fn type_name(&self) -> TypeName {
        self.0.name.clone().with_hash(self.hash().to_owned())
    }

    pub(super) fn size(&self) -> Size {
        self.0.size
    }
}

impl FieldType {
    /// The type of the message, or of the messages.
    pub(super) fn nested(&self) -> Option<&MessageType> {
        match self {
            Self::Message(message_type) => Some(message_type),
            Self::Array { of, .. } | Self::Sequence { of, .. } => of.nested(),
            _ => None,
        }
    }
}

/// The description as the hash is calculated from it.
fn hashed(description: TypeDescription) -> schema::TypeDescriptionMsg {
    schema::TypeDescriptionMsg {
        type_description: hashed_one(description.type_description),
        referenced_type_descriptions: description.referenced_type_descriptions.into_iter().map(hashed_one).collect(),
    }
}

fn hashed_one(description: IndividualTypeDescription) -> schema::TypeDescription {
    let field = |wire::Field { name, r#type, default_value }| {
        let wire::FieldType { type_id, capacity, string_capacity, nested_type_name } = r#type;
        let field_type = schema::FieldTypeDescription { type_id, capacity, string_capacity, nested_type_name };
        schema::FieldDescription { name, field_type, default_value }
    };
    let fields = description.fields.into_iter().map(field).collect();
    schema::TypeDescription { type_name: description.type_name, fields }
}

impl PartialEq for MessageType {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.name() == other.name() && self.hash() == other.hash())
    }
}

impl Eq for MessageType {}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageType").field("name", &self.name()).field("hash", &self.hash()).finish_non_exhaustive()
    }
}
