//! Times at which the lines of code of a node have logged last.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use log::Record;

use crate::sync::Mutex;

/// Place in the code where a record was made.
type Place = (Option<String>, Option<u32>);

/// The last time that a record of each place was logged, or skipped as the first one, by the kind of limit.
#[derive(Debug, Default)]
pub(super) struct Limits(Mutex<HashMap<(Place, Limit), Instant>>);

/// A kind of limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Limit {
    Throttle,
    Once,
    SkipFirst,
}

impl Limits {
    /// Returns true if a record should be logged now, and notes its time. `interval` is the least time between two
    /// logged records of one place.
    pub(super) fn passes(&self, record: &Record<'_>, limit: Limit, interval: Duration, now: Instant) -> bool {
        let place = ((record.file().map(str::to_owned), record.line()), limit);
        // A panic leaves the map consistent, so its poison is ignored.
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = places.get(&place).copied();
        let passes = match last {
            None => limit != Limit::SkipFirst,
            Some(last) => now.saturating_duration_since(last) >= interval,
        };
        if passes || last.is_none() {
            places.insert(place, now);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_own_limit() {
        let limits = Limits::default();
        let begin = Instant::now();
        let passed = |limit, interval, line| {
            let record = Record::builder().file(Some("arm.rs")).line(Some(line)).build();
            let at = |second: &u64| begin + Duration::from_secs(*second);
            (0..5).filter(|second| limits.passes(&record, limit, interval, at(second))).collect::<Vec<u64>>()
        };
        let throttled = |line| passed(Limit::Throttle, Duration::from_secs(2), line);
        assert_eq!((throttled(1), throttled(2)), (vec![0, 2, 4], vec![0, 2, 4]));
        let once = || passed(Limit::Once, Duration::MAX, 1);
        assert_eq!((once(), once()), (vec![0], vec![]));
        assert_eq!(passed(Limit::SkipFirst, Duration::ZERO, 3), [1, 2, 3, 4]);
    }
}
