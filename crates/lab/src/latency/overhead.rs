//! The overhead of a message: what it takes besides its callback, over the same way and on the same core.

use std::time::Duration;

use rospin_measure::stats::percentile;

use super::figures::PERCENT;
use super::runner::{RunError, Runner};
use super::settings::Settings;
use super::topics;
use super::verdict::OURS;

/// The load of the callbacks meanwhile: so little that messages do not wait for each other.
const LOAD_PERCENT: f64 = 1.0;
/// The longest that it is measured.
const DURATION_MAX: Duration = Duration::from_secs(5);

/// Returns the time from publication to the end of a callback, without the callback's own time: publisher, kernel, middleware,
/// wake-up and dispatch. It is the 99th percentile over all messages of a run with little load; `None` if none arrived.
///
/// The analysis takes all of it for processor time, although a part is waiting. That is safe.
pub(super) fn measure(settings: &Settings, runner: &dyn Runner) -> Result<Option<Duration>, RunError> {
    let settings = Settings { load_percent: LOAD_PERCENT, duration: settings.duration.min(DURATION_MAX), ..*settings };
    // No run of the experiment has the number 0.
    let result = runner.run(OURS, 0, &settings, &|_| {})?;
    let work = topics::work(LOAD_PERCENT);
    let besides_ns = |(latencies, work): (&Vec<u64>, Duration)| {
        let besides = |latency: &u64| latency.saturating_sub(work.as_nanos() as u64) as f64;
        latencies.iter().map(besides).collect::<Vec<_>>()
    };
    let all_ns: Vec<f64> = result.subscribed.latencies_ns.iter().zip(work).flat_map(besides_ns).collect();
    Ok(percentile(&all_ns, PERCENT).map(|ns| Duration::from_nanos(ns as u64)))
}
