//! Plots as SVG. Their text and lines have the text colour of the page around them.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Placeholder colour that [`draw`] replaces by the page's text colour. No series of a plot may use it.
pub const INK: RGBColor = RGBColor(1, 2, 3);
/// [`INK`] as SVG writes it.
pub const INK_HEX: &str = "#010203";
/// The font of every label.
pub const FONT: &str = "sans-serif";

/// Error of a plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the plot of {plot}: {reason}")]
pub struct PlotError {
    plot: &'static str,
    reason: Box<dyn Error + Send + Sync>,
}

/// Area of an SVG image that a plot is drawn on.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Result of drawing on an [`Area`]: nothing, or the error of the plotting library.
pub type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Returns an SVG of the width and height `size`, in pixels, which `content` draws on. `plot` is the plot's name in the
/// error.
///
/// # Errors
/// If the content cannot be drawn.
pub fn draw(
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
