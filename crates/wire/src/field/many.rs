//! Sequences and arrays whose elements are encoded one by one.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, SerializeTuple, Serializer};

use super::{As, Read, Written};

/// A sequence of up to `MAX` elements, each encoded by `K`. A `MAX` of 0 means no bound.
#[derive(Debug)]
pub struct Sequence<K, const MAX: usize>(PhantomData<K>);

/// Returns the error message of a field that is too long.
pub(super) fn too_long(length: usize, max: usize) -> String {
    format!("{length} elements in a sequence of at most {max}")
}

/// Returns true if a sequence with the bound `max` may have this length.
pub(super) const fn fits(length: usize, max: usize) -> bool {
    max == 0 || length <= max
}

impl<K: As<T>, T, const MAX: usize> As<Vec<T>> for Sequence<K, MAX> {
    fn write<S: Serializer>(values: &Vec<T>, serializer: S) -> Result<S::Ok, S::Error> {
        if !fits(values.len(), MAX) {
            return Err(serde::ser::Error::custom(too_long(values.len(), MAX)));
        }
        let mut sequence = serializer.serialize_seq(Some(values.len()))?;
        for value in values {
            sequence.serialize_element(&Written::<K, T>::new(value))?;
        }
        sequence.end()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(Elements::<K, T> { max: MAX, of: PhantomData })
    }
}

/// Visitor that reads the elements of a sequence, each in the encoding `K`, into a `Vec<T>`. More than `max` elements
/// are an error; a `max` of 0 means no bound.
struct Elements<K, T> {
    max: usize,
    of: PhantomData<(K, T)>,
}

impl<'de, K: As<T>, T> Visitor<'de> for Elements<K, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.max == 0 { write!(f, "a sequence") } else { write!(f, "a sequence of at most {} elements", self.max) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        // Memory is allocated as elements arrive, because the announced length is not trusted.
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(Read::<K, T>::new())? {
            values.push(value);
            if !fits(values.len(), self.max) {
                return Err(A::Error::custom(too_long(values.len(), self.max)));
            }
        }
        Ok(values)
    }
}

/// An array, each element encoded by `K`.
#[derive(Debug)]
pub struct Array<K>(PhantomData<K>);

impl<K: As<T>, T, const N: usize> As<[T; N]> for Array<K> {
    fn write<S: Serializer>(values: &[T; N], serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_tuple(N)?;
        for value in values {
            array.serialize_element(&Written::<K, T>::new(value))?;
        }
        array.end()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[T; N], D::Error> {
        let values = deserializer.deserialize_tuple(N, Elements::<K, T> { max: N, of: PhantomData })?;
        let length = values.len();
        values.try_into().map_err(|_| D::Error::custom(format!("{length} elements in an array of {N}")))
    }
}
