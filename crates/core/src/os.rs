//! How an operating system schedules a thread: plain data, which the engine applies, deployment files name and the analysis
//! reasons about.

use std::fmt;
use std::time::Duration;

/// How the kernel schedules a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OsScheduling {
    /// `SCHED_OTHER`: a share of the processor by niceness.
    Other {
        /// From -20, which gets most, to 19.
        nice: i8,
    },
    /// `SCHED_FIFO`: runs until it waits or something more urgent comes.
    Fifo {
        /// From 1 to 99, the larger number first.
        priority: u8,
    },
    /// `SCHED_RR`: as `SCHED_FIFO`, but threads of one priority take turns.
    RoundRobin {
        /// From 1 to 99, the larger number first.
        priority: u8,
    },
    /// `SCHED_DEADLINE`: the earliest deadline first, before every thread of another class; no more than its budget.
    Deadline {
        /// Processor time in each period.
        runtime: Duration,
        /// Time from the beginning of a period by which it has had it.
        deadline: Duration,
        /// Time between the beginnings of periods.
        period: Duration,
    },
}

impl OsScheduling {
    /// Whether the kernel puts such a thread before all ordinary ones.
    #[must_use]
    pub const fn is_real_time(self) -> bool {
        !matches!(self, Self::Other { .. })
    }

    /// Says whether a kernel could have such a thread.
    ///
    /// # Errors
    /// In words, what is out of range and what is in it.
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

/// The kernel's own conditions; below 1024 ns it takes no budget.
fn is_budget(runtime: Duration, deadline: Duration, period: Duration) -> bool {
    runtime.as_nanos() >= 1024 && runtime <= deadline && deadline <= period && period.as_nanos() < 1 << 63
}

/// A scheduling that no kernel has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsSchedulingError {
    /// Out of range.
    #[error("a niceness of {0} does not exist; give one from -20 to 19")]
    Nice(i8),
    /// Out of range.
    #[error("a real-time priority of {0} does not exist; give one from 1 to 99")]
    Priority(u8),
    /// Not a budget.
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
