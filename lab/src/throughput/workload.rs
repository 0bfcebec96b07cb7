//! Workloads: four, and the cells of each.

use clap::ValueEnum;
use rospin_report::number::counted;
use serde::{Deserialize, Serialize};

/// A kind of load, with one or more cells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Workload {
    /// A publisher that publishes as fast as it can.
    Saturation,
    /// A publisher at 10 kHz.
    FixedRate,
    /// Many timers and topics: the publisher goes round the topics as fast as it can.
    FanIn,
    /// Eight groups whose callbacks take 0 to 20 us, on one to eight threads.
    Threads,
}

/// Rate of the publisher under [`Workload::FixedRate`], in messages a second.
pub(crate) const RATE_HZ: u32 = 10_000;
/// Number of firings a second of all timers of [`Workload::FanIn`], counted together.
pub(crate) const TIMERS_HZ: u32 = 1_000;
/// Number of messages that a subscription keeps.
pub(crate) const DEPTH: usize = 1_000;

/// Sizes of messages under [`Workload::Saturation`], in bytes. [`SUBSCRIPTIONS`] are its numbers of subscriptions, and
/// [`ENTITIES`] the numbers of entities of [`Workload::FanIn`].
const PAYLOADS: [usize; 3] = [0, 4 << 10, 64 << 10];
const SUBSCRIPTIONS: [usize; 3] = [1, 10, 100];
const ENTITIES: [usize; 4] = [10, 100, 1_000, 10_000];
/// Work of a callback under [`Workload::Threads`] in microseconds.
const WORK_US: [u32; 4] = [0, 1, 5, 20];
/// Numbers of threads under [`Workload::Threads`], each of which is measured with each work.
const THREADS: [usize; 4] = [1, 2, 4, 8];
/// Number of groups under [`Workload::Threads`], each with one subscription: as many as the largest number of threads.
const GROUPS: usize = 8;

/// One setting of a workload, in which all contenders are measured in turn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) workload: Workload,
    pub(crate) payload_bytes: usize,
    pub(crate) subscriptions: usize,
    /// Number of subscriptions and timers together.
    pub(crate) entities: usize,
    /// Number of threads that run callbacks.
    pub(crate) threads: usize,
    /// Work of a callback in microseconds, besides reading its message.
    pub(crate) work_us: u32,
}

impl Workload {
    /// All workloads, in the order in which they run.
    pub(crate) const ALL: [Self; 4] = [Self::Saturation, Self::FixedRate, Self::FanIn, Self::Threads];

    /// Returns the workload's name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Saturation => "saturation",
            Self::FixedRate => "fixed-rate",
            Self::FanIn => "fan-in",
            Self::Threads => "threads",
        }
    }

    /// Returns a description of the workload for people.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Saturation => {
                "one publisher as fast as it can, one topic, its subscriptions in one group; each callback reads the message"
            }
            Self::FixedRate => "one publisher at 10 kHz, one topic, one subscription",
            Self::FanIn => {
                "half timers, which fire 1000 times a second all together, half topics with a subscription each, which one \
                 publisher serves in turn as fast as it can; ten groups"
            }
            Self::Threads => {
                "eight groups with a subscription each, whose callback works for a while and publishes its next message; \
                 no publisher beside them"
            }
        }
    }

    /// Returns the workload's cells, in the order in which they are measured.
    pub(crate) fn cells(self) -> Vec<Cell> {
        let cell = |payload_bytes, subscriptions, entities| Cell {
            workload: self,
            payload_bytes,
            subscriptions,
            entities,
            threads: 1,
            work_us: 0,
        };
        match self {
            Self::Saturation => {
                let cells = PAYLOADS.iter().flat_map(|payload| SUBSCRIPTIONS.map(|count| (*payload, count)));
                cells.map(|(payload, count)| cell(payload, count, count)).collect()
            }
            Self::FixedRate => vec![cell(0, 1, 1)],
            Self::FanIn => ENTITIES.map(|count| cell(0, count / 2, count)).into(),
            Self::Threads => {
                let cells = WORK_US.iter().flat_map(|work| THREADS.map(|threads| (*work, threads)));
                cells.map(|(work_us, threads)| Cell { work_us, threads, ..cell(0, GROUPS, GROUPS) }).collect()
            }
        }
    }

    /// Returns how many times as long as `--seconds` a window of this workload is. Percentiles of latencies need more
    /// samples than counts do.
    pub(crate) const fn window_factor(self) -> u32 {
        match self {
            Self::FixedRate => 5,
            _ => 1,
        }
    }
}

impl Cell {
    /// Returns the property that distinguishes the cell from other cells of its workload.
    pub(crate) fn title(&self) -> String {
        match self.workload {
            Workload::Saturation | Workload::FixedRate => {
                format!("{}, {}", payload(self.payload_bytes), counted(self.subscriptions as u64, "subscription"))
            }
            Workload::FanIn => format!("{} entities", self.entities),
            Workload::Threads => format!("{} us, {}", self.work_us, counted(self.threads as u64, "thread")),
        }
    }

    /// Returns the workload's name and the cell's title.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.workload.name(), self.title())
    }
}

/// Returns a size as text, in bytes or KiB.
fn payload(bytes: usize) -> String {
    if bytes >= 1 << 10 { format!("{} KiB", bytes >> 10) } else { format!("{bytes} B") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_on_the_command_line_in_results_and_here() {
        assert_eq!(Workload::ALL, Workload::value_variants());
        for workload in Workload::ALL {
            assert_eq!(Workload::from_str(workload.name(), false), Ok(workload));
            assert_eq!(serde_json::to_string(&workload).unwrap(), format!("\"{}\"", workload.name()));
            let cells = workload.cells();
            assert!(cells.iter().all(|cell| cell.entities >= cell.subscriptions && cell.workload == workload));
        }
    }

    #[test]
    fn titles_tell_cells_apart() {
        for workload in Workload::ALL {
            let mut titles: Vec<_> = workload.cells().iter().map(Cell::title).collect();
            titles.sort();
            titles.dedup();
            assert_eq!(titles.len(), workload.cells().len());
        }
        assert_eq!(Workload::Saturation.cells()[3].title(), "4 KiB, 1 subscription");
    }
}
