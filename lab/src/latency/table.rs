//! The table on stdout.

use rospin_report::text_table::{Side, render as render_table};

use super::comparison::Comparison;
use super::figures::{Bounds, Standing, deadline_ms, standings};
use super::overhead::Overhead;
use super::topics::TOPICS;

/// Returns the table with its legend, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> String {
    let (header, rows) = grid(comparison);
    let header: Vec<_> = header.iter().map(String::as_str).zip(sides()).collect();
    render_table(&header, &rows) + LEGEND + &overheads(comparison)
}

/// Returns the lines on the overhead of a message that the analysis was given.
fn overheads(comparison: &Comparison) -> String {
    let Some(Overhead { processor_ms, way_ms }) = comparison.overhead else {
        return "with overheads: no message arrived when they were measured.\n".to_owned();
    };
    format!(
        "with overheads: the analysis with {processor_ms:.3} ms of the core for each message besides its callback, and {way_ms:.3} ms from\n\
         publication to callback on an idle core. Both were measured over the same way with little load: mean and 99th\n\
         percentile.\n"
    )
}

const LEGEND: &str = "\
99th percentile of the latency in ms, mean over the runs; ! after the deadline in a run. good: runs in which all\n\
topics kept it. missed: deadlines missed by single messages. stalls: times that the core stood still for more than 1\n\
ms; longest: ms.\n";

/// Returns the table's titles, and its cells: a line for the deadlines, two for the analysis, and one for each variant.
pub(crate) fn grid(comparison: &Comparison) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header = vec!["variant".to_owned()];
    header.extend((1..=TOPICS).map(|number| format!("topic {number}")));
    header.extend(["good", "missed", "lost", "stalls", "longest"].map(str::to_owned));
    let reference = |name: &str, cell: &dyn Fn(usize) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend((0..TOPICS).map(cell));
        row.extend(std::iter::repeat_n(String::new(), 5));
        row
    };
    let bounds = Bounds::of(comparison);
    let bound = |bound: Option<f64>| bound.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.2}"));
    let mut rows = vec![
        reference("deadline", &|topic| format!("{:.2}", deadline_ms(topic))),
        reference("analysis", &|topic| bound(bounds.plain_ms[topic])),
        reference("with overheads", &|topic| bound(bounds.real_ms[topic])),
    ];
    rows.extend(standings(comparison).iter().map(row));
    (header, rows)
}

fn sides() -> impl Iterator<Item = Side> {
    std::iter::once(Side::Left).chain(std::iter::repeat(Side::Right))
}

fn row(standing: &Standing) -> Vec<String> {
    let p99 = |topic: usize| {
        let mark = if standing.missing.contains(&topic) { "!" } else { "" };
        let value = standing.p99_ms[topic].map_or_else(|| "lost".to_owned(), |summary| format!("{:.2}", summary.mean));
        format!("{mark}{value}")
    };
    let mut row = vec![standing.variant.name().to_owned()];
    row.extend((0..TOPICS).map(p99));
    row.extend([
        format!("{}/{}", standing.good_runs, standing.runs),
        format!("{}/{}", standing.missed_deadlines, standing.sent),
        standing.sent.saturating_sub(standing.received).to_string(),
        standing.stalls.to_string(),
        format!("{:.2}", standing.stall_max_ms),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn table_from_fixed_numbers() {
        let text = render(&testing::comparison());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("variant") && lines[0].ends_with("longest"), "{text}");
        let cells = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
        assert_eq!(cells(2), ["deadline", "10.00", "20.00", "50.00", "100.00", "200.00"]);
        assert_eq!(cells(3), ["analysis", "2.00", "6.00", "13.00", "36.00", "170.00"]);
        assert_eq!(cells(4)[..4], ["with", "overheads", "2.35", "6.35"], "{text}");
        let tokio = ["tokio", "!70.00", "!76.00", "!68.00", "50.00", "80.00", "0/2", "1700/1850", "0", "6", "1.50"];
        assert_eq!(cells(5), tokio);
        assert!(lines[7].starts_with("rospin-rt") && !lines[6].contains('!'), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 125), "{text}");
    }

    #[test]
    fn a_topic_without_a_percentile_says_why() {
        let mut comparison = testing::comparison();
        comparison.results[0].subscribed.latencies_ns[4].clear();
        assert!(render(&comparison).contains("!lost"));
    }
}
