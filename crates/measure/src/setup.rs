//! The scheduling and the core that measuring threads ask of the operating system, and what they get.

use std::time::Duration;

use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions, ThreadReport};

use crate::machine::{CoreError, choose_core};
use crate::timer::LoopError;

/// Scheduling of the timers: above most of the kernel's own threads, below its watchdogs.
const TIMER: OsScheduling = OsScheduling::Fifo { priority: 80 };
/// Scheduling of busy threads: below the timers, above ordinary threads.
const BUSY: OsScheduling = OsScheduling::Fifo { priority: 10 };
/// Scheduling of busy threads where real-time scheduling is not allowed.
const BUSY_OTHERWISE: OsScheduling = OsScheduling::Other { nice: 19 };
/// Bytes of a measuring thread's stack that it touches beforehand, so that no page fault is measured.
const STACK: usize = 64 * 1024;

/// Reasons for which nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The process may not use the core that was asked for.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// The kernel does not list the cores.
    #[error("cannot find out which cores this process may use: {0}")]
    Cores(#[from] std::io::Error),
    /// A thread that tried the options panicked.
    #[error(transparent)]
    Thread(#[from] LoopError),
}

/// Core and thread options of a measurement, the same for all timers that are compared.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of the core on which the measured thread and the busy one run.
    pub core: u16,
    /// Options of the thread whose timer is measured.
    pub timer: ThreadOptions,
    /// Options of a less urgent, busy thread on the same core.
    pub busy: ThreadOptions,
    /// Scheduling and core that the timer's thread gets, as text.
    pub timer_has: String,
    /// Scheduling and core that the busy thread gets, as text.
    pub busy_has: String,
    /// Settings that the timer's thread should have and cannot get, each with its remedy.
    pub missing: Vec<String>,
}

impl Setup {
    /// Finds the options that threads on `core` can have, by trying them on threads that it starts for that. If `core`
    /// is `None`, it is the last core that this process may use.
    ///
    /// # Errors
    /// If the process may not use `core`, if the kernel does not list the cores, or if a thread that tries the options
    /// panics.
    pub fn find(core: Option<u16>) -> Result<Self, SetupError> {
        let core = choose_core(core, &CoreSet::of_current_thread()?)?;
        let timer = options(core, TIMER);
        let tried = attempt(&timer)?;
        let is_real_time = tried.scheduling.is_some_and(OsScheduling::is_real_time);
        let busy = options(core, if is_real_time { BUSY } else { BUSY_OTHERWISE });
        let busy_has = has(&attempt(&busy)?);
        let missing = tried.shortfalls.iter().map(ToString::to_string).collect();
        Ok(Self { core, timer, busy, timer_has: has(&tried), busy_has, missing })
    }

    /// Returns the options of an ordinary thread on the same core.
    #[must_use]
    pub fn ordinary(&self) -> ThreadOptions {
        ThreadOptions::new().cores(CoreSet::new([self.core]))
    }

    /// Returns true if the timer's thread gets all its settings, of which a real-time priority is one. It runs before
    /// all ordinary threads then.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Returns the options of a measuring thread: core and scheduling, the shortest timer slack, and touched stack.
fn options(core: u16, scheduling: OsScheduling) -> ThreadOptions {
    // The slack matters for threads without a real-time priority: the default of 50 us would exceed what is measured.
    let slack = Duration::from_nanos(1);
    ThreadOptions::new().cores(CoreSet::new([core])).scheduling(scheduling).timer_slack(slack).stack_prefault(STACK)
}

/// Applies `options` to a new thread, and returns the settings that it has then.
fn attempt(options: &ThreadOptions) -> Result<ThreadReport, LoopError> {
    let attempt = || {
        std::thread::spawn({
            let options = options.clone();
            move || options.apply()
        })
    };
    attempt().join().map_err(|_| LoopError::Panicked("the attempt"))
}

/// Returns the scheduling and the core that a thread has, as text.
fn has(report: &ThreadReport) -> String {
    let scheduling = report.scheduling.map_or_else(|| "unknown".to_owned(), |scheduling| scheduling.to_string());
    format!("{scheduling} on core {}", report.cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_not_to_be_had_is_an_error_with_those_that_are() {
        let error = Setup::find(Some(999)).unwrap_err().to_string();
        assert!(error.starts_with("--core 999: ") && error.contains("choose from"), "{error}");
    }

    #[test]
    fn missing_settings_are_told() {
        let setup = Setup::find(None).unwrap();
        assert!(setup.timer_has.contains("SCHED_"), "{}", setup.timer_has);
        assert_eq!(setup.missing.is_empty(), setup.timer_has.contains("FIFO"), "{:?}", setup.missing);
    }
}
