//! Bags are read as they were written, by rospin and by others, whole and in pieces.

mod peers;

use std::fs;
use std::path::{Path, PathBuf};

use rospin::message::SerializedMessage;
use rospin::msgs::std_msgs::msg::String as Text;
use rospin::qos::{Durability, History, Reliability};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::command::testing::play;
use super::mcap::{Compression, Layout};
use super::metadata::{FILE, Topic};
use super::qos::Offered;
use super::read::{Bag, ReadError};
use super::write::{BagWriter, CreateError, Stamped, WriteOptions};
use crate::ros::testing::Robot;
use rospin_trace::mcap::Wanted;

/// Time of the first message of a test's bag.
pub(super) const BEGIN: u64 = 1_700_000_000_000_000_000;

/// Hash of the texts' type.
const HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// Folder of a test, which is removed with it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rospin-bag-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a topic of texts, latched or not.
pub(super) fn topic(name: &str, is_latched: bool) -> Topic {
    let durability = if is_latched { Durability::TransientLocal } else { Durability::Volatile };
    let offered = Offered {
        history: Some(History::KeepLast(if is_latched { 1 } else { 10 })),
        reliability: Some(Reliability::Reliable),
        durability: Some(durability),
        ..Offered::default()
    };
    Topic {
        name: name.to_owned(),
        message_type: "std_msgs/msg/String".to_owned(),
        format: "cdr".to_owned(),
        offered: vec![offered],
        hash: HASH.to_owned(),
        count: 0,
    }
}

/// A message of a test: the place of its topic, the times of its arrival and of its publication after [`BEGIN`] in
/// milliseconds, and its text.
pub(super) type Said<'a> = (usize, u64, i64, &'a str);

/// Writes a bag with these topics and messages, and `metadata.yaml`.
pub(super) fn write(folder: &Path, options: WriteOptions, topics: &[Topic], said: &[Said<'_>]) {
    let mut bag = BagWriter::create(folder, options).unwrap();
    for topic in topics {
        bag.add_topic(topic.clone(), Some("string data\n".to_owned()));
    }
    for (place, arrived, sent, text) in said {
        say(&mut bag, *place, *arrived, *sent, text);
    }
    bag.finish().unwrap();
}

fn say(bag: &mut BagWriter, place: usize, arrived: u64, sent: i64, text: &str) {
    let message = SerializedMessage::serialize(&Text { data: text.to_owned() }).unwrap();
    let log_time = BEGIN + arrived * 1_000_000;
    let publish_time = BEGIN.saturating_add_signed(sent * 1_000_000);
    assert!(bag.write(place, Stamped { number: 0, log_time, publish_time, payload: message.as_bytes() }));
}

/// Returns topics and texts of a bag's messages, and its damage.
fn heard(bag: &Bag) -> (Vec<String>, Vec<String>) {
    let (mut texts, mut damages) = (Vec::new(), Vec::new());
    for item in bag.messages(&Wanted::default()) {
        match item {
            Ok(message) => {
                let text: Text = SerializedMessage::from_bytes(message.payload).unwrap().deserialize().unwrap();
                texts.push(format!("{} {}", message.topic, text.data));
            }
            Err(error) => damages.push(error.to_string()),
        }
    }
    (texts, damages)
}

const SAID: [Said<'_>; 4] =
    [(0, 0, 0, "one"), (1, 20, 20, "map"), (0, 2_000, 2_000, "two"), (0, 4_500, 4_500, "three")];

#[test]
fn bag_is_split_by_duration_and_read_as_one() {
    let scratch = Scratch::new("duration");
    let folder = scratch.path("drive");
    let options = WriteOptions { duration_ns_max: Some(2_000_000_000), ..WriteOptions::default() };
    write(&folder, options, &[topic("/a", false), topic("/b", true)], &SAID);
    let bag = Bag::open(&folder).unwrap();
    let files: Vec<_> = bag.metadata.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
    assert_eq!(files, [("drive_0.mcap", 2), ("drive_1.mcap", 1), ("drive_2.mcap", 1)]);
    assert_eq!((bag.metadata.count, bag.metadata.times), (4, Some((BEGIN, BEGIN + 4_500_000_000))));
    assert_eq!(bag.metadata.topics.iter().map(|topic| topic.count).collect::<Vec<_>>(), [3, 1]);
    let expected = ["/a one", "/b map", "/a two", "/a three"].map(str::to_owned);
    assert_eq!(heard(&bag), (expected.to_vec(), Vec::new()));
    // Without metadata, which a recorder writes last, the files say the same.
    let described = bag.metadata.clone();
    fs::remove_file(folder.join(FILE)).unwrap();
    let bag = Bag::open(&folder).unwrap();
    assert_eq!((&bag.metadata.topics, bag.metadata.times), (&described.topics, described.times));
    assert_eq!((&bag.metadata.files, heard(&bag).0), (&described.files, expected.to_vec()));
}

#[test]
fn clock_that_is_set_back_does_not_end_the_splitting() {
    let scratch = Scratch::new("back");
    let folder = scratch.path("drive");
    let options = WriteOptions { duration_ns_max: Some(2_000_000_000), ..WriteOptions::default() };
    let said = [(0, 100_000_000, 0, "one"), (0, 0, 0, "two"), (0, 1_000, 0, "three"), (0, 2_500, 0, "four")];
    write(&folder, options, &[topic("/a", false)], &said);
    let counts: Vec<u64> = Bag::open(&folder).unwrap().metadata.files.iter().map(|file| file.count).collect();
    assert_eq!(counts, [3, 1]);
}

#[test]
fn messages_that_are_compressed_by_themselves_are_recognised_without_metadata() {
    let scratch = Scratch::new("compressed");
    let folder = scratch.path("drive");
    let mut bag = BagWriter::create(&folder, WriteOptions::default()).unwrap();
    let place = bag.add_topic(topic("/a", false), None);
    let message = SerializedMessage::serialize(&Text { data: "hello".to_owned() }).unwrap();
    let payload = compress_to_vec(message.as_bytes(), CompressionLevel::Fastest);
    bag.write(place, Stamped { number: 0, log_time: BEGIN, publish_time: BEGIN, payload: &payload });
    bag.finish().unwrap();
    assert_eq!(heard(&Bag::open(&folder.join("drive_0.mcap")).unwrap()).0, ["/a hello"]);
}

#[test]
fn types_of_one_name_and_different_hashes_have_their_own_definitions() {
    let scratch = Scratch::new("hashes");
    let folder = scratch.path("drive");
    let mut bag = BagWriter::create(&folder, WriteOptions::default()).unwrap();
    bag.add_topic(topic("/a", false), Some("string data\n".to_owned()));
    bag.add_topic(Topic { hash: "RIHS01_0".to_owned(), ..topic("/b", false) }, Some("string other\n".to_owned()));
    bag.finish().unwrap();
    let file = fs::read(folder.join("drive_0.mcap")).unwrap();
    assert!(file.windows(13).any(|part| part == b"string other\n"));
}

#[test]
fn unreadable_file_and_one_that_was_being_compressed_do_not_take_the_others_along() {
    let scratch = Scratch::new("unreadable");
    let folder = scratch.path("drive");
    let options = WriteOptions { duration_ns_max: Some(2_000_000_000), ..WriteOptions::default() };
    write(&folder, options, &[topic("/a", false), topic("/b", true)], &SAID);
    fs::remove_file(folder.join(FILE)).unwrap();
    // Two of the files are being compressed, of which one is gone; that of the other is not complete.
    fs::write(folder.join("drive_0.mcap.zstd"), "").unwrap();
    fs::remove_file(folder.join("drive_1.mcap")).unwrap();
    fs::write(folder.join("drive_1.mcap.zstd"), "").unwrap();
    let bag = Bag::open(&folder).unwrap();
    assert_eq!((bag.metadata.count, bag.files.len(), bag.damages.len()), (3, 3, 1), "{:?}", bag.damages);
    let (texts, damages) = heard(&bag);
    assert_eq!((texts.len(), damages.len()), (3, 1), "{damages:?}");
}

#[test]
fn file_that_was_just_begun_makes_room_for_the_end_of_the_bag() {
    let scratch = Scratch::new("begun");
    let folder = scratch.path("drive");
    let options = WriteOptions { duration_ns_max: Some(2_000_000_000), ..WriteOptions::default() };
    let mut bag = BagWriter::create(&folder, options).unwrap();
    bag.add_topic(topic("/a", false), None);
    say(&mut bag, 0, 0, 0, "one");
    say(&mut bag, 0, 2_500, 0, "two");
    assert!(bag.failure().is_none());
    // As `finish` does while the disk is full and nothing of the second file is written.
    assert!(bag.go_back() && !bag.go_back());
    let metadata = bag.finish().unwrap();
    assert_eq!((metadata.count, metadata.topics[0].count, metadata.files.len()), (1, 1, 1));
    let bag = Bag::open(&folder).unwrap();
    assert_eq!((&bag.metadata, heard(&bag).0.len(), folder.join("drive_1.mcap").exists()), (&metadata, 1, false));
}

#[test]
fn bag_is_split_by_size() {
    let scratch = Scratch::new("size");
    let folder = scratch.path("drive");
    let options = WriteOptions { size_max: Some(800), ..WriteOptions::default() };
    let said: Vec<Said<'_>> = (0..100).map(|number| (0, number, number as i64, "a text of some length")).collect();
    write(&folder, options, &[topic("/a", false)], &said);
    let bag = Bag::open(&folder).unwrap();
    assert!(bag.files.len() > 5, "{:?}", bag.files);
    assert_eq!((bag.metadata.count, heard(&bag).0.len()), (100, 100));
    // The tenth file comes behind the ninth, not behind the first.
    fs::remove_file(folder.join(FILE)).unwrap();
    let names = Bag::open(&folder).unwrap().metadata.files;
    assert_eq!(names[9].path, "drive_9.mcap");
}

#[test]
fn bag_of_a_recorder_that_was_killed_is_read_as_far_as_it_goes() {
    let scratch = Scratch::new("killed");
    let folder = scratch.path("drive");
    let options =
        WriteOptions { layout: Layout { chunk_bytes: 50, compression: Compression::Zstd }, ..WriteOptions::default() };
    let mut bag = BagWriter::create(&folder, options).unwrap();
    bag.add_topic(topic("/a", false), None);
    for number in 0..10 {
        say(&mut bag, 0, number, 0, "text");
    }
    drop(bag);
    let path = folder.join("drive_0.mcap");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 30]).unwrap();
    let bag = Bag::open(&folder).unwrap();
    assert_eq!(bag.metadata.topics.len(), 1);
    assert_eq!(bag.metadata.count, 9);
    let [damage] = &bag.damages[..] else { panic!("{:?}", bag.damages) };
    assert!(damage.contains("drive_0.mcap") && damage.contains("is cut off, after 9 messages"), "{damage}");
    assert_eq!(heard(&bag).0.len(), 9);
}

#[test]
fn bag_without_messages_can_be_opened() {
    let scratch = Scratch::new("empty");
    let folder = scratch.path("drive");
    write(&folder, WriteOptions::default(), &[topic("/a", false)], &[]);
    for has_metadata in [true, false] {
        let bag = Bag::open(&folder).unwrap();
        assert_eq!((bag.metadata.count, bag.metadata.times, bag.metadata.topics.len()), (0, None, 1), "{has_metadata}");
        assert_eq!(heard(&bag), (Vec::new(), Vec::new()));
        let _ = fs::remove_file(folder.join(FILE));
    }
}

#[test]
fn what_is_no_bag_is_refused() {
    let scratch = Scratch::new("refused");
    assert!(matches!(Bag::open(&scratch.path("missing")), Err(ReadError::Io { .. })));
    assert!(matches!(Bag::open(&scratch.path("")), Err(ReadError::NoBag(_))));
    fs::write(scratch.path("text.mcap"), "hello, this is no recording").unwrap();
    let error = Bag::open(&scratch.path("text.mcap")).unwrap_err().to_string();
    assert!(error.contains("is no MCAP file"), "{error}");
    fs::write(scratch.path("notes.txt"), "hello").unwrap();
    assert!(matches!(Bag::open(&scratch.path("notes.txt")), Err(ReadError::NoBag(_))));
}

#[test]
fn folder_that_is_there_is_not_written_into() {
    let scratch = Scratch::new("exists");
    let folder = scratch.path("drive");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("precious"), "data").unwrap();
    let refused = BagWriter::create(&folder, WriteOptions::default());
    assert!(matches!(refused, Err(CreateError::Exists(_))));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn metadata_that_cannot_be_read_is_told_and_the_files_are_read() {
    let scratch = Scratch::new("metadata");
    let folder = scratch.path("drive");
    write(&folder, WriteOptions::default(), &[topic("/a", false), topic("/b", true)], &SAID);
    fs::write(folder.join(FILE), "rosbag2_bagfile_information: {").unwrap();
    let bag = Bag::open(&folder).unwrap();
    assert_eq!((bag.metadata.count, bag.damages.len()), (4, 1));
}

#[test]
fn command_prints_what_it_played() {
    let scratch = Scratch::new("played");
    let folder = scratch.path("drive");
    write(&folder, WriteOptions::default(), &[topic("/a", false), topic("/b", true)], &SAID);
    let robot = Robot::new();
    let drive = folder.to_str().unwrap();
    let printed = play(&robot.session, &[drive, "--rate", "1000"]).unwrap();
    assert_eq!(printed, "Played 4 messages of 2 topics\n");
    let nothing = play(&robot.session, &[drive, "--topics", "/missing"]).unwrap_err();
    assert_eq!(nothing, "no topic of the bag is played");
}

/// The bag of the book. `ROSPIN_BLESS=1` writes it anew.
#[test]
fn bag_of_the_book_is_what_is_written() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bags/drive");
    let scratch = Scratch::new("book");
    let folder = scratch.path("drive");
    let options = WriteOptions {
        duration_ns_max: Some(3_000_000_000),
        ros_distro: "kilted".to_owned(),
        ..WriteOptions::default()
    };
    write(&folder, options, &[topic("/chatter", false), topic("/map_name", true)], &SAID);
    let is_blessed = std::env::var_os("ROSPIN_BLESS").is_some();
    for name in [FILE, "drive_0.mcap", "drive_1.mcap"] {
        let written = fs::read(folder.join(name)).unwrap();
        if is_blessed {
            fs::create_dir_all(&golden).unwrap();
            fs::write(golden.join(name), &written).unwrap();
        }
        let has_changed = fs::read(golden.join(name)).ok().as_ref() != Some(&written);
        assert!(!has_changed, "{name} is written in another way than before");
    }
}
