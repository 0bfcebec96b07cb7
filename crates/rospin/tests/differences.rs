//! Words that ROS developers know: what they do here. A test for each row of the table in
//! `book/src/guide/differences.md`, and the list of the names that rospin shares with rclcpp and rclrs.

mod kept_log;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, future};

use rospin::RosArguments;
use rospin::action::SendGoalError;
use rospin::errors::SpinError;
use rospin::lifecycle::{Fault, State, Transition};
use rospin::msgs::builtin_interfaces::msg::Time;
use rospin::msgs::example_interfaces::action::{Fibonacci, FibonacciGoal};
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::rosgraph_msgs::msg::Clock;
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::prelude::*;
use rospin::testing::Harness;
use rospin::time::ManualClock;

use kept_log::{keep_log, logged};

const SECOND: Duration = Duration::from_secs(1);

/// List to which callbacks add a word when they run.
#[derive(Clone, Default)]
struct Done(Arc<Mutex<Vec<String>>>);

impl Done {
    fn say(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Subscribes to the topic, and notes its name for each message.
fn hear(node: &Node, options: impl Into<SubscriptionOptions>, topic: &'static str, done: &Done) -> Subscription {
    let done = done.clone();
    node.create_subscription(options, move |_: &UInt32| done.say(topic)).unwrap()
}

fn publish(test: &Harness, topic: &str) {
    test.node().create_publisher(topic).unwrap().publish(UInt32::default()).unwrap();
}

#[test]
fn an_entity_lives_as_long_as_its_handle_and_keeps_its_node() {
    let mut test = Harness::new();
    let done = Done::default();
    let node = test.create_node("ear").unwrap();
    let subscription = hear(&node, "numbers", "numbers", &done);
    drop(node);
    publish(&test, "numbers");
    test.run().unwrap();
    assert_eq!(done.take(), ["numbers"]);
    drop(subscription);
    publish(&test, "numbers");
    test.run().unwrap();
    assert!(done.take().is_empty());
}

#[test]
fn callbacks_run_by_priority_and_then_in_order_of_arrival() {
    let clock = ManualClock::new();
    let done = Done::default();
    let ros = Ros::in_process(&Context::new(ContextOptions::new().manual_clock(clock.clone())));
    let node = ros.create_node("ear").unwrap();
    let _first = hear(&node, "first", "first", &done);
    let _second = hear(&node, "second", "second", &done);
    let _urgent = hear(&node, SubscriptionOptions::new("urgent").priority(Priority(1)), "urgent", &done);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    for topic in ["second", "second", "first", "urgent"] {
        clock.advance(Duration::from_millis(1));
        node.create_publisher(topic).unwrap().publish(UInt32::default()).unwrap();
    }
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(done.take(), ["urgent", "second", "second", "first"]);
}

#[test]
fn an_error_or_a_panic_of_a_callback_is_told_and_ends_nothing() {
    keep_log();
    let mut test = Harness::new();
    let done = Done::default();
    let node = test.create_node("weak").unwrap();
    let told = done.clone();
    let fail = move |number: &UInt32| {
        told.say(number.data.to_string());
        assert_ne!(number.data, 1, "one too few");
        if number.data == 2 { Err("too much".to_owned()) } else { Ok(()) }
    };
    let _subscription = node.create_subscription("numbers", fail).unwrap();
    let numbers = test.node().create_publisher("numbers").unwrap();
    for data in [1, 2, 3] {
        numbers.publish(UInt32 { data }).unwrap();
    }
    test.run().unwrap();
    assert_eq!(done.take(), ["1", "2", "3"]);
    assert_eq!((logged("too much").len(), logged("one too few").len()), (1, 1));
}

#[test]
fn an_asynchronous_callback_of_a_node_lets_its_others_in_and_ends_before_its_next_message() {
    let mut test = Harness::new();
    let done = Done::default();
    let node = test.create_node("slow").unwrap();
    let of_callback = node.clone();
    let told = done.clone();
    let _slow = node.create_subscription("numbers", move |number: UInt32| {
        let pause = of_callback.sleep(2 * SECOND);
        let done = told.clone();
        async move {
            done.say(format!("begin {}", number.data));
            pause.unwrap().await.unwrap();
            done.say(format!("end {}", number.data));
        }
    });
    let _other = hear(&node, "other", "other", &done);
    let numbers = test.node().create_publisher("numbers").unwrap();
    for data in [1, 2] {
        numbers.publish(UInt32 { data }).unwrap();
    }
    publish(&test, "other");
    test.run_for(5 * SECOND).unwrap();
    assert_eq!(done.take(), ["begin 1", "other", "end 1", "begin 2", "end 2"]);
}

#[test]
fn simulated_time_is_that_of_all_nodes_of_a_context() {
    let mut test = Harness::new();
    let [simulated, other] = ["simulated", "other"].map(|name| test.create_node(name).unwrap());
    test.run().unwrap();
    simulated.set_parameter("use_sim_time", true).unwrap();
    test.run().unwrap();
    let clock = Time { sec: 77, nanosec: 0 };
    test.node().create_publisher("/clock").unwrap().publish(Clock { clock }).unwrap();
    test.run().unwrap();
    assert_eq!([simulated, other].map(|node| Time::from(node.now())), [clock; 2]);
}

#[test]
fn spin_once_runs_one_callback_and_a_spin_that_times_out_is_an_error() {
    let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    let done = Done::default();
    let options = NodeOptions::new("ear").start_parameter_services(false).start_type_description_service(false);
    let node = ros.create_node(options).unwrap();
    let _subscriptions = ["a", "b"].map(|topic| hear(&node, topic, topic, &done));
    for topic in ["a", "b"] {
        node.create_publisher(topic).unwrap().publish(UInt32::default()).unwrap();
    }
    ros.executor().spin(SpinOptions::spin_once()).unwrap();
    assert_eq!(done.take(), ["a"]);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(done.take(), ["b"]);
    let at_once = SpinOptions::new().timeout(Duration::ZERO);
    assert!(matches!(ros.executor().spin(at_once), Err(SpinError::Timeout)));
    let never = ros.executor().spin_until(future::pending::<()>(), at_once);
    assert!(matches!(never, Err(SpinError::Timeout)));
}

#[test]
fn a_post_set_callback_runs_after_the_setter_as_a_callback_of_the_node() {
    let mut test = Harness::new();
    let node = test.create_node("motor").unwrap();
    let speed = node.declare_parameter("speed", 1.0).unwrap();
    test.run().unwrap();
    let changes = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&changes);
    let _told = node.add_post_set_parameters_callback(move |_| _ = counted.fetch_add(1, Ordering::Relaxed)).unwrap();
    test.run().unwrap();
    changes.store(0, Ordering::Relaxed);
    speed.set(2.0).unwrap();
    speed.set(3.0).unwrap();
    assert_eq!((speed.get(), changes.load(Ordering::Relaxed)), (3.0, 0));
    test.run().unwrap();
    assert_eq!(changes.load(Ordering::Relaxed), 1);
}

#[test]
fn the_deadline_of_options_is_that_of_the_callback() {
    let mut test = Harness::new();
    let node = test.create_node("ear").unwrap();
    let hear = |_: &UInt32| {};
    let of_callback = node.create_subscription(SubscriptionOptions::new("a").deadline(SECOND), hear).unwrap();
    let of_messages = Qos::keep_last(10).with_deadline(SECOND);
    let _of_messages = node.create_subscription(SubscriptionOptions::new("b").qos(of_messages), hear).unwrap();
    let publishers = ["a", "b"].map(|topic| test.node().create_publisher::<UInt32>(topic).unwrap());
    assert_eq!(publishers.map(|publisher| publisher.subscription_count()), [1, 0], "b asks for what is not offered");
    test.run_for(10 * SECOND).unwrap();
    assert_eq!(of_callback.missed_deadlines(), 0, "without a message, no callback is late");
}

#[test]
fn a_parameter_for_a_node_by_name_counts_in_every_namespace() {
    let arguments = RosArguments::parse(["program", "--ros-args", "-p", "motor:speed:=5"]).unwrap();
    let test = Harness::with_arguments(arguments);
    for namespace in ["/", "/robot"] {
        let node = test.create_node(NodeOptions::new("motor").namespace(namespace)).unwrap();
        assert_eq!(node.declare_parameter("speed", 1).unwrap().get(), 5);
    }
}

#[test]
fn names_and_namespaces_are_those_of_rclcpp() {
    let test = Harness::new();
    let node = test.create_node(NodeOptions::new("motor").namespace("robot")).unwrap();
    assert_eq!([node.name(), node.namespace(), &node.fully_qualified_name()], ["motor", "/robot", "/robot/motor"]);
}

#[derive(Default)]
struct Lamp(Option<rospin::lifecycle::LifecyclePublisher<UInt32>>);

impl Lamp {
    fn say(&self, data: u32) {
        self.0.as_ref().unwrap().publish(UInt32 { data }).unwrap();
    }
}

impl Lifecycle for Lamp {
    fn on_configure(&mut self, node: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        self.0 = Some(node.create_publisher("lamp")?);
        self.say(1);
        Ok(())
    }

    fn on_activate(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        self.say(2);
        Ok(())
    }
}

#[test]
fn publishers_of_a_managed_node_are_silent_until_it_is_activated() {
    keep_log();
    let mut test = Harness::new();
    let heard = test.record::<UInt32>("lamp").unwrap();
    let node = test.ros().create_lifecycle_node("lamp", Lamp::default()).unwrap();
    for transition in [Transition::Configure, Transition::Activate] {
        test.wait(node.request(transition), SECOND).unwrap().unwrap();
    }
    let _timer = node.group().create_timer(SECOND, |lamp: &mut Lamp, _: Tick| lamp.say(3)).unwrap();
    test.run_for(SECOND).unwrap();
    test.wait(node.request(Transition::Deactivate), SECOND).unwrap().unwrap();
    test.run_for(2 * SECOND).unwrap();
    assert_eq!(heard.take().iter().map(|(_, lamp)| lamp.data).collect::<Vec<_>>(), [2, 3]);
    let silent = logged("`lamp` was not published, because node `/lamp` is not active");
    assert_eq!(silent.len(), 2, "once before, once after");
}

#[test]
fn a_call_without_server_or_answer_is_an_error_at_once() {
    let mut test = Harness::new();
    let client = test.node().create_client::<AddTwoInts>("add").unwrap();
    let call = || client.call(AddTwoIntsRequest { a: 1, b: 2 });
    let unknown = test.wait(call(), Duration::ZERO).unwrap().unwrap_err();
    assert!(unknown.to_string().contains("wait_for_service"), "{unknown}");
    let arm = test.node().create_action_client::<Fibonacci>("fibonacci").unwrap();
    let goal = test.wait(arm.send_goal(FibonacciGoal { order: 3 }), Duration::ZERO).unwrap();
    assert!(matches!(goal, Err(SendGoalError::Call(_))), "{goal:?}");
    let node = test.create_node("calculator").unwrap();
    let breaks = |_: AddTwoIntsRequest| -> AddTwoIntsResponse { panic!("of the test") };
    let service = node.create_service("add", breaks).unwrap();
    let broken = test.wait(call(), Duration::ZERO).unwrap().unwrap_err();
    assert!(matches!(broken, rospin::errors::CallError::Unanswered { .. }), "{broken}");
    let waits = call();
    drop(service);
    assert!(test.wait(waits, Duration::ZERO).unwrap().is_err());
}

/// Names that rospin shares with rclcpp and its packages (`c`), rclrs (`r`) or, for want of both, rclpy (`p`), with the
/// row of the table that tells of another meaning, or 0 if they mean the same. rclcpp's getters have `get_` before the
/// name.
#[rustfmt::skip]
const SHARED: &[(&str, &str, usize)] = &[
    // Nodes, groups and executors.
    ("Context", "cr", 0), ("Executor", "cr", 2), ("ExecutorOptions", "c", 0), ("SpinOptions", "r", 6),
    ("spin", "cr", 3),
    ("spin_once", "cr", 6), ("spin_all", "c", 6), ("timeout", "r", 6), ("create_executor", "r", 0), ("Node", "cr", 1),
    ("NodeOptions", "cr", 0), ("create_node", "r", 0), ("name", "cr", 0), ("namespace", "cr", 0),
    ("fully_qualified_name", "cr", 0),
    ("arguments", "c", 10), ("use_global_arguments", "c", 0), ("enable_rosout", "c", 0),
    ("start_parameter_services", "c", 0),
    ("enable_topic_statistics", "c", 0), ("CallbackGroup", "c", 4), ("Logger", "cr", 0), ("logger", "cr", 0),
    // Topics.
    ("Publisher", "cr", 1), ("PublisherOptions", "cr", 0), ("create_publisher", "cr", 1), ("publish", "cr", 0),
    ("assert_liveliness", "c", 0), ("subscription_count", "c", 0), ("Subscription", "cr", 1),
    ("SubscriptionOptions", "cr", 9),
    ("create_subscription", "cr", 4), ("MessageInfo", "cr", 0), ("SerializedMessage", "c", 0),
    ("DynamicPublisher", "r", 0),
    ("create_dynamic_publisher", "r", 0), ("create_dynamic_subscription", "r", 0), ("wait_for_message", "c", 0),
    ("count_publishers", "cr", 0), ("count_subscriptions", "cr", 0), ("TopicStatisticsOptions", "c", 0),
    // Quality of service.
    ("qos", "r", 0), ("keep_last", "cr", 0), ("keep_all", "cr", 0), ("reliable", "cr", 0), ("best_effort", "cr", 0),
    ("volatile", "r", 0),
    ("transient_local", "cr", 0), ("deadline", "cr", 9),
    // Services.
    ("Service", "cr", 1), ("ServiceOptions", "r", 0), ("create_service", "cr", 4), ("Client", "cr", 0),
    ("ClientOptions", "r", 0),
    ("create_client", "cr", 0), ("call", "r", 7), ("service_is_ready", "cr", 0), ("wait_for_service", "c", 0),
    // Time.
    ("Clock", "cr", 5), ("now", "cr", 5), ("Timer", "r", 1), ("TimerOptions", "r", 0), ("create_timer", "c", 0),
    ("create_wall_timer", "c", 0), ("Time", "cr", 0), ("cancel", "cr", 0),
    ("reset", "cr", 0), ("is_canceled", "cr", 0), ("is_ready", "cr", 0), ("time_until_next_call", "cr", 0),
    ("Rate", "c", 0),
    ("create_rate", "p", 0), ("period", "c", 0),
    // Parameters.
    ("Parameter", "c", 0), ("Parameters", "r", 0), ("ParameterOptions", "r", 0), ("ParameterValue", "cr", 0),
    ("ParameterKind", "r", 0),
    ("ParameterRange", "r", 0), ("ParameterVariant", "r", 0), ("declare_parameter", "cr", 0),
    ("declare_parameters", "c", 0),
    ("undeclare_parameter", "c", 0), ("set_parameter", "c", 0), ("set_parameters_atomically", "c", 0),
    ("describe_parameter", "c", 0),
    ("list_parameters", "c", 0), ("add_pre_set_parameters_callback", "c", 0),
    ("add_on_set_parameters_callback", "c", 0),
    ("add_post_set_parameters_callback", "c", 8), ("get", "r", 0), ("set", "r", 0), ("range", "r", 0),
    ("description", "r", 0),
    ("read_only", "r", 0), ("ignore_override", "r", 0), ("default_value", "r", 0),
    // Managed nodes.
    ("LifecycleNode", "c", 0), ("LifecyclePublisher", "c", 0), ("is_activated", "c", 0), ("on_configure", "c", 0),
    ("on_activate", "c", 0), ("on_deactivate", "c", 0), ("on_cleanup", "c", 0), ("on_shutdown", "c", 0),
    ("on_error", "c", 0),
    ("State", "c", 0), ("Transition", "c", 0),
    // Actions.
    ("ActionServer", "r", 0), ("ActionServerOptions", "r", 0), ("create_action_server", "r", 0),
    ("ActionClient", "r", 0),
    ("ActionClientOptions", "r", 0), ("create_action_client", "r", 0), ("GoalResponse", "c", 0),
    ("CancelResponse", "cr", 0),
    ("ClientGoalHandle", "c", 0), ("goal", "r", 0), ("succeed", "c", 0), ("abort", "c", 0), ("canceled", "c", 0),
    ("execute", "cr", 0),
    ("publish_feedback", "cr", 0), ("send_goal", "p", 7),
    // Coordinate frames.
    ("Buffer", "c", 0), ("TransformListener", "c", 0), ("TransformBroadcaster", "c", 0),
    ("StaticTransformBroadcaster", "c", 0),
    ("lookup_transform", "c", 0), ("can_transform", "c", 0), ("transform", "c", 0), ("wait_for_transform", "c", 0),
];

/// Returns the texts of all source files below the folder.
fn sources(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, all);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            *all += &fs::read_to_string(&entry).unwrap();
        }
    }
}

#[test]
fn every_row_of_the_table_has_its_test_and_every_shared_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("book/src/guide/differences.md")).unwrap();
    let own = fs::read_to_string(root.join("crates/rospin/tests/differences.rs")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| | ") && !line.starts_with("| ---"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!((1..=10).contains(&rows.len()), "{} rows", rows.len());
    for (number, row) in (1..).zip(&rows) {
        assert_eq!((row.len(), row[0]), (5, number.to_string().as_str()), "{row:?}");
        assert!(own.contains(&format!("fn {}() {{", row[4].trim_matches('`'))), "{row:?} has no test");
        assert!(SHARED.iter().any(|(_, _, listed)| *listed == number), "row {number} is of no shared name");
    }
    let mut all = String::new();
    for package in ["rospin", "node", "engine", "core", "tf2", "wire", "macros"] {
        sources(&root.join("crates").join(package).join("src"), &mut all);
    }
    let prelude = fs::read_to_string(root.join("crates/rospin/src/prelude.rs")).unwrap();
    let exported: Vec<_> = prelude.split(|c: char| !c.is_alphanumeric()).collect();
    let mut seen = BTreeSet::new();
    for (name, libraries, row) in SHARED {
        assert!(seen.insert(name), "{name} is listed twice");
        assert!(!libraries.is_empty() && *row <= rows.len(), "{name}");
        let is_there = ["fn", "struct", "enum", "trait", "type"].iter().any(|kind| {
            all.split(&format!("{kind} {name}"))
                .skip(1)
                .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        });
        assert!(is_there || exported.contains(name), "rospin has no {name}");
    }
}
