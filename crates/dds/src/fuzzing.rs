//! The private parts that the fuzz targets reach; this module exists under `--cfg fuzzing` only.

use rospin_wire::cdr::from_payload;

use crate::cdr::{self, Header};
use crate::cyclone::{Discover, Found};
use crate::feed::Feed;
use crate::names::{self, End};
use crate::user_data;

/// Returns what a DDS topic and its type are called in ROS, if they are of ROS.
#[must_use]
pub fn endpoint(is_writer: bool, topic: &str, dds_type: &str) -> Option<(String, String)> {
    let end = if is_writer { End::Writers } else { End::Readers };
    let (kind, name) = names::of_topic(end, topic)?;
    Some((name.to_owned(), names::of_type(kind, dds_type)))
}

/// Returns the client and the number of a request or a response, and what comes behind them as a payload of its own.
#[must_use]
pub fn request(bytes: &[u8]) -> Option<(u64, i64, Vec<u8>)> {
    let Header { client, number } = cdr::header(bytes).ok()?;
    Some((client, number, cdr::body(bytes).ok()?))
}

/// Puts the client and the number of a request before its payload.
pub fn insert(payload: &mut Vec<u8>, client: u64, number: i64) {
    cdr::insert(payload, Header { client, number });
}

/// Returns the hash of a type and the name of a pair in what a reader or writer says of itself.
#[must_use]
pub fn said(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let pair = user_data::pair(bytes).map(|pair| match pair {
        user_data::Pair::Client(name) | user_data::Pair::Server(name) => name,
    });
    (user_data::type_hash(bytes).map(str::to_owned), pair)
}

/// Discovery, fed with what others say of themselves and of their nodes.
#[derive(Default)]
pub struct Discovery(Feed);

impl Discovery {
    /// A participant that was just found says which nodes it has. True if that can be read.
    pub fn nodes(&self, participant: [u8; 12], bytes: &[u8]) -> bool {
        let mut writer = [0; 16];
        writer[..12].copy_from_slice(&participant);
        self.0.participant(writer, true);
        let message = from_payload(bytes);
        message.map(|message| self.0.said(&writer, message)).is_ok()
    }

    /// One of its readers or writers is found.
    pub fn endpoint(&self, guid: [u8; 16], is_writer: bool, topic: &str, type_name: &str, user_data: &[u8]) {
        let handle = u64::from_le_bytes(std::array::from_fn(|at| guid[8 + at]));
        let (is_reliable, durability, depth) = (guid[12] % 2 == 0, i32::from(guid[13]), i32::from(guid[14]));
        self.0.came(&Found { handle, guid, is_writer, topic, type_name, is_reliable, durability, depth, user_data });
    }

    /// Returns the nodes that there are now.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.0.graph.node_names()
    }
}
