//! Arrivals against the limits of a system file: the shortest times that several arrivals in a row may take.

use std::collections::VecDeque;
use std::time::Duration;

use rospin_scenario::{Pattern, Release};

/// The largest number of arrivals in a row that are compared with a limit.
const LONGEST: usize = 64;

/// Returns the duration in nanoseconds.
pub(super) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The shortest times that arrivals in a row may take: element `n` is the nanoseconds from an arrival to the `n`-th one
/// after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spans(Vec<u64>);

impl Spans {
    /// Returns the spans of a timer: exactly a period between two due times.
    pub(super) fn timer(period: Duration) -> Self {
        Self::by(|number| number.saturating_mul(ns(period)))
    }

    /// Returns the spans of a release, or `None` if it limits nothing.
    ///
    /// Arrivals that a driver or a network brings are never exact. So where the release states no jitter, each may come
    /// early by a tenth of the shortest time between two.
    pub(super) fn release(release: &Release) -> Option<Self> {
        let spans = match &release.pattern {
            Pattern::Periodic { period, jitter, .. } => {
                let period = ns(*period);
                let jitter = if jitter.is_zero() { period / 10 } else { ns(*jitter) };
                Self::by(|number| number.saturating_mul(period).saturating_sub(jitter))
            }
            Pattern::Sporadic { min, .. } => {
                let min = ns(*min);
                Self::by(|number| number.saturating_mul(min).saturating_sub(min / 10))
            }
            Pattern::Limited { limits, .. } => {
                let mut spans: Vec<u64> = Vec::new();
                for number in 0..LONGEST {
                    let after = |count: u32, within| {
                        let before = number.checked_sub(usize::try_from(count).ok()?)?;
                        Some(spans.get(before)? + ns(within))
                    };
                    let earliest = limits.iter().filter_map(|limit| after(limit.count, limit.within)).max();
                    spans.push(earliest.unwrap_or(0));
                }
                Self(spans)
            }
            Pattern::Measured { times, .. } | Pattern::List(times) => {
                // A file may list them in any order.
                let mut times: Vec<u64> = times.iter().map(|time| ns(*time)).collect();
                times.sort_unstable();
                let shortest = |size: usize| times.windows(size).map(|part| part[size - 1] - part[0]).min();
                let mut spans: Vec<u64> = (1..=LONGEST).map_while(shortest).collect();
                let early = spans.get(1).map_or(0, |shortest| shortest / 10);
                for span in spans.iter_mut().skip(1) {
                    *span = span.saturating_sub(early);
                }
                Self(spans)
            }
            _ => return None,
        };
        let spans = match release.burst {
            Some(burst) => spans.bursts(usize::try_from(burst.count).ok()?.max(1), ns(burst.spacing)),
            None => spans,
        };
        if spans.0.len() > 1 { Some(spans) } else { None }
    }

    /// Returns the spans whose arrivals are each replaced by `count` ones that are `spacing` apart.
    fn bursts(&self, count: usize, spacing: u64) -> Self {
        // The times of the densest bursts. The messages of one may overlap those of the next.
        let mut times: Vec<u64> = Vec::new();
        for begin in self.0.iter().take(LONGEST / count.max(1) + 2) {
            times.extend((0..count.min(LONGEST) as u64).map(|number| begin + number * spacing));
        }
        times.sort_unstable();
        let shortest = |size: usize| times.windows(size).map(|part| part[size - 1] - part[0]).min();
        Self((1..=LONGEST).map_while(shortest).collect())
    }

    fn by(span: impl Fn(u64) -> u64) -> Self {
        Self((0..LONGEST as u64).map(span).collect())
    }
}

/// An arrival that came too early: the nanoseconds since an earlier one, and the least that they may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooEarly {
    pub(super) took: u64,
    pub(super) allowed: u64,
}

/// Arrivals that were within their limit. Those beyond it do not count, so each message that is too many is told once.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    times: VecDeque<u64>,
}

impl Gate {
    /// Adds the arrival at the time `at`, unless it came too early. One that is earlier than the last one counts as
    /// simultaneous.
    pub(super) fn pass(&mut self, spans: &Spans, at: u64) -> Result<(), TooEarly> {
        let at = self.times.back().map_or(at, |last| at.max(*last));
        let longest = spans.0.last().copied().unwrap_or(0);
        for (before, allowed) in self.times.iter().rev().zip(&spans.0[1..]) {
            let took = at - before;
            if took < *allowed {
                return Err(TooEarly { took, allowed: *allowed });
            }
            if took >= longest {
                break;
            }
        }
        if self.times.len() == LONGEST {
            self.times.pop_front();
        }
        self.times.push_back(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_scenario::Scenario;

    fn release(text: &str) -> Spans {
        let text = format!(
            "duration = \"1 s\"\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n[[callback]]\nname = \"a\"\n\
             kind = \"service\"\n[[release]]\nto = [\"a\"]\n{text}\n"
        );
        Spans::release(&Scenario::parse(&text).unwrap().releases[0]).unwrap()
    }

    fn told(spans: &Spans, times: &[u64]) -> Vec<usize> {
        let mut gate = Gate::default();
        (0..times.len()).filter(|at| gate.pass(spans, times[*at] * 1_000_000).is_err()).collect()
    }

    #[test]
    fn every_second_message_of_a_publisher_that_is_twice_too_fast_is_told() {
        let spans = Spans::timer(Duration::from_millis(10));
        assert_eq!(told(&spans, &[0, 5, 10, 15, 20, 40, 45]), [1, 3, 6]);
        assert_eq!(told(&spans, &[0, 10, 20, 30]), [0_usize; 0]);
    }

    #[test]
    fn jitter_does_not_add_up() {
        let spans = release("period = \"10 ms\"\njitter = \"4 ms\"");
        // Each gap is allowed by itself, but the third message is 8 ms early.
        assert_eq!(told(&spans, &[4, 10, 16, 26]), [2]);
        let exact = release("period = \"10 ms\"");
        assert_eq!(told(&exact, &[0, 9, 18, 29]), [2], "a tenth, once");
    }

    #[test]
    fn limits_and_bursts_are_those_of_the_file() {
        let spans = release("at_most = [[3, \"10 ms\"], [4, \"100 ms\"]]");
        assert_eq!(told(&spans, &[0, 0, 0, 9, 10, 20, 100]), [3, 5]);
        let burst = release("period = \"100 ms\"\njitter = \"1 ns\"\nburst = { count = 3, spacing = \"1 ms\" }");
        assert_eq!(told(&burst, &[0, 1, 2, 3, 100, 101, 102, 103, 200]), [3, 7]);
        let lists = release("at = [\"0 s\", \"5 ms\", \"50 ms\"]");
        assert_eq!(told(&lists, &[0, 5, 9, 50]), [2]);
    }

    /// Each conforming subset is the largest one that a naive search over all windows allows.
    #[test]
    fn the_gate_agrees_with_a_look_at_every_window() {
        let spans = release("period = \"7 ms\"\njitter = \"9 ms\"");
        let mut seed = 1_u64;
        for _ in 0..50 {
            let mut at = 0;
            let mut gate = Gate::default();
            let mut kept = Vec::<u64>::new();
            for _ in 0..60 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                at += (seed >> 33) % 6 * 1_000_000;
                let fits = kept.iter().rev().enumerate().all(|(back, before)| at - before >= spans.0[back + 1]);
                assert_eq!(gate.pass(&spans, at).is_ok(), fits);
                if fits {
                    kept.push(at);
                }
            }
        }
    }
}
