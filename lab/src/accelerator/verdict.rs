//! The result in a few sentences.

use super::comparison::{Comparison, Time};
use super::contender::Contender;
use super::workload::Criticality;

/// Promise of rospin, with the measured result in its text. `kept` is true if the result keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Promise {
    pub(crate) text: String,
    pub(crate) kept: bool,
}

/// Returns the sentences below the table, in the terminal and the report.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said: Vec<String> = Time::ALL.iter().filter_map(|time| sentence_about_misses(comparison, *time)).collect();
    said.extend(promises(comparison).into_iter().map(|Promise { text, kept }| {
        let verdict = if kept { "kept" } else { "NOT kept" };
        format!("{verdict}: {text}")
    }));
    said.extend(comparison.shortfalls.iter().map(|missing| format!("In real time without: {missing}.")));
    said
}

/// Returns a sentence with the share of critical frames that miss their deadline, by contender; `None` if nothing ran
/// in this kind of time.
fn sentence_about_misses(comparison: &Comparison, time: Time) -> Option<String> {
    let rows = comparison.rows.iter().filter(|row| row.time == time);
    let parts: Vec<_> = rows
        .map(|row| {
            let critical = row.of(Criticality::High);
            let share = critical.misses as f64 / critical.frames.max(1) as f64 * 100.0;
            format!("{share:.1} % {}", row.contender.name())
        })
        .collect();
    let said = format!("In {} time the critical pipeline misses: {}.", time.name(), parts.join(", "));
    (!parts.is_empty()).then_some(said)
}

/// Returns the promises that the run has figures for. There are none if the critical pipeline has no bound.
pub(crate) fn promises(comparison: &Comparison) -> Vec<Promise> {
    let promise = |contender: Contender, time: Time| {
        let limit_us = comparison.critical_bound(time, contender)?.as_secs_f64() * 1e6;
        let critical = comparison.row(time, contender)?.of(Criticality::High);
        let text = format!(
            "{}: in {} time no critical frame takes longer than {} and its own work{}: {:.2} ms of {:.2}.",
            contender.name(),
            time.name(),
            if contender == Contender::Rospin {
                "one foreign segment"
            } else {
                "a foreign block or copy for each time that it may wait for one"
            },
            if time == Time::Real { ", with the time beside each segment" } else { "" },
            critical.max_us / 1e3,
            limit_us / 1e3,
        );
        Some(Promise { text, kept: critical.max_us <= limit_us })
    };
    let mut all = Vec::new();
    for contender in [Contender::Rospin, Contender::RospinUrgent, Contender::RospinUrgentAndOne] {
        for time in Time::ALL {
            all.extend(promise(contender, time));
        }
    }
    all
}
