//! Figures of a drive: latencies of the odometry chain, durations of callbacks, and the car's path. The durations come
//! from the recordings.

use rospin_measure::stats::percentile;
use rospin_trace::Model;
use serde::Serialize;

use super::bounds::{self, Bound};
use super::order::{Answer, Drive};

/// The callbacks of the chain that is measured, from the bus to the visualiser.
pub(crate) const CHAIN: [&str; 3] = ["vehicle/odometry", "keeper/odometry", "visualiser/odometry"];
/// Time at the beginning of a drive that does not count, in nanoseconds.
const WARM_UP_NS: u64 = 1_000_000_000;
/// Time after which the car should have found the lane's middle, in seconds.
const SETTLED_S: f64 = 3.0;

/// Latency in microseconds below which the paper has 99 of 100.
pub(crate) const PAPER_US: f64 = 800.0;

/// Durations of a callback's activations, in the order of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Durations {
    pub(crate) name: String,
    pub(crate) us: Vec<f64>,
}

/// Figures of one drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) drive: Drive,
    /// Number of odometry messages of the vehicle, without the warm-up.
    pub(crate) sent: usize,
    /// Latency of each run of the chain, in microseconds: from the due time of the vehicle's timer to the end of the
    /// visualiser's callback.
    pub(crate) chain_us: Vec<f64>,
    /// Durations of each callback, without the warm-up.
    pub(crate) durations: Vec<Durations>,
    /// Number of messages that subscriptions lost.
    pub(crate) lost: u64,
    /// Number of events that the recordings lack.
    pub(crate) dropped: u64,
    /// Bounds of all callbacks and of the chain, or the reason for which the analysis has none.
    pub(crate) bounds: Result<Vec<Bound>, String>,
    /// The answer of the processes.
    pub(crate) answer: Answer,
}

impl Row {
    /// Returns the figures of a drive. `start_ns` is its beginning on the steady clock, and `cores` the number of the
    /// machine's cores.
    pub(crate) fn of(drive: Drive, model: &Model, start_ns: u64, cores: u16, answers: Vec<Answer>) -> Self {
        let is_counted = |release_ns: u64| release_ns >= start_ns + WARM_UP_NS;
        let answer = combine(answers);
        let counted = answer.chain_ns.iter().filter(|(due, _)| is_counted(*due));
        let chain_us: Vec<f64> = counted.map(|(_, latency)| *latency as f64 / 1e3).collect();
        let durations: Vec<Durations> = model
            .callbacks
            .iter()
            .filter(|callback| !callback.activations.is_empty())
            .map(|callback| {
                let all = callback.activations.iter().map(|place| &model.activations[*place]);
                let ended = all.filter(|one| one.end_ns.is_some() && is_counted(one.release_ns));
                Durations {
                    name: callback.name.clone(),
                    us: ended.map(|one| one.execution_ns() as f64 / 1e3).collect(),
                }
            })
            .collect();
        let sent = durations.iter().find(|of| of.name == CHAIN[0]).map_or(0, |of| of.us.len());
        Self {
            drive,
            sent,
            lost: model.losses.iter().map(|loss| loss.count).sum(),
            dropped: model.dropped,
            bounds: bounds::bounds(drive.executors, model, &chain_us, start_ns + WARM_UP_NS, cores),
            durations,
            chain_us,
            answer,
        }
    }

    /// Returns the durations of a callback in microseconds; none if it did not run.
    pub(crate) fn durations(&self, name: &str) -> &[f64] {
        self.durations.iter().find(|of| of.name == name).map_or(&[], |of| &of.us)
    }

    /// Returns the durations of all subscriptions of the lane keeper.
    pub(crate) fn of_subscribers(&self) -> Vec<f64> {
        let is_one = |name: &str| name.starts_with("keeper/") && name != "keeper/control" && name != "keeper/planner";
        self.durations.iter().filter(|of| is_one(&of.name)).flat_map(|of| of.us.iter().copied()).collect()
    }

    /// Returns the percentile of the chain's latencies in microseconds; infinite if no message arrived.
    pub(crate) fn chain(&self, percent: f64) -> f64 {
        percentile(&self.chain_us, percent).unwrap_or(f64::INFINITY)
    }

    /// Returns the percentage of the vehicle's messages that arrived within the paper's time.
    pub(crate) fn percent_as_in_paper(&self) -> f64 {
        let kept = self.chain_us.iter().filter(|us| **us < PAPER_US).count();
        100.0 * kept as f64 / self.sent.max(1) as f64
    }

    /// Returns the largest distance in metres from the lane's middle, after the first seconds; infinite if there was no
    /// drive.
    pub(crate) fn worst_offset(&self) -> f64 {
        let settled = self.answer.path.iter().filter(|place| place.time_s > SETTLED_S);
        settled.map(|place| place.offset_m.abs()).reduce(f64::max).unwrap_or(f64::INFINITY)
    }
}

/// Combines the answers of the processes.
fn combine(answers: Vec<Answer>) -> Answer {
    let mut all = Answer::default();
    for answer in answers {
        all.path.extend(answer.path);
        all.chain_ns.extend(answer.chain_ns);
        all.plans[0] += answer.plans[0];
        all.plans[1] += answer.plans[1];
        all.markers += answer.markers;
        all.unsent += answer.unsent;
        all.shortfalls.extend(answer.shortfalls);
    }
    all
}
