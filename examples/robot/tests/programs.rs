//! The commands of the README and of the book about the robot, run as they stand there. What needs DDS or Zenoh runs if
//! this package is tested with the feature.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The time after which something that should have happened will not happen any more.
const PATIENCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the blocks of commands of a page.
fn blocks(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect(page);
    let parts = text.split("```sh\n").skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// Returns all blocks with commands that run the robot over that middleware.
fn blocks_of_robot(middleware: &str) -> Vec<String> {
    let folder = fs::read_dir(root().join("book/src/tutorial")).expect("the tutorial");
    let names = folder.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let pages = names.map(|name| format!("book/src/tutorial/{name}")).chain(["README.md".to_owned()]);
    let all = pages.flat_map(|page| blocks(&page));
    all.filter(|block| block.lines().any(|line| run_of_robot(line).is_some_and(|run| run.middleware == middleware)))
        .collect()
}

/// A command of the book: environment, program, arguments.
#[derive(Debug)]
struct Run<'a> {
    environment: Vec<(&'a str, &'a str)>,
    middleware: &'static str,
    program: &'a str,
    arguments: Vec<&'a str>,
}

/// Reads `A=b cargo run -p robot --features dds --bin robot -- arguments # remark`.
fn run_of_robot(line: &str) -> Option<Run<'_>> {
    let line = line.split(" #").next().unwrap_or(line);
    let (before, after) = line.split_once("cargo run -p robot")?;
    let environment = before.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let (options, arguments) = after.split_once(" -- ").unwrap_or((after, ""));
    let options: Vec<_> = options.split_whitespace().collect();
    let value = |option: &str| options.iter().position(|word| *word == option).map(|at| options[at + 1]);
    let middleware = match value("--features") {
        Some("dds") => "rmw_cyclonedds_cpp",
        Some("zenoh") => "rmw_zenoh_cpp",
        Some(other) => panic!("{line}: {other}"),
        None => "in_process",
    };
    let program = value("--bin").unwrap_or("robot");
    Some(Run { environment, middleware, program, arguments: arguments.split_whitespace().collect() })
}

/// A process that is ended with SIGINT, as by Ctrl-C.
struct Process(Child);

impl Process {
    /// Starts a program in a domain of its own, and sends each line that it prints or logs.
    fn start(mut command: Command, domain_id: u16, lines: &Sender<String>) -> Self {
        command.env("ROS_DOMAIN_ID", domain_id.to_string()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        command.current_dir(root()).env_remove("CYCLONEDDS_URI").env_remove("ZENOH_CONFIG_OVERRIDE");
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
        // They end with the process, and with those that it started.
        send_lines(process.stdout.take().expect("a pipe"), lines.clone());
        send_lines(process.stderr.take().expect("a pipe"), lines.clone());
        Self(process)
    }

    fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).expect("it runs still");
        let status = self.0.wait().expect("its status");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to do if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send_lines(text: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || BufReader::new(text).lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
}

/// Returns the folder of the robot's programs.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_robot")).parent().expect("a folder")
}

/// Runs all commands of a block over that middleware at once, until one of them tells of success.
fn run(block: &str, middleware: &str) {
    let runs = block.lines().filter_map(run_of_robot).filter(|run| run.middleware == middleware);
    let commands = runs.map(|run| {
        let mut command = Command::new(folder().join(run.program));
        command.args(run.arguments).envs(run.environment).env("RMW_IMPLEMENTATION", run.middleware);
        command
    });
    succeed(commands, block);
}

/// Runs commands until one of them tells of success, and ends them.
fn succeed(commands: impl Iterator<Item = Command>, of: &str) {
    let (domain_id, _reservation) = own_domain();
    let (sender, lines) = mpsc::channel();
    let processes: Vec<_> = commands.map(|command| Process::start(command, domain_id, &sender)).collect();
    drop(sender);
    let mut seen = Vec::new();
    loop {
        let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{of}: {error}: {seen:#?}"));
        if line.contains("Succeeded: the lamp is at") || line.contains("measured at") {
            break;
        }
        seen.push(line);
    }
    for process in processes {
        process.interrupt();
    }
}

/// Returns the number of a domain in which nobody is, and what keeps it from the other tests of this machine.
fn own_domain() -> (u16, TcpListener) {
    let process = u16::try_from(std::process::id() % 200).expect("a small number");
    let mut candidates = (0..200).map(|next| 20 + (process + next) % 200);
    let reserve = |id: u16| {
        let is_free = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id)).is_ok();
        let reservation = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id)).ok();
        reservation.filter(|_| is_free).map(|reservation| (id, reservation))
    };
    candidates.find_map(reserve).expect("a domain that nobody is in")
}

#[cfg(feature = "dds")]
fn run_all(middleware: &str, at_least: usize) {
    let blocks = blocks_of_robot(middleware);
    assert!(blocks.len() >= at_least, "{blocks:?}");
    for block in &blocks {
        run(block, middleware);
    }
}

#[test]
fn one_process() {
    let blocks = blocks_of_robot("in_process");
    assert!(blocks.len() >= 5, "{blocks:?}");
    // They mostly wait, and without a network none disturbs another.
    thread::scope(|scope| {
        for block in &blocks {
            scope.spawn(|| run(block, "in_process"));
        }
    });
}

#[cfg(feature = "dds")]
#[test]
fn three_processes_over_dds() {
    run_all("rmw_cyclonedds_cpp", 1);
}

/// Runs the launch file where ROS 2 is sourced.
#[cfg(feature = "dds")]
#[test]
#[expect(clippy::print_stderr, reason = "it says that it is skipped")]
fn the_launch_file_of_ros_2() {
    if std::env::var_os("AMENT_PREFIX_PATH").is_none() {
        eprintln!("SKIPPED for want of ROS 2: it is not sourced (AMENT_PREFIX_PATH)");
        return;
    }
    let mut command = Command::new("ros2");
    command.args(["launch", "examples/robot/robot.launch.py", &format!("folder:={}", folder().display())]);
    command.env("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp").env("ROS_LOG_DIR", env!("CARGO_TARGET_TMPDIR"));
    succeed([command].into_iter(), "ros2 launch");
}

/// Launches a file by `rospin`, if that was built with the robot.
#[cfg(any(feature = "dds", feature = "zenoh"))]
#[expect(clippy::print_stderr, reason = "it says that it is skipped")]
fn launch(middleware: &str, arguments: &[&str]) {
    let rospin = folder().join("rospin");
    if !rospin.exists() {
        eprintln!("SKIPPED for want of `rospin`: `cargo build -p rospin-cli` builds it");
        return;
    }
    let mut command = Command::new(rospin);
    command.arg("launch").args(arguments).arg(format!("folder:={}", folder().display()));
    command.env("RMW_IMPLEMENTATION", middleware).env("ROS_LOG_DIR", env!("CARGO_TARGET_TMPDIR"));
    succeed([command].into_iter(), "rospin launch");
}

#[cfg(feature = "dds")]
#[test]
fn the_launch_file_over_dds() {
    launch("rmw_cyclonedds_cpp", &["examples/robot/robot.toml"]);
}

#[cfg(feature = "zenoh")]
#[test]
fn the_launch_file_over_zenoh() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|port| port.local_addr()).expect("a free port");
    launch("rmw_zenoh_cpp", &["examples/robot/zenoh.toml", &format!("port:={}", free.port())]);
}

#[test]
fn every_main_has_less_than_15_lines() {
    let bins = fs::read_dir(root().join("examples/robot/src/bin")).expect("a folder");
    let mut files: Vec<_> = bins.map(|entry| entry.expect("an entry").path()).collect();
    files.push(root().join("examples/robot/src/main.rs"));
    for file in files {
        let text = fs::read_to_string(&file).expect("a program");
        let main = text.split("fn main()").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a main");
        assert!(main.lines().count() < 15, "{}", file.display());
    }
}
