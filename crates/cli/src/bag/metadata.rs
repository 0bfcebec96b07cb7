//! `metadata.yaml`: the content of a bag, as rosbag2 writes it beside the bag's files.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::Budget;

use super::qos::{Offered, Profile, from_yaml, to_yaml};

/// Name of the file in the folder of a bag.
pub(crate) const FILE: &str = "metadata.yaml";

/// Version of the format that is written: that of Jazzy and Kilted.
const VERSION: u64 = 9;

/// A topic of a bag.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) message_type: String,
    /// Encoding of its messages: `cdr`, if they are of ROS 2.
    pub(crate) format: String,
    pub(crate) offered: Vec<Offered>,
    /// Hash of its type; empty if it is not known.
    pub(crate) hash: String,
    pub(crate) count: u64,
}

/// A file of a bag.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FileOf {
    /// Path in the bag's folder.
    pub(crate) path: String,
    /// Times of the first and the last message, in nanoseconds since 1970; `None` without messages.
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) count: u64,
}

/// The content of a bag.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Metadata {
    /// `mcap` or `sqlite3`.
    pub(crate) storage: String,
    /// Times of the first and the last message; `None` without messages.
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) count: u64,
    pub(crate) topics: Vec<Topic>,
    pub(crate) compression_format: String,
    pub(crate) compression_mode: String,
    pub(crate) files: Vec<FileOf>,
    pub(crate) ros_distro: String,
}

/// Returns a scalar of YAML.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_');
    // Words such as `null` mean something else without quotation marks.
    let is_plain = is_word && text.chars().all(is_plain) && text.contains(['_', '/', '.']);
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

fn times(text: &mut String, indent: &str, times: Option<(u64, u64)>) {
    let (first, last) = times.unwrap_or_default();
    let length = last.saturating_sub(first);
    let _ = writeln!(text, "{indent}duration:\n{indent}  nanoseconds: {length}");
    let _ = writeln!(text, "{indent}starting_time:\n{indent}  nanoseconds_since_epoch: {first}");
}

impl Metadata {
    /// Returns the text of the file.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text = format!("rosbag2_bagfile_information:\n{}", self.body(2));
        text.shrink_to_fit();
        text
    }

    /// Returns the entries of the file, with that many spaces before each.
    pub(crate) fn body(&self, indent: usize) -> String {
        let space = " ".repeat(indent);
        let mut text = format!("{space}version: {VERSION}\n{space}storage_identifier: {}\n", self.storage);
        times(&mut text, &space, self.times);
        let _ = writeln!(text, "{space}message_count: {}", self.count);
        text += &format!("{space}topics_with_message_count:{}\n", if self.topics.is_empty() { " []" } else { "" });
        for topic in &self.topics {
            let _ = writeln!(text, "{space}  - topic_metadata:");
            let entry = format!("{space}      ");
            let _ = writeln!(text, "{entry}name: {}", scalar(&topic.name));
            let _ = writeln!(text, "{entry}type: {}", scalar(&topic.message_type));
            let _ = writeln!(text, "{entry}serialization_format: {}", topic.format);
            let line = if topic.offered.is_empty() { " " } else { "\n" };
            text += &format!("{entry}offered_qos_profiles:{line}{}", to_yaml(&topic.offered, indent + 8));
            let _ = writeln!(text, "{entry}type_description_hash: {}", scalar(&topic.hash));
            let _ = writeln!(text, "{space}    message_count: {}", topic.count);
        }
        let _ = writeln!(text, "{space}compression_format: {}", scalar(&self.compression_format));
        let _ = writeln!(text, "{space}compression_mode: {}", scalar(&self.compression_mode));
        let list = if self.files.is_empty() { " []" } else { "" };
        text += &format!("{space}relative_file_paths:{list}\n");
        for file in &self.files {
            let _ = writeln!(text, "{space}  - {}", scalar(&file.path));
        }
        text += &format!("{space}files:{list}\n");
        for file in &self.files {
            let _ = writeln!(text, "{space}  - path: {}", scalar(&file.path));
            times(&mut text, &format!("{space}    "), file.times);
            let _ = writeln!(text, "{space}    message_count: {}", file.count);
        }
        let _ = writeln!(text, "{space}custom_data: ~\n{space}ros_distro: {}", scalar(&self.ros_distro));
        text
    }

    /// Reads the text of a file of any version. The error is the reason for which that is not possible.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: Read = read(text)?;
        file.rosbag2_bagfile_information.into_metadata()
    }

    /// Reads the entries of such a file, as a file of a bag has them in itself.
    pub(crate) fn parse_body(text: &str) -> Result<Self, String> {
        let of: ReadMetadata = read(text)?;
        of.into_metadata()
    }
}

/// Reads YAML, of which a bag of days has much.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut budget = Budget::default();
    (budget.max_events, budget.max_nodes, budget.max_total_scalar_bytes) = (usize::MAX, usize::MAX, usize::MAX);
    let options = serde_saphyr::options! { budget: Some(budget) };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

impl ReadMetadata {
    fn into_metadata(self) -> Result<Metadata, String> {
        let of = self;
        let span = |start: Option<Start>, length: Option<Length>, count: u64| {
            let first = start.map_or(0, |start| start.nanoseconds_since_epoch);
            let length = length.map_or(0, |length| length.nanoseconds);
            (count > 0).then_some((first, first.saturating_add(length)))
        };
        let mut metadata = Metadata {
            storage: of.storage_identifier,
            times: span(of.starting_time, of.duration, of.message_count),
            count: of.message_count,
            compression_format: of.compression_format,
            compression_mode: of.compression_mode,
            ros_distro: of.ros_distro,
            ..Metadata::default()
        };
        for read in of.topics_with_message_count.unwrap_or_default() {
            let ReadTopic { topic_metadata: topic, message_count: count } = read;
            let offered = match topic.offered_qos_profiles {
                None => Vec::new(),
                Some(Profiles::List(profiles)) => profiles.iter().map(Offered::from).collect(),
                Some(Profiles::Text(text)) => from_yaml(&text)?,
            };
            let hash = topic.type_description_hash;
            let (name, message_type, format) = (topic.name, topic.r#type, topic.serialization_format);
            metadata.topics.push(Topic { name, message_type, format, offered, hash, count });
        }
        let described = of.files.unwrap_or_default().into_iter();
        let mut described: BTreeMap<String, ReadFile> = described.map(|file| (file.path.clone(), file)).collect();
        for path in of.relative_file_paths.unwrap_or_default() {
            let file = described.remove(&path).unwrap_or_default();
            let times = span(file.starting_time, file.duration, file.message_count);
            metadata.files.push(FileOf { path, times, count: file.message_count });
        }
        Ok(metadata)
    }
}

#[derive(Deserialize)]
struct Read {
    rosbag2_bagfile_information: ReadMetadata,
}

#[derive(Deserialize)]
struct ReadMetadata {
    storage_identifier: String,
    duration: Option<Length>,
    starting_time: Option<Start>,
    #[serde(default)]
    message_count: u64,
    topics_with_message_count: Option<Vec<ReadTopic>>,
    #[serde(default)]
    compression_format: String,
    #[serde(default)]
    compression_mode: String,
    relative_file_paths: Option<Vec<String>>,
    files: Option<Vec<ReadFile>>,
    #[serde(default)]
    ros_distro: String,
}

#[derive(Deserialize)]
struct Length {
    nanoseconds: u64,
}

#[derive(Deserialize)]
struct Start {
    nanoseconds_since_epoch: u64,
}

#[derive(Deserialize)]
struct ReadTopic {
    topic_metadata: ReadTopicMetadata,
    message_count: u64,
}

#[derive(Deserialize)]
struct ReadTopicMetadata {
    name: String,
    r#type: String,
    serialization_format: String,
    offered_qos_profiles: Option<Profiles>,
    #[serde(default)]
    type_description_hash: String,
}

/// Profiles: a list from version 9 on, and before a text with a list in YAML.
#[derive(Deserialize)]
#[serde(untagged)]
enum Profiles {
    List(Vec<Profile>),
    Text(String),
}

#[derive(Deserialize, Default)]
struct ReadFile {
    path: String,
    starting_time: Option<Start>,
    duration: Option<Length>,
    message_count: u64,
}

#[cfg(test)]
mod tests {
    use rospin::qos::{History, Reliability};

    use super::*;

    fn topic(name: &str) -> Topic {
        Topic {
            name: name.to_owned(),
            message_type: "std_msgs/msg/String".to_owned(),
            format: "cdr".to_owned(),
            offered: vec![Offered { reliability: Some(Reliability::Reliable), ..Offered::default() }],
            hash: format!("RIHS01_{}", "0".repeat(64)),
            count: 3,
        }
    }

    #[test]
    fn metadata_is_read_as_it_was_written() {
        let times = Some((1_700_000_000_000_000_000, 1_700_000_001_500_000_000));
        let metadata = Metadata {
            storage: "mcap".to_owned(),
            times,
            count: 6,
            topics: vec![topic("/chatter"), Topic { offered: Vec::new(), hash: String::new(), ..topic("/scan") }],
            files: vec![FileOf { path: "null: \"odd\" #1_0.mcap".to_owned(), times, count: 6 }],
            ros_distro: "kilted".to_owned(),
            ..Metadata::default()
        };
        assert_eq!(Metadata::parse(&metadata.to_yaml()).unwrap(), metadata);
        let empty = Metadata { storage: "mcap".to_owned(), ..Metadata::default() };
        assert_eq!(Metadata::parse(&empty.to_yaml()).unwrap(), empty);
    }

    #[test]
    fn metadata_of_a_bag_of_days_is_read() {
        let topics = vec![Topic { offered: Vec::new(), ..topic("/a") }];
        let metadata = Metadata { storage: "mcap".to_owned(), topics, ..Metadata::default() };
        let profiles = vec!["{}"; 260_000].join(",");
        let text =
            metadata.to_yaml().replace("offered_qos_profiles: []", &format!("offered_qos_profiles: [{profiles}]"));
        assert_eq!(Metadata::parse(&text).unwrap().topics[0].offered.len(), 260_000);
    }

    #[test]
    fn metadata_of_older_bags_has_profiles_in_a_text() {
        let text = r#"
rosbag2_bagfile_information:
  version: 4
  storage_identifier: sqlite3
  relative_file_paths:
    - old_0.db3
  duration:
    nanoseconds: 5
  starting_time:
    nanoseconds_since_epoch: 10
  message_count: 2
  topics_with_message_count:
    - topic_metadata:
        name: /scan
        type: sensor_msgs/msg/LaserScan
        serialization_format: cdr
        offered_qos_profiles: "- history: 1\n  depth: 5\n  reliability: 2\n  durability: 2\n  deadline:\n    sec: 0\n    nsec: 0\n"
      message_count: 2
  compression_format: ""
  compression_mode: ""
"#;
        let metadata = Metadata::parse(text).unwrap();
        assert_eq!((metadata.times, metadata.count), (Some((10, 15)), 2));
        let [topic] = &metadata.topics[..] else { panic!("{:?}", metadata.topics) };
        assert_eq!(topic.offered[0].history, Some(History::KeepLast(5)));
        assert_eq!(topic.offered[0].reliability, Some(Reliability::BestEffort));
        assert_eq!(metadata.files[0].path, "old_0.db3");
        assert!(Metadata::parse("rosbag2_bagfile_information: 7").is_err());
    }
}
