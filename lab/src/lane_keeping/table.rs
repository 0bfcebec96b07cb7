//! The tables in the terminal, and the same cells for the report.

use rospin_measure::stats::percentile;
use rospin_report::text_table::{self, Side};

use super::bounds::Bound;
use super::comparison::Comparison;
use super::measured::Row;

/// Header of the table of drives.
pub(crate) const HEADER: [(&str, Side); 11] = [
    ("over", Side::Left),
    ("executors", Side::Left),
    ("planner", Side::Right),
    ("arrived", Side::Right),
    ("chain p50 us", Side::Right),
    ("p99 us", Side::Right),
    ("max us", Side::Right),
    ("< 0.8 ms", Side::Right),
    ("timer p99 ms", Side::Right),
    ("plan p50 ms", Side::Right),
    ("off the middle", Side::Right),
];

/// Header of the table of bounds.
pub(crate) const BOUNDS: [(&str, Side); 4] =
    [("callback or chain", Side::Left), ("longest us", Side::Right), ("bound us", Side::Right), ("", Side::Left)];

/// Returns the table of drives with its legend, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    format!(
        "{table}Chain: from the due time of the vehicle's timer through the lane keeper to the end of the visualiser's callback.\n\
         Planner: factor of its number of steps. Off the middle: the car's largest distance after 3 s.\n"
    )
}

/// Returns the cells of the table of drives.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    comparison.rows.iter().map(line).collect()
}

fn line(row: &Row) -> Vec<String> {
    let us = |value: f64| format!("{value:.0}");
    let ms = |name, percent| {
        percentile(row.durations(name), percent).map_or_else(|| "-".to_owned(), |us| format!("{:.2}", us / 1e3))
    };
    vec![
        row.drive.middleware.name().to_owned(),
        row.drive.executors.name().to_owned(),
        format!("x{}", row.drive.planner),
        format!("{}/{}", row.chain_us.len(), row.sent),
        us(row.chain(50.0)),
        us(row.chain(99.0)),
        us(row.chain(100.0)),
        format!("{:.1} %", row.percent_as_in_paper()),
        ms("keeper/control", 99.0),
        ms("keeper/planner", 50.0),
        format!("{:.1} cm", row.worst_offset() * 100.0),
    ]
}

/// Returns the cells of a drive's table of bounds.
pub(crate) fn bounds(bounds: &[Bound]) -> Vec<Vec<String>> {
    let us = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |us| format!("{us:.0}"));
    let line = |bound: &Bound| {
        let said = match (&bound.reason, bound.is_kept()) {
            (Some(reason), _) => format!("no bound: {reason}"),
            (None, true) => "kept".to_owned(),
            (None, false) if bound.bound_us.is_none() => "no bound".to_owned(),
            (None, false) => "NOT kept".to_owned(),
        };
        vec![bound.name.clone(), us(bound.measured_us), us(bound.bound_us), said]
    };
    bounds.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn a_bound_that_is_missing_is_no_bound_that_is_kept() {
        let kept = Bound { name: "a".to_owned(), measured_us: Some(1.0), bound_us: Some(2.0), reason: None };
        let broken = Bound { bound_us: Some(0.5), ..kept.clone() };
        let missing = Bound { bound_us: None, reason: Some("it may starve".to_owned()), ..kept.clone() };
        let cells = bounds(&[kept, broken, missing]);
        let said: Vec<&str> = cells.iter().map(|line| line[3].as_str()).collect();
        assert_eq!(said, ["kept", "NOT kept", "no bound: it may starve"]);
    }

    #[test]
    fn every_drive_has_a_line() {
        let text = render(&testing::comparison());
        assert!(text.lines().any(|line| line.contains("wait-set-single") && line.contains("9000")), "{text}");
    }
}
