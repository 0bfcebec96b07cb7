//! `rospin analyze` acts: it applies changes, draws critical instants, keeps reservations, and ends at Ctrl-C.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rospin_scenario::{Bounds, Deployment, Scenario};
use serde_json::Value;

use crate::common::{Scratch, rospin, text};

/// Two groups in one executor: the map blocks the control for longer than that can wait.
const LATE: &str = r#"
duration = "1 s"
cores = 2

[[executor]]
name = "main"
cores = [0]

[[group]]
name = "control"
executor = "main"

[[group]]
name = "map"
executor = "main"

[[callback]]
name = "control"
group = "control"
kind = "timer"
priority = 2
period = "10 ms"
execution = "2 ms"

[[callback]]
name = "map"
group = "map"
kind = "timer"
priority = 1
period = "40 ms"
execution = "9 ms"
"#;

#[test]
fn proven_bounds_are_written_for_programs_that_compare_themselves_with_them() {
    let scratch = Scratch::new("bounds");
    let file = scratch.file("late.toml", LATE);
    let bounds = scratch.path("bounds.toml");
    let output = rospin(&["analyze", &file, "--no-sensitivity", "--bounds", &bounds]);
    assert!(text(&output.stdout).contains(&format!("Bounds: {bounds}")), "{output:?}");
    let written = Bounds::load(std::path::Path::new(&bounds)).unwrap();
    assert!(written.are_of(&Scenario::parse(LATE).unwrap()));
    let control = written.callbacks.iter().find(|callback| callback.name == "control").unwrap();
    assert_eq!(control.bound.as_nanos(), 10_999_999, "it waits for the map, which began a nanosecond before");
    assert!(fs::read_to_string(&bounds).unwrap().starts_with("# Proven for "));
    let output = rospin(&["analyze", &file, "--bounds", &bounds]);
    assert!(text(&output.stderr).contains("is there already; name a file that is not there"), "{output:?}");
}

#[test]
fn a_change_is_applied_and_deployed() {
    let scratch = Scratch::new("apply");
    let file = scratch.file("late.toml", LATE);
    let said = text(&rospin(&["analyze", &file]).stdout);
    assert!(said.contains("  1. move group `control` to an executor of its own, `control alone`, on core 1"), "{said}");
    assert!(said.contains("split `map` into two callbacks of 4.5ms and 4.5ms"), "{said}");
    assert!(said.contains("--apply N --deploy OUT makes change N"), "{said}");
    let numbers = said.lines().filter_map(|line| line.trim_start().split_once(". ")).map(|(number, _)| number);
    let numbers: Vec<&str> = numbers.filter(|number| number.parse::<u8>().is_ok()).collect();
    assert_eq!(numbers[..4], ["1", "2", "3", "4"], "{said}");

    // Every proposed change makes the deadlines hold, and its deployment file has that change.
    let changes =
        said.lines().filter(|line| ["move", "split", "give"].iter().any(|word| line.contains(&format!(". {word} "))));
    let changes: Vec<String> = changes.map(|line| line.trim_start().to_owned()).collect();
    assert!(changes.len() >= 3, "{said}");
    for change in &changes {
        let (number, told) = change.split_once(". ").unwrap();
        let deployment = scratch.path(&format!("{number}.toml"));
        let with = rospin(&["analyze", &file, "--apply", number, "--deploy", &deployment]);
        if told.starts_with("split") {
            assert_eq!(with.status.code(), Some(2));
            assert!(text(&with.stderr).contains("no deployment file can split `map`"), "{}", text(&with.stderr));
            let alone = rospin(&["analyze", &file, "--apply", number]);
            assert_eq!(alone.status.code(), Some(0), "{}", text(&alone.stdout));
            assert!(text(&alone.stdout).contains("map rest"));
            continue;
        }
        assert_eq!(with.status.code(), Some(0), "{change}: {}{}", text(&with.stdout), text(&with.stderr));
        assert!(text(&with.stdout).contains(&format!("changed: {told}")), "{change}");
        let written = fs::read_to_string(&deployment).unwrap();
        assert!(written.contains(told), "{written}");
        Deployment::load(&deployment).unwrap();
    }
    let loaded = Deployment::load(scratch.path("1.toml")).unwrap();
    assert_eq!(loaded.executors[1].name, "control alone");
    let moved = loaded.groups.iter().find(|plan| plan.name == "control").unwrap();
    assert_eq!(moved.executor, "control alone");

    for (number, expected) in [("99", "give a number from 1 to"), ("0", "--apply")] {
        let output = rospin(&["analyze", &file, "--apply", number]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let fine = scratch.file("fine.toml", &LATE.replace("\"9 ms\"", "\"1 ms\""));
    let output = rospin(&["analyze", &fine, "--apply", "1"]);
    assert!(text(&output.stderr).contains("--apply 1: all deadlines hold already"), "{}", text(&output.stderr));
}

#[test]
fn the_critical_instant_is_shown_and_is_the_bound_where_that_is_exact() {
    let scratch = Scratch::new("critical");
    let file = scratch.file("late.toml", LATE);
    let (json, report) = (scratch.path("out.json"), scratch.path("out.html"));
    let output = rospin(&["analyze", &file, "--critical", "control", "--json", &json, "--report", &report]);
    let said = text(&output.stdout);
    let line = "From the critical instant of `control`: 10.999999ms until it has ended; the bound is 10.999999ms.";
    assert!(said.contains(line), "{said}");
    let figures: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let instants = figures["critical_instants"].as_array().unwrap();
    assert_eq!(instants.len(), 1, "asked for and not proven: once");
    let ran = instants[0]["ran"].as_array().unwrap();
    let order: Vec<_> = ran.iter().map(|piece| piece["callback"].as_str().unwrap()).collect();
    assert_eq!(order, ["control", "map"], "by callback");
    assert_eq!(ran[0]["end_ms"].as_f64(), Some(11.0), "the map began a nanosecond before");
    let page = fs::read_to_string(report).unwrap();
    assert!(page.contains("<h2>Critical instant of control</h2>") && page.matches("<svg").count() == 2);
    let output = rospin(&["analyze", &file, "--critical", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("no callback or chain of that name; known are control, map"), "{error}");
}

#[test]
fn a_reservation_is_analysed_and_deployed() {
    let scratch = Scratch::new("reserve");
    let file = scratch.file("free.toml", &LATE.replace("\"9 ms\"", "\"1 ms\"").replace("\"10 ms\"", "\"20 ms\""));
    let deployment = scratch.path("deployment.toml");
    let output = rospin(&["analyze", &file, "--reserve", "main=2ms/5ms", "--deploy", &deployment]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("main has 2ms in every 5ms") && said.contains("busy window under a reservation"), "{said}");
    let written = fs::read_to_string(deployment).unwrap();
    assert!(written.contains("deadline") && written.contains("2 ms"), "{written}");
    for (reservation, expected) in [
        ("other=2ms/5ms", "there is no executor `other` to give a reservation to; known are main"),
        ("main=6ms/5ms", "the budget is above zero and at most the period"),
        ("main=1ms/50ms", "overloaded"),
        ("main=1/5ms", "has no unit"),
        ("main", "as in main=2ms/10ms"),
    ] {
        let output = rospin(&["analyze", &file, "--reserve", reservation]);
        assert_eq!(output.status.code(), Some(2), "{reservation}");
        assert!(text(&output.stderr).contains(expected), "{reservation}: {}", text(&output.stderr));
    }
    let twice = rospin(&["analyze", &file, "--reserve", "main=2ms/5ms", "--reserve", "main=3ms/5ms"]);
    assert!(text(&twice.stderr).contains("two reservations for one executor"), "{}", text(&twice.stderr));
}

/// Returns a scenario with so many callbacks that the search after the bounds takes minutes.
fn large() -> String {
    let mut system = "duration = \"1 s\"\n[[executor]]\nname = \"main\"\n[[group]]\nname = \"node\"\n".to_owned();
    for number in 0..120 {
        let period = 50_000 + 997 * number;
        let _ = write!(
            system,
            "[[callback]]\nname = \"c{number}\"\nkind = \"timer\"\npriority = {number}\nperiod = \"{period} us\"\n\
             execution = \"160 us\"\npublishes = [\"d{number}\"]\n\
             [[callback]]\nname = \"d{number}\"\nkind = \"service\"\npriority = {number}\nexecution = \"100 us\"\n"
        );
    }
    system
}

/// Sends the first Ctrl-C once the bounds are there. It ends the search with what is known, and the exit code says what
/// that is.
#[test]
fn ctrl_c_prints_what_is_known() {
    let scratch = Scratch::new("interrupt");
    let file = scratch.file("large.toml", &large());
    let mut child = Command::new(env!("CARGO_BIN_EXE_rospin"))
        .args(["analyze", &file])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut before = String::new();
    while !before.contains("All deadlines hold.") && !before.contains("Not proven to hold: ") {
        assert_ne!(said.read_line(&mut before).expect("text"), 0, "the bounds come first: {before}");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let mut after = String::new();
    said.read_to_string(&mut after).expect("text");
    let code = child.wait().expect("it ends").code();
    let expected = if before.contains("All deadlines hold.") { 0 } else { 1 };
    assert_eq!(code, Some(expected), "{after}");
    assert!(after.contains("?: not known of") && after.contains("Assumptions:"), "{after}");
}
