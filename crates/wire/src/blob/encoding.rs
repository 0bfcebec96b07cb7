//! Encoding of blobs, as that of a sequence of bytes.

use std::error::Error as _;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

use super::Blob;
use crate::cdr::{BLOB, LENT, SharedBytes};

impl Serialize for Blob {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let serialize = |bytes: &[u8]| {
            if serializer.is_human_readable() {
                serializer.collect_seq(bytes)
            } else if self.is_only_reader() {
                serializer.serialize_newtype_struct(LENT, &Raw(bytes))
            } else {
                serializer.serialize_bytes(bytes)
            }
        };
        self.read_in_place(serialize).map_err(S::Error::custom)?
    }
}

/// The bytes inside the newtype of memory that nobody else reads.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_seq(BlobVisitor)
        } else {
            deserializer.deserialize_newtype_struct(BLOB, BlobVisitor)
        }
    }
}

struct BlobVisitor;

impl<'de> Visitor<'de> for BlobVisitor {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a sequence of bytes")
    }

    /// Takes the bytes. Our CDR returns those that it shares in the source of an error, see [`SharedBytes`].
    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Blob, D::Error> {
        deserializer.deserialize_bytes(self).or_else(|error| {
            match error.source().and_then(|source| source.downcast_ref()) {
                Some(SharedBytes(bytes)) => Ok(Blob::from(bytes.clone())),
                None => Err(error),
            }
        })
    }

    #[inline]
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Blob, E> {
        Ok(Blob::from(bytes))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Blob, E> {
        Ok(Blob::from(bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Blob, A::Error> {
        // Memory is allocated as bytes arrive, because the announced length is not trusted.
        let mut vector = Vec::new();
        while let Some(byte) = bytes.next_element()? {
            vector.push(byte);
        }
        Ok(vector.into())
    }
}
