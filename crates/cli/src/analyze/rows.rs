//! Rows for callbacks and chains alike: bound, deadline, and the ratio of the two.

use std::time::Duration;

use rospin_analysis::Margin;

use super::analyzed::Analyzed;

/// Figures of a callback or a chain.
pub(super) struct Row {
    pub(super) name: String,
    /// Longest time that is proven: from release to end, or for a chain from the release of the first callback to the
    /// end of the last one. `None` if there is no bound.
    pub(super) bound: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    /// Longest time of the same kind in simulations; `None` if nothing was simulated, or it never ran to its end there.
    pub(super) seen: Option<Duration>,
    /// True if the deadline is proven to hold, misses that are tolerated aside; without a deadline, if there is a
    /// bound.
    pub(super) holds: bool,
    /// Largest proven number of misses, which is `None` if none was found, and the number of activations in a row to
    /// which it applies. The field is `None` unless the callback tolerates some misses and its bound is beyond the
    /// deadline.
    pub(super) misses: Option<(Option<u64>, u32)>,
}

impl Row {
    /// Returns the milliseconds from the bound to the deadline; negative if the bound is beyond the deadline, and
    /// `None` if one of the two is missing.
    pub(super) fn slack_ms(&self) -> Option<f64> {
        let (bound, deadline) = (self.bound?, self.deadline?);
        Some(deadline.as_nanos() as f64 / 1e6 - bound.as_nanos() as f64 / 1e6)
    }

    /// Returns the result in a word or two. A bound beyond the deadline does not prove that the deadline is missed; a
    /// simulation that misses it does.
    pub(super) fn verdict(&self) -> String {
        if let Some((Some(misses), of)) = self.misses {
            let verdict = if self.holds { "holds" } else { "NOT PROVEN" };
            return format!("{verdict}: at most {misses} of {of} miss");
        }
        let verdict = match (self.bound, self.deadline, self.holds) {
            (_, Some(deadline), _) if self.seen.is_some_and(|seen| seen > deadline) => "MISSES",
            (None, ..) => "NO BOUND",
            (Some(_), None, _) => "bounded",
            (Some(_), Some(_), true) => "holds",
            (Some(_), Some(_), false) => "NOT PROVEN",
        };
        verdict.to_owned()
    }

    /// Returns the bound divided by the deadline; `None` if one of the two is missing.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.bound?.as_secs_f64() / self.deadline?.as_secs_f64())
    }

    /// Returns the longest time in a simulation divided by the deadline; `None` if one of the two is missing.
    pub(super) fn share_seen(&self) -> Option<f64> {
        Some(self.seen?.as_secs_f64() / self.deadline?.as_secs_f64())
    }
}

/// Returns a row for each callback, in the scenario's order.
pub(super) fn callbacks(analyzed: &Analyzed) -> Vec<Row> {
    let row = |(number, callback): (usize, &rospin_analysis::CallbackBound)| Row {
        name: callback.name.clone(),
        bound: callback.bound,
        deadline: callback.deadline,
        seen: analyzed.seen.as_ref().and_then(|seen| seen.callbacks[number]),
        holds: callback.holds,
        misses: analyzed.scenario.callbacks[number]
            .tolerates
            .filter(|_| callback.bound > callback.deadline)
            .map(|tolerates| (callback.misses, tolerates.of)),
    };
    analyzed.report.callbacks.iter().enumerate().map(row).collect()
}

/// Returns a row for each chain, in the scenario's order.
pub(super) fn chains(analyzed: &Analyzed) -> Vec<Row> {
    let row = |(number, chain): (usize, &rospin_analysis::ChainBound)| Row {
        name: chain.name.clone(),
        bound: chain.latency,
        deadline: chain.deadline,
        seen: analyzed.seen.as_ref().and_then(|seen| seen.chains[number]),
        holds: chain.holds,
        misses: None,
    };
    analyzed.report.chains.iter().enumerate().map(row).collect()
}

/// Returns the margin of the callback with this name; `None` if margins are not known.
pub(super) fn margin<'a>(analyzed: &'a Analyzed, callback: &str) -> Option<&'a Margin> {
    analyzed.sensitivity.as_ref()?.callbacks.iter().find(|margin| margin.callback == callback)
}
