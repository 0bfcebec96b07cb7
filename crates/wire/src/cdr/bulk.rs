//! Arrays of numbers, copied as a whole.
//!
//! Serde cannot express "these numbers, as they are in memory". So such a value is a newtype with a name that this
//! codec knows. A codec that does not know the name sees through the newtype, and gets the numbers one by one. This
//! one passes a serializer or deserializer that calls itself human-readable, which CDR is not. That tells the value
//! that it may give, or take, bytes.

use serde::de::{Deserializer, Visitor};
use serde::ser::{Impossible, Serialize, Serializer};

use super::{CdrError, Decoder, Encoder};

/// Names of newtypes around sequences of numbers, indexed by the binary logarithm of a number's size in bytes.
pub(crate) const SEQUENCES: [&str; 4] =
    ["rospin_engine::Sequence1", "rospin_engine::Sequence2", "rospin_engine::Sequence4", "rospin_engine::Sequence8"];
/// Names of newtypes around arrays of numbers, indexed by the binary logarithm of a number's size in bytes.
pub(crate) const ARRAYS: [&str; 4] =
    ["rospin_engine::Array1", "rospin_engine::Array2", "rospin_engine::Array4", "rospin_engine::Array8"];

/// The encoding that the name of such a newtype stands for.
#[derive(Clone, Copy)]
pub(super) struct Bulk {
    /// The size of a number in bytes.
    size: usize,
    /// True if the number of elements is encoded.
    counted: bool,
}

impl Bulk {
    /// Returns the encoding that a newtype's name stands for. `None` if it is not one of our names, or this machine's
    /// byte order is not that of the encoding.
    #[inline]
    pub(super) fn named(name: &str) -> Option<Self> {
        if cfg!(target_endian = "big") || !name.starts_with("rospin_engine::") {
            return None;
        }
        let at = |names: [&str; 4]| names.iter().position(|known| *known == name);
        let of = |log: usize, counted| Self { size: 1 << log, counted };
        at(SEQUENCES).map(|log| of(log, true)).or_else(|| at(ARRAYS).map(|log| of(log, false)))
    }
}

/// The serializer inside such a newtype, which takes the bytes of its numbers.
pub(super) struct BulkEncoder<'a, 'b> {
    pub(super) encoder: &'a mut Encoder<'b>,
    pub(super) bulk: Bulk,
}

fn not_bulk() -> CdrError {
    CdrError::Type("a newtype has the name of an array of numbers, and is none".to_owned())
}

/// Defines methods of the serializer that refuse a value: `method(argument types) <generic>? -> result`.
macro_rules! refuse {
    ($($method:ident($($of:ty),*) $(<$generic:ident>)? -> $result:ty;)*) => {
        $(
            fn $method $(<$generic: Serialize + ?Sized>)? (self, $(_: $of),*) -> Result<$result, CdrError> {
                Err(not_bulk())
            }
        )*
    };
}

impl Serializer for BulkEncoder<'_, '_> {
    type Ok = ();
    type Error = CdrError;
    type SerializeSeq = Impossible<(), CdrError>;
    type SerializeTuple = Impossible<(), CdrError>;
    type SerializeTupleStruct = Impossible<(), CdrError>;
    type SerializeTupleVariant = Impossible<(), CdrError>;
    type SerializeMap = Impossible<(), CdrError>;
    type SerializeStruct = Impossible<(), CdrError>;
    type SerializeStructVariant = Impossible<(), CdrError>;

    /// Takes the numbers as they are in memory.
    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), CdrError> {
        let Self { encoder, bulk: Bulk { size, counted } } = self;
        if counted {
            encoder.put_length(bytes.len() / size)?;
        }
        // An empty array has no alignment.
        if !bytes.is_empty() {
            encoder.align(size);
            encoder.put(bytes);
        }
        Ok(())
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        true
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_none() -> ();
        serialize_some(&T) <T> -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_newtype_struct(&'static str, &T) <T> -> ();
        serialize_newtype_variant(&'static str, u32, &'static str, &T) <T> -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}

/// The deserializer inside such a newtype, which gives the bytes of its numbers.
pub(super) struct BulkDecoder<'a, 'de> {
    pub(super) decoder: &'a mut Decoder<'de>,
    pub(super) bulk: Bulk,
}

impl<'de> BulkDecoder<'_, 'de> {
    #[inline]
    fn visit<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, CdrError> {
        if length > 0 {
            self.decoder.align(self.bulk.size)?;
        }
        let bytes = self.decoder.get(length.saturating_mul(self.bulk.size))?;
        visitor.visit_borrowed_bytes(bytes)
    }
}

impl<'de> Deserializer<'de> for BulkDecoder<'_, 'de> {
    type Error = CdrError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CdrError> {
        Err(not_bulk())
    }

    /// Gives the numbers of a sequence as they are in memory.
    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        if !self.bulk.counted {
            return Err(not_bulk());
        }
        let length = self.decoder.get_length()?;
        self.visit(length, visitor)
    }

    /// Gives the numbers of an array as they are in memory.
    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, CdrError> {
        if self.bulk.counted { Err(not_bulk()) } else { self.visit(length, visitor) }
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        true
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf option unit unit_struct newtype_struct
        seq tuple_struct map struct enum identifier ignored_any
    }
}
