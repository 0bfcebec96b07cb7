//! A timeline as an SVG plot.

use std::fmt::{self, Write};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use rospin_core::EntityKind;

use crate::number;
use crate::svg::{Drawn, FONT, INK, PlotError, draw};

use super::{Bar, Timeline, TimelineRow, unit};

const WIDTH: u32 = 900;
const ROW_HEIGHT: u32 = 24;
const AXIS_HEIGHT: u32 = 26;
const MARGIN: u32 = 6;
/// Largest width of a letter, in pixels.
const LETTER: u32 = 8;

/// Kinds of rows, with their colours, which differ for any colour vision, on light and dark ground.
const KINDS: [(&str, RGBColor); 4] = [
    ("timer", RGBColor(213, 94, 0)),
    ("subscription", RGBColor(30, 125, 200)),
    ("service or client", RGBColor(0, 158, 115)),
    ("thread", RGBColor(110, 120, 140)),
];

/// Returns the number of the row's kind in [`KINDS`].
fn kind(row: &TimelineRow) -> usize {
    match row.kind {
        Some(EntityKind::Timer) => 0,
        Some(EntityKind::Subscription) => 1,
        Some(_) => 2,
        None => 3,
    }
}

/// Appends HTML to `page` that explains the colours of the bars in these timelines' plots, and the lines of waiting
/// times.
pub fn legend(page: &mut String, timelines: &[Timeline]) -> fmt::Result {
    writeln!(page, "<ul class=\"legend\">")?;
    let is_there = |number: usize| timelines.iter().flat_map(|timeline| &timeline.rows).any(|row| kind(row) == number);
    for (_, (name, RGBColor(r, g, b))) in KINDS.iter().enumerate().filter(|(number, _)| is_there(*number)) {
        writeln!(page, "<li><span class=\"chip\" style=\"background:rgb({r},{g},{b})\"></span>{name}</li>")?;
    }
    writeln!(page, "<li>| release, with a thin line while it waits</li>\n</ul>")
}

/// Returns the plot of the whole timeline, as SVG.
pub fn plot(timeline: &Timeline) -> Result<String, PlotError> {
    let rows = u32::try_from(timeline.rows.len()).unwrap_or(u32::MAX).max(1);
    let height = rows.saturating_mul(ROW_HEIGHT).saturating_add(AXIS_HEIGHT + 2 * MARGIN);
    let longest = timeline.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let label_width = LETTER * u32::try_from(longest).unwrap_or(0).clamp(3, 20) + 12;
    let (unit, ns) = unit(timeline.end_ns);
    // The plotting library cannot place marks on an axis of length zero.
    let end = (timeline.end_ns as f64 / ns).max(1.0);
    draw("the timeline", (WIDTH, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_left(label_width)
            .margin_right(40)
            .x_label_area_size(AXIS_HEIGHT)
            // The first row is at the top.
            .build_cartesian_2d(0.0..end, f64::from(rows)..0.0)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 13, &INK))
            .x_labels(10)
            .y_labels(0)
            .disable_y_mesh()
            .x_label_formatter(&|at| format!("{} {unit}", number::plain(*at)))
            .draw()?;
        for (number, row) in timeline.rows.iter().enumerate() {
            let middle = number as f64 + 0.5;
            let (_, y) = chart.as_coord_spec().translate(&(0.0, middle));
            let place = (i32::try_from(label_width).unwrap_or(0) - 6, y);
            let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Right, VPos::Center));
            let label: String = row.label.chars().take(20).collect();
            area.draw(&Text::new(label, place, style))?;
            for bar in &row.bars {
                wait(&chart, bar, middle, ns)?;
            }
            for bar in &row.bars {
                run(&chart, row, bar, middle, ns, end)?;
            }
            for (number, bar) in row.bars.iter().enumerate() {
                // An asynchronous callback that waits lets others run. Their bars are drawn over its own.
                let next_ns = row.bars.get(number + 1).map_or(u64::MAX, |next| next.activation.start_ns);
                name(&chart, bar, middle, next_ns as f64 / ns, ns, end)?;
            }
        }
        Ok(())
    })
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Draws the waiting time of a callback's activation. Draws nothing for a bar with a name, which is in the row of a
/// thread. The row's middle is at `middle` on the vertical axis, and `ns` is the number of nanoseconds in the unit of
/// the horizontal one.
fn wait<'b>(chart: &Chart<'_, 'b>, bar: &Bar, middle: f64, ns: f64) -> Drawn<'b> {
    let activation = &bar.activation;
    if bar.name.is_some() {
        return Ok(());
    }
    let release = activation.release_ns as f64 / ns;
    let start = activation.start_ns as f64 / ns;
    let line = |from, to| PathElement::new(vec![from, to], INK.mix(0.7).stroke_width(1));
    let area = chart.plotting_area();
    area.draw(&line((release, middle - 0.45), (release, middle + 0.45)))?;
    area.draw(&line((release, middle), (start, middle)))
}

/// Draws the run of an activation, as far as it is before `end`, which is the end of the axis in its unit. `middle` and
/// `ns` are those of [`wait`].
fn run<'b>(chart: &Chart<'_, 'b>, row: &TimelineRow, bar: &Bar, middle: f64, ns: f64, end: f64) -> Drawn<'b> {
    let activation = &bar.activation;
    let from = activation.start_ns as f64 / ns;
    let to = (activation.end_ns as f64 / ns).min(end);
    let corners = [(from, middle - 0.35), (to, middle + 0.35)];
    let area = chart.plotting_area();
    area.draw(&Rectangle::new(corners, KINDS[kind(row)].1.filled()))?;
    // A line at the start keeps two consecutive runs apart, and makes a run of length zero visible.
    area.draw(&PathElement::new(vec![(from, middle - 0.35), (from, middle + 0.35)], INK.stroke_width(1)))
}

/// Writes the bar's name on it, if there is room up to the next bar, which begins at `next` in the axis's unit.
/// `middle`, `ns` and `end` are those of [`run`].
fn name<'b>(chart: &Chart<'_, 'b>, bar: &Bar, middle: f64, next: f64, ns: f64, end: f64) -> Drawn<'b> {
    let activation = &bar.activation;
    let from = activation.start_ns as f64 / ns;
    let to = (activation.end_ns as f64 / ns).min(end).min(next);
    let area = chart.plotting_area();
    let pixels = area.map_coordinate(&(to, middle)).0 - area.map_coordinate(&(from, middle)).0;
    if let Some(name) = &bar.name
        && i64::from(pixels) >= i64::from(LETTER) * name.chars().count() as i64 + 4
    {
        let style = (FONT, 12).into_font().color(&WHITE).pos(Pos::new(HPos::Center, VPos::Center));
        area.draw(&Text::new(name.clone(), (f64::midpoint(from, to), middle), style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Activation;
    use super::*;

    #[test]
    fn rows_are_drawn_in_their_colours_and_the_rest_in_the_page_s() {
        let activation = Activation { callback: 0, thread: None, release_ns: 0, start_ns: 5, end_ns: 900 };
        let bars = vec![Bar { activation, name: None }];
        let named = vec![Bar { activation, name: Some("H".into()) }];
        let rows = vec![
            TimelineRow { label: "T<0".into(), kind: Some(EntityKind::Timer), bars },
            TimelineRow { label: "main/0".into(), kind: None, bars: named },
        ];
        let svg = plot(&Timeline { end_ns: 1000, rows }).unwrap();
        assert!(svg.contains("#D55E00") && svg.contains("currentColor") && svg.contains("main/0"), "{svg}");
        assert!(!svg.contains("T<0"), "not escaped: {svg}");
    }

    #[test]
    fn nothing_can_be_drawn() {
        plot(&Timeline { end_ns: 0, rows: Vec::new() }).unwrap();
    }

    #[test]
    fn legend_has_what_is_there() {
        let row = TimelineRow { label: "T".into(), kind: Some(EntityKind::Timer), bars: Vec::new() };
        let mut page = String::new();
        legend(&mut page, &[Timeline { end_ns: 1, rows: vec![row] }]).unwrap();
        assert!(page.contains("timer") && !page.contains("thread") && page.contains("release"), "{page}");
    }

    #[test]
    fn names_stop_at_the_next_bar() {
        let bar = |start_ns, end_ns, name: &str| Bar {
            activation: Activation { callback: 0, thread: None, release_ns: start_ns, start_ns, end_ns },
            name: Some(name.into()),
        };
        let row =
            |bars| Timeline { end_ns: 1000, rows: vec![TimelineRow { label: "main/0".into(), kind: None, bars }] };
        let svg = plot(&row(vec![bar(0, 900, "covered"), bar(10, 500, "over")])).unwrap();
        assert!(!svg.contains("covered") && svg.contains("over"), "{svg}");
    }
}
