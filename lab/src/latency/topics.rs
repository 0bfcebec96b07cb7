//! The five topics of the benchmark.

use std::time::Duration;

/// Number of topics.
pub(crate) const TOPICS: usize = 5;
/// Periods of the topics in milliseconds. The deadline of a message is the publication of the next one.
pub(crate) const PERIODS_MS: [u64; TOPICS] = [10, 20, 50, 100, 200];
/// Execution times of the callbacks in milliseconds, at [`FULL_LOAD_PERCENT`].
const WORK_MS: [u64; TOPICS] = [2, 4, 5, 15, 50];
/// Percentile of the latencies that is compared with deadlines.
pub(crate) const PERCENT: f64 = 99.0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_the_load() {
        for load_percent in [10.0, 90.0, 100.0] {
            let used: f64 =
                work(load_percent).iter().enumerate().map(|(t, w)| w.as_secs_f64() / period(t).as_secs_f64()).sum();
            assert!((used * 100.0 - load_percent).abs() < 1e-3, "{used}");
        }
    }
}
