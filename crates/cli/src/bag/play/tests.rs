//! Messages come at the times at which they were recorded, under a clock of the test's own.

use std::path::Path;
use std::sync::Mutex;

use rospin::msgs::std_msgs::msg::String as Text;
use rospin::testing::{Harness, Recording};

use super::*;
use crate::bag::mcap::{Layout, McapFile};
use crate::bag::tests::{Said, Scratch, topic, write};
use crate::bag::write::WriteOptions;

/// Messages of `/a`, and of the latched `/map`, whose first was sent before the recording began.
const SAID: [Said<'_>; 5] = [
    (0, 0, 0, "a0"),
    (1, 40, -5_000, "map0"),
    (0, 1_000, 1_000, "a1"),
    (1, 1_500, 1_500, "map1"),
    (0, 3_000, 3_000, "a2"),
];

/// Longest time of the test's clock.
const LIMIT: Duration = Duration::from_secs(100);

fn written(scratch: &Scratch) -> Bag {
    let folder = scratch.path("drive");
    write(&folder, WriteOptions::default(), &[topic("/a", false), topic("/map", true)], &SAID);
    Bag::open(&folder).unwrap()
}

fn options() -> PlayOptions {
    PlayOptions { rate: 1.0, ..PlayOptions::default() }
}

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// Times in milliseconds, and texts.
type Heard = Vec<(u128, String)>;

fn taken(recording: &Recording<Text>) -> Heard {
    recording.take().iter().map(|(at, text)| (at.as_micros() / 1000, text.data.clone())).collect()
}

fn texts(said: &[(u128, &str)]) -> Heard {
    said.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
}

struct Stage {
    test: Harness,
    a: Recording<Text>,
    map: Recording<Text>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new() -> Self {
        let test = Harness::new();
        let (a, map) = (test.record("/a").unwrap(), test.record("/map").unwrap());
        Self { test, a, map, told: Arc::default() }
    }

    fn player<'a>(&self, bag: &'a Bag, options: &'a PlayOptions, control: &'a Control) -> Player<'a> {
        let told = Arc::clone(&self.told);
        let tell: Tell = Arc::new(move |sentence| told.lock().unwrap().push(sentence.to_owned()));
        let executor = self.test.ros().executor().handle();
        Player::new(self.test.node(), &executor, bag, options, control, tell).unwrap()
    }

    /// Plays the bag to its end, and returns what was heard.
    fn play(&mut self, bag: &Bag, options: &PlayOptions) -> (Heard, Heard) {
        let control = Control::new(false);
        let mut player = self.player(bag, options, &control);
        self.test.wait(player.run(), LIMIT).unwrap();
        self.test.run().unwrap();
        (taken(&self.a), taken(&self.map))
    }
}

#[test]
fn messages_come_at_their_times_and_those_that_latched_topics_sent_before_come_first() {
    let scratch = Scratch::new("times");
    let bag = written(&scratch);
    let (a, map) = Stage::new().play(&bag, &options());
    assert_eq!(a, texts(&[(0, "a0"), (1_000, "a1"), (3_000, "a2")]));
    assert_eq!(map, texts(&[(0, "map0"), (1_500, "map1")]));
}

#[test]
fn rate_delay_and_duration_are_kept() {
    let scratch = Scratch::new("rate");
    let bag = written(&scratch);
    let options = PlayOptions { rate: 4.0, delay: ms(500), duration: Some(ms(2_000)), ..options() };
    let (a, map) = Stage::new().play(&bag, &options);
    assert_eq!(a, texts(&[(500, "a0"), (750, "a1")]));
    assert_eq!(map, texts(&[(500, "map0"), (875, "map1")]));
}

#[test]
fn later_start_has_what_latched_topics_kept_until_then() {
    let scratch = Scratch::new("offset");
    let bag = written(&scratch);
    let options = PlayOptions { start_offset: ms(1_600), ..options() };
    let (a, map) = Stage::new().play(&bag, &options);
    // How much the publisher kept may not be known, so the last message comes last, and none is left out.
    assert_eq!((a, map), (texts(&[(1_400, "a2")]), texts(&[(0, "map0"), (0, "map1")])));
    let mut stage = Stage::new();
    let behind = PlayOptions { start_offset: ms(3_001), ..self::options() };
    assert_eq!(stage.play(&bag, &behind), (Vec::new(), Vec::new()));
    assert!(stage.told.lock().unwrap()[0].contains("behind the end"));
}

#[test]
fn every_message_of_a_latched_topic_is_played_whatever_its_profiles_say() {
    // One profile of depth 1, as rosbag2 takes it once; three publishers, of which one publishes again; and a publisher
    // whose clock is behind, so that all of its messages seem to be from before.
    let said = [
        (0, 0, 0, "a0"),
        (1, 10, -5_000, "tf0"),
        (1, 20, -4_000, "tf1"),
        (1, 30, -5_000, "tf2"),
        (1, 1_000, 1_000, "tf0 again"),
        (1, 1_500, -3_500, "behind"),
        (1, 2_000, -3_000, "behind again"),
    ];
    let expected =
        [(0, "tf0"), (20, "tf1"), (30, "tf2"), (1_000, "tf0 again"), (1_500, "behind"), (2_000, "behind again")];
    for is_known in [true, false] {
        let scratch = Scratch::new("profiles");
        let folder = scratch.path("drive");
        let mut map = topic("/map", true);
        if !is_known {
            map.offered[0].history = None;
        }
        write(&folder, WriteOptions::default(), &[topic("/a", false), map], &said);
        let (_, map) = Stage::new().play(&Bag::open(&folder).unwrap(), &options());
        assert_eq!(map, texts(&expected), "{is_known}");
    }
}

#[test]
fn messages_that_have_expired_at_the_start_are_not_played() {
    let scratch = Scratch::new("expired");
    let folder = scratch.path("drive");
    let mut rosout = topic("/map", true);
    rosout.offered[0].lifespan = Some(ms(10_000));
    let said = [(0, 0, 0, "a0"), (1, 1_000, 1_000, "old"), (1, 9_000, 9_000, "young"), (0, 20_000, 20_000, "a1")];
    write(&folder, WriteOptions::default(), &[topic("/a", false), rosout], &said);
    let options = PlayOptions { start_offset: ms(12_000), ..options() };
    let (a, map) = Stage::new().play(&Bag::open(&folder).unwrap(), &options);
    assert_eq!((a, map), (texts(&[(8_000, "a1")]), texts(&[(0, "young")])));
}

#[test]
fn messages_of_another_type_or_encoding_are_not_published_as_the_first_type() {
    let scratch = Scratch::new("mixed");
    let path = scratch.path("mixed.mcap");
    let mut file = McapFile::create(&path, Layout::default()).unwrap();
    let texts_of = file.add_schema("std_msgs/msg/String", "ros2msg", "string data\n").unwrap().unwrap();
    let twists = file.add_schema("geometry_msgs/msg/Twist", "ros2msg", "").unwrap().unwrap();
    let channels = [(texts_of, "cdr"), (twists, "cdr"), (texts_of, "json")];
    for (number, (schema, encoding)) in channels.into_iter().enumerate() {
        let channel = file.add_channel(schema, "/a", encoding, &[]).unwrap().unwrap();
        let text = SerializedMessage::serialize(&Text { data: format!("of channel {number}") }).unwrap();
        file.write(channel, 0, number as u64, number as u64, text.as_bytes()).unwrap();
    }
    file.flush().unwrap();
    file.finish(|_| String::new()).unwrap();
    let bag = Bag::open(&path).unwrap();
    let kinds: Vec<_> =
        bag.metadata.topics.iter().map(|of| (of.message_type.as_str(), of.format.as_str(), of.count)).collect();
    let (string, twist) = ("std_msgs/msg/String", "geometry_msgs/msg/Twist");
    assert_eq!(kinds, [(string, "cdr", 1), (twist, "cdr", 1), (string, "json", 1)]);
    let mut stage = Stage::new();
    assert_eq!(stage.play(&bag, &options()).0, texts(&[(0, "of channel 0")]));
    assert_eq!(stage.told.lock().unwrap().len(), 2);
}

#[test]
fn duration_beyond_the_end_is_waited_for_by_loops_only() {
    let scratch = Scratch::new("beyond");
    let bag = written(&scratch);
    let mut stage = Stage::new();
    let options = PlayOptions { duration: Some(ms(1_000_000)), ..options() };
    assert_eq!(stage.play(&bag, &options).0.len(), 3);
    assert!(stage.test.elapsed() < ms(4_000));
}

#[test]
fn bag_without_hashes_takes_them_from_where_they_are_known_or_tells() {
    let scratch = Scratch::new("hashes");
    let folder = scratch.path("drive");
    let topics = ["/a", "/b"].map(|name| Topic { hash: String::new(), ..topic(name, false) });
    let twist = Topic { message_type: "geometry_msgs/msg/Twist".to_owned(), ..topics[1].clone() };
    write(&folder, WriteOptions::default(), &[topics[0].clone(), twist], &[(0, 0, 0, "a0")]);
    let bag = Bag::open(&folder).unwrap();
    let stage = Stage::new();
    let hash = |topic: &str| stage.test.node().publishers_info_by_topic(topic).unwrap()[0].type_hash.clone();
    let control = Control::new(false);
    let mut played = PlayOptions { needs_hash: true, ..options() };
    let player = stage.player(&bag, &played, &control);
    // A subscription of /a has it, and nobody that of /b.
    assert_eq!(hash("/a").as_deref(), <Text as rospin::Message>::TYPE_HASH);
    assert_eq!(hash("/b"), None);
    let told = std::mem::take(&mut *stage.told.lock().unwrap());
    assert!(told.len() == 1 && told[0].starts_with("Topic '/b': nodes of Iron"), "{told:?}");
    drop(player);
    played.places = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../dynamic/tests/install")];
    let _player = stage.player(&bag, &played, &control);
    let installed = MessageType::find_in("geometry_msgs/msg/Twist", &played.places).unwrap();
    assert_eq!(hash("/b").as_deref(), Some(installed.hash()));
    assert!(stage.told.lock().unwrap().is_empty());
}

#[test]
fn loop_begins_again_without_end() {
    let scratch = Scratch::new("loop");
    let bag = written(&scratch);
    let mut stage = Stage::new();
    let options = PlayOptions { is_loop: true, duration: Some(ms(2_000)), ..options() };
    let control = Control::new(false);
    let mut player = stage.player(&bag, &options, &control);
    assert!(stage.test.wait(player.run(), ms(4_500)).is_err());
    let expected = [(0, "a0"), (1_000, "a1"), (2_000, "a0"), (3_000, "a1"), (4_000, "a0")];
    assert_eq!(taken(&stage.a), texts(&expected));
}

#[test]
fn pause_moves_what_follows() {
    let scratch = Scratch::new("pause");
    let bag = written(&scratch);
    let mut stage = Stage::new();
    let control = Control::new(true);
    let played = options();
    let mut player = stage.player(&bag, &played, &control);
    let executor = stage.test.ros().executor().handle();
    let presses = async {
        // It begins paused. Then it plays for 1.2 s, and is paused for 10 s.
        for pause in [ms(5_000), ms(1_200), ms(10_000)] {
            executor.sleep(rospin::time::ClockKind::Steady, pause).await.unwrap();
            control.toggle();
        }
    };
    let mut presses = pin!(presses);
    let mut run = pin!(player.run());
    let mut is_pressed = false;
    let both = poll_fn(|cx| {
        is_pressed = is_pressed || presses.as_mut().poll(cx).is_ready();
        run.as_mut().poll(cx)
    });
    stage.test.wait(both, LIMIT).unwrap();
    stage.test.run().unwrap();
    assert_eq!(taken(&stage.a), texts(&[(5_000, "a0"), (6_000, "a1"), (18_000, "a2")]));
}

#[test]
fn clock_tells_the_time_of_the_bag_before_each_message() {
    let scratch = Scratch::new("clock");
    let bag = written(&scratch);
    let mut stage = Stage::new();
    let heard: Recording<Clock> = stage.test.record("/clock").unwrap();
    let options = PlayOptions { rate: 2.0, clock_hz: Some(10.0), ..options() };
    stage.play(&bag, &options);
    let clocks = heard.take();
    // 3 s of the bag take 1.5 s, at 10 Hz: with both ends 16 ticks, 0.2 s of the bag apart.
    assert_eq!(clocks.len(), 16);
    let begin = i64::from(clocks[0].1.clock.sec);
    let last = &clocks[15].1.clock;
    assert_eq!((i64::from(last.sec) - begin, last.nanosec, clocks[15].0), (3, 0, ms(1_500)));
}

#[test]
fn topics_are_chosen_and_renamed() {
    let scratch = Scratch::new("chosen");
    let bag = written(&scratch);
    let mut options = options();
    options.choice.topics = vec!["/map".to_owned()];
    options.remaps.insert("/map".to_owned(), "/a".to_owned());
    let (a, map) = Stage::new().play(&bag, &options);
    assert_eq!((a, map), (texts(&[(0, "map0"), (1_500, "map1")]), Vec::new()));
}

#[test]
fn topics_that_cannot_be_published_are_told_and_the_others_are_played() {
    let scratch = Scratch::new("names");
    let folder = scratch.path("drive");
    let strange = crate::bag::metadata::Topic { message_type: "nothing".to_owned(), ..topic("/strange", false) };
    let topics = [topic("/a", false), topic("two words", false), strange, topic("/clock", false)];
    write(&folder, WriteOptions::default(), &topics, &[(0, 0, 0, "a0"), (3, 1, 1, "no clock")]);
    let bag = Bag::open(&folder).unwrap();
    let mut stage = Stage::new();
    let options = PlayOptions { clock_hz: Some(1.0), ..options() };
    assert_eq!(stage.play(&bag, &options).0, texts(&[(0, "a0")]));
    let told = stage.told.lock().unwrap();
    let is_told = |sentence: &str| told.iter().any(|told| told.starts_with(sentence));
    assert!(is_told("Topic 'two words'") && is_told("Topic '/strange'") && is_told("Topic '/clock'"), "{told:?}");
}

#[test]
fn messages_in_other_encodings_and_damage_are_told() {
    let scratch = Scratch::new("told");
    let mut bag = written(&scratch);
    bag.metadata.topics[1].format = "json".to_owned();
    let path = &bag.files[0];
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() - 40);
    std::fs::write(Path::new(path), bytes).unwrap();
    let mut stage = Stage::new();
    let control = Control::new(false);
    let played = options();
    let mut player = stage.player(&bag, &played, &control);
    stage.test.wait(player.run(), LIMIT).unwrap();
    assert_eq!(player.summary().counts["/a"], 3);
    let told = stage.told.lock().unwrap();
    assert!(told[0].contains("'/map'") && told[0].contains("`json`"), "{told:?}");
}

#[test]
fn messages_from_before_the_time_that_the_bag_claims_to_begin_at_are_played() {
    let scratch = Scratch::new("claims");
    let mut bag = written(&scratch);
    let (first, last) = bag.metadata.times.unwrap();
    bag.metadata.times = Some((first + 500_000_000, last));
    let (a, _) = Stage::new().play(&bag, &options());
    assert_eq!(a, texts(&[(0, "a0"), (500, "a1"), (2_500, "a2")]));
}
