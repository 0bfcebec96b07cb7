//! The part of a recording that a report is about: a time window, and some of the callbacks.

use std::time::Duration;

use clap::Args;
use rospin_engine::recording::Event;
use rospin_report::number;
use rospin_trace::model::{Activation, Callback};
use rospin_trace::names::is_internal;
use rospin_trace::{Model, Recording};

/// The longest time after the beginning that can be named, in seconds: a year.
const LONGEST: f64 = 3.2e7;

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Part {
    /// Leaves out what ended earlier than this many seconds after the beginning of the recording
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.0, LONGEST))]
    from: Option<Duration>,

    /// Leaves out what happened later than this many seconds after the beginning, as if the recording ended then
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.0, LONGEST))]
    to: Option<Duration>,

    /// Shows only callbacks with this text in their name, group, executor or program, and chains with one of them; *
    /// stands for any text
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,

    /// Includes the callbacks that every node has: those of its parameters and its log
    #[arg(long)]
    internals: bool,
}

/// Mistakes in the options.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum Mistake {
    #[error("--from {from}: the recording ends after {length:.3} s")]
    Beyond { from: f64, length: f64 },
    #[error("--from {from} --to {to}: give a time to that is later than the one from")]
    Reversed { from: f64, to: f64 },
    #[error("--only {pattern}: no callback of the recording has that in its name, group, executor or program")]
    Nothing { pattern: String },
}

/// A part of a recording.
pub(super) struct Choice {
    /// The beginning of the window on the steady clock.
    pub(super) from_ns: u64,
    /// The window in words; `None` if it is the whole recording.
    pub(super) window: Option<String>,
    /// For each callback of the model, true if it is shown.
    callbacks: Vec<bool>,
    /// The number of callbacks that are left out because every node has them.
    pub(super) internals: usize,
    pattern: Option<String>,
}

impl Part {
    /// Removes the events that are outside the window. Those before it stay as far as they tell what ran then.
    ///
    /// # Errors
    /// If the window is empty.
    pub(super) fn cut(&self, recordings: &mut [Recording]) -> Result<(u64, Option<String>), Mistake> {
        let times = || recordings.iter().flat_map(|of| &of.events).map(|recorded| recorded.at.as_nanos());
        let (begin, end) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let whole = Duration::from_nanos(end - begin);
        let (from, to) = (self.from.unwrap_or_default(), self.to.unwrap_or(whole));
        if self.from.is_some() && from > whole {
            return Err(Mistake::Beyond { from: from.as_secs_f64(), length: whole.as_secs_f64() });
        }
        if self.from.is_some() && self.to.is_some() && from >= to {
            return Err(Mistake::Reversed { from: from.as_secs_f64(), to: to.as_secs_f64() });
        }
        let ns = |time: Duration| begin.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let (from_ns, to_ns) = (ns(from), ns(to));
        for recording in recordings {
            recording.events.retain(|recorded| {
                let at = recorded.at.as_nanos();
                at <= to_ns && (at >= from_ns || !is_counted(&recorded.event))
            });
        }
        let window = (self.from.is_some() || self.to.is_some()).then(|| {
            let (from, to, whole) = (from.as_secs_f64(), to.min(whole).as_secs_f64(), whole.as_secs_f64());
            format!("Only from {from:.3} s to {to:.3} s of {whole:.3} s.")
        });
        Ok((from_ns, window))
    }

    /// Chooses among the callbacks of the model of events that were [cut](Self::cut).
    ///
    /// # Errors
    /// If nothing is left of a model that has callbacks.
    pub(super) fn choose(&self, model: &Model, (from_ns, window): (u64, Option<String>)) -> Result<Choice, Mistake> {
        let mut internals = 0;
        let mut callbacks = Vec::new();
        for callback in &model.callbacks {
            let is_named = self.only.as_deref().is_none_or(|pattern| {
                let executor = &model.executors[callback.executor].name;
                let program = &model.processes[callback.process].name;
                [&callback.name, &callback.group, executor, program].iter().any(|text| has(text, pattern))
            });
            let is_hidden = !self.internals && is_internal(&callback.name, callback.kind);
            internals += usize::from(is_named && is_hidden);
            callbacks.push(is_named && !is_hidden);
        }
        if let Some(pattern) = self.only.as_ref().filter(|_| internals == 0 && !callbacks.contains(&true)) {
            return Err(Mistake::Nothing { pattern: pattern.clone() });
        }
        Ok(Choice { from_ns, window, callbacks, internals, pattern: self.only.clone() })
    }
}

impl Choice {
    /// Returns true if the callback with that number is shown.
    pub(super) fn has(&self, callback: usize) -> bool {
        self.callbacks.get(callback).copied().unwrap_or(false)
    }

    /// Returns true if the callback of the activation is shown, and the activation did not end before the window.
    pub(super) fn has_activation(&self, of: &Activation) -> bool {
        let last = of.end_ns.or_else(|| of.segments.last().map(|segment| segment.end_ns)).unwrap_or(of.release_ns);
        self.has(of.callback) && last >= self.from_ns
    }

    /// Returns the activations of the callback that ended, in the window.
    pub(super) fn ended<'a>(&self, model: &'a Model, callback: &'a Callback) -> Vec<&'a Activation> {
        let all = callback.activations.iter().map(|place| &model.activations[*place]);
        all.filter(|of| of.end_ns.is_some() && self.has_activation(of)).collect()
    }

    /// Returns true if what has this name, which need not be that of a callback, is shown.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.pattern.as_deref().is_none_or(|pattern| has(name, pattern))
    }
}

/// Returns true for events that are counted one by one, so that those before the window must go.
const fn is_counted(event: &Event) -> bool {
    matches!(event, Event::Lost { .. } | Event::Overrun { .. } | Event::Incident { .. } | Event::Violation { .. })
}

/// Returns true if the text has the parts of the pattern, between its stars, in it one after the other.
fn has(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.to_lowercase(), pattern.to_lowercase());
    let mut rest = text.as_str();
    for part in pattern.split('*') {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_of_names_in_their_order() {
        assert!(has("scanner/Scan", "scan") && has("scanner/scan", "sc*/s*n") && has("a", ""));
        assert!(!has("scanner/scan", "scan*planner") && !has("scan", "scan*scan"));
    }
}
