//! Programs of nodes beside a library that notes what it is called with, in place of ROS 2's. They need a C compiler.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, ManualClock, Recorder, SpinOptions};
use rospin_msgs::std_msgs::msg::{String as Text, UInt32};
use rospin_msgs::std_srvs::srv::{Empty, EmptyRequest, EmptyResponse};
use rospin_node::{NodeOptions, Ros, SerializedMessage, TypeName};
use rospin_tracetools::{LoadError, Tracer};

/// A library in a folder of its own, and the file of its calls.
struct Fake {
    library: PathBuf,
    log: PathBuf,
}

impl Fake {
    /// Compiles it; `None` if there is no C compiler.
    #[expect(clippy::print_stderr, reason = "a test that did not run must not look as if it had")]
    fn new(more: &[&str]) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("rospin-tracetools-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join("libfake.so");
        let log = folder.join("log");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(format!("-DLOG=\"{}\"", log.display())).args(more);
        compile.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake.c"));
        let Ok(status) = compile.status() else {
            eprintln!("SKIPPED: there is no C compiler");
            return None;
        };
        assert!(status.success());
        Some(Self { library, log })
    }

    /// Returns the calls so far, each as its words.
    fn calls(&self) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(folder) = self.log.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns a creator of nodes that are traced, in manual time.
fn traced(fake: &Fake) -> (Ros, ManualClock, Recorder) {
    let recorder = Recorder::new();
    recorder.observe(Tracer::load(&fake.library).unwrap()).unwrap();
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).recorder(recorder.clone()));
    (Ros::in_process(&context), clock, recorder)
}

fn quiet(name: &str) -> NodeOptions {
    NodeOptions::new(name)
        .namespace("/robot")
        .start_parameter_services(false)
        .start_type_description_service(false)
        .enable_rosout(false)
}

/// Returns the only call of that tracepoint whose last words are `last`.
fn find<'a>(calls: &'a [Vec<String>], name: &str, last: &[&str]) -> &'a [String] {
    let mut found = calls.iter().filter(|call| {
        call[0] == name && call.ends_with(&last.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    });
    let first = found.next().unwrap_or_else(|| panic!("no {name} with {last:?} in {calls:#?}"));
    assert!(found.next().is_none(), "several {name} with {last:?}");
    first
}

/// Returns the calls behind the one with that place, as names with their first argument.
fn run_of(calls: &[Vec<String>], from: usize) -> Vec<(&str, &str)> {
    calls[from..].iter().map(|call| (call[0].as_str(), call[1].as_str())).collect()
}

#[test]
fn a_timer_publishes_to_a_subscription_of_the_same_process() {
    let Some(fake) = Fake::new(&[]) else { return };
    let (ros, clock, _recorder) = traced(&fake);
    let talker = ros.create_node(quiet("talker")).unwrap();
    let listener = ros.create_node(quiet("listener")).unwrap();
    let publisher = talker.create_publisher("count").unwrap();
    let publish = move || publisher.publish(UInt32 { data: 1 }).unwrap();
    let _timer = talker.create_timer(Duration::from_millis(10), publish).unwrap();
    let _subscription = listener.create_subscription("count", |_: &UInt32| ()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let calls = fake.calls();
    assert_eq!(calls[0][0], "rcl_init");
    let nodes = ["talker", "listener"].map(|name| find(&calls, "rcl_node_init", &[name, "/robot"])[1].clone());
    let publisher = find(&calls, "rcl_publisher_init", &["/robot/count", "10"]);
    assert_eq!(publisher[2], nodes[0]);
    assert_eq!(find(&calls, "rmw_publisher_init", &["0"])[1], publisher[3]);
    let subscription = find(&calls, "rcl_subscription_init", &["/robot/count", "10"]);
    assert_eq!(subscription[2], nodes[1]);
    let object = &find(&calls, "rclcpp_subscription_init", &[])[2];
    assert_eq!(find(&calls, "rclcpp_subscription_init", &[])[1], subscription[1]);
    let heard = find(&calls, "rclcpp_subscription_callback_added", &[]);
    assert_eq!(&heard[1], object);
    assert_eq!(&find(&calls, "rclcpp_ipb_to_subscription", &[])[2], object);
    let timer = find(&calls, "rcl_timer_init", &["10000000"]);
    let tick = find(&calls, "rclcpp_timer_callback_added", &[]);
    assert_eq!(tick[1], timer[1]);
    assert_eq!(find(&calls, "rclcpp_timer_link_node", &[])[1..], [timer[1].clone(), nodes[0].clone()]);
    let symbols: Vec<_> = calls.iter().filter(|call| call[0] == "rclcpp_callback_register").collect();
    assert_eq!(symbols.len(), 2, "{symbols:?}");
    assert!(symbols.iter().any(|call| call[1] == tick[2]) && symbols.iter().any(|call| call[1] == heard[2]));

    let before = calls.len();
    clock.advance(Duration::from_millis(10));
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let calls = fake.calls();
    let tick = tick[2].as_str();
    let heard = heard[2].as_str();
    let sent = publisher[1].as_str();
    let expected = [
        ("callback_start", tick),
        ("rclcpp_publish", sent),
        ("rcl_publish", sent),
        ("rclcpp_intra_publish", sent),
        ("callback_end", tick),
        ("callback_start", heard),
        ("callback_end", heard),
    ];
    assert_eq!(run_of(&calls, before), expected);
    let starts: Vec<_> = calls[before..].iter().filter(|call| call[0] == "callback_start").collect();
    assert_eq!((starts[0][2].as_str(), starts[1][2].as_str()), ("0", "1"));
}

#[test]
fn encoded_messages_are_taken_before_the_callback_starts() {
    let Some(fake) = Fake::new(&[]) else { return };
    let (ros, ..) = traced(&fake);
    let node = ros.create_node(quiet("node")).unwrap();
    // Its form differs from that of the subscription, so that messages are encoded.
    let publisher = node.create_serialized_publisher("text", &TypeName::new("std_msgs/msg/String").unwrap()).unwrap();
    let _subscription = node.create_subscription("text", |_: &Text| ()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let before = fake.calls().len();
    publisher.publish(SerializedMessage::serialize(&Text::default()).unwrap()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let calls = fake.calls();
    let names: Vec<_> = run_of(&calls, before).into_iter().map(|(name, _)| name).collect();
    let take = ["rmw_take", "rcl_take", "rclcpp_take", "callback_start", "callback_end"];
    assert_eq!(names, [&["rclcpp_publish", "rcl_publish"][..], &take].concat());
    let subscription = find(&calls, "rcl_subscription_init", &["/robot/text", "10"]);
    assert_eq!(find(&calls, "rmw_take", &["1"])[1], subscription[3]);
    assert_eq!(find(&calls, "callback_start", &["0"])[1], find(&calls, "rclcpp_subscription_callback_added", &[])[2]);
}

#[test]
fn services_and_clients_have_their_names_and_callbacks() {
    let Some(fake) = Fake::new(&[]) else { return };
    let (ros, ..) = traced(&fake);
    let node = ros.create_node(quiet("node")).unwrap();
    let _server = node.create_service::<Empty, _>("reset", |_: EmptyRequest| EmptyResponse {}).unwrap();
    let client = node.create_client::<Empty>("reset").unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let before = fake.calls().len();
    let _call = client.call(EmptyRequest {});
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let calls = fake.calls();
    let node = &find(&calls, "rcl_node_init", &["node", "/robot"])[1];
    assert_eq!(&find(&calls, "rcl_client_init", &["/robot/reset"])[2], node);
    let service = find(&calls, "rcl_service_init", &["/robot/reset"]);
    assert_eq!(&service[2], node);
    let callback = find(&calls, "rclcpp_service_callback_added", &[]);
    assert_eq!(callback[1], service[1]);
    let callback = callback[2].as_str();
    assert_eq!(run_of(&calls, before), [("callback_start", callback), ("callback_end", callback)]);
}

/// An executor that runs defines entities at once, and others when they spin, so that what nodes declare comes before
/// or after.
#[test]
fn everything_is_told_once_whichever_comes_first() {
    let Some(fake) = Fake::new(&[]) else { return };
    let recorder = Recorder::new();
    recorder.observe(Tracer::load(&fake.library).unwrap()).unwrap();
    let ros = Ros::in_process(&Context::new(ContextOptions::new().recorder(recorder.clone())));
    let node = ros.create_node(quiet("node")).unwrap();
    let create = |topic: &str| node.create_subscription(topic, |_: &UInt32| ()).unwrap();
    let early = create("early");
    let running = ros.executor().handle();
    let late = std::thread::scope(|scope| {
        let spinning = scope.spawn(|| ros.executor().spin(SpinOptions::new()));
        let late = create("late");
        running.halt();
        spinning.join().unwrap().unwrap();
        late
    });
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    let calls = fake.calls();
    for topic in ["/robot/early", "/robot/late"] {
        find(&calls, "rcl_subscription_init", &[topic, "10"]);
    }
    for name in ["rclcpp_subscription_init", "rclcpp_subscription_callback_added", "rclcpp_ipb_to_subscription"] {
        assert_eq!(calls.iter().filter(|call| call[0] == name).count(), 2, "{name} in {calls:#?}");
    }
    drop((early, late));
}

#[test]
fn callbacks_end_also_if_they_panic_and_entities_that_come_later_have_new_addresses() {
    let Some(fake) = Fake::new(&[]) else { return };
    let (ros, clock, _recorder) = traced(&fake);
    let node = ros.create_node(quiet("node")).unwrap();
    let mut addresses = Vec::new();
    for round in 1..=3 {
        let timer = node.create_timer(Duration::from_millis(round), || -> () { panic!("on purpose") }).unwrap();
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        clock.advance(Duration::from_millis(round));
        ros.executor().spin(SpinOptions::spin_all()).unwrap();
        let calls = fake.calls();
        let [start, end] = &calls[calls.len() - 2..] else { panic!("no two calls") };
        assert_eq!((start[0].as_str(), end[0].as_str()), ("callback_start", "callback_end"));
        assert_eq!(start[1], end[1]);
        assert!(!addresses.contains(&start[1]), "{addresses:?}");
        addresses.push(start[1].clone());
        drop(timer);
    }
}

#[test]
fn a_stopped_recorder_traces_nothing_and_has_one_observer() {
    let Some(fake) = Fake::new(&[]) else { return };
    let (ros, clock, recorder) = traced(&fake);
    assert!(recorder.observe(Tracer::load(&fake.library).unwrap()).is_err());
    let node = ros.create_node(quiet("node")).unwrap();
    let _timer = node.create_timer(Duration::from_millis(1), || ()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    recorder.stop();
    let before = fake.calls().len();
    clock.advance(Duration::from_millis(1));
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(fake.calls().len(), before);
}

#[test]
fn a_library_that_cannot_be_loaded_is_named() {
    let error = Tracer::load("/nowhere/libtracetools.so").unwrap_err();
    assert!(
        matches!(error, LoadError::Library { .. }) && error.to_string().contains("/nowhere/libtracetools.so"),
        "{error}"
    );
    let error = Tracer::load("libc.so.6").unwrap_err();
    assert!(matches!(error, LoadError::Foreign { .. }) && error.to_string().contains("libc.so.6"), "{error}");
    assert_eq!(Tracer::load("a\0b").unwrap_err(), LoadError::Path);
    let Some(fake) = Fake::new(&["-DEMPTY"]) else { return };
    let error = Tracer::load(&fake.library).unwrap_err();
    assert!(matches!(error, LoadError::NoTracepoints { .. }), "{error}");
}
