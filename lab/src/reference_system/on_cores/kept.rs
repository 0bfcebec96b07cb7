//! The rows that the book shows: kept in a file, and compared with what virtual time and the analysis say now.
//!
//! `ROSPIN_BLESS=1` writes these figures anew into the file, and the file's table and verdict into the page. Figures of
//! the machine stay as they are: `rospin lab reference-system --cores 2,4 --json FILE` measures them, and the page then
//! has the table of that file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::super::runner::{Settings, Variant};
use super::super::testing::settings;
use super::rows::Row;
use super::{table, verdict};

const FILE: &str = "book/src/guide/one_or_several.json";
const PAGE: &str = "book/src/guide/one_or_several.md";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn is_blessed() -> bool {
    std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1")
}

fn rows(document: &Value) -> Vec<Row> {
    serde_json::from_value(document["rows"].clone()).unwrap()
}

/// Returns the value after a way through text, on which numbers may lose their last digit.
fn through_text(row: &Row) -> Row {
    serde_json::from_str(&serde_json::to_string(row).unwrap()).unwrap()
}

/// Returns the kept row with the figures that virtual time and the analysis give now.
fn anew(kept: &Row, settings: &Settings) -> Row {
    let now = Row::simulate(kept.executor, kept.cores, settings).unwrap();
    through_text(&Row { measured: kept.measured, remarks: kept.remarks.clone(), ..now })
}

/// A kept bound stays proven when the analysis finds a lower one.
fn is_proven(kept: Option<f64>, now: Option<f64>) -> bool {
    kept.is_none_or(|kept| now.is_some_and(|now| now <= kept + 1e-6))
}

#[test]
fn the_kept_figures_are_those_of_virtual_time_and_the_bounds_are_proven() {
    let mut document: Value = serde_json::from_str(&read(FILE)).unwrap();
    let number = |name: &str| Duration::from_secs_f64(document["settings"][name].as_f64().unwrap());
    let settings = Settings { duration: number("duration_s"), crunch: number("crunch_ms") / 1000, ..settings() };
    let kept = rows(&document);
    let now: Vec<Row> = kept.iter().map(|row| anew(row, &settings)).collect();
    if is_blessed() {
        document["rows"] = serde_json::to_value(&now).unwrap();
        document["verdict"] = json!(verdict::sentence(&now));
        std::fs::write(path(FILE), serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
        let (_, page) = page_and_what_it_should_be();
        std::fs::write(path(PAGE), page).unwrap();
        return;
    }
    for (kept, now) in kept.iter().zip(&now) {
        let name = format!("{} on {} cores; ROSPIN_BLESS=1 writes {FILE} anew", kept.executor.name(), kept.cores);
        assert_eq!((kept.threads, kept.simulated), (now.threads, now.simulated), "{name}");
        assert!(is_proven(kept.bounds.hot_path_ms, now.bounds.hot_path_ms), "{name}: {:?}", now.bounds);
        assert!(is_proven(kept.bounds.planner_ms, now.bounds.planner_ms), "{name}: {:?}", now.bounds);
        assert!(kept.bounds.unbounded >= now.bounds.unbounded, "{name}: {:?}", now.bounds);
    }
}

/// Returns the page, and the page with the table and the verdict of the kept rows.
fn page_and_what_it_should_be() -> (String, String) {
    let document: Value = serde_json::from_str(&read(FILE)).unwrap();
    let rows = rows(&document);
    let crunch_ms = document["settings"]["crunch_ms"].as_f64().unwrap();
    let shown = format!("```text\n{}\n{}\n```\n", table::render(&rows, crunch_ms), verdict::sentence(&rows));
    let page = read(PAGE);
    let start = page.find("```text\n").expect("the page has the table");
    let end = start + page[start..].find("\n```\n").expect("the table ends") + "\n```\n".len();
    let changed = [&page[..start], &shown, &page[end..]].concat();
    (page, changed)
}

#[test]
fn the_page_has_the_table_and_the_verdict_of_the_kept_rows() {
    if !is_blessed() {
        let (page, expected) = page_and_what_it_should_be();
        assert!(page == expected, "ROSPIN_BLESS=1 writes {PAGE} anew\n{expected}");
    }
}

/// What the answer says in words is what the table says in numbers.
#[test]
fn the_answer_has_the_bounds_of_the_table() {
    let document: Value = serde_json::from_str(&read(FILE)).unwrap();
    let (rows, page) = (rows(&document), read(PAGE));
    let answer = &page[..page.find("```sh\n").unwrap()];
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    let bound = |variant: Variant, cores: u16| {
        let row = rows.iter().find(|row| row.executor == variant && row.cores == cores).unwrap();
        let text = |ms: f64| format!("{ms:.0} ms");
        row.bounds.hot_path_ms.map_or_else(|| format!("{} of {}", row.bounds.unbounded, row.bounds.callbacks), text)
    };
    use Variant::{PriorityPartitioned, PriorityReentrant, PriorityShared};
    for variant in [PriorityPartitioned, PriorityReentrant, PriorityShared] {
        for cores in [2, 4] {
            let bound = bound(variant, cores);
            assert!(answer.contains(&bound), "{} on {cores} cores: {bound}", variant.name());
        }
    }
}
