//! Stalls: times for which the machine did not run a thread that was ready.
//!
//! The meter is a thread of the highest priority that sleeps until absolute times on the experiment's core. If it wakes
//! up late, nothing on that core ran meanwhile: the hypervisor took the core away, or an interrupt did. No latency can
//! be better than that.

use std::fs;

use rospin_measure::stats::percentile;
use rospin_measure::wake_up::{now_ns, sleep_until};
use serde::{Deserialize, Serialize};

use super::topics::{PERIODS_MS, TOPICS};

/// Period of the meter: short enough to see every stall that endangers a deadline of 10 ms, and long enough to be no
/// load itself.
const PERIOD_NS: u64 = 2_000_000;
/// Shortest lateness that counts as a stall, in milliseconds.
pub(crate) const STALL_MS: f64 = 1.0;
/// Length of the unit in which `/proc/stat` counts, in milliseconds.
const STEAL_TICK_MS: f64 = 10.0;

/// Results of the meter.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Stalls {
    /// Number of times that the meter woke up.
    pub(crate) looks: usize,
    /// Median lateness in milliseconds.
    pub(crate) p50_ms: f64,
    /// 99th percentile of the lateness in milliseconds.
    pub(crate) p99_ms: f64,
    /// Largest lateness in milliseconds.
    pub(crate) max_ms: f64,
    /// Number of wake-ups that were later than [`STALL_MS`].
    pub(crate) stalls: usize,
    /// Sum of the lateness of these wake-ups, in milliseconds.
    pub(crate) stalled_ms: f64,
    /// Time that stalls took of a topic's periods, in milliseconds, by topic: the 99th percentile over the periods.
    pub(crate) taken_p99_ms: [f64; TOPICS],
    /// Time that the hypervisor took the core away, by the kernel's count, in milliseconds and in steps of 10; `None`
    /// if the kernel does not tell.
    pub(crate) stolen_ms: Option<f64>,
}

/// Measures stalls on the calling thread until the time `until_ns`. `core` is the core whose stolen time is read.
pub(crate) fn watch(core: u16, until_ns: u64) -> Stalls {
    let stolen = stolen_ms(core);
    let begin_ns = now_ns();
    let mut looks = Vec::with_capacity((until_ns.saturating_sub(begin_ns) / PERIOD_NS) as usize + 1);
    let mut due_ns = begin_ns + PERIOD_NS;
    while due_ns < until_ns {
        sleep_until(due_ns);
        let late_ns = now_ns().saturating_sub(due_ns);
        looks.push(Look { at_ms: (due_ns - begin_ns) / 1_000_000, late_ms: late_ns as f64 / 1e6 });
        // One stall counts once, however many looks it covers.
        due_ns += PERIOD_NS * (late_ns / PERIOD_NS + 1);
    }
    let stolen = stolen.zip(stolen_ms(core)).map(|(before, after)| after - before);
    Stalls { stolen_ms: stolen, ..summary(&looks) }
}

/// A wake-up of the meter: its due time since the meter began, and its lateness, both in milliseconds.
#[derive(Clone, Copy)]
struct Look {
    at_ms: u64,
    late_ms: f64,
}

/// Returns the results of these wake-ups, without the stolen time.
fn summary(looks: &[Look]) -> Stalls {
    let late_ms: Vec<f64> = looks.iter().map(|look| look.late_ms).collect();
    let at = |percent| percentile(&late_ms, percent).unwrap_or(0.0);
    let stalls = late_ms.iter().filter(|late| **late > STALL_MS);
    Stalls {
        looks: late_ms.len(),
        p50_ms: at(50.0),
        p99_ms: at(99.0),
        max_ms: at(100.0),
        stalls: stalls.clone().count(),
        stalled_ms: stalls.sum(),
        taken_p99_ms: PERIODS_MS.map(|period_ms| taken_p99_ms(looks, period_ms)),
        stolen_ms: None,
    }
}

/// Returns the 99th percentile of the time that stalls took of each period of this length since the meter began, in
/// milliseconds.
fn taken_p99_ms(looks: &[Look], period_ms: u64) -> f64 {
    let mut taken_ms = vec![0.0; looks.last().map_or(0, |last| last.at_ms / period_ms + 1) as usize];
    for stall in looks.iter().filter(|look| look.late_ms > STALL_MS) {
        taken_ms[(stall.at_ms / period_ms) as usize] += stall.late_ms;
    }
    percentile(&taken_ms, 99.0).unwrap_or(0.0)
}

/// Returns the time that the hypervisor took the core away since the machine started; `None` if the kernel does not
/// tell.
fn stolen_ms(core: u16) -> Option<f64> {
    parse_stolen_ms(&fs::read_to_string("/proc/stat").ok()?, core)
}

/// Returns the time that the hypervisor took the core away, from the text of `/proc/stat`: the eighth number behind the
/// core's name.
fn parse_stolen_ms(text: &str, core: u16) -> Option<f64> {
    let name = format!("cpu{core}");
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
    Some(line.split_whitespace().nth(8)?.parse::<f64>().ok()? * STEAL_TICK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_looks_every_two_milliseconds_at_most() {
        let stalls = watch(0, now_ns() + 30_000_000);
        assert!((1..=15).contains(&stalls.looks), "{stalls:?}");
        assert!(stalls.p50_ms <= stalls.p99_ms && stalls.p99_ms <= stalls.max_ms);
    }

    #[test]
    fn stalls_are_what_is_longer_than_a_millisecond() {
        let late = |late_ms: &[f64]| {
            let looks = late_ms.iter().zip(1..).map(|(late_ms, number)| Look { at_ms: 2 * number, late_ms: *late_ms });
            summary(&looks.collect::<Vec<_>>())
        };
        let stalls = late(&[0.1, 1.5, 0.2, 4.0]);
        assert_eq!((stalls.looks, stalls.stalls, stalls.stalled_ms, stalls.max_ms), (4, 2, 5.5, 4.0));
        assert_eq!(stalls.taken_p99_ms, [5.5; TOPICS], "all within one period");
        let one_in_two_seconds: Vec<f64> = (0..1000).map(|number| if number == 500 { 3.0 } else { 0.1 }).collect();
        assert_eq!(late(&one_in_two_seconds).taken_p99_ms, [0.0, 0.0, 3.0, 3.0, 3.0]);
        assert_eq!(summary(&[]), Stalls::default());
    }

    #[test]
    fn stolen_time_is_that_of_the_core() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 80 9 10\n";
        assert_eq!(parse_stolen_ms(text, 1), Some(800.0));
        assert_eq!(parse_stolen_ms(text, 2), None);
    }
}
