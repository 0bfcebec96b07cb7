//! The plots of the report: the paper's Figure 7, one panel a topic.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use rospin_measure::stats::percentile;
use rospin_report::number;
use rospin_report::svg::{FONT, INK, PlotError, draw};

use super::comparison::Comparison;
use super::figures::{Bounds, deadline_ms, standings};
use super::topics::PERCENT;
use super::variant::Variant;

const WIDTH: u32 = 900;
const ROW_HEIGHT: u32 = 20;
const AXIS_HEIGHT: u32 = 44;
const MARGIN: u32 = 8;
const LABEL_WIDTH: u32 = 186;
const COUNT_WIDTH: u32 = 84;

/// Colour of a variant that keeps the deadline, and below it that of one that misses it. They can be told apart with
/// any colour vision, on light and on dark ground.
pub(crate) const KEPT: RGBColor = RGBColor(30, 125, 200);
pub(crate) const MISSED: RGBColor = RGBColor(213, 94, 0);

/// Data of a variant's row: percentiles of its latencies in milliseconds, over all of its runs.
struct Whiskers {
    variant: Variant,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    /// Number of messages that were late or never arrived.
    missed: u64,
    /// True if the 99th percentile kept the deadline in every run.
    is_good: bool,
}

/// Returns a plot of a topic's latencies under all variants, with the deadline, and the bound of the analysis with
/// overheads if there is one. The axis is logarithmic. Variants under which no message of the topic arrived are left
/// out.
pub(crate) fn topic(comparison: &Comparison, topic: usize) -> Result<String, PlotError> {
    let boxes = boxes(comparison, topic);
    let marks = [Some(deadline_ms(topic)), Bounds::of(comparison).real_ms[topic]];
    let range = range(&boxes, &marks);
    let ticks = ticks(&range);
    let rows = boxes.len().max(1) as u32;
    let height = rows * ROW_HEIGHT + AXIS_HEIGHT + 2 * MARGIN;
    draw("a topic's latency", (WIDTH, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_left(LABEL_WIDTH)
            .margin_right(COUNT_WIDTH)
            .x_label_area_size(AXIS_HEIGHT)
            // The first row is at the top.
            .build_cartesian_2d(range.log_scale().with_key_points(ticks.clone()), f64::from(rows)..0.0)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 13, &INK))
            .x_labels(ticks.len())
            .y_labels(0)
            .disable_y_mesh()
            .x_desc("latency, ms (logarithmic)")
            .x_label_formatter(&|ms| number::plain(*ms))
            .draw()?;
        let bottom = f64::from(rows);
        if let Some(ms) = marks[1] {
            chart.draw_series(DashedLineSeries::new([(ms, 0.0), (ms, bottom)], 5, 4, INK.mix(0.8).stroke_width(1)))?;
        }
        let deadline = deadline_ms(topic);
        chart.draw_series(LineSeries::new([(deadline, 0.0), (deadline, bottom)], MISSED.stroke_width(2)))?;
        for (number, own) in boxes.iter().enumerate() {
            let middle = number as f64 + 0.5;
            let ink = if own.is_good { KEPT } else { MISSED };
            let line = |from, to, width| PathElement::new(vec![from, to], ink.stroke_width(width));
            let body = [(own.p50_ms, middle - 0.28), (own.p99_ms, middle + 0.28)];
            chart.draw_series([line((own.p99_ms, middle), (own.max_ms, middle), 1)])?;
            chart.draw_series([Rectangle::new(body, ink.mix(0.45).filled())])?;
            chart.draw_series([
                line((own.p99_ms, middle - 0.4), (own.p99_ms, middle + 0.4), 3),
                line((own.max_ms, middle - 0.2), (own.max_ms, middle + 0.2), 1),
            ])?;
            let (_, y) = chart.as_coord_spec().translate(&(deadline, middle));
            let style = |side| (FONT, 13).into_font().color(&INK).pos(Pos::new(side, VPos::Center));
            area.draw(&Text::new(own.variant.name(), (LABEL_WIDTH as i32 - 6, y), style(HPos::Right)))?;
            if own.missed > 0 {
                let place = ((WIDTH - COUNT_WIDTH) as i32 + 6, y);
                area.draw(&Text::new(format!("x {} missed", own.missed), place, style(HPos::Left)))?;
            }
        }
        Ok(())
    })
}

/// Returns the rows of a topic's plot, in the order of the variants' first runs.
fn boxes(comparison: &Comparison, topic: usize) -> Vec<Whiskers> {
    let of = |variant: Variant, is_good| {
        let results = comparison.results.iter().filter(|result| result.variant == variant);
        let latencies = results.clone().flat_map(|result| &result.subscribed.latencies_ns[topic]);
        let latencies_ms: Vec<f64> = latencies.map(|ns| *ns as f64 / 1e6).collect();
        let sent: u64 = results.map(|result| result.published.sent[topic]).sum();
        let in_time = latencies_ms.iter().filter(|ms| **ms <= deadline_ms(topic)).count() as u64;
        let at = |percent| percentile(&latencies_ms, percent);
        let (p50_ms, p99_ms, max_ms) = (at(50.0)?, at(PERCENT)?, at(100.0)?);
        Some(Whiskers { variant, p50_ms, p99_ms, max_ms, missed: sent.saturating_sub(in_time), is_good })
    };
    let standings = standings(comparison);
    standings.iter().filter_map(|standing| of(standing.variant, !standing.missing.contains(&topic))).collect()
}

/// Returns the range of the axis: all values that are drawn, with a little room on both sides.
fn range(boxes: &[Whiskers], marks: &[Option<f64>]) -> Range<f64> {
    let values = boxes.iter().flat_map(|own| [own.p50_ms, own.max_ms]).chain(marks.iter().flatten().copied());
    let (min, max) = values.fold((f64::INFINITY, 0.0_f64), |(min, max), ms| (min.min(ms), max.max(ms)));
    (min * 0.8)..(max * 1.2)
}

/// Returns the round numbers in the range, for a logarithmic axis.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let decades = (-3..6).map(|exponent| 10_f64.powi(exponent));
    decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * decade)).filter(|tick| range.contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use rospin_report::svg::INK_HEX;

    #[test]
    fn every_variant_is_drawn_and_missed_deadlines_are_counted() {
        let comparison = testing::comparison();
        let svg = topic(&comparison, 0).unwrap();
        for name in ["tokio", "futures-rt", "rospin-rt"] {
            assert!(svg.contains(&format!("\n{name}\n")), "{name}: {svg}");
        }
        assert!(svg.contains("x 1000 missed"));
        assert!(svg.contains("currentColor") && !svg.contains(INK_HEX));
        assert!(!topic(&comparison, 4).unwrap().contains("missed"));
    }

    #[test]
    fn runs_without_samples_can_be_drawn() {
        let mut comparison = testing::comparison();
        comparison.results.truncate(1);
        comparison.results[0].subscribed.latencies_ns = Default::default();
        topic(&comparison, 2).unwrap();
    }
}
