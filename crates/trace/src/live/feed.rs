//! The bytes that come from a program, as names and events.

use std::collections::BTreeMap;

use bytes::Bytes;
use rospin_core::Instant;
use rospin_core::recording::Event;

use crate::file::VERSION;
use crate::mcap;
use crate::mcap::format::{Fields, MAGIC, kind};
use crate::names::Name;
use crate::read::{about, channel, message, words_of};
use crate::recording::Recorded;
use crate::stream::END;

/// The largest record that is read: a chunk of a program has about a MiB.
const RECORD_LIMIT: u64 = 1 << 26;
/// The largest number of channels that are known: a program has one for each kind of event.
const CHANNELS: usize = 1_000;

/// Something that a program told.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Item {
    /// The definition of a number in events.
    Name(Name),
    /// An event.
    Event(Recorded),
    /// The end, with its reason.
    End(String),
}

/// Reasons for which bytes are no recording.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// The program refused to be watched, for this reason.
    #[error("the program says: {0}")]
    Refused(String),
    /// The bytes are of something else.
    #[error("what listens there is no program of rospin: it does not send an MCAP file")]
    NoMcap,
    /// The program has this later version of the format.
    #[error("the program has version {0} of the format, and this `rospin` knows {VERSION}; use a later one")]
    Newer(u32),
    /// A record is damaged, as this text says.
    #[error("a record cannot be read: {0}")]
    Damaged(String),
}

/// Reader of a recording that comes in pieces.
#[derive(Default)]
pub struct Feed {
    has_begun: bool,
    /// Bytes of a record that is not complete.
    rest: Vec<u8>,
    topics: BTreeMap<u16, String>,
}

impl Feed {
    /// Takes further bytes, and calls `each` with what they say. The events of a chunk come in the order in which they
    /// happened, and those of one thread in the order in which it recorded them.
    ///
    /// # Errors
    /// If the bytes are no recording. Nothing more can be read then.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Item)) -> Result<(), FeedError> {
        self.rest.extend(bytes);
        if !self.has_begun {
            let known = self.rest.len().min(MAGIC.len());
            if self.rest[..known] != MAGIC[..known] {
                return self.refusal();
            }
            if self.rest.len() < MAGIC.len() {
                return Ok(());
            }
            self.has_begun = true;
            self.rest.drain(..MAGIC.len());
        }
        let rest = std::mem::take(&mut self.rest);
        let mut from = 0;
        while let Some(head) = rest.get(from..from + 9) {
            let length = u64::from_le_bytes(std::array::from_fn(|byte| head[1 + byte]));
            if length > RECORD_LIMIT {
                return Err(FeedError::Damaged(format!("it has {length} bytes")));
            }
            let end = from + 9 + length as usize;
            let Some(data) = rest.get(from + 9..end) else { break };
            self.record(head[0], data, &mut each)?;
            from = end;
        }
        self.rest.extend(&rest[from..]);
        Ok(())
    }

    /// Fails with the line that the program sent instead of a recording. Returns `Ok` if that line is not complete yet.
    fn refusal(&self) -> Result<(), FeedError> {
        const PREFIX: &[u8] = b"error: ";
        let known = self.rest.len().min(PREFIX.len());
        if self.rest[..known] != PREFIX[..known] {
            return Err(FeedError::NoMcap);
        }
        match self.rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => Err(FeedError::Refused(String::from_utf8_lossy(&self.rest[PREFIX.len()..end]).into_owned())),
            None if self.rest.len() > 4096 => Err(FeedError::NoMcap),
            None => Ok(()),
        }
    }

    fn record(&mut self, kind: u8, fields: &[u8], each: &mut impl FnMut(Item)) -> Result<(), FeedError> {
        let cut = || FeedError::Damaged("it ends within a field".to_owned());
        match kind {
            kind::CHUNK => {
                let content = mcap::content(&Bytes::copy_from_slice(fields), RECORD_LIMIT);
                let content = content.map_err(|reason| FeedError::Damaged(format!("a chunk {reason}")))?;
                self.chunk(&content, each).ok_or_else(cut)?;
            }
            kind::METADATA => {
                if let Some(about) = about(fields)
                    && about.version > VERSION
                {
                    return Err(FeedError::Newer(about.version));
                }
                let mut fields = Fields(fields);
                if fields.text().ok_or_else(cut)? == END.0 {
                    let mut map = fields.map().ok_or_else(cut)?;
                    each(Item::End(map.remove(END.1).unwrap_or_default()));
                }
            }
            _ => {
                if let Some(recorded) = self.message(kind, Fields(fields), each).ok_or_else(cut)? {
                    each(Item::Event(recorded));
                }
            }
        }
        Ok(())
    }

    /// Takes the content of a chunk; `None` if a record of it is damaged.
    fn chunk(&mut self, content: &[u8], each: &mut impl FnMut(Item)) -> Option<()> {
        // A release is noted later than it happened, and must not come before what its thread noted earlier.
        let mut latest: BTreeMap<u32, u64> = BTreeMap::new();
        let mut events = Vec::new();
        let mut rest = Fields(content);
        while !rest.0.is_empty() {
            let (kind, fields) = rest.record()?;
            if let Some(recorded) = self.message(kind, fields, each)? {
                let latest = latest.entry(recorded.thread).or_default();
                *latest = recorded.at.as_nanos().max(*latest);
                events.push((*latest, recorded));
            }
        }
        // A stable sort keeps the order of each thread.
        events.sort_by_key(|(order, _)| *order);
        for (_, recorded) in events {
            each(Item::Event(recorded));
        }
        Some(())
    }

    /// Takes a channel or a message, and returns the event in it; `Some(None)` if it has none, and `None` if its fields
    /// are damaged. Passes a name on to `each`.
    fn message(&mut self, kind: u8, mut fields: Fields<'_>, each: &mut impl FnMut(Item)) -> Option<Option<Recorded>> {
        match kind {
            kind::CHANNEL => {
                let (id, topic) = channel(&mut fields)?;
                if self.topics.len() < CHANNELS {
                    self.topics.insert(id, topic);
                }
                Some(None)
            }
            kind::MESSAGE => {
                let (id, data) = message(&mut fields)?;
                Some(self.event(id, data, each))
            }
            _ => Some(None),
        }
    }

    fn event(&self, channel: u16, data: &[u8], each: &mut impl FnMut(Item)) -> Option<Recorded> {
        let topic = self.topics.get(&channel)?;
        if topic == "/rospin/names" {
            if let Ok(name) = serde_json::from_slice(data) {
                each(Item::Name(name));
            }
            return None;
        }
        let (words, thread) = words_of(data).filter(|_| topic.starts_with("/rospin/"))?;
        let (at, event): (Instant, Event) = Event::decode(&words)?;
        Some(Recorded { thread, at, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &[u8] = include_bytes!("../../tests/golden.mcap");

    fn read<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Item>, FeedError> {
        let mut feed = Feed::default();
        let mut items = Vec::new();
        pieces.try_for_each(|bytes| feed.push(bytes, |item| items.push(item)))?;
        Ok(items)
    }

    #[test]
    fn pieces_of_any_size_say_the_same() {
        let whole = read([GOLDEN].into_iter()).unwrap();
        let events = whole.iter().filter(|item| matches!(item, Item::Event(_))).count();
        assert_eq!((events, whole.len() - events > 5), (46, true));
        for size in [1, 7, 100, 4096] {
            assert_eq!(read(GOLDEN.chunks(size)).unwrap(), whole);
        }
    }

    #[test]
    fn a_stream_that_is_no_recording_is_refused() {
        let error = |bytes: &[u8]| read(bytes.chunks(3)).unwrap_err().to_string();
        assert!(error(b"HTTP/1.1 400 Bad Request\r\n").contains("no program of rospin"));
        assert_eq!(error(b"error: eight watch already\n"), "the program says: eight watch already");
        assert!(error(&[MAGIC, &[5], &[0xFF; 8]].concat()).contains("bytes"));
        assert!(read([&b"error: "[..]].into_iter()).unwrap().is_empty());
    }

    /// Bytes all over a recording are damaged in turn: nothing panics, and nothing is read without an end.
    #[test]
    fn damage_is_an_error_or_leaves_something_out() {
        for place in (0..GOLDEN.len()).step_by(13) {
            let mut bytes = GOLDEN.to_vec();
            bytes[place] ^= [0x01, 0x80, 0xFF][place % 3];
            let _ = read([&bytes[..]].into_iter());
        }
    }
}
