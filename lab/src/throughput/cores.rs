//! Cores of the publisher and of the executor. They differ, because on one core the kernel's choices would be what is
//! measured.

use rospin_engine::os::{CoreSet, ThreadOptions};

use super::workload::Workload;

/// Settings that keep the publishing thread and the executor's threads on their cores.
pub(crate) struct Cores {
    publisher: ThreadOptions,
    executor: ThreadOptions,
}

impl Cores {
    /// Returns the settings: the last core that this process may use is for the publisher, the others are for the
    /// executor. `None` if the workload needs no separation, or the process may use only one core.
    pub(crate) fn of(workload: Workload) -> Option<Self> {
        let allowed = CoreSet::of_current_thread().ok()?;
        let (last, others) = allowed.as_slice().split_last()?;
        let on = |cores: &[u16]| ThreadOptions::new().cores(CoreSet::new(cores.iter().copied()));
        let separate = workload != Workload::Threads && !others.is_empty();
        separate.then(|| Self { publisher: on(&[*last]), executor: on(others) })
    }

    /// Applies the settings of the publishing thread to the calling thread.
    pub(crate) fn enter_as_publisher(&self) {
        // If the setting is refused, the kernel places the thread.
        let _ = self.publisher.apply();
    }

    /// Applies the settings of the executor to the calling thread, on which it begins. Threads that this one starts
    /// inherit them.
    pub(crate) fn enter_as_executor(&self) {
        let _ = self.executor.apply();
    }
}
