//! The commands that talk to a running robot, over the network: beside nodes of rospin, and nodes of ROS 2 if there are
//! any. They run where the command is built with DDS.

#![cfg(feature = "dds")]

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};

use rospin::{Context, ContextOptions, Ros};
use rospin_testkit::peers::Ours;

/// A domain that nobody else on this machine is in, kept from other tests while this lives.
struct Domain {
    id: u16,
    _reservation: TcpListener,
}

impl Domain {
    fn new() -> Self {
        let process = u16::try_from(std::process::id() % 200).expect("a small number");
        for at in 0..200 {
            let id = 20 + (process + at) % 200;
            let is_free = |port: u16| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id + port)).is_ok();
            if let Ok(reservation) = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id))
                && is_free(0)
                && is_free(10)
            {
                return Self { id, _reservation: reservation };
            }
        }
        panic!("there is no domain that nobody is in");
    }

    /// Runs the command in this domain.
    fn run(&self, rmw: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
        command.args(arguments).env("RMW_IMPLEMENTATION", rmw).env("ROS_DOMAIN_ID", self.id.to_string());
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("AMENT_PREFIX_PATH");
        command.env_remove("CYCLONEDDS_URI");
        command.stdin(Stdio::null()).output().expect("it starts")
    }
}

/// Runs commands on the nodes that `ours.rs` or `rclpy_peer.py` serve, the first of which has this name.
fn ask(domain: &Domain, rmw: &str, node: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let says = |arguments: &[&str]| {
        let output = domain.run(rmw, arguments);
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}{complaint}");
        said
    };
    let fails = |arguments: &[&str], code: i32, expected: &str| {
        let output = domain.run(rmw, arguments);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{complaint}", text(&output.stdout));
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    };
    let of = |name: &str| format!("/{node}{name}");

    let topics = says(&["topic", "list", "-t"]);
    for topic in ["/latched [std_msgs/msg/String]", "/in [std_msgs/msg/String]", "/out [std_msgs/msg/String]"] {
        assert!(topics.contains(topic), "{topic}: {topics}");
    }
    assert_eq!(says(&["topic", "echo", "--once", "/latched"]), format!("data: {node}\n---\n"));
    assert!(says(&["topic", "info", "-v", "/latched"]).contains("Durability: TRANSIENT_LOCAL\n"));
    assert!(says(&["topic", "pub", "--once", "/in", "{data: hello}"]).contains("std_msgs.msg.String(data='hello')"));
    fails(&["topic", "echo", "/latchd"], 1, "no topic /latchd; nearest: /latched");

    assert!(says(&["node", "list"]).contains(&format!("{}\n", of(""))));
    assert!(says(&["node", "info", &of("")]).contains("    /set: std_srvs/srv/SetBool\n"));

    let called = says(&["service", "call", "/set", "std_srvs/srv/SetBool", "{data: true}"]);
    assert!(called.ends_with("std_srvs.srv.SetBool_Response(success=True, message='done')\n\n"), "{called}");

    assert_eq!(says(&["param", "get", &of(""), "speed"]), "Integer value is: 1\n");
    assert_eq!(says(&["param", "set", &of(""), "speed", "7"]), "Set parameter successful\n");
    assert!(says(&["param", "dump", &of("")]).contains("    speed: 7\n"));
    assert!(says(&["param", "list"]).contains(&format!("{}:\n", of(""))));
    fails(&["param", "get", &of(""), "sped"], 1, "has no parameter sped; nearest: speed");

    assert_eq!(says(&["lifecycle", "nodes"]), "/managed\n");
    assert_eq!(says(&["lifecycle", "set", "/managed", "configure"]), "Transitioning successful\n");
    assert_eq!(says(&["lifecycle", "get", "/managed"]), "inactive [2]\n");

    assert_eq!(says(&["action", "list"]), "/fibonacci\n");
    let done = says(&["action", "send_goal", "-f", "/fibonacci", "test_msgs/action/Fibonacci", "{order: 3}"]);
    assert!(done.contains("Feedback:\n    sequence:\n- 0\n- 1\n- 1\n"), "{done}");
    assert!(done.ends_with("Goal finished with status: SUCCEEDED\n"), "{done}");
    fails(
        &["action", "send_goal", "/fibonacci", "test_msgs/action/Fibonacci", "{order: -1}"],
        1,
        "the goal was rejected",
    );
}

/// Our nodes, on a thread that spins until this is dropped.
struct Serving {
    context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    fn new(join: impl FnOnce(&Context) -> Ros + Send + 'static) -> Self {
        let context = Context::new(ContextOptions::new());
        let own = context.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let serve = move || {
            let ours = Ours::new(join(&own));
            ready.send(()).expect("the test waits");
            ours.executor().spin(rospin::SpinOptions::new()).expect("a spin");
        };
        let thread = thread::spawn(serve);
        is_ready.recv().expect("the nodes are there");
        Self { context, thread: Some(thread) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.context.halt_all();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

#[test]
fn nodes_of_rospin_are_asked_over_dds() {
    let domain = Domain::new();
    let id = domain.id;
    let _serving = Serving::new(move |context| {
        let options = rospin::dds::DomainOptions::new().domain_id(id).localhost();
        rospin::dds::Domain::join(options).expect("a participant").ros(context)
    });
    ask(&domain, "rmw_cyclonedds_cpp", "ours");
}

#[test]
fn nodes_of_rclpy_are_asked_over_dds() {
    let domain = Domain::new();
    let Some(rclpy) = rospin_testkit::peers::rclpy::Rclpy::find("rmw_fastrtps_cpp") else { return };
    let rclpy = rclpy.with("ROS_DOMAIN_ID", domain.id).with("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    let mut serving = rclpy.start(&["serve"]);
    while !serving.said("serving") {
        assert!(!serving.has_ended(), "{:?}", serving.lines());
        thread::yield_now();
    }
    ask(&domain, "rmw_fastrtps_cpp", "theirs");
}
