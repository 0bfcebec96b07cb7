//! `rospin trace model` as its users see it.

use std::fs;

use crate::common::{Scratch, rospin, text};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/golden.mcap");

#[test]
fn a_learnt_system_is_analyzed_and_simulated() {
    let scratch = Scratch::new("learnt");
    let file = scratch.path("system.toml");
    let output = rospin(&["trace", "model", GOLDEN, "-o", &file]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), format!("System: {file}\n")));
    // The timer publishes twice, and the recorded system has just enough time for one message.
    let overloaded = rospin(&["analyze", &file]);
    assert!(text(&overloaded.stderr).contains("core 0 is overloaded"), "{}", text(&overloaded.stderr));
    let slower = scratch.path("slower.toml");
    fs::write(&slower, fs::read_to_string(&file).unwrap().replace("period = \"10 ms\"", "period = \"30 ms\"")).unwrap();
    let said = text(&rospin(&["analyze", &slower]).stdout);
    assert!(said.contains("planner") && said.contains("lidar to planner"), "{said}");
    let simulated = rospin(&["simulate", &file, "--quiet"]);
    assert!(text(&simulated.stderr).is_empty(), "{}", text(&simulated.stderr));
    // It is not written over, since somebody may have edited it.
    let again = rospin(&["trace", "model", GOLDEN, "-o", &file]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("name a file that is not there"), "{}", text(&again.stderr));
    // Compared with itself, only the margin is different, and that does not count.
    let same = rospin(&["trace", "model", GOLDEN, "--margin", "0", "--compare", &file]);
    assert_eq!(same.status.code(), Some(0));
    let said = text(&same.stdout);
    assert!(said.contains("3 callbacks, 2 edges, 1 chains") && said.contains("Structure: no difference."), "{said}");
    assert!(said.contains("Execution times of 3: 1 within 5 %"), "{said}");
    let other = fs::read_to_string(&file).unwrap().replace("publishes = [\"tracks\"]", "");
    let chains = other.find("# Latency").unwrap();
    fs::write(&file, &other[..chains]).unwrap();
    let differs = rospin(&["trace", "model", GOLDEN, "--compare", &file]);
    assert_eq!(differs.status.code(), Some(1));
    assert!(text(&differs.stdout).contains("edge  tracker > planner"), "{}", text(&differs.stdout));
    assert!(text(&differs.stderr).contains("differ in structure: 1 difference"), "{}", text(&differs.stderr));
}

#[test]
fn mistakes_name_the_place_and_the_fix() {
    let scratch = Scratch::new("learnt-mistakes");
    let broken = scratch.path("broken.toml");
    fs::write(&broken, "duration = \"soon\"\n").unwrap();
    for (arguments, said) in [
        (&["trace", "model", "/nowhere.mcap"][..], "/nowhere.mcap: cannot be read"),
        (&["trace", "model", GOLDEN, "--compare", &broken], "broken.toml:1:12: `duration`"),
        (&["trace", "model", GOLDEN, "--margin", "-1"], "give a number of percent from 0 to 1000"),
        (&["trace", "model", GOLDEN, "--percentile", "0"], "give a number of percent from 1 to 100"),
        (&["trace", "model", GOLDEN, "-o", "/nowhere/system.toml"], "--output /nowhere/system.toml: cannot be written"),
    ] {
        let output = rospin(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}
