//! The scheduling and the core that measuring threads ask of the operating system, and what they got.

use std::time::Duration;

use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions, ThreadReport};

use crate::machine::{CoreError, choose_core};
use crate::timer::LoopError;

/// Above what the kernel's own threads usually have, below its watchdogs.
const TIMER: OsScheduling = OsScheduling::Fifo { priority: 80 };
/// Below the timers, above ordinary threads.
const BUSY: OsScheduling = OsScheduling::Fifo { priority: 10 };
/// Where there is no real-time scheduling.
const BUSY_OTHERWISE: OsScheduling = OsScheduling::Other { nice: 19 };
const STACK: usize = 64 * 1024;

/// The reason why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The process may not use the core that was asked for.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// The kernel does not say which cores there are.
    #[error("cannot find out which cores this process may use: {0}")]
    Cores(#[from] std::io::Error),
    /// A thread could not be tried.
    #[error(transparent)]
    Thread(#[from] LoopError),
}

/// Core and thread options of whatever is measured, the same for all who are compared.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The core.
    pub core: u16,
    /// Options of the thread whose timer is measured.
    pub timer: ThreadOptions,
    /// Options of a busy thread beside it, which is less urgent.
    pub busy: ThreadOptions,
    /// Scheduling and core that the timer's thread gets, in words.
    pub timer_has: String,
    /// The same of the busy thread.
    pub busy_has: String,
    /// Settings that the timer's thread should have and cannot get, each with the fix.
    pub missing: Vec<String>,
}

impl Setup {
    /// Tries the options on threads of its own, on the core that was asked for or the last one.
    ///
    /// # Errors
    /// If the core may not be used, or no thread can be started.
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

    /// True if the timers run before all ordinary threads.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.missing.is_empty()
    }
}

fn options(core: u16, scheduling: OsScheduling) -> ThreadOptions {
    // The slack is for those who do not get a real-time priority: 50 us would hide everything.
    let slack = Duration::from_nanos(1);
    ThreadOptions::new().cores(CoreSet::new([core])).scheduling(scheduling).timer_slack(slack).stack_prefault(STACK)
}

fn attempt(options: &ThreadOptions) -> Result<ThreadReport, LoopError> {
    let attempt = || {
        std::thread::spawn({
            let options = options.clone();
            move || options.apply()
        })
    };
    attempt().join().map_err(|_| LoopError::Panicked("the attempt"))
}

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
    fn what_is_missing_is_told() {
        let setup = Setup::find(None).unwrap();
        assert!(setup.timer_has.contains("SCHED_"), "{}", setup.timer_has);
        assert_eq!(setup.missing.is_empty(), setup.timer_has.contains("FIFO"), "{:?}", setup.missing);
    }
}
