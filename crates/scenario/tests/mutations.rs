//! Whatever is done to a text, it is read or refused at a line of its own; nothing panics.

use proptest::prelude::*;
use rospin_scenario::{Deployment, Scenario};

const FILES: [&str; 6] = [
    include_str!("../scenarios/chain.toml"),
    include_str!("../scenarios/one_core.toml"),
    include_str!("../scenarios/exp1.toml"),
    include_str!("../scenarios/exp2.toml"),
    include_str!("../scenarios/exp3.toml"),
    include_str!("../scenarios/exp4.toml"),
];

const DEPLOYMENT: &str = include_str!("../deployments/robot.toml");

/// What gets in between: pieces of the format, and of anything else.
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

/// Replaces a part of a text, at the next places that are between characters.
fn replace(text: &str, at: usize, length: usize, piece: &str) -> String {
    let boundary = |from: usize| (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let start = boundary(at % (text.len() + 1));
    let end = boundary((start + length).min(text.len()));
    format!("{}{piece}{}", &text[..start], &text[end..])
}

fn assert_read_or_refused(text: &str) {
    match Scenario::parse(text) {
        Ok(scenario) => {
            let again = Scenario::parse(&scenario.to_toml());
            assert_eq!(again.as_ref(), Ok(&scenario), "not the same after it was written");
        }
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "line {} of {lines}: {error}\n{text}", error.line);
            assert!(error.column >= 1 && !error.message.is_empty(), "{error}");
        }
    }
}

fn assert_deployment_is_read_or_refused(text: &str) {
    match Deployment::parse(text) {
        Ok(deployment) => {
            let again = Deployment::parse(&deployment.to_toml());
            assert_eq!(again.as_ref(), Ok(&deployment), "not the same after it was written");
        }
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

    /// Values are exchanged for those of other keys: the texts stay TOML and get to the checks.
    #[test]
    fn exchanged_lines_are_read_or_refused(file in 0..FILES.len(), swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 1..4)) {
        let mut lines: Vec<&str> = FILES[file].lines().collect();
        for (left, right) in swaps {
            let (left, right) = (left % lines.len(), right % lines.len());
            lines.swap(left, right);
        }
        assert_read_or_refused(&lines.join("\n"));
    }

    #[test]
    fn mutated_deployments_are_read_or_refused(
        edits in prop::collection::vec((any::<usize>(), 0..40_usize, 0..PIECES.len()), 1..4),
        swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 0..4),
    ) {
        let mut lines: Vec<&str> = DEPLOYMENT.lines().collect();
        for (left, right) in swaps {
            let (left, right) = (left % lines.len(), right % lines.len());
            lines.swap(left, right);
        }
        let mut text = lines.join("\n");
        assert_deployment_is_read_or_refused(&text);
        for (at, length, piece) in edits {
            text = replace(&text, at, length, PIECES[piece]);
        }
        assert_deployment_is_read_or_refused(&text);
    }

    #[test]
    fn anything_is_read_or_refused(text in ".{0,200}") {
        assert_read_or_refused(&text);
        assert_deployment_is_read_or_refused(&text);
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
