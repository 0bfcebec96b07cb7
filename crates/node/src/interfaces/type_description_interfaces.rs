//! Package `type_description_interfaces`: types as values, and the service that tells of them.

use serde::{Deserialize, Serialize};

use crate::message::{Message, Service};

/// The type of a field.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FieldType {
    /// What it is, see [`field_type`].
    pub type_id: u8,
    /// How long an array is, and how long a bounded sequence can be.
    pub capacity: u64,
    /// How long a bounded string can be, in bytes.
    pub string_capacity: u64,
    /// The type of a nested message.
    pub nested_type_name: String,
}

/// What [`FieldType::type_id`] can be: one of these, or for more than one of them with what follows added.
pub mod field_type {
    /// A message of another type.
    pub const NESTED_TYPE: u8 = 1;
    /// `int8`
    pub const INT8: u8 = 2;
    /// `uint8`, and `char`
    pub const UINT8: u8 = 3;
    /// `int16`
    pub const INT16: u8 = 4;
    /// `uint16`
    pub const UINT16: u8 = 5;
    /// `int32`
    pub const INT32: u8 = 6;
    /// `uint32`
    pub const UINT32: u8 = 7;
    /// `int64`
    pub const INT64: u8 = 8;
    /// `uint64`
    pub const UINT64: u8 = 9;
    /// `float32`
    pub const FLOAT: u8 = 10;
    /// `float64`
    pub const DOUBLE: u8 = 11;
    /// A number that few have.
    pub const LONG_DOUBLE: u8 = 12;
    /// A character of IDL, one byte.
    pub const CHAR: u8 = 13;
    /// A wide character of IDL.
    pub const WCHAR: u8 = 14;
    /// `bool`
    pub const BOOLEAN: u8 = 15;
    /// `byte`
    pub const BYTE: u8 = 16;
    /// `string`
    pub const STRING: u8 = 17;
    /// `wstring`
    pub const WSTRING: u8 = 18;
    /// A string of one length.
    pub const FIXED_STRING: u8 = 19;
    /// A wide string of one length.
    pub const FIXED_WSTRING: u8 = 20;
    /// A string of a length up to a bound.
    pub const BOUNDED_STRING: u8 = 21;
    /// A wide string of a length up to a bound.
    pub const BOUNDED_WSTRING: u8 = 22;

    /// To be added for an array.
    pub const ARRAY: u8 = 48;
    /// To be added for a bounded sequence.
    pub const BOUNDED_SEQUENCE: u8 = 96;
    /// To be added for a sequence without bound.
    pub const UNBOUNDED_SEQUENCE: u8 = 144;
}

/// A field of a type.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: FieldType,
    /// What it is unless somebody says otherwise, as text; empty for the type's own default.
    #[serde(default)]
    pub default_value: String,
}

/// A type, without those that it refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IndividualTypeDescription {
    /// Its name, such as `std_msgs/msg/String`.
    pub type_name: String,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A type, with those that it refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeDescription {
    /// The type.
    pub type_description: IndividualTypeDescription,
    /// Those that it refers to, at any depth, sorted by name.
    pub referenced_type_descriptions: Vec<IndividualTypeDescription>,
}

impl Message for TypeDescription {
    const TYPE: &str = "type_description_interfaces/msg/TypeDescription";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_739f2508c9fa3a6f330913ff5b9d25fb74159a077da71e1087f51a60c12a080b");
}

/// The text that a type was made of.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeSource {
    /// The type.
    pub type_name: String,
    /// What kind of text it is: `msg`, `srv`, `action`, `idl`, or `dynamic` if there is none.
    pub encoding: String,
    /// The text.
    pub raw_file_contents: String,
}

/// Something else that is known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyValue {
    /// What it is.
    pub key: String,
    /// What is known.
    pub value: String,
}

/// Asks for a type: the service `~/get_type_description`.
#[derive(Clone, Copy, Debug)]
pub enum GetTypeDescription {}

impl Service for GetTypeDescription {
    type Request = GetTypeDescriptionRequest;
    type Response = GetTypeDescriptionResponse;
    const TYPE: &str = "type_description_interfaces/srv/GetTypeDescription";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5");
}

/// What [`GetTypeDescription`] asks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GetTypeDescriptionRequest {
    /// The type.
    pub type_name: String,
    /// Its hash, by which nodes of rclcpp look for it.
    pub type_hash: String,
    /// Whether to send the text that the type was made of, too.
    pub include_type_sources: bool,
}

impl Default for GetTypeDescriptionRequest {
    fn default() -> Self {
        Self { type_name: String::new(), type_hash: String::new(), include_type_sources: true }
    }
}

/// What [`GetTypeDescription`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetTypeDescriptionResponse {
    /// Whether the node knows the type.
    pub successful: bool,
    /// If not, why.
    pub failure_reason: String,
    /// The type.
    pub type_description: TypeDescription,
    /// The texts that the types were made of.
    pub type_sources: Vec<TypeSource>,
    /// What else there is to know.
    pub extra_information: Vec<KeyValue>,
}
