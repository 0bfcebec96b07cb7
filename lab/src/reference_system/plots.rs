//! The plots of the report.

use std::ops::Range;

use plotters::prelude::*;
use rospin_report::number;
use rospin_report::svg::{FONT, INK, PlotError, draw};

use super::comparison::Comparison;
use super::graph::PLANNER_PERIOD_MS;
use super::kpi::WARM_UP;
use super::runner::{RunResult, Variant};

const LATENCY_SIZE: (u32, u32) = (900, 380);
const PLANNER_SIZE: (u32, u32) = (900, 130);

/// Returns the colour of an executor. The colours can be told apart with any colour vision, on light and on dark
/// ground.
pub(crate) fn colour(variant: Variant) -> RGBColor {
    match variant {
        Variant::WaitSetSingle => RGBColor(213, 94, 0),
        Variant::WaitSetMulti => RGBColor(214, 146, 18),
        Variant::FifoSingle => RGBColor(190, 100, 160),
        Variant::PrioritySingle => RGBColor(30, 125, 200),
        Variant::PriorityMulti => RGBColor(0, 158, 115),
        Variant::PriorityPartitioned => RGBColor(86, 180, 233),
        Variant::PriorityShared => RGBColor(120, 94, 200),
        Variant::PriorityReentrant => RGBColor(120, 120, 120),
    }
}

/// Returns a plot of the cumulative distribution of the hot path latency: a curve for each executor, on a logarithmic
/// axis.
pub(crate) fn latency(comparison: &Comparison) -> Result<String, PlotError> {
    let shortest_ms = comparison.settings.shortest_hot_path_ms();
    let values = comparison.results.iter().flat_map(|r| r.kpis.hot_path_latency_ms.iter());
    let max_ms = values.copied().fold(shortest_ms * 2.0, f64::max) * 1.1;
    // No latency is below the shortest path, so the axis starts a little below that.
    let range = (shortest_ms * 0.8)..max_ms;
    let ticks = ticks(&range);
    draw("the hot path latency", LATENCY_SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(58)
            .build_cartesian_2d(range.log_scale().with_key_points(ticks.clone()), 0.0..100.0)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_labels(ticks.len())
            .x_desc("hot path latency, ms (logarithmic)")
            .y_desc("samples, %")
            .x_label_formatter(&|ms| number::plain(*ms))
            .y_label_formatter(&|percent| format!("{percent:.0}"))
            .draw()?;
        chart.draw_series(DashedLineSeries::new(
            [(shortest_ms, 0.0), (shortest_ms, 100.0)],
            5,
            4,
            INK.mix(0.7).stroke_width(1),
        ))?;
        for result in &comparison.results {
            let style = colour(result.variant).stroke_width(3);
            chart.draw_series(LineSeries::new(steps(result, max_ms), style))?;
        }
        Ok(())
    })
}

/// Returns a plot of one executor's planner periods over time. All plots of a comparison have the same axes.
pub(crate) fn planner(comparison: &Comparison, result: &RunResult) -> Result<String, PlotError> {
    let all = comparison.results.iter().flat_map(|r| r.kpis.planner_periods.iter());
    let aim_ms = PLANNER_PERIOD_MS as f64;
    let off_ms = all.map(|p| (p.period_ms - aim_ms).abs()).fold(2.0, f64::max) * 1.1;
    let end_s = comparison.settings.duration.as_secs_f64();
    draw("the planner period", PLANNER_SIZE, |area| {
        let mut chart =
            ChartBuilder::on(area)
                .margin(6)
                .margin_right(12)
                .x_label_area_size(24)
                .y_label_area_size(58)
                .build_cartesian_2d(WARM_UP.as_secs_f64()..end_s, (aim_ms - off_ms).max(0.0)..(aim_ms + off_ms))?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 13, &INK))
            .y_labels(5)
            .x_label_formatter(&|s| format!("{s:.0} s"))
            .y_label_formatter(&|ms| format!("{ms:.0} ms"))
            .draw()?;
        let points = result.kpis.planner_periods.iter().map(|p| (p.at_s, p.period_ms));
        let ink = colour(result.variant);
        chart.draw_series(LineSeries::new(points.clone(), ink.mix(0.6).stroke_width(1)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 2, ink.filled())))?;
        Ok(())
    })
}

/// Returns round numbers in the range for a logarithmic axis. They are close enough to read values by, and do not touch
/// each other.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let decades = (-3..5).map(|exponent| 10_f64.powi(exponent));
    let round = decades.flat_map(|decade| [1.0, 1.5, 2.0, 3.0, 5.0, 7.0].map(|digit| digit * decade));
    round.filter(|tick| range.contains(tick)).collect()
}

/// Returns the corners of an empirical distribution function, which goes on to the end of the axis.
fn steps(result: &RunResult, max_ms: f64) -> Vec<(f64, f64)> {
    let mut sorted = result.kpis.hot_path_latency_ms.clone();
    sorted.sort_by(f64::total_cmp);
    let share = |count: usize| 100.0 * count as f64 / sorted.len() as f64;
    let corners = sorted.iter().enumerate();
    let mut steps: Vec<_> = corners.flat_map(|(i, ms)| [(*ms, share(i)), (*ms, share(i + 1))]).collect();
    if !steps.is_empty() {
        steps.push((max_ms, 100.0));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::super::kpi::Kpis;
    use super::super::testing;
    use super::*;
    use rospin_report::svg::INK_HEX;

    fn hex(variant: Variant) -> String {
        let RGBColor(r, g, b) = colour(variant);
        format!("#{r:02X}{g:02X}{b:02X}")
    }

    #[test]
    fn every_executor_is_drawn_in_its_own_colour_and_the_rest_in_the_page_s() {
        let svg = latency(&testing::comparison()).unwrap();
        for variant in Variant::ALL {
            assert!(svg.contains(&hex(variant)), "{}", variant.name());
        }
        assert!(svg.contains("currentColor") && !svg.contains(INK_HEX));
    }

    #[test]
    fn distribution_is_a_staircase_to_the_end() {
        let mut result = testing::result(Variant::FifoSingle);
        result.kpis.hot_path_latency_ms = vec![30.0, 20.0];
        let corners = [(20.0, 0.0), (20.0, 50.0), (30.0, 50.0), (30.0, 100.0), (99.0, 100.0)];
        assert_eq!(steps(&result, 99.0), corners);
    }

    #[test]
    fn planner_plots_share_their_axes() {
        let comparison = testing::comparison();
        let labels = |variant| {
            let svg = planner(&comparison, &testing::result(variant)).unwrap();
            svg.lines().filter(|line| line.ends_with(" ms")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(!labels(Variant::FifoSingle).is_empty());
        assert_eq!(labels(Variant::FifoSingle), labels(Variant::PriorityMulti));
    }

    #[test]
    fn runs_without_samples_can_be_drawn() {
        let mut comparison = testing::comparison();
        for result in &mut comparison.results {
            result.kpis = Kpis::default();
        }
        latency(&comparison).unwrap();
        planner(&comparison, &comparison.results[0]).unwrap();
    }
}
