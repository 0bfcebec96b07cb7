//! Latency by size, one curve for each middleware and contender.

use plotters::prelude::*;
use rospin_report::number;
use rospin_report::svg::{FONT, INK, PlotError, draw};

use crate::middleware::Middleware;

use super::cell::{Cell, Contender, Place};
use super::comparison::Comparison;

/// Size of a plot in pixels.
const SIZE: (u32, u32) = (760, 320);

/// Returns the places that have figures, in the order of the table.
pub(crate) fn places(comparison: &Comparison) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for row in comparison.rows.iter().filter(|row| row.figures.is_some()) {
        if !places.contains(&row.cell.place) {
            places.push(row.cell.place);
        }
    }
    places
}

/// Draws the 99th percentile of the latency over the size of messages, at one place. Both axes are logarithmic. The
/// bare middleware's curves are thin.
///
/// # Errors
/// If the plot cannot be drawn.
pub(crate) fn latency(comparison: &Comparison, place: Place) -> Result<String, PlotError> {
    let of_place = || comparison.rows.iter().filter(move |row| row.cell.place == place);
    let points = |middleware: Middleware, contender: Contender| -> Vec<(f64, f64)> {
        let is_of = move |cell: Cell| (cell.middleware, cell.contender) == (middleware, contender);
        let rows = of_place().filter(|row| is_of(row.cell));
        rows.filter_map(|row| Some((row.cell.size.0.max(16) as f64, row.figures?.p99_us.max(0.1)))).collect()
    };
    let all: Vec<(f64, f64)> =
        of_place().filter_map(|row| Some((row.cell.size.0.max(16) as f64, row.figures?.p99_us.max(0.1)))).collect();
    let most = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(20.0, f64::max) * 1.5;
    let least = all.iter().map(|point| point.1).fold(10.0, f64::min) / 1.5;
    draw("latency", SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d((10.0..most(|p| p.0)).log_scale(), (least..most(|p| p.1)).log_scale())?;
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &INK))
            .x_desc("bytes (logarithmic)")
            .y_desc("p99, us (logarithmic)")
            .x_label_formatter(&|bytes| number::plain(*bytes))
            .y_label_formatter(&|us| number::plain(*us))
            .draw()?;
        for middleware in Middleware::ALL {
            for (contender, width) in [(Contender::Rospin, 3), (Contender::Bare, 1)] {
                let points = points(middleware, contender);
                let name = format!("{} {}", middleware.name(), contender.name());
                if let Some(last) = points.last().copied() {
                    chart.draw_series(std::iter::once(Text::new(name, last, (FONT, 12).into_font().color(&INK))))?;
                }
                chart.draw_series(LineSeries::new(points, colour(middleware).stroke_width(width)))?;
            }
        }
        Ok(())
    })
}

/// Returns the colour of a middleware. The colours can be told apart with any colour vision, on light and on dark
/// ground.
const fn colour(middleware: Middleware) -> RGBColor {
    match middleware {
        Middleware::InProcess => RGBColor(128, 128, 128),
        Middleware::Dds => RGBColor(213, 94, 0),
        Middleware::Zenoh => RGBColor(30, 125, 200),
    }
}
