//! Private functions for the fuzz targets. This module exists under `--cfg fuzzing` only.

use crate::cdr::{self, Header};
use crate::cyclone::{Discover, Found, Times};
use crate::feed::{self, Feed};
use crate::names::{self, End};
use crate::user_data;

/// Returns the ROS names of a DDS topic and its type; `None` if they are not of ROS.
#[must_use]
pub fn endpoint(is_writer: bool, topic: &str, dds_type: &str) -> Option<(String, String)> {
    let end = if is_writer { End::Writers } else { End::Readers };
    let (kind, name) = names::of_topic(end, topic)?;
    Some((name.to_owned(), names::of_type(kind, dds_type)))
}

/// Returns the client's id and the number in the header of a request or response, and the payload behind the header;
/// `None` if the bytes are invalid.
#[must_use]
pub fn request(bytes: &[u8]) -> Option<(u64, i64, Vec<u8>)> {
    let Header { client, number } = cdr::header(bytes).ok()?;
    Some((client, number, cdr::body(bytes).ok()?))
}

/// Inserts a header with the client's id and the number of a request before the payload.
pub fn insert(payload: &mut Vec<u8>, client: u64, number: i64) {
    cdr::insert(payload, Header { client, number });
}

/// Returns the id and the number of the identity in the parameters that precede a message; `None` if there is none.
#[must_use]
pub fn identity(parameters: &[u8], is_little: bool) -> Option<([u8; 16], i64)> {
    let identity = crate::cyclone::read_identity(parameters, is_little)?;
    Some((identity.guid, identity.number))
}

/// Returns the type hash and the name of the client or server in the user data of a reader or writer.
#[must_use]
pub fn said(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let pair = user_data::pair(bytes).map(|pair| match pair {
        user_data::Pair::Client(name) | user_data::Pair::Server(name) => name,
    });
    (user_data::type_hash(bytes).map(str::to_owned), pair)
}

/// Discovery that is fed with arbitrary data about participants, nodes and endpoints.
#[derive(Default)]
pub struct Discovery(Feed);

impl Discovery {
    /// Enters the nodes of a participant that was just found, from its message. Returns true if the message can be
    /// decoded.
    pub fn nodes(&self, participant: [u8; 12], bytes: &[u8]) -> bool {
        let mut writer = [0; 16];
        writer[..12].copy_from_slice(&participant);
        self.0.participant(writer, true);
        let message = feed::decode(bytes);
        message.map(|message| self.0.enter_nodes(&writer, message)).is_some()
    }

    /// Enters a reader or a writer that was just found.
    pub fn endpoint(&self, guid: [u8; 16], is_writer: bool, topic: &str, type_name: &str, user_data: &[u8]) {
        let handle = u64::from_le_bytes(std::array::from_fn(|at| guid[8 + at]));
        let is_reliable = guid[12] % 2 == 0;
        let durability = i32::from(guid[13]);
        let depth = i32::from(guid[14]);
        let times = Times::default();
        self.0.came(&Found {
            handle,
            guid,
            is_writer,
            topic,
            type_name,
            is_reliable,
            durability,
            depth,
            times,
            user_data,
        });
    }

    /// Returns the names of the nodes that are known now.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.0.graph.node_names()
    }
}
