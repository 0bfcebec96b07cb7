//! `rospin analyze` as its users see it.

use std::fs;

use rospin_scenario::Deployment;
use serde_json::Value;

use crate::common::{Scratch, rospin, text};

fn shipped(name: &str) -> String {
    format!("{}/../scenario/scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs `rospin analyze` with these arguments, and returns its JSON and its exit code.
fn analyze(scratch: &Scratch, arguments: &[&str]) -> (Value, Option<i32>) {
    let json = scratch.path("out.json");
    let output = rospin(&[&["analyze", "--quiet", "--json", &json][..], arguments].concat());
    assert!(output.stdout.is_empty(), "quiet: {}", text(&output.stdout));
    let figures = fs::read_to_string(&json).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (serde_json::from_str(&figures).expect("JSON"), output.status.code())
}

/// Returns the entry of this name in one of the lists of the JSON.
fn of<'a>(figures: &'a Value, list: &str, name: &str) -> &'a Value {
    let found = figures[list].as_array().expect("a list").iter().find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("{list} has no {name}"))
}

#[test]
fn the_bounds_of_the_paper_are_reached_by_the_simulator() {
    let scratch = Scratch::new("paper");
    let (figures, code) = analyze(&scratch, &[&shipped("latency.toml"), "--simulate", "--seeds", "2"]);
    assert_eq!(code, Some(0));
    for (number, bound) in [2.0, 6.0, 13.0, 36.0, 170.0].into_iter().enumerate() {
        let callback = &figures["callbacks"][number];
        assert_eq!(callback["name"], format!("topic{}", number + 1));
        assert_eq!((callback["bound_ms"].as_f64(), callback["simulated_max_ms"].as_f64()), (Some(bound), Some(bound)));
        assert_eq!(callback["holds"], true);
    }
    assert_eq!(figures["cores"][0]["core"], 0);
    assert!((figures["cores"][0]["utilization"].as_f64().unwrap() - 0.9).abs() < 1e-9);
    assert!(figures["method"].as_str().unwrap().contains("preemptive fixed priority"));
    assert!(figures["assumptions"].as_array().unwrap().len() >= 3);
}

/// Each `word: explanation` below a table is a title or a cell of a table above it.
#[test]
fn the_legend_explains_no_word_that_no_table_uses() {
    for (file, arguments) in [
        ("latency.toml", &["--simulate", "--seeds", "1"][..]),
        ("latency.toml", &[]),
        ("picas_case_study.toml", &[]),
        ("exp1.toml", &[]),
        ("reference_system.toml", &[]),
    ] {
        let output = rospin(&[&["analyze", &shipped(file)][..], arguments].concat());
        let said = text(&output.stdout);
        let (tables, rest) = said.split_once("Times in ms. ").unwrap_or_else(|| panic!("{file}: {said}"));
        let (legend, _) = rest.split_once("\n\n").unwrap();
        let words: Vec<&str> =
            legend.split(['.', '\n']).filter_map(|part| part.split_once(':')).map(|(word, _)| word.trim()).collect();
        assert!(words.contains(&"bound"), "{words:?}");
        for word in words {
            assert!(tables.contains(word), "{file}: `{word}` is explained\n{tables}\n{legend}");
        }
    }
}

#[test]
fn tables_assumptions_and_report_are_there() {
    let scratch = Scratch::new("report");
    let report = scratch.path("out.html");
    let output = rospin(&["analyze", &shipped("latency.toml"), "--simulate", "--seeds", "1", "--report", &report]);
    let said = text(&output.stdout);
    for expected in
        ["slack", "simulated", "verdict", "90.0 %", "All deadlines hold.", "Method: ", "Assumptions:\n- ", "| 85 %"]
    {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let page = fs::read_to_string(report).unwrap();
    assert!(page.contains("<svg") && page.contains("All deadlines hold.") && page.ends_with("</html>\n"));
}

#[test]
fn the_reference_system_has_a_bound_for_every_callback_and_chain() {
    let scratch = Scratch::new("reference");
    let file = shipped("reference_system.toml");
    let (figures, code) = analyze(&scratch, &[&file, "--simulate", "--seeds", "1"]);
    assert_eq!(code, Some(1), "two timers cannot hold");
    let seen_within = |entry: &Value, bound: &str| {
        let bound = entry[bound].as_f64().unwrap_or_else(|| panic!("no bound: {entry}"));
        assert!(entry["simulated_max_ms"].as_f64().is_none_or(|seen| seen <= bound), "{entry}");
        bound
    };
    let callbacks = figures["callbacks"].as_array().unwrap();
    callbacks.iter().for_each(|callback| assert!(seen_within(callback, "bound_ms") > 0.0));
    let chains = figures["chains"].as_array().unwrap();
    chains.iter().for_each(|chain| assert!(seen_within(chain, "latency_bound_ms") > 0.0));
    let hot_path = of(&figures, "chains", "hot path");
    assert_eq!(hot_path["holds"], true);
    // The bound is hardly more than the time of six nodes, the planner, the front lidar's node and possible blocking.
    assert!(hot_path["latency_bound_ms"].as_f64().unwrap() < 45.0, "{hot_path}");
    assert!(hot_path["reaction_time_bound_ms"].is_number() && hot_path["data_age_bound_ms"].is_number());
    let failing = callbacks.iter().filter(|callback| callback["holds"] == false).map(|callback| &callback["name"]);
    assert_eq!(failing.collect::<Vec<_>>(), ["Visualizer/timer", "EuclideanClusterSettings/timer"]);
}

/// Two timers in one executor: the urgent one is declared the less urgent.
const LATE: &str = r#"
duration = "1 s"
cores = 2

[[executor]]
name = "main"
cores = [0]

[[group]]
name = "node"

[[callback]]
name = "control"
kind = "timer"
priority = 1
period = "10 ms"
execution = "2 ms"

[[callback]]
name = "map"
kind = "timer"
priority = 2
period = "40 ms"
execution = "9 ms"
"#;

/// There are only services, which have no deadlines. The times that callbacks may take are left out only if that is
/// asked for.
#[test]
fn without_deadlines_and_without_sensitivity() {
    let scratch = Scratch::new("bounds");
    let text_only = LATE.replace("kind = \"timer\"", "kind = \"service\"").replace("period = \"10 ms\"\n", "");
    let text_only = text_only.replace("period = \"40 ms\"\n", "");
    let releases =
        "[[release]]\nto = [\"control\"]\nperiod = \"10 ms\"\n[[release]]\nto = [\"map\"]\nperiod = \"40 ms\"\n";
    let file = scratch.file("free.toml", &format!("{text_only}{releases}"));
    let output = rospin(&["analyze", &file, "--no-sensitivity"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("There are no deadlines; everything has a bound.") && !said.contains("may take"), "{said}");
    assert!(text(&rospin(&["analyze", &file]).stdout).contains("may take"));
}

#[test]
fn a_failing_deadline_is_code_1_and_says_what_to_change() {
    let scratch = Scratch::new("late");
    let file = scratch.file("late.toml", LATE);
    let output = rospin(&["analyze", &file]);
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("late.toml: Not proven to hold: `control`."), "{error}");
    assert!(said.contains("NOT PROVEN") && said.contains("shorten `map` from 9ms to "), "{said}");
    let because = "The bound of `control` is 1ms beyond its deadline, because of `map` (8.999999ms of it).";
    assert!(said.contains(because), "{said}");
    let (figures, _) = analyze(&scratch, &[&file]);
    assert_eq!(of(&figures, "callbacks", "map")["holds"], true);
    assert!(!figures["advice"].as_array().unwrap().is_empty());
}

#[test]
fn assigned_priorities_are_analysed_and_deployed() {
    let scratch = Scratch::new("assign");
    // The execution times are short enough that the order of priorities decides.
    let file = scratch.file("order.toml", &LATE.replace("\"9 ms\"", "\"8 ms\"").replace("\"2 ms\"", "\"1500 us\""));
    for rule in ["picas", "rm", "dm", "opa"] {
        let deployment = scratch.path(&format!("{rule}.toml"));
        let output = rospin(&["analyze", &file, "--assign", rule, "--deploy", &deployment]);
        assert_eq!(output.status.code(), Some(0), "{rule}: {}{}", text(&output.stdout), text(&output.stderr));
        let loaded = Deployment::load(&deployment).unwrap();
        let priority = |name: &str| loaded.callbacks.iter().find(|plan| plan.name == name).unwrap().priority.unwrap();
        // Audsley's assignment may choose either order.
        assert!(priority("control") > priority("map") || rule == "opa", "{rule}");
        assert!(loaded.executors[0].scheduling.is_some() && !loaded.executors[0].cores.is_empty());
        let again = rospin(&["analyze", &file, "--deploy", &deployment]);
        assert_eq!(again.status.code(), Some(2), "nothing is written over");
        assert!(text(&again.stderr).contains("is there already"));
    }
    let (figures, _) = analyze(&scratch, &[&file, "--assign", "rm"]);
    assert_eq!(figures["settings"]["assign"], "rm");
    assert_eq!(of(&figures, "callbacks", "control")["priority"], 2);
}

/// Messages come every 10 ms, and a timer takes 35 ms: those that come 1, 11, 21 and 31 ms after it began wait at once.
#[test]
fn the_smallest_depth_that_loses_nothing_is_told_and_deployed() {
    let scratch = Scratch::new("depth");
    let system = "duration = \"1 s\"\n[[executor]]\nname = \"main\"\n[[group]]\nname = \"node\"\n\
        [[callback]]\nname = \"plan\"\nkind = \"timer\"\nperiod = \"100 ms\"\nexecution = \"35 ms\"\npriority = 1\n\
        [[callback]]\nname = \"scan\"\nkind = \"subscription\"\nexecution = \"1 ms\"\npriority = 2\ndepth = 10\n\
        [[release]]\nto = [\"scan\"]\nperiod = \"10 ms\"\n";
    let file = scratch.file("depth.toml", system);
    let deployment = scratch.path("deployed.toml");
    let output = rospin(&["analyze", &file, "--deploy", &deployment]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    let row = printed.lines().find(|line| line.starts_with("scan") && line.split_whitespace().count() == 3);
    let cells: Vec<_> = row.unwrap_or_default().split_whitespace().collect();
    assert_eq!(cells, ["scan", "10", "4"], "{printed}");
    let loaded = Deployment::load(&deployment).unwrap();
    let depth = |name: &str| loaded.callbacks.iter().find(|plan| plan.name == name).unwrap().depth;
    assert_eq!((depth("scan"), depth("plan")), (Some(4), None));
    let (figures, _) = analyze(&scratch, &[&file]);
    assert_eq!((&figures["callbacks"][1]["depth"], &figures["callbacks"][1]["depth_min"]), (&10.into(), &4.into()));
    assert!(figures["callbacks"][0]["depth"].is_null(), "a timer has no queue");
}

/// Two threads, which `one` and `two` keep busy in the first part of each 100 ms. In the rest, `mate` has the group of
/// `last`, so that `last` may starve.
fn starving(policy: &str) -> String {
    let mut system = format!(
        "duration = \"1 s\"\ncores = 2\ntopics = [\"/last\"]\n\
        [[executor]]\nname = \"x\"\npolicy = \"{policy}\"\nthreads = 2\n\
        [[group]]\nname = \"a\"\n[[group]]\nname = \"b\"\n[[group]]\nname = \"c\"\n[[group]]\nname = \"d\"\n"
    );
    for (name, group, priority, execution) in [("one", "a", 4, 45), ("two", "b", 3, 45), ("mate", "c", 2, 56)] {
        system += &format!(
            "[[callback]]\nname = \"{name}\"\ngroup = \"{group}\"\nkind = \"waitable\"\npriority = {priority}\n\
            execution = \"{execution} ms\"\n[[release]]\nto = [\"{name}\"]\nperiod = \"100 ms\"\n"
        );
    }
    system
        + "[[callback]]\nname = \"last\"\ngroup = \"c\"\nkind = \"waitable\"\npriority = 1\nexecution = \"1 ms\"\n\
        publishes = [\"/last\"]\n[[release]]\nto = [\"last\"]\nperiod = \"100 ms\"\n\
        [[callback]]\nname = \"hears\"\ngroup = \"d\"\nkind = \"subscription\"\nsubscribes = \"/last\"\n\
        execution = \"1 us\"\n\
        [[chain]]\nname = \"end\"\ncallbacks = [\"last\", \"hears\"]\n"
}

/// A row without a bound says in the file of what kind that is, why, and what gives a bound; and that is true.
#[test]
fn the_file_says_why_a_row_has_no_bound_and_which_changes_give_one() {
    let scratch = Scratch::new("unbounded");
    let system = starving("fixed-priority");
    let (figures, code) = analyze(&scratch, &[&scratch.file("starving.toml", &system)]);
    assert_eq!(code, Some(1));
    let last = of(&figures, "callbacks", "last");
    assert!(last["bound_ms"].is_null(), "{last}");
    assert_eq!(last["unbounded"]["kind"], "may starve", "{last}");
    let why = last["unbounded"]["why"].as_str().unwrap();
    assert!(why.contains("group `c` asks for 57.0 % of a thread") && why.ends_with("it may starve"), "{why}");
    let changes = ["with 3 threads", "if `x` serves first in, first out", "if group `c` is reentrant"];
    assert_eq!(last["unbounded"]["changes"], serde_json::json!(changes));
    // However long it waits, `last` sends no more at once than its queue holds.
    assert!(of(&figures, "callbacks", "hears")["bound_ms"].is_number(), "{figures}");
    let assumptions = figures["assumptions"].as_array().unwrap();
    assert!(
        assumptions.iter().any(|text| text.as_str().unwrap().ends_with("longer or missing: `mate`, `hears`.")),
        "{figures}"
    );
    assert!(of(&figures, "callbacks", "one")["unbounded"].is_null());
    assert_eq!(of(&figures, "chains", "end")["unbounded_callbacks"], serde_json::json!(["last"]));
    for (name, from, to) in [
        ("threads.toml", "cores = 2", "cores = 3"),
        ("policy.toml", "fixed-priority", "fifo"),
        ("reentrant.toml", "name = \"c\"\n", "name = \"c\"\nkind = \"reentrant\"\n"),
    ] {
        let changed = system.replacen(from, to, 1);
        let changed = if name == "threads.toml" { changed.replace("threads = 2", "threads = 3") } else { changed };
        let (figures, _) = analyze(&scratch, &[&scratch.file(name, &changed)]);
        assert!(of(&figures, "callbacks", "hears")["bound_ms"].is_number(), "{name}: {figures}");
        assert!(of(&figures, "chains", "end")["unbounded_callbacks"].as_array().unwrap().is_empty());
    }
}

/// `margins_early` is true where the table of the margins has marks, and false elsewhere.
#[test]
fn the_file_says_which_margins_are_not_the_largest() {
    let scratch = Scratch::new("early");
    let file = shipped("exp1.toml");
    for (arguments, early) in [(&["--work", "1000"][..], true), (&[], false)] {
        let (figures, _) = analyze(&scratch, &[&[file.as_str()][..], arguments].concat());
        for callback in figures["callbacks"].as_array().unwrap() {
            assert_eq!((&callback["margins_early"], &callback["margins_known"]), (&early.into(), &true.into()));
        }
    }
    let (figures, _) = analyze(&scratch, &[&file, "--no-sensitivity"]);
    assert!(figures["callbacks"][0]["margins_early"].is_null());
}

#[test]
fn overheads_come_from_the_doctor_or_the_command_line() {
    let scratch = Scratch::new("overheads");
    let doctor = r#"{ "overheads_us": { "dispatch": 100, "wake_up": 200.5, "receive": 0 } }"#;
    let (file, doctor) = (shipped("latency.toml"), scratch.file("doctor.json", doctor));
    let (figures, _) = analyze(&scratch, &[&file, "--overheads", &doctor]);
    assert_eq!(of(&figures, "callbacks", "topic1")["bound_ms"].as_f64(), Some(2.3005));
    let (figures, _) = analyze(&scratch, &[&file, "--overheads", &doctor, "--dispatch-us", "0", "--wake-up-us", "0"]);
    assert_eq!(of(&figures, "callbacks", "topic1")["bound_ms"].as_f64(), Some(2.0));
    let (figures, _) = analyze(&scratch, &[&file, "--receive-us", "50"]);
    assert!(of(&figures, "callbacks", "topic1")["bound_ms"].as_f64() > Some(2.05));
    assert_eq!(figures["settings"]["overheads_us"]["receive"], 50.0);
}

#[test]
fn what_cannot_be_analysed_is_code_2_with_place_reason_and_fix() {
    let scratch = Scratch::new("bad");
    let with = |name: &str, from: &str, to: &str| scratch.file(name, &LATE.replace(from, to));
    let chain = "\n[[chain]]\nname = \"c\"\ncallbacks = [\"map\", \"nobody\"]\n";
    let circle = r#"
        [[callback]]
        name = "there"
        kind = "service"
        execution = "1 ms"
        publishes = ["back"]

        [[callback]]
        name = "back"
        kind = "service"
        execution = "1 ms"
        publishes = ["there"]
    "#;
    for (file, expected) in [
        (
            with("over.toml", "\"2 ms\"", "\"8 ms\""),
            "over.toml:6:8: core 0 is overloaded: 102.5 % of its time is asked for, by main",
        ),
        (with("none.toml", "execution = \"9 ms\"", ""), "none.toml:20:8: `map` has no execution time; give it"),
        (
            scratch.file("unknown.toml", &format!("{LATE}{chain}")),
            "unknown.toml:28:13: `callbacks`: there is no callback `nobody`",
        ),
        (
            scratch.file("circle.toml", &format!("{LATE}{circle}")),
            "circle.toml:27:16: callbacks release each other in a circle",
        ),
        (with("bad.toml", "\"2 ms\"", "\"2\""), "`2` has no unit; write one of"),
        (shipped("one_core.toml"), "one_core.toml:"),
        ("/no/such/file.toml".to_owned(), "/no/such/file.toml: cannot be read ("),
    ] {
        let output = rospin(&["analyze", &file]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(output.stdout.is_empty() && said.contains(expected), "{expected}\n{said}");
    }
    let file = shipped("latency.toml");
    for bad in [
        &["--assign", "fair"][..],
        &["--dispatch-us", "-1"],
        &["--receive-us", "nan"],
        &["--overheads", "/no/such/file"],
        &["--overheads", &file],
        &["--seeds", "2"],
        &["--seeds", "0", "--simulate"],
        &["--deploy", "/no/such/folder/out.toml"],
        &["--json", "/no/such/folder/out.json"],
    ] {
        let output = rospin(&[&["analyze", &file, "--quiet"], bad].concat());
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(text(&output.stderr).contains(bad[0]), "{bad:?}: {}", text(&output.stderr));
    }
}
