//! Bags: recorded messages of topics in MCAP files, as `ros2 bag record -s mcap` and Foxglove write them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::mcap::{Channel, McapMessages, Wanted};

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
            bag.add(file)?;
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

    fn add(&mut self, path: &Path) -> Result<(), BagError> {
        let failed = |reason| BagError::Io { path: path.to_owned(), reason };
        let before = self.messages.len();
        let mut messages = McapMessages::open(path, Wanted::default()).map_err(failed)?;
        let mut channels: BTreeMap<u16, Option<usize>> = BTreeMap::new();
        for message in &mut messages {
            let message = message.map_err(|damage| BagError::Damaged {
                path: path.to_owned(),
                reason: damage.text,
                messages: self.messages.len() - before,
            })?;
            let channel = &message.channel;
            let topic = *channels.entry(channel.id).or_insert_with(|| self.topic(channel));
            if let Some(topic) = topic {
                let payload = message.payload.to_vec();
                self.messages.push(BagMessage { topic, time_ns: message.log_time, payload });
            }
        }
        for (id, channel) in &messages.declared().channels {
            if !channels.contains_key(id) {
                self.topic(channel);
            }
        }
        Ok(())
    }

    /// Returns the place of a channel's topic, or `None` if its messages are not in ROS 2's encoding.
    fn topic(&mut self, channel: &Channel) -> Option<usize> {
        let Channel { topic: name, encoding, message_type, .. } = channel;
        let message_type = message_type.clone();
        // Channels of rospin itself have events, not messages of topics.
        if encoding != "cdr" || message_type.is_empty() || message_type.starts_with("rospin_trace/") {
            let entry = (name.clone(), if encoding == "cdr" { message_type } else { encoding.clone() });
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
