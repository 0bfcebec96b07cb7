//! `rospin launch` with real processes. Shell scripts stand in for nodes; `network.rs` has nodes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::common::{Scratch, text};

/// The time after which something that should have happened will not happen any more.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
    command.arg("launch").args(arguments).env("ROS_LOG_DIR", scratch.path("logs")).stdin(Stdio::null());
    command
}

fn rospin(scratch: &Scratch, arguments: &[&str]) -> Output {
    command(scratch, arguments).output().expect("it starts")
}

/// A launch that runs.
struct Launch {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Launch {
    fn start(scratch: &Scratch, arguments: &[&str]) -> Self {
        let mut child = command(scratch, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        let pass_on = move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        };
        thread::spawn(pass_on);
        Self { child, lines, seen: Vec::new() }
    }

    /// Waits for a line with that text, and returns the line.
    fn until(&mut self, said: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{said}: {error}: {:#?}", self.seen),
            }
            let line = self.seen.last().unwrap();
            if line.contains(said) {
                return line.clone();
            }
        }
    }

    /// Waits for a line that ends with the number of a process after that text.
    fn pid(&mut self, said: &str) -> Pid {
        let line = self.until(said);
        number(&line)
    }

    /// Waits until a node has said its number: it is ready for a request to end then. Nodes begin at the same time, so an earlier
    /// line may have told.
    fn await_start(&mut self, label: &str) -> Pid {
        let said = format!("[{label}] is ");
        let line = self.seen.iter().find(|line| line.contains(&said)).cloned();
        let line = line.unwrap_or_else(|| self.until(&said));
        number(&line)
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end. Returns the exit code, and what was written to stderr.
    fn end(mut self) -> (Option<i32>, String, Vec<String>) {
        let status = self.child.wait().unwrap();
        let mut complaint = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        self.seen.extend(self.lines.iter());
        (status.code(), complaint, std::mem::take(&mut self.seen))
    }
}

fn number(line: &str) -> Pid {
    let number = line.rsplit(' ').next().unwrap();
    Pid::from_raw(number.parse().unwrap_or_else(|_| panic!("{line}"))).unwrap()
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_alive(pid: Pid) -> bool {
    // One that has ended and was not waited for counts as alive, unless it is looked up.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    test_kill_process(pid).is_ok() && stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until the process has ended.
fn await_end(pid: Pid) {
    let begin = Instant::now();
    while is_alive(pid) {
        assert!(begin.elapsed() < PATIENCE, "{pid:?} runs still");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A script that ends as a node does, at SIGINT. It says its number once it is ready for that.
const NODE: &str = "trap 'echo goodbye; exit 0' INT; echo is $$; while :; do sleep 0.02; done";

fn node(name: &str, more: &str) -> String {
    process(name, NODE, more)
}

fn process(name: &str, script: &str, more: &str) -> String {
    format!("[[process]]\nname = \"{name}\"\nprogram = \"sh\"\narguments = [\"-c\", \"{script}\"]\n{more}\n")
}

#[test]
fn two_robots_end_within_two_seconds() {
    let scratch = Scratch::new("launch");
    let mut content = String::new();
    for robot in ["/r1", "/r2"] {
        let namespace = format!("namespace = \"{robot}\"");
        content.push_str(&node("camera", &namespace));
        content.push_str(&node("base", &namespace));
    }
    let file = scratch.file("robots.toml", &content);
    let mut launch = Launch::start(&scratch, &[&file]);
    let mut pids = Vec::new();
    for _ in 0..4 {
        pids.push(launch.pid("] is "));
    }
    let begin = Instant::now();
    launch.send(Signal::INT);
    let (code, complaint, seen) = launch.end();
    let took = begin.elapsed();
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{seen:#?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    for pid in pids {
        assert!(!is_alive(pid));
    }
    let log = std::fs::read_dir(scratch.path("logs")).unwrap().next().unwrap().unwrap().path();
    for label in ["r1/camera-1", "r1/base-2", "r2/camera-3", "r2/base-4"] {
        assert!(seen.contains(&format!("[{label}] goodbye")), "{seen:#?}");
        let own = std::fs::read_to_string(log.join(format!("{}.log", label.replace('/', ".")))).unwrap();
        assert!(own.starts_with("is ") && own.ends_with("\ngoodbye\n"), "{own}");
        let all = std::fs::read_to_string(log.join("launch.log")).unwrap();
        assert!(all.contains(&format!(" [{label}] goodbye\n")), "{all}");
        assert!(all.contains(&format!(" [INFO] [{label}]: process has finished cleanly [pid ")), "{all}");
    }
}

#[test]
fn a_killed_node_comes_back_as_often_as_it_may() {
    let scratch = Scratch::new("launch");
    let respawn = "respawn = true\nrespawn_delay = \"10 ms\"\nrespawn_max_retries = 2";
    let file = scratch.file("robot.toml", &(node("camera", respawn) + &node("base", "")));
    let mut launch = Launch::start(&scratch, &[&file]);
    let mut pids = Vec::new();
    for _ in 0..3 {
        let pid = launch.pid("[camera-1] is ");
        assert!(!pids.contains(&pid));
        kill_process(pid, Signal::KILL).unwrap();
        launch.until("[ERROR] [camera-1]: process has died [pid ");
        pids.push(pid);
    }
    launch.await_start("base-2");
    launch.send(Signal::TERM);
    let (code, complaint, seen) = launch.end();
    assert_eq!(complaint, "error: camera-1: process has died (exit code -9)\n", "{seen:#?}");
    assert_eq!(code, Some(1));
    assert!(seen.contains(&"[base-2] goodbye".to_owned()), "{seen:#?}");
}

/// The process leaves one that takes its time, so the launch is asked to end before the group is empty.
#[test]
fn a_death_right_before_the_end_is_a_failure() {
    let scratch = Scratch::new("launch");
    let script = "(trap 'sleep 0.2; exit 0' TERM; while :; do sleep 0.01; done) & exit 3";
    let file = scratch.file("robot.toml", &(process("driver", script, "") + &node("base", "")));
    let mut launch = Launch::start(&scratch, &[&file]);
    launch.await_start("base-2");
    if !launch.seen.iter().any(|line| line.contains("[driver-1]: process has died")) {
        launch.until("[driver-1]: process has died");
    }
    launch.send(Signal::TERM);
    let (code, complaint, seen) = launch.end();
    assert_eq!(complaint, "error: driver-1: process has died (exit code 3)\n", "{seen:#?}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_required_node_ends_the_launch() {
    for (end, code) in [("exit 0", 0), ("exit 3", 1)] {
        let scratch = Scratch::new("launch");
        // The mission ends when the base is ready for a request to end.
        let ready = scratch.path("ready");
        let base = process("base", &NODE.replace("echo is $$", &format!("touch {ready}")), "");
        let script = format!("until [ -e {ready} ]; do sleep 0.01; done; {end}");
        let required = process("mission", &script, "on_exit = \"shutdown\"");
        let file = scratch.file("robot.toml", &(base + &required));
        let (ended, complaint, seen) = Launch::start(&scratch, &[&file]).end();
        assert_eq!(ended, Some(code), "{seen:#?}");
        assert_eq!(complaint.contains("mission-2: process has died (exit code 3)"), code == 1, "{complaint}");
        assert!(seen.contains(&"[INFO] [launch]: mission-2 has ended, so the launch ends".to_owned()), "{seen:#?}");
    }
}

/// A process that ignores requests, with one that it started, which holds its output.
const STUBBORN: &str = "trap '' INT TERM; (while :; do sleep 0.02; done) & echo child $!; echo is $$; wait";

#[test]
fn who_ignores_requests_is_killed() {
    let scratch = Scratch::new("launch");
    let short = "sigterm_timeout = \"20 ms\"\nsigkill_timeout = \"20 ms\"";
    let file = scratch.file("robot.toml", &process("arm", STUBBORN, short));
    let mut launch = Launch::start(&scratch, &[&file]);
    let pids = [launch.pid("] child "), launch.pid("] is ")];
    launch.send(Signal::INT);
    let (code, complaint, seen) = launch.end();
    assert_eq!((code, complaint.as_str()), (Some(1), "error: arm-1: process had to be killed\n"), "{seen:#?}");
    for signal in ["SIGTERM", "SIGKILL"] {
        assert!(seen.iter().any(|line| line.ends_with(&format!("escalating to {signal}"))), "{seen:#?}");
    }
    for pid in pids {
        await_end(pid);
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let scratch = Scratch::new("launch");
    let file = scratch.file("robot.toml", &process("arm", STUBBORN, "sigterm_timeout = \"1 h\""));
    let mut launch = Launch::start(&scratch, &[&file]);
    let pids = [launch.pid("] child "), launch.pid("] is ")];
    launch.send(Signal::INT);
    launch.until("sending signal SIGINT");
    thread::sleep(Duration::from_millis(300));
    launch.send(Signal::INT);
    let (code, _, seen) = launch.end();
    assert_eq!(code, Some(1), "{seen:#?}");
    for pid in pids {
        await_end(pid);
    }
}

#[test]
fn a_launch_that_is_killed_leaves_nobody() {
    let scratch = Scratch::new("launch");
    let file = scratch.file("robot.toml", &(process("arm", STUBBORN, "") + &node("base", "")));
    let mut launch = Launch::start(&scratch, &[&file]);
    let mut pids = vec![launch.pid("] child "), launch.pid("[arm-1] is ")];
    pids.push(launch.await_start("base-2"));
    launch.send(Signal::KILL);
    drop(launch);
    for pid in pids {
        await_end(pid);
    }
}

/// The script ends at once and leaves a process that holds its output.
#[test]
fn what_an_ended_process_leaves_is_ended_before_it_comes_back() {
    let scratch = Scratch::new("launch");
    let script = "sleep 1000 & echo child $!";
    let respawn = "respawn = true\nrespawn_delay = \"0 s\"\nrespawn_max_retries = 1";
    let file = scratch.file("robot.toml", &process("driver", script, respawn));
    let begin = Instant::now();
    let (code, complaint, seen) = Launch::start(&scratch, &[&file]).end();
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{seen:#?}");
    assert!(begin.elapsed() < Duration::from_secs(30), "the launch waited for an event that did not come");
    let mut count = 0;
    for line in seen.iter().filter(|line| line.contains("] child ")) {
        let pid = Pid::from_raw(line.rsplit(' ').next().unwrap().parse().unwrap()).unwrap();
        await_end(pid);
        count += 1;
    }
    assert_eq!(count, 2, "{seen:#?}");
}

#[test]
fn a_launch_whose_output_nobody_reads_goes_on_and_ends() {
    let scratch = Scratch::new("launch");
    let done = scratch.path("done");
    let script = NODE.replace("echo is $$", &format!("seq 1 200000; echo is $$; touch {done}"));
    let file = scratch.file("robot.toml", &process("talker", &script, ""));
    let mut child = command(&scratch, &[&file]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !std::path::Path::new(&done).exists() {
        assert!(begin.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    let log = std::fs::read_dir(scratch.path("logs")).unwrap().next().unwrap().unwrap().path();
    let own = std::fs::read_to_string(log.join("talker-1.log")).unwrap();
    assert_eq!(own.lines().take_while(|line| !line.starts_with("is ")).count(), 200_000);
}

#[test]
fn a_file_is_shown_before_it_is_launched() {
    let scratch = Scratch::new("launch");
    let content = "[arguments]\nrobot = \"r1\"\nrate = \"20\"\n[[process]]\nname = \"a\"\nprogram = \"sh\"\n\
                   arguments = [\"-c\", \"exit 7\"]\nnamespace = \"/$(var robot)\"\n\
                   parameters = { rate = \"$(var rate)\" }\n";
    let file = scratch.file("robot.toml", content);
    let shown = rospin(&scratch, &[&file, "--show-args", "robot:=r2"]);
    assert_eq!(text(&shown.stdout), "rate:=20\nrobot:=r2\n");
    let dry = rospin(&scratch, &[&file, "--dry-run", "robot:=r2"]);
    let dry = text(&dry.stdout);
    assert!(dry.starts_with("# r2/a-1\n/"), "{dry}");
    assert!(dry.ends_with("/sh -c 'exit 7' --ros-args -r __ns:=/r2 -p rate:=20\n"), "{dry}");
    assert!(!std::path::Path::new(&scratch.path("logs")).exists());
}

#[test]
fn what_cannot_be_launched_is_told_before_anything_starts() {
    let scratch = Scratch::new("launch");
    let touch = scratch.path("started");
    let first = process("first", &format!("touch {touch}"), "");
    let missing = scratch.file("missing.toml", &format!("{first}[[process]]\nprogram = \"./no-such-program\"\n"));
    let broken = scratch.file("broken.toml", "[[process]]\nprogam = \"sh\"\n");
    let nowhere = scratch.path("nowhere.toml");
    let cases = [
        (&missing, "missing.toml: line 7, column 11, `program`: there is no program "),
        (&broken, "broken.toml: line 2, column 1: unknown field `progam`, expected"),
        (&nowhere, "cannot read the launch file "),
    ];
    for (file, said) in cases {
        let output = rospin(&scratch, &[file]);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(said), "{complaint}");
    }
    assert!(!std::path::Path::new(&touch).exists());
}

/// It is there when the launch looks for it, and cannot be run.
#[test]
fn a_program_that_cannot_be_started_is_a_failure() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new("launch");
    let program = scratch.file("program", "\x7fELF and nothing else");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = scratch
        .file("robot.toml", &("[[process]]\nprogram = \"./program\"\n".to_owned() + &process("other", "echo on", "")));
    let (code, complaint, seen) = Launch::start(&scratch, &[&file]).end();
    assert_eq!(code, Some(1), "{seen:#?}");
    assert!(complaint.starts_with("error: program-1: process cannot be started: Exec format error"), "{complaint}");
    assert!(seen.contains(&"[other-2] on".to_owned()), "{seen:#?}");
}

#[cfg(not(feature = "dds"))]
#[test]
fn managed_nodes_need_a_network() {
    let scratch = Scratch::new("launch");
    let managed = "node = \"camera\"\nlifecycle = \"active\"";
    let file = scratch.file("robot.toml", &process("camera", "exit 0", managed));
    let output = command(&scratch, &[&file]).env("RMW_IMPLEMENTATION", "in_process").output().unwrap();
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("--features dds"), "{complaint}");
}
