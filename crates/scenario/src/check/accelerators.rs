//! Checks of accelerators, and of the awaits that are requests to them.

use crate::accelerator::Accelerator;
use crate::callback::{Await, ExecutionTime, is_missing};
use crate::model::Scenario;

use super::{Check, Table, check_execution, known, unique};

/// Maximum number of lanes of an accelerator.
const LANES_MAX: u16 = 64;
/// Maximum number of segments of a request.
const SEGMENTS_MAX: usize = 1_000;

impl Scenario {
    pub(super) fn check_accelerators(&self) -> Check {
        unique("accelerator", self.accelerators.iter().map(|accelerator| &accelerator.name))?;
        for (number, accelerator) in self.accelerators.iter().enumerate() {
            let table = Table("accelerator", number);
            let is_known = Accelerator::POLICIES.contains(&accelerator.policy.as_str());
            table.require("policy", is_known, || {
                let known = Accelerator::POLICIES.join(", ");
                format!("an accelerator has no policy `{}`; known are {known}", accelerator.policy)
            })?;
            let lanes = (1..=LANES_MAX).contains(&accelerator.lanes);
            table.require("lanes", lanes, || format!("an accelerator has 1 to {LANES_MAX} lanes"))?;
            table.require("urgent", accelerator.urgent.is_none() || accelerator.lanes == 1, || {
                "an accelerator with an urgent lane has one other lane, `lanes = 1`: its streams share the processors".to_owned()
            })?;
            table.require("block", accelerator.urgent.is_some() != accelerator.block.is_zero(), || {
                "`urgent = 9` and `block = \"100 us\"` go together: from which priority on requests preempt others, and after how \
                 long at most"
                    .to_owned()
            })?;
        }
        Ok(())
    }

    /// Checks an await: a wait, or a request to an accelerator that exists.
    pub(super) fn check_await(&self, table: Table, pause: &Await) -> Check {
        check_execution(table, "awaits", &pause.run)?;
        let wrong = |message: &str| table.wrong("awaits", message);
        let Some(accelerator) = &pause.accelerator else {
            if !pause.segments.is_empty() || pause.priority.is_some() {
                return wrong("`segments` and `priority` are for requests to a device; name its `accelerator`");
            }
            if is_missing(&pause.wait) {
                return wrong("missing field `wait`; write `wait = \"5 ms\"`, or an `accelerator` and `segments`");
            }
            return check_execution(table, "awaits", &pause.wait);
        };
        known(table, "awaits", "accelerator", accelerator, self.accelerators.iter().map(|known| known.name.as_str()))?;
        if !is_missing(&pause.wait) && pause.wait != ExecutionTime::default() {
            return wrong(
                "an await is a `wait`, or a request to an `accelerator` with `segments`; leave one of them out",
            );
        }
        if pause.segments.is_empty() {
            return wrong("the request has no segments; write `segments = [\"2 ms\"]`");
        }
        table.require("awaits", pause.segments.len() <= SEGMENTS_MAX, || {
            format!("a request has 1 to {SEGMENTS_MAX} segments; sum up some of them")
        })?;
        pause.segments.iter().try_for_each(|segment| check_execution(table, "awaits", segment))
    }
}
