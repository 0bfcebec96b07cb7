//! The settings of a run, the same for all variants.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::crunch::Calibration;

use super::wire::Wire;

/// The settings of a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Settings {
    /// Time for which messages are published in a run.
    pub(crate) duration: Duration,
    /// Core on which all measured threads run.
    pub(crate) core: u16,
    /// Share of the core that all callbacks together take, in percent.
    pub(crate) load_percent: f64,
    /// Speed of the machine's divisions; measured once for all runs.
    pub(crate) calibration: Calibration,
    /// The middleware between the processes; `None` for Unix sockets.
    pub(crate) wire: Option<Wire>,
}
