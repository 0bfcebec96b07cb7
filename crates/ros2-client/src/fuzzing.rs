//! What the fuzz targets want of the private parts; there is this module under `--cfg fuzzing` only.

use ros2_client::dds::rustdds::GUID;
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer};

use crate::domain::ServiceMapping;
use crate::graph::{Feed, ParticipantEntitiesInfo};
use crate::headed::HeadedSeed;
use crate::names;
use crate::participant::End;

/// What a DDS topic and its type are called in ROS, if they are of ROS.
#[must_use]
pub fn endpoint(is_writer: bool, topic: &str, dds_type: &str) -> Option<(String, String)> {
    let end = if is_writer { End::Writers } else { End::Readers };
    let (kind, name) = names::of_topic(end, topic)?;
    Some((name.to_owned(), names::of_type(kind, dds_type)))
}

/// A request or a response, with what goes before it.
///
/// # Errors
/// If it is none.
pub fn read_headed<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    mapping: ServiceMapping,
    deserializer: D,
) -> Result<(Option<([u8; 8], i64)>, T), D::Error> {
    let headed = HeadedSeed::<T>::new(mapping).deserialize(deserializer)?;
    Ok((headed.header, headed.body))
}

/// What others say of their nodes.
#[derive(Default)]
pub struct Discovery(Feed);

impl Discovery {
    /// The participant says something.
    ///
    /// # Errors
    /// If it is nothing.
    pub fn said<'de, D: Deserializer<'de>>(&self, participant: [u8; 12], deserializer: D) -> Result<(), D::Error> {
        let mut writer = [0; 16];
        writer[..12].copy_from_slice(&participant);
        self.0.said(GUID::from_bytes(writer), ParticipantEntitiesInfo::deserialize(deserializer)?);
        Ok(())
    }

    /// The nodes that there are now.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.0.graph.node_names()
    }
}
