//! The table on stdout: one row an executor.

use std::io::{self, IsTerminal};

use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};

use super::comparison::Comparison;
use super::figures::{COLUMNS, Column, Figures, Section, Shown};

/// Character in place of a mark, so that digits stay below each other. A plain blank would be trimmed.
const BLANK: char = '\u{a0}';

/// Greatest length of a column's title lines, each with its blank, at which the numbers can be as wide as the title.
/// Such a column gets a gap before it.
const NARROW: usize = 7;

/// Layout of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Number of columns of the terminal; `None`, and so unlimited, if it is not known.
    width: Option<u16>,
    /// True if the best values are coloured as well as marked.
    colour: bool,
}

impl Layout {
    /// Returns the layout for stdout: its width, and colours if it is a terminal and the user has not forbidden them.
    pub(crate) fn of_stdout() -> Self {
        let terminal = io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { width: Table::new().width(), colour: terminal && wanted }
    }
}

/// Returns the whole table with its legend, ending in a line break. A table that is too wide becomes one for each
/// section.
pub(crate) fn render(comparison: &Comparison, layout: Layout) -> String {
    let rows: Vec<Figures> = comparison.results.iter().map(Figures::of).collect();
    let names: Vec<&str> = comparison.results.iter().map(|r| r.variant.name()).collect();
    let wide = build(&names, &rows, &COLUMNS.iter().collect::<Vec<_>>(), layout);
    let width = plain_width(&names, &rows);
    let fits = layout.width.is_none_or(|columns| width <= usize::from(columns));
    let tables = if fits { vec![wide] } else { sections(&names, &rows, layout) };

    let mut text = String::new();
    for table in tables {
        for line in table.lines() {
            text.push_str(line.replace(BLANK, " ").trim_end());
            text.push('\n');
        }
    }
    text + &legend(comparison)
}

/// Returns a narrower table for each section, one below the other.
fn sections(names: &[&str], rows: &[Figures], layout: Layout) -> Vec<Table> {
    let columns = |section| COLUMNS.iter().filter(|c| c.section == section).collect::<Vec<_>>();
    Section::ALL.map(|section| build(names, rows, &columns(section), layout)).into()
}

/// Returns the width of the full table in characters. The invisible characters that make colours do not count.
fn plain_width(names: &[&str], rows: &[Figures]) -> usize {
    let plain = Layout { width: None, colour: false };
    let table = build(names, rows, &COLUMNS.iter().collect::<Vec<_>>(), plain);
    table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Returns a table of these columns, with a row for each executor.
fn build(names: &[&str], rows: &[Figures], columns: &[&Column], layout: Layout) -> Table {
    let mut table = Table::new();
    // A row of numbers needs only one line, below the header.
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
    if layout.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let titles = columns.iter().map(|column| Cell::new(title(column)).set_alignment(CellAlignment::Right));
    table.set_header(std::iter::once(Cell::new("executor")).chain(titles));
    let values: Vec<Vec<Shown>> = columns.iter().map(|column| column.shown(rows)).collect();
    for (row, name) in names.iter().enumerate() {
        let cells = values.iter().map(|column| cell(&column[row]));
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    for (drawn, column) in table.column_iter_mut().skip(1).zip(columns) {
        // The place of the mark separates columns, except those whose numbers can be as wide as the title.
        let narrow = title(column).lines().all(|line| line.chars().count() <= NARROW);
        drawn.set_padding((u16::from(narrow), 0));
    }
    table.column_mut(0).expect("the header has it").set_padding((0, 0));
    table
}

/// Returns a column's title: the quantity on two lines and the statistic below, so that the column stays narrow.
fn title(column: &Column) -> String {
    let [first, second] = column.lines;
    format!("{first}{BLANK}\n{second}{BLANK}\n{}{BLANK}", column.statistic)
}

/// Returns a value with its mark, or with a blank in its place.
fn cell(shown: &Shown) -> Cell {
    let mark = if shown.best { '*' } else { BLANK };
    let cell = Cell::new(format!("{}{mark}", shown.text)).set_alignment(CellAlignment::Right);
    if shown.best { cell.fg(Color::Green).add_attribute(Attribute::Bold) } else { cell }
}

fn legend(comparison: &Comparison) -> String {
    let settings = &comparison.settings;
    let best = if comparison.results.len() > 1 { "* best of its column. " } else { "" };
    let transport = settings.describe_transport();
    let transport = if transport.is_empty() { transport } else { format!("{transport}.\n") };
    format!(
        "{best}Shortest possible hot path: {:.1} ms (4 x {} ms of work).\n\
         Latency counts from the start of the later lidar's callback, as the original's\n\
         does. From the lidars' due times on, the wait for that callback counts as well.\n{transport}",
        settings.shortest_hot_path_ms(),
        settings.crunch_ms(),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rospin_measure::stats::Summary;
    use serde_json::Value;

    use super::super::runner::Variant;
    use super::super::testing;
    use super::*;

    const PLAIN: Layout = Layout { width: None, colour: false };

    #[test]
    fn full_table_from_fixed_numbers() {
        let text = render(&testing::comparison(), PLAIN);
        assert_eq!(text, include_str!("golden/table.txt"));
    }

    #[test]
    fn narrow_terminal_gets_stacked_tables_that_fit() {
        let narrow = Layout { width: Some(80), colour: false };
        let text = render(&testing::comparison(), narrow);
        let names = text.matches("priority-single").count();
        assert_eq!(names, 3, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        // No value is lost or broken over lines.
        let wide = render(&testing::comparison(), PLAIN);
        assert_eq!(text.matches('*').count(), wide.matches('*').count());
    }

    #[test]
    fn colour_adds_to_the_mark_and_does_not_count_as_width() {
        let comparison = testing::comparison();
        let coloured = render(&comparison, Layout { width: Some(160), colour: true });
        let plain = render(&comparison, PLAIN);
        assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'));
        assert_eq!(coloured.lines().count(), plain.lines().count());
        assert_eq!(coloured.matches('*').count(), plain.matches('*').count());
    }

    /// Reads the JSON file of the run whose figures the documents show.
    fn kept_run() -> (Vec<String>, Vec<Figures>) {
        let kept: Value = serde_json::from_str(&document("book/src/guide/reference_system.json")).unwrap();
        let executors = kept["executors"].as_array().unwrap();
        let names = executors.iter().map(|executor| executor["executor"].as_str().unwrap().to_owned()).collect();
        (names, executors.iter().map(figures_of).collect())
    }

    fn document(path: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
    }

    fn figures_of(executor: &Value) -> Figures {
        let number = |path: &str| executor.pointer(path).and_then(Value::as_f64);
        // What a figure does not have, the table does not show.
        let summary = |name: &str| {
            let of = |statistic: &str| number(&format!("/{name}/{statistic}")).unwrap_or(f64::NAN);
            Some(Summary { count: 0, mean: of("mean"), sd: of("sd"), min: of("min"), max: of("max") })
        };
        Figures {
            latency_ms: summary("hot_path_latency_ms"),
            from_due_ms: summary("hot_path_from_due_ms"),
            latency_p50_ms: number("/hot_path_latency_ms/p50"),
            latency_p99_ms: number("/hot_path_latency_ms/p99"),
            drops: summary("hot_path_drops"),
            planner_period_ms: summary("planner_period_ms"),
            missed_front_lidar: number("/missed_front_lidar"),
            cpu_percent: number("/cpu_percent").unwrap(),
            memory_mib: number("/memory_mib"),
        }
    }

    /// `rospin lab reference-system --json book/src/guide/reference_system.json` writes the run anew; then the
    /// table below, which this test prints, goes into the book.
    #[test]
    fn the_table_of_the_book_is_that_of_the_run_that_is_kept() {
        let (names, rows) = kept_run();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let table = build(&names, &rows, &COLUMNS.iter().collect::<Vec<_>>(), PLAIN);
        let lines = table.lines().map(|line| line.replace(BLANK, " ").trim_end().to_owned());
        // The line below the header is left out in the book.
        let expected: Vec<String> = lines.filter(|line| !line.starts_with('─')).collect();
        let expected = expected.join("\n");
        assert!(document("book/src/guide/command.md").contains(&expected), "{expected}");
    }

    #[test]
    fn single_executor_has_no_marks() {
        let mut comparison = testing::comparison();
        comparison.results = vec![testing::result(Variant::FifoSingle)];
        assert!(!render(&comparison, PLAIN).contains('*'));
    }
}
