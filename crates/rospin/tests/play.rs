//! Bags that are played to nodes under a manual clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin::message::SerializedMessage;
use rospin::msgs::std_msgs::msg::{String as Text, UInt32};
use rospin::testing::{Bag, Harness, PlayError};
use rospin::{Message, Subscription, Timer};

/// The time of the first message: some day of 2023.
const DAY_NS: u64 = 1_700_000_000_000_000_000;
const MS_NS: u64 = 1_000_000;

/// A file that is removed with this value.
struct File(PathBuf);

impl File {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rospin-play-{}-{number}.mcap", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes bags as `ros2 bag record` does.
struct Writer {
    file: mcap::Writer<std::io::Cursor<Vec<u8>>>,
}

impl Writer {
    fn new() -> Self {
        let options = mcap::WriteOptions::new().compression(None).profile("ros2");
        Self { file: options.create(std::io::Cursor::new(Vec::new())).unwrap() }
    }

    fn channel(&mut self, topic: &str, message_type: &str, encoding: &str) -> u16 {
        let schema = self.file.add_schema(message_type, "ros2msg", b"").unwrap();
        self.file.add_channel(schema, topic, encoding, &BTreeMap::new()).unwrap()
    }

    fn write<M: Message>(&mut self, channel: u16, time_ns: u64, message: &M) {
        let header =
            mcap::records::MessageHeader { channel_id: channel, sequence: 0, log_time: time_ns, publish_time: time_ns };
        let payload = SerializedMessage::serialize(message).unwrap();
        self.file.write_to_known_channel(&header, payload.as_bytes()).unwrap();
    }

    fn finish(mut self) -> Vec<u8> {
        self.file.finish().unwrap();
        self.file.into_inner().into_inner()
    }
}

/// Returns a bag with a count every 10 ms, a text every second behind them in the file, and what the node published
/// then.
fn drive(seconds: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    let [counts, texts, sums] = [("/counts", "UInt32"), ("/texts", "String"), ("/sums", "UInt32")]
        .map(|(topic, name)| writer.channel(topic, &format!("std_msgs/msg/{name}"), "cdr"));
    let other = writer.channel("/diagrams", "Diagram", "json");
    for number in 0..seconds * 100 {
        writer.write(counts, DAY_NS + u64::from(number) * 10 * MS_NS, &UInt32 { data: number });
        writer.write(sums, DAY_NS + u64::from(number) * 10 * MS_NS, &UInt32 { data: 7 });
    }
    for number in 0..seconds {
        let at = DAY_NS + u64::from(number) * 1000 * MS_NS + 5 * MS_NS;
        writer.write(texts, at, &Text { data: format!("second {number}") });
        writer.write(other, at, &UInt32 { data: 0 });
    }
    writer.finish()
}

/// A node that adds up what it hears, and publishes the sum with a timer. A text sets the sum to zero.
fn summer(test: &Harness) -> (Vec<Subscription>, Timer) {
    let node = test.create_node("summer").unwrap();
    let sums = node.create_publisher::<UInt32>("sums").unwrap();
    let sum = Arc::new(AtomicU32::new(0));
    let adds = Arc::clone(&sum);
    let resets = Arc::clone(&sum);
    let add = move |count: &UInt32| _ = adds.fetch_add(count.data, Ordering::Relaxed);
    let reset = move |_: &Text| resets.store(0, Ordering::Relaxed);
    let subscriptions =
        vec![node.create_subscription("counts", add).unwrap(), node.create_subscription("texts", reset).unwrap()];
    let publish = move |_| sums.publish(UInt32 { data: sum.load(Ordering::Relaxed) });
    (subscriptions, node.create_timer(Duration::from_millis(25), publish).unwrap())
}

/// Plays the bag to a new node, and returns what that published, and when.
fn play(bag: &Bag) -> Vec<(Duration, u32)> {
    let mut test = Harness::new();
    let _node = summer(&test);
    let sums = test.record::<UInt32>("sums").unwrap();
    test.play(bag).unwrap();
    sums.take().iter().map(|(at, sum)| (*at, sum.data)).collect()
}

#[test]
fn messages_come_at_their_times_and_every_run_is_the_same() {
    let file = File::new(&drive(2));
    let bag = Bag::open(&file.0).unwrap();
    assert_eq!(bag.messages.len(), 402);
    assert_eq!(bag.left_out, [("/diagrams".to_owned(), "json".to_owned())]);
    let bag = bag.without(["sums"]);
    let sums = play(&bag);
    // At 25 ms: what came at 10 and 20 ms, since the text at 5 ms. Then 3 and 4, of which that at 50 ms comes behind
    // the timer.
    let ms = Duration::from_millis;
    assert_eq!(sums[..3], [(ms(25), 1 + 2), (ms(50), 1 + 2 + 3 + 4), (ms(75), (1..=7).sum())]);
    assert_eq!(sums.len(), 1990 / 25);
    assert_eq!(sums, play(&bag), "the second run");
}

#[test]
fn an_hour_takes_less_than_an_hour() {
    let mut writer = Writer::new();
    let counts = writer.channel("counts", "std_msgs/msg/UInt32", "cdr");
    for number in 0..3600_u64 {
        writer.write(counts, DAY_NS + number * 1000 * MS_NS, &UInt32 { data: 1 });
    }
    let file = File::new(&writer.finish());
    let mut test = Harness::new();
    let node = test.create_node("listener").unwrap();
    let heard = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&heard);
    let _subscription = node
        .create_subscription("counts", move |count_of: &UInt32| _ = count.fetch_add(count_of.data, Ordering::Relaxed))
        .unwrap();
    let began = std::time::Instant::now();
    test.play(&Bag::open(&file.0).unwrap()).unwrap();
    assert_eq!((heard.load(Ordering::Relaxed), test.elapsed()), (3600, Duration::from_secs(3599)));
    assert!(began.elapsed() < Duration::from_secs(600), "{:?}", began.elapsed());
    // ROS time is that of the robot.
    let now = node.now().as_nanos();
    assert_eq!(now, DAY_NS + 3599 * 1000 * MS_NS);
}

#[test]
fn topics_are_chosen_and_renamed() {
    let file = File::new(&drive(1));
    let bag = Bag::open(&file.0).unwrap().only(["counts", "/texts"]);
    assert_eq!(bag.messages.len(), 101);
    let bag = Bag::open(&file.0).unwrap().only(["/sums"]).renamed("sums", "counts");
    assert_eq!(bag.messages.len(), 100);
    let sums = play(&bag);
    assert_eq!(sums[0].1, 7 * 3, "at 0, 10 and 20 ms");
}

#[test]
fn topics_that_nobody_hears_are_told() {
    let file = File::new(&drive(1));
    let bag = Bag::open(&file.0).unwrap();
    let mut test = Harness::new();
    let node = summer(&test);
    let error = test.play(&bag).unwrap_err();
    assert!(matches!(&error, PlayError::Unheard { topic, .. } if topic == "/sums"), "{error}");
    assert!(error.to_string().contains("`Bag::only`") && error.to_string().contains("std_msgs/msg/UInt32"), "{error}");
    drop(node);
    test.play(&Bag::default()).unwrap();
}

#[test]
fn damaged_and_foreign_files_are_told_with_what_to_do() {
    let whole = drive(1);
    let mut writer = Writer::new();
    let other = writer.channel("/diagrams", "Diagram", "json");
    writer.write(other, DAY_NS, &UInt32 { data: 0 });
    let mut damaged = whole.clone();
    damaged[whole.len() / 2..whole.len() / 2 + 64].fill(0xff);
    for (bytes, said) in [
        (&b""[..], "is cut off"),
        (b"[robot]\nname = 1\n", "is no MCAP file"),
        (&whole[..whole.len() / 2], "`mcap recover`"),
        (&writer.finish(), "no messages of ROS 2 topics, but /diagrams in json"),
    ] {
        let file = File::new(bytes);
        let error = Bag::open(&file.0).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("rospin-play"), "{error}");
    }
    // Whatever a damaged file has, nothing panics.
    let file = File::new(&damaged);
    if let Ok(bag) = Bag::open(&file.0) {
        assert!(!bag.messages.is_empty());
    }
    assert!(Bag::open("/nowhere.mcap").unwrap_err().to_string().starts_with("/nowhere.mcap: cannot be read"));
    assert!(Bag::open(env!("CARGO_MANIFEST_DIR")).unwrap_err().to_string().contains("no files that end in .mcap"));
}
