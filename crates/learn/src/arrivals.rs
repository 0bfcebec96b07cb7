//! Arrivals from outside as patterns of system files.

use std::time::Duration;

use rospin_scenario::{Limit, Pattern};

/// Numbers of messages in the limits of `at_most`. The time of each limit is the shortest in which one message more
/// arrived.
const COUNTS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
/// The largest number of arrivals in a list. Later ones are left out.
const LISTED: usize = 1_000;

/// Returns a pattern that allows these arrivals, which are in order and no earlier than `origin`:
///
/// - `period` with jitter if they come evenly, up to half a period,
/// - `gap` if the shortest gap is at least half of the mean one,
/// - `at_most` otherwise,
/// - a list if there are fewer than two, or too many at the same time for any limit: of the first 1000.
pub(crate) fn pattern(times: &[u64], origin: u64) -> Pattern {
    let after = |ns: u64| Duration::from_nanos(ns.saturating_sub(origin));
    let listed = || Pattern::List(times.iter().take(LISTED).map(|time| after(*time)).collect());
    let [first, .., last] = times else { return listed() };
    let gaps = times.len() as u64 - 1;
    let mean = (last - first) / gaps;
    if mean == 0 {
        return listed();
    }
    // Distances from the grid that begins with the first arrival. Its period is whole, so that the jitter contains the
    // rounding.
    let distances = times.iter().zip(0_i128..).map(|(time, number)| i128::from(*time) - number * i128::from(mean));
    let (least, most) = distances.fold((i128::MAX, i128::MIN), |(least, most), one| (least.min(one), most.max(one)));
    let jitter = u64::try_from(most - least).unwrap_or(u64::MAX);
    if jitter <= mean / 2 {
        let offset = after(u64::try_from(least).unwrap_or(0));
        return Pattern::Periodic { period: Duration::from_nanos(mean), offset, jitter: Duration::from_nanos(jitter) };
    }
    let span = |count: usize| times.windows(count + 1).map(|all| all[count] - all[0]).min().unwrap_or(0);
    let shortest = span(1);
    if shortest >= mean.div_ceil(2) {
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(shortest);
        let [min, max] = [shortest, longest].map(Duration::from_nanos);
        return Pattern::Sporadic { offset: after(*first), min, max };
    }
    let mut limits: Vec<Limit> = Vec::new();
    for count in COUNTS.into_iter().filter(|count| *count < times.len()) {
        let within = Duration::from_nanos(span(count));
        // A limit that allows more in the same time says nothing.
        let is_new = limits.last().is_none_or(|last| within > last.within);
        if !within.is_zero() && is_new {
            limits.push(Limit { count: count as u32, within });
        }
    }
    if limits.is_empty() { listed() } else { Pattern::Limited { offset: after(*first), limits } }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ORIGIN: u64 = 1_000;

    /// Returns true if the pattern allows the arrivals, by its definition and without any cleverness.
    fn allows(pattern: &Pattern, times: &[u64]) -> bool {
        let ns = |duration: &Duration| duration.as_nanos() as u64;
        let times: Vec<u64> = times.iter().map(|time| time - ORIGIN).collect();
        match pattern {
            Pattern::List(listed) => listed.iter().map(ns).eq(times.iter().copied().take(LISTED)),
            Pattern::Periodic { period, offset, jitter } => times.iter().enumerate().all(|(number, time)| {
                let due = ns(offset) + number as u64 * ns(period);
                // The first arrival of a recording is on time at the latest.
                (due..=due + ns(jitter)).contains(time) || ns(offset) == 0
            }),
            Pattern::Sporadic { offset, min, max } => {
                ns(offset) == times[0]
                    && times.windows(2).all(|pair| (ns(min)..=ns(max)).contains(&(pair[1] - pair[0])))
            }
            Pattern::Limited { limits, .. } => limits.iter().all(|limit| {
                // Windows that include one of their ends: begin each at an arrival.
                times.iter().all(|start| {
                    let inside = times.iter().filter(|time| (*start..start + ns(&limit.within)).contains(time));
                    inside.count() <= limit.count as usize
                })
            }),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_allow_what_was_seen(
            gaps in prop::collection::vec(prop_oneof![0..3_u64, 900..1_100_u64, 0..100_000_u64], 0..60),
        ) {
            let times: Vec<u64> = gaps.iter().scan(ORIGIN, |at, gap| { *at += gap; Some(*at) }).collect();
            if !times.is_empty() {
                let found = pattern(&times, ORIGIN);
                prop_assert!(allows(&found, &times), "{found:?} {times:?}");
            }
        }
    }

    #[test]
    fn each_kind_of_arrivals_has_its_pattern() {
        let ms = |ms: u64| ms * 1_000_000;
        let even: Vec<u64> = (0..100).map(|number| ms(10 * number) + number % 3 * 1_000).collect();
        assert!(matches!(pattern(&even, 0), Pattern::Periodic { jitter, .. } if jitter <= Duration::from_micros(3)));
        let gaps = [7, 12, 8, 12, 12, 12, 7, 7, 7, 12];
        let sporadic: Vec<u64> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += ms(*gap);
                Some(*at)
            })
            .collect();
        let [min, max] = [7, 12].map(Duration::from_millis);
        assert_eq!(pattern(&sporadic, 0), Pattern::Sporadic { offset: min, min, max });
        let bursts: Vec<u64> = (0..30).map(|number| ms(100 * (number / 3) + number % 3)).collect();
        let Pattern::Limited { limits, .. } = pattern(&bursts, 0) else { panic!("limits") };
        assert_eq!(limits[0], Limit { count: 1, within: Duration::from_millis(1) });
        assert!(
            limits.iter().any(|limit| limit.count == 5 && limit.within == Duration::from_millis(102)),
            "{limits:?}"
        );
        assert_eq!(pattern(&[5], 0), Pattern::List(vec![Duration::from_nanos(5)]));
        assert_eq!(pattern(&[5, 5], 5), Pattern::List(vec![Duration::ZERO; 2]));
        assert_eq!(pattern(&[], 0), Pattern::List(Vec::new()));
    }
}
