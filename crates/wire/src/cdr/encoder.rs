//! Encoding of values.
//!
//! The codec is ours because others walk numbers one by one: `cdr-encoding`, and `hiroz-cdr`, which also needs parts of
//! Zenoh. It is compared byte by byte with `cdr-encoding`, with Cyclone DDS and with ROS 2. It reads either byte order
//! with one copy of the code for each type.

use serde::{Serialize, ser};

use super::CdrError;
use super::bulk::{Bulk, BulkEncoder};
use super::gap::{Gap, LENT, Search};

/// Encoder that appends values to a vector, little-endian.
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: &'a mut Vec<u8>,
    /// The position from which alignment is counted. Bytes that were left out move it back, below zero if need be.
    start: usize,
    /// The search for bytes that are left out, if there may be any.
    search: Option<Search<'a>>,
}

impl<'a> Encoder<'a> {
    /// Returns an encoder that appends to `bytes`, and counts alignment from their end.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        let start = bytes.len();
        Self { bytes, start, search: None }
    }

    /// Returns an encoder that leaves out the bytes of one blob for which `is_lent` returns true.
    pub(super) fn around(bytes: &'a mut Vec<u8>, is_lent: &'a dyn Fn(&[u8]) -> bool) -> Self {
        let search = Search { is_lent, is_next: false, found: None };
        Self { search: Some(search), ..Self::new(bytes) }
    }

    /// Returns the place of the bytes that were left out, if there are any.
    pub(super) fn gap(&self) -> Option<Gap> {
        self.search.as_ref().and_then(|search| search.found)
    }

    /// Pads with zeros up to a multiple of `size`, which is a power of two.
    #[inline]
    pub(super) fn align(&mut self, size: usize) {
        let position = self.bytes.len().wrapping_sub(self.start);
        let padding = position.wrapping_neg() & (size - 1);
        if padding > 0 {
            self.bytes.resize(self.bytes.len() + padding, 0);
        }
    }

    /// Appends bytes as they are.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Leaves out bytes if they are those that are searched for. Otherwise does nothing, and returns false.
    #[cold]
    fn leave_out(&mut self, bytes: &[u8]) -> bool {
        let Some(search) = &mut self.search else { return false };
        let is_next = std::mem::take(&mut search.is_next);
        if !is_next || search.found.is_some() || bytes.is_empty() || !(search.is_lent)(bytes) {
            return false;
        }
        search.found = Some(Gap { at: self.bytes.len(), address: bytes.as_ptr().addr(), length: bytes.len() });
        self.start = self.start.wrapping_sub(bytes.len());
        true
    }

    /// Writes the length of a sequence.
    #[inline]
    pub(super) fn put_length(&mut self, length: usize) -> Result<(), CdrError> {
        let length = u32::try_from(length).map_err(|_| CdrError::Long(length))?;
        self.align(4);
        self.put(&length.to_le_bytes());
        Ok(())
    }
}

/// Defines methods that write a number: the method, and the number's type.
macro_rules! numbers {
    ($($method:ident $number:ident)*) => {
        $(
            #[inline]
            fn $method(self, value: $number) -> Result<(), CdrError> {
                self.align(size_of::<$number>());
                self.put(&value.to_le_bytes());
                Ok(())
            }
        )*
    };
}

impl ser::Serializer for &mut Encoder<'_> {
    type Ok = ();
    type Error = CdrError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers! {
        serialize_u8 u8
        serialize_u16 u16
        serialize_u32 u32
        serialize_u64 u64
        serialize_u128 u128
        serialize_i8 i8
        serialize_i16 i16
        serialize_i32 i32
        serialize_i64 i64
        serialize_i128 i128
        serialize_f32 f32
        serialize_f64 f64
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), CdrError> {
        self.serialize_u8(value.into())
    }

    fn serialize_char(self, value: char) -> Result<(), CdrError> {
        self.serialize_u32(value.into())
    }

    /// Writes a string. Its length includes the final zero.
    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), CdrError> {
        self.put_length(text.len() + 1)?;
        self.put(text.as_bytes());
        self.put(&[0]);
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), CdrError> {
        self.put_length(bytes.len())?;
        if self.search.is_none() || !self.leave_out(bytes) {
            self.put(bytes);
        }
        Ok(())
    }

    fn serialize_none(self) -> Result<(), CdrError> {
        self.serialize_u32(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CdrError> {
        self.serialize_u32(1)?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CdrError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CdrError> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Result<(), CdrError> {
        self.serialize_u32(index)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), CdrError> {
        if let Some(bulk) = Bulk::named(name) {
            return value.serialize(BulkEncoder { encoder: self, bulk });
        }
        if let Some(search) = &mut self.search
            && name == LENT
        {
            search.is_next = true;
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), CdrError> {
        self.serialize_u32(index)?;
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, CdrError> {
        self.put_length(length.ok_or(CdrError::UnknownLength)?)?;
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Self, CdrError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, CdrError> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, index: u32, _: &'static str, _: usize) -> Result<Self, CdrError> {
        self.serialize_u32(index)?;
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, CdrError> {
        self.serialize_seq(length)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, CdrError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, CdrError> {
        self.serialize_u32(index)?;
        Ok(self)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Implements serde's traits for values with parts, each with its methods. Such a value is encoded as its parts, one
/// after the other.
macro_rules! parts {
    ($($of:ident { $($method:ident $(($name:ty))?),+ })*) => {
        $(
            impl ser::$of for &mut Encoder<'_> {
                type Ok = ();
                type Error = CdrError;

                $(
                    #[inline]
                    fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), CdrError> {
                        value.serialize(&mut **self)
                    }
                )+

                #[inline]
                fn end(self) -> Result<(), CdrError> {
                    Ok(())
                }
            }
        )*
    };
}

parts! {
    SerializeSeq { serialize_element }
    SerializeTuple { serialize_element }
    SerializeTupleStruct { serialize_field }
    SerializeTupleVariant { serialize_field }
    SerializeMap { serialize_key, serialize_value }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}
