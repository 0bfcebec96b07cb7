//! Bounds of the five topics' callbacks by the analysis.

use std::time::Duration;

use rospin_analysis::{Analysis, Overheads};
use rospin_scenario::{ExecutionTime, Pattern, Scenario};

use super::overhead::Overhead;
use super::topics::{TOPICS, period};

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
    use super::super::topics::{FULL_LOAD_PERCENT, work};
    use super::*;

    #[test]
    fn bounds_are_the_paper_s() {
        let bounds = bounds(work(FULL_LOAD_PERCENT), Overhead::default()).map(|bound| bound.unwrap().as_millis());
        assert_eq!(bounds, [2, 6, 13, 36, 170]);
    }

    #[test]
    fn what_does_not_fit_has_no_bound() {
        let bounds = bounds(work(110.0), Overhead::default());
        assert!(bounds[0].is_some() && bounds[4].is_none(), "{bounds:?}");
    }
}
