//! The tables of an analysis: callbacks, chains, cores.

use std::time::Duration;

use rospin_engine::EntityKind;
use rospin_report::text_table::{self, Side};

use super::analyzed::Analyzed;
use super::rows::{self, Row};

/// The cell of a chain whose samples may be lost.
const LOST: &str = "lost";

/// The column with the number of the analysis that gave a row's bound.
const BY: (&str, Side) = ("by", Side::Left);

/// A table for a terminal or a page.
pub(super) struct Figures {
    pub(super) header: Vec<(&'static str, Side)>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Figures {
    /// Returns the table as text for a terminal.
    pub(super) fn text(&self) -> String {
        text_table::render(&self.header, &self.rows)
    }
}

/// Returns the meaning of the columns of [`callbacks`] and [`chains`], and of the words in them. Words that are not
/// there are not explained.
pub(super) fn legend(analyzed: &Analyzed) -> String {
    let mut text = "Times in ms. bound: from release to end at most, whatever the phases.".to_owned();
    let rows: Vec<Row> = rows::callbacks(analyzed).into_iter().chain(rows::chains(analyzed)).collect();
    if rows.iter().any(|row| row.deadline.is_some()) {
        text += " slack: from the bound to the deadline.";
    }
    if !analyzed.report.chains.is_empty() {
        text += "\nreaction: from an event to the end of the chain. age: of the data behind the newest output.";
        let cells = chains(analyzed).rows;
        if cells.iter().flatten().any(|cell| cell == LOST) {
            text += " lost: samples may be.";
        }
    }
    let has_verdict = |word: &str| rows.iter().any(|row| row.verdict().starts_with(word));
    if has_verdict("NOT PROVEN") {
        text += "\nNOT PROVEN: the bound is beyond the deadline; that need not happen.";
    }
    if has_verdict("NO BOUND") {
        text += "\nNO BOUND: the analysis found none.";
    }
    if has_by(analyzed) {
        text += "\nby: the analysis that gave the bound, as they are numbered below.";
    }
    if let Some(seen) = &analyzed.seen {
        let overheads =
            if super::overheads::describe(&analyzed.overheads).is_some() { ", without overheads" } else { "" };
        text += &format!("\nsimulated: the longest time in simulations with {} seeds{overheads}.", seen.seeds);
        if has_verdict("MISSES") {
            text += " MISSES: one of them did.";
        }
    }
    text
}

/// Returns a table with a row for each callback.
pub(super) fn callbacks(analyzed: &Analyzed) -> Figures {
    let row = |(row, callback): (Row, &rospin_analysis::CallbackBound)| {
        let mut cells = vec![row.name.clone(), callback.executor.clone(), callback.priority.to_string()];
        cells.extend(times(analyzed, &row));
        cells.push(row.verdict());
        cells.extend(by(analyzed, callback.bound, callback.method));
        cells
    };
    let mut header = vec![("callback", Side::Left), ("executor", Side::Left), ("priority", Side::Right)];
    header.extend(titles(analyzed));
    header.push(("verdict", Side::Left));
    header.extend(has_by(analyzed).then_some(BY));
    Figures { header, rows: rows::callbacks(analyzed).into_iter().zip(&analyzed.report.callbacks).map(row).collect() }
}

/// Returns a table with a row for each queue: its depth, and the smallest one at which it cannot lose a message. `None`
/// if there are no queues.
pub(super) fn queues(analyzed: &Analyzed) -> Option<Figures> {
    let row = |callback: &rospin_scenario::Callback| {
        let smallest = smallest_depth(analyzed, callback).map_or_else(|| "-".to_owned(), |depth| depth.to_string());
        vec![callback.name.clone(), callback.depth.to_string(), smallest]
    };
    let queues = analyzed.scenario.callbacks.iter().filter(|callback| callback.kind != EntityKind::Timer);
    let rows: Vec<_> = queues.map(row).collect();
    let header = vec![("queue", Side::Left), ("depth", Side::Right), ("loses nothing from", Side::Right)];
    (!rows.is_empty()).then_some(Figures { header, rows })
}

/// Returns the smallest depth at which a callback's queue cannot lose a message; `None` for timers and joins, and if it
/// is not known.
pub(super) fn smallest_depth(analyzed: &Analyzed, callback: &rospin_scenario::Callback) -> Option<u64> {
    let bound = analyzed.report.callback(&callback.name)?;
    bound.backlog.filter(|_| callback.joins.is_empty())
}

/// Meaning of the columns of [`queues`].
pub(super) const QUEUES_LEGEND: &str = "\
loses nothing from: the smallest depth at which no message is displaced before it is taken. --deploy writes it.";

/// Returns a table with a row for the margin of each callback; `None` if margins are not known.
pub(super) fn margins(analyzed: &Analyzed) -> Option<Figures> {
    let sensitivity = analyzed.sensitivity.as_ref()?;
    let row = |margin: &rospin_analysis::Margin| {
        let or_unknown = |time: Option<Duration>, early: &str| match time {
            None if margin.unknown || margin.early => "?".to_owned(),
            Some(_) if margin.early => format!("{early} {}", ms(time)),
            _ => ms(time),
        };
        let or_none = if margin.period.is_none() { ms(None) } else { or_unknown(margin.period_min, "≤") };
        vec![
            margin.callback.clone(),
            ms(Some(margin.execution)),
            or_unknown(margin.execution_max, "≥"),
            ms(margin.period),
            or_none,
        ]
    };
    let mut header = vec![("callback", Side::Left)];
    header.extend(["takes", "may take", "comes every", "may come every"].map(|title| (title, Side::Right)));
    Some(Figures { header, rows: sensitivity.callbacks.iter().map(row).collect() })
}

/// Returns the meaning of the columns of [`margins`].
pub(super) fn margins_legend(analyzed: &Analyzed) -> String {
    let mut text = "\
may take: the longest execution time with which all deadlines hold, this one changed alone; up to 64 times as long.
may come every: the shortest period of that kind."
        .to_owned();
    if margins(analyzed).iter().flat_map(|table| &table.rows).flatten().any(|cell| cell == "-") {
        text += " -: none does.";
    }
    let early = analyzed.sensitivity.iter().flat_map(|known| &known.callbacks).filter(|margin| margin.early).count();
    if early > 0 {
        text += &format!(
            "\n≥, ≤: the search ran out of work, or was stopped, for {early} callbacks: all deadlines hold with this time, \
             and may hold with more."
        );
    }
    if let Some(unknown) = analyzed.sensitivity.as_ref().map(|known| known.unknown).filter(|unknown| *unknown > 0) {
        text += &format!("\n?: not known of {unknown} callbacks: the search ran out of work, or was stopped.");
    }
    text
}

/// Returns a table with a row for each chain.
pub(super) fn chains(analyzed: &Analyzed) -> Figures {
    let row = |(row, chain): (Row, &rospin_analysis::ChainBound)| {
        let mut cells = vec![row.name.clone()];
        cells.extend(times(analyzed, &row));
        let lost = if chain.lossy.is_empty() { "-" } else { LOST };
        let or_lost = |time: Option<Duration>| if time.is_some() { ms(time) } else { lost.to_owned() };
        cells.extend([or_lost(chain.reaction_time), or_lost(chain.data_age), row.verdict()]);
        cells.extend(by(analyzed, chain.latency, chain.method));
        cells
    };
    let mut header = vec![("chain", Side::Left)];
    header.extend(titles(analyzed));
    header.extend([("reaction", Side::Right), ("age", Side::Right), ("verdict", Side::Left)]);
    header.extend(has_by(analyzed).then_some(BY));
    Figures { header, rows: rows::chains(analyzed).into_iter().zip(&analyzed.report.chains).map(row).collect() }
}

/// Returns a table with a row for each core.
pub(super) fn cores(analyzed: &Analyzed) -> Figures {
    let row = |core: &rospin_analysis::CoreLoad| {
        vec![core.core.to_string(), format!("{:.1} %", core.utilization * 100.0), core.executors.join(", ")]
    };
    Figures {
        header: vec![("core", Side::Right), ("utilization", Side::Right), ("executors", Side::Left)],
        rows: analyzed.report.cores.iter().map(row).collect(),
    }
}

/// Returns a table with a row for each use of an accelerator by a callback; `None` if there are no accelerators.
pub(super) fn accelerators(analyzed: &Analyzed) -> Option<Figures> {
    let all = &analyzed.report.accelerators;
    let rows = all.iter().flat_map(|accelerator| {
        let load = format!("{:.1} %", accelerator.utilization * 100.0);
        accelerator.uses.iter().map(move |one| {
            let (own, bound) = (ms(Some(one.own)), ms(one.bound));
            vec![accelerator.name.clone(), load.clone(), one.callback.clone(), own, bound]
        })
    });
    let titles = [("accelerator", Side::Left), ("utilization", Side::Right), ("callback", Side::Left)];
    let header = titles.into_iter().chain([("alone", Side::Right), ("bound", Side::Right)]).collect();
    (!all.is_empty()).then(|| Figures { header, rows: rows.collect() })
}

/// Returns true if bounds come from several analyses, so that each row has the number of its own.
fn has_by(analyzed: &Analyzed) -> bool {
    analyzed.report.methods.len() > 1
}

/// Returns the cell of the column [`BY`], if the table has it: the number of the analysis that gave a bound.
fn by(analyzed: &Analyzed, bound: Option<Duration>, method: &str) -> Option<String> {
    let number = analyzed.report.methods.iter().position(|known| *known == method).map(|place| place + 1);
    let number = number.filter(|_| bound.is_some()).map_or_else(|| "-".to_owned(), |number| number.to_string());
    has_by(analyzed).then_some(number)
}

/// Returns the columns of times. That of simulations is there if something was simulated.
fn titles(analyzed: &Analyzed) -> Vec<(&'static str, Side)> {
    let seen = analyzed.seen.as_ref().map(|_| "simulated");
    ["bound"].into_iter().chain(seen).chain(["deadline", "slack"]).map(|title| (title, Side::Right)).collect()
}

/// Returns the row's cells for the columns of [`titles`].
fn times(analyzed: &Analyzed, row: &Row) -> Vec<String> {
    let seen = analyzed.seen.as_ref().map(|_| ms(row.seen));
    let slack = row.slack_ms().map_or_else(|| "-".to_owned(), |slack| format!("{slack:.3}"));
    [ms(row.bound)].into_iter().chain(seen).chain([ms(row.deadline), slack]).collect()
}

/// Returns a time in milliseconds, rounded up, as is safe for a bound, or a dash for `None`.
fn ms(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{:.3}", time.as_nanos().div_ceil(1_000) as f64 / 1e3))
}
