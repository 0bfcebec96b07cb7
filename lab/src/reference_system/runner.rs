//! Executors to compare, and the interface behind which one of them runs the graph.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::children::ChildError;
use crate::crunch::Calibration;
use crate::middleware::Middleware;

use super::graph::HOT_PATH_WORK;
use super::kpi::Kpis;

/// An executor under test.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    /// rclcpp's wait set on one thread, timers inside the ready set
    WaitSetSingle,
    /// rclcpp's wait set on as many threads as cores
    WaitSetMulti,
    /// Events first in, first out, on one thread
    FifoSingle,
    /// rospin's chain-aware priorities on one thread
    PrioritySingle,
    /// rospin's chain-aware priorities on two executors
    PriorityMulti,
    /// The same priorities on four executors with one thread each
    PriorityPartitioned,
    /// The same priorities in one executor with as many threads as cores
    PriorityShared,
    /// As priority-shared, with reentrant groups
    PriorityReentrant,
}

impl Variant {
    /// The executors that are run unless others are named, in the order of the table.
    pub(crate) const ALL: [Self; 5] =
        [Self::WaitSetSingle, Self::WaitSetMulti, Self::FifoSingle, Self::PrioritySingle, Self::PriorityMulti];
    /// The executors that are compared on a number of cores unless others are named, in the order of the table.
    pub(crate) const ON_CORES: [Self; 5] = [
        Self::WaitSetMulti,
        Self::PriorityMulti,
        Self::PriorityPartitioned,
        Self::PriorityShared,
        Self::PriorityReentrant,
    ];
    /// Every executor.
    #[cfg(test)]
    pub(crate) const EVERY: [Self; 8] = [
        Self::WaitSetSingle,
        Self::WaitSetMulti,
        Self::FifoSingle,
        Self::PrioritySingle,
        Self::PriorityMulti,
        Self::PriorityPartitioned,
        Self::PriorityShared,
        Self::PriorityReentrant,
    ];

    /// Returns the executor's name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WaitSetSingle => "wait-set-single",
            Self::WaitSetMulti => "wait-set-multi",
            Self::FifoSingle => "fifo-single",
            Self::PrioritySingle => "priority-single",
            Self::PriorityMulti => "priority-multi",
            Self::PriorityPartitioned => "priority-partitioned",
            Self::PriorityShared => "priority-shared",
            Self::PriorityReentrant => "priority-reentrant",
        }
    }

    /// Returns true if callbacks of one node may run at the same time, also the same callback beside itself.
    pub(crate) const fn is_reentrant(self) -> bool {
        matches!(self, Self::PriorityReentrant)
    }

    /// Returns a description of the executor in one sentence.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::WaitSetSingle => {
                "rclcpp's default, emulated: one thread empties a ready set, in order of registration, \
                 before it looks again at what became ready meanwhile."
            }
            Self::WaitSetMulti => {
                "rclcpp's multi-threaded executor, emulated: as many threads as cores share one wait set."
            }
            Self::FifoSingle => {
                "An events executor as in rclcpp and rclrs: one thread runs what became ready, first in, \
                 first out."
            }
            Self::PrioritySingle => {
                "rospin on one thread: before every callback it picks the most urgent one that is ready, \
                 by the priorities of the chains (PiCAS)."
            }
            Self::PriorityMulti => {
                "rospin with the chains spread over two executors, each with its own thread and core and the \
                 same priorities."
            }
            Self::PriorityPartitioned => {
                "rospin with the chains spread over four executors, each with its own thread and the same priorities, as \
                 Choi et al. ran PiCAS. Where cores are fewer, the executor of the more critical chains preempts."
            }
            Self::PriorityShared => {
                "rospin's one executor with as many threads as cores and the same priorities; the callbacks of a node \
                 exclude each other, as rclcpp's do unless told otherwise."
            }
            Self::PriorityReentrant => {
                "The same with reentrant groups: callbacks of a node run beside each other. A mutex protects what the \
                 node keeps; its work is outside of it."
            }
        }
    }
}

/// Settings of the run of every executor.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Settings {
    /// Length of a run, warm-up included.
    pub(crate) duration: Duration,
    /// Processor time that a node takes for its work.
    pub(crate) crunch: Duration,
    /// Speed of this machine's divisions, measured once for all runs.
    pub(crate) calibration: Calibration,
    /// Middleware between the nodes; `None` for the engine's own topics.
    pub(crate) transport: Option<Middleware>,
    /// Number of processes over which the nodes are distributed, each with an executor.
    pub(crate) processes: u16,
    /// Number of cores that the executors use, in a comparison on a number of cores; `None` for all cores of the
    /// machine.
    pub(crate) cores: Option<u16>,
}

impl Settings {
    /// Returns a description of the transport and the number of processes; empty for the engine's own topics.
    pub(crate) fn describe_transport(&self) -> String {
        let Some(transport) = self.transport else {
            return String::new();
        };
        let name = transport.name();
        match self.processes {
            1 => format!("Nodes talk over {name}"),
            count => format!("Nodes talk over {name}, in {count} processes"),
        }
    }

    /// Returns the processor time that a node takes for its work, in milliseconds.
    pub(crate) fn crunch_ms(&self) -> f64 {
        self.crunch.as_secs_f64() * 1e3
    }

    /// Returns the shortest possible latency of the hot path in milliseconds: its nodes work one after the other and
    /// wait for nothing.
    pub(crate) fn shortest_hot_path_ms(&self) -> f64 {
        self.crunch_ms() * f64::from(HOT_PATH_WORK)
    }
}

/// Results of one executor.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct RunResult {
    /// The executor that was run.
    pub(crate) variant: Variant,
    /// Number of threads that ran callbacks, over all executors and processes.
    pub(crate) threads: usize,
    /// Raw figures of the run.
    pub(crate) kpis: Kpis,
    /// CPU use of the executor's processes in percent of one core.
    pub(crate) cpu_percent: f64,
    /// Resident memory of the executor's processes at the end of the run, in MiB; `None` if the kernel does not tell.
    pub(crate) memory_mib: Option<f64>,
    /// Remarks for the reader, such as real-time settings that failed.
    pub(crate) remarks: Vec<String>,
}

/// Runner of the graph under one executor at a time.
pub(crate) trait Runner {
    /// Runs the graph under `variant` for the whole duration, recorded if there is a folder for that; `progress` is
    /// told the share that is done, 0 to 1.
    fn run(
        &self,
        variant: Variant,
        settings: &Settings,
        folder: Option<&Path>,
        progress: &dyn Fn(f64),
    ) -> Result<RunResult, RunError>;
}

/// Reasons for which an executor gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The process of the executor gave no result.
    #[error("{executor}: {reason}")]
    Child {
        /// Name of the executor.
        executor: &'static str,
        /// Reason for which a process of the run gave no result.
        reason: ChildError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_on_the_command_line_in_results_and_here() {
        assert_eq!(Variant::EVERY, Variant::value_variants());
        for variant in Variant::EVERY {
            assert_eq!(Variant::from_str(variant.name(), false), Ok(variant));
            let json = serde_json::to_string(&variant).unwrap();
            assert_eq!(json, format!("\"{}\"", variant.name()));
        }
    }
}
