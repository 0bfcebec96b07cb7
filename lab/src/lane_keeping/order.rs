//! The order to a process of a drive, and its answer.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::middleware::{Middleware, Process};

/// Executors of the three processes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Executors {
    /// Threads and priorities as in Table 3 of the paper
    Priority,
    /// The imitation of rclcpp's single-threaded executor in every process
    WaitSetSingle,
}

impl Executors {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; 2] = [Self::Priority, Self::WaitSetSingle];

    /// Returns the name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::WaitSetSingle => "wait-set-single",
        }
    }

    /// Returns the names of a part's executors. Those of the lane keeper are for subscribers, the timer and the
    /// planner.
    pub(crate) const fn of(self, part: Part) -> &'static [&'static str] {
        match (part, self) {
            (Part::Vehicle, _) => &["vehicle"],
            (Part::Keeper, Self::Priority) => &["subscribers", "control", "planner"],
            (Part::Keeper, Self::WaitSetSingle) => &["keeper"],
            (Part::Visualiser, _) => &["visualiser"],
        }
    }
}

/// The three parts of the experiment, each a process unless the middleware is in-process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Part {
    /// The car with its bus adapter.
    Vehicle,
    /// The lane keeper.
    Keeper,
    /// The visualiser.
    Visualiser,
}

impl Part {
    /// All parts.
    pub(crate) const ALL: [Self; 3] = [Self::Vehicle, Self::Keeper, Self::Visualiser];
}

/// One drive of the comparison.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Drive {
    pub(crate) middleware: Middleware,
    pub(crate) executors: Executors,
    /// Factor of the number of the planner's steps.
    pub(crate) planner: u32,
}

/// Order to a process.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    pub(crate) drive: Drive,
    /// The parts that run in this process.
    pub(crate) parts: Vec<Part>,
    pub(crate) process: Process,
    /// Time at which the drive begins, in nanoseconds of the steady clock.
    pub(crate) start_ns: u64,
    pub(crate) duration: Duration,
    /// The file that the process is recorded into.
    pub(crate) recording: PathBuf,
}

/// Place of the car at one moment of the drive.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Place {
    /// Time in seconds from the beginning of the drive.
    pub(crate) time_s: f64,
    /// Distance along the road in metres.
    pub(crate) travelled_m: f64,
    /// Distance to the left of the lane's middle in metres.
    pub(crate) offset_m: f64,
}

/// Answer of a process. What happened in its callbacks is in its recording.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Answer {
    /// The drive, every 20 ms. Only the vehicle has one.
    pub(crate) path: Vec<Place>,
    /// Due time of each odometry message on the steady clock, and the time until the visualiser had it, in nanoseconds.
    pub(crate) chain_ns: Vec<(u64, u64)>,
    /// Number of plans that the lane keeper made, and of those that it could not make.
    pub(crate) plans: [u64; 2],
    /// Number of messages with markers that the visualiser published.
    pub(crate) markers: u64,
    /// Number of messages that could not be sent.
    pub(crate) unsent: u64,
    /// Settings that threads could not get.
    pub(crate) shortfalls: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_pipe() {
        let order = Order {
            drive: Drive { middleware: Middleware::Dds, executors: Executors::WaitSetSingle, planner: 3 },
            parts: vec![Part::Keeper],
            process: Process::default(),
            start_ns: u64::MAX,
            duration: Duration::from_millis(1500),
            recording: PathBuf::from("/tmp/keeper.mcap"),
        };
        let bytes = serde_json::to_vec(&order).unwrap();
        assert_eq!(crate::children::read_order::<Order>(bytes.as_slice()).unwrap(), order);
    }
}
