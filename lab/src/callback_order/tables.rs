//! The tables and diagrams in the terminal.

use std::fmt::Write;

use rospin_report::text_table::{self, Side};
use rospin_report::timeline::{self, Timeline};

use super::agreement::{Cell, NOTES, TABLES, seconds};
use super::cases::EXPERIMENTS;
use super::runs::CaseResult;

/// Rows and columns of text, with a title.
pub(super) struct Figures {
    pub(super) title: String,
    header: Vec<(String, Side)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Figures {
    /// Returns the titles of the columns, each with its side.
    pub(super) fn header(&self) -> Vec<(&str, Side)> {
        self.header.iter().map(|(title, side)| (title.as_str(), *side)).collect()
    }

    fn text(&self) -> String {
        format!("{}\n{}", self.title, text_table::render(&self.header(), &self.rows))
    }
}

/// Returns the tables and diagrams as text, with notes below them. Diagrams are made for a terminal of `width`
/// characters.
pub(super) fn render(results: &[CaseResult], cells: &[Cell], width: usize) -> String {
    let mut text = String::new();
    for figures in polling_points(results) {
        let _ = writeln!(text, "{}", figures.text());
    }
    for experiment in &EXPERIMENTS {
        let _ = writeln!(text, "{}", experiment.title);
        let of = |result: &&CaseResult| result.case.experiment == experiment && result.case.is_published();
        for result in results.iter().filter(of) {
            let _ = write!(text, "{}\n{}\n", result.case.policy, diagram(result, width));
        }
    }
    let _ = writeln!(text, "{}", own_policies(results).text());
    let _ = writeln!(text, "{}", agreement(cells).text());
    for note in NOTES {
        let _ = writeln!(text, "Note: {note}");
    }
    text
}

/// Returns the paper's Tables IV and V, filled with the polling points and ready sets of the runs.
pub(super) fn polling_points(results: &[CaseResult]) -> Vec<Figures> {
    let table = |number: &str| {
        let ours = TABLES.iter().filter(|table| table.table == number);
        let find = |table: &super::agreement::ReadySets| {
            results
                .iter()
                .find(|result| result.case.experiment.name == table.experiment && result.case.policy == table.policy)
        };
        let chosen: Vec<&CaseResult> = ours.filter_map(find).collect();
        let points = chosen.iter().map(|result| result.polling_points.len()).max().unwrap_or(0);
        let rows = chosen.iter().flat_map(|result| two_rows(result, points)).collect();
        let header = std::iter::once(String::new()).chain((0..points).map(|number| format!("PP{number}")));
        let header = header.map(|title| (title, Side::Left)).collect();
        Figures { title: format!("Polling points and ready sets, as the paper's Table {number}"), header, rows }
    };
    vec![table("IV"), table("V")]
}

/// Returns two rows for a run: the times of its polling points in seconds, and below them its ready sets. `points` is
/// the number of columns behind the label, of which the last ones are empty if the run has fewer polling points.
fn two_rows(result: &CaseResult, points: usize) -> [Vec<String>; 2] {
    let row = |what: &str, value: &dyn Fn(&super::runs::PollingPoint) -> String| {
        let mut row = vec![format!("{} {what}", result.case.label())];
        row.extend(result.polling_points.iter().map(value));
        row.resize(points + 1, String::new());
        row
    };
    [row("time, s", &|point| seconds(point.at_ns)), row("ready set", &|point| result.names(&point.ready_set))]
}

/// Returns the timeline of the run, with a row for each callback.
pub(super) fn timeline(result: &CaseResult) -> Timeline {
    timeline::by_callback(&result.scenario, &result.activations, result.end_ns())
}

/// Returns the execution diagram of a run as text, for a terminal of `width` characters.
pub(super) fn diagram(result: &CaseResult, width: usize) -> String {
    timeline::render(&timeline(result), width)
}

/// Returns a table of all runs: the longest waits and the order of the starts, under every policy.
pub(super) fn own_policies(results: &[CaseResult]) -> Figures {
    let row = |result: &CaseResult| {
        let wait = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), seconds);
        let starts: Vec<usize> = result.activations.iter().map(|activation| activation.callback).collect();
        vec![
            result.case.experiment.name.to_owned(),
            result.case.policy.to_owned(),
            wait(result.timer_wait_ns()),
            wait(result.other_wait_ns()),
            result.names(&starts),
        ]
    };
    let header = [
        ("experiment", Side::Left),
        ("policy", Side::Left),
        ("timers wait, s", Side::Right),
        ("others wait, s", Side::Right),
        ("order of the starts", Side::Left),
    ];
    Figures {
        title: "The same releases under every policy; how long they wait at most".to_owned(),
        header: header.map(|(title, side)| (title.to_owned(), side)).to_vec(),
        rows: results.iter().map(row).collect(),
    }
}

/// Returns the table that compares the paper and the run, cell by cell.
pub(super) fn agreement(cells: &[Cell]) -> Figures {
    let row = |cell: &Cell| {
        let agrees = if cell.agrees { "yes" } else { "NO" };
        let texts = [cell.experiment, cell.policy, &cell.what, &cell.paper, &cell.run, agrees];
        texts.map(str::to_owned).to_vec()
    };
    let header = ["experiment", "policy", "cell", "paper", "run", "agree"];
    Figures {
        title: "Paper and run, cell by cell; times in s".to_owned(),
        header: header.map(|title| (title.to_owned(), Side::Left)).to_vec(),
        rows: cells.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{agreement, runs};
    use super::*;

    #[test]
    fn tables_iv_and_v() {
        let results = runs::simulate_all().unwrap();
        let [iv, v] = &polling_points(&results)[..] else { panic!("two tables") };
        assert_eq!(format!("{}\n{}", iv.text(), v.text()), include_str!("golden/tables.txt"));
    }

    #[test]
    fn diagram_of_experiment_3() {
        let results = runs::simulate_all().unwrap();
        let exp3 = results.iter().find(|result| result.case.label() == "exp3 wait-set-e2").unwrap();
        assert_eq!(diagram(exp3, 100), include_str!("golden/exp3.txt"));
    }

    #[test]
    fn cell_that_does_not_agree_shows() {
        let mut cells = agreement::compare(&runs::simulate_all().unwrap(), 0);
        cells[3].agrees = false;
        let text = super::agreement(&cells).text();
        assert_eq!(text.lines().filter(|line| line.ends_with("NO")).count(), 1, "{text}");
    }
}
