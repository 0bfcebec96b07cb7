//! All results of a run, for table, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;
use rospin_measure::stats::percentile;
use serde::Serialize;

use super::cell::{Cell, Contender};
use super::measure::Sample;

/// All results of a run.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    /// Number of times that each cell was measured.
    pub(crate) rounds: u32,
    /// Length of each measurement.
    pub(crate) duration: Duration,
    /// The command that started the other end; `None` if the other end was this program's own.
    pub(crate) peer: Option<String>,
    pub(crate) rows: Vec<Row>,
    /// Remarks for the reader of the results, for example on rights that were missing.
    pub(crate) remarks: Vec<String>,
}

impl Comparison {
    /// Returns a text about the ends whose CPU, wake-ups and allocations were measured. Those of a peer are not known.
    pub(crate) const fn measured_ends(&self) -> &'static str {
        if self.peer.is_some() { "our end alone" } else { "both ends" }
    }
}

/// Result of a cell over all rounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    /// The figures, see [`Figures::median`]; `None` if the cell could not be measured in any round, which a remark
    /// explains.
    pub(crate) figures: Option<Figures>,
}

/// Figures of one measurement, or of several together. Latencies are one way in one process, and there and back
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Messages a second, with a bounded number of them under way. All figures but this one and the losses are at a
    /// fixed rate.
    pub(crate) messages_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// Processor time of the measured ends without the sending thread, in percent of one core.
    pub(crate) cpu_percent: f64,
    /// Context switches of the measured ends without the sending thread, for each message that was sent.
    pub(crate) wake_ups_per_message: f64,
    /// Allocations of the driving process for each message that was sent; `None` if they were not counted.
    pub(crate) allocations_per_message: Option<f64>,
    /// Number of messages that did not arrive.
    pub(crate) lost: f64,
    /// Share of the messages that did not arrive, in percent of those that were published as fast as possible; 0 at
    /// other places.
    pub(crate) lost_percent: f64,
    /// Number of messages that their publisher refused with an error, because there was no room.
    pub(crate) refused: f64,
}

impl Figures {
    /// Calculates the figures of a sample; `None` if no message arrived at the fixed rate.
    pub(crate) fn of(cell: Cell, sample: &Sample) -> Option<Self> {
        let at = |percent| percentile(&sample.latencies_us, percent);
        let sent = sample.sent.max(1) as f64;
        Some(Self {
            messages_per_s: sample.per_s,
            p50_us: at(50.0)?,
            p99_us: at(99.0)?,
            max_us: at(100.0)?,
            cpu_percent: sample.usage.cpu_s / sample.seconds.max(1e-9) * 100.0,
            wake_ups_per_message: sample.usage.wake_ups as f64 / sent,
            allocations_per_message: sample.usage.allocations.map(|count| count as f64 / sent),
            lost: sample.lost as f64,
            lost_percent: if cell.place.is_flood() { sample.lost as f64 / sent * 100.0 } else { 0.0 },
            refused: sample.refused as f64,
        })
    }

    /// Returns the median of each figure, but the largest value of the maximum latency and of the losses; `None` if
    /// `all` is empty.
    pub(crate) fn median(all: &[Self]) -> Option<Self> {
        let median = |figure: fn(&Self) -> f64| percentile(&all.iter().map(figure).collect::<Vec<_>>(), 50.0);
        let most = |figure: fn(&Self) -> f64| all.iter().map(figure).fold(0.0, f64::max);
        let counted: Vec<f64> = all.iter().filter_map(|figures| figures.allocations_per_message).collect();
        Some(Self {
            messages_per_s: median(|f| f.messages_per_s)?,
            p50_us: median(|f| f.p50_us)?,
            p99_us: median(|f| f.p99_us)?,
            max_us: most(|f| f.max_us),
            cpu_percent: median(|f| f.cpu_percent)?,
            wake_ups_per_message: median(|f| f.wake_ups_per_message)?,
            allocations_per_message: percentile(&counted, 50.0),
            lost: most(|f| f.lost),
            lost_percent: median(|f| f.lost_percent)?,
            refused: most(|f| f.refused),
        })
    }
}

impl Comparison {
    /// Returns the figures of a cell; `None` if it was not measured.
    pub(crate) fn figures(&self, cell: Cell) -> Option<&Figures> {
        self.rows.iter().find(|row| row.cell == cell)?.figures.as_ref()
    }

    /// Returns rospin's cells that have the bare middleware's beside them, each with rospin's figures and then the bare
    /// middleware's.
    pub(crate) fn beside_bare(&self) -> impl Iterator<Item = (Cell, &Figures, &Figures)> {
        let of_rospin = self.rows.iter().filter(|row| row.cell.contender == Contender::Rospin);
        of_rospin.filter_map(|row| {
            let bare = self.figures(Cell { contender: Contender::Bare, ..row.cell })?;
            Some((row.cell, row.figures.as_ref()?, bare))
        })
    }
}
