//! How the fields of generated messages are encoded.
//!
//! Each field has a Rust type, and a marker that says how it travels: a type that implements [`As`] for it. A plain field is
//! [`Plain`]; bounds, wide strings and arrays that are copied whole have markers of their own. Generated code consists of
//! little more than the list of fields, see [`Fields`].

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

/// A way to encode values of a type.
pub trait As<T> {
    /// Encodes a value.
    ///
    /// # Errors
    /// If the value is longer than its bound, and those of the serializer.
    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>;

    /// Decodes a value.
    ///
    /// # Errors
    /// If what is there is longer than its bound, or no value of the type, and those of the deserializer.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;
}

/// As serde encodes the type.
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

/// A value together with the way to encode it.
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

/// The way to decode a value.
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
