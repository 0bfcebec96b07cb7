//! Damaged, cut off, huge and foreign files, and the converters' results read back.
#![cfg(feature = "read")]

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prost::Message;
use rospin_core::recording::{Definition, Event, Sink, Step};
use rospin_core::{EntityKind, Instant};
use rospin_trace::convert::perfetto::{self, BEGIN, COUNTER, END, INSTANT};
use rospin_trace::convert::{Format, write};
use rospin_trace::{FileSink, FlightSink, Model, ProcessName, Recording};

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rospin-trace-files-{}-{name}", std::process::id()))
}

/// Returns a recording of a timer that publishes to a subscription, `count` times, a chunk each.
fn bytes(name: &str, count: u64) -> Vec<u8> {
    let path = temporary(name);
    let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 5 };
    let mut sink = FileSink::create(&path, &process).unwrap();
    let entity = |entity, name: &str, kind| Definition::Entity {
        executor: 0,
        entity,
        account: entity,
        name: name.into(),
        group: name.into(),
        excludes: true,
        kind,
        priority: 1,
        deadline: None,
        period: None,
        rules: None,
    };
    sink.define(&Definition::Executor { executor: 0, name: "main".into(), policy: "fifo".into(), threads: 1 });
    sink.define(&entity(1, "lidar", EntityKind::Timer));
    sink.define(&entity(2, "tracker", EntityKind::Subscription));
    sink.define(&Definition::Thread { thread: 1, kernel_id: 70, name: "main".into() });
    sink.define(&Definition::Queue { queue: 1, account: 2, topic: "scan".into(), depth: 1 });
    for round in 0..count {
        let step = |entity| Step { executor: 0, entity, sequence: round, segment: 0 };
        let ms = |ms: u64| Instant::from_millis(round * 10 + ms);
        let events = [
            (ms(1), Event::Released { step: step(1), release: ms(1), deadline: Instant::MAX }),
            (ms(2), Event::Dispatched { step: step(1), thread: 0, release: ms(1), cpu_ns: 0 }),
            (ms(3), Event::Queued { queue: 1, ticket: round, displaced: false }),
            (ms(3), Event::Released { step: step(2), release: ms(3), deadline: ms(6) }),
            (ms(4), Event::Completed { step: step(1), deadline: Instant::MAX, cpu_ns: 0 }),
            (ms(4), Event::Dispatched { step: step(2), thread: 0, release: ms(3), cpu_ns: 0 }),
            (ms(4), Event::Taken { queue: 1, ticket: round }),
            (ms(7), Event::Completed { step: step(2), deadline: ms(6), cpu_ns: 0 }),
        ];
        sink.record(1, &events.map(|(at, event)| event.encode(at)));
        // The end of the file is written anew each time.
        sink.flush();
    }
    drop(sink);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<Recording, String> {
    Recording::read(bytes, Path::new("run.mcap")).map_err(|error| error.to_string())
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_its_last_whole_chunk() {
    let whole = bytes("cut", 3);
    let all = read(&whole).unwrap();
    assert_eq!((all.events.len(), all.faults.len()), (24, 0));
    let mut lengths = Vec::new();
    for length in (0..whole.len()).rev().step_by(7) {
        let Ok(part) = read(&whole[..length]) else { continue };
        assert!(part.events.len() % 8 == 0 && all.events.starts_with(&part.events), "{length}");
        assert!(part.faults.len() <= 1, "{:?}", part.faults);
        lengths.push(part.events.len());
    }
    assert!([24, 16, 8].iter().all(|length| lengths.contains(length)), "{lengths:?}");
}

/// Bytes are changed in turn, every seventh, so that the test takes seconds. Names and events of other chunks stay as
/// they are.
#[test]
fn a_changed_byte_costs_one_chunk_and_is_told_of_with_its_place() {
    let whole = bytes("changed", 3);
    let all = read(&whole).unwrap();
    let mut told = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        let Ok(part) = read(&changed) else { continue };
        if part.events.len() < all.events.len() {
            assert!(!part.faults.is_empty(), "byte {at}: events are missing, and nothing says so");
            assert!(part.faults.iter().all(|fault| fault.offset <= whole.len() as u64), "{:?}", part.faults);
            told += 1;
        }
    }
    assert!(told > 20, "{told}");
}

/// The sink is flushed, so that the test does not wait for the aftermath that belongs into the file.
#[test]
fn a_flight_recorder_writes_when_something_goes_wrong_and_not_again_at_once() {
    let folder = temporary("flight");
    std::fs::create_dir_all(&folder).unwrap();
    let process = ProcessName { name: "robot".into(), process: 7, host: "here".into(), system_offset_ns: 0 };
    let mut sink = FlightSink::new(&folder.join("run.mcap"), &process, Duration::from_secs(60), 2);
    sink.define(&Definition::Thread { thread: 1, kernel_id: 70, name: "main".into() });
    let step = Step { executor: 0, entity: 1, sequence: 0, segment: 0 };
    let ends =
        |ms| Event::Completed { step, deadline: Instant::from_millis(5), cpu_ns: 0 }.encode(Instant::from_millis(ms));
    let files = || std::fs::read_dir(&folder).unwrap().count();
    sink.record(1, &[ends(4)]);
    sink.flush();
    assert_eq!(files(), 0, "nothing went wrong");
    sink.record(1, &[ends(6)]);
    sink.flush();
    let written = Recording::open(&folder).unwrap().remove(0);
    assert_eq!((written.events.len(), written.names.len(), written.faults.len()), (2, 2, 0));
    sink.record(1, &[ends(7)]);
    sink.flush();
    assert_eq!(files(), 1, "the same minute");
    for _ in 0..2 {
        sink.trigger("the program asks");
        sink.flush();
    }
    assert_eq!(files(), 2, "two files at most");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn foreign_files_are_refused_with_what_they_are() {
    assert!(read(b"").unwrap_err().contains("no events of rospin"), "{:?}", read(b""));
    assert!(read(b"PK\x03\x04 a picture of a cat").unwrap_err().contains("does not begin as an MCAP file"));
    let mut other = mcap::Writer::new(io::Cursor::new(Vec::new())).unwrap();
    let channel = other.add_channel(0, "/camera", "json", &Default::default()).unwrap();
    let header = mcap::records::MessageHeader { channel_id: channel, sequence: 0, log_time: 1, publish_time: 1 };
    other.write_to_known_channel(&header, b"{}").unwrap();
    other.finish().unwrap();
    let other = other.into_inner().into_inner();
    let error = read(&other).unwrap_err();
    assert!(error.starts_with("run.mcap: has no events of rospin"), "{error}");
    assert!(Recording::open(Path::new("/nowhere.mcap")).unwrap_err().to_string().contains("/nowhere.mcap"));
}

/// A reader of zeros without an end behind the beginning of a record that says that it is as long as the machine's
/// memory.
#[test]
fn a_record_that_says_that_it_is_huge_allocates_nothing() {
    let mut huge = b"\x89MCAP0\r\n\x06".to_vec();
    huge.extend((1_u64 << 60).to_le_bytes());
    let file = huge.as_slice().chain(io::repeat(0));
    let error = Recording::read(file, Path::new("run.mcap")).unwrap_err().to_string();
    assert!(error.contains("more than is read at once"), "{error}");
}

#[test]
fn the_file_is_what_other_readers_of_mcap_expect() {
    let whole = bytes("summary", 2);
    let summary = mcap::Summary::read(&whole).unwrap().expect("a summary");
    let stats = summary.stats.as_ref().expect("statistics");
    assert_eq!((stats.message_count, stats.chunk_count, summary.chunk_indexes.len()), (16 + 6, 2, 2));
    let topics = mcap::MessageStream::new(&whole).unwrap().map(|message| message.unwrap().channel.topic.clone());
    assert_eq!(topics.filter(|topic| topic == "/rospin/taken").count(), 2);
    for index in &summary.chunk_indexes {
        let taken = summary.channels.values().find(|channel| channel.topic == "/rospin/taken").unwrap();
        let indices = summary.read_message_indexes(&whole, index).unwrap();
        assert_eq!(indices[taken].len(), 1);
    }
}

#[test]
fn perfetto_has_slices_flows_counters_and_missed_deadlines() {
    let model = Model::new(&[read(&bytes("perfetto", 2)).unwrap()]);
    let trace = perfetto::Trace::decode(perfetto::encode(&model).as_slice()).unwrap();
    let tracks: Vec<_> = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
    let thread = tracks.iter().find_map(|track| track.thread.as_ref()).expect("a thread");
    assert_eq!((thread.pid, thread.tid, thread.thread_name.as_str()), (7, 70, "main"));
    let events: Vec<_> = trace.packet.iter().filter_map(|packet| packet.track_event.as_ref()).collect();
    let count = |kind| events.iter().filter(|event| event.r#type == kind).count();
    assert_eq!((count(BEGIN), count(END), count(COUNTER)), (4, 4, 4));
    let times: Vec<_> = trace.packet.iter().filter_map(|packet| packet.timestamp).collect();
    assert!(times.is_sorted());
    // No slice begins on the track before the one before it has ended.
    let mut depth = 0;
    for event in &events {
        depth += i32::from(event.r#type == BEGIN) - i32::from(event.r#type == END);
        assert!((0..=1).contains(&depth));
    }
    let begun: Vec<u64> = events.iter().flat_map(|event| event.flow_ids.clone()).collect();
    let ended: Vec<u64> = events.iter().flat_map(|event| event.terminating_flow_ids.clone()).collect();
    assert_eq!((begun.len(), &begun), (2, &ended));
    let late = |event: &&&perfetto::TrackEvent| event.name.as_deref() == Some("deadline missed: tracker");
    assert_eq!(events.iter().filter(late).filter(|event| event.r#type == INSTANT).count(), 2);
}

#[test]
fn json_and_mcap_of_callbacks_have_every_activation() {
    let model = Model::new(&[read(&bytes("json", 2)).unwrap()]);
    let json = temporary("model.json");
    let plots = temporary("plots.mcap");
    write(&model, Format::Json, &json).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(value["activations"].as_array().unwrap().len(), 4);
    assert_eq!(value["callbacks"][1]["name"], "tracker");
    write(&model, Format::Mcap, &plots).unwrap();
    let bytes = std::fs::read(&plots).unwrap();
    let messages: Vec<_> = mcap::MessageStream::new(&bytes).unwrap().map(Result::unwrap).collect();
    assert_eq!(messages.len(), 4);
    let tracked = messages.iter().find(|message| message.channel.topic == "/callbacks/tracker").unwrap();
    let tracked: serde_json::Value = serde_json::from_slice(&tracked.data).unwrap();
    assert_eq!((tracked["response_ms"].as_f64(), tracked["is_late"].as_bool()), (Some(4.0), Some(true)));
    assert!(write(&model, Format::Json, &json).is_err(), "nothing is overwritten");
    for file in [json, plots] {
        std::fs::remove_file(file).unwrap();
    }
}
