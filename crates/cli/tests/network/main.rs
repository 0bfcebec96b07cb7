//! The commands that talk to a running robot, over the network: beside nodes of rospin, and nodes of ROS 2 if there are
//! any. They run where the command is built with DDS.

#![cfg(any(feature = "dds", feature = "zenoh"))]
#![expect(clippy::print_stdout, reason = "tables of what was measured, and what was skipped")]

mod fleet;
mod invocations;
mod sensors;

#[cfg(feature = "bridge")]
mod bridge;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rospin::lifecycle::Lifecycle;
use rospin::{Context, ContextOptions, Ros};
use rospin_testkit::peers::Ours;
use rustix::process::{Pid, Signal, kill_process};

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
        self.command(rmw, arguments).output().expect("it starts")
    }

    fn command(&self, rmw: &str, arguments: &[&str]) -> Command {
        Self::command_in(self.id, rmw, arguments)
    }

    fn command_in(id: u16, rmw: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
        command.args(arguments).stdin(Stdio::null());
        Self::adapt(&mut command, id, rmw);
        command
    }

    /// Has a program join a domain.
    fn adapt(command: &mut Command, id: u16, rmw: &str) {
        command.env("RMW_IMPLEMENTATION", rmw).env("ROS_DOMAIN_ID", id.to_string());
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("AMENT_PREFIX_PATH");
        command.env_remove("CYCLONEDDS_URI");
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

const IS_CHILD: &str = "ROSPIN_TEST_CHILD";

/// The program that is launched: a managed node.
#[test]
fn managed_program() {
    struct Managed;
    impl Lifecycle for Managed {}

    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let ros = rospin::init().expect("a network");
    let _node = ros.create_lifecycle_node("node", Managed).expect("a node");
    ros.spin().expect("a spin");
}

/// A launch that runs.
struct Launch {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    seen: Vec<String>,
}

impl Launch {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines, seen: Vec::new() }
    }

    /// Reads until there was a line with that text, and returns its place.
    fn until(&mut self, said: &str) -> usize {
        while let Some(Ok(line)) = self.lines.next() {
            let is_it = line.contains(said);
            self.seen.push(line);
            if is_it {
                return self.seen.len() - 1;
            }
        }
        panic!("{said}: {:#?}", self.seen);
    }

    /// Returns the place of the first line with that text, or waits for it.
    fn place(&mut self, said: &str) -> usize {
        match self.seen.iter().position(|line| line.contains(said)) {
            Some(place) => place,
            None => self.until(said),
        }
    }

    /// Returns the number of the process in the line at that place.
    fn pid(&self, place: usize) -> Pid {
        let line = &self.seen[place];
        let number = line.rsplit(['[', ']']).nth(1).and_then(|number| number.parse().ok());
        number.and_then(Pid::from_raw).unwrap_or_else(|| panic!("{line}"))
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn two_robots_with_managed_nodes_are_launched_from_one_file() {
    let domain = Domain::new();
    let folder = std::env::temp_dir().join(format!("rospin-launch-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = std::env::current_exe().expect("a path");
    let mut content = format!("[environment]\n{IS_CHILD} = \"1\"\n");
    for robot in ["/r1", "/r2"] {
        let common = format!(
            "program = '{}'\nnamespace = \"{robot}\"\nlifecycle = \"active\"\n\
             arguments = [\"managed_program\", \"--exact\", \"--nocapture\", \"--\"]\n",
            program.display()
        );
        content.push_str(&format!("[[process]]\nnode = \"detector\"\nafter = [\"camera\"]\n{common}"));
        content
            .push_str(&format!("[[process]]\nnode = \"camera\"\nrespawn = true\nrespawn_delay = \"50 ms\"\n{common}"));
    }
    let file = folder.join("robots.toml");
    std::fs::write(&file, content).expect("a file");
    let mut command = domain.command("rmw_cyclonedds_cpp", &["launch", file.to_str().expect("UTF-8")]);
    let mut launch = Launch::start({
        command.env("ROS_LOG_DIR", &folder);
        command
    });
    for (robot, camera, detector) in [("/r1", 2, 1), ("/r2", 4, 3)] {
        let camera_active = launch.place(&format!("{camera}]: node {robot}/camera is active"));
        let started = launch.place(&format!("[{}/detector-{detector}]: process started", &robot[1..]));
        let detector_active = launch.place(&format!("{detector}]: node {robot}/detector is active"));
        assert!(camera_active < started && started < detector_active, "{:#?}", launch.seen);
    }
    // A killed node comes back and is led anew.
    let started = launch.place("[r1/camera-2]: process started");
    kill_process(launch.pid(started), Signal::KILL).expect("it runs");
    launch.until("[r1/camera-2]: process has died");
    launch.until("[r1/camera-2]: process started");
    launch.until("[r1/camera-2]: node /r1/camera is active");
    let state = domain.run("rmw_cyclonedds_cpp", &["lifecycle", "get", "/r1/camera"]);
    assert_eq!(String::from_utf8_lossy(&state.stdout), "active [3]\n");

    let begin = Instant::now();
    kill_process(Pid::from_child(&launch.child), Signal::INT).expect("it runs");
    assert!(launch.child.wait().expect("its status").success());
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    std::fs::remove_dir_all(&folder).expect("the folder");
}
