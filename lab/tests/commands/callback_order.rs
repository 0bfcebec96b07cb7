//! `rospin lab callback-order` as its users see it.

use std::fs;

use serde_json::Value;

use crate::common::{Scratch, text};
use crate::rospin_lab;

#[test]
fn published_order_of_callbacks_comes_out_cell_by_cell() {
    let folder = Scratch::new("order");
    let (json, report) = (folder.path("out.json"), folder.path("out.html"));
    let files = ["--json", &json, "--report", &report];
    let output = rospin_lab(&[&["callback-order"][..], &files].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("Every cell agrees with the paper: 41 of 41."), "{said}");
    assert_eq!(said.lines().last().unwrap(), format!("Report:  {}", report));

    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let runs = document["runs"].as_array().unwrap();
    for run in runs {
        assert!(run["experiment"].as_str().unwrap().starts_with("exp") && run["policy"].is_string());
        for point in run["polling_points"].as_array().unwrap() {
            assert!(point["time_s"].is_number() && point["ready_set"][0].is_string());
        }
        for activation in run["activations"].as_array().unwrap() {
            assert!(activation["entity"].is_string());
            let [release, start, end] = ["release_s", "start_s", "end_s"].map(|key| activation[key].as_f64().unwrap());
            assert!(release <= start && start <= end);
        }
    }
    for experiment in ["exp1", "exp2", "exp3", "exp4"] {
        assert!(runs.iter().any(|run| run["experiment"] == experiment && run["policy"] == "wait-set-e2"));
    }
}

#[test]
fn bad_input_is_code_2_and_names_the_option() {
    for (options, expected) in [
        (&["--scale", "1"][..], "--real"),
        (&["--real", "--scale", "0"], "--scale"),
        (&["--json", "/no/such/folder/x"], "--json"),
    ] {
        let output = rospin_lab(&[&["callback-order"], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains(expected), "{options:?}: {said}");
    }
}
