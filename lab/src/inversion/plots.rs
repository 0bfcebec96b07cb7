//! The plot of the report.

use plotters::style::RGBColor;
use rospin_report::svg::PlotError;

use crate::tail_plot::tails;

use super::comparison::Comparison;
use super::interference::Case;

const SIZE: (u32, u32) = (900, 340);

/// Returns the colour of a case. The colours can be told apart with any colour vision, on light and on dark ground.
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

/// Returns a plot of the share of the timer's callbacks, or of the urgent loop's rounds, that started at least as late
/// as a time.
pub(crate) fn waits(comparison: &Comparison) -> Result<String, PlotError> {
    let rows = comparison.rows.iter();
    let curves: Vec<(RGBColor, &[f64])> = rows.map(|row| (colour(row.case), &row.timer_us[..])).collect();
    tails("the waits", SIZE, curves.iter().map(|(_, timer_us)| *timer_us), &curves)
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
