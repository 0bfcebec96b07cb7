//! The table in the terminal, and the same cells for the report.

use rospin_report::text_table::{self, Side};

use super::comparison::{Comparison, Row};
use super::verdict;

pub(crate) const HEADER: [(&str, Side); 13] = [
    ("ends", Side::Left),
    ("size", Side::Right),
    ("over", Side::Left),
    ("who", Side::Left),
    ("messages/s", Side::Right),
    ("p50 us", Side::Right),
    ("p99 us", Side::Right),
    ("CPU %", Side::Right),
    ("wake-ups", Side::Right),
    ("allocs", Side::Right),
    ("lost", Side::Right),
    ("lost %", Side::Right),
    ("refused", Side::Right),
];

/// Returns the table, with explanations below it.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    let ends = comparison.measured_ends();
    format!(
        "{table}* best of rospin's for that size and place. us: one way in one process, there and back otherwise. CPU, wake-ups and\n\
         allocations a message: at a fixed rate, {ends}. bare: the middleware, a listener and a thread.\n\
         flood: published as fast as possible, reliable, keep last 1000 or keep all; received a second, one way.\n\
         refused: with an error of the publisher, because there was no room in time.\n"
    )
}

/// Returns the cells: a line for each row.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut before = None;
    let line = |row: &Row| {
        let group = (row.cell.place, row.cell.size);
        let is_first = before != Some(group);
        before = Some(group);
        let named = |text: String| if is_first { text } else { String::new() };
        let star = |is_best| if is_best { "*" } else { " " };
        let number = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let figures = row.figures;
        let quickest = verdict::best(comparison, row.cell, |f| -f.messages_per_s) == Some(row.cell);
        let least = verdict::best(comparison, row.cell, |f| f.p99_us) == Some(row.cell);
        vec![
            named(row.cell.place.name().to_owned()),
            named(row.cell.size.to_string()),
            row.cell.middleware.name().to_owned(),
            row.cell.contender.name().to_owned(),
            number(figures.map(|f| f.messages_per_s), 0) + star(quickest),
            number(figures.map(|f| f.p50_us), 1),
            number(figures.map(|f| f.p99_us), 1) + star(least),
            number(figures.map(|f| f.cpu_percent), 1),
            number(figures.map(|f| f.wake_ups_per_message), 2),
            number(figures.and_then(|f| f.allocations_per_message), 1),
            number(figures.map(|f| f.lost), 0),
            number(figures.filter(|_| row.cell.place.is_flood()).map(|f| f.lost_percent), 1),
            number(figures.filter(|_| row.cell.place.is_flood()).map(|f| f.refused), 0),
        ]
    };
    comparison.rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_is_there_and_the_best_are_marked() {
        let text = render(&testing::comparison());
        assert!(text.lines().any(|line| line.contains("in-process") && line.contains("900000*")), "{text}");
        assert!(text.lines().any(|line| line.contains("bare") && line.contains("500000 ")), "{text}");
        assert!(text.lines().any(|line| line.contains("zenoh") && line.contains(" - ")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
    }

    #[test]
    fn the_cost_is_that_of_the_ends_that_were_measured() {
        let comparison = testing::comparison();
        assert!(render(&comparison).contains("both ends"));
        let beside_peer = Comparison { peer: Some("echo".to_owned()), ..comparison };
        let text = render(&beside_peer);
        assert!(text.contains("our end alone") && !text.contains("both ends"), "{text}");
    }
}
