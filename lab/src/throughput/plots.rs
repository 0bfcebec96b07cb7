//! Plots of the report: bars, one for each contender.

use plotters::prelude::*;
use rospin_report::svg::{FONT, INK, PlotError, draw};

use super::contenders::Contender;
use super::figures::{Figures, Row};
use super::workload::Cell;

/// Height of a bar with its gap, in pixels. [`FRAME`] is the height of what is above and below all bars.
const BAR: u32 = 24;
const FRAME: u32 = 56;
const WIDTH: u32 = 900;

/// Returns the colour of a contender's bar. That of the limit, of rospin and of others can be told apart with any
/// colour vision.
const fn colour(contender: Contender) -> RGBColor {
    match contender {
        Contender::Limit => RGBColor(120, 120, 120),
        contender if contender.is_other() => RGBColor(213, 94, 0),
        _ => RGBColor(30, 125, 200),
    }
}

/// Returns a plot of one figure of the contenders in a cell, with a bar for each that has the figure. `unit` is the
/// title of the axis.
pub(crate) fn bars(
    figures: &Figures,
    cell: &Cell,
    unit: &str,
    figure: impl Fn(&Row) -> Option<f64>,
) -> Result<String, PlotError> {
    let bars: Vec<_> = figures.of_cell(cell).filter_map(|row| Some((row.contender, figure(row)?))).collect();
    let longest = bars.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
    let count = bars.len() as f64;
    draw("the bars", (WIDTH, FRAME + BAR * bars.len() as u32), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(6)
            .margin_right(24)
            .x_label_area_size(40)
            .y_label_area_size(170)
            .build_cartesian_2d(0.0..longest, count..0.0)?;
        let name = |at: &f64| match bars.get(at.floor() as usize) {
            Some((contender, _)) if (at.fract() - 0.5).abs() < 0.01 => contender.name().to_owned(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 13, &INK))
            .disable_y_mesh()
            .y_labels(2 * bars.len() + 1)
            .y_label_formatter(&name)
            .x_desc(unit)
            .draw()?;
        chart.draw_series(bars.iter().enumerate().map(|(number, (contender, value))| {
            let top = number as f64;
            Rectangle::new([(0.0, top + 0.15), (*value, top + 0.85)], colour(*contender).filled())
        }))?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::super::workload::Workload;
    use super::*;

    #[test]
    fn every_contender_has_a_bar_with_its_name() {
        let figures = testing::figures();
        let cell = Workload::Saturation.cells()[0];
        let svg = bars(&figures, &cell, "messages/s", |row| Some(row.messages_per_s.median)).unwrap();
        for contender in Contender::ALL {
            assert!(svg.contains(contender.name()), "{}: {svg}", contender.name());
        }
        assert!(bars(&figures, &cell, "us", |_| None).is_ok(), "nothing to draw");
    }
}
