//! The table in the terminal, and the same cells for the report.

use rospin_report::text_table::{self, Side};

use super::comparison::Comparison;
use super::figures::Row;
use super::verdict::winner;

pub(crate) const HEADER: [(&str, Side); 9] = [
    ("rate Hz", Side::Left),
    ("load", Side::Left),
    ("contender", Side::Left),
    ("fired", Side::Right),
    ("expected", Side::Right),
    ("p50 us", Side::Right),
    ("p99 us", Side::Right),
    ("max us", Side::Right),
    ("p99/floor", Side::Right),
];

/// Returns the whole table, with explanations below it.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    format!(
        "{table}* least p99 of those that fired every time, the floor aside. Jitter: start of the callback after its due time;\n\
         p50 and p99 are medians over {} turns. Timers: {}; busy: {}.\n",
        comparison.rounds, comparison.setup.timer_has, comparison.setup.busy_has,
    )
}

/// Returns the cells: a line for each row.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut before = None;
    let line = |row: &Row| {
        let group = (row.rate_hz, row.load);
        let is_first = before != Some(group);
        before = Some(group);
        let named = |text: String| if is_first { text } else { String::new() };
        let jitter = row.jitter();
        let star = if winner(comparison, row.load, row.rate_hz) == Some(row.contender) { "*" } else { " " };
        vec![
            named(row.rate_hz.to_string()),
            named(row.load.name().to_owned()),
            row.contender.name().to_owned(),
            row.fired.to_string(),
            row.expected.to_string(),
            number(jitter.map(|jitter| jitter.p50), 1),
            number(jitter.map(|jitter| jitter.p99), 1) + star,
            number(jitter.map(|jitter| jitter.max), 0),
            number(comparison.to_floor(row), 2),
        ]
    };
    comparison.rows.iter().map(line).collect()
}

/// Returns a number with this many decimals, or a dash for `None`.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::super::contender::Contender;
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_is_there_and_the_winner_is_marked() {
        let text = render(&testing::comparison());
        for contender in Contender::ALL {
            assert_eq!(text.matches(contender.name()).count(), 4, "{text}");
        }
        assert!(text.lines().any(|line| line.contains("rospin") && line.contains("11.9*")), "{text}");
        assert!(text.contains("SCHED_FIFO 80 on core 1"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
    }
}
