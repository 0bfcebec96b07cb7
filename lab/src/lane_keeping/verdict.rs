//! The result in sentences: what rospin promises of these drives, and if it is kept.

use rospin_measure::stats::percentile;

use super::bounds::Bound;
use super::comparison::Comparison;
use super::measured::Row;
use super::order::Executors;
use crate::middleware::Middleware;

/// Time in microseconds that the chain's 99th percentile should be below over DDS.
const CHAIN_US: f64 = 1000.0;
/// Largest increase of the chain's 99th percentile by a longer planner, as a share of the time by which the planner is
/// longer.
const TOUCHED: f64 = 0.05;
/// Largest distance from the lane's middle in metres.
const OFFSET_M: f64 = 0.3;

/// Promise with the measured result in its text. `kept` is true if the result keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Promise {
    pub(crate) text: String,
    pub(crate) kept: bool,
}

/// Returns what is promised of the drives with priorities.
pub(crate) fn promises(comparison: &Comparison) -> Vec<Promise> {
    let own = || comparison.rows.iter().filter(|row| row.drive.executors == Executors::Priority);
    let mut promises = Vec::new();
    promises.extend(own().filter(|row| row.drive.middleware == Middleware::Dds).map(chain));
    promises.extend(own().filter(|row| row.drive.planner > 1).filter_map(|row| untouched(comparison, row)));
    promises.extend(own().map(offset));
    promises.extend(own().map(bounds));
    promises
}

/// Returns the sentences below the table.
pub(crate) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut said: Vec<String> = promises(comparison)
        .into_iter()
        .map(|Promise { text, kept }| format!("{}: {text}", if kept { "kept" } else { "NOT kept" }))
        .collect();
    said.extend(comparison.rows.iter().filter_map(|row| beside(comparison, row)));
    for row in &comparison.rows {
        let of = name(row);
        let counts = [
            (row.lost, "messages were lost by subscriptions"),
            (row.dropped, "events are missing in the recordings"),
            (row.answer.unsent, "messages could not be sent"),
            (row.answer.plans[1], "plans could not be made"),
        ];
        said.extend(
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{of}: {count} {what}.")),
        );
    }
    if let Some(missing) = comparison.rows.iter().flat_map(|row| &row.answer.shortfalls).next() {
        said.push(format!("Measured without what the promises are about: {missing}."));
    }
    said
}

/// Returns the name of a drive in sentences.
pub(crate) fn name(row: &Row) -> String {
    let drive = &row.drive;
    format!("{} over {}, planner x{}", drive.executors.name(), drive.middleware.name(), drive.planner)
}

fn chain(row: &Row) -> Promise {
    let p99_us = row.chain(99.0);
    let text = format!(
        "{}: 99 % of the odometry chain below 1 ms: {p99_us:.0} us, and {:.1} % below the paper's 0.8 ms",
        name(row),
        row.percent_as_in_paper()
    );
    Promise { text, kept: p99_us < CHAIN_US }
}

fn untouched(comparison: &Comparison, row: &Row) -> Option<Promise> {
    let short = comparison.row(row.drive.middleware, row.drive.executors, 1)?;
    let (before, after) = (short.chain(99.0), row.chain(99.0));
    let planner = |row: &Row| percentile(row.durations("keeper/planner"), 50.0).unwrap_or(0.0);
    let longer = (planner(row) - planner(short)).max(0.0);
    let text = format!(
        "{}: p99 of the chain {after:.0} us, with x1 {before:.0} us: less than a twentieth of the {:.1} ms by which the planner is longer",
        name(row),
        longer / 1e3
    );
    let kept = after.is_finite() && after <= before + longer * TOUCHED;
    Some(Promise { text, kept })
}

fn offset(row: &Row) -> Promise {
    let metres = row.worst_offset();
    let text = format!("{}: the car within 30 cm of the lane's middle: {:.1} cm", name(row), metres * 100.0);
    Promise { text, kept: metres < OFFSET_M }
}

/// A callback without a bound keeps none.
fn bounds(row: &Row) -> Promise {
    let text = |said: String| format!("{}: measured times below the analysis's bounds: {said}", name(row));
    match &row.bounds {
        Err(reason) => Promise { text: text(format!("no bounds, because {reason}")), kept: false },
        Ok(bounds) => {
            let kept = bounds.iter().filter(|bound| bound.is_kept()).count();
            let mut said = format!("{kept} of {}", bounds.len());
            if let Some(first) = bounds.iter().find(|bound| !bound.is_kept()) {
                said += &format!("; the first other one is {}", describe(first));
            }
            Promise { text: text(said), kept: kept == bounds.len() && kept > 0 }
        }
    }
}

fn describe(bound: &Bound) -> String {
    let us = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |us| format!("{us:.0} us"));
    format!("{}: measured {}, bound {}", bound.name, us(bound.measured_us), us(bound.bound_us))
}

/// Returns a sentence that compares a drive under one thread a process with the same one under priorities.
fn beside(comparison: &Comparison, row: &Row) -> Option<String> {
    let own = comparison.row(row.drive.middleware, Executors::Priority, row.drive.planner)?;
    let (theirs, ours) = (row.chain(99.0), own.chain(99.0));
    (row.drive.executors == Executors::WaitSetSingle && theirs.is_finite() && ours.is_finite())
        .then(|| format!("{}: chain p99 {theirs:.0} us, {:.1} times that with priorities.", name(row), theirs / ours))
}

#[cfg(test)]
mod tests {
    use super::super::order::Place;
    use super::super::testing;
    use super::*;

    fn broken(change: impl FnOnce(&mut Row)) -> Vec<String> {
        let mut comparison = testing::comparison();
        change(&mut comparison.rows[1]);
        promises(&comparison).into_iter().filter(|promise| !promise.kept).map(|promise| promise.text).collect()
    }

    #[test]
    fn what_is_kept_is_said_and_the_other_executor_is_compared() {
        assert!(broken(|_| ()).is_empty());
        let said = sentences(&testing::comparison());
        assert!(said[0].starts_with("kept: priority over dds, planner x1: 99 %"), "{}", said[0]);
        assert_eq!(
            said.last().unwrap(),
            "wait-set-single over dds, planner x1: chain p99 9000 us, 15.0 times that with priorities."
        );
    }

    #[test]
    fn each_promise_can_be_broken() {
        assert_eq!(broken(|row| row.chain_us = vec![1600.0; 100]).len(), 2, "too late, and later than with x1");
        assert!(
            broken(|row| row.answer.path.push(Place { time_s: 6.0, travelled_m: 160.0, offset_m: -0.31 }))[0]
                .contains("31.0 cm")
        );
        assert_eq!(broken(|row| row.answer.path.clear()).len(), 1, "no drive is no good drive");
        assert_eq!(broken(|row| row.chain_us.clear()).len(), 2);
    }

    #[test]
    fn a_callback_without_a_bound_keeps_none() {
        let without = |row: &mut Row| row.bounds.as_mut().unwrap()[0].bound_us = None;
        assert!(broken(without)[0].contains("0 of 1; the first other one is keeper/control"));
        let unmeasured = |row: &mut Row| row.bounds.as_mut().unwrap()[0].measured_us = None;
        assert_eq!(broken(unmeasured).len(), 1);
        assert_eq!(broken(|row| row.bounds = Ok(Vec::new())).len(), 1);
        assert!(broken(|row| row.bounds = Err("it is overloaded".to_owned()))[0].contains("it is overloaded"));
    }
}
