//! ROS 2's command on nodes of ours.

use rospin_engine::{Executor, SpinOptions};
use rospin_node::lifecycle::{Fault, State};
use rospin_node::{Lifecycle, LifecycleHandle, LifecycleNode};

use super::super::context;
use super::Network;
use crate::conformance::messages::Text;

/// Spins while the command runs with each list of arguments, and returns what it writes.
fn ask<const COUNT: usize>(network: &Network, executor: &Executor, arguments: [&[&str]; COUNT]) -> [String; COUNT] {
    let commands = arguments.map(|arguments| network.ros2(arguments));
    let halt = executor.handle();
    let asking = std::thread::spawn(move || {
        let answers = commands.map(|mut command| {
            let output = command.output().expect("the command ros2");
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        });
        halt.halt();
        answers
    });
    executor.spin(SpinOptions::new()).expect("a spin");
    asking.join().expect("answers")
}

/// `ros2 param` lists and gets parameters of a plain node, and sets them.
///
/// # Panics
/// If it does not.
pub fn parameters_are_seen_and_set(network: &Network) {
    let (context, _) = context();
    let ros = network.ros(&context);
    let node = ros.create_node("ours").expect("a node");
    let rate = node.declare_parameter("rate", 5).expect("a parameter");
    let [list, get, set] = ask(
        network,
        ros.executor(),
        [&["param", "list", "/ours"], &["param", "get", "/ours", "rate"], &["param", "set", "/ours", "rate", "7"]],
    );
    assert!(list.contains("rate") && list.contains("use_sim_time"), "{list}");
    assert!(get.contains("Integer value is: 5"), "{get}");
    assert_eq!(rate.get(), 7, "{set}");
}

/// `ros2 topic info --verbose` shows a topic's node, type, hash and depth.
///
/// # Panics
/// If it does not.
pub fn a_topic_is_described(network: &Network) {
    let (context, _) = context();
    let ros = network.ros(&context);
    let node = ros.create_node("ours").expect("a node");
    let _publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
    let [info] = ask(network, ros.executor(), [&["topic", "info", "--verbose", "/chatter"]]);
    let hash = <Text as rospin_node::Message>::TYPE_HASH.expect("a hash");
    for part in ["Node name: ours", "Topic type: std_msgs/msg/String", hash, "RELIABLE", "KEEP_LAST (10)"] {
        assert!(info.contains(part), "{part}: {info}");
    }
}

/// `ros2 node list` lists a plain node.
///
/// # Panics
/// If it does not.
pub fn a_node_is_listed(network: &Network) {
    let (context, _) = context();
    let ros = network.ros(&context);
    let _node = ros.create_node("ours").expect("a node");
    let [list] = ask(network, ros.executor(), [&["node", "list"]]);
    assert!(list.lines().any(|line| line == "/ours"), "{list}");
}

/// A managed node that does nothing.
struct Device;

impl Lifecycle for Device {
    fn on_configure(&mut self, _: &LifecycleHandle<Self>, _: State) -> Result<(), Fault> {
        Ok(())
    }
}

/// `ros2 lifecycle` shows a node's state, and changes it.
///
/// # Panics
/// If it does not.
pub fn a_lifecycle_node_is_managed(network: &Network) {
    let (context, _) = context();
    let ros = network.ros(&context);
    let device = LifecycleNode::new(&ros, &ros.executor().handle(), "device", Device).expect("a node");
    let answers = ask(
        network,
        ros.executor(),
        [
            &["lifecycle", "get", "/device"],
            &["lifecycle", "set", "/device", "configure"],
            &["lifecycle", "set", "/device", "activate"],
            &["lifecycle", "get", "/device"],
        ],
    );
    assert_eq!(device.state(), State::Active, "{answers:?}");
    assert!(answers[0].contains("unconfigured [1]") && answers[3].contains("active [3]"), "{answers:?}");
}
