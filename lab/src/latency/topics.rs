//! The five topics of the benchmark, and their bounds by the analysis.

use std::time::Duration;

use rospin_analysis::{Analysis, Overheads};
use rospin_scenario::{ExecutionTime, Pattern, Scenario};

use super::overhead::Overhead;

/// Number of topics.
pub(crate) const TOPICS: usize = 5;
/// Periods of the topics in milliseconds. The deadline of a message is the publication of the next one.
pub(crate) const PERIODS_MS: [u64; TOPICS] = [10, 20, 50, 100, 200];
/// Execution times of the callbacks in milliseconds, at [`FULL_LOAD_PERCENT`].
const WORK_MS: [u64; TOPICS] = [2, 4, 5, 15, 50];
/// Load of one core by these periods and execution times, in percent.
pub(crate) const FULL_LOAD_PERCENT: f64 = 90.0;

/// Time between the first publications of neighbouring topics, the least urgent topic first. Publications then meet in
/// the worst way for every topic: a callback that cannot be preempted has just begun the longest one, and under
/// preemption all more urgent ones still fall into the response of the least urgent one.
const STAGGER: Duration = Duration::from_micros(250);

/// Returns the time of the topic's first publication after the start.
pub(crate) const fn phase(topic: usize) -> Duration {
    Duration::from_micros(STAGGER.as_micros() as u64 * (TOPICS - 1 - topic) as u64)
}

/// Returns the period of a topic.
pub(crate) const fn period(topic: usize) -> Duration {
    Duration::from_millis(PERIODS_MS[topic])
}

/// Returns execution times of the callbacks with which they take `load_percent` of one core.
pub(crate) fn work(load_percent: f64) -> [Duration; TOPICS] {
    WORK_MS.map(|ms| Duration::from_millis(ms).mul_f64(load_percent / FULL_LOAD_PERCENT))
}

/// Returns the longest time that each callback takes from publication to end, by the analysis of preemptive fixed
/// priorities on one core; `None` for a callback that may miss the next publication. Each message takes its overhead's
/// processor time before all callbacks, and may arrive late by the time of its way.
///
/// Only the messages of less urgent topics delay a topic, and not their callbacks. So each topic is analysed with next
/// to no callbacks below it, and urgent topics have bounds even if the load of all topics is too much for the core.
pub(crate) fn bounds(work: [Duration; TOPICS], overhead: Overhead) -> [Option<Duration>; TOPICS] {
    // A callback that takes no time at all is refused.
    const NEXT_TO_NOTHING: Duration = Duration::from_nanos(1);
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let way = ms(overhead.way_ms);
    let overheads = Overheads { receive: ms(overhead.processor_ms), ..Overheads::default() };
    std::array::from_fn(|topic| {
        let mut scenario = Scenario::parse(DESCRIBED).expect("a test reads it");
        for (number, (callback, work)) in scenario.callbacks.iter_mut().zip(work).enumerate() {
            callback.execution = ExecutionTime::Fixed(if number <= topic { work } else { NEXT_TO_NOTHING });
        }
        for release in &mut scenario.releases {
            if let Pattern::Periodic { jitter, .. } = &mut release.pattern {
                *jitter = way;
            }
        }
        let report = Analysis::new(&scenario).overheads(overheads).run().ok()?;
        // The analysis counts from the arrival.
        report.callbacks.get(topic)?.bound.map(|bound| bound + way).filter(|bound| *bound <= period(topic))
    })
}

/// Scenario file of the subscriber with an executor for each callback; the most urgent topic comes first.
const DESCRIBED: &str = rospin_scenario::examples::LATENCY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_paper_s() {
        let bounds = bounds(work(FULL_LOAD_PERCENT), Overhead::default()).map(|bound| bound.unwrap().as_millis());
        assert_eq!(bounds, [2, 6, 13, 36, 170]);
    }

    #[test]
    fn work_is_the_load() {
        for load_percent in [10.0, 90.0, 100.0] {
            let used: f64 =
                work(load_percent).iter().enumerate().map(|(t, w)| w.as_secs_f64() / period(t).as_secs_f64()).sum();
            assert!((used * 100.0 - load_percent).abs() < 1e-3, "{used}");
        }
    }

    #[test]
    fn what_does_not_fit_has_no_bound() {
        let bounds = bounds(work(110.0), Overhead::default());
        assert!(bounds[0].is_some() && bounds[4].is_none(), "{bounds:?}");
    }
}
