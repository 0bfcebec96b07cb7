//! Any change of a text leaves a valid text, or an error at a line of the text. Nothing panics.

use std::fmt::Debug;

use proptest::prelude::*;
use rospin_scenario::{Deployment, Scenario, ScenarioError};

const FILES: [&str; 7] = [
    include_str!("../../deployments/robot.toml"),
    include_str!("../../scenarios/chain.toml"),
    include_str!("../../scenarios/one_core.toml"),
    include_str!("../../scenarios/exp1.toml"),
    include_str!("../../scenarios/exp2.toml"),
    include_str!("../../scenarios/exp3.toml"),
    include_str!("../../scenarios/exp4.toml"),
];

/// Inserted texts: pieces of the format, and of other texts.
const PIECES: [&str; 24] = [
    "",
    "\n",
    "\"",
    "=",
    "[[",
    "]]",
    "{",
    "}",
    "-",
    "0",
    "9999999999999999999",
    "ms",
    " s\"",
    "\u{1F916}",
    "é",
    "\r\n",
    "#",
    "[[chain]]\n",
    "name = \"x\"\n",
    "1e400",
    "nan",
    "[]",
    "callback",
    "\0",
];

/// Replaces a part of a text, at the next character boundaries.
fn replace(text: &str, at: usize, length: usize, piece: &str) -> String {
    let boundary = |from: usize| (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let start = boundary(at % (text.len() + 1));
    let end = boundary((start + length).min(text.len()));
    format!("{}{piece}{}", &text[..start], &text[end..])
}

/// Reads the text as a scenario and as a deployment. Most texts are refused as at least one of them.
fn assert_read_or_refused(text: &str) {
    check(text, Scenario::parse(text), |scenario| Scenario::parse(&scenario.to_toml()));
    check(text, Deployment::parse(text), |deployment| Deployment::parse(&deployment.to_toml()));
}

fn check<T: PartialEq + Debug>(text: &str, read: Result<T, ScenarioError>, again: fn(&T) -> Result<T, ScenarioError>) {
    match read {
        Ok(read) => assert_eq!(again(&read).as_ref(), Ok(&read), "not the same after it was written"),
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "line {} of {lines}: {error}\n{text}", error.line);
            assert!(error.column >= 1 && !error.message.is_empty(), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_are_read_or_refused(
        file in 0..FILES.len(),
        edits in prop::collection::vec((any::<usize>(), 0..40_usize, 0..PIECES.len()), 1..4),
    ) {
        let mut text = FILES[file].to_owned();
        for (at, length, piece) in edits {
            text = replace(&text, at, length, PIECES[piece]);
        }
        assert_read_or_refused(&text);
    }

    /// Values are swapped between keys, so that the text stays TOML and reaches the checks.
    #[test]
    fn exchanged_lines_are_read_or_refused(
        file in 0..FILES.len(),
        swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 1..4),
    ) {
        let mut lines: Vec<&str> = FILES[file].lines().collect();
        for (left, right) in swaps {
            let left = left % lines.len();
            let right = right % lines.len();
            lines.swap(left, right);
        }
        assert_read_or_refused(&lines.join("\n"));
    }

    #[test]
    fn anything_is_read_or_refused(text in ".{0,200}") {
        assert_read_or_refused(&text);
    }
}

#[test]
fn values_at_the_edge() {
    for text in [
        "",
        "\n",
        "\r\n\n",
        "duration",
        "duration = \"18446744073709551615 ns\"\n[[executor]]\nname = \"x\"\n",
        "duration = \"1 s\"\nseed = -1\n",
        "duration = \"1 s\"\nseed = 9223372036854775808\n",
        "duration = \"1 s\"\n[[executor]]\nname = \"x\"\nthreads = 65535\n",
        "duration = \"1 s\"\n[[fault]]\nkind = \"clock-jump\"\nat = \"0 s\"\nby = \"--1 s\"\n",
    ] {
        assert_read_or_refused(text);
    }
}
