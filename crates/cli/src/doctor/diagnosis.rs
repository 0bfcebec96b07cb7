//! All that a diagnosis found, as text and JSON file show it.

use rospin_measure::machine::Machine;

use super::finding::Finding;
use super::measure::Measured;

/// Everything that text and JSON file show.
#[derive(Clone, Debug)]
pub(crate) struct Diagnosis {
    pub(crate) machine: Machine,
    pub(crate) core: u16,
    /// The length of each measurement, in seconds.
    pub(crate) duration_s: f64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) measured: Measured,
}
