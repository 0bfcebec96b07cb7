//! The plot of the report.

use plotters::prelude::*;

use crate::number;
use crate::svg::{FONT, INK, PlotError, draw};

use super::Comparison;
use super::figures::Row;
use super::interference::Case;

const SIZE: (u32, u32) = (900, 340);
/// No plot goes below it: the clock itself takes that long to read.
const SHORTEST_US: f64 = 0.1;
/// Points of a curve; more than one a pixel shows nothing.
const POINTS: usize = 400;

/// Told apart with any colour vision, and on light and dark ground.
pub(crate) const fn colour(case: Case) -> RGBColor {
    match case {
        Case::Nothing => RGBColor(128, 128, 128),
        Case::Publish => RGBColor(30, 125, 200),
        Case::Reset => RGBColor(0, 158, 115),
        Case::Entities => RGBColor(190, 100, 160),
        Case::Service => RGBColor(200, 150, 0),
        Case::All => RGBColor(90, 70, 190),
        Case::StdMutex => RGBColor(213, 94, 0),
    }
}

/// Which share of the timer's callbacks started, or got their lock, later than so much; both axes logarithmic.
pub(crate) fn waits(comparison: &Comparison) -> Result<String, PlotError> {
    let rows = || comparison.rows.iter();
    let latest = rows().filter_map(|row| row.timer_us.last().copied()).fold(10.0, f64::max) * 1.2;
    let earliest = rows().filter_map(|row| row.timer_us.first().copied()).fold(latest, f64::min);
    let earliest = (earliest * 0.8).max(SHORTEST_US).min(latest / 10.0);
    let most = rows().map(|row| row.timer_us.len()).max().unwrap_or(1).max(10);
    let least = 100.0 / most as f64;
    draw("the waits", SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d((earliest..latest).log_scale(), (least..100.0).log_scale())?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_desc("start after due time, us (logarithmic)")
            .y_desc("later than that, %")
            .x_label_formatter(&|us| number::plain(*us))
            .y_label_formatter(&|percent| number::plain(*percent))
            .draw()?;
        for row in rows() {
            chart.draw_series(LineSeries::new(curve(row, earliest), colour(row.case).stroke_width(3)))?;
        }
        Ok(())
    })
}

/// Waits and the percentage that is at least as long, at ranks that are close where the tail is.
fn curve(row: &Row, earliest: f64) -> Vec<(f64, f64)> {
    let count = row.timer_us.len();
    let left = |point| ((count as f64).powf(1.0 - f64::from(point) / POINTS as f64).round() as usize).min(count);
    let mut ranks: Vec<usize> = (0..=POINTS as u32).map(left).filter(|left| *left > 0).collect();
    ranks.dedup();
    let later = |left: usize| (row.timer_us[count - left].max(earliest), 100.0 * left as f64 / count as f64);
    ranks.into_iter().map(later).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_case_is_drawn_in_its_own_colour() {
        let svg = waits(&testing::comparison()).unwrap();
        for case in Case::ALL {
            let RGBColor(r, g, b) = colour(case);
            assert!(svg.contains(&format!("#{r:02X}{g:02X}{b:02X}")), "{}", case.name());
        }
    }

    #[test]
    fn rows_without_a_start_can_be_drawn() {
        let mut comparison = testing::comparison();
        comparison.rows.iter_mut().for_each(|row| row.timer_us.clear());
        waits(&comparison).unwrap();
    }
}
