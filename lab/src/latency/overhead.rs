//! The overhead of a message: what it takes besides its callback, over the same way and on the same core.

use std::time::Duration;

use rospin_measure::stats::percentile;
use serde::Serialize;

use super::runner::{RunError, RunResult, Runner};
use super::settings::Settings;
use super::topics::{self, PERCENT, PERIODS_MS};
use super::variant::OURS;

/// The load of the callbacks while the overhead is measured: so little that messages do not wait for each other.
const LOAD_PERCENT: f64 = 0.1;
/// The longest time for which the overhead is measured.
const DURATION_MAX: Duration = Duration::from_secs(5);

/// Time that a message takes besides its callback: in publisher, kernel and middleware, for wake-up and for dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Overhead {
    /// Processor time of both processes for a message, without its callback: the mean, in milliseconds. It delays all
    /// callbacks.
    pub(crate) processor_ms: f64,
    /// Time from publication to callback on an idle core: the 99th percentile, in milliseconds.
    pub(crate) way_ms: f64,
}

impl Overhead {
    /// Measures the overhead in a run with little load. Returns `None` if the first topic had fewer than two messages,
    /// or no message arrived at all.
    pub(super) fn measure(settings: &Settings, runner: &dyn Runner) -> Result<Option<Self>, RunError> {
        let duration = settings.duration.min(DURATION_MAX);
        let settings = Settings { load_percent: LOAD_PERCENT, duration, ..*settings };
        // No run of the experiment has the number 0.
        Ok(Self::of(&runner.run(OURS, 0, &settings, &|_| {})?))
    }

    /// Calculates the overhead from the results of a run with little load.
    fn of(result: &RunResult) -> Option<Self> {
        let work_ms = topics::work(LOAD_PERCENT).map(|work| work.as_secs_f64() * 1e3);
        let latencies = result.subscribed.latencies_ns.iter().zip(work_ms);
        let ways_ms = latencies.flat_map(|(latencies_ns, work_ms)| {
            latencies_ns.iter().map(move |ns| (*ns as f64 / 1e6 - work_ms).max(0.0))
        });
        let way_ms = percentile(&ways_ms.collect::<Vec<_>>(), PERCENT)?;
        // The first topic's messages tell for how many of its periods both processes ran.
        let cycles = result.subscribed.latencies_ns[0].len().checked_sub(1).filter(|cycles| *cycles > 0)? as f64;
        let a_cycle = |of: &dyn Fn(usize) -> f64| -> f64 {
            (0..PERIODS_MS.len()).map(|topic| of(topic) * PERIODS_MS[0] as f64 / PERIODS_MS[topic] as f64).sum()
        };
        let processor = result.subscribed.processor + result.published.processor;
        let besides_ms = processor.as_secs_f64() * 1e3 / cycles - a_cycle(&|topic| work_ms[topic]);
        Some(Self { processor_ms: (besides_ms / a_cycle(&|_| 1.0)).max(0.0), way_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::super::variant::Structure;
    use super::*;

    #[test]
    fn the_callbacks_own_time_does_not_count() {
        let mut result = testing::result(Structure::RospinRt, 0, [102, 104, 106, 117, 156]);
        // 499 cycles of 10 ms with 1.85 messages each, whose callbacks take 0.1 % of that.
        result.subscribed.processor = Duration::from_micros(499 * 100);
        result.published.processor = Duration::from_micros(499 * 95);
        let overhead = Overhead::of(&result).unwrap();
        assert!((overhead.processor_ms - 0.1).abs() < 1e-6, "{overhead:?}");
        assert!((overhead.way_ms - 0.1).abs() < 0.001, "{overhead:?}");
    }

    #[test]
    fn without_messages_there_is_none() {
        let mut result = testing::result(Structure::RospinRt, 0, [100; 5]);
        result.subscribed.latencies_ns = Default::default();
        assert_eq!(Overhead::of(&result), None);
    }
}
