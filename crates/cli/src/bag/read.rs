//! Bags as rosbag2, Foxglove and rospin write them: a folder with `metadata.yaml` and files, or one file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rospin_trace::mcap::{self, Channel, McapMessages, Wanted};

use super::metadata::{FILE, FileOf, Metadata, Topic};
use super::qos;
#[cfg(feature = "sqlite")]
use super::sqlite;

/// Largest `metadata.yaml` that is read, in bytes.
const METADATA_MAX: u64 = 64 << 20;

/// Reasons for which a bag cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("{}: cannot be read: {reason}", path.display())]
    Io { path: PathBuf, reason: io::Error },
    #[error("{}: has neither {FILE} nor files that end in .mcap or .db3, so it is no bag", .0.display())]
    NoBag(PathBuf),
    #[error("{}: {text}", path.display())]
    Damaged { path: PathBuf, text: String },
    #[cfg(not(feature = "sqlite"))]
    #[error(
        "{}: is an SQLite database, which this program was built without; build it with `--features sqlite`, or write the bag anew \
         with `ros2 bag convert`",
        .0.display()
    )]
    NoSqlite(PathBuf),
    #[error(
        "{}: is a database that is compressed as a whole; `zstd -d` makes a file of it that can be read",
        .0.display()
    )]
    CompressedDatabase(PathBuf),
}

/// Kind of a bag's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Mcap,
    Database,
    CompressedDatabase,
}

impl Kind {
    /// Returns the kind by the file's name; `None` if it is no file of a bag.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        if name.ends_with(".mcap") || name.ends_with(".mcap.zstd") {
            Some(Self::Mcap)
        } else if name.ends_with(".db3") {
            Some(Self::Database)
        } else if name.ends_with(".db3.zstd") {
            Some(Self::CompressedDatabase)
        } else {
            None
        }
    }
}

/// A message of a bag. Times are in nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) topic: Arc<str>,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
    pub(crate) payload: Bytes,
}

/// A bag that was opened: what it has, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Bag {
    pub(crate) metadata: Metadata,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) size: u64,
    /// Sentences about what could not be read.
    pub(crate) damages: Vec<String>,
}

impl Bag {
    /// Opens a bag: a folder, or a file of one.
    ///
    /// # Errors
    /// If it is no bag, or none of its files can be read.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |reason| ReadError::Io { path: path.to_owned(), reason };
        let mut bag = Self { metadata: Metadata::default(), files: Vec::new(), size: 0, damages: Vec::new() };
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let described = path.join(FILE);
            match described.exists().then(|| read_metadata(&described)) {
                Some(Ok(metadata)) => {
                    bag.files = metadata.files.iter().map(|file| place_of(path, &file.path)).collect();
                    bag.metadata = metadata;
                    bag.measure();
                    return Ok(bag);
                }
                Some(Err(reason)) => bag.damages.push(format!("{}: cannot be read: {reason}", described.display())),
                None => {}
            }
            bag.files = files_of(path).map_err(failed)?;
        } else {
            bag.files = vec![path.to_owned()];
        }
        if bag.files.iter().all(|file| Kind::of(file).is_none()) {
            return Err(ReadError::NoBag(path.to_owned()));
        }
        bag.survey()?;
        bag.measure();
        Ok(bag)
    }

    fn measure(&mut self) {
        for file in &self.files {
            match fs::metadata(file) {
                Ok(found) => self.size += found.len(),
                Err(reason) => self.damages.push(format!("{}: cannot be read: {reason}", file.display())),
            }
        }
    }

    /// Finds out what the files have, where no metadata says it.
    fn survey(&mut self) -> Result<(), ReadError> {
        let mut unreadable = None;
        for path in &self.files {
            let Content { storage, topics, times, damages } = match content(path) {
                Ok(content) => content,
                Err(error) => {
                    self.damages.push(error.to_string());
                    unreadable.get_or_insert(error);
                    continue;
                }
            };
            if self.files.len() == 1
                && topics.is_empty()
                && let Some(damage) = damages.first()
            {
                return Err(ReadError::Damaged { path: path.clone(), text: damage.clone() });
            }
            for damage in damages {
                self.damages.push(format!("{}: {damage}", path.display()));
            }
            let count = topics.iter().map(|topic| topic.count).sum();
            storage.clone_into(&mut self.metadata.storage);
            self.metadata.add(topics);
            self.metadata.count += count;
            if let Some((first, last)) = times {
                let known = self.metadata.times.unwrap_or((first, last));
                self.metadata.times = Some((known.0.min(first), known.1.max(last)));
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.metadata.files.push(FileOf { path: name, times, count });
        }
        match unreadable {
            Some(error) if self.metadata.files.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the messages that are wanted, file by file, each file in the order of its messages' times. An error is
    /// damage; what follows it can be read.
    pub(crate) fn messages(&self, wanted: &Wanted) -> Messages {
        let is_compressed = self.metadata.compression_mode.eq_ignore_ascii_case("message");
        let mut files = self.files.clone();
        files.reverse();
        Messages { files, wanted: wanted.clone(), current: None, is_compressed, names: BTreeMap::new() }
    }
}

impl Metadata {
    /// Adds the topics of a further file.
    fn add(&mut self, topics: Vec<Topic>) {
        for topic in topics {
            match self.topics.iter_mut().find(|known| key(known) == key(&topic)) {
                Some(known) => {
                    known.count += topic.count;
                    qos::add(&mut known.offered, &topic.offered);
                }
                None => self.topics.push(topic),
            }
        }
    }
}

/// Returns what makes a topic the same in several files.
fn key(topic: &Topic) -> (&str, &str, &str) {
    (&topic.name, &topic.message_type, &topic.format)
}

/// The content of one file.
pub(super) struct Content {
    pub(super) storage: &'static str,
    pub(super) topics: Vec<Topic>,
    pub(super) times: Option<(u64, u64)>,
    pub(super) damages: Vec<String>,
}

fn content(path: &Path) -> Result<Content, ReadError> {
    match Kind::of(path) {
        Some(Kind::CompressedDatabase) => Err(ReadError::CompressedDatabase(path.to_owned())),
        Some(Kind::Database) => {
            #[cfg(feature = "sqlite")]
            return sqlite::content(path);
            #[cfg(not(feature = "sqlite"))]
            Err(ReadError::NoSqlite(path.to_owned()))
        }
        _ => {
            let survey = mcap::survey(path).map_err(|reason| ReadError::Io { path: path.to_owned(), reason })?;
            let mut topics = Vec::new();
            for (channel, count) in &survey.channels {
                topics.push(topic_of(channel, *count));
            }
            // It is the later word: channels say what their publishers offered when they were declared.
            let described = survey.description.and_then(|text| Metadata::parse_body(&text).ok()).unwrap_or_default();
            for later in described.topics {
                if let Some(topic) = topics.iter_mut().find(|topic| key(topic) == key(&later)) {
                    qos::add(&mut topic.offered, &later.offered);
                }
            }
            Ok(Content { storage: "mcap", topics, times: survey.times, damages: survey.damages })
        }
    }
}

fn topic_of(channel: &Channel, count: u64) -> Topic {
    let entry = |name: &str| channel.metadata.get(name).cloned().unwrap_or_default();
    Topic {
        name: channel.topic.clone(),
        message_type: channel.message_type.clone(),
        format: channel.encoding.clone(),
        // Profiles that cannot be read are as good as none.
        offered: qos::from_yaml(&entry("offered_qos_profiles")).unwrap_or_default(),
        hash: entry("topic_type_hash"),
        count,
    }
}

fn read_metadata(path: &Path) -> Result<Metadata, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|reason| reason.to_string())?;
    file.take(METADATA_MAX).read_to_string(&mut text).map_err(|reason| reason.to_string())?;
    Metadata::parse(&text)
}

/// Returns the place of a file that the metadata of a folder names. Old bags have the folder's name in it, too.
fn place_of(folder: &Path, file: &str) -> PathBuf {
    let place = folder.join(file);
    let name = Path::new(file).file_name().unwrap_or_default();
    if place.exists() { place } else { folder.join(name) }
}

/// Returns the files of a bag in a folder, by their numbers.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if Kind::of(&path).is_some() {
            files.push(path);
        }
    }
    // A recorder that compresses files may be killed before it removes the one that it has compressed.
    let names = files.clone();
    files.retain(|path| path.extension() != Some("zstd".as_ref()) || !names.contains(&path.with_extension("")));
    files.sort_by_cached_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.split('.').next().unwrap_or_default();
        let number = stem.rsplit('_').next().and_then(|digits| digits.parse::<u64>().ok());
        let before = number.and_then(|_| stem.rsplit_once('_')).map_or(stem, |(before, _)| before);
        (before.to_owned(), number, name.clone())
    });
    Ok(files)
}

/// Messages of a bag.
pub(crate) struct Messages {
    /// Files that are not read yet, the next one last.
    files: Vec<PathBuf>,
    wanted: Wanted,
    current: Option<(PathBuf, Current)>,
    /// True if each message is compressed by itself.
    is_compressed: bool,
    names: BTreeMap<String, Arc<str>>,
}

enum Current {
    Mcap(Box<McapMessages>),
    #[cfg(feature = "sqlite")]
    Database(sqlite::DatabaseMessages),
}

fn open(path: &Path, wanted: &Wanted) -> Result<Current, ReadError> {
    match Kind::of(path) {
        Some(Kind::CompressedDatabase) => Err(ReadError::CompressedDatabase(path.to_owned())),
        Some(Kind::Database) => {
            #[cfg(feature = "sqlite")]
            return sqlite::DatabaseMessages::open(path, wanted).map(Current::Database);
            #[cfg(not(feature = "sqlite"))]
            Err(ReadError::NoSqlite(path.to_owned()))
        }
        _ => {
            let opened = McapMessages::open(path, wanted.clone());
            let messages = opened.map_err(|reason| ReadError::Io { path: path.to_owned(), reason })?;
            Ok(Current::Mcap(Box::new(messages)))
        }
    }
}

impl Messages {
    fn name(&mut self, topic: &str) -> Arc<str> {
        if let Some(known) = self.names.get(topic) {
            return Arc::clone(known);
        }
        let name: Arc<str> = topic.into();
        self.names.insert(topic.to_owned(), Arc::clone(&name));
        name
    }

    fn of_mcap(&mut self, message: mcap::McapMessage) -> Message {
        let mcap::McapMessage { channel, log_time, publish_time, payload } = message;
        Message { topic: self.name(&channel.topic), log_time, publish_time, payload }
    }
}

impl Iterator for Messages {
    type Item = Result<Message, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((_, current)) = &mut self.current else {
                let path = self.files.pop()?;
                match open(&path, &self.wanted) {
                    Ok(opened) => self.current = Some((path, opened)),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            let read = match current {
                Current::Mcap(messages) => match messages.next() {
                    Some(Ok(message)) => Some(Ok(self.of_mcap(message))),
                    Some(Err(damage)) => Some(Err(damage.to_string())),
                    None => None,
                },
                #[cfg(feature = "sqlite")]
                Current::Database(messages) => messages.next(),
            };
            let read = match read {
                Some(Ok(message)) if self.is_compressed || message.payload.starts_with(ZSTD) => {
                    Some(decompressed(message))
                }
                read => read,
            };
            match read {
                None => self.current = None,
                Some(read) => return Some(read.map_err(|text| self.damaged(text))),
            }
        }
    }
}

impl Messages {
    /// Returns damage of the current file.
    fn damaged(&self, text: String) -> ReadError {
        let path = self.current.as_ref().map_or_else(PathBuf::new, |(path, _)| path.clone());
        ReadError::Damaged { path, text }
    }
}

/// Beginning of what Zstandard has compressed. No message in CDR begins so, and a bag without metadata does not say
/// that its messages are compressed.
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

/// Largest message that is decompressed, in bytes.
const MESSAGE_MAX: u64 = 1 << 30;

fn decompressed(message: Message) -> Result<Message, String> {
    let mut payload = Vec::new();
    let read = mcap::zstd(&message.payload[..]).and_then(|from| from.take(MESSAGE_MAX).read_to_end(&mut payload));
    match read {
        Ok(_) => Ok(Message { payload: payload.into(), ..message }),
        Err(reason) => Err(format!("has a message of {} that cannot be decompressed: {reason}", message.topic)),
    }
}
