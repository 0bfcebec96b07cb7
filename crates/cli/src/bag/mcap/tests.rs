//! Files are read as they were written, by this reader and by that of the crate `mcap`, and damage is told.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use rospin_trace::mcap::format::kind;
use rospin_trace::mcap::{Kind, McapMessage, McapMessages, Wanted, survey};

use super::*;

/// Number of the messages of a test's file.
const MESSAGES: u64 = 16;

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rospin-mcap-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A message of a test: its number repeated, so that chunks compress.
fn payload(number: u64) -> Vec<u8> {
    vec![number as u8; 20]
}

/// Writes messages of two topics, of which every fourth is early by 100 ns.
fn write(path: &Path, layout: Layout) -> McapFile {
    let mut file = McapFile::create(path, layout).unwrap();
    let schema = file.add_schema("std_msgs/msg/String", "ros2msg", "string data\n").unwrap().unwrap();
    for topic in ["/a", "/b"] {
        file.add_channel(schema, topic, "cdr", &[("topic_type_hash", "RIHS01_1")]).unwrap().unwrap();
    }
    for number in 0..MESSAGES {
        let time = 1_000 + 20 * number - if number % 4 == 3 { 100 } else { 0 };
        file.write((number % 2) as u16, number as u32, time, time - 1, &payload(number)).unwrap();
    }
    file
}

fn finished(path: &Path, layout: Layout) {
    let mut file = write(path, layout);
    file.flush().unwrap();
    assert!(file.finish(|_| "version: 9\n".to_owned()).unwrap().is_empty());
}

fn layouts() -> Vec<Layout> {
    let compressions = [Compression::None, Compression::Lz4, Compression::Zstd];
    let mut layouts: Vec<Layout> =
        compressions.into_iter().map(|compression| Layout { chunk_bytes: 200, compression }).collect();
    layouts.push(Layout { chunk_bytes: 0, compression: Compression::None });
    layouts
}

fn read(path: &Path, wanted: Wanted) -> (Vec<McapMessage>, Vec<String>) {
    both(McapMessages::open(path, wanted).unwrap())
}

fn read_bytes(bytes: Vec<u8>) -> (Vec<McapMessage>, Vec<String>) {
    both(McapMessages::of(Box::new(Cursor::new(bytes)), Wanted::default()).unwrap())
}

/// Returns messages, and damages.
fn both(items: McapMessages) -> (Vec<McapMessage>, Vec<String>) {
    let (mut messages, mut damages) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Ok(message) => messages.push(message),
            Err(damage) => damages.push(damage.to_string()),
        }
    }
    (messages, damages)
}

#[test]
fn files_are_read_in_the_order_of_time_as_they_were_written() {
    let folder = scratch("order");
    for (number, layout) in layouts().into_iter().enumerate() {
        let path = folder.join(format!("{number}.mcap"));
        finished(&path, layout);
        let (messages, damages) = read(&path, Wanted::default());
        assert_eq!((messages.len() as u64, damages), (MESSAGES, Vec::new()), "{layout:?}");
        let is_sorted = messages.is_sorted_by_key(|message| message.log_time);
        // Without chunks there is no index, and the order is that of the file.
        assert_eq!(is_sorted, layout.chunk_bytes > 0, "{layout:?}");
        for message in &messages {
            let number = u64::from(message.payload[0]);
            assert_eq!(message.payload, payload(number));
            assert_eq!(message.publish_time, message.log_time - 1);
            assert_eq!(message.channel.topic, ["/a", "/b"][number as usize % 2]);
            assert_eq!(message.channel.message_type, "std_msgs/msg/String");
            assert_eq!(message.channel.metadata["topic_type_hash"], "RIHS01_1");
        }
        let survey = survey(&path).unwrap();
        assert_eq!((survey.messages, survey.times), (MESSAGES, Some((960, 1_280))), "{layout:?}");
        assert_eq!(survey.channels.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [MESSAGES / 2; 2]);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn reader_of_others_reads_the_same() {
    let folder = scratch("others");
    for (number, layout) in layouts().into_iter().enumerate() {
        let path = folder.join(format!("{number}.mcap"));
        finished(&path, Layout { compression: Compression::None, ..layout });
        let bytes = fs::read(&path).unwrap();
        let mut topics = BTreeSet::new();
        let mut messages = 0;
        for message in mcap::MessageStream::new(&bytes).unwrap() {
            topics.insert(message.unwrap().channel.topic.clone());
            messages += 1;
        }
        assert_eq!((messages, topics.len()), (MESSAGES, 2));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn message_that_is_larger_than_a_chunk_ends_its_chunk() {
    let folder = scratch("large");
    for (number, layout) in layouts().into_iter().enumerate() {
        let path = folder.join(format!("{number}.mcap"));
        let mut file = write(&path, layout);
        let large = vec![7; 5_000];
        file.write(0, 0, 2_000, 2_000, &large).unwrap();
        file.write(1, 0, 2_001, 2_001, &payload(1)).unwrap();
        file.flush().unwrap();
        file.finish(|_| String::new()).unwrap();
        let (messages, damages) = read(&path, Wanted::default());
        assert_eq!((messages.len() as u64, damages), (MESSAGES + 2, Vec::new()), "{layout:?}");
        assert_eq!(messages[MESSAGES as usize].payload, large, "{layout:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn only_wanted_messages_are_read() {
    let folder = scratch("wanted");
    for (number, layout) in layouts().into_iter().enumerate() {
        let path = folder.join(format!("{number}.mcap"));
        finished(&path, layout);
        let is_wanted = std::sync::Arc::new(|of: Kind<'_>| of.topic == "/a");
        let (messages, _) = read(&path, Wanted { is_wanted, times: (1_100, 1_200) });
        let numbers: Vec<u8> = messages.iter().map(|message| message.payload[0]).collect();
        assert_eq!(numbers, [6, 8, 10], "{layout:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn file_that_is_cut_off_anywhere_has_its_messages_up_to_there() {
    let folder = scratch("cut");
    for layout in layouts() {
        let path = folder.join("whole.mcap");
        let _ = fs::remove_file(&path);
        finished(&path, layout);
        let whole = fs::read(&path).unwrap();
        let mut most = 0;
        for length in 0..whole.len() {
            let (messages, damages) = read_bytes(whole[..length].to_vec());
            let is_told = !damages.is_empty();
            assert!(is_told || messages.len() as u64 == MESSAGES, "{layout:?} {length}");
            assert!(messages.len() >= most, "{layout:?} {length}");
            most = messages.len();
        }
        assert_eq!(most as u64, MESSAGES, "{layout:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn changed_bytes_cause_neither_panics_nor_large_allocations() {
    let folder = scratch("changed");
    for layout in layouts() {
        let path = folder.join("whole.mcap");
        let _ = fs::remove_file(&path);
        finished(&path, layout);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0xFF;
            let (messages, _) = read_bytes(changed);
            assert!(messages.len() as u64 <= 2 * MESSAGES);
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn file_without_index_is_not_read_far_behind_the_last_time_that_is_wanted() {
    const SECOND: u64 = 1_000_000_000;
    let folder = scratch("behind");
    for layout in layouts() {
        let path = folder.join("long.mcap");
        let _ = fs::remove_file(&path);
        let mut file = McapFile::create(&path, layout).unwrap();
        let channel = file.add_channel(0, "/a", "cdr", &[]).unwrap().unwrap();
        for number in 0..100 {
            file.write(channel, 0, number * SECOND, 0, &payload(number)).unwrap();
        }
        file.flush().unwrap();
        // The file has no summary and ends in the midst of a record, which is told by whoever reads that far.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let (messages, damages) = read(&path, Wanted { times: (2 * SECOND, 5 * SECOND), ..Wanted::default() });
        assert_eq!((messages.len(), damages), (4, Vec::new()), "{layout:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn content_of_a_chunk_is_compared_with_its_checksum() {
    let folder = scratch("checksum");
    let path = folder.join("drive.mcap");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bags/drive/drive_0.mcap");
    let mut bytes = fs::read(golden).unwrap();
    let content = content_of(&bytes);
    let sum = crc32fast::hash(&bytes[content.clone()]);
    let at = content.start - 16;
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path, Wanted::default()).1, Vec::<String>::new());
    bytes[content.end - 1] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (messages, damages) = read(&path, Wanted::default());
    assert!(messages.is_empty() && damages[0].contains("checksum"), "{messages:?} {damages:?}");
    fs::remove_dir_all(folder).unwrap();
}

/// Returns the place of the first chunk's content, which is not compressed.
fn content_of(bytes: &[u8]) -> std::ops::Range<usize> {
    let mut at = 8;
    loop {
        let length = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        let end = at + 9 + length;
        if bytes[at] == kind::CHUNK {
            return at + 9 + 40..end;
        }
        at = end;
    }
}

#[test]
fn file_whose_summary_does_not_repeat_channels_or_schemas_is_read_by_its_chunks() {
    let folder = scratch("repeated");
    let path = folder.join("drive.mcap");
    for is_schema in [true, false] {
        let _ = fs::remove_file(&path);
        finished(&path, Layout { chunk_bytes: 200, compression: Compression::None });
        let mut bytes = fs::read(&path).unwrap();
        let footer = bytes.len() - 28;
        let mut at = u64::from_le_bytes(bytes[footer..footer + 8].try_into().unwrap()) as usize;
        while at < footer - 9 {
            if bytes[at] == if is_schema { kind::SCHEMA } else { kind::CHANNEL } {
                // A kind that nobody knows.
                bytes[at] = 0x7F;
            }
            at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        }
        fs::write(&path, bytes).unwrap();
        let survey = survey(&path).unwrap();
        let counts: Vec<_> =
            survey.channels.iter().map(|(channel, count)| (channel.message_type.as_str(), *count)).collect();
        assert_eq!(counts, [("std_msgs/msg/String", MESSAGES / 2); 2]);
        // The chunk with the declarations is not wanted.
        let (messages, damages) = read(&path, Wanted { times: (1_200, u64::MAX), ..Wanted::default() });
        assert_eq!((messages.len(), damages), (5, Vec::new()));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn summary_takes_the_place_of_the_last_chunks_if_there_is_no_room_for_it() {
    let folder = scratch("room");
    let path = folder.join("full.mcap");
    let mut file = write(&path, Layout { chunk_bytes: 200, compression: Compression::None });
    file.flush().unwrap();
    let mut lost = Counts::new();
    // As `finish` does while the disk is full.
    assert!(file.give_room(&mut lost) && file.give_room(&mut lost));
    let lost: u64 = lost.values().sum();
    assert!(lost > 0);
    file.finish(|file| format!("{}", file.counts().values().sum::<u64>())).unwrap();
    let (messages, damages) = read(&path, Wanted::default());
    assert_eq!((messages.len() as u64, damages), (MESSAGES - lost, Vec::new()));
    assert_eq!(survey(&path).unwrap().messages, MESSAGES - lost);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn full_disk_is_told_by_its_kind() {
    assert!(is_full(&io::ErrorKind::StorageFull.into()) && !is_full(&io::ErrorKind::PermissionDenied.into()));
}
