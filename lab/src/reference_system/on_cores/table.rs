//! The table: an executor on a number of cores in each row.

use rospin_report::text_table::{self, Side};

use super::rows::{Figures, PHASES, Row};

/// Titles of the columns.
const TITLES: [&str; 17] = [
    "cores",
    "executor",
    "threads",
    "KPI\nmean ms",
    "KPI\nmax ms",
    "from due\nmean ms",
    "from due\nmax ms",
    "any phase\nmax ms",
    "from due\nbound ms",
    "measured\nmean ms",
    "measured\nmax ms",
    "planner\nperiod ms",
    "planner\nresp. ms",
    "planner\nbound ms",
    "drops\nmean",
    "missed\nlidar",
    "without\na bound",
];

/// Returns the columns with their titles; each of the first two has words.
pub(super) fn header() -> Vec<(&'static str, Side)> {
    let side = |number| if number < 2 { Side::Left } else { Side::Right };
    TITLES.iter().enumerate().map(|(number, title)| (*title, side(number))).collect()
}

/// Returns the table with its legend, ending in a line break.
pub(super) fn render(rows: &[Row], crunch_ms: f64) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    text_table::render(&header(), &cells) + &legend(crunch_ms)
}

/// Returns the explanation of the columns.
pub(super) fn legend(crunch_ms: f64) -> String {
    format!(
        "Nodes work {crunch_ms} ms. Figures are of virtual time, in which all timers start together, except under \"any phase\", the\n\
         longest of {PHASES} runs with other phases, and \"measured\", on this machine, if it has the cores. KPI: the hot path from\n\
         the start of the later lidar's callback, as the benchmark counts. From due, any phase, measured: from the later due time of\n\
         the two lidars. All of these end where the last node starts; the bound ends with its work, and holds for every phase.\n\
         Planner: distances of its starts; the longest response of its timer in any phase, and the bound of that. Without a bound:\n\
         callbacks, of a model in which a fusion is one.\n"
    )
}

/// Returns the cells of a row.
pub(super) fn cells(row: &Row) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    let bound = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.1}"));
    let measured = |value: fn(&Figures) -> Option<f64>| number(row.measured.as_ref().and_then(value));
    let (run, bounds) = (&row.simulated, &row.bounds);
    let period = match (run.planner_min_ms, run.planner_max_ms) {
        (Some(min), Some(max)) => format!("{min:.1} to {max:.1}"),
        _ => "-".to_owned(),
    };
    vec![
        row.cores.to_string(),
        row.executor.name().to_owned(),
        row.threads.to_string(),
        number(run.kpi_mean_ms),
        number(run.kpi_max_ms),
        number(run.from_due_mean_ms),
        number(run.from_due_max_ms),
        number(row.any_phase_max_ms),
        bound(bounds.hot_path_ms),
        measured(|figures| figures.from_due_mean_ms),
        measured(|figures| figures.from_due_max_ms),
        period,
        number(Some(row.planner_response_max_ms)),
        bound(bounds.planner_ms),
        run.drops_mean.map_or_else(|| "-".to_owned(), |drops| format!("{drops:.2}")),
        run.missed_front_lidar.to_string(),
        format!("{} of {}", bounds.unbounded, bounds.callbacks),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::rows;
    use super::*;

    #[test]
    fn table_from_fixed_numbers() {
        let text = render(&rows(), 7.0);
        let lines: Vec<&str> = text.lines().collect();
        let cells = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
        assert_eq!(cells(3)[..3], ["2", "wait-set-multi", "2"], "{text}");
        let shared =
            "2 priority-shared 2 28.2 28.2 35.2 35.2 55.2 none 36.0 40.0 99.0 to 101.0 14.0 21.1 0.00 0 30 of 31";
        let shared: Vec<&str> = shared.split(' ').collect();
        assert_eq!(cells(5), shared, "{text}");
        assert_eq!(lines.iter().filter(|line| line.contains(" - ")).count(), 2, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 180), "{text}");
    }
}
