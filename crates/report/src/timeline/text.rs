//! A timeline as text.

use std::fmt::Write;

use super::{Bar, Timeline, round_up, unit};
use crate::number;

/// Columns between two numbers of the axis.
const COLUMNS_A_TICK: usize = 10;
/// Smallest number of columns for the bars, however narrow the terminal is. Fewer would show nothing.
const COLUMNS_MIN: usize = 20;
/// Longest label, in characters. Longer ones are cut.
const LABEL_MAX: usize = 20;

/// Returns the timeline as text: an axis, and a line for each row. Lines have at most `width` characters, or 42 if that
/// is more.
pub fn render(timeline: &Timeline, width: usize) -> String {
    let longest = timeline.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let label_width = longest.clamp(4, LABEL_MAX);
    let room = width.saturating_sub(label_width + 2).max(COLUMNS_MIN);
    let step_ns = round_up(timeline.end_ns.div_ceil(room as u64));
    // A column stands for a round number of nanoseconds, so the timeline may need fewer columns than there is room for.
    let columns = usize::try_from(timeline.end_ns.div_ceil(step_ns)).unwrap_or(room).clamp(1, room);
    let mut text = axis(timeline.end_ns, step_ns, columns, room, label_width);
    for row in &timeline.rows {
        let label: String = row.label.chars().take(LABEL_MAX).collect();
        let mut line = vec![' '; columns];
        for bar in &row.bars {
            wait(&mut line, bar, step_ns);
        }
        for bar in &row.bars {
            run(&mut line, bar, step_ns);
        }
        let line: String = line.into_iter().collect();
        let _ = writeln!(text, "{}", format!("{label:<label_width$}  {line}").trim_end());
    }
    text
}

/// Returns the axis as text: a line of numbers with their unit, and a ruler below them. A column stands for `step_ns`
/// nanoseconds, `columns` is the length of the ruler, and `room` the number of characters behind the labels.
fn axis(end_ns: u64, step_ns: u64, columns: usize, room: usize, label_width: usize) -> String {
    let (unit, ns) = unit(end_ns);
    let mut numbers = String::new();
    let mut ruler = String::new();
    for column in 0..columns {
        if column % COLUMNS_A_TICK == 0 {
            let number = number::plain(step_ns as f64 * column as f64 / ns);
            // A number is left out if it would overlap the previous one or leave the terminal.
            let free = numbers.chars().count() < column.max(1) && column + number.len() <= room;
            if free {
                numbers = format!("{numbers:<column$}{number}");
            }
        }
        ruler.push(if column % COLUMNS_A_TICK == 0 { '┼' } else { '─' });
    }
    format!("{unit:<label_width$}  {numbers}\n{:label_width$}  {ruler}\n", "")
}

/// Draws the waiting time of an activation: a `|` at its release, and dots from there to its start. Draws nothing if it
/// started at its release.
fn wait(line: &mut [char], bar: &Bar, step_ns: u64) {
    let release_ns = bar.activation.release_ns;
    let start_ns = bar.activation.start_ns;
    if start_ns <= release_ns {
        return;
    }
    let first = column(release_ns, step_ns);
    let end = column(start_ns, step_ns);
    // The part of a bar behind the end of the line is not visited.
    for at in first..end.saturating_add(1).min(line.len()) {
        if let Some(cell) = line.get_mut(at) {
            // The mark of a later release stays visible in an earlier activation's waiting time.
            *cell = match *cell {
                '|' => '|',
                _ if at == first => '|',
                _ => '·',
            };
        }
    }
}

/// Draws the run of an activation: first half a character of gap, which tells two consecutive runs apart, then its name
/// if it has one, and a bar for the rest.
fn run(line: &mut [char], bar: &Bar, step_ns: u64) {
    let first = column(bar.activation.start_ns, step_ns);
    let end =
        usize::try_from(bar.activation.end_ns.div_ceil(step_ns)).unwrap_or(usize::MAX).max(first.saturating_add(1));
    let mut name = bar.name.iter().flat_map(|name| name.chars());
    for at in first..end.min(line.len()) {
        line[at] = if at == first { '▐' } else { name.next().unwrap_or('█') };
    }
}

/// Returns the number of the column in which the time `at_ns` is.
fn column(at_ns: u64, step_ns: u64) -> usize {
    usize::try_from(at_ns / step_ns).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{Activation, TimelineRow};
    use super::*;

    fn bar(release_ns: u64, start_ns: u64, end_ns: u64, name: Option<&str>) -> Bar {
        let activation = Activation { callback: 0, thread: None, release_ns, start_ns, end_ns };
        Bar { activation, name: name.map(str::to_owned) }
    }

    #[test]
    fn releases_waits_and_runs() {
        let rows = vec![
            TimelineRow {
                label: "H".into(),
                kind: None,
                bars: vec![bar(0, 0, 5, None), bar(2, 5, 10, None), bar(9, 15, 15, None)],
            },
            TimelineRow {
                label: "main/0".into(),
                kind: None,
                bars: vec![bar(0, 0, 5, Some("H")), bar(5, 5, 10, Some("M"))],
            },
        ];
        let text = render(&Timeline { end_ns: 20, rows }, 30);
        let expected = "\
ns      0         10
        ┼─────────┼─────────
H       ▐████▐████·····▐
main/0  ▐H███▐M███
";
        assert_eq!(text, expected);
    }

    #[test]
    fn fits_any_terminal() {
        let rows =
            vec![TimelineRow { label: "x".repeat(50), kind: None, bars: vec![bar(0, u64::MAX - 1, u64::MAX, None)] }];
        for end_ns in [0, 1, 999_999_937, u64::MAX] {
            for width in [0, 42, 80, 200] {
                let text = render(&Timeline { end_ns, rows: rows.clone() }, width);
                assert!(text.lines().all(|line| line.chars().count() <= width.max(42)), "{end_ns} {width}:\n{text}");
            }
        }
    }
}
