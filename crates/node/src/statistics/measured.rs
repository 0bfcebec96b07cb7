//! Measured ages and periods, and their summaries as messages.

use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use rospin_engine::{Clock, Instant};
use rospin_msgs::statistics_msgs::msg::{MetricsMessage, StatisticDataPoint, StatisticDataType};

use crate::info::Way;
use crate::sync::Mutex;

/// Collector of a subscription's ages and periods, from one message on `/statistics` to the next.
pub(crate) struct Collector {
    node: String,
    clock: Clock,
    /// Locked for a few instructions. Its users are callbacks of one group, so threads of one executor, which have one
    /// priority.
    window: Mutex<Window>,
}

/// Measurements since the last time that statistics were published.
struct Window {
    /// On the system clock.
    begin: SystemTime,
    age: Summary,
    period: Summary,
    /// The time on the steady clock when the last message was taken.
    last: Option<Instant>,
}

impl Collector {
    pub(crate) fn new(node: &str, clock: &Clock) -> Self {
        let age = Summary::EMPTY;
        let period = Summary::EMPTY;
        let window = Window { begin: clock.time_of_day(), age, period, last: None };
        Self { node: node.to_owned(), clock: clock.clone(), window: Mutex::new(window) }
    }

    /// Measures a message that is taken now, and that came on that way.
    ///
    /// Its age is the time since its publication, as in rclcpp since Jazzy: a message need not have a header. It has
    /// none if the publisher did not send the time, and is negative if the publisher's clock is ahead.
    pub(crate) fn measure(&self, way: Way) {
        let now = self.clock.now();
        let age_ms = match way {
            Way::Here(origin) => origin.map(|origin| milliseconds(origin.published, now)),
            Way::Outside(publication) => publication
                .and_then(|publication| publication.time)
                .filter(|time| *time != SystemTime::UNIX_EPOCH)
                .map(|time| age_ms(time, self.clock.time_of_day())),
        };
        // A panic leaves the numbers consistent, so its poison is ignored.
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(age_ms) = age_ms {
            window.age.add(age_ms);
        }
        if let Some(last) = window.last.replace(now) {
            window.period.add(milliseconds(last, now));
        }
    }

    /// Returns the messages of the window that ends now, and begins the next one. The first period of the next window
    /// is measured from the last message of this one.
    pub(crate) fn take(&self) -> [MetricsMessage; 2] {
        let end = self.clock.time_of_day();
        let (begin, age, period) = {
            let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
            let begin = std::mem::replace(&mut window.begin, end);
            let age = std::mem::replace(&mut window.age, Summary::EMPTY);
            (begin, age, std::mem::replace(&mut window.period, Summary::EMPTY))
        };
        [("message_age", age), ("message_period", period)].map(|(metric, summary)| MetricsMessage {
            measurement_source_name: self.node.clone(),
            metrics_source: metric.to_owned(),
            unit: "ms".to_owned(),
            window_start: begin.into(),
            window_stop: end.into(),
            statistics: summary.into_points(),
        })
    }
}

/// Returns the milliseconds from `begin` to `end`, which was read later.
fn milliseconds(begin: Instant, end: Instant) -> f64 {
    in_milliseconds(end.saturating_since(begin))
}

/// Returns the milliseconds from `sent` to `now`, negative if the clock of the machine that sent is ahead.
fn age_ms(sent: SystemTime, now: SystemTime) -> f64 {
    match now.duration_since(sent) {
        Ok(age) => in_milliseconds(age),
        Err(ahead) => -in_milliseconds(ahead.duration()),
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "times of ages and periods are far below 2^53 ns, and are statistics anyway"
)]
fn in_milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// Summary of numbers, of which none is kept (Welford's algorithm).
struct Summary {
    count: u64,
    mean: f64,
    min: f64,
    max: f64,
    /// The sum of the squares of all differences from the mean.
    squares: f64,
}

impl Summary {
    const EMPTY: Self = Self { count: 0, mean: 0.0, min: f64::MAX, max: f64::MIN, squares: 0.0 };

    #[allow(clippy::cast_precision_loss, reason = "a window has fewer than 2^53 messages")]
    fn add(&mut self, number: f64) {
        self.count += 1;
        let from_old_mean = number - self.mean;
        self.mean += from_old_mean / self.count as f64;
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        self.squares += from_old_mean * (number - self.mean);
    }

    /// Returns the data points in rclcpp's order. Without a number, all but the count are NaN.
    #[allow(clippy::cast_precision_loss, reason = "a window has fewer than 2^53 messages")]
    fn into_points(self) -> Vec<StatisticDataPoint> {
        let known = |value: f64| if self.count == 0 { f64::NAN } else { value };
        let count = self.count as f64;
        [
            (StatisticDataType::STATISTICS_DATA_TYPE_AVERAGE, known(self.mean)),
            (StatisticDataType::STATISTICS_DATA_TYPE_MAXIMUM, known(self.max)),
            (StatisticDataType::STATISTICS_DATA_TYPE_MINIMUM, known(self.min)),
            (StatisticDataType::STATISTICS_DATA_TYPE_SAMPLE_COUNT, count),
            // Divided by the number of samples, not by one less, as libstatistics_collector calculates it.
            (StatisticDataType::STATISTICS_DATA_TYPE_STDDEV, known((self.squares / count).sqrt())),
        ]
        .map(|(data_type, data)| StatisticDataPoint { data_type, data })
        .into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rospin_engine::{Context, ContextOptions, ManualClock};

    use super::*;
    use crate::info::{Gid, Publication};

    #[test]
    fn a_summary_is_that_of_the_numbers_and_nan_without_any() {
        let mut summary = Summary::EMPTY;
        for number in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            summary.add(number);
        }
        let points: Vec<_> = summary.into_points().iter().map(|point| (point.data_type, point.data)).collect();
        assert_eq!(points, [(1, 5.0), (3, 9.0), (2, 2.0), (5, 8.0), (4, 2.0)]);
        let empty = Summary::EMPTY.into_points();
        assert_eq!(empty.iter().filter(|point| point.data.is_nan()).count(), 4);
        assert!(empty[3].data.abs() < f64::EPSILON);
    }

    /// Times that another machine sends may be anything.
    #[test]
    fn messages_of_other_processes_are_as_old_as_they_say_or_have_no_age() {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        clock.advance(Duration::from_secs(10));
        let collector = Collector::new("brake", context.clock());
        let now = context.clock().time_of_day();
        let publication = |time| Way::Outside(Some(Publication { publisher: Gid::new([1; 16]), number: None, time }));
        let ages = |ways: &[Way]| {
            for way in ways {
                collector.measure(*way);
            }
            collector.take()[0].statistics.iter().map(|point| point.data).collect::<Vec<_>>()
        };
        let sent = |ago_ms| publication(Some(now - Duration::from_millis(ago_ms)));
        assert_eq!(ages(&[sent(2), sent(4)]), [3.0, 4.0, 2.0, 2.0, 1.0]);
        let none =
            ages(&[Way::Outside(None), Way::Here(None), publication(None), publication(Some(SystemTime::UNIX_EPOCH))]);
        assert!(none[3].abs() < f64::EPSILON && none[0].is_nan(), "{none:?}");
        assert!(
            ages(&[publication(Some(now + Duration::from_secs(1_000_000_000)))])[0] < -1e9,
            "the publisher's clock is decades ahead"
        );
    }

    #[test]
    fn a_time_that_ends_before_it_begins_is_negative() {
        let early = SystemTime::UNIX_EPOCH;
        let late = SystemTime::UNIX_EPOCH + Duration::from_millis(2);
        assert_eq!((age_ms(early, late), age_ms(late, early)), (2.0, -2.0));
    }
}
