//! Signals end a container. This file is a process of its own, because signals are sent to the whole process.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rospin_container::{ComponentFile, Components, Container, Ended, Setup};
use rospin_engine::{Context, ContextOptions, TimerOptions};
use rospin_node::Ros;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Runs a container whose component sends that signal to its own process.
fn signalled(signal: i32) -> Ended {
    let components = Components::new().register("sender", move |setup: Setup| {
        let group = setup.executor().create_group("send", ());
        group.create_timer(TimerOptions::one_shot(Duration::from_millis(1)), move |(), _| {
            signal_hook::low_level::raise(signal).unwrap();
        })
    });
    let context = Context::new(ContextOptions::new());
    let mut container = Container::new(&context);
    let file = ComponentFile::parse("demo.toml", "[[component]]\ntype = \"sender\"\nname = \"sender\"").unwrap();
    container.start(&components, &Ros::in_process(&context), &file).unwrap();
    container.run_until_signal().unwrap()
}

#[test]
fn either_signal_ends_it_again_and_again() {
    // In one test, because a signal would also reach the containers of other tests.
    assert_eq!(signalled(SIGINT), Ended::Signal { signal: "SIGINT" });
    assert_eq!(signalled(SIGTERM), Ended::Signal { signal: "SIGTERM" });
}

/// The child process of the next test: a container that waits for a callback that never ends.
#[test]
#[ignore = "run by the test below, in a process of its own"]
#[expect(clippy::print_stdout, reason = "it tells the other process that it is ready")]
fn stubborn() {
    let components = Components::new().register("stubborn", |setup: Setup| {
        let group = setup.executor().create_group("stay", ());
        group.create_timer(TimerOptions::one_shot(Duration::from_millis(1)), |(), _| {
            println!("\nstaying");
            std::thread::sleep(PATIENCE);
        })
    });
    let context = Context::new(ContextOptions::new());
    let mut container = Container::new(&context);
    let file = ComponentFile::parse("demo.toml", "[[component]]\ntype = \"stubborn\"\nname = \"stubborn\"").unwrap();
    container.start(&components, &Ros::in_process(&context), &file).unwrap();
    let _ = container.run_until_signal();
}

const PATIENCE: Duration = Duration::from_secs(40);

#[test]
fn a_second_signal_does_not_wait_for_callbacks() {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--exact", "stubborn", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "staying"));
    let begun = Instant::now();
    let status = loop {
        assert!(begun.elapsed() < PATIENCE / 2, "it waits for its callback");
        // Signals that arrive before the first one is handled are merged, so send them one by one.
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.signal(), Some(SIGTERM));
}
