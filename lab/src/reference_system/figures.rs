//! Columns of table and report, and the best value of each column.

use rospin_measure::stats::{Summary, percentile};

use super::graph::PLANNER_PERIOD_MS;
use super::runner::RunResult;

/// Summaries of one result. Those of latency, drops and period are `None` if nothing was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Hot path latency in ms.
    pub(crate) latency_ms: Option<Summary>,
    /// Time from the due time of the later lidar to the end of the hot path in ms.
    pub(crate) from_due_ms: Option<Summary>,
    /// Median of the hot path latency in ms.
    pub(crate) latency_p50_ms: Option<f64>,
    /// 99th percentile of the hot path latency in ms.
    pub(crate) latency_p99_ms: Option<f64>,
    /// For each sample that got through, the number of samples that the nodes of its hot path dropped before it.
    pub(crate) drops: Option<Summary>,
    /// Period of the planner in ms.
    pub(crate) planner_period_ms: Option<Summary>,
    /// Number of front lidar samples that never reached the sink; `None` if there are no samples that
    /// [count](super::kpi::Kpis::front_lidar_counted).
    pub(crate) missed_front_lidar: Option<f64>,
    /// CPU use in percent of one core.
    pub(crate) cpu_percent: f64,
    /// Resident memory in MiB; `None` if the kernel does not tell.
    pub(crate) memory_mib: Option<f64>,
}

impl Figures {
    /// Summarises `result`.
    pub(crate) fn of(result: &RunResult) -> Self {
        let kpis = &result.kpis;
        Self {
            latency_ms: Summary::of(kpis.hot_path_latency_ms.iter().copied()),
            from_due_ms: Summary::of(kpis.hot_path_from_due_ms.iter().copied()),
            latency_p50_ms: percentile(&kpis.hot_path_latency_ms, 50.0),
            latency_p99_ms: percentile(&kpis.hot_path_latency_ms, 99.0),
            drops: Summary::of(kpis.hot_path_drops.iter().copied().map(f64::from)),
            planner_period_ms: Summary::of(kpis.planner_periods.iter().map(|p| p.period_ms)),
            missed_front_lidar: (kpis.front_lidar_counted > 0).then_some(kpis.missed_front_lidar as f64),
            cpu_percent: result.cpu_percent,
            memory_mib: result.memory_mib,
        }
    }
}

/// Columns that stay together where a terminal is too narrow for all columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Section {
    /// Latency of the hot path.
    Latency,
    /// Period of the planner.
    Planner,
    /// Losses and costs.
    Cost,
}

impl Section {
    /// All sections, in the order of the columns.
    pub(crate) const ALL: [Self; 3] = [Self::Latency, Self::Planner, Self::Cost];
}

/// Rule by which one value is better than another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Better {
    /// The lower value is better.
    Lower,
    /// The value that is nearer to this aim is better.
    Near(f64),
}

/// Column of the table.
pub(crate) struct Column {
    /// Section of the table that has the column.
    pub(crate) section: Section,
    /// Measured quantity.
    pub(crate) quantity: &'static str,
    /// The measured quantity over two lines, to keep the column narrow.
    pub(crate) lines: [&'static str; 2],
    /// Statistic of the quantity, and its unit.
    pub(crate) statistic: &'static str,
    /// Number of decimals that are shown.
    decimals: usize,
    better: Better,
    /// Function that returns the column's value; `None` shows as a dash.
    value: fn(&Figures) -> Option<f64>,
}

const PERIOD: Better = Better::Near(PLANNER_PERIOD_MS as f64);

const DROPS: &str = "hot path drops";
const DROPS_LINES: [&str; 2] = ["hot path", "drops"];

/// All columns.
pub(crate) static COLUMNS: [Column; 15] = [
    latency("mean ms", |f| f.latency_ms.map(|s| s.mean)),
    latency("p50 ms", |f| f.latency_p50_ms),
    latency("p99 ms", |f| f.latency_p99_ms),
    latency("max ms", |f| f.latency_ms.map(|s| s.max)),
    from_due("mean ms", |f| f.from_due_ms.map(|s| s.mean)),
    from_due("max ms", |f| f.from_due_ms.map(|s| s.max)),
    cost(DROPS, DROPS_LINES, "mean", 2, |f| f.drops.map(|s| s.mean)),
    cost(DROPS, DROPS_LINES, "sd", 2, |f| f.drops.map(|s| s.sd)),
    planner("min ms", PERIOD, |f| f.planner_period_ms.map(|s| s.min)),
    planner("mean ms", PERIOD, |f| f.planner_period_ms.map(|s| s.mean)),
    planner("max ms", PERIOD, |f| f.planner_period_ms.map(|s| s.max)),
    planner("sd ms", Better::Lower, |f| f.planner_period_ms.map(|s| s.sd)),
    cost("missed front lidar", ["missed", "front"], "lidar", 0, |f| f.missed_front_lidar),
    cost("CPU", ["", "CPU"], "%", 0, |f| Some(f.cpu_percent)),
    cost("memory", ["", "memory"], "MiB", 1, |f| f.memory_mib),
];

type Value = fn(&Figures) -> Option<f64>;

/// Returns a column of the hot path latency.
const fn latency(statistic: &'static str, value: Value) -> Column {
    Column {
        section: Section::Latency,
        quantity: "hot path latency",
        lines: ["hot path", "latency"],
        statistic,
        decimals: 1,
        better: Better::Lower,
        value,
    }
}

/// Returns a column of the time from the lidars' due times to the end of the hot path.
const fn from_due(statistic: &'static str, value: Value) -> Column {
    Column { quantity: "hot path from due time", lines: ["from", "due time"], ..latency(statistic, value) }
}

/// Returns a column of the planner's period.
const fn planner(statistic: &'static str, better: Better, value: Value) -> Column {
    Column {
        section: Section::Planner,
        quantity: "planner period",
        lines: ["planner", "period"],
        statistic,
        decimals: 1,
        better,
        value,
    }
}

/// Returns a column of losses or costs, of which less is better.
const fn cost(
    quantity: &'static str,
    lines: [&'static str; 2],
    statistic: &'static str,
    decimals: usize,
    value: Value,
) -> Column {
    let (section, better) = (Section::Cost, Better::Lower);
    Column { section, quantity, lines, statistic, decimals, better, value }
}

/// Value as the table shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Shown {
    /// The rounded number, or a dash.
    pub(crate) text: String,
    /// True if no other value of its column is better. False in a table of a single row.
    pub(crate) best: bool,
}

impl Column {
    /// Returns the column's values, one for each row. Values that look the same once they are rounded are equally good.
    /// With a single row, no value is marked as the best.
    pub(crate) fn shown(&self, rows: &[Figures]) -> Vec<Shown> {
        let rounded: Vec<Option<String>> =
            rows.iter().map(|row| (self.value)(row).map(|value| format!("{value:.*}", self.decimals))).collect();
        let badness = |text: &String| {
            let value: f64 = text.parse().unwrap_or(f64::INFINITY);
            match self.better {
                Better::Lower => value,
                // The text has fewer decimals than the value, so values are compared in the text's steps.
                Better::Near(aim) => ((value - aim) * 10_f64.powi(self.decimals as i32)).round().abs(),
            }
        };
        let least = rounded.iter().flatten().map(badness).min_by(f64::total_cmp);
        rounded
            .into_iter()
            .map(|text| match text {
                Some(text) => {
                    let best = rows.len() > 1 && Some(badness(&text)) == least;
                    Shown { text, best }
                }
                None => Shown { text: "-".to_owned(), best: false },
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::runner::Variant;
    use super::super::testing;
    use super::*;

    fn shown(column: &Column, values: &[Option<f64>]) -> Vec<(String, bool)> {
        // The memory of a result goes through unchanged, so it can stand for any value.
        let rows: Vec<Figures> = values
            .iter()
            .map(|value| {
                let mut result = testing::result(Variant::FifoSingle);
                result.memory_mib = *value;
                Figures::of(&result)
            })
            .collect();
        column.shown(&rows).into_iter().map(|shown| (shown.text, shown.best)).collect()
    }

    fn column(better: Better) -> Column {
        Column { better, ..cost("memory", ["", "memory"], "MiB", 1, |f| f.memory_mib) }
    }

    fn texts(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
        expected.iter().map(|(text, best)| ((*text).to_owned(), *best)).collect()
    }

    #[test]
    fn ties_after_rounding_are_all_best_and_a_missing_value_never_is() {
        let values = [Some(2.04), Some(3.0), None, Some(1.96)];
        assert_eq!(
            shown(&column(Better::Lower), &values),
            texts(&[("2.0", true), ("3.0", false), ("-", false), ("2.0", true)])
        );
    }

    #[test]
    fn near_is_from_both_sides() {
        let values = [Some(99.9), Some(100.1), Some(100.3), Some(90.0)];
        assert_eq!(
            shown(&column(Better::Near(100.0)), &values),
            texts(&[("99.9", true), ("100.1", true), ("100.3", false), ("90.0", false)])
        );
    }

    #[test]
    fn alone_there_is_no_best() {
        assert_eq!(shown(&column(Better::Lower), &[Some(1.0)]), texts(&[("1.0", false)]));
    }

    #[test]
    fn run_without_samples_has_no_figures_but_its_cost() {
        let mut result = testing::result(Variant::FifoSingle);
        result.kpis = super::super::kpi::Kpis::default();
        let figures = Figures::of(&result);
        assert!(figures.latency_ms.is_none() && figures.latency_p99_ms.is_none());
        assert!(figures.drops.is_none() && figures.planner_period_ms.is_none());
        assert!(figures.missed_front_lidar.is_none());
        for column in &COLUMNS {
            assert!(column.shown(&[figures])[0].text != "NaN");
        }
    }
}
