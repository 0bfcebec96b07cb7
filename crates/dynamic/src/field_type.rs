//! Numbers of field types in type descriptions. A number is the sum of a kind and a shape.

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
/// `long double`.
pub const LONG_DOUBLE: u8 = 12;
/// `char` of IDL, one byte.
pub const CHAR: u8 = 13;
/// `wchar` of IDL.
pub const WCHAR: u8 = 14;
/// `bool`
pub const BOOLEAN: u8 = 15;
/// `byte`
pub const BYTE: u8 = 16;
/// `string`
pub const STRING: u8 = 17;
/// `wstring`
pub const WSTRING: u8 = 18;
/// A string of fixed length.
pub const FIXED_STRING: u8 = 19;
/// A wide string of fixed length.
pub const FIXED_WSTRING: u8 = 20;
/// A string of bounded length.
pub const BOUNDED_STRING: u8 = 21;
/// A wide string of bounded length.
pub const BOUNDED_WSTRING: u8 = 22;

/// Shape of an array; added to the kind.
pub const ARRAY: u8 = 48;
/// Shape of a bounded sequence; added to the kind.
pub const BOUNDED_SEQUENCE: u8 = 96;
/// Shape of an unbounded sequence; added to the kind.
pub const UNBOUNDED_SEQUENCE: u8 = 144;
