//! Bags that are SQLite databases, as rosbag2 writes them with `-s sqlite3`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use rusqlite::{Connection, OpenFlags};

use super::metadata::Topic;
use super::qos;
use super::read::{Content, Message, ReadError};
use rospin_trace::mcap::{Kind, Wanted};

/// Number of messages that are read at once.
const PAGE: u32 = 16;

fn connect(path: &Path) -> Result<Connection, ReadError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &rusqlite::Error) -> ReadError {
    ReadError::Damaged { path: path.to_owned(), text: error.to_string() }
}

/// Returns the content of a database: its topics with their counts, and its times.
pub(super) fn content(path: &Path) -> Result<Content, ReadError> {
    let database = connect(path)?;
    read_content(&database).map_err(|error| damaged(path, &error))
}

fn read_content(database: &Connection) -> rusqlite::Result<Content> {
    let has = |column: &str| database.prepare(&format!("SELECT {column} FROM topics")).is_ok();
    // Older databases have fewer columns.
    let profiles = if has("offered_qos_profiles") { "offered_qos_profiles" } else { "''" };
    let hash = if has("type_description_hash") { "type_description_hash" } else { "''" };
    let sql = format!(
        "SELECT name, type, serialization_format, {profiles}, {hash}, \
         (SELECT COUNT(*) FROM messages WHERE topic_id = topics.id) FROM topics ORDER BY id"
    );
    let mut statement = database.prepare(&sql)?;
    let topics = statement.query_map([], |row| {
        let offered: String = row.get(3)?;
        Ok(Topic {
            name: row.get(0)?,
            message_type: row.get(1)?,
            format: row.get(2)?,
            offered: qos::from_yaml(&offered).unwrap_or_default(),
            hash: row.get(4)?,
            count: row.get::<_, i64>(5)?.unsigned_abs(),
        })
    })?;
    let topics = topics.collect::<rusqlite::Result<Vec<_>>>()?;
    let span = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let times = match database.query_row("SELECT MIN(timestamp), MAX(timestamp) FROM messages", [], span)? {
        (Some(first), Some(last)) => Some((time(first), time(last))),
        _ => None,
    };
    Ok(Content { storage: "sqlite3", topics, times, damages: Vec::new() })
}

/// Returns a time of a database; one before 1970 is 1970.
fn time(stamp: i64) -> u64 {
    u64::try_from(stamp).unwrap_or_default()
}

/// Messages of a database, in the order of their times. They are read in pages, so memory is bounded.
pub(super) struct DatabaseMessages {
    database: Connection,
    end: u64,
    /// Topics that are wanted.
    topics: BTreeMap<i64, Arc<str>>,
    /// Time and id of the last message that was read.
    last: (i64, i64),
    page: vec::IntoIter<Message>,
    is_over: bool,
}

impl DatabaseMessages {
    pub(super) fn open(path: &Path, wanted: &Wanted) -> Result<Self, ReadError> {
        let database = connect(path)?;
        let topics = topics(&database, wanted).map_err(|error| damaged(path, &error))?;
        let first = i64::try_from(wanted.times.0).unwrap_or(i64::MAX);
        let last = (first, i64::MIN);
        Ok(Self { database, end: wanted.times.1, topics, last, page: Vec::new().into_iter(), is_over: false })
    }

    fn read_page(&mut self) -> rusqlite::Result<()> {
        let mut statement = self.database.prepare(
            "SELECT timestamp, id, topic_id, data FROM messages WHERE timestamp >= ?1 AND (timestamp, id) > (?1, ?2) \
             ORDER BY timestamp, id LIMIT ?3",
        )?;
        let mut rows = statement.query((self.last.0, self.last.1, PAGE))?;
        let mut page = Vec::new();
        self.is_over = true;
        while let Some(row) = rows.next()? {
            self.last = (row.get(0)?, row.get(1)?);
            let log_time = time(self.last.0);
            if log_time > self.end {
                self.is_over = true;
                break;
            }
            self.is_over = false;
            let Some(topic) = self.topics.get(&row.get(2)?) else { continue };
            let payload = row.get::<_, Vec<u8>>(3)?.into();
            page.push(Message { topic: Arc::clone(topic), log_time, publish_time: log_time, payload });
        }
        self.page = page.into_iter();
        Ok(())
    }
}

/// Returns the topics that are wanted, by their ids.
fn topics(database: &Connection, wanted: &Wanted) -> rusqlite::Result<BTreeMap<i64, Arc<str>>> {
    let mut statement = database.prepare("SELECT id, name, type, serialization_format FROM topics")?;
    let mut rows = statement.query([])?;
    let mut topics = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (name, message_type, encoding): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        if (wanted.is_wanted)(Kind { topic: &name, message_type: &message_type, encoding: &encoding }) {
            topics.insert(row.get(0)?, name.into());
        }
    }
    Ok(topics)
}

impl Iterator for DatabaseMessages {
    type Item = Result<Message, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(message) = self.page.next() {
                return Some(Ok(message));
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.read_page() {
                self.is_over = true;
                return Some(Err(error.to_string()));
            }
        }
    }
}
