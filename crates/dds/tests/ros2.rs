//! ROS 2 itself as users have it: started before our nodes and after them, over rmw_cyclonedds_cpp, and topics over rmw_fastrtps_cpp, too,
//! where that is installed. Runs where ROS 2 with its package `demo_nodes_cpp` is sourced.

mod common;

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{AddRequest, AddResponse, AddTwoInts, Text, context, domain_id, executor, wait, wait_until};
use rospin_dds::{Domain, DomainOptions};
use rospin_engine::{Context, Executor, Overrun, SpinOptions, Tick, TimerOptions};
use rospin_node::Node;

/// Returns the folder of ROS 2's demo nodes, or says that the test is skipped.
fn demo_nodes() -> Option<PathBuf> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&prefixes).map(|prefix| prefix.join("lib/demo_nodes_cpp"));
    let found = folders.find(|folder| folder.join("talker").exists());
    if found.is_none() {
        skipped();
    }
    found
}

#[expect(clippy::print_stderr, reason = "it says that a test is skipped")]
fn skipped() {
    eprintln!("SKIPPED for want of a peer: ROS 2 with demo_nodes_cpp is not sourced (AMENT_PREFIX_PATH)");
}

const CYCLONE: &str = "rmw_cyclonedds_cpp";
const FAST: &str = "rmw_fastrtps_cpp";

/// Returns the implementations of ROS 2's middleware over DDS that are installed.
fn rmws() -> impl Iterator<Item = &'static str> {
    let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&prefixes).map(|prefix| prefix.join("lib")).collect();
    let is_there = demo_nodes().is_some();
    let is_installed =
        move |rmw: &&str| is_there && folders.iter().any(|folder| folder.join(format!("lib{rmw}.so")).exists());
    [CYCLONE, FAST].into_iter().filter(is_installed)
}

fn command(program: impl AsRef<std::ffi::OsStr>, rmw: &str, domain_id: u16) -> Command {
    let mut command = Command::new(program);
    command.env("RMW_IMPLEMENTATION", rmw).env("ROS_DOMAIN_ID", domain_id.to_string());
    command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("CYCLONEDDS_URI");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Process that is killed when this value is dropped.
struct Demo(Child);

impl Demo {
    fn start(name: &str, rmw: &str, domain_id: u16) -> Option<Self> {
        Some(Self(command(demo_nodes()?.join(name), rmw, domain_id).spawn().expect("a process")))
    }

    /// Starts a node that counts messages of that length, and ends after so many.
    fn count(rmw: &str, domain_id: u16, length: usize, count: u32) -> Self {
        let mut python = command("python3", rmw, domain_id);
        python.args(["-c", COUNTER, &length.to_string(), &count.to_string()]);
        Self(python.spawn().expect("a process"))
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a process").is_some()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Joins the domain as a user's program does, without settings of the network.
fn node(context: &Context, domain_id: u16) -> Node {
    let domain = Domain::join(DomainOptions::new().domain_id(domain_id).localhost()).expect("a participant");
    domain.ros(context).create_node("ours").expect("a node")
}

fn hears(executor: &Executor, node: &Node) -> (rospin_node::Subscription, Arc<AtomicU32>) {
    let (heard, count) = (Arc::new(AtomicU32::new(0)), executor.create_group("listener", ()));
    let counted = Arc::clone(&heard);
    let hear = move |message: Text| {
        assert!(message.data.starts_with("Hello World"), "{}", message.data);
        counted.fetch_add(1, Ordering::Relaxed);
    };
    (node.on(&count).create_subscription("chatter", hear).expect("a subscription"), heard)
}

#[test]
fn a_talker_of_ros_is_heard_whoever_comes_first() {
    for (rmw, ours_is_first) in rmws().flat_map(|rmw| [(rmw, true), (rmw, false)]) {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let early = ours_is_first.then(|| node(&context, id));
        let Some(first) = Demo::start("talker", rmw, id) else { return };
        let node = early.unwrap_or_else(|| node(&context, id));
        let (_subscription, heard) = hears(&executor, &node);
        wait_until(&executor, "two messages are heard", || heard.load(Ordering::Relaxed) >= 2);
        // The drop is a SIGKILL. The next process is another talker.
        drop(first);
        let Some(_second) = Demo::start("talker", rmw, id) else { return };
        let before = heard.load(Ordering::Relaxed);
        wait_until(&executor, "two more are heard", || heard.load(Ordering::Relaxed) >= before + 2);
        let talker = || node.publishers_info_by_topic("/chatter").expect("a name").pop()?.node;
        wait_until(&executor, "its node is known", || talker().as_deref() == Some("/talker"));
    }
}

#[test]
fn a_listener_of_ros_is_found_whoever_comes_first() {
    for (rmw, ours_is_first) in rmws().flat_map(|rmw| [(rmw, true), (rmw, false)]) {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let early = ours_is_first.then(|| node(&context, id));
        let Some(_listener) = Demo::start("listener", rmw, id) else { return };
        let node = early.unwrap_or_else(|| node(&context, id));
        let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
        wait(&executor, "the listener is matched", publisher.wait_for_subscription());
        wait_until(&executor, "its node is known", || node.node_names().contains(&"/listener".to_owned()));
    }
}

/// Counts messages of that length, and ends after so many.
const COUNTER: &str = "
import rclpy, sys
from rclpy.node import Node
from std_msgs.msg import String
length, left = int(sys.argv[1]), int(sys.argv[2])
rclpy.init()
node = Node('counter')
def hear(message):
    global left
    assert len(message.data) == length
    left -= 1
    if left == 0:
        raise SystemExit(0)
subscription = node.create_subscription(String, 'chatter', hear, 1000)
rclpy.spin(node)
";

/// As fast as control loops are, for 5 s; `ROSPIN_TEST_MESSAGES=60000` makes it a minute.
#[test]
fn a_node_of_ros_hears_every_message_of_1_khz() {
    for rmw in rmws() {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let node = node(&context, id);
        let count = std::env::var("ROSPIN_TEST_MESSAGES").map_or(5_000, |count| count.parse().expect("a number"));
        let mut counter = Demo::count(rmw, id, 1, count);
        let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
        wait(&executor, "the counter is matched", publisher.wait_for_subscription());
        let mut left = count;
        let group = executor.create_group("control", ());
        let publish = move |_: Tick| {
            if left > 0 {
                left -= 1;
                publisher.publish(Text { data: "x".to_owned() }).expect("room");
            }
        };
        let options = TimerOptions::periodic(Duration::from_millis(1)).overrun(Overrun::CatchUp(u32::MAX));
        let _timer = node.on(&group).create_timer(options, publish).expect("a timer");
        // More messages than by default may take longer than there is patience.
        let time = Duration::from_millis(count.into());
        assert!(executor.spin(SpinOptions::new().timeout(time)).is_err(), "nothing ends it before");
        wait_until(&executor, "the counter has ended", || counter.has_ended());
        assert!(counter.0.wait().expect("its end").success(), "{rmw}");
    }
}

/// All of them arrive: DDS cuts them into fragments, which implementations acknowledge and repeat in their own ways.
#[test]
fn large_messages_reach_nodes_of_ros() {
    for (rmw, (length, count)) in rmws().flat_map(|rmw| [(rmw, (1 << 20, 20)), (rmw, (10 << 20, 5))]) {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let node = node(&context, id);
        let mut counter = Demo::count(rmw, id, length, count);
        let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
        wait(&executor, "the counter is matched", publisher.wait_for_subscription());
        let (message, mut left) = (Arc::new(Text { data: "x".repeat(length) }), count);
        let group = executor.create_group("camera", ());
        let publish = move |_: Tick| {
            if left > 0 {
                left -= 1;
                publisher.publish(Arc::clone(&message)).expect("room");
            }
        };
        let _timer = node.on(&group).create_timer(Duration::from_millis(100), publish).expect("a timer");
        wait_until(&executor, "the counter has ended", || counter.has_ended());
        assert!(counter.0.wait().expect("its end").success(), "{rmw}: {length} bytes");
    }
}

#[test]
fn services_are_called_both_ways() {
    let (id, (context, _)) = (domain_id(), context());
    let executor = executor(&context, "main");
    let node = node(&context, id);
    let Some(_server) = Demo::start("add_two_ints_server", CYCLONE, id) else { return };
    let client = node.create_client::<AddTwoInts>("add_two_ints").expect("a client");
    wait(&executor, "the server is ready", client.wait_for_service());
    let response = wait(&executor, "the answer", client.call(AddRequest { a: 2, b: 40 })).expect("an answer");
    assert_eq!(response.sum, 42);
    drop(_server);

    let group = executor.create_group("adder", ());
    let add = |AddRequest { a, b }| AddResponse { sum: a + b };
    let id = domain_id();
    let served = self::node(&context, id);
    let _server = served.on(&group).create_service::<AddTwoInts, _, _>("add_two_ints", add).expect("a server");
    let Some(mut client) = Demo::start("add_two_ints_client", CYCLONE, id) else { return };
    wait_until(&executor, "the client has ended", || client.0.try_wait().expect("a process").is_some());
    assert!(client.0.wait().expect("its end").success());
}

#[test]
fn tools_see_a_plain_node_and_its_parameters() {
    if demo_nodes().is_none() {
        return;
    }
    let (id, (context, _)) = (domain_id(), context());
    let domain = Domain::join(DomainOptions::new().domain_id(id).localhost()).expect("a participant");
    let ros = domain.ros(&context);
    let node = ros.create_node("ours").expect("a node");
    let _rate = node.declare_parameter("rate", 5).expect("a parameter");
    let halt = ros.executor().handle();
    let ask = move || {
        let ask = |arguments: &[&str]| -> Output {
            let mut command = command("ros2", CYCLONE, id);
            command.args(arguments).args(["--no-daemon", "--spin-time", "5"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("the command ros2")
        };
        let answers = [ask(&["param", "list", "/ours"]), ask(&["param", "get", "/ours", "rate"])];
        halt.halt();
        answers
    };
    let asking = std::thread::spawn(ask);
    ros.executor().spin(SpinOptions::new()).expect("a spin");
    let texts = asking.join().expect("answers").map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    assert!(texts[0].contains("rate") && texts[0].contains("use_sim_time"), "{texts:?}");
    assert!(texts[1].contains("Integer value is: 5"), "{texts:?}");
}
