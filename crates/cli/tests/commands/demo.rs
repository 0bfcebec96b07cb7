//! `rospin demo` from end to end: short, and without a word about how fast this machine is.

use std::fs;

use serde_json::Value;

use crate::common::{Scratch, rospin, text};

#[test]
fn every_callback_and_chain_of_the_demo_runs_under_both_policies_and_has_a_bound() {
    let folder = Scratch::new("demo");
    let json = folder.path("demo.json");
    let output = rospin(&["demo", "--seconds", "0.5", "--quiet", "--json", &json]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Sentences are broken into lines.
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    for expected in ["controller/imu", "First in, first out", "real-time priority", "Figures: "] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let figures: Value = serde_json::from_str(&fs::read_to_string(json).expect("figures")).expect("JSON");
    let rows = figures["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 11, "{rows:?}");
    for row in rows {
        assert!(row["bound_ns"].as_u64() > Some(0), "{row}");
        for policy in ["rospin", "fifo"] {
            let of = &row[policy];
            assert!(of["runs"].as_u64() >= Some(1), "{policy}: {row}");
            assert!(of["p50_ns"].as_u64() <= of["max_ns"].as_u64(), "{policy}: {row}");
        }
    }
}

#[test]
fn bad_input_is_code_2_and_nothing_runs() {
    for bad in [&["--seconds", "0"][..], &["--json", "/no/such/folder/x"]] {
        let output = rospin(&[&["demo"], bad].concat());
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(output.stdout.is_empty() && text(&output.stderr).contains(bad[0]), "{bad:?}");
    }
}
