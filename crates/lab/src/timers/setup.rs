//! What the threads are to have of the operating system, and what they got.

use std::time::Duration;

use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions, ThreadReport};

use crate::machine::{CoreError, choose_core};

use super::loops::LoopError;

/// Above what the kernel's own threads usually have, below its watchdogs.
const TIMER: OsScheduling = OsScheduling::Fifo { priority: 80 };
/// Below the timers, above ordinary threads.
const BUSY: OsScheduling = OsScheduling::Fifo { priority: 10 };
/// Where there is no real-time scheduling.
const BUSY_OTHERWISE: OsScheduling = OsScheduling::Other { nice: 19 };
const STACK: usize = 64 * 1024;

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error(transparent)]
    Core(#[from] CoreError),
    #[error("cannot find out which cores this process may use: {0}")]
    Cores(#[from] std::io::Error),
    #[error(transparent)]
    Thread(#[from] LoopError),
}

/// The same for all contenders.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) core: u16,
    pub(crate) timer: ThreadOptions,
    pub(crate) busy: ThreadOptions,
    /// What a timer's thread has.
    pub(crate) timer_has: String,
    pub(crate) busy_has: String,
    /// What the timers' threads should have and cannot, with the mend.
    pub(crate) missing: Vec<String>,
}

impl Setup {
    /// Tries it on threads of its own.
    pub(crate) fn find(core: Option<u16>) -> Result<Self, SetupError> {
        let core = choose_core(core, &CoreSet::of_current_thread()?)?;
        let timer = options(core, TIMER);
        let tried = attempt(&timer)?;
        let is_real_time = tried.scheduling.is_some_and(OsScheduling::is_real_time);
        let busy = options(core, if is_real_time { BUSY } else { BUSY_OTHERWISE });
        let busy_has = has(&attempt(&busy)?);
        let missing = tried.shortfalls.iter().map(ToString::to_string).collect();
        Ok(Self { core, timer, busy, timer_has: has(&tried), busy_has, missing })
    }

    /// An ordinary thread on the same core, as it would be by itself.
    pub(crate) fn ordinary(&self) -> ThreadOptions {
        ThreadOptions::new().cores(CoreSet::new([self.core]))
    }

    /// Whether the timers run before all ordinary threads.
    pub(crate) fn is_real_time(&self) -> bool {
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
