//! The harness for users' tests: time, futures, several executors, and what goes wrong.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin::deployment::Deployment;
use rospin::deployment::Reaction;
use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
use rospin::msgs::std_msgs::msg::UInt32;
use rospin::testing::{Harness, HarnessError};
use rospin::time::ClockKind;
use rospin::{ExecutorOptions, NodeOptions, RosArguments, Subscription, SubscriptionOptions, Timer};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn ticker(test: &Harness, period: Duration) -> Timer {
    let node = test.create_node("ticker").unwrap();
    let ticks = node.create_publisher::<UInt32>("ticks").unwrap();
    let mut count = 0;
    let tick = move |_| {
        count += 1;
        ticks.publish(UInt32 { data: count })
    };
    node.create_timer(period, tick).unwrap()
}

#[test]
fn a_second_of_a_timer_at_100_hz_has_100_ticks_at_their_due_times() {
    let mut test = Harness::new();
    let ticks = test.record::<UInt32>("ticks").unwrap();
    let _ticker = ticker(&test, 10 * MS);
    test.run_for(SECOND).unwrap();
    assert_eq!((ticks.len(), test.elapsed()), (100, SECOND));
    for (number, (at, tick)) in (1..).zip(ticks.take()) {
        assert_eq!((at, tick.data), (number * 10 * MS, number));
    }
    assert!(ticks.is_empty() && test.ros().context().losses().is_empty());
}

#[test]
fn the_clock_ends_where_it_should_though_nothing_is_due_there() {
    let mut test = Harness::new();
    let ticks = test.record::<UInt32>("ticks").unwrap();
    let _ticker = ticker(&test, 10 * MS);
    test.run_for(15 * MS).unwrap();
    assert_eq!((ticks.len(), test.elapsed()), (1, 15 * MS));
    test.run_for(5 * MS).unwrap();
    assert_eq!((ticks.len(), test.elapsed()), (2, 20 * MS));
    test.run_for(Duration::ZERO).unwrap();
    assert_eq!(ticks.len(), 2);
}

#[test]
fn futures_are_driven_and_time_moves_for_them() {
    let mut test = Harness::new();
    let server = test.create_node("server").unwrap();
    let handle = test.ros().executor().handle();
    // The callback takes 30 ms to answer.
    let add = move |AddTwoIntsRequest { a, b }| {
        let pause = handle.sleep(ClockKind::Steady, 30 * MS);
        async move {
            pause.await.unwrap();
            AddTwoIntsResponse { sum: a + b }
        }
    };
    let _server = server.create_service("add", add).unwrap();
    let client = test.node().create_client::<AddTwoInts>("add").unwrap();
    let response = test.wait(client.call(AddTwoIntsRequest { a: 2, b: 3 }), SECOND).unwrap().unwrap();
    assert_eq!((response.sum, test.elapsed()), (5, 30 * MS));
    // This future also waits for a sleep on the executor's clock.
    let pause = test.ros().executor().handle().sleep(ClockKind::Steady, 70 * MS);
    test.wait(pause, SECOND).unwrap().unwrap();
    assert_eq!(test.elapsed(), 100 * MS);
}

#[test]
fn what_a_future_publishes_is_heard_before_the_clock_moves_on() {
    let mut test = Harness::new();
    let heard = test.record::<UInt32>("numbers").unwrap();
    let numbers = test.node().create_publisher::<UInt32>("numbers").unwrap();
    let handle = test.ros().executor().handle();
    let count = async {
        for data in 0..3 {
            handle.sleep(ClockKind::Steady, 10 * MS).await.unwrap();
            numbers.publish(UInt32 { data }).unwrap();
        }
        handle.sleep(ClockKind::Steady, 10 * MS).await.unwrap();
    };
    test.wait(count, SECOND).unwrap();
    let times: Vec<Duration> = heard.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [10 * MS, 20 * MS, 30 * MS]);
}

#[test]
fn a_wait_for_what_never_comes_is_an_error_that_says_why() {
    let mut test = Harness::new();
    let error = test.wait(std::future::pending::<()>(), SECOND).unwrap_err();
    assert!(matches!(error, HarnessError::Nothing(_)), "{error}");
    let _ticker = ticker(&test, 300 * MS);
    let error = test.run_until(|| false, SECOND).unwrap_err();
    assert!(matches!(error, HarnessError::TooLate(SECOND)), "{error}");
    assert_eq!(test.elapsed(), SECOND);
}

#[test]
fn callbacks_that_trigger_each_other_for_ever_are_an_error() {
    let mut test = Harness::new();
    let node = test.create_node("echo").unwrap();
    let publisher = node.create_publisher::<UInt32>("loop").unwrap();
    let first = publisher.clone();
    let _echo: Subscription =
        node.create_subscription("loop", move |message: &UInt32| publisher.publish(*message)).unwrap();
    first.publish(UInt32 { data: 1 }).unwrap();
    let error = test.run().unwrap_err();
    assert!(matches!(error, HarnessError::NeverIdle { .. }), "{error}");
}

#[test]
fn several_executors_share_the_clock() {
    let mut test = Harness::new();
    let other = test.ros().context().create_executor(ExecutorOptions::new("other"));
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let group = other.create_group("group", ());
    let heard = move |_: &UInt32| _ = counted.fetch_add(1, Ordering::Relaxed);
    let _subscription = test.node().on(&group).create_subscription("ticks", heard).unwrap();
    test.add_executor(other);
    let _ticker = ticker(&test, 100 * MS);
    test.run_until(|| count.load(Ordering::Relaxed) == 7, SECOND).unwrap();
    assert_eq!(test.elapsed(), 700 * MS);
}

#[test]
fn nodes_under_test_have_the_arguments() {
    let arguments = ["test", "--ros-args", "-r", "__ns:=/robot", "-p", "rate:=5"];
    let test = Harness::with_arguments(RosArguments::parse(arguments).unwrap());
    let node = test.create_node("arm").unwrap();
    assert_eq!(node.fully_qualified_name(), "/robot/arm");
    assert_eq!(node.declare_parameter("rate", 1).unwrap().get(), 5);
    assert_eq!(test.node().fully_qualified_name(), "/test");
}

/// The file turns the order of two callbacks round, and puts a group on an executor that only the file has.
#[test]
fn nodes_under_test_are_deployed_as_on_the_robot() {
    let file = "
        executor = [
            { name = \"main\", policy = \"fixed-priority\", scheduling = { fifo = 80 }, cores = [1000] },
            { name = \"control\" },
        ]
        lock_memory = true
        group = [{ name = \"steer\", executor = \"control\" }]
        callback = [{ name = \"robot/second\", priority = 9 }, { name = \"robot/first\", priority = 1 }]
        thread = [{ name = \"tokio-*\", cores = [1000] }]
    ";
    let order = |mut test: Harness| {
        let node = test.create_node("robot").unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = |name: &'static str| {
            let heard = Arc::clone(&heard);
            move |_: &UInt32| heard.lock().unwrap().push(name)
        };
        let steer = node.create_group("steer", ()).unwrap();
        let _subscriptions = [
            node.create_subscription("first", hear("first")).unwrap(),
            node.create_subscription("second", hear("second")).unwrap(),
            steer.create_subscription("third", hear("third")).unwrap(),
        ];
        let publishers = ["first", "second", "third"].map(|topic| node.create_publisher::<UInt32>(topic).unwrap());
        for publisher in &publishers {
            publisher.publish(UInt32 { data: 1 }).unwrap();
        }
        test.run().unwrap();
        heard.lock().unwrap().clone()
    };
    let deployed = Harness::with_deployment(Deployment::parse(file).unwrap(), RosArguments::default());
    // The two executors take turns.
    assert_eq!(order(deployed), ["second", "third", "first"]);
    assert_eq!(order(Harness::new()), ["first", "second", "third"]);
}

/// A name that the robot does not have is an error of the first run, unless the test says otherwise.
#[test]
fn a_deployment_for_other_nodes_is_refused() {
    let mut deployment = Deployment::parse("callback = [{ name = \"robot/robot/scan\", priority = 9 }]").unwrap();
    let error = Harness::with_deployment(deployment.clone(), RosArguments::default()).run().unwrap_err();
    assert!(matches!(error, HarnessError::Spin { .. }), "{error}");
    deployment.on_unknown = Reaction::Warn;
    Harness::with_deployment(deployment, RosArguments::default()).run().unwrap();
    // An executor that no group of the file is on must be one of the program's.
    let deployment = Deployment::parse("executor = [{ name = \"mian\" }]").unwrap();
    let error = Harness::with_deployment(deployment, RosArguments::default()).run().unwrap_err();
    let HarnessError::Spin { source, .. } = error else { panic!("{error}") };
    assert!(source.to_string().contains("executor `mian`, which the program does not have"), "{source}");
}

/// Two robots in one process, each in a namespace of its own. On each, the planner takes a scan, and a monitor hears
/// the planner's path before the log does, because its chain is the more critical one. The lidar is shared, and has an
/// absolute name.
#[test]
fn one_deployment_serves_two_robots_in_their_namespaces() {
    let file = "
        executor = [{ name = \"main\", policy = \"fixed-priority\" }, { name = \"control\" }, { name = \"spare\" }]
        group = [
            { node = \"planner\", name = \"steer\", executor = \"control\" },
            { node = \"/robot2/planner\", name = \"steer\", executor = \"spare\" },
        ]
        callback = [{ name = \"/robot2/planner/load\", priority = 99 }]
        chain = [
            { name = \"log\", criticality = 1, callbacks = [\"planner/scan\", \"log/path\"] },
            { name = \"safe\", criticality = 2, callbacks = [\"/lidar/ping\", \"planner/scan\", \"safety/path\"] },
        ]
    ";
    let mut test = Harness::with_deployment(Deployment::parse(file).unwrap(), RosArguments::default());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = |name: String| {
        let heard = Arc::clone(&heard);
        move |_: &UInt32| heard.lock().unwrap().push(name.clone())
    };
    let mut kept = Vec::new();
    let lidar = test.create_node("lidar").unwrap();
    kept.push(lidar.create_subscription("ping", hear("ping".into())).unwrap());
    for space in ["robot1", "robot2"] {
        let node = |name: &str| test.create_node(NodeOptions::new(name).namespace(space)).unwrap();
        let planner = node("planner");
        let log = node("log");
        kept.push(planner.create_subscription("scan", hear(format!("{space} scan"))).unwrap());
        kept.push(planner.create_subscription("load", hear(format!("{space} load"))).unwrap());
        kept.push(log.create_subscription("path", hear(format!("{space} log"))).unwrap());
        // An explicit name is relative to the namespace, too.
        let monitor = SubscriptionOptions::new("path").name("safety/path");
        kept.push(log.create_subscription(monitor, hear(format!("{space} safety"))).unwrap());
        assert_eq!(kept.last().unwrap().name(), format!("{space}/safety/path"));
        let steer = planner.create_group("steer", ()).unwrap();
        let wheel = planner.on(&steer).create_subscription("wheel", hear(format!("{space} wheel"))).unwrap();
        kept.push(wheel);
    }
    for topic in ["load", "path", "scan"] {
        for space in ["robot1", "robot2"] {
            let publisher = test.node().create_publisher(format!("/{space}/{topic}").as_str()).unwrap();
            publisher.publish(UInt32 { data: 1 }).unwrap();
        }
    }
    test.run().unwrap();
    let order = [
        "robot2 load",
        "robot1 safety",
        "robot2 safety",
        "robot1 scan",
        "robot2 scan",
        "robot1 log",
        "robot2 log",
        "robot1 load",
    ];
    assert_eq!(*heard.lock().unwrap(), order);
}

/// A test that passes over a broken node would be worse than none.
#[test]
fn failures_in_callbacks_are_told() {
    let mut test = Harness::new();
    let node = test.create_node("broken").unwrap();
    let _subscription =
        node.create_subscription("go", |_: UInt32| rospin::Result::<()>::Err(anyhow::anyhow!("no way"))).unwrap();
    test.node().create_publisher("go").unwrap().publish(UInt32 { data: 1 }).unwrap();
    test.run().unwrap();
    let incidents = test.incidents();
    assert_eq!(incidents.len(), 1, "{incidents:?}");
    assert!(incidents[0].to_string().contains("no way"), "{}", incidents[0]);
}
