//! Accelerators of a scenario: devices, such as a GPU, on which callbacks await work.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text;

/// Device that callbacks share, such as a GPU. Requests wait for it in the order of its policy, and it picks anew
/// between two segments of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an accelerator")]
#[non_exhaustive]
pub struct Accelerator {
    /// Name of the accelerator.
    pub name: String,
    /// Order of the requests, one of [`Accelerator::POLICIES`].
    #[serde(default = "default_policy")]
    pub policy: String,
    /// Number of segments that run at a time, each at its full speed. Streams that share the processors of a GPU are
    /// one lane.
    #[serde(default = "one")]
    pub lanes: u16,
    /// Priority from which on requests use a lane of their own, which is urgent: they preempt a segment of the other
    /// lane between two of its blocks. `None` if there is no such lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgent: Option<u32>,
    /// Longest block of a segment's kernels, or longest copy: the time for which an urgent request waits for a segment
    /// that runs.
    #[serde(default, with = "text::duration", skip_serializing_if = "Duration::is_zero")]
    pub block: Duration,
}

/// Returns the default policy of the crate `rospin-accelerator`.
fn default_policy() -> String {
    "fixed-priority".to_owned()
}

const fn one() -> u16 {
    1
}

impl Accelerator {
    /// The policies: the most urgent request first, the earliest absolute deadline first, first come first served.
    pub const POLICIES: [&'static str; 3] = ["fixed-priority", "edf", "fifo"];

    /// Returns an accelerator with one lane and fixed priorities.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), policy: default_policy(), lanes: 1, urgent: None, block: Duration::ZERO }
    }
}
