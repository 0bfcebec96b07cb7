//! Topics of a robot in the test's own process are recorded as they come.

use std::sync::Mutex;

use rospin::PublisherOptions;
use rospin::msgs::geometry_msgs::msg::Twist;
use rospin::msgs::std_msgs::msg::String as Text;
use rospin::qos::Durability;

use super::*;
use crate::bag::command::testing::record as record_by_command;
use crate::bag::metadata::FILE;
use crate::bag::read::Bag;
use crate::bag::tests::Scratch;
use crate::ros::testing::Robot;
use rospin_trace::mcap::Wanted;

/// A recording of everything, and what it tells.
struct Stage {
    robot: Robot,
    scratch: Scratch,
    recorder: Recorder,
    told: Arc<Mutex<Vec<String>>>,
}

/// Number of messages that a recorder has received, for a test that waits for it.
struct Progress(Arc<AtomicU64>, ExecutorHandle);

impl Progress {
    /// Waits until so many messages are recorded.
    async fn reach(&self, count: u64) {
        while self.0.load(Ordering::Relaxed) < count {
            self.1.sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
        }
    }
}

fn options(topics: &[&str]) -> RecordOptions {
    let mut options = RecordOptions { cache_bytes: 1 << 20, ..RecordOptions::default() };
    options.choice.topics = topics.iter().map(|&topic| topic.to_owned()).collect();
    options
}

impl Stage {
    fn new(name: &str, options: RecordOptions) -> Self {
        let robot = Robot::new();
        let scratch = Scratch::new(name);
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = Arc::clone(&told);
        let tell: Tell = Arc::new(move |sentence| to.lock().unwrap().push(sentence.to_owned()));
        let executor = robot.session.ros().executor().handle();
        let folder = scratch.path("drive");
        let recorder = Recorder::start(robot.session.node(), &executor, &folder, options, tell).unwrap();
        Self { robot, scratch, recorder, told }
    }

    fn progress(&self) -> Progress {
        Progress(Arc::clone(&self.recorder.received), self.robot.session.ros().executor().handle())
    }

    /// Records while `robot` resolves.
    fn while_running(&mut self, robot: impl Future<Output = ()>) {
        let mut robot = pin!(robot);
        let mut run = pin!(self.recorder.run());
        let both =
            poll_fn(|cx| if robot.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { run.as_mut().poll(cx) });
        self.robot.session.finish(both).unwrap();
    }

    /// Ends the recording. The folder is there as long as the first value.
    fn finish(self) -> (Scratch, Recording, Bag, Vec<String>) {
        let recording = self.recorder.finish();
        let bag = Bag::open(&self.scratch.path("drive")).unwrap();
        assert_eq!(recording.metadata.as_ref(), Some(&bag.metadata));
        let told = self.told.lock().unwrap().clone();
        (self.scratch, recording, bag, told)
    }
}

fn text(data: &str) -> Text {
    Text { data: data.to_owned() }
}

#[test]
fn topics_are_recorded_with_their_types_and_quality_of_service() {
    let mut stage = Stage::new("types", options(&["/chatter", "cmd_vel"]));
    let node = stage.robot.node("talker");
    let latched = PublisherOptions::new("chatter").keep_last(3).transient_local();
    let chatter = node.create_publisher::<Text>(latched).unwrap();
    // A topic that latches is recorded although it was published before.
    chatter.publish(text("one")).unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        progress.reach(1).await;
        // A topic that comes while it is recorded.
        let cmd_vel = node.create_publisher::<Twist>("cmd_vel").unwrap();
        let _other = node.create_publisher::<Twist>("other").unwrap();
        cmd_vel.wait_for_subscription().await;
        cmd_vel.publish(Twist::default()).unwrap();
        chatter.publish(text("two")).unwrap();
        progress.reach(3).await;
    });
    let (_scratch, recording, bag, told) = stage.finish();
    assert_eq!((recording.lost, recording.failure), (Vec::new(), None));
    assert_eq!(told, ["Subscribed to topic '/chatter'", "Subscribed to topic '/cmd_vel'"]);
    let [chatter, cmd_vel] = &bag.metadata.topics[..] else { panic!("{:?}", bag.metadata.topics) };
    assert_eq!((chatter.count, cmd_vel.count, cmd_vel.name.as_str()), (2, 1, "/cmd_vel"));
    assert_eq!(cmd_vel.message_type, "geometry_msgs/msg/Twist");
    assert_eq!(cmd_vel.hash, <Twist as rospin::Message>::TYPE_HASH.unwrap_or_default());
    assert_eq!(chatter.offered[0].durability, Some(Durability::TransientLocal));
    // The node has told the definitions.
    let file = std::fs::read(&bag.files[0]).unwrap();
    let has = |text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("string data\n") && has("MSG: geometry_msgs/Vector3\nfloat64 x\n"));
    let first = bag.messages(&Wanted::default()).next().unwrap().unwrap();
    assert_eq!(SerializedMessage::from_bytes(first.payload).unwrap().deserialize::<Text>().unwrap(), text("one"));
}

#[test]
fn second_type_of_a_topic_is_told_and_left_out() {
    let mut stage = Stage::new("second", options(&["/topic"]));
    let node = stage.robot.node("talker");
    let first = node.create_publisher::<Text>("topic").unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        first.wait_for_subscription().await;
        first.publish(text("one")).unwrap();
        progress.reach(1).await;
        let _second = node.create_publisher::<Twist>("topic").unwrap();
        let third = node.create_publisher::<Text>("topic").unwrap();
        third.publish(text("two")).unwrap();
        progress.reach(2).await;
    });
    stage.recorder.look();
    // The nodes have gone; a topic whose type has changed is the same.
    let _changed = stage.robot.node("other").create_publisher::<Twist>("topic").unwrap();
    stage.recorder.look();
    let (_scratch, _, bag, told) = stage.finish();
    assert_eq!((bag.metadata.topics.len(), bag.metadata.count), (1, 2));
    let refused = "Topic '/topic' of type geometry_msgs/msg/Twist is not recorded: ";
    assert_eq!(told.iter().filter(|sentence| sentence.starts_with(refused)).count(), 1, "{told:?}");
}

#[test]
fn publisher_that_offers_less_is_heard_too() {
    let mut stage = Stage::new("less", options(&["/topic"]));
    let node = stage.robot.node("talker");
    let reliable = node.create_publisher::<Text>("topic").unwrap();
    let progress = stage.progress();
    let told = Arc::clone(&stage.told);
    stage.while_running(async {
        reliable.wait_for_subscription().await;
        reliable.publish(text("one")).unwrap();
        progress.reach(1).await;
        let loose = node.create_publisher::<Text>(PublisherOptions::new("topic").best_effort()).unwrap();
        loose.wait_for_subscription().await;
        loose.publish(text("two")).unwrap();
        reliable.publish(text("three")).unwrap();
        progress.reach(3).await;
        // The one that offers less goes and comes again: nothing changes.
        drop(loose);
        reliable.publish(text("four")).unwrap();
        progress.reach(4).await;
        let loose = node.create_publisher::<Text>(PublisherOptions::new("topic").best_effort()).unwrap();
        loose.publish(text("five")).unwrap();
        progress.reach(5).await;
    });
    stage.recorder.look();
    stage.recorder.end_overlaps(stage.recorder.now() + OVERLAP);
    let told = told.lock().unwrap().clone();
    assert_eq!(told.iter().filter(|told| told.contains("anew")).count(), 1, "{told:?}");
    let (_scratch, recording, bag, _) = stage.finish();
    assert_eq!((bag.metadata.count, bag.metadata.topics[0].offered.len(), recording.lost.len()), (5, 2, 0));
}

#[test]
fn latched_messages_are_recorded_once_though_publishers_come_and_go() {
    let mut stage = Stage::new("once", options(&["/topic"]));
    let node = stage.robot.node("talker");
    let latched = node.create_publisher::<Text>(PublisherOptions::new("topic").keep_last(1).transient_local()).unwrap();
    latched.publish(text("one")).unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        progress.reach(1).await;
        let volatile = node.create_publisher::<Text>("topic").unwrap();
        volatile.wait_for_subscription().await;
        volatile.publish(text("two")).unwrap();
        progress.reach(2).await;
    });
    stage.recorder.look();
    stage.recorder.end_overlaps(stage.recorder.now() + OVERLAP);
    let progress = stage.progress();
    stage.while_running(async {
        latched.publish(text("three")).unwrap();
        progress.reach(3).await;
    });
    let (_scratch, _, bag, _) = stage.finish();
    assert_eq!(bag.metadata.count, 3);
}

#[test]
fn offers_of_publishers_that_have_gone_stay_in_the_bag() {
    let mut stage = Stage::new("gone", options(&["/tf_static"]));
    let node = stage.robot.node("talker");
    let latched = || PublisherOptions::new("tf_static").keep_last(1).transient_local();
    let mut publishers: Vec<_> = (0..3).map(|_| node.create_publisher::<Text>(latched()).unwrap()).collect();
    while !publishers.is_empty() {
        stage.recorder.look();
        publishers.pop();
    }
    stage.recorder.look();
    let (_scratch, _, bag, _) = stage.finish();
    assert_eq!(bag.metadata.topics[0].offered.len(), 3);
    // A file of the bag says it by itself.
    let alone = Bag::open(&bag.files[0]).unwrap();
    assert_eq!(alone.metadata.topics[0].offered, bag.metadata.topics[0].offered);
}

#[test]
fn messages_are_written_before_their_definition_is_known() {
    let mut stage = Stage::new("early", options(&["/topic"]));
    let node = stage.robot.node("talker");
    let latched = PublisherOptions::new("topic").keep_last(1).transient_local();
    let publisher = node.create_publisher::<Text>(latched).unwrap();
    publisher.publish(text("one")).unwrap();
    stage.recorder.look();
    // No node has been asked yet, because nothing has run.
    stage.recorder.end_overlaps(stage.recorder.now() + OVERLAP);
    let progress = stage.progress();
    let told = Arc::clone(&stage.told);
    let executor = stage.robot.session.ros().executor().handle();
    stage.while_running(async {
        progress.reach(1).await;
        // The answer comes behind the first message, or before it.
        publisher.publish(text("two")).unwrap();
        progress.reach(2).await;
        executor.sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
    });
    assert!(told.lock().unwrap()[1].contains("until a node tells it"));
    let (_scratch, _, bag, _) = stage.finish();
    assert_eq!((bag.metadata.topics.len(), bag.metadata.count), (1, 2));
    let alone = Bag::open(&bag.files[0]).unwrap();
    assert_eq!((alone.metadata.topics.len(), alone.metadata.count), (1, 2));
    assert_eq!(bag.messages(&Wanted::default()).filter(Result::is_ok).count(), 2);
}

#[test]
fn failed_question_does_not_concern_other_topics_of_the_type() {
    let mut stage = Stage::new("failed", options(&["/mixed", "/text"]));
    let node = stage.robot.node("talker");
    let _text = node.create_publisher::<Text>("mixed").unwrap();
    let _twist = node.create_publisher::<Twist>("mixed").unwrap();
    let other = node.create_publisher::<Text>("text").unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        other.wait_for_subscription().await;
        other.publish(text("one")).unwrap();
        progress.reach(1).await;
    });
    let (_scratch, _, bag, told) = stage.finish();
    let file = std::fs::read(&bag.files[0]).unwrap();
    assert!(file.windows(12).any(|part| part == b"string data\n"), "{told:?}");
}

#[test]
fn simulated_time_is_waited_for() {
    let mut stage = Stage::new("sim", RecordOptions { is_sim_time: true, ..options(&["/topic"]) });
    let session = &stage.robot.session;
    let time = session.ros().context().ros_time();
    let _guard = session.node().use_sim_time(&session.ros().executor().handle(), &time).unwrap();
    let node = stage.robot.node("talker");
    let latched = PublisherOptions::new("topic").keep_last(1).transient_local();
    let publisher = node.create_publisher::<Text>(latched).unwrap();
    publisher.publish(text("before the clock")).unwrap();
    let clock = node.create_publisher::<rospin_node::interfaces::rosgraph_msgs::Clock>("/clock").unwrap();
    let progress = stage.progress();
    let told = Arc::clone(&stage.told);
    stage.while_running(async {
        clock.wait_for_subscription().await;
        // The recorder runs before the clock does.
        while told.lock().unwrap().is_empty() {
            progress.1.sleep(ClockKind::Steady, Duration::from_millis(1)).await.unwrap();
        }
        let now = rospin_node::interfaces::builtin_interfaces::Time { sec: 5, nanosec: 0 };
        clock.publish(rospin_node::interfaces::rosgraph_msgs::Clock { clock: now }).unwrap();
        progress.reach(1).await;
    });
    let (_scratch, _, bag, told) = stage.finish();
    assert_eq!(bag.metadata.times, Some((5_000_000_000, 5_000_000_000)), "{told:?}");
}

#[test]
fn every_message_is_in_the_bag_or_counted_as_lost() {
    // One message at a time has room.
    let mut stage = Stage::new("counted", RecordOptions { cache_bytes: 1, ..options(&["/topic"]) });
    let node = stage.robot.node("talker");
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("topic").keep_last(500)).unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        publisher.wait_for_subscription().await;
        for _ in 0..500 {
            publisher.publish(text("hello")).unwrap();
        }
        progress.reach(500).await;
    });
    let (_scratch, recording, bag, _) = stage.finish();
    let lost: u64 = recording.lost.iter().map(|(_, count)| count).sum();
    assert_eq!(bag.metadata.count + lost, 500);
    assert!(bag.metadata.count > 0);
}

#[test]
fn thousands_of_topics_are_recorded() {
    const TOPICS: u64 = 3_000;
    let mut stage = Stage::new("thousands", options(&[]));
    stage.recorder.options.choice.regex = Some(regex::Regex::new("^/topic_").unwrap());
    let node = stage.robot.node("talker");
    let progress = stage.progress();
    stage.while_running(async {
        let mut publishers = Vec::new();
        for number in 0..TOPICS {
            let latched = PublisherOptions::new(format!("topic_{number}")).keep_last(1).transient_local();
            let publisher = node.create_publisher::<Text>(latched).unwrap();
            publisher.publish(text("hello")).unwrap();
            publishers.push(publisher);
        }
        progress.reach(TOPICS).await;
    });
    let (_scratch, recording, bag, _) = stage.finish();
    assert_eq!((recording.lost, bag.metadata.count, bag.metadata.topics.len()), (Vec::new(), TOPICS, TOPICS as usize));
    assert_eq!(bag.messages(&Wanted::default()).filter(Result::is_ok).count() as u64, TOPICS);
}

#[test]
fn hidden_topics_and_those_that_are_left_out_are_not_recorded() {
    let mut all = options(&[]);
    all.choice.exclude_regex = Some(regex::Regex::new("^/(rosout|parameter_events|left)").unwrap());
    let mut stage = Stage::new("hidden", all);
    let node = stage.robot.node("talker");
    stage.recorder.options.with_events = true;
    let _publishers =
        ["_secret", "left", "taken", "reset/_service_event"].map(|topic| node.create_publisher::<Text>(topic).unwrap());
    stage.recorder.look();
    let (_scratch, _, bag, _) = stage.finish();
    assert_eq!(
        bag.metadata.topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(),
        ["/reset/_service_event", "/taken"]
    );
}

#[test]
fn named_topic_that_never_came_is_told() {
    let stage = Stage::new("never", options(&["/missing"]));
    let (_scratch, recording, bag, told) = stage.finish();
    assert_eq!((recording.lost, bag.metadata.count), (Vec::new(), 0));
    assert_eq!(told, ["Topic '/missing' had no publisher, so nothing of it was recorded"]);
}

#[test]
fn command_prints_what_it_recorded() {
    let robot = Robot::new();
    let scratch = Scratch::new("command");
    let folder = scratch.path("new/drive");
    let end = || std::future::ready(());
    let printed = record_by_command(&robot.session, &["-a"], &folder, end()).unwrap();
    assert!(printed.starts_with("Recorded 0 messages of 0 topics in 0.000000000 s: "), "{printed}");
    assert!(folder.join(FILE).exists());
    let refused = record_by_command(&robot.session, &["-a"], &folder, end()).unwrap_err();
    assert!(refused.contains("is there already"), "{refused}");
}

#[test]
fn the_trace_of_a_program_is_in_the_bag() {
    // The program that is traced is this one.
    rospin::monitoring::open_live_door();
    let options = RecordOptions { trace: Some(std::process::id()), ..options(&["/chatter"]) };
    let mut stage = Stage::new("trace", options);
    let node = stage.robot.node("talker");
    let chatter = node.create_publisher::<Text>("chatter").unwrap();
    let progress = stage.progress();
    stage.while_running(async {
        chatter.wait_for_subscription().await;
        chatter.publish(text("one")).unwrap();
        progress.reach(1).await;
    });
    let (scratch, recording, bag, _) = stage.finish();
    assert_eq!((recording.lost, recording.failure), (Vec::new(), None));
    let names: Vec<&str> = bag.metadata.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert!(names.contains(&"/chatter") && names.contains(&"/rospin/names"), "{names:?}");
    assert!(bag.metadata.topics.iter().all(|topic| is_trace(topic) == topic.name.starts_with("/rospin/")));
    // It is a recording, with the callback's name and its runs on the bag's axis of time.
    let traces = rospin_trace::Recording::open(&scratch.path("drive")).unwrap();
    assert!(!traces[0].events.is_empty() && traces[0].faults.is_empty(), "{:?}", traces[0].faults);
    let (first, last) = bag.metadata.times.unwrap();
    assert!(last - first < 60_000_000_000, "{first} to {last}");
    let message = bag.messages(&Wanted::default()).find(|of| of.as_ref().is_ok_and(|of| &*of.topic == "/chatter"));
    let at = message.unwrap().unwrap().log_time;
    assert!((first..=last).contains(&at));
}

#[test]
fn a_trace_of_nobody_is_refused_before_there_is_a_folder() {
    let robot = Robot::new();
    let scratch = Scratch::new("nobody");
    let options = RecordOptions { trace: Some(u32::MAX), ..options(&["/chatter"]) };
    let executor = robot.session.ros().executor().handle();
    let folder = scratch.path("drive");
    let started = Recorder::start(robot.session.node(), &executor, &folder, options, Arc::new(|_: &str| ()));
    assert!(started.is_err_and(|error| error.to_string().starts_with("--trace 4294967295: no program")));
    assert!(!folder.exists());
}
