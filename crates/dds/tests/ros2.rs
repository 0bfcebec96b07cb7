//! ROS 2 itself, over rmw_cyclonedds_cpp, as users have it: started before our nodes and after them. Runs where ROS 2 with its package
//! `demo_nodes_cpp` is sourced.

mod common;

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{AddRequest, AddResponse, AddTwoInts, Text, context, domain_id, executor, wait, wait_until};
use rospin_dds::{Domain, DomainOptions};
use rospin_engine::{Context, Executor, SpinOptions};
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

fn command(program: impl AsRef<std::ffi::OsStr>, domain_id: u16) -> Command {
    let mut command = Command::new(program);
    command.env("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp").env("ROS_DOMAIN_ID", domain_id.to_string());
    command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("CYCLONEDDS_URI");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Process that is killed when this value is dropped.
struct Demo(Child);

impl Demo {
    fn start(name: &str, domain_id: u16) -> Option<Self> {
        Some(Self(command(demo_nodes()?.join(name), domain_id).spawn().expect("a process")))
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
    for ours_is_first in [true, false] {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let early = ours_is_first.then(|| node(&context, id));
        let Some(_talker) = Demo::start("talker", id) else { return };
        let node = early.unwrap_or_else(|| node(&context, id));
        let (_subscription, heard) = hears(&executor, &node);
        wait_until(&executor, "two messages are heard", || heard.load(Ordering::Relaxed) >= 2);
        let publishers = node.publishers_info_by_topic("/chatter").expect("a name");
        assert_eq!(publishers[0].node.as_deref(), Some("/talker"));
    }
}

#[test]
fn a_listener_of_ros_is_found_whoever_comes_first() {
    for ours_is_first in [true, false] {
        let (id, (context, _)) = (domain_id(), context());
        let executor = executor(&context, "main");
        let early = ours_is_first.then(|| node(&context, id));
        let Some(_listener) = Demo::start("listener", id) else { return };
        let node = early.unwrap_or_else(|| node(&context, id));
        let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
        wait(&executor, "the listener is matched", publisher.wait_for_subscription());
        wait_until(&executor, "its node is known", || node.node_names().contains(&"/listener".to_owned()));
    }
}

#[test]
fn services_are_called_both_ways() {
    let (id, (context, _)) = (domain_id(), context());
    let executor = executor(&context, "main");
    let node = node(&context, id);
    let Some(_server) = Demo::start("add_two_ints_server", id) else { return };
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
    let Some(mut client) = Demo::start("add_two_ints_client", id) else { return };
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
            let mut command = command("ros2", id);
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
