//! Bags as rosbag2 writes them: a folder with MCAP files, which are split by size or duration, and `metadata.yaml`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::mcap::{Counts, Layout, McapFile, Unwritten, is_full};
use super::metadata::{FILE, FileOf, Metadata, Topic};
use super::qos::{Offered, to_yaml};

/// Options of a bag that is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) layout: Layout,
    /// Bytes after which a new file begins.
    pub(crate) size_max: Option<u64>,
    /// Nanoseconds after which a new file begins.
    pub(crate) duration_ns_max: Option<u64>,
    /// Release of ROS 2 whose types the messages have; empty if it is not known.
    pub(crate) ros_distro: String,
}

/// A message of a topic on its way into a bag. Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped<'a> {
    /// Number of the message among those of its publisher, or 0.
    pub(crate) number: u32,
    /// Time of its arrival.
    pub(crate) log_time: u64,
    /// Time of its publication.
    pub(crate) publish_time: u64,
    pub(crate) payload: &'a [u8],
}

/// The definition of a topic's messages; `None` if nobody could tell it.
pub(crate) type Definition = Option<String>;

/// A topic, with what the current file has of it.
struct Entry {
    topic: Topic,
    definition: Definition,
    channels: Channels,
    lost: u64,
}

/// Channels of a topic in a file.
#[derive(Default)]
struct Channels {
    current: Option<u16>,
    /// Those from before the definition was known.
    undefined: Vec<u16>,
}

impl Entry {
    /// Returns true if the channel of the current file is one of the topic.
    fn has(&self, channel: u16) -> bool {
        self.channels.current == Some(channel) || self.channels.undefined.contains(&channel)
    }

    /// Returns the number of the topic's messages among these of the current file.
    fn count(&self, counts: &Counts) -> u64 {
        let channels = self.channels.undefined.iter().chain(&self.channels.current);
        channels.map(|channel| counts.get(channel).copied().unwrap_or_default()).sum()
    }
}

/// Writer of a bag.
pub(crate) struct BagWriter {
    folder: PathBuf,
    name: String,
    options: WriteOptions,
    topics: Vec<Entry>,
    file: McapFile,
    /// The file before, which is complete, with the channels that each topic has in it.
    previous: Option<(McapFile, Vec<Channels>)>,
    /// Schemas of the current file, by the name and the hash of the type.
    schemas: BTreeMap<(String, String), u16>,
    /// Earliest time of a message of the current file.
    file_start: Option<u64>,
    /// The files that are complete.
    files: Vec<FileOf>,
    /// True if the current file is one of these.
    is_ended: bool,
    /// The failure after which nothing more is written.
    failure: Option<String>,
}

/// Reasons for which a bag cannot be begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    #[error("{}: a folder or file of that name is there already; --output names another one", .0.display())]
    Exists(PathBuf),
    #[error("{}: {reason}", path.display())]
    Io { path: PathBuf, reason: io::Error },
}

/// Returns the name of a bag's file.
fn file_name(name: &str, number: usize) -> String {
    format!("{name}_{number}.mcap")
}

impl BagWriter {
    /// Creates the folder, which must not be there, and its first file.
    pub(crate) fn create(folder: &Path, options: WriteOptions) -> Result<Self, CreateError> {
        let failed = |reason: io::Error| match reason.kind() {
            io::ErrorKind::AlreadyExists => CreateError::Exists(folder.to_owned()),
            _ => CreateError::Io { path: folder.to_owned(), reason },
        };
        let name = folder.file_name().map_or_else(|| "bag".to_owned(), |name| name.to_string_lossy().into_owned());
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::create_dir(folder).map_err(failed)?;
        let file = McapFile::create(&folder.join(file_name(&name, 0)), options.layout).map_err(failed)?;
        Ok(Self {
            folder: folder.to_owned(),
            name,
            options,
            topics: Vec::new(),
            file,
            previous: None,
            schemas: BTreeMap::new(),
            file_start: None,
            files: Vec::new(),
            is_ended: false,
            failure: None,
        })
    }

    /// Adds a topic, and returns its place.
    pub(crate) fn add_topic(&mut self, topic: Topic, definition: Definition) -> usize {
        self.topics.push(Entry {
            topic: Topic { count: 0, ..topic },
            definition,
            channels: Channels::default(),
            lost: 0,
        });
        let place = self.topics.len() - 1;
        // Readers list topics without messages, too.
        let declared = self.channel(place);
        if let Err(reason) = declared {
            self.fail(&reason);
        }
        place
    }

    /// Adds a record of metadata to the current file, by its fields.
    pub(crate) fn add_metadata(&mut self, fields: &[u8]) {
        if self.failure.is_none()
            && let Err(reason) = self.file.add_metadata(fields)
        {
            self.fail(&reason);
        }
    }

    /// Sets what the publishers of a topic offer, for the metadata and for the next file.
    pub(crate) fn set_offered(&mut self, place: usize, offered: Vec<Offered>) {
        self.topics[place].topic.offered = offered;
    }

    /// Sets the definition of a topic's messages. Those that follow have a channel with it.
    pub(crate) fn set_definition(&mut self, place: usize, definition: String) {
        let entry = &mut self.topics[place];
        if entry.definition.replace(definition).is_some() {
            return;
        }
        entry.channels.undefined.extend(entry.channels.current.take());
        match self.channel(place) {
            Err(reason) => self.fail(&reason),
            Ok(Some(_)) => {}
            Ok(None) => {
                // The file has no room for another channel.
                let channels = &mut self.topics[place].channels;
                channels.current = channels.undefined.pop();
            }
        }
    }

    /// Returns the topic's channel in the current file; `None` if the file has no room for another one.
    fn channel(&mut self, place: usize) -> io::Result<Option<u16>> {
        let entry = &mut self.topics[place];
        if entry.channels.current.is_some() || self.failure.is_some() {
            return Ok(entry.channels.current);
        }
        let Topic { name, message_type, format, offered, hash, .. } = &entry.topic;
        let key = (message_type.clone(), hash.clone());
        let schema = match self.schemas.get(&key) {
            Some(known) => Some(*known),
            None => {
                let (encoding, text) = match &entry.definition {
                    Some(text) if format == "json" => ("jsonschema", text.as_str()),
                    Some(text) => ("ros2msg", text.as_str()),
                    // As rosbag2 writes it for a type that it does not know.
                    None => ("unknown", ""),
                };
                let added = self.file.add_schema(message_type, encoding, text)?;
                // Another topic of that name may have the definition.
                if let (Some(added), true) = (added, entry.definition.is_some()) {
                    self.schemas.insert(key, added);
                }
                added
            }
        };
        let Some(schema) = schema else { return Ok(None) };
        // Messages of ROS are in CDR. The names of a trace's callbacks are in JSON.
        let encoding = if format == "json" { "json" } else { "cdr" };
        let offered = to_yaml(offered, 0);
        let metadata = [("offered_qos_profiles", offered.trim_end()), ("topic_type_hash", hash.as_str())];
        entry.channels.current = self.file.add_channel(schema, name, encoding, &metadata)?;
        Ok(entry.channels.current)
    }

    /// Adds a message of a topic. Returns false if it is lost, which [`lost`](Self::lost) counts.
    pub(crate) fn write(&mut self, place: usize, message: Stamped<'_>) -> bool {
        if self.is_split_due(message.log_time) {
            self.split();
        }
        let written = match self.channel(place) {
            _ if self.failure.is_some() => Ok(false),
            Ok(None) => Ok(false),
            Err(reason) => Err(Unwritten { reason, lost: Counts::new() }),
            Ok(Some(channel)) => {
                let Stamped { number, log_time, publish_time, payload } = message;
                // A clock may be set back.
                self.file_start = Some(self.file_start.map_or(log_time, |start| start.min(log_time)));
                let written = self.file.write(channel, number, log_time, publish_time, payload);
                written.map(|()| true)
            }
        };
        match written {
            Ok(true) => return true,
            Ok(false) => self.topics[place].lost += 1,
            Err(unwritten) => {
                if unwritten.lost.is_empty() {
                    self.topics[place].lost += 1;
                }
                self.count_lost(&unwritten.lost);
                self.fail(&unwritten.reason);
            }
        }
        false
    }

    /// Writes what waits for a full chunk.
    pub(crate) fn flush(&mut self) {
        if self.failure.is_some() || !self.file.has_unflushed() {
            return;
        }
        if let Err(unwritten) = self.file.flush() {
            self.count_lost(&unwritten.lost);
            self.fail(&unwritten.reason);
        }
    }

    fn count_lost(&mut self, lost: &Counts) {
        for (channel, count) in lost {
            if let Some(entry) = self.topics.iter_mut().find(|entry| entry.has(*channel)) {
                entry.lost += count;
            }
        }
    }

    fn fail(&mut self, reason: &io::Error) {
        self.failure.get_or_insert_with(|| format!("{}: {reason}", self.folder.display()));
    }

    /// Returns true if a message of that time belongs into a new file.
    fn is_split_due(&self, log_time: u64) -> bool {
        let Some(start) = self.file_start else { return false };
        let is_long = |max: u64| log_time.saturating_sub(start) >= max;
        let is_large = |max: u64| self.file.length() >= max;
        self.failure.is_none()
            && (self.options.duration_ns_max.is_some_and(is_long) || self.options.size_max.is_some_and(is_large))
    }

    /// Ends the current file, and begins the next one.
    fn split(&mut self) {
        self.flush();
        if self.failure.is_some() || self.end_file().is_err() {
            return;
        }
        let path = self.folder.join(file_name(&self.name, self.files.len()));
        let file = match McapFile::create(&path, self.options.layout) {
            Ok(file) => file,
            Err(reason) => return self.fail(&reason),
        };
        let channels = self.topics.iter_mut().map(|entry| std::mem::take(&mut entry.channels)).collect();
        self.previous = Some((std::mem::replace(&mut self.file, file), channels));
        self.is_ended = false;
        self.schemas.clear();
        self.file_start = None;
        for place in 0..self.topics.len() {
            if let Err(reason) = self.channel(place) {
                return self.fail(&reason);
            }
        }
    }

    /// Writes the summary of the current file, and enters the file into the metadata.
    fn end_file(&mut self) -> io::Result<()> {
        let number = self.files.len();
        self.is_ended = true;
        let finished = {
            let Self { file, name, topics, options, .. } = self;
            file.finish(|file| described(file, file_name(name, number), topics, &options.ros_distro).body(0))
        };
        let (lost, result) = match finished {
            Ok(lost) => (lost, Ok(())),
            Err(unwritten) => (unwritten.lost, Err(unwritten.reason)),
        };
        self.count_lost(&lost);
        if !lost.is_empty() {
            self.fail(&io::ErrorKind::StorageFull.into());
        }
        self.enter_file(number);
        if let Err(reason) = &result {
            self.fail(reason);
        }
        result
    }

    /// Enters the content of the current file into the metadata.
    fn enter_file(&mut self, number: usize) {
        let counts = self.file.counts();
        for entry in &mut self.topics {
            entry.topic.count += entry.count(&counts);
        }
        let path = file_name(&self.name, number);
        self.files.push(FileOf { path, times: self.file.times(), count: counts.values().sum() });
    }

    /// Takes back what [`enter_file`](Self::enter_file) did.
    fn leave_file(&mut self) {
        self.files.pop();
        let counts = self.file.counts();
        for entry in &mut self.topics {
            entry.topic.count -= entry.count(&counts);
        }
    }

    /// Removes the current file, which is not in the metadata, and takes up the one before. Returns false if there is
    /// none, or the current one has messages.
    pub(super) fn go_back(&mut self) -> bool {
        if !self.file.counts().is_empty() {
            return false;
        }
        let Some((file, channels)) = self.previous.take() else { return false };
        let _ = fs::remove_file(self.folder.join(file_name(&self.name, self.files.len())));
        self.file = file;
        for entry in &mut self.topics {
            entry.channels = Channels::default();
        }
        for (entry, channels) in self.topics.iter_mut().zip(channels) {
            entry.channels = channels;
        }
        self.is_ended = true;
        true
    }

    /// Returns the numbers of lost messages, by topic.
    pub(crate) fn lost(&self) -> Vec<u64> {
        self.topics.iter().map(|entry| entry.lost).collect()
    }

    /// Returns the failure after which nothing more is written, such as a full disk.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Ends the last file, and writes `metadata.yaml`. If the disk is full, the last messages of the file make room for
    /// it. Returns the content of the bag.
    pub(crate) fn finish(&mut self) -> io::Result<Metadata> {
        self.flush();
        let mut ended = if self.is_ended { Ok(()) } else { self.end_file() };
        if ended.as_ref().is_err_and(is_full) {
            // Not even its summary had room.
            self.leave_file();
            if self.go_back() {
                ended = Ok(());
            } else {
                self.enter_file(self.files.len());
            }
        }
        let path = self.folder.join(FILE);
        loop {
            let metadata = self.metadata();
            let written = fs::write(&path, metadata.to_yaml());
            let Err(reason) = written else { return ended.map(|()| metadata) };
            self.leave_file();
            let mut lost = Counts::new();
            let has_room = is_full(&reason) && self.file.give_room(&mut lost);
            self.count_lost(&lost);
            if !has_room && is_full(&reason) && self.go_back() {
                continue;
            }
            if !has_room {
                let _ = fs::remove_file(&path);
                return Err(reason);
            }
            self.fail(&reason);
            self.end_file()?;
        }
    }

    /// Returns the content of the bag's complete files.
    fn metadata(&self) -> Metadata {
        let mut times: Option<(u64, u64)> = None;
        for (first, last) in self.files.iter().filter_map(|file| file.times) {
            times = Some(times.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        }
        Metadata {
            storage: "mcap".to_owned(),
            times,
            count: self.files.iter().map(|file| file.count).sum(),
            topics: self.topics.iter().map(|entry| entry.topic.clone()).collect(),
            files: self.files.clone(),
            ros_distro: self.options.ros_distro.clone(),
            ..Metadata::default()
        }
    }
}

/// Returns the content of one file, which stands in it, too.
fn described(file: &McapFile, path: String, topics: &[Entry], ros_distro: &str) -> Metadata {
    let counts = file.counts();
    let total = counts.values().sum();
    Metadata {
        storage: "mcap".to_owned(),
        times: file.times(),
        count: total,
        topics: topics.iter().map(|entry| Topic { count: entry.count(&counts), ..entry.topic.clone() }).collect(),
        files: vec![FileOf { path, times: file.times(), count: total }],
        ros_distro: ros_distro.to_owned(),
        ..Metadata::default()
    }
}
