//! Rights of this process: each is tried, and its effect is read back.

use std::num::NonZeroU8;
use std::time::Duration;

use rospin_engine::os::{OsScheduling, ThreadOptions};
use rospin_measure::machine::field;
use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, getrlimit};

use super::finding::{Finding, read_file};

/// Rights of the process: for each, if an attempt to use it succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// Right to `SCHED_FIFO` with priority 1.
    pub(crate) fifo: Right,
    /// Right to `SCHED_RR` with priority 1.
    pub(crate) round_robin: Right,
    /// Right to `SCHED_DEADLINE`.
    pub(crate) deadline: Right,
    /// Right to niceness -20.
    pub(crate) nice: Right,
    /// Right to lock memory.
    pub(crate) memory: Right,
    /// Highest `SCHED_FIFO` priority that a thread got, of those that were tried: 99, the limit of `ulimit -r`, and 1.
    /// `None` if it got none of them.
    pub(crate) priority: Option<NonZeroU8>,
    pub(crate) limits: Limits,
}

/// Result of trying a right; the error says why the process does not have it, and what would help.
pub(crate) type Right = Result<(), String>;

/// Limits that the process has if it lacks `CAP_SYS_NICE` and `CAP_IPC_LOCK`; `None` for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Highest real-time priority (`ulimit -r`).
    pub(crate) rtprio: Option<u64>,
    /// Number of bytes of memory that can be locked (`ulimit -l`, which counts in KiB).
    pub(crate) memlock: Option<u64>,
    /// Twenty minus the lowest niceness (`ulimit -e`).
    pub(crate) nice: Option<u64>,
}

impl Rights {
    /// Tries every right. Scheduling is tried on threads that end afterwards, and memory is unlocked again.
    pub(crate) fn find() -> Self {
        let limits = Limits {
            rtprio: getrlimit(Resource::Rtprio).current,
            memlock: getrlimit(Resource::Memlock).current,
            nice: getrlimit(Resource::Nice).current,
        };
        let limit = limits.rtprio.and_then(|limit| u8::try_from(limit).ok());
        let candidates = [Some(99), limit, Some(1)].into_iter().flatten().filter_map(NonZeroU8::new);
        let has = |priority: &NonZeroU8| attempt(OsScheduling::Fifo { priority: priority.get() }).is_ok();
        let (runtime, period) = (Duration::from_millis(1), Duration::from_millis(100));
        Self {
            priority: candidates.filter(|priority| priority.get() <= 99).find(has),
            fifo: attempt(OsScheduling::Fifo { priority: 1 }),
            round_robin: attempt(OsScheduling::RoundRobin { priority: 1 }),
            deadline: attempt(OsScheduling::Deadline { runtime, deadline: period, period }),
            nice: attempt(OsScheduling::Other { nice: -20 }),
            memory: lock_memory(),
            limits,
        }
    }

    /// Returns the findings about real-time priorities, reservations, niceness and locked memory.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        vec![self.real_time(), self.reservations(), self.niceness(), self.locking()]
    }

    fn real_time(&self) -> Finding {
        const NAME: &str = "real-time priorities";
        let both = self.fifo.clone().and_then(|()| self.round_robin.clone());
        match (both, self.priority.map(NonZeroU8::get)) {
            (Ok(()), Some(99)) => {
                Finding::good(NAME, "SCHED_FIFO and SCHED_RR up to 99", "an executor runs before all ordinary threads")
            }
            (Ok(()), priority) => Finding::limits(
                NAME,
                format!("SCHED_FIFO and SCHED_RR up to {}", priority.unwrap_or(1)),
                "an executor runs before all ordinary threads, not before what has higher priorities",
                LIMITS_FILE.replace("{LIMIT}", "rtprio 99"),
            ),
            (Err(reason), _) => Finding::limits(
                NAME,
                format!("none (the limit is {})", told(self.limits.rtprio)),
                format!("every other thread can delay an executor: {reason}"),
                format!(
                    "`sudo setcap cap_sys_nice+ep PROGRAM`, `docker run --cap-add SYS_NICE --ulimit rtprio=99`, or {}; where control \
                     groups share out real-time time (CONFIG_RT_GROUP_SCHED), the group needs a cpu.rt_runtime_us, too",
                    LIMITS_FILE.replace("{LIMIT}", "rtprio 99")
                ),
            )
            .broken(),
        }
    }

    fn reservations(&self) -> Finding {
        const NAME: &str = "SCHED_DEADLINE";
        match &self.deadline {
            Ok(()) => Finding::good(NAME, "to be had", "an executor can have a budget that nothing takes from it"),
            Err(reason) => Finding::limits(
                NAME,
                "not to be had",
                format!("no executor can reserve processor time: {reason}"),
                "`sudo setcap cap_sys_nice+ep PROGRAM`, with a cpuset that has all cores",
            ),
        }
    }

    fn niceness(&self) -> Finding {
        const NAME: &str = "niceness";
        match &self.nice {
            Ok(()) => Finding::good(NAME, "down to -20", "ordinary threads can be put before others"),
            Err(reason) => Finding::limits(
                NAME,
                format!("not down to -20 (the limit is {})", told(self.limits.nice.map(|limit| 20 - limit as i64))),
                format!("ordinary threads get no more than others: {reason}"),
                LIMITS_FILE.replace("{LIMIT}", "nice -20"),
            ),
        }
    }

    fn locking(&self) -> Finding {
        const NAME: &str = "locked memory";
        let limit =
            self.limits.memlock.map_or_else(|| "no limit".to_owned(), |bytes| format!("limit {} KiB", bytes / 1024));
        match &self.memory {
            Ok(()) => Finding::good(
                NAME,
                format!("to be had ({limit})"),
                "no page of the program needs to be fetched when it is used",
            ),
            Err(reason) => Finding::limits(
                NAME,
                format!("not to be had ({limit})"),
                format!("pages may be fetched in the middle of a callback: {reason}"),
                format!(
                    "`sudo setcap cap_ipc_lock+ep PROGRAM`, `docker run --ulimit memlock=-1`, or {}",
                    LIMITS_FILE.replace("{LIMIT}", "memlock unlimited")
                ),
            ),
        }
    }
}

const LIMITS_FILE: &str = "a line `USER - {LIMIT}` in /etc/security/limits.conf and a new login";

/// Returns a limit as text: `none` for `None`.
fn told(limit: Option<impl ToString>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

/// Tries `scheduling` on a new thread.
fn attempt(scheduling: OsScheduling) -> Right {
    let options = ThreadOptions::new().scheduling(scheduling);
    let report = std::thread::spawn(move || options.apply()).join().map_err(|_| "the attempt panicked".to_owned())?;
    report.shortfalls.first().map_or(Ok(()), |shortfall| Err(shortfall.to_string()))
}

/// Tries to lock the memory that the process has now, and unlocks it again. Memory that other threads allocate
/// meanwhile is not touched.
fn lock_memory() -> Right {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT).map_err(|error| error.to_string())?;
    let status = read_file("/proc/self/status").unwrap_or_default();
    // No memory was locked before, so unlocking all of it restores the former state.
    let _ = munlockall();
    match field(&status, "VmLck").as_deref() {
        Some("0 kB") => Err("the kernel took it and says that nothing is locked".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    fn rights(right: Right, priority: Option<u8>) -> Rights {
        let limits = Limits { rtprio: Some(0), memlock: Some(8 << 20), nice: Some(0) };
        let [fifo, round_robin, deadline, nice, memory] = std::array::from_fn(|_| right.clone());
        Rights { fifo, round_robin, deadline, nice, memory, priority: priority.and_then(NonZeroU8::new), limits }
    }

    #[test]
    fn with_all_rights_all_is_good() {
        assert!(rights(Ok(()), Some(99)).findings().iter().all(|finding| finding.verdict == Verdict::Good));
    }

    #[test]
    fn without_rights_there_is_no_real_time_and_every_finding_has_a_fix() {
        let findings = rights(Err("not SCHED_FIFO 1: not permitted".to_owned()), None).findings();
        assert_eq!(findings[0].verdict, Verdict::Broken);
        assert!(findings[0].value.contains("the limit is 0") && findings[0].meaning.contains("not permitted"));
        assert!(findings[1..].iter().all(|finding| finding.verdict == Verdict::LimitsYou));
        assert!(findings.iter().all(|finding| finding.fix.is_some()));
        assert!(findings[2].value.contains("20") && findings[3].value.contains("8192 KiB"));
    }

    #[test]
    fn a_low_limit_is_told() {
        let finding = &rights(Ok(()), Some(50)).findings()[0];
        assert_eq!((finding.verdict, finding.value.as_str()), (Verdict::LimitsYou, "SCHED_FIFO and SCHED_RR up to 50"));
    }

    #[test]
    fn this_process_can_be_asked() {
        let rights = Rights::find();
        assert_eq!(rights.fifo.is_ok(), rights.priority.is_some());
        assert_eq!(rights.findings().len(), 4);
    }
}
