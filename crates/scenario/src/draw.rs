//! Random execution times and arrivals, from a scenario's seed: the same ones in the simulator and in the engine.
//!
//! Every callback and every release has a stream of its own, so adding one to a scenario does not change the numbers
//! of the others.

use std::collections::VecDeque;
use std::time::Duration;

use crate::callback::ExecutionTime;
use crate::traffic::{Limit, Pattern, Release};

/// A stream of random numbers, determined by a seed and a name.
///
/// The generator is SplitMix64 (Steele, Lea and Flood 2014). It starts at the seed mixed with the FNV-1a hash of the
/// name. The numbers are the same on every machine and in every version.
///
/// ```
/// use rospin_scenario::draw::Stream;
///
/// let mut stream = Stream::new(1, "lidar");
/// assert!(stream.below(10) < 10);
/// assert_ne!(Stream::new(1, "lidar").next_u64(), Stream::new(1, "radar").next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// Returns the stream of `name` under `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, fnv);
        // One step of the generator, so that seeds that differ by one give unrelated streams.
        Self(Self(seed).next_u64() ^ hash)
    }

    /// Returns the next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `bound - 1`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of the product: no division, and no measurable bias.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a duration from `min` to `max`, ends included; `min` if `max` is shorter.
    pub fn between(&mut self, min: Duration, max: Duration) -> Duration {
        let span_ns = nanos(max.saturating_sub(min));
        min + Duration::from_nanos(self.below(span_ns.saturating_add(1)))
    }

    /// Returns true with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits, which an `f64` holds exactly.
        ((self.next_u64() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The execution times of a callback's activations, in order.
#[derive(Clone, Debug)]
pub struct ExecutionTimes {
    model: ExecutionTime,
    stream: Stream,
    /// Number of execution times that were drawn.
    drawn: usize,
    /// Sum of the counts of a histogram.
    total: u64,
}

impl ExecutionTimes {
    /// Returns the execution times of `name` under `seed`.
    #[must_use]
    pub fn new(model: &ExecutionTime, seed: u64, name: &str) -> Self {
        let total = match model {
            ExecutionTime::Recorded(bins) => bins.iter().map(|bin| u64::from(bin.count)).sum(),
            _ => 0,
        };
        Self { model: model.clone(), stream: Stream::new(seed, name), drawn: 0, total }
    }

    /// Returns the next execution time, or zero if a list or histogram is empty.
    pub fn draw(&mut self) -> Duration {
        let number = self.drawn;
        self.drawn = self.drawn.wrapping_add(1);
        match &self.model {
            ExecutionTime::Fixed(time) => *time,
            ExecutionTime::Uniform(min, max) => self.stream.between(*min, *max),
            ExecutionTime::List(times) => number.checked_rem(times.len()).map_or(Duration::ZERO, |place| times[place]),
            ExecutionTime::Recorded(bins) => {
                let mut left = self.stream.below(self.total);
                let chosen = bins.iter().find(|bin| {
                    let here = left < u64::from(bin.count);
                    left = left.saturating_sub(u64::from(bin.count));
                    here
                });
                chosen.map_or(Duration::ZERO, |bin| bin.time)
            }
        }
    }
}

/// The arrivals of a release's messages, in order. They are endless, unless their times are listed or measured.
#[derive(Clone, Debug)]
pub struct Arrivals {
    pattern: Pattern,
    stream: Stream,
    /// Number of arrivals so far; a burst counts as one.
    number: u64,
    /// Rest of the current burst: the time of its next message, and the number of messages left.
    burst: Option<(Duration, u32)>,
    /// Number of messages of each burst.
    count: u32,
    /// Time between two messages of a burst.
    spacing: Duration,
    /// Latest arrival; of a burst, that of its first message.
    last: Duration,
    /// For releases with limits: the latest arrivals, the last one at the end.
    recent: VecDeque<Duration>,
}

impl Arrivals {
    /// Returns the arrivals of the release with this number in its scenario, under `seed`.
    #[must_use]
    pub fn new(release: &Release, seed: u64, number: usize) -> Self {
        let mut pattern = release.pattern.clone();
        if let Pattern::List(times) | Pattern::Measured { times, .. } = &mut pattern {
            times.sort_unstable();
        }
        let (count, spacing) = release.burst.map_or((1, Duration::ZERO), |burst| (burst.count, burst.spacing));
        let stream = Stream::new(seed, &format!("release {number}"));
        Self { pattern, stream, number: 0, burst: None, count, spacing, last: Duration::ZERO, recent: VecDeque::new() }
    }

    /// Returns the next arrival; of a burst, that of its first message. `None` after the last listed or measured time.
    fn next_single(&mut self) -> Option<Duration> {
        let number = self.number;
        self.number += 1;
        match &self.pattern {
            Pattern::List(times) | Pattern::Measured { times, .. } => times.get(usize::try_from(number).ok()?).copied(),
            Pattern::Periodic { period, offset, jitter } => {
                let nominal_ns = nanos(*period).checked_mul(number)?.checked_add(nanos(*offset))?;
                let late = self.stream.between(Duration::ZERO, *jitter);
                // Jitter longer than the period would reorder arrivals; they keep their order.
                self.last = self.last.max(Duration::from_nanos(nominal_ns).saturating_add(late));
                Some(self.last)
            }
            Pattern::Sporadic { offset, .. } if number == 0 => {
                self.last = *offset;
                Some(self.last)
            }
            Pattern::Limited { offset, limits } => {
                let offset = *offset;
                let limits = limits.clone();
                Some(self.next_limited(offset, &limits))
            }
            Pattern::Sporadic { min, max, .. } => {
                self.last = self.last.saturating_add(self.stream.between(*min, *max));
                Some(self.last)
            }
        }
    }
}

impl Arrivals {
    /// Returns the earliest arrival that the limits allow, or in one of eight cases a later one, so that the arrivals
    /// are dense but not regular.
    fn next_limited(&mut self, offset: Duration, limits: &[Limit]) -> Duration {
        let allowed = limits.iter().filter_map(|limit| {
            let place = self.recent.len().checked_sub(limit.count as usize)?;
            Some(self.recent[place].saturating_add(limit.within))
        });
        let allowed = allowed.max().unwrap_or(offset).max(self.last).max(offset);
        let pause = limits.iter().map(|limit| limit.within).max().unwrap_or_default();
        let pauses = self.number > 1 && self.stream.below(8) == 0;
        let late = if pauses { self.stream.between(Duration::ZERO, pause) } else { Duration::ZERO };
        self.last = allowed.saturating_add(late);
        self.recent.push_back(self.last);
        let most = limits.iter().map(|limit| limit.count as usize).max().unwrap_or(0);
        if self.recent.len() > most {
            self.recent.pop_front();
        }
        self.last
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    /// Returns the next arrival. A burst is completed before the next one starts, so its last messages may be later
    /// than those of the next one.
    fn next(&mut self) -> Option<Duration> {
        let (at, left) = match self.burst.take() {
            Some(burst) => burst,
            None => (self.next_single()?, self.count),
        };
        if left > 1 {
            self.burst = Some((at.saturating_add(self.spacing), left - 1));
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::Bin;
    use crate::traffic::Burst;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn recorded_times_come_as_often_as_they_were_seen() {
        let bins = vec![Bin { time: MS, count: 90 }, Bin { time: 5 * MS, count: 10 }];
        let mut times = ExecutionTimes::new(&ExecutionTime::Recorded(bins), 1, "x");
        let short = (0..10_000).filter(|_| times.draw() == MS).count();
        assert!((8_900..9_100).contains(&short), "{short} of 10000");
    }

    #[test]
    fn uniform_times_stay_within_and_reach_their_ends() {
        let ns = Duration::from_nanos;
        let mut times = ExecutionTimes::new(&ExecutionTime::Uniform(ns(3), ns(6)), 1, "x");
        let mut seen: Vec<_> = (0..100).map(|_| times.draw().as_nanos()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [3, 4, 5, 6]);
    }

    #[test]
    fn lists_start_over() {
        let mut times = ExecutionTimes::new(&ExecutionTime::List(vec![MS, 2 * MS]), 1, "x");
        assert_eq!([times.draw(), times.draw(), times.draw()], [MS, 2 * MS, MS]);
        assert_eq!(ExecutionTimes::new(&ExecutionTime::List(Vec::new()), 1, "x").draw(), Duration::ZERO);
    }

    #[test]
    fn bursts_and_patterns() {
        let arrivals = |pattern, burst, n| -> Vec<u128> {
            let release = Release { to: Vec::new(), pattern, burst };
            Arrivals::new(&release, 7, 0).take(n).map(|at| at.as_millis()).collect()
        };
        let burst = Some(Burst { count: 2, spacing: MS });
        let periodic = Pattern::Periodic { period: 10 * MS, offset: 5 * MS, jitter: Duration::ZERO };
        assert_eq!(arrivals(periodic.clone(), burst, 5), [5, 6, 15, 16, 25]);
        assert_eq!(arrivals(periodic, None, 2), [5, 15]);
        assert_eq!(arrivals(Pattern::List(vec![3 * MS, MS]), None, 9), [1, 3]);
        let limits = vec![Limit { count: 2, within: 5 * MS }, Limit { count: 3, within: 20 * MS }];
        let limited = arrivals(Pattern::Limited { offset: MS, limits }, None, 500);
        assert_eq!(limited[..2], [1, 1], "as dense as may be");
        assert!(
            limited.windows(3).all(|three| three[2] - three[0] >= 5)
                && limited.windows(4).all(|four| four[3] - four[0] >= 20)
        );
        let late = arrivals(Pattern::Periodic { period: MS, offset: MS, jitter: 9 * MS }, None, 500);
        assert!(late.is_sorted() && late.iter().zip(1..).all(|(at, nominal)| (nominal..=nominal + 9).contains(at)));
        let sporadic = arrivals(Pattern::Sporadic { offset: MS, min: 5 * MS, max: 9 * MS }, None, 50);
        assert!(sporadic.windows(2).all(|pair| (4..=9).contains(&(pair[1] - pair[0]))), "{sporadic:?}");
    }
}
