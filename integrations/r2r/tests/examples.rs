//! The examples print the same under R2R's own loop and under rospin.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the program of an example, which Cargo builds before the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's program");
    let profile = test.parent().and_then(|folder| folder.parent()).expect("target/<profile>/deps/<test>");
    profile.join("examples").join(format!("{name}{EXE_SUFFIX}"))
}

fn output(name: &str, executor: &str) -> String {
    let output = Command::new("timeout")
        .arg("60")
        .arg(program(name))
        .args(["--executor", executor])
        .stderr(Stdio::inherit())
        .output()
        .expect("an example");
    assert!(output.status.success(), "{name} under {executor}: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_examples_print_the_same_under_both_executors() {
    for name in ["subscriber", "service", "action", "parameters"] {
        let plain = output(name, "r2r");
        assert!(!plain.is_empty(), "{name} prints something");
        assert_eq!(output(name, "rospin"), plain, "{name}");
    }
}
