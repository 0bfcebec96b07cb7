//! The settings of a run, the same for all variants.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::crunch::Calibration;

use super::wire::Wire;

/// The settings of a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Settings {
    /// Length of publishing.
    pub(crate) duration: Duration,
    /// Core that everything measured runs on.
    pub(crate) core: u16,
    /// Share of the core that all callbacks together take, in percent.
    pub(crate) load_percent: f64,
    /// Speed of the machine; measured once for all runs.
    pub(crate) calibration: Calibration,
    /// The middleware between the processes; `None` for Unix sockets.
    pub(crate) wire: Option<Wire>,
}
