//! A monitor that looks at a recording afterwards.

use super::{Monitor, order};
use crate::recording::Recording;
use rospin_core::recording::Sink;

impl Monitor {
    /// Judges the recording of one process: as if the monitor had run beside it.
    pub fn judge_recording(&self, recording: &Recording) {
        let mut sink = self.sink();
        for definition in recording.names.iter().filter_map(crate::names::Name::definition) {
            sink.define(&definition);
        }
        // The events of a recording are in their order.
        let events = recording.events.iter().map(|of| (of.thread, of.at, of.event));
        self.judge(|_| events.collect::<Vec<order::Ordered>>());
    }
}
