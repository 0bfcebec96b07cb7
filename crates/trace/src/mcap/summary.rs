//! The summary at the end of an MCAP file: its channels, its chunks and its counts, without a look at its messages.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::format::{Fields, MAGIC, RECORD_HEADER, kind};
use super::messages::{Channel, Declared, McapMessages, Source, Wanted};
use super::records::read_some;

/// Bytes of the footer and of what follows it.
const END: u64 = RECORD_HEADER as u64 + 20 + MAGIC.len() as u64;

/// Largest summary that is read, in bytes. A damaged file may claim any length.
const SUMMARY_MAX: u64 = 1 << 30;

/// Name of the metadata record in which rosbag2 describes a file.
const DESCRIPTION: &str = "rosbag2";

/// Longest description that is read, in bytes.
const DESCRIPTION_MAX: u64 = 64 << 20;

/// Place of a chunk in a file, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) times: (u64, u64),
    pub(super) at: u64,
    pub(super) length: u64,
    /// Channels with messages in it. Empty if the file has no index of messages.
    pub(super) channels: Vec<u16>,
}

/// Counts and times of a file's messages.
pub(super) struct Statistics {
    messages: u64,
    times: (u64, u64),
    of_channels: BTreeMap<u16, u64>,
}

/// The summary of a file.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) declared: Declared,
    pub(super) chunks: Vec<Chunk>,
    pub(super) statistics: Option<Statistics>,
    /// Place and length of the record with rosbag2's description of the file.
    description: Option<(u64, u64)>,
}

impl Summary {
    /// Returns true if all channels that it mentions are declared in it, and its chunks lie apart. Writers need not
    /// repeat declarations. Chunks that lie in each other are damage, and each would be read anew.
    pub(super) fn is_complete(&self) -> bool {
        let mut places: Vec<(u64, u64)> = self.chunks.iter().map(|chunk| (chunk.at, chunk.length)).collect();
        places.sort_unstable();
        let lie_apart = places.windows(2).all(|two| two[0].0.saturating_add(two[0].1) <= two[1].0);
        let of_chunks = self.chunks.iter().flat_map(|chunk| &chunk.channels);
        let counted = self.statistics.iter().flat_map(|statistics| statistics.of_channels.keys());
        let is_empty = self.statistics.as_ref().is_some_and(|statistics| statistics.messages == 0);
        lie_apart && self.declared.has(of_chunks.chain(counted)) && (is_empty || !self.declared.channels.is_empty())
    }

    /// Reads the summary of a file; `None` if it has none, as a file that is cut off.
    pub(super) fn read(file: &mut impl Source) -> io::Result<Option<Self>> {
        let length = file.seek(SeekFrom::End(0))?;
        let Some(footer_at) = length.checked_sub(END) else { return Ok(None) };
        let mut end = [0; END as usize];
        file.seek(SeekFrom::Start(footer_at))?;
        file.read_exact(&mut end)?;
        let Some((kind::FOOTER, mut footer)) = Fields(&end).record() else { return Ok(None) };
        let start = footer.u64().unwrap_or_default();
        if !end.ends_with(MAGIC) || start == 0 || start > footer_at || footer_at - start > SUMMARY_MAX {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(start))?;
        let bytes = read_some(file, footer_at - start)?;
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = Fields(bytes);
        let mut summary = Self::default();
        while !rest.0.is_empty() {
            let (kind, mut fields) = rest.record()?;
            match kind {
                kind::SCHEMA | kind::CHANNEL => summary.declared.add(kind, fields)?,
                kind::CHUNK_INDEX => {
                    let times = (fields.u64()?, fields.u64()?);
                    let (at, length) = (fields.u64()?, fields.u64()?);
                    let mut places = Fields(fields.bytes()?);
                    let mut channels = Vec::new();
                    while !places.0.is_empty() {
                        channels.push(places.u16()?);
                        places.u64()?;
                    }
                    summary.chunks.push(Chunk { times, at, length, channels });
                }
                kind::METADATA_INDEX => {
                    let place = (fields.u64()?, fields.u64()?);
                    if fields.text()? == DESCRIPTION {
                        summary.description = Some(place);
                    }
                }
                kind::STATISTICS => summary.statistics = Some(Statistics::parse(&mut fields)?),
                _ => {}
            }
        }
        Some(summary)
    }
}

impl Statistics {
    fn parse(fields: &mut Fields<'_>) -> Option<Self> {
        let messages = fields.u64()?;
        fields.u16()?;
        for _ in 0..4 {
            fields.u32()?;
        }
        let times = (fields.u64()?, fields.u64()?);
        let mut counts = Fields(fields.bytes()?);
        let mut of_channels = BTreeMap::new();
        while !counts.0.is_empty() {
            of_channels.insert(counts.u16()?, counts.u64()?);
        }
        Some(Self { messages, times, of_channels })
    }
}

/// The content of a file: its channels with their counts, and its times.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its channels with the numbers of their messages.
    pub channels: Vec<(Arc<Channel>, u64)>,
    /// Times of the first and the last message.
    pub times: Option<(u64, u64)>,
    /// Number of its messages.
    pub messages: u64,
    /// The file as rosbag2 describes it, in YAML.
    pub description: Option<String>,
    /// Damage of the file.
    pub damages: Vec<String>,
}

/// Returns the content of a file: from its summary, or, if it has none, from its messages.
///
/// # Errors
/// If it cannot be read.
pub fn survey(path: &Path) -> io::Result<Survey> {
    let mut file = File::open(path)?;
    let described = survey_summary(&mut file)?;
    match described {
        Some(survey) => Ok(survey),
        None => McapMessages::open(path, Wanted::default()).map(survey_messages),
    }
}

/// Returns the content of a file by its summary; `None` if it has none.
fn survey_summary(file: &mut File) -> io::Result<Option<Survey>> {
    if let Some(summary) = Summary::read(file)?.filter(Summary::is_complete)
        && let Some(statistics) = summary.statistics
    {
        let count = |channel: &Channel| statistics.of_channels.get(&channel.id).copied().unwrap_or_default();
        let channels = summary.declared.channels.into_values().map(|channel| (Arc::clone(&channel), count(&channel)));
        let description = summary.description.and_then(|place| read_description(file, place));
        return Ok(Some(Survey {
            channels: channels.collect(),
            times: (statistics.messages > 0).then_some(statistics.times),
            messages: statistics.messages,
            description,
            damages: Vec::new(),
        }));
    }
    Ok(None)
}

/// Returns the bag's description in the metadata record at that place of the file; `None` if the record has another
/// content. The record has that length.
fn read_description(file: &mut File, (at, length): (u64, u64)) -> Option<String> {
    if length > DESCRIPTION_MAX {
        return None;
    }
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).ok()?;
    let (kind::METADATA, mut fields) = Fields(&bytes).record()? else { return None };
    fields.text()?;
    fields.map()?.remove("serialized_metadata")
}

/// Returns the content of a file by its messages.
fn survey_messages(mut messages: McapMessages) -> Survey {
    let mut survey = Survey::default();
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for message in &mut messages {
        match message {
            Ok(message) => {
                *counts.entry(message.channel.id).or_default() += 1;
                let time = message.log_time;
                survey.times = Some(survey.times.map_or((time, time), |(a, b)| (a.min(time), b.max(time))));
                survey.messages += 1;
            }
            Err(damage) => survey.damages.push(damage.to_string()),
        }
    }
    for channel in messages.declared().channels.values() {
        let count = counts.get(&channel.id).copied().unwrap_or_default();
        survey.channels.push((Arc::clone(channel), count));
    }
    survey
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcap::format::{put_bytes, put_text, record};

    #[test]
    fn a_summary_is_not_believed_whose_chunks_overlap() {
        let chunk = |at, length| Chunk { times: (0, 9), at, length, channels: Vec::new() };
        let mut bytes = Vec::new();
        record(&mut bytes, kind::CHANNEL, |out| {
            out.extend([0; 4]);
            put_text(out, "/scan");
            put_text(out, "cdr");
            put_bytes(out, &[]);
        });
        let mut summary = Summary::parse(&bytes).unwrap();
        for (chunks, is_complete) in [
            (vec![chunk(100, 50), chunk(20, 80)], true),
            (vec![chunk(20, 80), chunk(20, 80)], false),
            (vec![chunk(20, u64::MAX), chunk(30, 10)], false),
        ] {
            summary.chunks = chunks;
            assert_eq!(summary.is_complete(), is_complete);
        }
    }
}
