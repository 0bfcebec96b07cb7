//! Messages as lists of their fields.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};

use super::{As, Read, Written};

/// A message as a list of its fields. Generated types implement it, and implement serde's traits with [`serialize`]
/// and [`deserialize`].
pub trait Fields: Default {
    /// Name of the Rust type.
    const NAME: &'static str;
    /// Names of the fields, in order.
    const FIELDS: &'static [&'static str];

    /// Writes all fields, in order.
    ///
    /// # Errors
    /// Those of the serializer, and if a field exceeds its bound.
    fn write<S: SerializeStruct>(&self, fields: &mut Writer<S>) -> Result<(), S::Error>;

    /// Reads all fields, in order.
    ///
    /// # Errors
    /// Those of the deserializer, and if a field exceeds its bound.
    fn read<'de, A: SeqAccess<'de>>(fields: &mut Reader<A>) -> Result<Self, A::Error>;

    /// Reads the field with this index into the message, from a format with named fields.
    ///
    /// # Errors
    /// Those of the deserializer, and if the field exceeds its bound.
    fn set<'de, A: MapAccess<'de>>(&mut self, index: usize, value: Entry<'_, A>) -> Result<(), A::Error>;
}

/// Writer of a message's fields, in order.
#[derive(Debug)]
pub struct Writer<S>(S);

impl<S: SerializeStruct> Writer<S> {
    /// Writes a field.
    ///
    /// # Errors
    /// Those of the serializer, and if the field exceeds its bound.
    #[inline]
    pub fn put<K: As<T>, T>(&mut self, name: &'static str, value: &T) -> Result<(), S::Error> {
        self.0.serialize_field(name, &Written::<K, T>::new(value))
    }
}

/// Reader of a message's fields, in order.
#[derive(Debug)]
pub struct Reader<A> {
    access: A,
    name: &'static str,
    /// Number of fields that were read.
    count: usize,
}

impl<'de, A: SeqAccess<'de>> Reader<A> {
    /// Reads the next field.
    ///
    /// # Errors
    /// Those of the deserializer, and if the field is missing or exceeds its bound.
    #[inline]
    pub fn get<K: As<T>, T>(&mut self) -> Result<T, A::Error> {
        match self.access.next_element_seed(Read::<K, T>::new())? {
            Some(value) => {
                self.count += 1;
                Ok(value)
            }
            None => Err(A::Error::invalid_length(self.count, &self.name)),
        }
    }
}

/// Value of a named field.
#[derive(Debug)]
pub struct Entry<'a, A>(&'a mut A);

impl<'de, A: MapAccess<'de>> Entry<'_, A> {
    /// Reads the value.
    ///
    /// # Errors
    /// Those of the deserializer, and if the field exceeds its bound.
    pub fn get<K: As<T>, T>(self) -> Result<T, A::Error> {
        self.0.next_value_seed(Read::<K, T>::new())
    }

    /// Skips the value.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn skip(self) -> Result<(), A::Error> {
        self.0.next_value::<IgnoredAny>().map(drop)
    }
}

/// Encodes a message as a struct of serde's.
///
/// # Errors
/// Those of the serializer, and if a field exceeds its bound.
#[inline]
pub fn serialize<T: Fields, S: Serializer>(message: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = Writer(serializer.serialize_struct(T::NAME, T::FIELDS.len())?);
    message.write(&mut fields)?;
    fields.0.end()
}

/// Decodes a message. In a format with named fields, missing ones get their default, and unknown ones are skipped.
///
/// # Errors
/// Those of the deserializer, and if a field exceeds its bound.
#[inline]
pub fn deserialize<'de, T: Fields, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_struct(T::NAME, T::FIELDS, MessageVisitor(PhantomData))
}

struct MessageVisitor<T>(PhantomData<T>);

impl<'de, T: Fields> Visitor<'de> for MessageVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} with {} fields", T::NAME, T::FIELDS.len())
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<T, A::Error> {
        T::read(&mut Reader { access, name: T::NAME, count: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<T, A::Error> {
        let mut message = T::default();
        while let Some(name) = access.next_key::<String>()? {
            match T::FIELDS.iter().position(|known| *known == name) {
                Some(index) => message.set(index, Entry(&mut access))?,
                None => Entry(&mut access).skip()?,
            }
        }
        Ok(message)
    }
}
