//! Recordings of programs that end, each in its own way: this test binary with `ROSPIN_TEST_END` in its environment.

#![expect(clippy::print_stdout, reason = "the started program tells this one that it runs")]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rospin::{ContextOptions, Middlewares, RosArguments};
use rospin_trace::Recording;
use rustix::process::{Pid, Signal, kill_process};

const VARIABLE: &str = "ROSPIN_TEST_END";

/// Runs the program that the test starts. A timer prints `running` each time, and ends the program the 20th time,
/// unless a signal should.
#[test]
fn program() {
    let Ok(end) = std::env::var(VARIABLE) else { return };
    rospin::recording::record_from_env().unwrap();
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let node = ros.create_node("node").unwrap();
    let context = ros.context().clone();
    let mut count = 0;
    let _timer = node.create_timer(Duration::from_millis(1), move |_| {
        println!("running");
        count += 1;
        match &*end {
            "return" if count == 20 => context.halt_all(),
            "exit" if count == 20 => std::process::exit(0),
            // A flight recorder writes a file when the program asks for it.
            _ if count == 10 => rospin_engine::Recorder::of_process().trigger("the test"),
            _ => {}
        }
    });
    ros.spin().unwrap();
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rospin-ends-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program to its end. Returns what the recording says of damage, and the number of its events.
fn faults(end: &str, variables: &[(&str, &str)]) -> (String, usize) {
    let folder = Folder::new(&format!("{end}{}", variables.first().map_or("", |(name, _)| name)));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "program", "--nocapture"]).env(VARIABLE, end);
    command.env("ROSPIN_TRACE", folder.0.join("run.mcap")).envs(variables.iter().copied());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let signal = match end {
        "SIGINT" => Some(Signal::INT),
        "SIGTERM" => Some(Signal::TERM),
        "SIGKILL" => Some(Signal::KILL),
        _ => None,
    };
    if let Some(signal) = signal {
        // A recording that was begun, of a program that has run some callbacks.
        let is_begun = || std::fs::read_dir(&folder.0).unwrap().next().is_some();
        let needs_file = signal == Signal::KILL;
        let mut ran = 0;
        while ran < 20 || (needs_file && !is_begun()) {
            ran += u32::from(lines.next().expect("the program runs") == "running");
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    // To the end of the program, which must be able to print.
    for line in lines {
        drop(line);
    }
    assert_eq!(child.wait().unwrap().success(), end != "SIGKILL");
    let recordings = Recording::open(&folder.0).unwrap();
    let faults: Vec<String> = recordings.iter().flat_map(|of| &of.faults).map(ToString::to_string).collect();
    (faults.join("\n"), recordings.iter().map(|of| of.events.len()).sum())
}

const FILE: &[(&str, &str)] = &[];
const ROTATED: &[(&str, &str)] = &[("ROSPIN_TRACE_MAX_SIZE", "0.1"), ("ROSPIN_TRACE_KEEP", "2")];
const FLIGHT: &[(&str, &str)] = &[("ROSPIN_TRACE_FLIGHT", "60")];

#[test]
fn a_program_that_ends_by_itself_leaves_a_whole_recording() {
    for end in ["return", "exit", "SIGINT", "SIGTERM"] {
        for variables in [FILE, ROTATED, FLIGHT] {
            let (faults, events) = faults(end, variables);
            assert!(faults.is_empty() && events > 20, "{end} {variables:?}: {events} events, {faults}");
        }
    }
}

#[test]
fn a_program_that_is_killed_leaves_a_recording_that_says_so() {
    let (faults, _) = faults("SIGKILL", ROTATED);
    assert!(faults.contains("without its end: the program was killed, or it still runs"), "{faults}");
}
