//! Settings of the experiment's threads in the operating system: asked for, and read back from the kernel.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions, ThreadReport};
use serde::{Deserialize, Serialize};

/// Priority of the stall meter: higher than that of all other threads.
pub(crate) const METER_PRIORITY: u8 = 99;
/// Priority of the publisher's main thread.
pub(crate) const PUBLISHER_MAIN_PRIORITY: u8 = 25;
/// Priority of the thread that publishes.
pub(crate) const PUBLISHER_PRIORITY: u8 = 24;
/// Priority of a subscriber's main thread, and of a thread that stands for a middleware's.
pub(crate) const SAMPLING_PRIORITY: u8 = 21;

/// Returns the priority of a callback that has a thread of its own: rate-monotonic, from 20 down to 16.
pub(crate) const fn callback_priority(topic: usize) -> u8 {
    CALLBACK_PRIORITY - topic as u8
}

/// Priority of a middleware's threads that are less urgent than all callbacks.
pub(crate) const BELOW_PRIORITY: u8 = 15;

/// Priority of threads that run callbacks and are less urgent than the sampling thread.
pub(crate) const CALLBACK_PRIORITY: u8 = 20;

/// Timer slack of the threads. The kernel may wake a thread without real-time priority later by its slack, which is 50
/// us by default.
const TIMER_SLACK: Duration = Duration::from_nanos(1);

/// Settings of a thread, as read back from the kernel.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct ThreadFacts {
    /// The thread's name.
    pub(crate) name: String,
    /// Scheduling class and priority.
    pub(crate) scheduling: String,
    /// Cores that the thread may use.
    pub(crate) cores: String,
    /// Settings that the thread should have and lacks, with the fixes.
    pub(crate) shortfalls: Vec<String>,
}

/// Settings that the threads of one process should have, and a record of those that they got.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    core: u16,
    real_time: bool,
    /// Priority of the middleware's threads, or of those that stand for them.
    middleware: u8,
    /// Settings that the threads got so far.
    facts: Arc<Mutex<Vec<ThreadFacts>>>,
}

impl Crew {
    /// Creates the settings of threads on that core, under `SCHED_FIFO` if they are real-time threads.
    pub(crate) fn new(core: u16, real_time: bool) -> Self {
        Self { core, real_time, middleware: SAMPLING_PRIORITY, facts: Arc::default() }
    }

    /// Puts the middleware's threads below all callbacks.
    pub(crate) fn with_middleware_below(mut self) -> Self {
        self.middleware = BELOW_PRIORITY;
        self
    }

    /// Returns the priority of the middleware's threads, or of those that stand for them.
    pub(crate) const fn middleware(&self) -> u8 {
        self.middleware
    }

    /// Returns the settings of a thread of this priority. Without real-time threads, the priority is ignored.
    pub(crate) fn options(&self, priority: u8) -> ThreadOptions {
        let options = ThreadOptions::new().cores(CoreSet::new([self.core])).timer_slack(TIMER_SLACK);
        if self.real_time { options.scheduling(OsScheduling::Fifo { priority }) } else { options }
    }

    /// Applies the settings to the calling thread, with this priority, and records under `name` the settings that it
    /// got.
    pub(crate) fn enlist(&self, name: &str, priority: u8) {
        self.add(name, &self.options(priority).apply());
    }

    /// Records the settings of a thread that was set up elsewhere.
    pub(crate) fn add(&self, name: &str, report: &ThreadReport) {
        let scheduling = report.scheduling.map_or_else(|| "unknown".to_owned(), |scheduling| scheduling.to_string());
        self.lock().push(ThreadFacts {
            name: name.to_owned(),
            scheduling,
            cores: report.cores.to_string(),
            shortfalls: report.shortfalls.iter().map(ToString::to_string).collect(),
        });
    }

    /// Starts a thread that gets its settings before it does anything.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        priority: u8,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let (crew, own_name) = (self.clone(), name.to_owned());
        Builder::new().name(name.to_owned()).spawn(move || {
            crew.enlist(&own_name, priority);
            body()
        })
    }

    /// Returns the settings that all threads had, sorted by name.
    pub(crate) fn facts(&self) -> Vec<ThreadFacts> {
        let mut facts = self.lock().clone();
        facts.sort_by(|a, b| a.name.cmp(&b.name));
        facts
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ThreadFacts>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_are_rate_monotonic_and_below_sampling() {
        let priorities: Vec<u8> = (0..5).map(callback_priority).collect();
        assert_eq!(priorities, [20, 19, 18, 17, 16]);
        assert!(priorities[0] < SAMPLING_PRIORITY && SAMPLING_PRIORITY < PUBLISHER_PRIORITY);
        assert!(priorities.iter().all(|priority| *priority > BELOW_PRIORITY));
        let crew = Crew::new(0, true);
        assert_eq!((crew.middleware(), crew.with_middleware_below().middleware()), (SAMPLING_PRIORITY, BELOW_PRIORITY));
    }

    #[test]
    fn threads_have_what_they_are_to_have_or_say_why_not() {
        let core = *CoreSet::of_current_thread().unwrap().as_slice().last().unwrap();
        for real_time in [false, true] {
            let crew = Crew::new(core, real_time);
            crew.spawn("one", 3, || ()).unwrap().join().unwrap();
            let facts = crew.facts().remove(0);
            assert_eq!((facts.name.as_str(), facts.cores), ("one", core.to_string()));
            if facts.shortfalls.is_empty() {
                assert_eq!(facts.scheduling.contains("SCHED_FIFO 3"), real_time, "{}", facts.scheduling);
            } else {
                assert!(real_time && facts.shortfalls[0].contains("CAP_SYS_NICE"), "{:?}", facts.shortfalls);
            }
        }
    }
}
