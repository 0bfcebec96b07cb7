//! The table in the terminal, and the same cells for the report.

use rospin_report::text_table::{self, Side};

use super::comparison::Comparison;
use super::figures::{Percentiles, Row};
use super::verdict::winner;

pub(crate) const HEADER: [(&str, Side); 10] = [
    ("ordinary threads", Side::Left),
    ("fired", Side::Right),
    ("timer p50 us", Side::Right),
    ("p99", Side::Right),
    ("p99.9", Side::Right),
    ("max", Side::Right),
    ("message p99.9", Side::Right),
    ("max", Side::Right),
    ("own calls p99.9", Side::Right),
    ("max", Side::Right),
];

/// Returns the whole table, with explanations below it.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    format!(
        "{table}* wins: least of the worst p99.9 of a line, beside ordinary threads that lock. All in microseconds.\n\
         Timer: start after due time. Message: start of a subscription after publication. Own calls: what ordinary threads\n\
         do, done by the timer's callback. Urgent: {}; hog: {}, {} ms of {}.\n",
        comparison.setup.timer_has,
        comparison.setup.busy_has,
        comparison.turn.burst.as_millis(),
        (comparison.turn.burst + comparison.turn.pause).as_millis(),
    )
}

/// Returns the cells: a line for each case.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let winner = winner(comparison);
    let line = |row: &Row| {
        let number = |times: Option<Percentiles>, of: fn(Percentiles) -> f64| {
            times.map_or_else(|| "-".to_owned(), |times| format!("{:.1}", of(times)))
        };
        let star = if winner == Some(row.case) { " *" } else { "" };
        vec![
            format!("{}{star}", row.case.name()),
            format!("{}/{}", row.fired(), row.expected),
            number(row.timer, |times| times.p50),
            number(row.timer, |times| times.p99),
            number(row.timer, |times| times.p999),
            number(row.timer, |times| times.max),
            number(row.message, |times| times.p999),
            number(row.message, |times| times.max),
            number(row.own, |times| times.p999),
            number(row.own, |times| times.max),
        ]
    };
    comparison.rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::interference::Case;
    use super::super::testing;
    use super::*;

    #[test]
    fn every_case_is_there_and_the_winner_is_marked() {
        let text = render(&testing::comparison());
        for case in Case::ALL {
            assert!(text.contains(case.name()), "{text}");
        }
        assert!(text.contains("all *") && text.contains("SCHED_FIFO 80 on core 1"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 135), "{text}");
    }
}
