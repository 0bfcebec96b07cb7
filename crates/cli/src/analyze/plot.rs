//! Plots of bounds against deadlines: bars for a page, and bars of characters for a terminal.

use std::fmt::Write;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use rospin_report::svg::{FONT, INK, PlotError, draw};

use super::analyzed::Analyzed;
use super::rows::{self, Row};

const WIDTH: u32 = 900;
const ROW_HEIGHT: u32 = 22;
const AXIS_HEIGHT: u32 = 44;
/// Width of the column of names, in pixels.
const NAMES: u32 = 210;
/// Number of letters of a name that fit beside a bar. Longer names are cut.
const NAME_LENGTH: usize = 28;
/// Length of the longest bar on a page, as a multiple of its deadline. Longer ones are cut.
const SHARE_MAX: f64 = 2.0;

/// Colour of bars within their deadline.
pub(super) const HOLDS: RGBColor = RGBColor(30, 125, 200);
/// Colour of bars whose deadline is not proven to hold.
pub(super) const FAILS: RGBColor = RGBColor(213, 94, 0);

/// Number of characters from the beginning of a bar to the deadline.
const LETTERS: usize = 40;
/// Largest number of characters of a bar. Longer ones are cut.
const LETTERS_MAX: usize = 56;

/// Returns the callbacks and chains that have a deadline above zero.
fn judged(analyzed: &Analyzed) -> Vec<Row> {
    let all = rows::callbacks(analyzed).into_iter().chain(rows::chains(analyzed));
    all.filter(|row| row.deadline.is_some_and(|deadline| !deadline.is_zero())).collect()
}

/// Returns a plot as text: a line for each callback and chain with a deadline, with a bar for its bound and `|` at the
/// deadline. Each bar has its own scale, on which the deadline is [`LETTERS`] long. The text is empty if there are no
/// deadlines.
pub(super) fn text(analyzed: &Analyzed) -> String {
    let rows = judged(analyzed);
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let padding = " ".repeat(width - row.name.chars().count());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{padding}  {}", row.name, bar(row.share()));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the bar of a bound that is `share` times its deadline; `None` stands for no bound.
fn bar(share: Option<f64>) -> String {
    let Some(share) = share else {
        return format!("{}| no bound", " ".repeat(LETTERS));
    };
    let length = ((share * LETTERS as f64).round() as usize).min(LETTERS_MAX);
    let cell = |place: usize| match (place == LETTERS, place < length) {
        (true, _) => '|',
        (false, true) => '█',
        (false, false) => ' ',
    };
    let bar: String = (0..length.max(LETTERS + 1)).map(cell).collect();
    format!("{bar} {:.0} %", share * 100.0)
}

/// Returns a plot as SVG: a bar for the bound of each callback and chain with a deadline, in percent of that, a line at
/// the deadlines, and a dot for the longest time in a simulation. `None` if there are no deadlines.
pub(super) fn svg(analyzed: &Analyzed) -> Result<Option<String>, PlotError> {
    let rows = judged(analyzed);
    if rows.is_empty() {
        return Ok(None);
    }
    let height = (rows.len() as u32).saturating_mul(ROW_HEIGHT).saturating_add(AXIS_HEIGHT);
    let longest = rows.iter().filter_map(Row::share).fold(1.1, f64::max).min(SHARE_MAX);
    let drawn = draw("bounds and deadlines", (WIDTH, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_left(NAMES)
            .margin_right(30)
            .x_label_area_size(AXIS_HEIGHT)
            // The first row is at the top.
            .build_cartesian_2d(0.0..longest * 100.0, rows.len() as f64..0.0)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 13, &INK))
            .y_labels(0)
            .disable_y_mesh()
            .x_desc("bound, % of the deadline")
            .x_label_formatter(&|share| format!("{share:.0}"))
            .draw()?;
        for (number, row) in rows.iter().enumerate() {
            let top = number as f64;
            let colour = if row.holds { HOLDS } else { FAILS };
            let end = row.share().unwrap_or(longest).min(longest) * 100.0;
            let style = if row.bound.is_some() { colour.filled() } else { colour.stroke_width(1) };
            chart.draw_series([Rectangle::new([(0.0, top + 0.2), (end, top + 0.8)], style)])?;
            if let Some(seen) = row.share_seen() {
                let place = (seen.min(longest) * 100.0, top + 0.5);
                chart.draw_series([Circle::new(place, 4, INK.filled())])?;
            }
            let (_, y) = chart.as_coord_spec().translate(&(0.0, top + 0.5));
            let label = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Right, VPos::Center));
            let name: String = row.name.chars().take(NAME_LENGTH).collect();
            area.draw(&Text::new(name, (NAMES as i32 - 8, y), label))?;
        }
        let deadline = [(100.0, 0.0), (100.0, rows.len() as f64)];
        chart.draw_series(LineSeries::new(deadline, INK.stroke_width(2)))?;
        Ok(())
    })?;
    Ok(Some(drawn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_end_where_the_deadline_is() {
        assert_eq!(bar(Some(0.5)), format!("{}{}| 50 %", "█".repeat(20), " ".repeat(20)));
        assert_eq!(bar(Some(1.0)), format!("{}| 100 %", "█".repeat(40)));
        assert_eq!(bar(Some(1.1)), format!("{}|███ 110 %", "█".repeat(40)));
        assert_eq!(bar(Some(99.0)).chars().filter(|letter| *letter == '█').count(), LETTERS_MAX - 1);
        assert!(bar(None).ends_with("| no bound"));
    }
}
