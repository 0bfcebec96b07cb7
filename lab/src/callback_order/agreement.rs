//! The paper's results, and their comparison with those of a run, cell by cell.

use super::cases::{E1, E2};
use super::runs::CaseResult;

/// The paper's Tables IV and V: the time in ms and the entities of each ready set.
///
/// One cell differs from the print: the last of Exp1 under E2 is printed T0, but the timer that is due there is T1.
pub(super) static TABLES: [ReadySets; 4] = [
    ReadySets { table: "IV", experiment: "exp1", policy: E1, points: &[(0, "H M L"), (2000, "H M L")] },
    ReadySets {
        table: "IV",
        experiment: "exp1",
        policy: E2,
        points: &[(0, "H M L"), (1500, "T0 H M L"), (3500, "T1")],
    },
    ReadySets {
        table: "V",
        experiment: "exp2",
        policy: E1,
        points: &[(0, "H M L SH SL"), (3500, "H M L"), (6000, "SH SM"), (7500, "H")],
    },
    ReadySets {
        table: "V",
        experiment: "exp2",
        policy: E2,
        points: &[
            (0, "H M L SH SL"),
            (2500, "T0"),
            (3000, "T0 H M L"),
            (5000, "T0 SH SM"),
            (6500, "T0 H"),
            (7500, "T0"),
            (8000, "T0"),
        ],
    },
];

/// Remarks for readers of the paper.
pub(super) const NOTES: [&str; 2] = [
    "The paper prints T0 in the last ready set of Exp1 under E2; the timer that is due there is T1, which is what is \
     compared.",
    "The paper's Table III releases the second sequence of Exp2 at 3.2 s, its Table V has it in the ready set that was \
     polled at 3.0 s. Exp2 runs with 3 s here, Exp3 and Exp4 with 3.2 s.",
];

/// The polling points of an experiment under an executor, from a table of the paper.
pub(super) struct ReadySets {
    /// Number of the table in the paper.
    pub(super) table: &'static str,
    pub(super) experiment: &'static str,
    pub(super) policy: &'static str,
    /// Time of each polling point in milliseconds, and the entities of its ready set in the order in which they are
    /// served.
    points: &'static [(u64, &'static str)],
}

/// The longest execution time of a callback in all experiments. In Exp3, T0 waits for no more than that.
const EXECUTION_NS: u64 = 500_000_000;

/// A comparison of one value: in the paper, and in the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) experiment: &'static str,
    pub(super) policy: &'static str,
    /// Name of the value, such as `PP0 time` for the time of the first polling point.
    pub(super) what: String,
    /// The paper's value, as text.
    pub(super) paper: String,
    /// The run's value, as text; a dash if there is none.
    pub(super) run: String,
    pub(super) agrees: bool,
}

/// Text in place of a missing value.
const NOTHING: &str = "-";

/// Returns every comparison of the paper with the run. Times agree if they differ by at most `tolerance_ns`. Cases that
/// are not in `results` are not compared.
pub(super) fn compare(results: &[CaseResult], tolerance_ns: u64) -> Vec<Cell> {
    let find = |experiment: &str, policy: &str| {
        results.iter().find(|result| result.case.experiment.name == experiment && result.case.policy == policy)
    };
    let mut cells = Vec::new();
    for table in &TABLES {
        if let Some(result) = find(table.experiment, table.policy) {
            ready_sets(&mut cells, table, result, tolerance_ns);
        }
    }
    if let Some(result) = find("exp3", E2) {
        one_group(&mut cells, result, tolerance_ns);
    }
    if let Some(result) = find("exp4", E2) {
        own_group(&mut cells, result, tolerance_ns);
    }
    cells
}

/// Adds two cells for each polling point: its time and its ready set. They do not agree if only the paper or only the
/// run has the polling point.
fn ready_sets(cells: &mut Vec<Cell>, table: &ReadySets, result: &CaseResult, tolerance_ns: u64) {
    for number in 0..table.points.len().max(result.polling_points.len()) {
        let paper = table.points.get(number);
        let run = result.polling_points.get(number);
        let times = (paper.map(|(ms, _)| ms * 1_000_000), run.map(|point| point.at_ns));
        let sets = (paper.map(|(_, set)| (*set).to_owned()), run.map(|point| result.names(&point.ready_set)));
        let mut cell = |what: &str, paper: Option<String>, run: Option<String>, agrees| {
            let value = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
            let what = format!("PP{number} {what}");
            let (paper, run) = (value(paper), value(run));
            cells.push(Cell { experiment: table.experiment, policy: table.policy, what, paper, run, agrees });
        };
        let agrees = matches!(times, (Some(paper), Some(run)) if paper.abs_diff(run) <= tolerance_ns);
        cell("time", times.0.map(seconds), times.1.map(seconds), agrees);
        let agrees = sets.0.is_some() && sets.0 == sets.1;
        cell("ready set", sets.0, sets.1, agrees);
    }
}

/// Adds the cells of Exp3: the second thread builds new ready sets, so H overtakes SM. A timer waits for the callback
/// that is running, and for no more.
fn one_group(cells: &mut Vec<Cell>, result: &CaseResult, tolerance_ns: u64) {
    let mut cell = |what: &str, paper: &str, run: String, agrees| {
        let (what, paper) = (what.to_owned(), paper.to_owned());
        cells.push(Cell { experiment: "exp3", policy: E2, what, paper, run, agrees });
    };
    let h = result.runs_of("H").last();
    let agrees = h.is_some_and(|h| h.start_ns.abs_diff(7_000_000_000) <= tolerance_ns);
    cell("start of the H of 6.3 s", "7", h.map_or(NOTHING.to_owned(), |h| seconds(h.start_ns)), agrees);

    let sm = result.runs_of("SM").last();
    let order = match (h, sm) {
        (Some(h), Some(sm)) if h.start_ns < sm.start_ns => "H SM",
        (Some(_), Some(_)) => "SM H",
        _ => NOTHING,
    };
    cell("order of H and SM", "H SM", order.to_owned(), order == "H SM");

    let wait_ns = result.runs_of("T0").map(rospin_report::timeline::Activation::wait_ns).max();
    let agrees = wait_ns.is_some_and(|wait_ns| wait_ns <= EXECUTION_NS + tolerance_ns);
    cell("longest wait of T0", "at most 0.5", wait_ns.map_or(NOTHING.to_owned(), seconds), agrees);
}

/// Adds the cells of Exp4: every instance of the timer starts at its release, which is every 1.3 s.
fn own_group(cells: &mut Vec<Cell>, result: &CaseResult, tolerance_ns: u64) {
    const PERIOD_NS: u64 = 1_300_000_000;
    let end_ns = u64::try_from(result.scenario.duration.as_nanos()).unwrap_or(u64::MAX);
    let starts: Vec<u64> = result.runs_of("T0").map(|run| run.start_ns).collect();
    let due = (1..).map(|number| number * PERIOD_NS).take_while(|due_ns| *due_ns < end_ns);
    let dues: Vec<u64> = due.collect();
    for number in 0..dues.len().max(starts.len()) {
        let (due_ns, start_ns) = (dues.get(number).copied(), starts.get(number).copied());
        let agrees = matches!((due_ns, start_ns), (Some(due), Some(start)) if due.abs_diff(start) <= tolerance_ns);
        let value = |ns: Option<u64>| ns.map_or(NOTHING.to_owned(), seconds);
        cells.push(Cell {
            experiment: "exp4",
            policy: E2,
            what: format!("start of T0 #{number}"),
            paper: value(due_ns),
            run: value(start_ns),
            agrees,
        });
    }
}

/// Returns a sentence with the number of cells that agree.
pub(super) fn summary(cells: &[Cell]) -> String {
    let agree = cells.iter().filter(|cell| cell.agrees).count();
    if agree == cells.len() {
        format!("Every cell agrees with the paper: {agree} of {agree}.")
    } else {
        format!("{} of {} cells do not agree with the paper.", cells.len() - agree, cells.len())
    }
}

/// Returns a time in seconds, rounded to the millisecond.
pub(super) fn seconds(ns: u64) -> String {
    ((ns as f64 / 1e6).round() / 1e3).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::runs;
    use super::*;

    #[test]
    fn every_cell_agrees_in_virtual_time() {
        let cells = compare(&runs::simulate_all().unwrap(), 0);
        let wrong: Vec<_> = cells.iter().filter(|cell| !cell.agrees).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(cells.len(), 2 * (2 + 3 + 4 + 7) + 3 + 6);
        assert_eq!(summary(&cells), "Every cell agrees with the paper: 41 of 41.");
    }

    #[test]
    fn whatever_is_different_is_found() {
        let results = runs::simulate_all().unwrap();
        let e2 = |result: &&mut CaseResult| result.case.label() == "exp2 wait-set-e2";
        let broken = |change: &dyn Fn(&mut CaseResult)| {
            let mut results = results.clone();
            change(results.iter_mut().find(e2).unwrap());
            compare(&results, 50_000_000).iter().filter(|cell| !cell.agrees).count()
        };
        assert_eq!(broken(&|_| ()), 0);
        assert_eq!(broken(&|result| result.polling_points[1].at_ns += 50_000_000), 0, "within the tolerance");
        assert_eq!(broken(&|result| result.polling_points[1].at_ns += 50_000_001), 1);
        assert_eq!(broken(&|result| result.polling_points[2].ready_set.swap(0, 1)), 1);
        assert_eq!(broken(&|result| drop(result.polling_points.pop())), 2);
        assert_eq!(broken(&|result| result.polling_points.push(result.polling_points[0].clone())), 2);
        let nothing: Vec<_> = results
            .iter()
            .cloned()
            .map(|mut result| {
                result.activations.clear();
                result.polling_points.clear();
                result
            })
            .collect();
        assert!(compare(&nothing, 50_000_000).iter().all(|cell| !cell.agrees));
    }
}
