//! Sequences and arrays of numbers, copied as a whole.
//!
//! Serde has a call for bytes, which every codec copies. Other numbers are a newtype whose name [`crate::cdr`] knows.
//! Any other codec sees through it and gets the numbers one by one, so the encoding is the same.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::ser::{Serialize, SerializeSeq, SerializeTuple, Serializer};

use super::As;
use super::many::{fits, too_long};
use crate::cdr::{ARRAYS, SEQUENCES};

/// A number of fixed size, whose arrays can be copied as a whole.
pub trait Number: Pod + Serialize + for<'de> Deserialize<'de> + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

/// Implements [`Number`] for these types.
macro_rules! numbers {
    ($($number:ident)*) => {
        $(
            impl sealed::Sealed for $number {}
            impl Number for $number {}
        )*
    };
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// A sequence of up to `MAX` numbers. A `MAX` of 0 means no bound.
#[derive(Debug)]
pub enum Bulk<const MAX: usize> {}

impl<T: Number, const MAX: usize> As<Vec<T>> for Bulk<MAX> {
    fn write<S: Serializer>(values: &Vec<T>, serializer: S) -> Result<S::Ok, S::Error> {
        if !fits(values.len(), MAX) {
            return Err(serde::ser::Error::custom(too_long(values.len(), MAX)));
        }
        if serializer.is_human_readable() {
            serializer.collect_seq(values)
        } else if size_of::<T>() == 1 {
            serializer.serialize_bytes(bytemuck::cast_slice(values))
        } else {
            serializer.serialize_newtype_struct(SEQUENCES[log::<T>()], &Raw { values, counted: true })
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let visitor = SequenceVisitor { max: MAX, of: PhantomData };
        if deserializer.is_human_readable() {
            deserializer.deserialize_seq(visitor)
        } else if size_of::<T>() == 1 {
            deserializer.deserialize_bytes(visitor)
        } else {
            deserializer.deserialize_newtype_struct(SEQUENCES[log::<T>()], visitor)
        }
    }
}

/// An array of numbers.
#[derive(Debug)]
pub enum BulkArray {}

impl<T: Number, const N: usize> As<[T; N]> for BulkArray {
    fn write<S: Serializer>(values: &[T; N], serializer: S) -> Result<S::Ok, S::Error> {
        let raw = Raw { values, counted: false };
        if serializer.is_human_readable() {
            raw.one_by_one(serializer)
        } else {
            serializer.serialize_newtype_struct(ARRAYS[log::<T>()], &raw)
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[T; N], D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_tuple(N, ArrayVisitor(PhantomData))
        } else {
            deserializer.deserialize_newtype_struct(ARRAYS[log::<T>()], ArrayVisitor(PhantomData))
        }
    }
}

/// Returns the binary logarithm of the size of a number.
const fn log<T>() -> usize {
    size_of::<T>().ilog2() as usize
}

/// The numbers inside the newtype. A codec that knows the newtype's name calls itself human-readable, and gets bytes.
/// Any other codec gets them one by one.
struct Raw<'a, T> {
    values: &'a [T],
    /// True for a sequence, whose length is encoded; false for an array.
    counted: bool,
}

impl<T: Number> Raw<'_, T> {
    fn one_by_one<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.counted {
            let mut sequence = serializer.serialize_seq(Some(self.values.len()))?;
            self.values.iter().try_for_each(|value| sequence.serialize_element(value))?;
            return sequence.end();
        }
        let mut array = serializer.serialize_tuple(self.values.len())?;
        self.values.iter().try_for_each(|value| array.serialize_element(value))?;
        array.end()
    }
}

impl<T: Number> Serialize for Raw<'_, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_bytes(bytemuck::cast_slice(self.values))
        } else {
            self.one_by_one(serializer)
        }
    }
}

struct SequenceVisitor<T> {
    max: usize,
    of: PhantomData<T>,
}

impl<T> SequenceVisitor<T> {
    fn check<E: Error>(&self, length: usize) -> Result<(), E> {
        if fits(length, self.max) { Ok(()) } else { Err(E::custom(too_long(length, self.max))) }
    }
}

impl<'de, T: Number> Visitor<'de> for SequenceVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a sequence of numbers")
    }

    /// Copies the numbers, whose bytes need not be aligned.
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        self.check(bytes.len() / size_of::<T>())?;
        Ok(match bytemuck::try_cast_slice(bytes) {
            Ok(values) => values.to_vec(),
            Err(_) => bytemuck::pod_collect_to_vec(bytes),
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_bytes(self)
        } else {
            deserializer.deserialize_seq(self)
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
            self.check(values.len())?;
        }
        Ok(values)
    }
}

struct ArrayVisitor<T, const N: usize>(PhantomData<T>);

impl<'de, T: Number, const N: usize> Visitor<'de> for ArrayVisitor<T, N> {
    type Value = [T; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} numbers")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<[T; N], E> {
        let mut values = [T::zeroed(); N];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        if room.len() != bytes.len() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        room.copy_from_slice(bytes);
        Ok(values)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<[T; N], D::Error> {
        deserializer.deserialize_tuple(N, self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<[T; N], A::Error> {
        let mut values = [T::zeroed(); N];
        for (at, value) in values.iter_mut().enumerate() {
            *value = elements.next_element()?.ok_or_else(|| A::Error::invalid_length(at, &self))?;
        }
        Ok(values)
    }
}

/// A sequence of up to `MAX` Booleans, a byte each. A `MAX` of 0 means no bound.
#[derive(Debug)]
pub enum Bools<const MAX: usize> {}

impl<const MAX: usize> As<Vec<bool>> for Bools<MAX> {
    fn write<S: Serializer>(values: &Vec<bool>, serializer: S) -> Result<S::Ok, S::Error> {
        if !fits(values.len(), MAX) {
            return Err(serde::ser::Error::custom(too_long(values.len(), MAX)));
        }
        if serializer.is_human_readable() {
            serializer.collect_seq(values)
        } else {
            serializer.serialize_bytes(bytemuck::cast_slice(values))
        }
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<bool>, D::Error> {
        if deserializer.is_human_readable() {
            let values = Vec::<bool>::deserialize(deserializer)?;
            return if fits(values.len(), MAX) {
                Ok(values)
            } else {
                Err(D::Error::custom(too_long(values.len(), MAX)))
            };
        }
        let bytes: Vec<u8> = Bulk::<MAX>::read(deserializer)?;
        match bytes.iter().find(|byte| **byte > 1) {
            Some(other) => Err(D::Error::invalid_value(Unexpected::Unsigned(u64::from(*other)), &"0 or 1")),
            None => Ok(bytes.into_iter().map(|byte| byte == 1).collect()),
        }
    }
}
