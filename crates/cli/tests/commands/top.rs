//! `rospin top` and `rospin trace record --pid` beside programs that run: this file's program, run again as processes
//! of their own.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rospin::{ContextOptions, Middlewares, Priority, RosArguments, TimerOptions};
use rospin_trace::{Model, Recording};
use serde_json::Value;

use crate::common::{Scratch, text};

const IS_CHILD: &str = "ROSPIN_TEST_CHILD";
/// The value of that variable for a program whose planner starves its scanner.
const STARVED: &str = "starved";
/// How often a tool looks at a program that the kernel may keep from running.
const ATTEMPTS: usize = 20;

/// The program that is watched: a timer that misses its deadline, and another one; or a planner that works 60 ms of
/// each 50, and a scanner that is less urgent.
#[test]
fn program() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let ready = || std::io::stdout().write_all(b"ready\n").unwrap();
    if std::env::var_os(IS_CHILD).is_some_and(|which| which == STARVED) {
        let (planner, scanner) = (ros.create_node("planner").unwrap(), ros.create_node("scanner").unwrap());
        let mut runs = 0;
        let plan = TimerOptions::periodic(Duration::from_millis(50)).name("planner/plan").priority(Priority(10));
        let _plan = planner.create_timer(plan, move |_| {
            std::thread::sleep(Duration::from_millis(60));
            runs += 1;
            if runs == 3 {
                ready();
            }
        });
        let scan = TimerOptions::periodic(Duration::from_millis(25)).name("scanner/scan").priority(Priority(0));
        let _scan = scanner.create_timer(scan, |_| {});
        return ros.spin().unwrap();
    }
    let node = ros.create_node("robot").unwrap();
    let slow = TimerOptions::periodic(Duration::from_millis(10)).name("slow").deadline(Duration::from_millis(1));
    let _slow = node.create_timer(slow, |_| std::thread::sleep(Duration::from_millis(3)));
    let mut runs = 0;
    let fast = TimerOptions::periodic(Duration::from_millis(5)).name("fast");
    let _fast = node.create_timer(fast, move |_| {
        runs += 1;
        if runs == 2 {
            ready();
        }
    });
    ros.spin().unwrap();
}

/// A program that runs. Its standard output stays open for as long.
struct Program(Child);

impl Program {
    /// Starts it, and waits until it is ready.
    fn start(runtime: &Scratch) -> Self {
        Self::start_as(runtime, "1")
    }

    fn start_as(runtime: &Scratch, which: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["top::program", "--exact", "--nocapture"])
            .env(IS_CHILD, which)
            .env("XDG_RUNTIME_DIR", runtime.path("."));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")), "it ended");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rospin(runtime: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rospin"));
    command.args(arguments).env("XDG_RUNTIME_DIR", runtime.path(".")).stdin(Stdio::null());
    command.output().unwrap()
}

fn watched(runtime: &Scratch, programs: &[&Program]) -> Value {
    let pids: Vec<String> = programs.iter().map(|program| program.pid()).collect();
    let chosen = pids.iter().flat_map(|pid| ["--pid", pid]);
    let arguments: Vec<&str> = ["top", "--json", "--once", "--interval", "0.5"].into_iter().chain(chosen).collect();
    let output = rospin(runtime, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Watches until an interval comes in which all callbacks of all programs run. On a busy machine, the kernel may keep a
/// program from running for a whole one.
fn watched_running(runtime: &Scratch, programs: &[&Program]) -> Value {
    let runs = |callback: &Value| callback["rate_hz"].as_f64().is_some_and(|rate| rate > 0.0);
    let mut shown = Value::Null;
    for _ in 0..ATTEMPTS {
        shown = watched(runtime, programs);
        let all = shown["programs"].as_array().unwrap();
        if all.iter().all(|program| ["slow", "fast"].iter().all(|name| runs(callback(program, name)))) {
            return shown;
        }
    }
    panic!("{shown:#}");
}

/// Returns the callback whose name ends so.
fn callback<'a>(program: &'a Value, name: &str) -> &'a Value {
    let callbacks = program["callbacks"].as_array().unwrap();
    callbacks.iter().find(|of| of["name"].as_str().unwrap().ends_with(name)).expect("the callback")
}

#[test]
fn two_programs_are_watched_and_one_ends() {
    let runtime = Scratch::new("top");
    let (one, other) = (Program::start(&runtime), Program::start(&runtime));
    let both = watched_running(&runtime, &[&one, &other]);
    assert_eq!(both["programs"].as_array().unwrap().len(), 2);
    for program in both["programs"].as_array().unwrap() {
        assert_eq!(program["trouble"], Value::Null);
        let (slow, fast) = (callback(program, "slow"), callback(program, "fast"));
        // The machine may be busy, so that rates are lower, or that events of one interval arrive in the next one.
        assert!(slow["rate_hz"].as_f64().unwrap() <= 200.0, "{slow}");
        assert!(fast["runs"].as_u64().unwrap() > 0, "{fast}");
        assert!(slow["missed"].as_u64().unwrap() > 0 && slow["deadline_ns"] == 1_000_000, "{slow}");
        assert!(slow["execution"]["p99_ns"].as_u64().unwrap() >= 3_000_000, "{slow}");
        let threads = program["kernel_threads"].as_array().unwrap();
        assert!(threads.iter().any(|thread| thread["name"] == "rospin-live" && thread["class"] == "other"));
        assert!(threads.len() >= 3, "{threads:?}");
    }
    let socket = PathBuf::from(runtime.path("rospin")).join(format!("{}.sock", one.pid()));
    assert!(socket.exists());
    drop(one);
    assert_eq!(watched(&runtime, &[&other])["programs"].as_array().unwrap().len(), 1);
    let shown = rospin(&runtime, &["top", "--once", "--interval", "0.2", "--name", "commands"]);
    assert!(text(&shown.stdout).contains(&format!("\n{} ", other.pid())), "{}", text(&shown.stdout));
    assert!(!socket.exists(), "who found nobody there removes the socket");
    let nobody = rospin(&runtime, &["top", "--once", "--interval", "0.1", "--name", "no such program"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("`no such program` in its name"), "{}", text(&nobody.stderr));
}

/// The release that nobody serves is older than the watch.
#[test]
fn a_callback_that_starves_is_told_with_the_one_that_keeps_it_from_running() {
    let runtime = Scratch::new("starved");
    let program = Program::start_as(&runtime, STARVED);
    let (pid, mut shown) = (program.pid(), String::new());
    let is_told = |shown: &str| {
        let mut lines = shown.lines().filter(|line| line.contains("scanner/scan has not run for "));
        lines.any(|line| line.ends_with(" s (period 25 ms): planner/plan held its thread"))
    };
    // On a busy machine, the kernel may keep the thread from running at the end of an interval.
    for _ in 0..ATTEMPTS {
        shown = text(&rospin(&runtime, &["top", "--once", "--interval", "1.5", "--pid", &pid]).stdout).to_owned();
        if is_told(&shown) {
            return;
        }
    }
    panic!("{shown}");
}

#[test]
fn a_program_that_runs_is_recorded() {
    let runtime = Scratch::new("attach");
    let program = Program::start(&runtime);
    let pid = program.pid();
    let record = |file: &str| {
        let arguments = ["trace", "record", "--pid", &pid, "--seconds", "0.5", "--output", file];
        rospin(&runtime, &arguments)
    };
    let mut file = String::new();
    // On a busy machine, the kernel may keep the program from running meanwhile.
    let is_recorded = (0..ATTEMPTS).any(|attempt| {
        file = runtime.path(&format!("run{attempt}.mcap"));
        let output = record(&file);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).ends_with(&format!("rospin trace report {file}\n")));
        let recordings = Recording::open(file.as_ref()).unwrap();
        assert_eq!(recordings[0].faults, []);
        let model = Model::new(&recordings);
        let slow = model.callbacks.iter().find(|callback| callback.name.ends_with("slow"));
        slow.is_some_and(|slow| !slow.activations.is_empty())
    });
    assert!(is_recorded, "`slow` never ran");
    // The file is there already.
    let again = record(&file);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("cannot be created"), "{}", text(&again.stderr));
}

#[test]
fn mistakes_name_the_option() {
    let runtime = Scratch::new("mistakes");
    let system = runtime.file("system.toml", "duration = 1");
    for (arguments, said) in [
        (&["top", "--interval", "0"][..], "--interval"),
        (&["top", "--sort", "colour"], "--sort"),
        (&["top", "--system", "/nowhere.toml"], "/nowhere.toml"),
        (&["top", "--system", &system], "system.toml:1:"),
        (&["top", "--json", "--plain"], "--plain"),
    ] {
        let output = rospin(&runtime, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
}
