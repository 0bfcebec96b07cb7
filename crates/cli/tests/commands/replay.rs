//! `rospin replay`: the same decisions, the first one that differs, and what if.

use std::fs;

use crate::common::{Scratch, rospin, text};

const ROBOT: &str = r#"duration = "2 s"
[[executor]]
name = "main"
[[group]]
name = "node"
[[callback]]
name = "lidar"
kind = "timer"
period = "10 ms"
execution = "2 ms"
priority = 3
publishes = ["plan"]
[[callback]]
name = "map"
kind = "timer"
period = "10 ms"
execution = "5 ms"
priority = 1
[[callback]]
name = "plan"
kind = "subscription"
execution = { uniform = ["500 us", "1 ms"] }
priority = 2
"#;

/// Records a simulation, and returns the path of the recording.
fn record(scratch: &Scratch) -> String {
    let (scenario, recording) = (scratch.file("robot.toml", ROBOT), scratch.path("drive.mcap"));
    let done = rospin(&["simulate", &scenario, "--record", &recording, "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let again = rospin(&["simulate", &scenario, "--record", &recording, "--quiet"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("name a file that is not there"), "{}", text(&again.stderr));
    recording
}

/// Returns the exit code, and what the command said on stdout and stderr.
fn replay(arguments: &[&str]) -> (Option<i32>, String) {
    let done = rospin(&[&["replay"], arguments].concat());
    (done.status.code(), text(&done.stdout) + &text(&done.stderr))
}

#[test]
fn a_simulation_is_replayed_and_another_policy_differs() {
    let scratch = Scratch::new("replay");
    let recording = record(&scratch);
    let (code, said) = replay(&[&recording]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("main (fixed-priority, 1 thread): the same 597 decisions"), "{said}");
    assert_eq!(replay(&[&recording, "--quiet"]), (Some(0), String::new()));
    let (code, said) = replay(&[&recording, "--against", "fifo"]);
    assert_eq!(code, Some(1), "{said}");
    // At 10 ms both timers are due. `plan` is ready at 12 ms, and `map` since 10 ms.
    for wanted in
        ["Decision 2, 2.000000 ms", "recorded: plan #2", "replayed: map #1", "recorded fixed-priority, replayed fifo"]
    {
        assert!(said.contains(wanted), "{wanted} is missing in {said}");
    }
    let (code, said) = replay(&[&recording, "--executor", "mian"]);
    assert!(code == Some(2) && said.contains("no executor `mian`; it has main"), "{said}");
}

#[test]
fn changes_are_shown_beside_what_was_recorded() {
    let scratch = Scratch::new("replay-what-if");
    let recording = record(&scratch);
    let line = |said: &str, first: &str, case: &str| -> Vec<String> {
        let lines: Vec<&str> = said.lines().collect();
        let at = lines.iter().position(|line| line.starts_with(first)).unwrap_or_else(|| panic!("{first} in {said}"));
        let line = lines[at..].iter().find(|line| line.contains(case)).unwrap_or_else(|| panic!("{case} in {said}"));
        let behind = line.split_once(case).map_or("", |(_, behind)| behind);
        behind.split_whitespace().map(str::to_owned).collect()
    };
    let (code, said) = replay(&[&recording, "--simulate"]);
    assert_eq!(code, Some(0), "{said}");
    for callback in ["lidar", "map", "plan"] {
        assert_eq!(line(&said, callback, "recorded"), line(&said, callback, "simulated"), "{said}");
    }
    let (code, said) = replay(&[&recording, "--priority", "map=9", "--scale", "map=1.2"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(line(&said, "lidar", "recorded")[1..4], ["2.000", "2.000", "2.000"], "{said}");
    assert_eq!(line(&said, "lidar", "changed")[1..4], ["8.000", "8.000", "8.000"], "{said}");
    assert_eq!(line(&said, "map", "changed")[1..4], ["6.000", "6.000", "6.000"], "{said}");
    let deployment = scratch.file("deploy.toml", "[[callback]]\nname = \"map\"\npriority = 9\n");
    let (_, said) = replay(&[&recording, "--deployment", &deployment]);
    assert_eq!(line(&said, "lidar", "changed")[1..4], ["7.000", "7.000", "7.000"], "{said}");
    let (_, said) = replay(&[&recording, "--threads", "2"]);
    assert_eq!(line(&said, "lidar", "changed")[1..2], ["2.000"], "one group: the second thread is of no use: {said}");
}

#[test]
fn mistakes_are_told_with_their_fix() {
    let scratch = Scratch::new("replay-mistakes");
    let recording = record(&scratch);
    let (empty, foreign) = (scratch.file("empty.mcap", ""), scratch.file("foreign.mcap", "[robot]\n"));
    for (arguments, wanted) in [
        (&["/nowhere.mcap"][..], "/nowhere.mcap: cannot be read"),
        (&[&empty], "has no events of rospin"),
        (&[&foreign], "is no recording"),
        (
            &[&recording, "--priority", "mop=3"],
            "--priority mop: the recording has no such callback; it has lidar, map, plan",
        ),
        (&[&recording, "--priority", "map=high"], "a priority is a whole number"),
        (&[&recording, "--priority", "map"], "write NAME=VALUE"),
        (&[&recording, "--scale", "map=-1"], "a factor is a number"),
        (&[&recording, "--policy", "fair"], "there is no policy `fair`"),
        (&[&recording, "--policy", "side=fifo"], "no such executor; it has main"),
        (&[&recording, "--threads", "0"], "1 to 256 threads"),
        (&[&recording, "--deployment", "/nowhere.toml"], "/nowhere.toml"),
        (&[&recording, "--against", "fair"], "wait-set-e1"),
    ] {
        let (code, said) = replay(arguments);
        assert!(code == Some(2) && said.contains(wanted), "{arguments:?}: {said}");
    }
}

#[test]
fn a_recording_that_is_cut_off_is_replayed_as_far_as_it_goes() {
    let scratch = Scratch::new("replay-cut");
    let recording = record(&scratch);
    let whole = fs::read(&recording).expect("a recording");
    for share in [3, 20, 50, 80] {
        let cut = scratch.path("cut.mcap");
        fs::write(&cut, &whole[..whole.len() * share / 100]).expect("a file");
        let (code, said) = replay(&[&cut]);
        assert!(code == Some(0) || code == Some(2), "{share} %: {said}");
        assert!(said.contains("cut off") || said.contains("ends here"), "{share} %: {said}");
    }
}
