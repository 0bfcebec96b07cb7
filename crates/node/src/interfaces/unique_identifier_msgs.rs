//! The package `unique_identifier_msgs`.

use serde::{Deserialize, Serialize};

use crate::message::Message;

/// `unique_identifier_msgs/msg/UUID`: an identifier that nobody else has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Uuid {
    /// Its bytes, in network order.
    pub uuid: [u8; 16],
}

impl Message for Uuid {
    const TYPE: &str = "unique_identifier_msgs/msg/UUID";
    const TYPE_HASH: Option<&str> = Some("RIHS01_1b8e8aca958cbea28fe6ef60bf6c19b683c97a9ef60bb34752067d0f2f7ab437");
}
