//! Requests and responses as they travel: as they are, or with what identifies the request before them.

use std::marker::PhantomData;

use ros2_client::dds::rustdds::GUID;
use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use serde::{Serialize, Serializer};

use crate::domain::ServiceMapping;

/// What Cyclone DDS's mapping puts first: half of the id of the client's writer, and the number of the request. Servers send it
/// back as it is.
pub(crate) type Header = ([u8; 8], i64);

/// The half of a writer's id that travels.
pub(crate) fn half_of(guid: GUID) -> [u8; 8] {
    let bytes = guid.to_bytes();
    std::array::from_fn(|at| bytes[8 + at])
}

/// A request or a response.
pub(crate) struct Headed<T> {
    pub(crate) header: Option<Header>,
    pub(crate) body: T,
}

impl<T: Serialize> Serialize for Headed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.header {
            None => self.body.serialize(serializer),
            Some(header) => (header, &self.body).serialize(serializer),
        }
    }
}

/// How to decode one.
pub(crate) struct HeadedSeed<T>(ServiceMapping, PhantomData<fn() -> T>);

impl<T> HeadedSeed<T> {
    pub(crate) const fn new(mapping: ServiceMapping) -> Self {
        Self(mapping, PhantomData)
    }
}

impl<T> Clone for HeadedSeed<T> {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for HeadedSeed<T> {
    type Value = Headed<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Headed<T>, D::Error> {
        match self.0 {
            ServiceMapping::Enhanced => Ok(Headed { header: None, body: T::deserialize(deserializer)? }),
            ServiceMapping::Cyclone => {
                let (header, body) = <(Header, T)>::deserialize(deserializer)?;
                Ok(Headed { header: Some(header), body })
            }
        }
    }
}
