//! The plots of the report.

use plotters::prelude::*;

use crate::number;
use crate::svg::{FONT, INK, PlotError, draw};

use super::Comparison;
use super::contender::Load;
use super::figures::Row;

const SIZE: (u32, u32) = (900, 300);
/// No plot goes below it: the clock itself takes that long to read.
const SHORTEST_US: f64 = 0.1;
/// Points of a curve; more than one a pixel shows nothing.
const POINTS: usize = 400;

/// Which share of the starts was later than so much, one curve a contender, both axes logarithmic: the tail is what counts.
pub(crate) fn lateness(comparison: &Comparison, load: Load, rate_hz: u32) -> Result<String, PlotError> {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| (row.load, row.rate_hz) == (load, rate_hz)).collect();
    // All plots share the axis, so that they can be compared.
    let latest = comparison.rows.iter().filter_map(|row| row.late_us.last().copied()).fold(10.0, f64::max) * 1.2;
    let earliest = comparison.rows.iter().filter_map(|row| row.late_us.first().copied()).fold(latest, f64::min);
    let earliest = (earliest * 0.8).max(SHORTEST_US).min(latest / 10.0);
    let most = rows.iter().map(|row| row.late_us.len()).max().unwrap_or(1).max(10);
    let least = 100.0 / most as f64;
    draw("the lateness", SIZE, |area| {
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
        for row in &rows {
            let style = row.contender.colour().stroke_width(3);
            chart.draw_series(LineSeries::new(curve(row, earliest), style))?;
        }
        Ok(())
    })
}

/// Lateness and the percentage that is at least as late, at ranks that are close where the tail is.
fn curve(row: &Row, earliest: f64) -> Vec<(f64, f64)> {
    let count = row.late_us.len();
    let mut ranks: Vec<usize> = (0..=POINTS).map(|point| count_left(count, point)).collect();
    ranks.dedup();
    let later = |left: usize| (row.late_us[count - left].max(earliest), 100.0 * left as f64 / count as f64);
    ranks.into_iter().filter(|left| *left > 0).map(later).collect()
}

/// From all of them down to one, in equal steps of the logarithm.
fn count_left(count: usize, point: usize) -> usize {
    let share = 1.0 - point as f64 / POINTS as f64;
    ((count as f64).powf(share).round() as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::super::contender::Contender;
    use super::super::testing;
    use super::*;

    #[test]
    fn every_contender_is_drawn_in_its_own_colour() {
        let svg = lateness(&testing::comparison(), Load::Idle, 1000).unwrap();
        for contender in Contender::ALL {
            let RGBColor(r, g, b) = contender.colour();
            assert!(svg.contains(&format!("#{r:02X}{g:02X}{b:02X}")), "{}", contender.name());
        }
        assert!(svg.contains("currentColor"));
    }

    #[test]
    fn the_curve_goes_from_all_to_the_last_one() {
        let comparison = testing::comparison();
        let row = comparison.row(Contender::Floor, Load::Idle, 1000).unwrap();
        let curve = curve(row, 0.1);
        assert_eq!((curve[0].1, curve.last().unwrap().0), (100.0, 10.0));
        assert!(curve.is_sorted_by(|one, next| one.0 <= next.0 && one.1 > next.1));
    }

    #[test]
    fn rows_without_a_start_can_be_drawn() {
        let mut comparison = testing::comparison();
        for row in &mut comparison.rows {
            row.late_us.clear();
        }
        lateness(&comparison, Load::Busy, 100).unwrap();
    }
}
