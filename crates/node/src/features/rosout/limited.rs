//! Loggers that drop some of the records of one line of code.

use std::time::{Duration, Instant};

use log::{Log, Metadata, Record};

use super::limits::Limit;
use super::logger::Logger;

/// Logger that drops some of the records of one line of code. [`Logger::throttle`], [`Logger::once`] and
/// [`Logger::skip_first`] return it.
///
/// Its messages are formatted only if they are logged. Locks for a moment, and allocates.
#[derive(Clone, Debug)]
pub struct LimitedLogger {
    logger: Logger,
    limit: Limit,
    interval: Duration,
}

impl Logger {
    /// Returns this logger for a line of code that logs again only after `interval`, as `RCLCPP_INFO_THROTTLE` does.
    /// The time is that of the steady clock.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, Ros};
    /// # use std::time::Duration;
    /// # let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("arm")?;
    /// for _ in 0..1000 {
    ///     log::warn!(logger: node.logger().throttle(Duration::from_secs(1)), "the motor is hot");
    /// }
    /// # Ok::<(), rospin::errors::NodeError>(())
    /// ```
    #[must_use]
    pub fn throttle(&self, interval: Duration) -> LimitedLogger {
        self.limited(Limit::Throttle, interval)
    }

    /// Returns this logger for a line of code that logs once only, as `RCLCPP_INFO_ONCE` does.
    #[must_use]
    pub fn once(&self) -> LimitedLogger {
        self.limited(Limit::Once, Duration::MAX)
    }

    /// Returns this logger for a line of code that does not log the first time, as `RCLCPP_INFO_SKIPFIRST` does.
    #[must_use]
    pub fn skip_first(&self) -> LimitedLogger {
        self.limited(Limit::SkipFirst, Duration::ZERO)
    }

    fn limited(&self, limit: Limit, interval: Duration) -> LimitedLogger {
        LimitedLogger { logger: self.clone(), limit, interval }
    }
}

impl Log for LimitedLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.logger.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        let passes = |limit, interval| self.logger.limits().passes(record, limit, interval, Instant::now());
        if self.enabled(record.metadata()) && passes(self.limit, self.interval) {
            self.logger.log(record);
        }
    }

    fn flush(&self) {
        self.logger.flush();
    }
}
