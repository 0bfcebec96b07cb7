//! Messages, field by field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};

use super::{As, Read, Written};

/// A message as the list of its fields. Generated types implement it, and serde's traits by [`serialize`] and [`deserialize`].
pub trait Fields: Default {
    /// The name of the Rust type.
    const NAME: &'static str;
    /// The names of the fields in their order.
    const FIELDS: &'static [&'static str];

    /// Writes all fields in their order.
    ///
    /// # Errors
    /// Those of the serializer, and fields beyond their bounds.
    fn write<S: SerializeStruct>(&self, fields: &mut Writer<S>) -> Result<(), S::Error>;

    /// Reads all fields in their order.
    ///
    /// # Errors
    /// Those of the deserializer, and fields beyond their bounds.
    fn read<'de, A: SeqAccess<'de>>(fields: &mut Reader<A>) -> Result<Self, A::Error>;

    /// Reads the field with this index, from a format that names fields.
    ///
    /// # Errors
    /// Those of the deserializer, and a field beyond its bounds.
    fn set<'de, A: MapAccess<'de>>(&mut self, index: usize, value: Entry<'_, A>) -> Result<(), A::Error>;
}

/// Where the fields of a message go.
#[derive(Debug)]
pub struct Writer<S>(S);

impl<S: SerializeStruct> Writer<S> {
    /// Writes a field.
    ///
    /// # Errors
    /// Those of the serializer, and a field beyond its bounds.
    #[inline]
    pub fn put<K: As<T>, T>(&mut self, name: &'static str, value: &T) -> Result<(), S::Error> {
        self.0.serialize_field(name, &Written::<K, T>::new(value))
    }
}

/// Where the fields of a message come from, one after the other.
#[derive(Debug)]
pub struct Reader<A> {
    access: A,
    name: &'static str,
    count: usize,
}

impl<'de, A: SeqAccess<'de>> Reader<A> {
    /// Reads the next field.
    ///
    /// # Errors
    /// If there is none, or it is beyond its bounds, and those of the deserializer.
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

/// The value of a field that was named.
#[derive(Debug)]
pub struct Entry<'a, A>(&'a mut A);

impl<'de, A: MapAccess<'de>> Entry<'_, A> {
    /// Reads the value.
    ///
    /// # Errors
    /// If it is beyond its bounds, and those of the deserializer.
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
/// Those of the serializer, and fields beyond their bounds.
#[inline]
pub fn serialize<T: Fields, S: Serializer>(message: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = Writer(serializer.serialize_struct(T::NAME, T::FIELDS.len())?);
    message.write(&mut fields)?;
    fields.0.end()
}

/// Decodes a message. Where the format names fields, missing ones have their default, and unknown ones are skipped.
///
/// # Errors
/// Those of the deserializer, and fields beyond their bounds.
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
