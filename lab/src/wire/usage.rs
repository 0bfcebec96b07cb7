//! The cost of messages: processor time, wake-ups and allocations of this process.

use std::fs;
use std::time::Duration;

use rospin_measure::machine::field;
use rospin_measure::process::{process_cpu_time, thread_cpu_time};
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};

/// The cost between two moments. At the driving end, processor time and wake-ups are those of all threads but the one
/// that sends.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Usage {
    /// Processor time in seconds.
    pub(crate) cpu_s: f64,
    /// Context switches: each time a thread began to wait, or was preempted.
    pub(crate) wake_ups: u64,
    /// Allocations of the Rust code of all threads; `None` if the program's allocator does not count.
    pub(crate) allocations: Option<u64>,
}

impl Usage {
    /// Returns the processor time and the wake-ups of both ends together: `self` is the driving end's cost, `other`
    /// that of the other end. The allocations are those of `self` only.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { cpu_s: self.cpu_s + other.cpu_s, wake_ups: self.wake_ups + other.wake_ups, ..self }
    }
}

/// Values of all counters at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    wake_ups: u64,
    allocations: Option<u64>,
    /// Processor time of the process.
    process: Duration,
    /// Processor time of the calling thread; zero if it counts like the others.
    own: Duration,
}

impl Reading {
    /// Reads the counters of all threads except the calling one, but the allocations of all. That takes long, and
    /// allocates.
    pub(super) fn of_others() -> Self {
        let wake_ups = wake_ups(false);
        Self { wake_ups, allocations: crate::allocations(), process: process_cpu_time(), own: thread_cpu_time() }
    }

    /// Reads the counters of all threads together.
    pub(super) fn of_all() -> Self {
        let (wake_ups, own) = (wake_ups(true), Duration::ZERO);
        Self { wake_ups, allocations: crate::allocations(), process: process_cpu_time(), own }
    }

    /// Returns the cost from the reading `before` to this one.
    pub(super) fn since(&self, before: &Self) -> Usage {
        let cpu = (self.process - before.process).saturating_sub(self.own.saturating_sub(before.own));
        Usage {
            cpu_s: cpu.as_secs_f64(),
            wake_ups: self.wake_ups.saturating_sub(before.wake_ups),
            allocations: self.allocations.zip(before.allocations).map(|(after, before)| after - before),
        }
    }

    /// Returns the cost from this reading until now. It must be a reading [of the others](Self::of_others), taken on
    /// this thread.
    pub(super) fn cost(&self) -> Usage {
        // Read before the files, because reading those allocates.
        let (process, own, allocations) = (process_cpu_time(), thread_cpu_time(), crate::allocations());
        Self { wake_ups: wake_ups(false), allocations, process, own }.since(self)
    }
}

/// Returns the number of context switches of all threads of this process, or of all except the calling one. Threads
/// that have ended do not count.
fn wake_ups(with_own: bool) -> u64 {
    let own = gettid().as_raw_nonzero().to_string();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| with_own || task.file_name() != own.as_str());
    others.filter_map(|task| fs::read_to_string(task.path().join("status")).ok()).map(|status| switches(&status)).sum()
}

/// Returns the number of context switches in the text of a thread's `status` file.
fn switches(status: &str) -> u64 {
    let count = |name| field(status, name).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_switches_are_read_from_the_kernels_file() {
        assert_eq!(switches("voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t30\n"), 42);
    }

    #[test]
    fn both_ends_are_added() {
        let usage = |cpu_s, wake_ups| Usage { cpu_s, wake_ups, allocations: Some(1) };
        assert_eq!(usage(1.0, 2).plus(usage(0.5, 3)), usage(1.5, 5));
    }
}
