//! The reference system of C++ nodes under rclcpp's executors and rospin's: a file of figures that were measured outside
//! of this repository, and the tables of them in the documents.
//!
//! `ROSPIN_BLESS=1` writes the tables anew from the file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

const FILE: &str = "book/src/guide/real_executors.json";
/// The work of a callback that the README shows, and that the emulations were measured with.
const SHOWN_MS: f64 = 7.0;
/// The executors in the README.
const IN_README: [&str; 5] = [
    "rclcpp single-threaded",
    "rclcpp multi-threaded",
    "rclcpp events executor",
    "rospin with priorities",
    "rospin, two threads, with priorities",
];
const EMULATED_FILE: &str = "book/src/guide/reference_system.json";
/// Emulated executors, with the real ones.
const EMULATIONS: [(&str, &str); 3] = [
    ("wait-set-single", "rclcpp single-threaded"),
    ("wait-set-multi", "rclcpp multi-threaded"),
    ("fifo-single", "rclcpp events executor"),
];

/// The figures of one executor.
#[derive(Deserialize)]
struct Row {
    callback_ms: f64,
    executor: String,
    hot_path_mean_ms: f64,
    hot_path_max_ms: f64,
    from_due_p50_ms: f64,
    from_due_p99_ms: f64,
    lidar_frames: u32,
    hot_paths: u32,
    planner_deviation_ms: f64,
    cpu_percent: f64,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn rows() -> Vec<Row> {
    let document: Value = serde_json::from_str(&read(FILE)).unwrap();
    serde_json::from_value(document["rows"].clone()).unwrap()
}

/// Returns `page` with the rows of the table below `header` replaced.
fn with_rows(page: &str, header: &str, rows: &[String]) -> String {
    let start = page.find(header).unwrap_or_else(|| panic!("no table has the header {header}"));
    let lines = page[start..].lines().take_while(|line| line.starts_with('|'));
    let end = start + lines.map(|line| line.len() + 1).sum::<usize>();
    let separator = page[start..].lines().nth(1).unwrap();
    format!("{}{header}\n{separator}\n{}\n{}", &page[..start], rows.join("\n"), &page[end..])
}

/// Compares a page's table with `rows`, or writes them.
fn check(name: &str, header: &str, rows: &[String]) {
    let page = read(name);
    let expected = with_rows(&page, header, rows);
    if std::env::var("ROSPIN_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(path(name), expected).unwrap();
        return;
    }
    let rows = rows.join("\n");
    assert!(page == expected, "{name} has other figures than {FILE}; ROSPIN_BLESS=1 writes them:\n{rows}");
}

fn readme_row(row: &Row) -> String {
    let Row { executor, hot_path_mean_ms: mean, hot_path_max_ms: max, .. } = row;
    format!("| {executor} | {mean:.1} | {max:.1} | {} |", from_due_and_frames(row))
}

fn book_row(row: &Row) -> String {
    let Row { callback_ms, executor, hot_path_mean_ms: mean, hot_path_max_ms: max, .. } = row;
    let Row { planner_deviation_ms: deviation, cpu_percent: cpu, .. } = row;
    let both = from_due_and_frames(row);
    format!("| {callback_ms} | {executor} | {mean:.1} / {max:.1} | {both} | {deviation:.1} | {cpu:.0} |")
}

/// Returns the columns that both tables have.
fn from_due_and_frames(row: &Row) -> String {
    let Row { from_due_p50_ms: p50, from_due_p99_ms: p99, hot_paths, lidar_frames, .. } = row;
    format!("{p50:.1} / {p99:.1} | {hot_paths} of {lidar_frames}")
}

#[test]
fn the_readme_has_the_rows_of_its_load() {
    let mut rows = rows();
    rows.retain(|row| row.callback_ms == SHOWN_MS && IN_README.contains(&row.executor.as_str()));
    let rows: Vec<String> = rows.iter().map(readme_row).collect();
    let header = "| executor | hot path, mean ms | max ms | from the lidar's due time, p50 / p99 ms \
                  | lidar frames that arrived |";
    check("README.md", header, &rows);
}

#[test]
fn the_book_has_all_rows() {
    let rows: Vec<String> = rows().iter().map(book_row).collect();
    let header = "| ms a callback | executor | hot path, mean / max ms | from the lidar's due time, p50 / p99 ms \
                  | lidar frames that arrived | deviation of the planner's period, ms | CPU % |";
    check("book/src/guide/rclcpp.md", header, &rows);
}

#[test]
fn the_book_says_how_far_the_emulations_are_from_the_real_executors() {
    let emulated: Value = serde_json::from_str(&read(EMULATED_FILE)).unwrap();
    let emulated = emulated["executors"].as_array().unwrap();
    let real = rows();
    let mut lines = Vec::new();
    for (emulation, executor) in EMULATIONS {
        let of_emulation = emulated.iter().find(|row| row["executor"] == emulation).unwrap();
        let emulated_ms = of_emulation["hot_path_latency_ms"]["mean"].as_f64().unwrap();
        let of_real = real.iter().find(|row| row.executor == executor && row.callback_ms == SHOWN_MS).unwrap();
        let real_ms = of_real.hot_path_mean_ms;
        let more = (emulated_ms / real_ms - 1.0) * 100.0;
        lines.push(format!("| `{emulation}` | {emulated_ms:.1} | {real_ms:.1} | {more:+.0} % |"));
    }
    let header = "| emulation | hot path, mean ms | of the real executor | difference |";
    check("book/src/guide/command.md", header, &lines);
}

#[test]
fn another_figure_in_a_table_is_noticed() {
    let page = "text\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\nmore\n";
    assert_eq!(with_rows(page, "| a | b |", &["| 1 | 2 |".to_owned(), "| 3 | 4 |".to_owned()]), page);
    assert_ne!(with_rows(page, "| a | b |", &["| 1 | 2 |".to_owned(), "| 3 | 5 |".to_owned()]), page);
    assert_ne!(with_rows(page, "| a | b |", &["| 1 | 2 |".to_owned()]), page);
}
