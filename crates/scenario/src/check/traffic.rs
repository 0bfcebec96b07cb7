//! Checks of releases, links and faults.

use std::collections::BTreeSet;
use std::time::Duration;

use rospin_core::{ClockKind, EntityKind};

use crate::model::Scenario;
use crate::traffic::{Fault, Limit, Pattern};

use super::{Check, Table, check_execution, known};

/// Maximum number of messages of a burst.
const BURST_MAX: u32 = 1_000_000;
/// Maximum number of messages that a limit allows.
const LIMIT_MAX: u32 = 1_000;

impl Scenario {
    pub(super) fn check_releases(&self) -> Check {
        for (number, release) in self.releases.iter().enumerate() {
            let table = Table("release", number);
            table.require("to", !release.to.is_empty(), || "it goes to nobody; name a topic or a callback".into())?;
            for name in &release.to {
                let timer = self.callbacks.iter().any(|c| c.name == *name && c.kind == EntityKind::Timer);
                let message = || format!("`{name}` is a timer: its `period` and `offset` release it");
                table.require("to", !timer, message)?;
                known(table, "to", "topic or callback", name, self.addresses())?;
            }
            let shortest_gap = match &release.pattern {
                Pattern::List(times) => shortest_gap(times),
                Pattern::Periodic { period, jitter, .. } => {
                    table.require("period", !period.is_zero(), || "the period is zero; give one above".into())?;
                    period.saturating_sub(*jitter)
                }
                Pattern::Sporadic { min, max, .. } => {
                    table.require("gap", !min.is_zero(), || "the shortest gap is zero; give one above".into())?;
                    table.require("gap", min <= max, || "the first gap is the shorter one; swap them".into())?;
                    *min
                }
                Pattern::Limited { limits, .. } => {
                    table.require("at_most", !limits.is_empty(), || {
                        "there is no limit; write one as in [[3, \"10 ms\"]]: at most 3 in any 10 ms".into()
                    })?;
                    let fits = |limit: &Limit| (1..=LIMIT_MAX).contains(&limit.count) && !limit.within.is_zero();
                    table.require("at_most", limits.iter().all(fits), || {
                        format!("a limit is 1 to {LIMIT_MAX} messages in a time above zero")
                    })?;
                    Duration::ZERO
                }
                Pattern::Measured { file, .. } => {
                    table
                        .require("measured", !file.is_empty(), || "name a file with one arrival time a line".into())?;
                    Duration::ZERO
                }
            };
            if let Some(burst) = release.burst {
                let count = (1..=BURST_MAX).contains(&burst.count);
                table.require("burst", count, || format!("a burst has 1 to {BURST_MAX} messages"))?;
                let fits = burst.spacing.checked_mul(burst.count - 1).is_some_and(|length| length <= shortest_gap);
                table.require("burst", fits, || "a burst lasts beyond the next one; shorten its spacing".into())?;
            }
        }
        Ok(())
    }

    pub(super) fn check_links(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (number, link) in self.links.iter().enumerate() {
            let table = Table("link", number);
            table.require("to", !link.to.is_empty(), || "it leads to nobody; name a topic or a callback".into())?;
            for name in &link.to {
                known(table, "to", "topic or callback", name, self.addresses())?;
                table.require("to", seen.insert(name), || {
                    format!("there is a link to `{name}` already; leave one out")
                })?;
            }
            check_execution(table, "delay", &link.delay)?;
        }
        Ok(())
    }

    pub(super) fn check_faults(&self) -> Check {
        for (number, fault) in self.faults.iter().enumerate() {
            let table = Table("fault", number);
            let (callback, probability) = match fault {
                Fault::Overrun { callback, probability, .. } | Fault::LostNotification { callback, probability } => {
                    (callback, *probability)
                }
                Fault::SpuriousNotification { callback, period } => {
                    table.require("period", !period.is_zero(), || "the period is zero; give one above".into())?;
                    (callback, 1.0)
                }
                Fault::ClockJump { clock, .. } => {
                    let can_be_set = *clock != ClockKind::Steady;
                    table.require("clock", can_be_set, || "the steady clock is never set; name another one".into())?;
                    continue;
                }
            };
            known(
                table,
                "callback",
                "callback",
                callback,
                self.callbacks.iter().map(|callback| callback.name.as_str()),
            )?;
            let is_probability = (0.0..=1.0).contains(&probability);
            table.require("probability", is_probability, || "a probability is from 0 to 1".into())?;
            let notified = matches!(fault, Fault::Overrun { .. }) || self.addresses().any(|name| name == callback);
            table.require("callback", notified, || {
                format!(
                    "`{callback}` is a timer or joins topics: nobody notifies it; name a callback that takes messages"
                )
            })?;
        }
        Ok(())
    }
}

/// Returns the shortest time between two of the arrivals; the longest duration there is if there are fewer than two.
fn shortest_gap(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(Duration::MAX)
}
