//! The numbers of field types in descriptions, as sums of a kind and a shape.

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
