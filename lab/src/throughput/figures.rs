//! Figures from samples: one row for each contender in each cell.

use rospin_measure::stats::percentile;

use super::contenders::Contender;
use super::measure::Sample;
use super::workload::{Cell, Workload};

/// Smallest value, median and largest value over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of the values; `None` if there are none.
    fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Some(Self { min: *values.first()?, median: median(&values)?, max: *values.last()? })
    }
}

/// Returns the middle one of ascending values, or the mean of the two in the middle; `None` if there are none.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (upper + sorted[middle - 1]) / 2.0 })
}

/// Percentiles of the latency from publication to the start of the callback, in microseconds: medians over the rounds,
/// but the maximum of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

/// Figures of one contender in one cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) cell: Cell,
    /// Number of rounds, each of which has a sample.
    pub(crate) rounds: usize,
    /// Callbacks that ran in a second, of subscriptions and of timers.
    pub(crate) messages_per_s: Spread,
    /// Callbacks that ran for each message that was published: as many as the topic has subscriptions if none is lost.
    /// `None` if nothing was published beside the callbacks.
    pub(crate) callbacks_per_published: Option<f64>,
    /// Share of the messages that no callback ran for, from 0 to 1.
    pub(crate) lost: f64,
    /// Time from publication to callback or loss in the mean, in microseconds, by Little's law: the number of messages
    /// that wait, in the mean of two looks, divided by the rate at which they end their wait. `None` if nothing was
    /// published beside the callbacks.
    pub(crate) waits_us: Option<f64>,
    /// Processor time of the whole process, in percent of one core.
    pub(crate) cpu_percent: f64,
    /// The same without the publishing thread.
    pub(crate) executor_cpu_percent: f64,
    /// Processor time of the executor's threads for each callback that ran, in nanoseconds.
    pub(crate) cpu_ns_per_message: f64,
    /// Latencies; `None` if none were measured, as under most workloads.
    pub(crate) latency_us: Option<Latency>,
    /// Context switches of the executor's threads for each callback that ran.
    pub(crate) context_switches_per_message: f64,
    /// Allocations of the process for each callback that ran; `None` if they were not counted.
    pub(crate) allocations_per_message: Option<f64>,
}

impl Row {
    /// Calculates the figures from the samples of all rounds, and from a sample in which allocations were counted.
    /// `None` without samples.
    pub(crate) fn of(contender: Contender, cell: Cell, samples: &[Sample], counted: Option<&Sample>) -> Option<Self> {
        let rate = |count: f64, sample: &Sample| count / sample.seconds.max(1e-9);
        let each = |value: &dyn Fn(&Sample) -> f64| Spread::of(samples.iter().map(value));
        let middle = |value: &dyn Fn(&Sample) -> f64| each(value).map(|spread| spread.median);
        let per_message = |value: f64, sample: &Sample| value / sample.runs.max(1) as f64;
        Some(Self {
            contender,
            cell,
            rounds: samples.len(),
            messages_per_s: each(&|sample| rate(sample.runs as f64, sample))?,
            callbacks_per_published: Spread::of(
                samples
                    .iter()
                    .filter(|sample| sample.publications > 0)
                    .map(|sample| sample.runs as f64 / sample.publications as f64),
            )
            .map(|spread| spread.median),
            waits_us: Spread::of(
                samples
                    .iter()
                    .filter(|sample| sample.publications > 0 && sample.waited > 0)
                    .map(|sample| 1e6 * sample.waiting / rate(sample.waited as f64, sample)),
            )
            .map(|spread| spread.median),
            lost: middle(&|sample| sample.lost as f64 / (sample.published.max(sample.lost).max(1)) as f64)?,
            cpu_percent: middle(&|sample| 100.0 * rate(sample.cpu_s, sample))?,
            executor_cpu_percent: middle(&|sample| 100.0 * rate(sample.executor_cpu_s, sample))?,
            cpu_ns_per_message: middle(&|sample| per_message(sample.executor_cpu_s * 1e9, sample))?,
            latency_us: latency(samples),
            context_switches_per_message: middle(&|sample| per_message(sample.context_switches as f64, sample))?,
            allocations_per_message: counted.and_then(|sample| {
                let allocations = sample.allocations? as f64;
                Some(per_message(allocations, sample))
            }),
        })
    }
}

/// Returns the median of each percentile over the rounds, and the largest latency of all rounds. `None` if no latency
/// was measured.
fn latency(samples: &[Sample]) -> Option<Latency> {
    let rounds: Vec<Vec<f64>> = samples
        .iter()
        .map(|sample| sample.latencies_ns.iter().map(|ns| f64::from(*ns) / 1e3).collect())
        .filter(|round: &Vec<f64>| !round.is_empty())
        .collect();
    let middle = |percent| Spread::of(rounds.iter().filter_map(|round| percentile(round, percent)));
    let max = rounds.iter().flatten().copied().fold(0.0, f64::max);
    Some(Latency { p50: middle(50.0)?.median, p99: middle(99.0)?.median, p999: middle(99.9)?.median, max })
}

/// The rows of all contenders, cell by cell.
pub(crate) struct Figures {
    pub(crate) rows: Vec<Row>,
}

impl Figures {
    /// Returns the row of a contender in a cell; `None` if it was not run there.
    pub(crate) fn row(&self, contender: Contender, cell: &Cell) -> Option<&Row> {
        self.rows.iter().find(|row| row.contender == contender && row.cell == *cell)
    }

    /// Returns the cells that were run, in the order in which they were.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for row in &self.rows {
            if !cells.contains(&row.cell) {
                cells.push(row.cell);
            }
        }
        cells
    }

    /// Returns the rows of all contenders in a cell.
    pub(crate) fn of_cell(&self, cell: &Cell) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.cell == *cell)
    }

    /// Returns the first cell of the workload for which `is_it` returns true; `None` if it was not run.
    pub(crate) fn cell(&self, workload: Workload, is_it: impl Fn(&Cell) -> bool) -> Option<Cell> {
        self.cells().into_iter().find(|cell| cell.workload == workload && is_it(cell))
    }

    /// Returns a figure of the row divided by the same figure of the limit in the same cell; `None` if one of the two
    /// is missing, or the limit's is zero.
    pub(crate) fn to_limit(&self, row: &Row, figure: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        let limit = figure(self.row(Contender::Limit, &row.cell)?)?;
        let ratio = figure(row)? / limit;
        ratio.is_finite().then_some(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn medians_of_even_and_odd_counts() {
        let spread = Spread::of([4.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 4.0));
        assert_eq!(Spread::of([1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn a_row_is_made_of_medians() {
        let cell = Workload::FixedRate.cells()[0];
        let sample = |runs, latency| Sample {
            seconds: 0.5,
            runs,
            publications: 100,
            published: 200,
            lost: 50,
            waiting: 2.0,
            waited: runs + 50,
            cpu_s: 0.25,
            executor_cpu_s: 0.1,
            context_switches: 2 * runs,
            allocations: Some(3 * runs),
            latencies_ns: vec![latency; 10],
        };
        let samples = [sample(100, 1_000), sample(1_000, 3_000), sample(10, 2_000)];
        let row = Row::of(Contender::Limit, cell, &samples, Some(&samples[0])).unwrap();
        assert_eq!(row.messages_per_s, Spread { min: 20.0, median: 200.0, max: 2_000.0 });
        assert_eq!((row.lost, row.cpu_percent, row.executor_cpu_percent), (0.25, 50.0, 20.0));
        assert_eq!((row.cpu_ns_per_message, row.context_switches_per_message), (1e6, 2.0));
        assert_eq!((row.callbacks_per_published, row.waits_us), (Some(1.0), Some(1e6 * 2.0 * 0.5 / 150.0)));
        assert_eq!(row.allocations_per_message, Some(3.0));
        assert_eq!(row.latency_us, Some(Latency { p50: 2.0, p99: 2.0, p999: 2.0, max: 3.0 }));
        assert_eq!(Row::of(Contender::Limit, cell, &[], None), None);
    }

    #[test]
    fn ratios_are_to_the_limit_of_the_same_cell() {
        let figures = testing::figures();
        for row in &figures.rows {
            let ratio = figures.to_limit(row, |row| Some(row.messages_per_s.median)).unwrap();
            assert!(if row.contender == Contender::Limit { ratio == 1.0 } else { ratio < 1.0 });
        }
    }
}
