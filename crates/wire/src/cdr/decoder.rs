//! Decoding of values.
//!
//! Lengths in the input are not trusted: memory is allocated only for elements that are there. Each takes a byte at
//! least, because messages without fields have a hidden one, and arrays of length zero are refused when types are read.

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use bytes::Bytes;

use super::blob::{BLOB, BlobDecoder, SHARED_MIN};
use super::bulk::{Bulk, BulkDecoder};
use super::{ByteOrder, CdrError};

/// Decoder of values from bytes.
#[derive(Debug)]
pub struct Decoder<'de> {
    bytes: &'de [u8],
    position: usize,
    order: ByteOrder,
    /// The payload that `bytes` are a part of, if blobs may share its memory.
    payload: Option<&'de Bytes>,
}

impl<'de> Decoder<'de> {
    /// Returns a decoder of bytes in that order. Alignment is counted from the first byte.
    #[must_use]
    pub const fn new(bytes: &'de [u8], order: ByteOrder) -> Self {
        Self { bytes, position: 0, order, payload: None }
    }

    /// Returns a decoder of a part of the payload, whose memory large blobs share.
    pub(super) const fn sharing(payload: &'de Bytes, part: &'de [u8], order: ByteOrder) -> Self {
        Self { bytes: part, position: 0, order, payload: Some(payload) }
    }

    /// Returns the number of bytes that were read.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Skips padding up to a multiple of `size`, which is a power of two.
    #[inline]
    pub(super) fn align(&mut self, size: usize) -> Result<(), CdrError> {
        match self.position.wrapping_neg() & (size - 1) {
            0 => Ok(()),
            padding => self.get(padding).map(drop),
        }
    }

    /// Reads `count` bytes.
    #[inline]
    pub(super) fn get(&mut self, count: usize) -> Result<&'de [u8], CdrError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match rest.get(..count) {
            Some(bytes) => {
                self.position += count;
                Ok(bytes)
            }
            None => Err(CdrError::End { at: self.bytes.len(), missing: count - rest.len() }),
        }
    }

    /// Returns bytes of the input without a copy. `None` if they are to be copied: they are fewer than [`SHARED_MIN`],
    /// or less than half of the payload, all of which they would keep, or the decoder does not share a payload.
    pub(super) fn share(&self, bytes: &[u8]) -> Option<Bytes> {
        let payload = self.payload?;
        if bytes.len() >= SHARED_MIN && bytes.len() >= payload.len() / 2 {
            Some(payload.slice_ref(bytes))
        } else {
            None
        }
    }

    /// Reads a number's bytes, after the padding in front of them.
    #[inline]
    fn get_array<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        self.align(N)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.get(N)?);
        Ok(bytes)
    }

    #[inline]
    fn get_u32(&mut self) -> Result<u32, CdrError> {
        let bytes = self.get_array()?;
        Ok(match self.order {
            ByteOrder::Big => u32::from_be_bytes(bytes),
            ByteOrder::Little => u32::from_le_bytes(bytes),
        })
    }

    /// Reads the length of a sequence.
    #[inline]
    pub(super) fn get_length(&mut self) -> Result<usize, CdrError> {
        // On machines with less than 32 bits, no input can hold so many elements.
        Ok(usize::try_from(self.get_u32()?).unwrap_or(usize::MAX))
    }

    /// Reads a string, whose length includes the final zero.
    #[inline]
    fn get_str(&mut self) -> Result<&'de str, CdrError> {
        let length = self.get_length()?;
        let bytes = self.get(length)?;
        // Some implementations leave out the final zero of an empty string.
        Ok(std::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes))?)
    }
}

/// Defines methods that read a number: the method, the visitor's method, and the number's type.
macro_rules! numbers {
    ($($method:ident $visit:ident $number:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
                let bytes = self.get_array()?;
                visitor.$visit(match self.order {
                    ByteOrder::Big => $number::from_be_bytes(bytes),
                    ByteOrder::Little => $number::from_le_bytes(bytes),
                })
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = CdrError;

    numbers! {
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_f32 visit_f32 f32
        deserialize_f64 visit_f64 f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CdrError> {
        Err(CdrError::NotDescribed)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CdrError> {
        Err(CdrError::NotDescribed)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        self.deserialize_u32(visitor)
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        match self.get(1)?[0] {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            other => Err(CdrError::Bool(other)),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        let code = self.get_u32()?;
        visitor.visit_char(char::from_u32(code).ok_or(CdrError::Char(code))?)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        visitor.visit_borrowed_str(self.get_str()?)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        let length = self.get_length()?;
        visitor.visit_borrowed_bytes(self.get(length)?)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        match self.get_u32()? {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            other => Err(CdrError::Option(other)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, CdrError> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, CdrError> {
        if name == BLOB {
            return Ok(visitor.visit_newtype_struct(BlobDecoder(self))?);
        }
        match Bulk::named(name) {
            // Numbers in another byte order are read one by one.
            Some(bulk) if self.order == ByteOrder::NATIVE => {
                visitor.visit_newtype_struct(BulkDecoder { decoder: self, bulk })
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        let left = self.get_length()?;
        visitor.visit_seq(Elements { decoder: self, left })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, CdrError> {
        visitor.visit_seq(Elements { decoder: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, CdrError> {
        visitor.visit_seq(Elements { decoder: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CdrError> {
        let left = self.get_length()?;
        visitor.visit_map(Elements { decoder: self, left })
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CdrError> {
        visitor.visit_seq(Elements { decoder: self, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CdrError> {
        visitor.visit_enum(self)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The remaining elements of a sequence, a map or a struct. It gives no size hint, so that nobody allocates memory for
/// elements that are not there.
struct Elements<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
}

impl<'de> Elements<'_, 'de> {
    #[inline]
    fn next<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, CdrError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                seed.deserialize(&mut *self.decoder).map(Some)
            }
            None => Ok(None),
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = CdrError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, CdrError> {
        self.next(seed)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = CdrError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, CdrError> {
        self.next(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, CdrError> {
        seed.deserialize(&mut *self.decoder)
    }
}

impl<'de> EnumAccess<'de> for &mut Decoder<'de> {
    type Error = CdrError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), CdrError> {
        let index = self.get_u32()?;
        let value = seed.deserialize(IntoDeserializer::<CdrError>::into_deserializer(index))?;
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Decoder<'de> {
    type Error = CdrError;

    fn unit_variant(self) -> Result<(), CdrError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, CdrError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, CdrError> {
        de::Deserializer::deserialize_tuple(self, length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CdrError> {
        de::Deserializer::deserialize_tuple(self, fields.len(), visitor)
    }
}
