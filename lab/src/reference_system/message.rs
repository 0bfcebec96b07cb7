//! The message that travels through the graph: 4 KiB, carrying a record of every node it passed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::graph::NodeIndex;

/// Size of a message in bytes.
pub(crate) const MESSAGE_BYTES: usize = 4096;

/// Number of records that a message has room for. It needs one for each node that it passed, at most 24.
pub(crate) const STATS_CAPACITY: usize = 63;

/// Size of the number of records in a message.
const HEADER_BYTES: usize = 8;
const PAYLOAD_BYTES: usize = MESSAGE_BYTES - HEADER_BYTES - STATS_CAPACITY * size_of::<Stat>();

/// Record that one node wrote into a message.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[repr(C)]
pub(crate) struct Stat {
    /// Start of the callback that published the sample, in nanoseconds since the run began.
    pub(crate) timestamp_ns: u64,
    /// Number of the sample among those of its node, from 0.
    pub(crate) sequence: u32,
    /// Number of samples on the node's inputs that the node did not use since its previous sample.
    pub(crate) dropped: u32,
    /// The node that wrote the record.
    pub(crate) node: NodeIndex,
}

/// A message of fixed size.
#[derive(Clone, Deserialize, Serialize)]
#[serde(into = "Wire", try_from = "Wire")]
#[repr(C)]
pub(crate) struct Message {
    /// Number of records.
    len: u64,
    stats: [Stat; STATS_CAPACITY],
    /// Bytes that fill the message up to its size, as a sensor's data would.
    _payload: [u8; PAYLOAD_BYTES],
}

const _: () = assert!(size_of::<Message>() == MESSAGE_BYTES);

impl rospin_node::Message for Message {
    const TYPE: &str = "rospin_lab/msg/ReferenceSample";
}

/// A message in the form in which it is sent over a network. It is as long as in memory.
#[derive(Clone, Deserialize, Serialize)]
struct Wire {
    stats: Vec<Stat>,
    /// The payload in words of 64 bits, as in the original. Byte by byte, the encoding would be what is measured.
    payload: Vec<u64>,
}

impl From<Message> for Wire {
    fn from(message: Message) -> Self {
        let stats = message.stats().to_vec();
        let payload = vec![0; (MESSAGE_BYTES - HEADER_BYTES - size_of_val(&stats[..])) / size_of::<u64>()];
        Self { stats, payload }
    }
}

impl TryFrom<Wire> for Message {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        if wire.stats.len() > STATS_CAPACITY {
            return Err(format!("a sample has {} records, more than there are nodes", wire.stats.len()));
        }
        let mut message = Self::new();
        wire.stats.into_iter().for_each(|stat| message.set_sample(stat));
        Ok(message)
    }
}

impl fmt::Debug for Message {
    /// Writes the records only, since the payload is all zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.stats()).finish()
    }
}

impl Message {
    /// Returns a message that has passed no node yet.
    pub(crate) fn new() -> Self {
        Self { len: 0, stats: [Stat::default(); STATS_CAPACITY], _payload: [0; PAYLOAD_BYTES] }
    }

    /// Returns the records, the oldest first.
    pub(crate) fn stats(&self) -> &[Stat] {
        &self.stats[..self.len as usize]
    }

    /// Returns the record of `node`; `None` if the message has not passed it.
    pub(crate) fn stat(&self, node: NodeIndex) -> Option<&Stat> {
        self.stats().iter().find(|stat| stat.node == node)
    }

    /// Returns the record of the node that published the message; `None` if the message has passed no node yet.
    pub(crate) fn last(&self) -> Option<&Stat> {
        self.stats().last()
    }

    /// Appends a record; does nothing when the message is full.
    pub(crate) fn set_sample(&mut self, stat: Stat) {
        if let Some(slot) = self.stats.get_mut(self.len as usize) {
            *slot = stat;
            self.len += 1;
        }
    }

    /// Appends the records of `source` whose nodes are not in this message yet.
    pub(crate) fn merge_history(&mut self, source: &Self) {
        // Only records that were here before count as known.
        let known = self.len as usize;
        for stat in source.stats() {
            if !self.stats[..known].iter().any(|mine| mine.node == stat.node) {
                self.set_sample(*stat);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(node: NodeIndex, sequence: u32) -> Stat {
        Stat { node, sequence, ..Stat::default() }
    }

    #[test]
    fn samples_are_kept_in_order() {
        let mut message = Message::new();
        assert_eq!(message.last(), None);
        message.set_sample(stat(3, 7));
        message.set_sample(stat(1, 8));
        assert_eq!(message.stats(), [stat(3, 7), stat(1, 8)]);
        assert_eq!(message.last(), Some(&stat(1, 8)));
        assert_eq!(message.stat(3), Some(&stat(3, 7)));
        assert_eq!(message.stat(2), None);
    }

    #[test]
    fn merge_keeps_the_first_record_of_a_node() {
        let (mut target, mut source) = (Message::new(), Message::new());
        target.set_sample(stat(1, 1));
        source.set_sample(stat(1, 9));
        source.set_sample(stat(2, 9));
        target.merge_history(&source);
        assert_eq!(target.stats(), [stat(1, 1), stat(2, 9)]);
    }

    #[test]
    fn messages_survive_the_network_and_have_their_size_there() {
        let mut message = Message::new();
        for sequence in 0..7 {
            message.set_sample(stat(sequence as NodeIndex, sequence));
            let wire = Wire::from(message.clone());
            assert_eq!(HEADER_BYTES + size_of_val(&wire.stats[..]) + size_of_val(&wire.payload[..]), MESSAGE_BYTES);
            assert_eq!(Message::try_from(wire).unwrap().stats(), message.stats());
        }
        let stats = vec![Stat::default(); STATS_CAPACITY + 1];
        assert!(Message::try_from(Wire { stats, payload: Vec::new() }).is_err());
    }

    #[test]
    fn full_message_takes_no_more() {
        let mut message = Message::new();
        for index in 0..=STATS_CAPACITY {
            message.set_sample(stat(index as NodeIndex, 0));
        }
        assert_eq!(message.stats().len(), STATS_CAPACITY);
        let copy = message.clone();
        message.merge_history(&copy);
        assert_eq!(message.stats().len(), STATS_CAPACITY);
    }
}
