//! Forty invocations on a graph of 50 nodes, beside `ros2` if there is one: answers and wall times.
//!
//! Each column has a robot of its own, because some invocations change what they ask.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rospin_testkit::peers::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};

use super::Domain;
use super::fleet::{Fleet, NODES};

/// Answers that count as the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compare {
    /// The same text.
    Text,
    /// The same text but for the digits of numbers, which are measured.
    Shape,
}

/// Something that people ask.
struct Invocation {
    /// Arguments; ROBOT and FILE stand for the column's robot and parameter file.
    line: &'static str,
    compare: Compare,
    /// Beginning of the line that completes the answer of a command that does not end.
    until: Option<&'static str>,
    /// True if the verb of `ros2` has the option `--no-daemon`.
    has_option: bool,
}

const fn ask(line: &'static str) -> Invocation {
    Invocation { line, compare: Compare::Text, until: None, has_option: true }
}

impl Invocation {
    const fn shape(mut self) -> Self {
        self.compare = Compare::Shape;
        self
    }

    const fn until(mut self, line: &'static str) -> Self {
        self.until = Some(line);
        self
    }

    const fn without_option(mut self) -> Self {
        self.has_option = false;
        self
    }

    /// Returns the arguments, as a shell would split the line.
    fn words(&self, column: &Column) -> Vec<String> {
        let line = self.line.replace("ROBOT", column.robot).replace("FILE", column.file.to_str().expect("UTF-8"));
        let mut words = Vec::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }
}

const INVOCATIONS: [Invocation; 40] = [
    ask("topic list"),
    ask("topic list -t"),
    ask("topic list -v"),
    ask("topic list -c --include-hidden-topics"),
    ask("topic info /ROBOT/imu"),
    ask("topic info -v /ROBOT/imu"),
    ask("topic type /ROBOT/imu").without_option(),
    ask("topic find sensor_msgs/msg/Imu").without_option(),
    ask("topic echo --once /ROBOT/map_name --qos-durability transient_local --qos-reliability reliable"),
    ask("topic echo --once /ROBOT/imu --field linear_acceleration"),
    ask("topic echo --once --no-arr /ROBOT/image").shape(),
    ask("topic echo --once --csv --qos-reliability best_effort /ROBOT/twist"),
    ask("topic echo --once --flow-style /ROBOT/twist geometry_msgs/msg/Twist"),
    ask("topic echo --once /ROBOT/twist --filter 'm.linear.x > 0.4'"),
    ask("topic hz /ROBOT/imu --window 10").shape().until("\tmin").without_option(),
    ask("topic bw /ROBOT/image").shape().until("\tMessage").without_option(),
    ask("topic delay /ROBOT/imu").shape().until("\tmin").without_option(),
    ask("topic pub --once /ROBOT/cmd_vel geometry_msgs/msg/Twist '{linear: {x: 0.5}}'").without_option(),
    ask("topic pub --times 3 --rate 100 /ROBOT/cmd_vel geometry_msgs/msg/Twist").without_option(),
    ask("node list"),
    ask("node list -c"),
    ask("node info /ROBOT/arm"),
    ask("service list -t"),
    ask("service info /ROBOT/switch"),
    ask("service type /ROBOT/switch").without_option(),
    ask("service find std_srvs/srv/SetBool").without_option(),
    ask("service call /ROBOT/switch std_srvs/srv/SetBool '{data: true}'").without_option(),
    ask("param list /ROBOT/arm --param-type"),
    ask("param get /ROBOT/arm gain"),
    ask("param set /ROBOT/arm gain 3.5"),
    ask("param describe /ROBOT/arm gain joints"),
    ask("param dump /ROBOT/arm"),
    ask("param load /ROBOT/arm FILE"),
    ask("action list -t").without_option(),
    ask("action info -t /ROBOT/fibonacci").without_option(),
    ask("action send_goal -f /ROBOT/fibonacci test_msgs/action/Fibonacci '{order: 5}'").shape().without_option(),
    ask("lifecycle nodes"),
    ask("lifecycle set /ROBOT/camera configure"),
    ask("lifecycle get /ROBOT/camera"),
    ask("interface show geometry_msgs/msg/Twist --no-comments").without_option(),
];

/// A program that is asked.
struct Column {
    title: &'static str,
    /// Returns the command without arguments.
    program: Box<dyn Fn() -> Command>,
    /// True for `ros2` that is to look for itself.
    is_without_daemon: bool,
    robot: &'static str,
    file: PathBuf,
}

impl Column {
    /// Asks, and returns the answer and the time until it was complete.
    fn ask(&self, invocation: &Invocation) -> (String, Duration) {
        let mut command = (self.program)();
        command.args(invocation.words(self));
        if self.is_without_daemon && invocation.has_option {
            command.arg("--no-daemon");
        }
        let begin = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let pid = Pid::from_child(&child);
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (said, answer) = std::sync::mpsc::channel();
        let until = invocation.until;
        let reading = std::thread::spawn(move || {
            let mut text = String::new();
            for line in out.lines().map_while(Result::ok) {
                text.push_str(&line);
                text.push('\n');
                if until.is_some_and(|until| line.starts_with(until)) {
                    break;
                }
            }
            // Nobody waits any more if it took too long.
            let _ = said.send(text);
        });
        let text = answer.recv_timeout(PATIENCE).unwrap_or_else(|_| "(no answer)\n".to_owned());
        let mut took = begin.elapsed();
        if until.is_some() || took >= PATIENCE {
            // It fails only if the process has ended, and was not waited for yet.
            let _ = kill_process(pid, Signal::INT);
        }
        child.wait().expect("its end");
        if until.is_none() {
            took = begin.elapsed();
        }
        reading.join().expect("it reads");
        (text, took)
    }

    /// Returns the answer without what is the column's own.
    fn normal(answer: &str, compare: Compare) -> Vec<String> {
        let mut lines = Vec::new();
        for line in answer.lines() {
            // `ros2` counts the ends of its own node, and of its daemon. A wait is told or not.
            let own = [
                "/rosout",
                "/parameter_events",
                "Waiting for at least",
                "waiting for service",
                "be published yet",
                "GID: ",
            ];
            if own.iter().any(|own| line.contains(own)) {
                continue;
            }
            // Columns have robots of their own, which are alike.
            let mut line = line.to_owned();
            for robot in 0..super::fleet::ROBOTS {
                line = line.replace(&format!("robot_{robot}"), "ROBOT");
            }
            if compare == Compare::Shape {
                line = digits_out(&line);
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let indent = line.len() - line.trim_start().len();
            lines.push(format!("{:indent$}{}", "", words.join(" ")));
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

/// Returns the text with each number as `#`.
fn digits_out(text: &str) -> String {
    let mut out = String::new();
    let mut is_number = false;
    // An id has digits from the beginning of its word on, which may be letters.
    if let Some((before, _)) = text.split_once("with ID: ") {
        return format!("{before}with ID: #");
    }
    for c in text.chars() {
        let is_digit = c.is_ascii_digit() || is_number && c == '.';
        if !is_digit {
            out.push(c);
        } else if !is_number {
            out.push('#');
        }
        is_number = is_digit;
    }
    out
}

/// Returns the median, in milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Returns the columns: rospin, and `ros2` without and with a daemon if it is found.
fn columns(domain: &Domain, rmw: &'static str, folder: &Path) -> Vec<Column> {
    let id = domain.id;
    let file = |robot: &str| {
        let file = folder.join(format!("{robot}.yaml"));
        std::fs::write(&file, format!("/{robot}/arm:\n  ros__parameters:\n    speed: 4\n")).expect("a file");
        file
    };
    let mut columns = vec![Column {
        title: "rospin",
        program: Box::new(move || Domain::command_in(id, rmw, &[])),
        is_without_daemon: false,
        robot: "robot_1",
        file: file("robot_1"),
    }];
    let Some(ros2) = std::env::var_os("ROSPIN_TEST_ROS2").map(PathBuf::from) else {
        println!("SKIPPED for want of `ros2`: its columns; ROSPIN_TEST_ROS2 names the command");
        return columns;
    };
    for (title, is_without_daemon, robot) in
        [("ros2 --no-daemon", true, "robot_2"), ("ros2 with a warm daemon", false, "robot_3")]
    {
        let ros2 = ros2.clone();
        let program = move || {
            let mut command = Command::new(&ros2);
            command.env("ROS_DOMAIN_ID", id.to_string()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
            command
        };
        columns.push(Column { title, program: Box::new(program), is_without_daemon, robot, file: file(robot) });
    }
    columns
}

/// Runs a verb of the daemon of `ros2`.
fn daemon(column: &Column, verb: &str) {
    let mut command = (column.program)();
    let ended = command.args(["daemon", verb]).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(ended.expect("it starts").success(), "daemon {verb}");
}

/// Waits until rospin finds all nodes.
fn wait_for_fleet(rospin: &Column) {
    let begin = Instant::now();
    loop {
        let (count, _) = rospin.ask(&ask("node list -c"));
        let (managed, _) = rospin.ask(&ask("lifecycle nodes"));
        if count.trim() == NODES.to_string() && managed.lines().count() == super::fleet::ROBOTS {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{count} of {NODES} nodes");
    }
}

/// Prints the table. `ROSPIN_TEST_RUNS` is the number of runs of which the median is taken.
#[test]
#[ignore = "a measurement of minutes, of release builds"]
fn forty_invocations_on_fifty_nodes() {
    let rmw = if cfg!(feature = "dds") { "rmw_cyclonedds_cpp" } else { "rmw_zenoh_cpp" };
    let runs: usize = std::env::var("ROSPIN_TEST_RUNS").map_or(1, |runs| runs.parse().expect("a number"));
    let domain = Domain::new();
    let folder = std::env::temp_dir().join(format!("rospin-invocations-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let columns = columns(&domain, rmw, &folder);
    let _fleet = Fleet::start(|command| {
        Domain::adapt(command, domain.id, rmw);
    });
    wait_for_fleet(&columns[0]);

    let mut answers = vec![Vec::new(); INVOCATIONS.len()];
    let mut times = vec![Vec::new(); INVOCATIONS.len()];
    for column in &columns {
        let is_daemon = column.title.ends_with("daemon") && !column.is_without_daemon;
        if is_daemon {
            daemon(column, "start");
            // Until it knows all nodes.
            while column.ask(&ask("node list -c")).0.trim() != NODES.to_string() {}
        }
        for (at, invocation) in INVOCATIONS.iter().enumerate() {
            let mut took = Vec::new();
            let mut said = String::new();
            for run in 0..runs {
                // Another transition than the first one is not possible any more, and there is nothing left to load.
                let is_once = ["lifecycle set", "param load"].iter().any(|once| invocation.line.starts_with(once));
                if run > 0 && is_once {
                    break;
                }
                let (answer, time) = column.ask(invocation);
                (said, took) = (answer, [&took[..], &[time]].concat());
                if column.is_without_daemon && !invocation.has_option {
                    daemon(column, "stop");
                }
            }
            answers[at].push(said);
            times[at].push(median(&mut took));
        }
        if is_daemon {
            daemon(column, "stop");
        }
    }
    let mut table = String::from("| invocation | rospin ms | `ros2 --no-daemon` ms | | warm daemon ms | | answer |\n");
    let mut different = String::new();
    for (at, invocation) in INVOCATIONS.iter().enumerate() {
        let normal = Column::normal(&answers[at][0], invocation.compare);
        write!(table, "| `{}` | {:.0} |", invocation.line, times[at][0]).expect("text");
        let mut same = Vec::new();
        for (column, (answer, took)) in columns.iter().zip(answers[at].iter().zip(&times[at])).skip(1) {
            write!(table, " {took:.0} | {:.3} |", times[at][0] / took).expect("text");
            let other = Column::normal(answer, invocation.compare);
            same.push(other == normal);
            if other != normal {
                let title = column.title;
                write!(
                    different,
                    "== {} ({title})\n{}\n-- rospin\n{}\n",
                    invocation.line,
                    other.join("\n"),
                    normal.join("\n")
                )
                .expect("text");
            }
        }
        // Without a daemon, `ros2` may not have heard of all nodes yet.
        let verdict = match same[..] {
            [] => "",
            [.., false] => "differs",
            [false, true] => "same as with the daemon",
            _ => "same",
        };
        writeln!(table, " {verdict} |").expect("text");
    }
    println!("{table}\n{different}");
    std::fs::remove_dir_all(&folder).expect("the folder");
    for (invocation, answer) in INVOCATIONS.iter().zip(&answers) {
        assert!(!answer[0].is_empty() && !answer[0].starts_with("(no answer)"), "{}: {}", invocation.line, answer[0]);
    }
}
