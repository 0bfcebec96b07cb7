//! The command as its users see it: exit codes and messages of the built program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Scratch, closed_pipe, rospin, text};

#[test]
fn help_is_everywhere_and_no_error() {
    for arguments in [&["--help"][..], &["simulate", "--help"]] {
        let output = rospin(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(text(&output.stdout).contains("Examples:"), "{arguments:?}");
    }
}

#[test]
fn without_a_command_it_prints_its_help() {
    let output = rospin(&[]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(said.contains("Usage: rospin") && said.contains("rospin doctor"), "{said}");
}

/// Writes a program that prints `place`, its own process's number and its arguments, and ends with code 7.
fn fake_lab(place: &str, program: &str) {
    fs::create_dir_all(Path::new(program).parent().expect("a folder")).expect("a folder");
    fs::write(program, format!("#!/bin/sh\necho {place} $$ \"$@\"\nexit 7\n")).expect("a program");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("rights");
}

/// The program in a folder of its own, away from this checkout.
fn copy_of_rospin(program: &str) -> Command {
    fs::create_dir_all(Path::new(program).parent().expect("a folder")).expect("a folder");
    let own = env!("CARGO_BIN_EXE_rospin");
    // A link is less to write. It is not possible to another file system.
    fs::hard_link(own, program).or_else(|_| fs::copy(own, program).map(drop)).expect("a copy");
    Command::new(program)
}

#[test]
fn the_lab_is_a_program_beside_or_in_the_checkout_or_on_the_path() {
    let folder = Scratch::new("lab");
    let rospin = folder.path("checkout/target/debug/rospin");
    let mut command = copy_of_rospin(&rospin);
    let places = [
        ("path", folder.path("bin/rospin-lab")),
        ("debug", folder.path("checkout/lab/target/debug/rospin-lab")),
        ("release", folder.path("checkout/lab/target/release/rospin-lab")),
        ("beside", folder.path("checkout/target/debug/rospin-lab")),
    ];
    command.args(["lab", "timers", "--help", "a b"]).env("PATH", format!("/usr/bin:/bin:{}", folder.path("bin")));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    for (place, program) in places {
        if place == "debug" {
            fs::create_dir_all(folder.path("checkout/lab")).expect("a folder");
            folder.file("checkout/lab/Cargo.toml", "");
        }
        fake_lab(place, &program);
        let child = command.spawn().expect("it starts");
        // The same process, so signals reach the lab.
        let expected = format!("{place} {} timers --help a b\n", child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(text(&output.stdout), expected);
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn without_the_lab_it_says_how_to_build_it() {
    let folder = Scratch::new("no-lab");
    let mut command = copy_of_rospin(&folder.path("rospin"));
    let output = command.args(["lab", "list"]).env("PATH", folder.path(".")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cargo build --release --manifest-path lab/Cargo.toml"), "{said}");
}

/// `rospin analyze FILE --deploy OUT | head` writes the whole file, and so do the others.
#[test]
fn files_are_written_without_a_reader() {
    let folder = std::env::temp_dir().join(format!("rospin-cli-{}-unread", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let system = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/scenarios/latency.toml");
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/golden.mcap");
    let commands = [
        (&["analyze"][..], system, "--deploy"),
        (&["analyze"], system, "--json"),
        (&["simulate"], system, "--report"),
        (&["trace", "report"], recording, "--html"),
    ];
    for (command, input, option) in commands {
        let command = command.join(" ");
        let file = folder.join(format!("{command}{option}"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_rospin"))
            .args(command.split(' '))
            .args([input, option])
            .arg(&file)
            .stdout(Stdio::from(closed_pipe()))
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.wait().expect("it ends");
        let bytes = std::fs::metadata(&file).map(|data| data.len());
        assert!(bytes.is_ok_and(|bytes| bytes > 100), "{command} {option} wrote nothing");
    }
    std::fs::remove_dir_all(folder).expect("it is there");
}
