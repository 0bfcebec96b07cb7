//! One cell under one policy, in real or in virtual time.

use std::time::Duration;

use rospin_measure::stats::Summary;
use rospin_scenario::Scenario;
use rospin_sim::{Simulation, SimulationError};
use rospin_synthetic::{self as synthetic, SyntheticError};
use serde::Serialize;

use super::setup::{self, Cell, Contender, LIST, ROBOT_PERIOD, Times};

/// Kind of time that a cell ran in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Real time, on the engine.
    Real,
    /// Virtual time, in the simulator.
    Virtual,
}

/// Results of a cell under a contender, in real or in virtual time.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) cell: Cell,
    pub(crate) mode: Mode,
    /// Times in ms between starts of the callback that sends the list, over the first iterations; `None` if it did not
    /// start twice.
    pub(crate) period_ms: Option<Summary>,
    /// Execution times of callbacks: in real time the measured means, in virtual time those that the simulation was
    /// given.
    pub(crate) times: Times,
    /// Share of the robots' messages that callbacks took.
    pub(crate) taken: f64,
}

impl Row {
    /// Returns the mean period; `None` if there is none.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        self.period_ms.map(|period| period.mean)
    }
}

/// Reasons for which a cell could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeasureError {
    #[error(transparent)]
    Real(#[from] SyntheticError),
    #[error(transparent)]
    Virtual(#[from] SimulationError),
}

/// A measurement to take: a cell under a contender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) contender: Contender,
    pub(crate) cell: Cell,
    /// Execution times that callbacks should have. In real time, measured ones may differ.
    pub(crate) times: Times,
    /// Number of periods of the list that count.
    pub(crate) iterations: u32,
}

impl Order {
    /// Returns the duration of the run: long enough for all iterations, with a reserve for delays by the machine.
    pub(crate) fn duration(&self) -> Duration {
        self.times.round(self.contender, self.cell) * (self.iterations + 2) * 9 / 8
    }

    fn scenario(&self) -> Scenario {
        setup::scenario(self.contender, self.cell, self.times, self.duration())
    }

    /// Runs the cell on the engine in real time.
    pub(crate) fn measure(&self, progress: &dyn Fn(f64)) -> Result<Row, MeasureError> {
        let outcome = synthetic::run(&self.scenario(), 1.0, progress)?;
        let of = |is_list: bool| {
            let runs = outcome.runs.iter().filter(move |run| (run.callback == LIST) == is_list);
            Duration::from_nanos(mean(runs.map(|run| run.end_ns - run.start_ns)))
        };
        let mut times = Times { message: of(false), list: of(true) };
        if times.message.is_zero() {
            // No message was taken, so the requested time is used in place of a measured one.
            times.message = self.times.message;
        }
        let runs = outcome.runs.iter().map(|run| (run.callback, run.start_ns));
        Ok(self.row(Mode::Real, times, runs))
    }

    /// Runs the cell in the simulator.
    pub(crate) fn simulate(&self) -> Result<Row, MeasureError> {
        let outcome = Simulation::new(&self.scenario())?.run()?;
        let runs = outcome.runs.iter().map(|run| (run.callback, run.start.as_nanos()));
        Ok(self.row(Mode::Virtual, self.times, runs))
    }

    /// Returns the results of a run. `runs` has the callback and the start in nanoseconds of each activation, in the
    /// order of their starts.
    fn row(&self, mode: Mode, times: Times, runs: impl Iterator<Item = (usize, u64)>) -> Row {
        let mut starts = Vec::new();
        let mut taken = 0;
        for (callback, start_ns) in runs {
            if callback == LIST {
                starts.push(start_ns);
            } else {
                taken += 1;
            }
        }
        let sends = self.duration().as_nanos().div_ceil(ROBOT_PERIOD.as_nanos());
        let sent = sends as f64 * self.cell.robots as f64;
        Row {
            contender: self.contender,
            cell: self.cell,
            mode,
            period_ms: periods_ms(&starts, self.iterations),
            times,
            taken: f64::from(taken) / sent,
        }
    }
}

/// Returns the summary of the first `iterations` periods in ms; `None` if there are none.
fn periods_ms(starts_ns: &[u64], iterations: u32) -> Option<Summary> {
    let periods = starts_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6);
    Summary::of(periods.take(iterations as usize))
}

/// Returns the mean, or zero if there are no values.
fn mean(values: impl Iterator<Item = u64>) -> u64 {
    let (sum, count) = values.fold((0_u64, 0_u64), |(sum, count), value| (sum + value, count + 1));
    sum.checked_div(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::setup::{CONTENDERS, PerTopic};
    use super::*;

    fn simulated(policy: &str, robots: usize, per_topic: PerTopic, list_us: u64) -> Row {
        let contender = CONTENDERS.into_iter().find(|contender| contender.policy == policy).unwrap();
        let times = Times { message: Duration::from_micros(25), list: Duration::from_micros(list_us) };
        Order { contender, cell: Cell { robots, per_topic }, times, iterations: 100 }.simulate().unwrap()
    }

    #[test]
    fn under_e2_the_period_grows_with_robots_and_topics() {
        let mean = |robots, per_topic| simulated("wait-set-e2", robots, per_topic, 900).mean_ms().unwrap();
        let by_topics: Vec<f64> = PerTopic::ROWS.iter().map(|row| mean(70, *row)).collect();
        assert!(by_topics.windows(2).all(|pair| pair[0] > pair[1]), "{by_topics:?}");
        let by_robots: Vec<f64> = [10, 30, 50, 70].map(|robots| mean(robots, PerTopic::Robots(1))).into();
        assert!(by_robots.windows(2).all(|pair| pair[0] < pair[1]), "{by_robots:?}");
    }

    #[test]
    fn priority_holds_the_period_as_long_as_the_list_fits() {
        for per_topic in PerTopic::ROWS {
            let row = simulated("fixed-priority", 70, per_topic, 900);
            let mean = row.mean_ms().unwrap();
            assert!((mean - 1.0).abs() < 0.02, "{mean}");
            assert!(row.times.utilization(70) > 1.0 && row.taken > 0.0 && row.taken < 0.1, "{row:?}");
        }
    }

    #[test]
    fn only_the_first_periods_count() {
        let starts = [1_000_000, 2_000_000, 3_000_000, 9_000_000];
        assert_eq!(periods_ms(&starts, 2).unwrap().mean, 1.0);
        assert_eq!(periods_ms(&starts[..1], 2), None);
        assert_eq!((mean([1, 3].into_iter()), mean(std::iter::empty())), (2, 0));
    }
}
