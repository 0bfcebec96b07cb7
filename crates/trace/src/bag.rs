//! Bags: recorded messages of topics in MCAP files, as `ros2 bag record -s mcap` and Foxglove write them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};

use crate::lengths;

/// The largest record that is read, in bytes.
const RECORD_LIMIT: usize = 1 << 30;

/// Messages of topics as they were recorded, in the order of their times.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Bag {
    /// The topics that have messages in ROS 2's encoding, by their first message.
    pub topics: Vec<BagTopic>,
    /// The messages.
    pub messages: Vec<BagMessage>,
    /// Topics that are left out, because their messages have another encoding: each with the encoding.
    pub left_out: Vec<(String, String)>,
}

/// A topic of a bag.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BagTopic {
    /// Its name, with the slash at its beginning.
    pub name: String,
    /// The name of its messages' type: `sensor_msgs/msg/LaserScan`.
    pub message_type: String,
}

/// A message of a bag.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BagMessage {
    /// The place of its topic.
    pub topic: usize,
    /// The time at which it was recorded, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The message in CDR, with the four bytes of the encapsulation header before it.
    pub payload: Vec<u8>,
}

/// Reasons for which a bag cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// The file or folder cannot be read.
    #[error("{}: cannot be read: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// The folder has no MCAP files.
    #[error(
        "{}: the folder has no files that end in .mcap; `ros2 bag convert` writes them from other \
         bags",
        path.display()
    )]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The file is no MCAP file, or damaged.
    #[error(
        "{}: {reason}, after {messages} messages; `mcap recover` makes a whole file of what is \
         left",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
        /// The number of messages before the damage.
        messages: usize,
    },
    /// The file has no messages in ROS 2's encoding.
    #[error("{}: has no messages of ROS 2 topics{has}", path.display())]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// Text that continues the error message: the topics that it has, and their encodings; empty if there are none.
        has: String,
    },
}

impl Bag {
    /// Reads a file, or all `.mcap` files of a folder, into memory.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged, or there are no messages in ROS 2's encoding.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BagError> {
        let path = path.as_ref();
        let failed = |path: &Path, reason| BagError::Io { path: path.to_owned(), reason };
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(|reason| failed(path, reason))?;
            files = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.retain(|path| path.extension().is_some_and(|ending| ending == "mcap"));
            files.sort_unstable();
            if files.is_empty() {
                return Err(BagError::Empty { path: path.to_owned() });
            }
        }
        let mut bag = Self::default();
        for file in &files {
            bag.add(&fs::read(file).map_err(|reason| failed(file, reason))?, file)?;
        }
        if bag.messages.is_empty() {
            let others: Vec<String> =
                bag.left_out.iter().map(|(topic, encoding)| format!("{topic} in {encoding}")).collect();
            let has = if others.is_empty() { String::new() } else { format!(", but {}", others.join(", ")) };
            return Err(BagError::Foreign { path: path.to_owned(), has });
        }
        // Stable: messages of one time keep the order of the file.
        bag.messages.sort_by_key(|message| message.time_ns);
        Ok(bag)
    }

    fn add(&mut self, mut rest: &[u8], path: &Path) -> Result<(), BagError> {
        let before = self.messages.len();
        // A damaged file may claim any length.
        let options = LinearReaderOptions::default().with_record_length_limit(RECORD_LIMIT);
        let mut reader = LinearReader::new_with_options(options);
        let mut schemas: BTreeMap<u16, String> = BTreeMap::new();
        let mut channels: BTreeMap<u16, Option<usize>> = BTreeMap::new();
        while let Some(event) = reader.next_event() {
            let record = match event {
                Ok(LinearReadEvent::ReadRequest(wanted)) => {
                    let (now, later) = rest.split_at(wanted.min(rest.len()));
                    reader.insert(now.len())[..now.len()].copy_from_slice(now);
                    reader.notify_read(now.len());
                    rest = later;
                    continue;
                }
                Ok(LinearReadEvent::Record { data, opcode }) if lengths::are_within(opcode, data) => {
                    mcap::parse_record(opcode, data)
                }
                Ok(LinearReadEvent::Record { .. }) => Err(mcap::McapError::UnexpectedEof),
                Err(error) => Err(error),
            };
            match record {
                Ok(Record::Schema { header, .. }) => _ = schemas.insert(header.id, header.name),
                Ok(Record::Channel(channel)) => {
                    let message_type = schemas.get(&channel.schema_id).cloned().unwrap_or_default();
                    let topic = self.topic(&channel.topic, &channel.message_encoding, message_type);
                    channels.insert(channel.id, topic);
                }
                Ok(Record::Message { header, data }) => {
                    if let Some(topic) = channels.get(&header.channel_id).copied().flatten() {
                        let payload = data.into_owned();
                        self.messages.push(BagMessage { topic, time_ns: header.log_time, payload });
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    let path = path.to_owned();
                    let messages = self.messages.len() - before;
                    return Err(BagError::Damaged { path, reason: plain(&error), messages });
                }
            }
        }
        Ok(())
    }

    /// Returns the place of a channel's topic, or `None` if its messages are not in ROS 2's encoding.
    fn topic(&mut self, name: &str, encoding: &str, message_type: String) -> Option<usize> {
        // Channels of rospin itself have events, not messages of topics.
        if encoding != "cdr" || message_type.is_empty() || message_type.starts_with("rospin_trace/") {
            let entry = (name.to_owned(), if encoding == "cdr" { message_type } else { encoding.to_owned() });
            if !self.left_out.contains(&entry) {
                self.left_out.push(entry);
            }
            return None;
        }
        let slash = if name.starts_with('/') { "" } else { "/" };
        let topic = BagTopic { name: format!("{slash}{name}"), message_type };
        let known = self.topics.iter().position(|known| *known == topic);
        Some(known.unwrap_or_else(|| {
            self.topics.push(topic);
            self.topics.len() - 1
        }))
    }

    /// Returns the bag with the messages of these topics only, such as the inputs of the nodes under test, which
    /// publish the other topics themselves. [`topics`](Self::topics) still lists all topics.
    #[must_use]
    pub fn only<'a>(self, topics: impl IntoIterator<Item = &'a str>) -> Self {
        let wanted: Vec<&str> = topics.into_iter().map(|topic| topic.trim_start_matches('/')).collect();
        self.retain(|topic| wanted.contains(&topic.trim_start_matches('/')))
    }

    /// Returns the bag without the messages of these topics. [`topics`](Self::topics) still lists all topics.
    #[must_use]
    pub fn without<'a>(self, topics: impl IntoIterator<Item = &'a str>) -> Self {
        let unwanted: Vec<&str> = topics.into_iter().map(|topic| topic.trim_start_matches('/')).collect();
        self.retain(|topic| !unwanted.contains(&topic.trim_start_matches('/')))
    }

    /// Returns the bag with another name for a topic. Does nothing if there is none of that name.
    #[must_use]
    pub fn renamed(mut self, from: &str, to: &str) -> Self {
        let is_it = |topic: &&mut BagTopic| topic.name.trim_start_matches('/') == from.trim_start_matches('/');
        let slash = if to.starts_with('/') { "" } else { "/" };
        for topic in self.topics.iter_mut().filter(is_it) {
            topic.name = format!("{slash}{to}");
        }
        self
    }

    fn retain(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let Self { topics, messages, .. } = &mut self;
        messages.retain(|message| is_wanted(&topics[message.topic].name));
        self
    }
}

/// Returns the error in words.
fn plain(error: &mcap::McapError) -> String {
    match error {
        mcap::McapError::BadMagic => "is no MCAP file, or is cut off".to_owned(),
        mcap::McapError::UnexpectedEof => "is cut off within a record".to_owned(),
        mcap::McapError::UnsupportedCompression(name) => {
            format!("has chunks that are compressed with {name} (`mcap decompress` writes it without)")
        }
        other => other.to_string(),
    }
}
