//! The plots of the report: histograms as in Figure 10 of the paper, and the drive.

use plotters::prelude::*;
use rospin_report::number;
use rospin_report::svg::{FONT, INK, PlotError, draw};

use super::measured::Row;
use super::road::{LANE_WIDTH, Road};

const SIZE: (u32, u32) = (760, 260);
/// Size of the picture of the drive in pixels.
const MAP: (u32, u32) = (760, 420);
/// Factor by which distances from the lane's middle are magnified in the picture of the drive. Without it, the lane is
/// a pixel wide.
pub(crate) const MAGNIFIED: f64 = 10.0;
/// Number of bars of a histogram.
const BARS: usize = 60;
/// Colours of series. They can be told apart with any colour vision, on light and on dark ground.
pub(crate) const COLOURS: [RGBColor; 4] =
    [RGBColor(30, 125, 200), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(160, 90, 170)];

/// Values of one series of a histogram, with its name.
pub(crate) type Series = (String, Vec<f64>);

/// Draws a histogram of times in microseconds. The number axis is logarithmic, as in the paper.
pub(crate) fn histogram(series: &[Series]) -> Result<String, PlotError> {
    let longest = series.iter().flat_map(|(_, us)| us).copied().fold(10.0, f64::max) * 1.05;
    let counts: Vec<Vec<usize>> = series.iter().map(|(_, us)| counts(us, longest)).collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(1).max(10) as f64 * 1.5;
    let width = longest / BARS as f64;
    draw("a histogram", SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..longest, (0.5..most).log_scale())?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_desc("us")
            .y_desc("number (logarithmic)")
            .x_label_formatter(&|us| number::plain(*us))
            .y_label_formatter(&|count| number::plain(*count))
            .draw()?;
        for ((counts, colour), place) in counts.iter().zip(COLOURS).zip(0..) {
            let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bar, count)| {
                let left = bar as f64 * width;
                Rectangle::new([(left, 0.5), (left + width, *count as f64)], colour.mix(0.6).filled())
            });
            chart.draw_series(bars)?;
            let label = (FONT, 14).into_font().color(&colour);
            let at = (longest * 0.55, most / 1.8_f64.powi(place + 1));
            chart.draw_series(std::iter::once(Text::new(series[place as usize].0.clone(), at, label)))?;
        }
        Ok(())
    })
}

/// Returns how many of the times fall into each bar.
fn counts(us: &[f64], longest: f64) -> Vec<usize> {
    let mut counts = vec![0; BARS];
    for us in us {
        counts[((us / longest * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    counts
}

/// Draws how far the car was from the lane's middle, over the time of each drive.
pub(crate) fn offsets(rows: &[&Row]) -> Result<String, PlotError> {
    let places = || rows.iter().flat_map(|row| &row.answer.path);
    let end = places().map(|place| place.time_s).fold(1.0, f64::max);
    let widest = places().map(|place| place.offset_m.abs() * 100.0).fold(5.0, f64::max) * 1.1;
    draw("the car's distance from the middle", SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, -widest..widest)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_desc("s")
            .y_desc("left of the middle, cm")
            .draw()?;
        for (row, colour) in rows.iter().zip(COLOURS) {
            let path = row.answer.path.iter().map(|place| (place.time_s, place.offset_m * 100.0));
            chart.draw_series(LineSeries::new(path, colour.stroke_width(2)))?;
        }
        Ok(())
    })
}

/// Draws the road from above, and where the cars drove on it. Distances from the lane's middle are drawn [`MAGNIFIED`]
/// times as large.
pub(crate) fn drives(rows: &[&Row]) -> Result<String, PlotError> {
    let road = Road::motorway();
    let end = rows.iter().flat_map(|row| &row.answer.path).map(|place| place.travelled_m).fold(50.0, f64::max);
    let along = |left: f64| -> Vec<(f64, f64)> {
        (0..=end as usize).step_by(2).map(|distance| road.pose(distance as f64).point_out_of(0.0, left)).collect()
    };
    let lines = [LANE_WIDTH / 2.0, -LANE_WIDTH / 2.0].map(|left| along(left * MAGNIFIED));
    let [across, up] = extent(&lines.concat());
    draw("the drive from above", MAP, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(across.0..across.1, up.0..up.1)?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_desc("m")
            .y_desc("m")
            .draw()?;
        for line in lines {
            chart.draw_series(LineSeries::new(line, INK.mix(0.5).stroke_width(1)))?;
        }
        for (row, colour) in rows.iter().zip(COLOURS) {
            let places = row.answer.path.iter();
            let points = places.map(|place| road.pose(place.travelled_m).point_out_of(0.0, place.offset_m * MAGNIFIED));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(1)))?;
        }
        Ok(())
    })
}

/// Returns the ranges of both axes that have all points, with as many metres to a pixel in both directions.
fn extent(points: &[(f64, f64)]) -> [(f64, f64); 2] {
    let range = |values: &dyn Fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(values).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(values).fold(f64::NEG_INFINITY, f64::max);
        ((low + high) / 2.0, (high - low).max(1.0))
    };
    let ((x, width), (y, height)) = (range(&|point| point.0), range(&|point| point.1));
    let metres = (width / f64::from(MAP.0 - 88)).max(height / f64::from(MAP.1 - 70)) * 1.05;
    let axis = |middle: f64, pixels: u32| {
        let half = metres * f64::from(pixels) / 2.0;
        (middle - half, middle + half)
    };
    [axis(x, MAP.0 - 88), axis(y, MAP.1 - 70)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_one_bar() {
        let us: Vec<f64> = (0..1000).map(f64::from).collect();
        let counts = counts(&us, 999.0);
        assert_eq!(counts.iter().sum::<usize>(), 1000);
        assert!(counts.iter().all(|count| (15..=19).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_metre_is_as_long_in_both_directions() {
        let [across, up] = extent(&[(0.0, 0.0), (1000.0, 100.0)]);
        let metres = |(low, high): (f64, f64), pixels: u32| (high - low) / f64::from(pixels);
        assert!((metres(across, MAP.0 - 88) - metres(up, MAP.1 - 70)).abs() < 1e-9);
        assert!(across.0 < 0.0 && across.1 > 1000.0 && up.0 < 0.0 && up.1 > 100.0);
    }

    #[test]
    fn a_histogram_without_times_is_drawn_too() {
        assert!(histogram(&[("none".to_owned(), Vec::new())]).unwrap().contains("</svg>"));
    }
}
