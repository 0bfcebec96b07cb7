//! Processor time and memory of this process.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal, setpriority_process, setsid};
use rustix::time::{ClockId, clock_gettime};

use crate::machine::field;

/// Meter of the process's CPU use, from the meter's creation on.
pub struct CpuMeter {
    wall: Instant,
    cpu: Duration,
}

impl CpuMeter {
    /// Returns a meter that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: process_cpu_time() }
    }

    /// Returns the CPU use since the start in percent of one core.
    #[must_use]
    pub fn percent(&self) -> f64 {
        let wall = self.wall.elapsed().as_secs_f64().max(1e-9);
        (process_cpu_time() - self.cpu).as_secs_f64() / wall * 100.0
    }
}

/// Puts the process before everything else on the machine, as far as that is allowed. Returns true if its niceness is
/// -20 now. It must be called before the process starts threads: Linux changes the niceness of the calling thread, and
/// threads that it starts later inherit it.
///
/// All variants of an experiment run like this, so that they are compared with each other and not with the rest of the
/// machine. The process gets a session of its own, since Linux divides processor time among sessions first. The kernel
/// still kills it when the thread that started it ends.
pub fn put_before_others() -> bool {
    let _ = setsid();
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // Some kernels lack this file. Without it the niceness of the process counts by itself.
    let _ = fs::write("/proc/self/autogroup", HIGHEST.to_string());
    setpriority_process(None, HIGHEST).is_ok()
}

/// Niceness that gives the largest share of the processor among ordinary threads.
const HIGHEST: i32 = -20;

/// Returns the resident memory of the process in MiB; `None` where `/proc` does not tell.
#[must_use]
pub fn resident_mib() -> Option<f64> {
    // The status file gives kB. `statm` gives pages, whose size would have to be read from elsewhere.
    let status = fs::read_to_string("/proc/self/status").ok()?;
    parse_resident_mib(&status)
}

/// Returns the resident memory in MiB from the text of a process's `status` file; `None` if the text does not have it.
fn parse_resident_mib(status: &str) -> Option<f64> {
    let kib = field(status, "VmRSS")?;
    Some(kib.strip_suffix(" kB")?.trim().parse::<f64>().ok()? / 1024.0)
}

/// Returns the processor time of all threads of this process, including those that have ended.
#[must_use]
pub fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither part of a CPU time is ever negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Uses the processor on the calling thread for that time.
pub fn use_processor(time: Duration) {
    let end = thread_cpu_time() + time;
    while thread_cpu_time() < end {
        std::hint::spin_loop();
    }
}

/// Returns the CPU time that the calling thread has used.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither part of a CPU time is ever negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_process_uses_its_core() {
        let meter = CpuMeter::start();
        use_processor(Duration::from_millis(20));
        assert!(meter.percent() > 1.0);
    }

    #[test]
    fn resident_memory_is_read_in_mib() {
        assert_eq!(parse_resident_mib("VmSize:\t 9 kB\nVmRSS:\t    5120 kB\n"), Some(5.0));
        assert_eq!(parse_resident_mib("VmRSS:\t5120 pages\n"), None);
        assert!(resident_mib().unwrap() > 0.1);
    }
}
