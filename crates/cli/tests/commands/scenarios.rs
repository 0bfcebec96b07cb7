//! `rospin simulate` as its users see it.

use std::fs;

use serde_json::Value;

use crate::common::{Scratch, rospin, text};

fn shipped() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/scenarios");
    let files = fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.map(|path| path.to_str().expect("UTF-8").to_owned()).collect()
}

#[test]
fn every_shipped_scenario_is_simulated() {
    assert!(shipped().len() >= 6);
    for file in shipped() {
        let output = rospin(&["simulate", &file]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{file}: {}", text(&output.stderr));
        for expected in ["callback ", "p99", "misses", "┼─────────┼", "Scheduler: kept its own rules"]
        {
            assert!(said.contains(expected), "{file}: {expected}\n{said}");
        }
        // The diagram has the width of an output that is no terminal.
        let diagram = said.lines().filter(|line| line.contains(['▐', '┼']));
        assert!(diagram.map(|line| line.chars().count()).max() <= Some(100), "{said}");
    }
}

#[test]
fn files_are_written_and_quiet_says_nothing() {
    let folder = Scratch::new("simulate");
    let (json, report) = (folder.path("out.json"), folder.path("out.html"));
    let files = ["--json", &json, "--report", &report];
    let chain = shipped().into_iter().find(|file| file.ends_with("chain.toml")).unwrap();
    let run = |seed: &str| {
        let run = ["simulate", &chain, "--quiet", "--seed", seed, "--duration", "500 ms", "--policy", "edf"];
        let output = rospin(&[&run[..], &files].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
        serde_json::from_str::<Value>(&fs::read_to_string(&json).unwrap()).unwrap()
    };
    let document = run("7");
    assert_eq!(document["settings"]["seed"], 7);
    assert_eq!(document["settings"]["duration_s"], 0.5);
    assert_eq!(document["settings"]["executors"][0]["policy"], "edf");
    assert_eq!(document, run("7"), "the same seed gives the same figures");
    assert_ne!(document["callbacks"], run("8")["callbacks"]);
    assert!(fs::read_to_string(&report).unwrap().ends_with("</html>\n"));
    let gpu = shipped().into_iter().find(|file| file.ends_with("accelerator.toml")).unwrap();
    assert_eq!(rospin(&[&["simulate", &gpu, "--quiet"][..], &files].concat()).status.code(), Some(0));
    let page = fs::read_to_string(&report).unwrap();
    assert!(page.contains("<h2>Accelerators</h2>") && page.contains("50.8 %"), "{page}");
}

#[test]
fn many_seeds_have_percentiles_with_intervals() {
    let folder = Scratch::new("seeds");
    let (json, report) = (folder.path("out.json"), folder.path("out.html"));
    let chain = shipped().into_iter().find(|file| file.ends_with("chain.toml")).unwrap();
    let run = || {
        let run = ["simulate", &chain, "--seeds", "20", "--duration", "500 ms", "--json", &json, "--report", &report];
        let output = rospin(&run);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stdout), serde_json::from_str::<Value>(&fs::read_to_string(&json).unwrap()).unwrap())
    };
    let (said, document) = run();
    for expected in ["20 simulations of 500 ms, seeds 1 to 20", "p99", "95 % confidence", "in all simulations"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let detect = &document["callbacks"][1];
    let [low, value, high] = ["low", "value", "high"].map(|key| detect["p95_ms"][key].as_f64().unwrap());
    assert!(low <= value && value <= high && high <= detect["longest_ms"].as_f64().unwrap(), "{detect}");
    assert_eq!((&document["settings"]["seed"], &document["settings"]["seeds"]), (&1.into(), &20.into()));
    assert!(fs::read_to_string(&report).unwrap().ends_with("</html>\n"));
    assert_eq!(run(), (said, document), "whichever ends first");
}

#[test]
fn bad_scenario_is_code_2_and_names_the_place_and_the_fix() {
    let folder = Scratch::new("bad");
    let file = folder.path("bad.toml");
    let path = &file;
    for (content, place) in [
        ("duration = \"500\"\n", ":1:12: `duration`: `500` has no unit; write one of"),
        (
            "duration = \"1 s\"\n[[executor]]\nname = \"e\"\npolicy = \"fair\"\n",
            ":4:10: `policy`: there is no policy `fair`",
        ),
        ("duration = \n", ":1:"),
    ] {
        fs::write(&file, content).unwrap();
        let output = rospin(&["simulate", path]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("error: {path}{place}")), "{said}");
        assert!(output.stdout.is_empty());
    }
    let chain = &shipped()[0];
    for (arguments, expected) in [
        (&["simulate", "/no/such/file.toml"][..], "error: /no/such/file.toml: cannot be read ("),
        (&["simulate", "/"], "cannot be read ("),
        (&["simulate", chain, "--policy", "fair"], "--policy"),
        (&["simulate", chain, "--duration", "-1 s"], "--duration"),
        (&["simulate", chain, "--report", "/no/such/folder/x"], "--report"),
        (&["simulate"], "FILE"),
    ] {
        let output = rospin(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// There are two threads. In the first half of each second, more urgent callbacks keep both busy. In the second half,
/// another callback of the last one's group runs.
#[test]
fn starvation_is_code_1_and_said_first() {
    let mut toml =
        "duration = \"60 s\"\n[[executor]]\nname = \"x\"\npolicy = \"fixed-priority\"\nthreads = 2\n".to_owned();
    for (name, group, priority, execution) in
        [("tau1", "a", 4, "500 ms"), ("tau2", "b", 3, "500 ms"), ("tau3", "c", 2, "500 ms"), ("tau4", "c", 1, "10 ms")]
    {
        if !toml.contains(&format!("[[group]]\nname = \"{group}\"")) {
            toml += &format!("[[group]]\nname = \"{group}\"\n");
        }
        toml +=
            &format!("[[callback]]\nname = \"{name}\"\nkind = \"timer\"\ngroup = \"{group}\"\npriority = {priority}\n");
        toml += &format!("period = \"1 s\"\nexecution = \"{execution}\"\n");
    }
    let folder = Scratch::new("starvation");
    let (file, json) = (folder.path("starves.toml"), folder.path("out.json"));
    fs::write(&file, toml).unwrap();
    let output = rospin(&["simulate", &file, "--json", &json]);
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}{error}");
    assert!(error.contains("`tau4` never ran: it had waited for 59 s at the end, 58 due times passed"), "{error}");
    let first = said.lines().nth(2).unwrap();
    assert!(first.starts_with("STARVED: `tau4` never ran"), "{said}");
    let figures: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let tau4 = &figures["callbacks"][3];
    assert_eq!((tau4["misses"].as_u64(), tau4["dropped_overrun"].as_u64()), (Some(1), Some(58)), "{tau4}");
    assert_eq!((tau4["starved"].as_bool(), figures["callbacks"][2]["starved"].as_bool()), (Some(true), Some(false)));
}
