//! SIGINT and SIGTERM, sent to a program of its own: this test binary with `ROSPIN_TEST_PROGRAM` in its environment.

#![expect(clippy::print_stdout, reason = "the started program tells this one what it does")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rospin::{ContextOptions, ExecutorOptions, Middlewares, RosArguments, SpinOptions};
use rustix::process::{Pid, Signal, kill_process};

const VARIABLE: &str = "ROSPIN_TEST_PROGRAM";
/// Longer than the time in which two signals are one request.
const A_WHILE: Duration = Duration::from_millis(1500);

/// Runs the program that the test starts. It spins two executors. A callback of the first one prints `running`, and
/// takes as many milliseconds as the variable says.
#[test]
fn program() {
    let Ok(millis) = std::env::var(VARIABLE) else { return };
    let callback = Duration::from_millis(millis.parse().unwrap());
    let ros = rospin::init_with(ContextOptions::new(), Middlewares::InProcess, RosArguments::default()).unwrap();
    let node = ros.create_node("node").unwrap();
    let other = ros.context().create_executor(ExecutorOptions::new("other"));
    let spinning = thread::spawn(move || other.spin(SpinOptions::new()).unwrap());
    let _timer = node.create_timer(Duration::from_millis(1), move |_| {
        println!("running");
        thread::sleep(callback);
        println!("done");
    });
    ros.spin().unwrap();
    spinning.join().unwrap();
    drop(node);
    println!("clean end");
}

struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts the program, and returns when its callback runs.
    fn start(callback: Duration) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "program", "--nocapture"]).env(VARIABLE, callback.as_millis().to_string());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut program = Self { child, output };
        assert!(program.reaches("running"));
        program
    }

    /// Reads until that line, and returns false if it does not come.
    fn reaches(&mut self, expected: &str) -> bool {
        self.output.by_ref().lines().any(|line| line.unwrap() == expected)
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

#[test]
fn one_signal_ends_all_spins_after_the_callback() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut program = Program::start(Duration::from_millis(300));
        program.send(signal);
        assert!(program.reaches("done") && program.reaches("clean end"));
        assert!(program.end().success());
    }
}

/// A terminal sends SIGINT to a launcher and its programs, and the launcher sends it to the programs once more.
#[test]
fn the_same_signal_twice_at_once_is_one_request() {
    let mut program = Program::start(Duration::from_millis(300));
    program.send(Signal::INT);
    thread::sleep(Duration::from_millis(20));
    program.send(Signal::INT);
    assert!(program.reaches("clean end"));
    assert!(program.end().success());
}

#[test]
fn a_later_signal_ends_the_process_although_a_callback_runs() {
    use std::os::unix::process::ExitStatusExt;

    let mut program = Program::start(Duration::from_secs(600));
    program.send(Signal::INT);
    thread::sleep(A_WHILE);
    program.send(Signal::TERM);
    assert!(!program.reaches("done"));
    assert_eq!(program.end().signal(), Some(Signal::TERM.as_raw()));
}
