//! Tables: one for each cell, with a row for each contender.

use rospin_report::text_table::{Side, render};

use super::figures::{Figures, Row};
use super::workload::{Cell, Workload};

/// A table of plain cells, for the terminal and the report.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns the table with its title, ending in a line break.
    pub(crate) fn text(&self) -> String {
        let sides = self.header.iter().enumerate();
        let header: Vec<_> = sides.map(|(n, name)| (*name, if n == 0 { Side::Left } else { Side::Right })).collect();
        format!("{}\n{}", self.title, render(&header, &self.rows))
    }
}

/// Returns a table for each cell.
pub(crate) fn tables(figures: &Figures) -> Vec<Table> {
    figures.cells().iter().map(|cell| table(figures, cell)).collect()
}

fn table(figures: &Figures, cell: &Cell) -> Table {
    let is_timed = cell.workload == Workload::FixedRate;
    let mut header =
        vec!["contender", "messages/s", "of limit", "callbacks/published", "lost %", "CPU %", "executor CPU %"];
    header.extend(if is_timed {
        &["p50 us", "p99 us", "p99.9 us", "max us"][..]
    } else {
        &["waits us", "CPU ns/message"]
    });
    header.extend(["switches/message", "allocations/message"]);
    let rows = figures.of_cell(cell).map(|row| cells(figures, row, is_timed)).collect();
    Table { title: cell.name(), header, rows }
}

/// Returns the cells of a row. `is_timed` is true if the cell's workload records latencies.
fn cells(figures: &Figures, row: &Row, is_timed: bool) -> Vec<String> {
    let ratio = figures.to_limit(row, |row| Some(row.messages_per_s.median));
    let mut cells = vec![
        row.contender.name().to_owned(),
        thousands(row.messages_per_s.median),
        ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        row.callbacks_per_published.map_or("-".to_owned(), |count| format!("{count:.2}")),
        format!("{:.1}", 100.0 * row.lost),
        format!("{:.1}", row.cpu_percent),
        format!("{:.1}", row.executor_cpu_percent),
    ];
    if is_timed {
        let shown = |us: Option<f64>| us.map_or("-".to_owned(), |us| format!("{us:.1}"));
        let latency = row.latency_us;
        cells.extend([
            shown(latency.map(|l| l.p50)),
            shown(latency.map(|l| l.p99)),
            shown(latency.map(|l| l.p999)),
            shown(latency.map(|l| l.max)),
        ]);
    } else {
        cells.push(row.waits_us.map_or("-".to_owned(), |us| format!("{us:.1}")));
        cells.push(format!("{:.0}", row.cpu_ns_per_message));
    }
    cells.push(format!("{:.4}", row.context_switches_per_message));
    cells.push(row.allocations_per_message.map_or("-".to_owned(), |count| format!("{count:.4}")));
    cells
}

/// Returns a number without decimals, with its digits in groups of three.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (number, digit) in digits.chars().enumerate() {
        if number > 0 && (digits.len() - number).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_is_as_wide_as_its_header() {
        let tables = tables(&testing::figures());
        assert_eq!(tables.len(), Workload::ALL.into_iter().flat_map(Workload::cells).count());
        for table in tables {
            assert!(table.rows.iter().all(|row| row.len() == table.header.len()), "{}", table.title);
            assert!(table.text().contains("rospin-fixed-priority"));
        }
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([1.0, 1234.0, 12345678.4].map(thousands), ["1", "1 234", "12 345 678"]);
    }
}
