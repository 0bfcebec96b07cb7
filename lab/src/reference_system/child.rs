//! Runs the graph under each executor in a child process, or distributed over several child processes.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::children;

use super::kpi::Recording;
use super::recorded;
use super::runner::{RunError, RunResult, Runner, Settings, Variant};

/// Time that processes get to start and to find each other before the run begins, and the time that each process adds
/// to that.
const DISCOVERY: [Duration; 2] = [Duration::from_secs(3), Duration::from_millis(250)];

/// Number of domains to choose from: those whose DDS ports are below the ones that the kernel assigns to programs by
/// itself.
const DOMAINS: u32 = 100;

/// Order to a child.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    /// The executor under test.
    pub(crate) variant: Variant,
    /// Settings of the run.
    pub(crate) settings: Settings,
    /// Number of the process in the run, from 0.
    pub(crate) process: u16,
    /// Time at which the run begins, in nanoseconds of the steady clock, which all processes of a machine share. `None`
    /// if it begins at once.
    pub(crate) start_ns: Option<u64>,
    /// The domain of this run in the middleware, apart from those of other runs on the machine.
    pub(crate) domain_id: u16,
}

/// Answer of a child.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Part {
    /// Number of threads of the process that ran callbacks.
    pub(crate) threads: usize,
    /// Recording of the nodes in the process.
    pub(crate) recording: Recording,
    /// Duration of the run in nanoseconds.
    pub(crate) end_ns: u64,
    /// CPU use in percent of one core.
    pub(crate) cpu_percent: f64,
    /// Resident memory at the end of the run, in MiB; `None` if the kernel does not tell.
    pub(crate) memory_mib: Option<f64>,
    /// Remarks for the reader of the results, for example on rights that were missing.
    pub(crate) remarks: Vec<String>,
}

/// Runner that distributes the nodes of a run over [`Settings::processes`] child processes at once. Each has an
/// executor of the variant. The runner combines their results.
pub(crate) struct ChildProcess;

impl Runner for ChildProcess {
    fn run(
        &self,
        variant: Variant,
        settings: &Settings,
        folder: Option<&Path>,
        progress: &dyn Fn(f64),
    ) -> Result<RunResult, RunError> {
        let processes = settings.processes;
        let discovers = settings.transport.is_some_and(|transport| transport.discovers());
        let lead = if discovers { DISCOVERY[0] + DISCOVERY[1] * processes.into() } else { Duration::ZERO };
        let order = |process| Order {
            variant,
            settings: *settings,
            process,
            start_ns: discovers.then(|| steady_ns() + lead.as_nanos() as u64),
            // Another run on this machine should have another domain.
            domain_id: (1 + std::process::id() % DOMAINS) as u16,
        };
        // All processes of a run begin at the same time.
        let first = order(0);
        let orders: Vec<_> = (0..processes).map(|process| Order { process, ..first.clone() }).collect();
        let failed = |reason| RunError::Child { executor: variant.name(), reason };
        let program = env::current_exe().map_err(|reason| failed(reason.into()))?;
        let begin = |_| {
            let mut command = Command::new(&program);
            if let Some(folder) = folder {
                let (variable, value) = recorded::environment(folder, variant);
                command.env(variable, value);
            }
            command
        };
        let duration = settings.duration + lead;
        let parts = children::run_commands(&begin, "reference-system", &orders, duration, progress).map_err(failed)?;
        Ok(gather(variant, parts))
    }
}

/// Returns the time in nanoseconds of the steady clock.
fn steady_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither part of the time is ever negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Combines the answers of a run's processes. The memory is not known if one of them does not know its own.
fn gather(variant: Variant, parts: Vec<Part>) -> RunResult {
    let many = parts.len() > 1;
    let (mut recording, mut remarks) = (Recording::default(), Vec::new());
    let (mut threads, mut end_ns, mut cpu_percent) = (0, 0, 0.0);
    let mut memory_mib = Some(0.0);
    for (number, part) in parts.into_iter().enumerate() {
        recording.merge(part.recording);
        threads += part.threads;
        end_ns = part.end_ns.max(end_ns);
        cpu_percent += part.cpu_percent;
        memory_mib = memory_mib.zip(part.memory_mib).map(|(sum, more)| sum + more);
        for remark in part.remarks {
            remarks.push(if many { format!("process {}: {remark}", number + 1) } else { remark });
        }
    }
    RunResult { variant, threads, kpis: recording.kpis(end_ns), cpu_percent, memory_mib, remarks }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::middleware::Middleware;

    fn part(threads: usize, remark: &str) -> Part {
        Part {
            threads,
            recording: Recording::default(),
            end_ns: 12,
            cpu_percent: 40.0,
            memory_mib: Some(2.5),
            remarks: vec![remark.to_owned()],
        }
    }

    #[test]
    fn order_and_part_survive_the_pipe() {
        let settings = Settings { transport: Some(Middleware::Dds), processes: 2, ..testing::settings() };
        let order =
            Order { variant: Variant::FifoSingle, settings, process: 1, start_ns: Some(u64::MAX), domain_id: 7 };
        let bytes = serde_json::to_vec(&order).unwrap();
        assert_eq!(children::read_order::<Order>(bytes.as_slice()).unwrap(), order);

        let part = part(1, "late");
        let mut bytes = Vec::new();
        children::write_answer(&mut bytes, &part).unwrap();
        assert_eq!(serde_json::from_slice::<Part>(&bytes).unwrap(), part);
    }

    #[test]
    fn processes_add_up_and_remarks_say_whose_they_are() {
        let result = gather(Variant::PrioritySingle, vec![part(1, "late"), part(2, "loud")]);
        assert_eq!((result.threads, result.cpu_percent, result.memory_mib), (3, 80.0, Some(5.0)));
        assert_eq!(result.remarks, ["process 1: late", "process 2: loud"]);
        let unknown = Part { memory_mib: None, ..part(1, "late") };
        let result = gather(Variant::PrioritySingle, vec![unknown]);
        assert_eq!((result.memory_mib, &result.remarks[..]), (None, &["late".to_owned()][..]));
    }
}
