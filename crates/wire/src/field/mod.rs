//! Encoding of generated messages' fields.
//!
//! Each field has a Rust type, and a marker type for its encoding that implements [`As`]. The marker of a plain field
//! is [`Plain`]. Bounds, wide strings and arrays that are copied as a whole have markers of their own. Generated code
//! is little more than a list of fields, see [`Fields`].

mod bulk;
mod many;
mod message;
mod text;

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer};
use serde::{Serialize, Serializer};

pub use bulk::{Bools, Bulk, BulkArray, Number};
pub use many::{Array, Sequence};
pub use message::{Entry, Fields, Reader, Writer, deserialize, serialize};
pub use text::{Text, Wide};

/// An encoding of the values of a type.
pub trait As<T> {
    /// Encodes a value.
    ///
    /// # Errors
    /// Those of the serializer, and if the value exceeds its bound.
    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>;

    /// Decodes a value.
    ///
    /// # Errors
    /// Those of the deserializer, and if the value is invalid or exceeds its bound.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;
}

/// The encoding of serde's derives.
#[derive(Debug)]
pub enum Plain {}

impl<T: Serialize + DeserializeOwned> As<T> for Plain {
    #[inline]
    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    #[inline]
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

/// A value with its encoding.
pub(crate) struct Written<'a, K, T>(&'a T, PhantomData<K>);

impl<'a, K, T> Written<'a, K, T> {
    #[inline]
    pub(crate) const fn new(value: &'a T) -> Self {
        Self(value, PhantomData)
    }
}

impl<K: As<T>, T> Serialize for Written<'_, K, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        K::write(self.0, serializer)
    }
}

/// A seed that decodes a value by its encoding.
pub(crate) struct Read<K, T>(PhantomData<(K, T)>);

impl<K, T> Read<K, T> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, K: As<T>, T> DeserializeSeed<'de> for Read<K, T> {
    type Value = T;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        K::read(deserializer)
    }
}
