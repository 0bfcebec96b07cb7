//! Quality of service with ROS 2 itself, over rmw_cyclonedds_cpp: settings and events, both ways. Runs where ROS 2 with
//! rclpy is sourced.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Text, context, domain_id, executor, wait_until};
use rospin_dds::{Domain, DomainOptions};
use rospin_engine::SpinOptions;
use rospin_node::{
    DeadlineMissed, IncompatibleQos, Liveliness, LivelinessLost, MatchedStatus, PublisherOptions, Qos, QosPolicy,
    SubscriptionOptions,
};
use rospin_testkit::peers::KilledChild;

fn command(program: &str, domain_id: u16) -> Command {
    let mut command = Command::new(program);
    command.env("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp").env("ROS_DOMAIN_ID", domain_id.to_string());
    command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("CYCLONEDDS_URI");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The node of `crates/testkit/peers/ros2_qos.py` and what it has printed. It is killed when this value is dropped.
struct Theirs {
    _process: KilledChild,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Theirs {
    /// Starts it, or says that the test is skipped.
    #[expect(clippy::print_stderr, reason = "it says that a test is skipped")]
    fn start(domain_id: u16) -> Option<Self> {
        let has_rclpy = command("python3", domain_id).args(["-c", "import rclpy, std_msgs"]).status();
        if !has_rclpy.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED for want of a peer: ROS 2 with rclpy is not sourced");
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/peers/ros2_qos.py");
        let mut process = command("python3", domain_id).arg(script).spawn().expect("a process");
        let out = process.stdout.take().expect("its output");
        let lines = Arc::<Mutex<Vec<_>>>::default();
        let read = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                read.lock().expect("lines").push(line);
            }
        });
        Some(Self { _process: KilledChild(process), lines })
    }

    fn said(&self, line: &str) -> bool {
        self.lines.lock().expect("lines").iter().any(|said| said.starts_with(line))
    }
}

#[test]
fn events_are_told_on_both_sides() {
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let Some(theirs) = Theirs::start(id) else { return };
    let domain = Domain::join(DomainOptions::new().domain_id(id).localhost()).expect("a participant");
    let node = domain.ros(&context).create_node("ours").expect("a node");
    let qos = Qos::default()
        .with_deadline(Duration::from_millis(100))
        .with_liveliness(Liveliness::ManualByTopic, Duration::from_millis(300));
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("ours").qos(qos)).expect("a publisher");
    let group = executor.create_group("events", Vec::<String>::new());
    let on = node.on(&group);
    let subscribe =
        |options| on.create_subscription(options, |_: &mut Vec<String>, _: Text| ()).expect("a subscription");
    let subscription = subscribe(SubscriptionOptions::new("theirs"));
    let fits = subscribe(SubscriptionOptions::new("theirs").best_effort());

    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let tell = move |text: String| log.lock().expect("a log").push(text);
    let matched = tell.clone();
    let missed = tell.clone();
    let lost = tell.clone();
    let refused = tell;
    let _callbacks = [
        on.create_event_callback(&publisher, move |status: MatchedStatus| {
            matched(format!("matched {}", status.current))
        }),
        on.create_event_callback(&publisher, move |_: DeadlineMissed| missed("deadline".to_owned())),
        on.create_event_callback(&publisher, move |_: LivelinessLost| lost("lost".to_owned())),
        on.create_event_callback(&subscription, move |event: IncompatibleQos| {
            assert_eq!(event.policy, QosPolicy::Reliability);
            refused("refused".to_owned());
        }),
    ];
    let has = |text: &str| told.lock().expect("a log").iter().any(|told| told == text);
    wait_until(&executor, "it is matched with theirs", || has("matched 1") && fits.publisher_count() == 1);
    wait_until(&executor, "both are told what does not fit", || has("refused") && theirs.said("incompatible 1"));
    publisher.publish(Text { data: "hello".to_owned() }).expect("room");
    wait_until(&executor, "it is heard", || theirs.said("heard hello") && theirs.said("matched 1"));
    wait_until(&executor, "silence is told to us", || has("deadline") && has("lost"));
    wait_until(&executor, "silence is told to them", || theirs.said("deadline 1") && theirs.said("liveliness 0 1"));
    assert_eq!(subscription.publisher_count(), 0);
}

#[test]
fn tools_see_the_settings() {
    let id = domain_id();
    let (context, _) = context();
    if Theirs::start(id).is_none() {
        return;
    }
    let domain = Domain::join(DomainOptions::new().domain_id(id).localhost()).expect("a participant");
    let ros = domain.ros(&context);
    let node = ros.create_node("ours").expect("a node");
    let times = Qos::default().with_deadline(Duration::from_millis(100)).with_lifespan(Duration::from_millis(250));
    let qos = times.with_liveliness(Liveliness::ManualByTopic, Duration::from_secs(3));
    let _publisher = node.create_publisher::<Text>(PublisherOptions::new("ours").qos(qos)).expect("a publisher");
    let halt = ros.executor().handle();
    let asking = std::thread::spawn(move || {
        let arguments = ["topic", "info", "--verbose", "/ours", "--no-daemon", "--spin-time", "5"];
        let output = command("ros2", id).args(arguments).output().expect("the command ros2");
        halt.halt();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    ros.executor().spin(SpinOptions::new()).expect("a spin");
    let text = asking.join().expect("an answer");
    for line in [
        "Deadline: 100000000 nanoseconds",
        "Lifespan: 250000000 nanoseconds",
        "Liveliness: MANUAL_BY_TOPIC",
        "Liveliness lease duration: 3000000000 nanoseconds",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
