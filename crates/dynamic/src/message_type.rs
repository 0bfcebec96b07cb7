//! Types of messages that are known only at run time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use hiroz_schema as schema;
use rospin_msgs::type_description_interfaces::msg::{self as wire, IndividualTypeDescription, TypeDescription};
use rospin_wire::{Message, TypeName};

use crate::error::MessageTypeError;

/// True unless the program is built for Humble, whose types have no hash.
pub(crate) const HAVE_HASHES: bool = TypeDescription::TYPE_HASH.is_some();

/// Type of a message, checked once: the types of all fields are known. Cheap to clone.
///
/// Two types are equal if their names and hashes are, whether they announce these or not.
///
/// ```
/// use rospin::dynamic::{FieldType, MessageType};
///
/// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
/// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
/// assert_eq!(twist.name(), "geometry_msgs/msg/Twist");
/// assert_eq!(twist.hash(), "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a");
/// let linear = twist.field("linear").unwrap();
/// assert_eq!(linear.field_type().to_string(), "geometry_msgs/msg/Vector3");
/// # Ok::<(), rospin::dynamic::FindTypeError>(())
/// ```
#[derive(Clone)]
pub struct MessageType {
    definition: Arc<Definition>,
    /// True if publishers and subscriptions of the type announce its hash. False if their other ends have types without
    /// a hash.
    announces_hash: bool,
}

struct Definition {
    name: TypeName,
    fields: Vec<Field>,
    /// The description as it was given. It cannot be built from `fields`, since several kinds of fields in it are one
    /// here.
    described: IndividualTypeDescription,
    size: Size,
    hash: OnceLock<String>,
}

/// Sizes of a type that have a limit: [`DEPTH_MAX`](crate::error::DEPTH_MAX) and
/// [`MEMORY_MAX`](crate::error::MEMORY_MAX).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Size {
    /// Number of levels that messages nest, including this one.
    pub(crate) depth: usize,
    /// Memory that a message with empty sequences takes, in bytes, approximately.
    pub(crate) memory: usize,
}

/// A field of a type.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) field_type: FieldType,
}

impl Field {
    /// Returns the field's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the field's type.
    #[must_use]
    pub const fn field_type(&self) -> &FieldType {
        &self.field_type
    }
}

/// The type of a field. `{}` formats it as in a `.msg` file: `float64`, `string<=10`, `uint8[]`, `uint8[3]`,
/// `uint8[<=3]`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum FieldType {
    /// A Boolean.
    Bool,
    /// An 8-bit integer.
    Int8,
    /// An 8-bit unsigned integer. ROS 2 also calls it `byte` or `char`.
    UInt8,
    /// A 16-bit integer.
    Int16,
    /// A 16-bit unsigned integer.
    UInt16,
    /// A 32-bit integer.
    Int32,
    /// A 32-bit unsigned integer.
    UInt32,
    /// A 64-bit integer.
    Int64,
    /// A 64-bit unsigned integer.
    UInt64,
    /// A 32-bit floating-point number.
    Float32,
    /// A 64-bit floating-point number.
    Float64,
    /// A string.
    String {
        /// The maximum number of bytes; `None` for no bound.
        max: Option<usize>,
    },
    /// A message of this type.
    Message(MessageType),
    /// An array: a fixed number of elements.
    Array {
        /// The elements' type, which is neither an array nor a sequence.
        of: Box<FieldType>,
        /// The number of elements.
        length: usize,
    },
    /// A sequence: a variable number of elements.
    Sequence {
        /// The elements' type, which is neither an array nor a sequence.
        of: Box<FieldType>,
        /// The maximum number of elements; `None` for no bound.
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
    pub(crate) fn new(name: TypeName, fields: Vec<Field>, described: IndividualTypeDescription, size: Size) -> Self {
        let definition = Arc::new(Definition { name, fields, described, size, hash: OnceLock::new() });
        Self { definition, announces_hash: HAVE_HASHES }
    }

    /// Returns the type's name, such as `std_msgs/msg/String`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.described.type_name
    }

    /// Returns the type's hash, `RIHS01_` and 64 digits, calculated from its description.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.definition.hash.get_or_init(|| schema::calculate_hash(&hashed(self.description())).to_rihs_string())
    }

    /// Returns the fields, in order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.definition.fields
    }

    /// Returns the field of that name; `None` if the type has none.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.position(name).map(|at| &self.fields()[at])
    }

    /// Returns the index of the field of that name; `None` if the type has none.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| field.name == name)
    }

    /// Returns the default of a field as text, as the description has it; an empty text if it has none.
    pub(crate) fn default_text(&self, at: usize) -> &str {
        self.definition.described.fields.get(at).map_or("", |field| &field.default_value)
    }

    /// Returns the number of a field's type, as the description has it.
    pub(crate) fn type_id(&self, at: usize) -> u8 {
        self.definition.described.fields.get(at).map_or(0, |field| field.r#type.type_id)
    }

    /// Returns the description of the type and of all types that it refers to.
    #[must_use]
    pub fn description(&self) -> TypeDescription {
        let mut referenced = BTreeMap::new();
        self.collect(&mut referenced);
        TypeDescription {
            type_description: self.definition.described.clone(),
            referenced_type_descriptions: referenced.into_values().cloned().collect(),
        }
    }

    /// Adds the descriptions of the types that this one refers to, directly or not, to `referenced`, by name.
    fn collect<'a>(&'a self, referenced: &mut BTreeMap<&'a str, &'a IndividualTypeDescription>) {
        for nested in self.fields().iter().filter_map(|field| field.field_type.nested()) {
            if referenced.insert(nested.name(), &nested.definition.described).is_none() {
                nested.collect(referenced);
            }
        }
    }

    /// Checks that the type has the hash `expected`.
    ///
    /// # Errors
    /// If it has another hash, which means another version of the type.
    pub fn check_hash(&self, expected: &str) -> Result<(), MessageTypeError> {
        if self.hash() == expected {
            return Ok(());
        }
        let name = self.name().to_owned();
        let hash = self.hash().to_owned();
        Err(MessageTypeError::Hash { name, expected: expected.to_owned(), hash })
    }

    /// Returns the type such that its publishers and subscriptions announce no hash. Topics need that if their other
    /// ends announce none: those of nodes on Humble, and of Rust types without a
    /// [`TYPE_HASH`](rospin_wire::Message::TYPE_HASH). Over Zenoh, publishers and subscriptions meet if both announce
    /// the same hash or none; over DDS they meet anyway.
    ///
    /// A type that a node's `message_type_of` returns announces a hash if the publisher does. Other types announce none
    /// if the program is built for Humble (`ROS_DISTRO`), and theirs otherwise. [`hash`](Self::hash) returns the hash,
    /// and types are compared by it, announced or not.
    #[must_use]
    pub fn without_hash(self) -> Self {
        Self { announces_hash: false, ..self }
    }

    /// Returns the type such that its publishers and subscriptions announce its hash, see
    /// [`without_hash`](Self::without_hash).
    #[must_use]
    pub fn with_hash(self) -> Self {
        Self { announces_hash: true, ..self }
    }

    /// Returns the name as publishers and subscriptions of the type announce it: with the hash, or
    /// [without](Self::without_hash). Allocates.
    #[must_use]
    pub fn type_name(&self) -> TypeName {
        let name = self.definition.name.clone().with_definition(self.hash().to_owned());
        if self.announces_hash { name.with_hash(self.hash().to_owned()) } else { name }
    }

    pub(crate) fn size(&self) -> Size {
        self.definition.size
    }
}

impl FieldType {
    /// Returns the type of the message in the field, or of its elements; `None` if they are no messages.
    pub(crate) fn nested(&self) -> Option<&MessageType> {
        match self {
            Self::Message(message_type) => Some(message_type),
            Self::Array { of, .. } | Self::Sequence { of, .. } => of.nested(),
            _ => None,
        }
    }
}

/// Returns the description in the form from which the hash is calculated.
pub(crate) fn hashed(description: TypeDescription) -> schema::TypeDescriptionMsg {
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
        Arc::ptr_eq(&self.definition, &other.definition) || (self.name() == other.name() && self.hash() == other.hash())
    }
}

impl Eq for MessageType {}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageType").field("name", &self.name()).field("hash", &self.hash()).finish_non_exhaustive()
    }
}
