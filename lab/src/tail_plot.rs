//! Plots of the tail: the share of starts that were at least as late as a time, with a curve for each contender, both
//! axes logarithmic.

use plotters::prelude::*;
use rospin_report::number;
use rospin_report::svg::{FONT, INK, PlotError, draw};

/// Earliest time on the time axis of a plot, in microseconds: reading the clock itself takes that long.
const SHORTEST_US: f64 = 0.1;
/// Number of points of a curve. Two points in one pixel would show nothing more.
const POINTS: usize = 400;

/// Returns an SVG with a curve for each pair in `curves`: a colour, and how late each start was after its due time,
/// ascending, in microseconds. `plot` is the plot's name in an error, and `size` its width and height in pixels.
///
/// The time axis reaches over the starts in `all`: those of all plots that are compared with this one.
pub(crate) fn tails<'a>(
    plot: &'static str,
    size: (u32, u32),
    all: impl Iterator<Item = &'a [f64]> + Clone,
    curves: &[(RGBColor, &[f64])],
) -> Result<String, PlotError> {
    let latest = all.clone().filter_map(<[f64]>::last).copied().fold(10.0, f64::max) * 1.2;
    let earliest = all.filter_map(<[f64]>::first).copied().fold(latest, f64::min);
    let earliest = (earliest * 0.8).max(SHORTEST_US).min(latest / 10.0);
    let most = curves.iter().map(|(_, late_us)| late_us.len()).max().unwrap_or(1).max(10);
    let least = 100.0 / most as f64;
    draw(plot, size, |area| {
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
        for (colour, late_us) in curves {
            chart.draw_series(LineSeries::new(curve(late_us, earliest), colour.stroke_width(3)))?;
        }
        Ok(())
    })
}

/// Returns the points of a curve: a lateness in microseconds, and the percentage of starts that were at least as late.
/// A lateness below `earliest` is drawn there. The points are close together where starts are latest.
fn curve(late_us: &[f64], earliest: f64) -> Vec<(f64, f64)> {
    let count = late_us.len();
    let mut ranks: Vec<usize> = (0..=POINTS).map(|point| count_left(count, point)).collect();
    ranks.dedup();
    let later = |left: usize| (late_us[count - left].max(earliest), 100.0 * left as f64 / count as f64);
    ranks.into_iter().filter(|left| *left > 0).map(later).collect()
}

/// Returns how many of `count` starts a curve still has at and after its point of this number: all at point 0, down to
/// one at point [`POINTS`], in equal steps of the logarithm.
fn count_left(count: usize, point: usize) -> usize {
    let share = 1.0 - point as f64 / POINTS as f64;
    ((count as f64).powf(share).round() as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_goes_from_all_to_the_last_one() {
        let late_us: Vec<f64> = (1..=1000).map(|n| f64::from(n) / 100.0).collect();
        let curve = curve(&late_us, 0.1);
        assert_eq!((curve[0].1, curve.last().unwrap().0), (100.0, 10.0));
        assert!(curve.is_sorted_by(|one, next| one.0 <= next.0 && one.1 > next.1));
    }
}
