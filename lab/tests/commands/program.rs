//! The program as its users see it: exit codes and messages.

use std::process::{Command, Stdio};

use crate::common::{closed_pipe, text};
use crate::rospin_lab;

#[test]
fn help_is_everywhere_and_no_error() {
    for arguments in
        [&["--help"][..], &["reference-system", "--help"], &["latency", "--help"], &["callback-order", "--help"]]
    {
        let output = rospin_lab(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(text(&output.stdout).contains("Examples:"), "{arguments:?}");
    }
    for experiment in ["reference-system", "latency"] {
        let help = text(&rospin_lab(&[experiment, "--help"]).stdout);
        assert!(!help.contains("order-on-stdin"), "the hidden option shows");
    }
}

#[test]
fn list_names_the_experiment() {
    let output = rospin_lab(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("reference-system  "));
}

#[test]
fn bad_input_is_code_2_and_nothing_on_stdout() {
    let run = ["reference-system"];
    for bad in [
        &["--executors", "round-robin"][..],
        &["--duration", "-1"],
        &["--crunch", "nan"],
        &["--json", "/no/such/folder/out.json"],
        &["--report", "/no/such/folder/out.html"],
        &["--json", "one", "--report", "one"],
        &["--processes", "2"],
        &["--order-on-stdin"],
    ] {
        let output = rospin_lab(&[&run, bad].concat());
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(output.stdout.is_empty(), "{bad:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(bad[0]), "{bad:?}: {said}");
    }
}

#[test]
fn the_reference_system_runs_as_nodes() {
    let report = std::env::temp_dir().join(format!("rospin-lab-{}-nodes.html", std::process::id()));
    let short = ["reference-system", "--quiet", "--duration", "3", "--crunch", "0.1"];
    let run = |options: &[&str]| {
        let outputs = ["--report", report.to_str().expect("a name in UTF-8")];
        let output = rospin_lab(&[&short, options, &outputs].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = run(&["--executors", "priority-multi", "--transport", "in-process"]);
    assert!(said.contains("Nodes talk over in-process.") && !said.contains("no sample"), "{said}");
    if cfg!(feature = "dds") {
        let said = run(&["--transport", "dds", "--processes", "2"]);
        assert!(said.contains("Nodes talk over dds, in 2 processes.") && !said.contains("no sample"), "{said}");
        assert!(!said.contains("could not be sent"), "{said}");
    } else {
        let output = rospin_lab(&[&short[..], &["--transport", "dds"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("build with --features dds"));
    }
    std::fs::remove_file(report).expect("there is a report");
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn the_pipelines_run_on_the_gpu_that_is_there() {
    let report = std::env::temp_dir().join(format!("rospin-lab-{}-gpu.html", std::process::id()));
    let short = ["accelerator", "--quiet", "--duration", "0.5", "--device", "wgpu"];
    let output = rospin_lab(&[&short[..], &["--report", report.to_str().expect("a name in UTF-8")]].concat());
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    if !cfg!(feature = "wgpu") {
        assert_eq!(output.status.code(), Some(2));
        assert!(complaint.contains("build with --features wgpu"), "{complaint}");
    } else if complaint.contains("there is no Vulkan driver") {
        assert_eq!(output.status.code(), Some(1));
        eprintln!("SKIPPED: {complaint}");
    } else {
        assert_eq!(output.status.code(), Some(0), "{complaint}");
        assert!(said.contains("one stream") && said.contains("rospin") && !said.contains("0/0"), "{said}");
        std::fs::remove_file(report).expect("there is a report");
    }
}

#[test]
fn bad_input_to_latency_is_code_2() {
    for bad in [
        &["--variants", "rclcpp-rt"][..],
        &["--core", "9999"],
        &["--load", "101"],
        &["--runs", "0"],
        &["--duration", "0.1"],
        &["--order-on-stdin"],
    ] {
        let output = rospin_lab(&[&["latency"][..], bad].concat());
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        let said = text(&output.stderr);
        assert!(output.stdout.is_empty() && said.starts_with("error: ") && said.contains(bad[0]), "{bad:?}: {said}");
    }
}

#[test]
fn closed_stdout_is_no_panic() {
    // The reading end is closed before the first line is written.
    let mut child = Command::new(env!("CARGO_BIN_EXE_rospin-lab"))
        .args(["list"])
        .stdout(Stdio::from(closed_pipe()))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let status = child.wait().expect("it ends");
    let output = child.wait_with_output().expect("its output is there");
    assert!(status.success(), "{status}");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}
