//! The scheduling of a thread by the operating system, as plain data. Deployment files name it, the engine applies it,
//! and the analysis calculates with it.

use std::fmt;
use std::time::Duration;

/// The scheduling class of a thread, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OsScheduling {
    /// `SCHED_OTHER`: the thread gets a share of the processor by its niceness.
    Other {
        /// The niceness, from -20, which gets the largest share, to 19.
        nice: i8,
    },
    /// `SCHED_FIFO`: the thread runs until it waits or a more urgent thread becomes ready.
    Fifo {
        /// The priority, from 1 to 99. The larger number runs first.
        priority: u8,
    },
    /// `SCHED_RR`: like `SCHED_FIFO`, but threads of the same priority take turns.
    RoundRobin {
        /// The priority, from 1 to 99. The larger number runs first.
        priority: u8,
    },
    /// `SCHED_DEADLINE`: the thread with the earliest deadline runs first, before every thread of another class. A
    /// thread gets no more than its budget in each period.
    Deadline {
        /// The budget: the processor time that the thread gets in each period.
        runtime: Duration,
        /// The time from the beginning of a period by which the thread has got its `runtime`.
        deadline: Duration,
        /// The time between the beginnings of periods.
        period: Duration,
    },
}

impl OsScheduling {
    /// Returns true if the kernel runs such a thread before all ordinary ones.
    #[must_use]
    pub const fn is_real_time(self) -> bool {
        !matches!(self, Self::Other { .. })
    }

    /// Checks that the parameters are in the kernel's range.
    ///
    /// # Errors
    /// If a parameter is out of range. The error names the parameter and the range.
    pub fn check(self) -> Result<(), OsSchedulingError> {
        match self {
            Self::Other { nice } if !(-20..=19).contains(&nice) => Err(OsSchedulingError::Nice(nice)),
            Self::Fifo { priority } | Self::RoundRobin { priority } if !(1..=99).contains(&priority) => {
                Err(OsSchedulingError::Priority(priority))
            }
            Self::Deadline { runtime, deadline, period } if !is_budget(runtime, deadline, period) => {
                Err(OsSchedulingError::Budget)
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if the kernel accepts the values of a `SCHED_DEADLINE` thread: 1024 ns <= `runtime` <= `deadline` <=
/// `period` < 2^63 ns.
fn is_budget(runtime: Duration, deadline: Duration, period: Duration) -> bool {
    runtime.as_nanos() >= 1024 && runtime <= deadline && deadline <= period && period.as_nanos() < 1 << 63
}

/// Errors of a scheduling whose parameters are out of range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsSchedulingError {
    /// The niceness is out of range.
    #[error("a niceness of {0} does not exist; give one from -20 to 19")]
    Nice(i8),
    /// The priority is out of range.
    #[error("a real-time priority of {0} does not exist; give one from 1 to 99")]
    Priority(u8),
    /// The kernel would refuse the budget, its deadline or its period.
    #[error("a reservation needs 1024 ns <= runtime <= deadline <= period")]
    Budget,
}

impl fmt::Display for OsScheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { nice } => write!(f, "SCHED_OTHER nice {nice}"),
            Self::Fifo { priority } => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin { priority } => write!(f, "SCHED_RR {priority}"),
            Self::Deadline { runtime, deadline, period } => {
                write!(f, "SCHED_DEADLINE {runtime:?} of {period:?} within {deadline:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_kernels() {
        for good in [
            OsScheduling::Other { nice: -20 },
            OsScheduling::Other { nice: 19 },
            OsScheduling::Fifo { priority: 1 },
            OsScheduling::RoundRobin { priority: 99 },
            reservation(2, 5, 5),
        ] {
            assert_eq!(good.check(), Ok(()), "{good}");
        }
        for bad in [
            OsScheduling::Other { nice: 20 },
            OsScheduling::Fifo { priority: 0 },
            OsScheduling::RoundRobin { priority: 100 },
            reservation(6, 5, 5),
            reservation(2, 6, 5),
            reservation(0, 5, 5),
        ] {
            assert!(bad.check().is_err(), "{bad}");
        }
    }

    fn reservation(runtime_ms: u64, deadline_ms: u64, period_ms: u64) -> OsScheduling {
        let ms = Duration::from_millis;
        OsScheduling::Deadline { runtime: ms(runtime_ms), deadline: ms(deadline_ms), period: ms(period_ms) }
    }
}
