//! All results of a run, for table, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::contender::Contender;
use super::device::Device;
use super::figures::Row;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
use super::options::Options;
use super::workload::{self, Pipeline};

/// The kind of time in which the device runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Time {
    /// Simulated time, which gives the same figures on every machine.
    Virtual,
    /// The machine's time, with a thread for each pipeline and for the device.
    Real,
}

impl Time {
    pub(crate) const ALL: [Self; 2] = [Self::Virtual, Self::Real];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// All results and settings of a run.
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    /// Kind of device.
    pub(crate) device: Device,
    /// Description of the device.
    pub(crate) device_name: String,
    /// Share of the device's time that the pipelines ask for.
    pub(crate) load: f64,
    /// Length of each contender's run, by kind of time.
    pub(crate) durations: [(Time, Duration); 2],
    /// The settings that the threads could not have.
    pub(crate) shortfalls: Vec<String>,
    /// The longest time beside a segment's own in real time, for threads that sleep and for those that do not: launch,
    /// report and wake-up. On a real device, it was measured while that was idle.
    pub(crate) overheads: [Duration; 2],
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) rows: Vec<Row>,
}

/// Results of the contenders on a real device.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(crate) struct Run {
    pub(crate) overheads: [Duration; 2],
    pub(crate) shortfalls: Vec<String>,
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Returns the results of a run on a real device, which has no virtual time.
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    pub(crate) fn on(device: Device, device_name: String, options: &Options, run: Run) -> Self {
        Self {
            machine: Machine::read(),
            device,
            device_name,
            load: options.load,
            durations: [(Time::Virtual, Duration::ZERO), (Time::Real, options.duration)],
            shortfalls: run.shortfalls,
            overheads: run.overheads,
            pipelines: run.pipelines,
            rows: run.rows,
        }
    }

    /// Returns the bound of the critical pipeline's frames behind a contender in this kind of time; `None` if there is
    /// none.
    pub(crate) fn critical_bound(&self, time: Time, contender: Contender) -> Option<Duration> {
        let overhead = match time {
            Time::Virtual => Duration::ZERO,
            Time::Real => self.overheads[usize::from(contender.has_urgent_lane())],
        };
        workload::critical_bound(contender, &self.pipelines, overhead)
    }

    /// Returns the row of a contender in this kind of time; `None` if it did not run in it.
    pub(crate) fn row(&self, time: Time, contender: Contender) -> Option<&Row> {
        self.rows.iter().find(|row| (row.time, row.contender) == (time, contender))
    }
}
