//! Plots as SVG that takes its ink from the page around it.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

/// What stands for the page's text colour until the SVG is done; no series has it.
pub(crate) const INK: RGBColor = RGBColor(1, 2, 3);
pub(crate) const INK_HEX: &str = "#010203";
/// What every label is set in.
pub(crate) const FONT: &str = "sans-serif";

/// Why a plot could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the plot of {plot}: {reason}")]
pub(crate) struct PlotError {
    plot: &'static str,
    reason: Box<dyn Error + Send + Sync>,
}

/// What is drawn on.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What comes of drawing on it.
pub(crate) type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// An SVG of that size, in pixels, with that content.
pub(crate) fn draw(
    plot: &'static str,
    size: (u32, u32),
    content: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let drawn = content(&area).and_then(|()| area.present());
        drawn.map_err(|error| PlotError { plot, reason: error.to_string().into() })?;
    }
    Ok(svg.replace(INK_HEX, "currentColor"))
}
