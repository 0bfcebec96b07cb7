//! Violations in a recording: those that a monitor told of while the program ran, or those that a comparison with the
//! system file finds now.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rospin_report::Failure;
use rospin_report::page::columns;
use rospin_report::text_table::Side;
use rospin_trace::monitor::{Cause, Monitor, Violation, ViolationKind, told};
use rospin_trace::{Model, Recording};

use super::choice::Choice;
use super::facts::Table;

/// A violation, with the names of its callback or chain and of the callback that caused it.
pub(super) struct Found {
    subject: String,
    kind: ViolationKind,
    cause: Cause,
    culprit: Option<String>,
    measured: u64,
    limit: u64,
}

/// Returns the violations that a monitor recorded while the program ran.
pub(super) fn of_model(model: &Model) -> Vec<Found> {
    let found = |of: &rospin_trace::model::Violation| {
        Some(Found {
            subject: of.chain.clone().unwrap_or_else(|| model.label(of.callback)),
            kind: ViolationKind::at(of.kind)?,
            cause: Cause::at(of.cause),
            culprit: of.culprit.map(|culprit| model.label(culprit)),
            measured: of.measured,
            limit: of.limit,
        })
    };
    model.violations.iter().filter_map(found).collect()
}

/// Compares the recordings, of a process each, with the system file and its bounds. Returns the violations, and the
/// differences between all the programs together and the file. What was before `from_ns` is left out.
pub(super) fn against(
    system: &Path,
    bounds: Option<&Path>,
    (recordings, from_ns): (&[Recording], u64),
) -> Result<(Vec<Found>, Vec<String>), Failure> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let monitor = Monitor::load(system, bounds).map_err(Failure::input)?;
    let into = Arc::clone(&all);
    monitor.on_violation(move |of: &Violation| {
        if of.at.as_nanos() < from_ns {
            return;
        }
        into.lock().unwrap_or_else(PoisonError::into_inner).push(Found {
            subject: of.subject().to_owned(),
            kind: of.kind,
            cause: of.cause,
            culprit: of.culprit.clone(),
            measured: of.measured,
            limit: of.limit,
        });
    });
    monitor.judge_recordings(recordings);
    let found = std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((found, monitor.remarks()))
}

/// Returns the violations by, or because of, what is chosen.
pub(super) fn chosen(mut found: Vec<Found>, choice: &Choice) -> Vec<Found> {
    found.retain(|of| choice.has_name(&of.subject) || of.culprit.as_deref().is_some_and(|name| choice.has_name(name)));
    found
}

/// Returns the table of the violations by callback or chain, and kind; `None` if there are none.
pub(super) fn table(found: &[Found]) -> Option<Table> {
    let mut groups: BTreeMap<(&str, ViolationKind), Vec<&Found>> = BTreeMap::new();
    for of in found {
        groups.entry((&of.subject, of.kind)).or_default().push(of);
    }
    let row = |((subject, kind), all): ((&str, ViolationKind), Vec<&Found>)| {
        let worst = all.iter().max_by_key(|of| of.measured.abs_diff(of.limit))?;
        let mut causes: BTreeMap<(Cause, Option<&str>), usize> = BTreeMap::new();
        all.iter().for_each(|of| *causes.entry((of.cause, of.culprit.as_deref())).or_default() += 1);
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let causes = causes.iter().take(3).map(|((cause, culprit), count)| {
            let times = if causes.len() > 1 { format!("{count}x ") } else { String::new() };
            times + &cause.describe(kind, *culprit)
        });
        let causes = causes.collect::<Vec<_>>().join("; ");
        Some(vec![subject.to_owned(), all.len().to_string(), told(kind, worst.measured, worst.limit), causes])
    };
    let rows: Vec<_> = groups.into_iter().filter_map(row).collect();
    let mut header = columns(["of", "count", "worst", "cause"]);
    header[2].1 = Side::Left;
    header[3].1 = Side::Left;
    (!rows.is_empty()).then_some(Table {
        title: "Violations",
        sentence: "What is not as the system file or the analysis says, the worst of each kind, and who is the cause.",
        header,
        rows,
    })
}
