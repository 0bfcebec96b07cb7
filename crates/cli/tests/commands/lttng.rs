//! Traces of ros2_tracing as users read them, and the files of callback_isolated_executor.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::common::{Scratch, rospin, text};

const DRIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/drive.txt");

/// The groups of the recorded system, as the dry run of September 2026 lists them.
const TEMPLATE: &str = include_str!("../template.yaml");

#[test]
fn a_trace_is_learnt_isolated_analyzed_and_deployed() {
    let scratch = Scratch::new("lttng");
    let (template, system, deployment, configuration) = (
        scratch.file("template.yaml", TEMPLATE),
        scratch.path("s.toml"),
        scratch.path("d.toml"),
        scratch.path("c.yaml"),
    );
    let said = rospin(&["trace", "model", DRIVE, "--isolate", &template, "--cores", "2", "-o", &system]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    let learnt = fs::read_to_string(&system).unwrap();
    for part in [
        "cores = 2",
        "name = \"fusion 2\"",
        "\"planner/set_goal\", \"robot/control/set_goal\"]",
        "stay where they were: viewer/",
    ] {
        assert!(learnt.contains(part), "{part} is missing in {learnt}");
    }
    let said = rospin(&["analyze", &system, "--assign", "picas", "--deploy", &deployment, "--no-sensitivity"]);
    assert!(text(&said.stdout).contains("All deadlines hold."), "{}{}", text(&said.stdout), text(&said.stderr));
    let fill = ["deploy", "fill", &template, "--system", &system, "--deployment", &deployment, "-o", &configuration];
    let said = rospin(&fill);
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(
        text(&said.stdout).contains("with 7 of 8 callback groups") && text(&said.stdout).contains("/other@Timer(1)")
    );
    let filled = fs::read_to_string(&configuration).unwrap();
    assert_eq!(filled.matches("policy: SCHED_FIFO").count(), 7, "{filled}");
    assert!(filled.starts_with("hardware_info:\n  model_name: Some CPU\n\ncallback_groups:\n"), "{filled}");
    let rest = TEMPLATE.split_once("  - id: /other@Timer(1)\n").unwrap().1;
    assert!(filled.ends_with(rest), "{filled}");
    assert_eq!(rospin(&fill).status.code(), Some(2), "it is not written over");
}

#[test]
fn a_text_comes_from_stdin_and_other_formats_are_written() {
    let scratch = Scratch::new("lttng-stdin");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rospin"))
        .args(["trace", "report", "-", "--worst", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(DRIVE).unwrap()).unwrap();
    let said = text(&child.wait_with_output().unwrap().stdout);
    for part in ["names neither executors nor callback groups", "camera/timer0 > detector/image > fusion/objects"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    let file = scratch.path("drive.perfetto");
    let said = rospin(&["trace", "convert", DRIVE, "--to", "perfetto", "-o", &file]);
    assert!(said.status.success() && fs::metadata(&file).unwrap().len() > 10_000, "{}", text(&said.stderr));
}

/// Runs the command for the folder of a trace with a script in place of babeltrace2.
fn with_reader(scratch: &Scratch, script: &str, trace: &str) -> (Option<i32>, String) {
    let reader = scratch.file("reader", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&reader, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rospin"))
        .args(["trace", "report", trace, "--worst", "0"])
        .env("ROSPIN_BABELTRACE", reader)
        .output()
        .unwrap();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn babeltrace2_reads_folders_and_its_errors_are_told() {
    let scratch = Scratch::new("lttng-folder");
    let trace = scratch.path("-drive");
    fs::create_dir_all(format!("{trace}/ust/uid/1000/64-bit")).unwrap();
    fs::write(format!("{trace}/ust/uid/1000/64-bit/metadata"), "").unwrap();
    let print = format!("cat {DRIVE}");
    let lossy = format!("{print}; echo 'WARNING: Tracer discarded 7 events between' >&2");
    let (code, said) = with_reader(&scratch, &lossy, &trace);
    assert!(code == Some(0) && said.contains("7 more are missing"), "{said}");
    // It prints what it can, and fails.
    let (code, said) = with_reader(
        &scratch,
        &format!("{print}; printf 'ERROR: [x]\\n  the packet is cut off\\n' >&2; exit 1"),
        &trace,
    );
    assert!(code == Some(0) && said.contains("babeltrace2 stopped here: the packet is cut off"), "{said}");
    let (code, said) = with_reader(&scratch, "echo 'no metadata' >&2; exit 1", &trace);
    assert!(code == Some(2) && said.contains("babeltrace2 cannot read it: no metadata"), "{said}");
    let (code, said) = with_reader(&scratch, "exit 0", &trace);
    assert!(code == Some(2) && said.contains("lttng enable-event"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_rospin"))
        .args(["trace", "model", &trace])
        .env("ROSPIN_BABELTRACE", "/no/babeltrace2")
        .output()
        .unwrap();
    assert!(text(&output.stderr).contains("apt install babeltrace2"), "{}", text(&output.stderr));
}

#[test]
fn other_templates_are_refused() {
    let scratch = Scratch::new("lttng-template");
    let other = scratch.file("other.yaml", "a: 1\n");
    for arguments in [
        &["trace", "model", DRIVE, "--isolate", &other][..],
        &["deploy", "fill", &other, "--system", DRIVE, "--deployment", DRIVE],
    ] {
        let output = rospin(arguments);
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains("is no template of callback_isolated_executor"),
            "{said}"
        );
    }
    let output = rospin(&["trace", "model", DRIVE, "--isolate", "/nowhere.yaml"]);
    assert!(text(&output.stderr).contains("/nowhere.yaml: cannot be read"), "{}", text(&output.stderr));
}
