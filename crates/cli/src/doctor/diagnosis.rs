//! Content of a diagnosis, for the text and the JSON file.

use rospin_measure::machine::Machine;

use super::finding::Finding;
use super::installation::Installation;
use super::measure::Measured;

/// All results of a diagnosis: what the text and the JSON file show.
#[derive(Clone, Debug)]
pub(crate) struct Diagnosis {
    pub(crate) installation: Installation,
    pub(crate) machine: Machine,
    /// Number of the core that was judged and measured.
    pub(crate) core: u16,
    /// The length of each measurement of wake-ups, in seconds.
    pub(crate) duration_s: f64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) measured: Measured,
}
