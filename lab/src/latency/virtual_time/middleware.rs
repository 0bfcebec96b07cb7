//! The paper's Figure 8 in virtual time: the middleware's threads above the callbacks, and below them.

use std::fmt::Write as _;
use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_measure::stats::percentile;
use rospin_scenario::{Scenario, ScenarioError};
use rospin_sim::{Simulation, SimulationError};
use serde::Serialize;

use super::super::figures::deadline_ms;
use super::super::threads::{BELOW_PRIORITY, SAMPLING_PRIORITY, callback_priority};
use super::super::topics::{self, PERCENT, TOPICS, period, phase};

/// Processor time of the middleware's threads for a message. It is assumed, and of the size that DDS takes.
pub(super) const RECEIVES: Duration = Duration::from_micros(50);
/// Virtual time that is run: that of the paper.
const DURATION: Duration = Duration::from_secs(20);

/// Place of the middleware's threads among the callbacks' threads.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    /// More urgent than every callback, as the paper proposes.
    Above,
    /// Less urgent than every callback.
    Below,
}

impl Place {
    pub(super) const BOTH: [Self; 2] = [Self::Above, Self::Below];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Below => "below",
        }
    }

    const fn priority(self) -> u8 {
        match self {
            Self::Above => SAMPLING_PRIORITY,
            Self::Below => BELOW_PRIORITY,
        }
    }
}

/// A topic with the middleware's threads in one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) middleware: Place,
    /// Number of the topic, from 1.
    pub(super) topic: usize,
    pub(super) deadline_ms: f64,
    pub(super) p99_ms: Option<f64>,
    pub(super) max_ms: Option<f64>,
    /// Bound of the time from publication to the end of the callback; `None` if there is none.
    pub(super) bound_ms: Option<f64>,
    pub(super) missed_deadlines: u64,
}

impl Row {
    /// Returns true if the 99th percentile keeps the deadline.
    pub(super) fn is_kept(&self) -> bool {
        self.p99_ms.is_some_and(|p99_ms| p99_ms <= self.deadline_ms)
    }
}

/// Reasons for which there are no rows.
#[derive(Debug, thiserror::Error)]
pub(super) enum MiddlewareError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// Runs the five topics with the middleware's threads in each place.
pub(super) fn rows(load_percent: f64) -> Result<Vec<Row>, MiddlewareError> {
    let mut rows = Vec::new();
    for place in Place::BOTH {
        rows.extend(rows_of(place, load_percent)?);
    }
    Ok(rows)
}

fn rows_of(place: Place, load_percent: f64) -> Result<Vec<Row>, MiddlewareError> {
    let scenario = Scenario::parse(&text(place, load_percent))?;
    let outcome = Simulation::new(&scenario)?.run()?;
    let report = Analysis::new(&scenario).run().ok();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let row = |topic: usize| {
        let chain = &outcome.chains[topic];
        let latencies: Vec<f64> = chain.instances.iter().map(|(_, latency)| ms(*latency)).collect();
        let bound = report.as_ref().and_then(|report| report.chains[topic].latency);
        Row {
            middleware: place,
            topic: topic + 1,
            deadline_ms: deadline_ms(topic),
            p99_ms: percentile(&latencies, PERCENT),
            max_ms: latencies.iter().copied().max_by(f64::total_cmp),
            bound_ms: bound.map(ms),
            missed_deadlines: chain.misses,
        }
    };
    Ok((0..TOPICS).map(row).collect())
}

/// Returns the scenario: the middleware receives each message on a thread of its own, and then an executor with one
/// callback has it.
fn text(place: Place, load_percent: f64) -> String {
    let mut text = format!(
        "name = \"five topics, middleware {}\"\nduration = \"{} s\"\ncores = 1\n\n\
         [[executor]]\nname = \"middleware\"\npolicy = \"fifo\"\nos_priority = {}\ncores = [0]\n\n[[group]]\nname = \"middleware\"\n\
         executor = \"middleware\"\n\n",
        place.name(),
        DURATION.as_secs(),
        place.priority(),
    );
    let us = |duration: Duration| format!("{} us", duration.as_micros());
    let work = topics::work(load_percent);
    for (topic, work) in work.into_iter().enumerate() {
        let number = topic + 1;
        let _ = write!(
            text,
            "[[executor]]\nname = \"callback-{number}\"\nos_priority = {}\ncores = [0]\n\n[[group]]\nname = \"group-{number}\"\n\
             executor = \"callback-{number}\"\n\n\
             [[callback]]\nname = \"receive-{number}\"\nkind = \"subscription\"\ngroup = \"middleware\"\ndepth = 100\n\
             execution = \"{}\"\npublishes = [\"topic-{number}\"]\n\n\
             [[callback]]\nname = \"topic-{number}\"\nkind = \"subscription\"\ngroup = \"group-{number}\"\ndepth = 100\n\
             execution = \"{}\"\n\n\
             [[release]]\nto = [\"receive-{number}\"]\nperiod = \"{}\"\noffset = \"{}\"\n\n\
             [[chain]]\nname = \"topic {number}\"\ndeadline = \"{}\"\ncallbacks = [\"receive-{number}\", \"topic-{number}\"]\n\n",
            callback_priority(topic),
            us(RECEIVES),
            us(work),
            us(period(topic)),
            us(phase(topic)),
            us(period(topic)),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::topics::FULL_LOAD_PERCENT;
    use super::*;

    #[test]
    fn deadlines_are_kept_with_the_middleware_above_and_missed_with_it_below() {
        let rows = rows(FULL_LOAD_PERCENT).unwrap();
        let missed = |place: Place| {
            let of = rows.iter().filter(move |row| row.middleware == place && !row.is_kept());
            of.map(|row| row.topic).collect::<Vec<_>>()
        };
        assert!(missed(Place::Above).is_empty(), "{rows:?}");
        assert_eq!(missed(Place::Below)[..3], [1, 2, 3], "{rows:?}");
    }

    #[test]
    fn no_latency_exceeds_its_bound() {
        for load_percent in [30.0, 60.0, FULL_LOAD_PERCENT] {
            for row in rows(load_percent).unwrap() {
                assert!(row.bound_ms.is_none_or(|bound_ms| row.max_ms.unwrap() <= bound_ms), "{row:?}");
            }
        }
    }
}
