//! The plots of the report.

use plotters::style::RGBColor;
use rospin_report::svg::PlotError;

use crate::tail_plot::tails;

use super::comparison::Comparison;
use super::contender::Load;

const SIZE: (u32, u32) = (900, 300);

/// Returns a plot of the share of starts that were at least as late as a time, with a curve for each contender. All
/// plots have the same time axis, so that they can be compared.
pub(crate) fn lateness(comparison: &Comparison, load: Load, rate_hz: u32) -> Result<String, PlotError> {
    let rows = comparison.rows.iter().filter(|row| (row.load, row.rate_hz) == (load, rate_hz));
    let curves: Vec<(RGBColor, &[f64])> = rows.map(|row| (row.contender.colour(), &row.late_us[..])).collect();
    tails("the lateness", SIZE, comparison.rows.iter().map(|row| &row.late_us[..]), &curves)
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
    fn rows_without_a_start_can_be_drawn() {
        let mut comparison = testing::comparison();
        for row in &mut comparison.rows {
            row.late_us.clear();
        }
        lateness(&comparison, Load::Busy, 100).unwrap();
    }
}
