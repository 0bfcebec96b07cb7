//! Figures of the runs, for table, plots and sentences.

use rospin_measure::stats::Summary;

use super::bounds::bounds;
use super::comparison::Comparison;
use super::overhead::Overhead;
use super::runner::RunResult;
use super::topics;
use super::topics::{PERCENT, PERIODS_MS, TOPICS};
use super::variant::Variant;

/// Figures of one topic in one run of one variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) variant: Variant,
    /// Number of the run, from 1.
    pub(crate) run: u32,
    /// The topic's index, from 0.
    pub(crate) topic: usize,
    /// Execution time of the callback.
    pub(crate) wcet_ms: f64,
    /// Bound of the analysis; `None` if it exceeds the period.
    pub(crate) bound_ms: Option<f64>,
    /// The same bound with the overhead of messages; `None` also if the overhead could not be measured.
    pub(crate) real_bound_ms: Option<f64>,
    /// Percentiles of the latency over all messages that were sent. A lost message counts as one that never arrives. So
    /// a percentile is `None` if the message of its rank was lost.
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    /// Largest latency of the messages that arrived; `None` if none did.
    pub(crate) max_ms: Option<f64>,
    /// Number of messages that were published.
    pub(crate) sent: u64,
    /// Number of callbacks that ended.
    pub(crate) received: u64,
    /// Number of messages whose callback ended after the deadline or never ran.
    pub(crate) missed_deadlines: u64,
}

impl Row {
    /// Returns the figures of a topic in a run. `wcet_ms` is the execution time of its callback.
    fn of(result: &RunResult, topic: usize, wcet_ms: f64, bounds: &Bounds) -> Self {
        let mut latencies_ms: Vec<f64> =
            result.subscribed.latencies_ns[topic].iter().map(|ns| *ns as f64 / 1e6).collect();
        latencies_ms.sort_by(f64::total_cmp);
        let sent = result.published.sent[topic];
        let received = latencies_ms.len() as u64;
        let late = latencies_ms.iter().filter(|ms| **ms > deadline_ms(topic)).count() as u64;
        Self {
            variant: result.variant,
            run: result.run,
            topic,
            wcet_ms,
            bound_ms: bounds.plain_ms[topic],
            real_bound_ms: bounds.real_ms[topic],
            p50_ms: percentile_of_sent(&latencies_ms, sent, 50.0),
            p99_ms: percentile_of_sent(&latencies_ms, sent, PERCENT),
            max_ms: latencies_ms.last().copied(),
            sent,
            received,
            missed_deadlines: late + sent.saturating_sub(received),
        }
    }

    /// Returns true if the 99th percentile is within the deadline. Returns false if there is none.
    pub(crate) fn meets(&self) -> bool {
        self.p99_ms.is_some_and(|ms| ms <= deadline_ms(self.topic))
    }
}

/// Returns the deadline of a topic's messages in milliseconds, which is the topic's period.
pub(crate) const fn deadline_ms(topic: usize) -> f64 {
    PERIODS_MS[topic] as f64
}

/// Returns a percentile of the ascending latencies by nearest rank. Lost messages rank behind all that arrived; `None`
/// if the rank is one of them, or nothing was sent.
fn percentile_of_sent(sorted_ms: &[f64], sent: u64, percent: f64) -> Option<f64> {
    let rank = (percent / 100.0 * sent.max(sorted_ms.len() as u64) as f64).ceil() as usize;
    sorted_ms.get(rank.max(1) - 1).copied()
}

/// Returns the figures of each topic in each run, in the order of the runs.
pub(crate) fn rows(comparison: &Comparison) -> Vec<Row> {
    let work = topics::work(comparison.settings.load_percent);
    let bounds = Bounds::of(comparison);
    let of = |result| {
        (0..TOPICS).map({
            let bounds = &bounds;
            move |topic| Row::of(result, topic, work[topic].as_secs_f64() * 1e3, bounds)
        })
    };
    comparison.results.iter().flat_map(of).collect()
}

/// The bounds of the analysis in milliseconds, by topic; `None` where they exceed the period.
pub(crate) struct Bounds {
    /// Bounds of the callbacks alone, as in the paper.
    pub(crate) plain_ms: [Option<f64>; TOPICS],
    /// Bounds with the overhead of messages that was measured; `None` also if that could not be measured.
    pub(crate) real_ms: [Option<f64>; TOPICS],
}

impl Bounds {
    /// Calculates the bounds for the load and the overhead of a comparison.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let work = topics::work(comparison.settings.load_percent);
        let ms = |overhead| bounds(work, overhead).map(|bound| bound.map(|bound| bound.as_secs_f64() * 1e3));
        Self { plain_ms: ms(Overhead::default()), real_ms: comparison.overhead.map_or([None; TOPICS], ms) }
    }
}

/// Summary of a variant over all of its runs.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) variant: Variant,
    /// Summary of the runs' 99th percentiles, by topic; `None` if so much was lost in a run that it has none.
    pub(crate) p99_ms: [Option<Summary>; TOPICS],
    /// Topics whose 99th percentile missed the deadline in some run.
    pub(crate) missing: Vec<usize>,
    /// Number of runs.
    pub(crate) runs: usize,
    /// Number of runs in which all topics kept their deadlines at the 99th percentile.
    pub(crate) good_runs: usize,
    /// Number of messages that were published, of all topics, in all runs; likewise below it.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) missed_deadlines: u64,
    /// Number of stalls of the machine in these runs, and below it the largest lateness that the meter saw, in
    /// milliseconds.
    pub(crate) stalls: usize,
    pub(crate) stall_max_ms: f64,
}

/// Returns the summaries of all variants, in the order in which they ran first.
pub(crate) fn standings(comparison: &Comparison) -> Vec<Standing> {
    let rows = rows(comparison);
    let mut variants: Vec<Variant> = Vec::new();
    for result in &comparison.results {
        if !variants.contains(&result.variant) {
            variants.push(result.variant);
        }
    }
    variants.into_iter().map(|variant| standing(variant, &rows, comparison)).collect()
}

/// Returns the summary of a variant over all of its runs. `rows` are those of all variants.
fn standing(variant: Variant, rows: &[Row], comparison: &Comparison) -> Standing {
    let own: Vec<&Row> = rows.iter().filter(|row| row.variant == variant).collect();
    let results = comparison.results.iter().filter(|result| result.variant == variant);
    let of_topic = |topic: usize| own.iter().filter(move |row| row.topic == topic);
    let p99_ms = |topic| {
        let values: Option<Vec<f64>> = of_topic(topic).map(|row| row.p99_ms).collect();
        values.and_then(Summary::of)
    };
    let good = |run: u32| own.iter().filter(|row| row.run == run).all(|row| row.meets());
    let sum = |of: fn(&Row) -> u64| own.iter().map(|row| of(row)).sum();
    Standing {
        variant,
        p99_ms: std::array::from_fn(p99_ms),
        missing: (0..TOPICS).filter(|topic| of_topic(*topic).any(|row| !row.meets())).collect(),
        runs: results.clone().count(),
        good_runs: results.clone().filter(|result| good(result.run)).count(),
        sent: sum(|row| row.sent),
        received: sum(|row| row.received),
        missed_deadlines: sum(|row| row.missed_deadlines),
        stalls: results.clone().map(|result| result.published.stalls.stalls).sum(),
        stall_max_ms: results.map(|result| result.published.stalls.max_ms).fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::super::variant::Structure;
    use super::*;

    #[test]
    fn what_was_lost_comes_last() {
        let sorted: Vec<f64> = (1..=98).map(f64::from).collect();
        assert_eq!(percentile_of_sent(&sorted, 98, 99.0), Some(98.0));
        assert_eq!(percentile_of_sent(&sorted, 100, 50.0), Some(50.0));
        assert_eq!(percentile_of_sent(&sorted, 100, 99.0), None);
        assert_eq!(percentile_of_sent(&[], 0, 99.0), None);
    }

    #[test]
    fn late_and_lost_messages_miss_their_deadlines() {
        let mut comparison = testing::comparison();
        comparison.results.truncate(1);
        comparison.results[0].published.sent[0] = 5;
        comparison.results[0].subscribed.latencies_ns[0] = vec![2_000_000, 11_000_000, 3_000_000];
        let row = rows(&comparison).remove(0);
        assert_eq!((row.sent, row.received, row.missed_deadlines), (5, 3, 3));
        assert_eq!((row.p50_ms, row.p99_ms, row.max_ms), (Some(11.0), None, Some(11.0)));
        assert_eq!((row.wcet_ms, row.bound_ms), (2.0, Some(2.0)));
        assert!(!row.meets());
    }

    #[test]
    fn a_standing_sums_up_all_runs() {
        let standings = standings(&testing::comparison());
        let of = |structure| {
            let variant = Variant::real_time(structure);
            standings.iter().find(|standing| standing.variant == variant).unwrap()
        };
        let (good, bad) = (of(Structure::RospinRt), of(Structure::Tokio));
        assert_eq!((good.runs, good.good_runs, good.missing.as_slice()), (2, 2, &[][..]));
        assert_eq!((bad.runs, bad.good_runs, bad.missing.as_slice()), (2, 0, &[0, 1, 2][..]));
        assert_eq!((good.stalls, good.stall_max_ms), (6, 1.5));
    }
}
