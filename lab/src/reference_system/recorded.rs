//! The cost of recording: each executor once more, with its events recorded, beside the run without.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rospin_report::text_table::{self, Side};
use rospin_trace::settings;
use serde_json::{Value, json};

use super::comparison::Comparison;
use super::figures::Figures;
use super::runner::{RunResult, Variant};

/// Columns of the table, in the terminal and in the report.
pub(crate) const HEADER: [(&str, Side); 6] = [
    ("recorded", Side::Left),
    ("mean ms", Side::Right),
    ("without", Side::Right),
    ("p99 ms", Side::Right),
    ("without", Side::Right),
    ("CPU", Side::Right),
];

/// Returns the variables that have a process of the variant recorded into the folder, each with its value.
pub(crate) fn environment(folder: &Path, variant: Variant) -> (&'static str, PathBuf) {
    (settings::FILE, folder.join(format!("{}-%p.mcap", variant.name())))
}

/// Returns the executors that ran twice: the result without recording, and the one with it.
fn pairs(comparison: &Comparison) -> impl Iterator<Item = (&RunResult, &RunResult)> {
    comparison.results.iter().zip(&comparison.recorded)
}

/// Returns a text with a table of the hot path's latencies with and without recording; empty if nothing was recorded.
pub(crate) fn render(comparison: &Comparison) -> String {
    let mut text = String::new();
    if let Some(folder) = &comparison.folder {
        text.push('\n');
        text.push_str(&text_table::render(&HEADER, &cells(comparison)));
        let folder = folder.display();
        let _ = writeln!(
            text,
            "Hot path latency of each executor's second run, which was recorded, and of its first. CPU: processor time\n\
             of the recorded run, as a multiple of that without.\n\
             Recordings: {folder}; see `rospin trace report {folder}/*.mcap` for one of them."
        );
    }
    text
}

/// Returns the cells of the columns of [`HEADER`]: a line for each executor.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let line = |(without, with): (&RunResult, &RunResult)| {
        let [without_figures, figures] = [without, with].map(Figures::of);
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
        vec![
            with.variant.name().to_owned(),
            ms(figures.latency_ms.map(|latency| latency.mean)),
            ms(without_figures.latency_ms.map(|latency| latency.mean)),
            ms(figures.latency_p99_ms),
            ms(without_figures.latency_p99_ms),
            format!("{:.3}x", with.cpu_percent / without.cpu_percent),
        ]
    };
    pairs(comparison).map(line).collect()
}

/// Returns the figures of the recorded runs for the JSON file: for each executor its name, and those that recording may
/// change.
pub(crate) fn json(comparison: &Comparison) -> Vec<Value> {
    let entry = |(without, with): (&RunResult, &RunResult)| {
        let figures = Figures::of(with);
        json!({
            "executor": with.variant.name(),
            "hot_path_latency_ms": {
                "mean": figures.latency_ms.map(|latency| latency.mean),
                "p50": figures.latency_p50_ms,
                "p99": figures.latency_p99_ms,
                "max": figures.latency_ms.map(|latency| latency.max),
            },
            "cpu_percent": with.cpu_percent,
            "cpu_ratio": with.cpu_percent / without.cpu_percent,
            "memory_mib": with.memory_mib,
            "remarks": with.remarks,
        })
    };
    pairs(comparison).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn comparison() -> Comparison {
        let mut comparison = testing::comparison();
        comparison.results.truncate(2);
        comparison.recorded = comparison.results.clone();
        for result in &mut comparison.recorded {
            result.kpis.hot_path_latency_ms.fill(50.0);
            result.cpu_percent *= 1.5;
        }
        comparison.folder = Some("runs".into());
        comparison
    }

    #[test]
    fn each_executor_stands_beside_itself() {
        let text = render(&comparison());
        let line = text.lines().find(|line| line.starts_with("wait-set-multi")).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((cells[1], cells[3], cells[5]), ("50.00", "50.00", "1.500x"));
        assert_ne!((cells[2], cells[4]), ("50.00", "50.00"));
        assert!(text.contains("rospin trace report runs/"));
        assert_eq!(json(&comparison())[1]["cpu_ratio"], 1.5);
    }

    #[test]
    fn without_recordings_there_is_nothing_to_say() {
        let comparison = testing::comparison();
        assert!(render(&comparison).is_empty() && cells(&comparison).is_empty() && json(&comparison).is_empty());
    }

    #[test]
    fn processes_of_a_run_write_files_of_their_own() {
        let (variable, file) = environment(Path::new("runs"), Variant::FifoSingle);
        assert_eq!((variable, file.to_str()), ("ROSPIN_TRACE", Some("runs/fifo-single-%p.mcap")));
    }
}
