//! HTML reports: each is one file that refers to no other file.

use std::fmt::{self, Write};

use rospin_measure::machine::Machine;

use crate::svg::PlotError;
use crate::text_table::Side;

/// Reasons for which there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// The text could not be formatted.
    #[error("cannot write the report: {0}")]
    Format(#[from] fmt::Error),
}

/// Returns a whole HTML page with `title`, around `body`, with the styles that all reports share. The title is escaped;
/// the body is HTML already.
pub fn frame(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>rospin: {}</title>\n<style>\n{}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title),
        include_str!("page.css"),
    )
}

/// Appends a list of terms with their descriptions to `page`. The machine and rospin's version come first, then
/// `entries`, which are pairs of a term and its description, as plain text.
pub fn how_it_was_run(page: &mut String, machine: &Machine, entries: &[(&str, String)]) -> fmt::Result {
    writeln!(page, "<dl>")?;
    let mut entry = |term: &str, text: &str| writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(term), escape(text));
    entry("Machine", &machine.describe())?;
    entry("Version", concat!("rospin ", env!("CARGO_PKG_VERSION")))?;
    for (term, text) in entries {
        entry(term, text)?;
    }
    writeln!(page, "</dl>")
}

/// Returns columns with `titles`. The first column is aligned left, for words; the others right, for numbers.
pub fn columns<'a>(titles: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, Side)> {
    titles.into_iter().zip(std::iter::once(Side::Left).chain(std::iter::repeat(Side::Right))).collect()
}

/// Appends a table of plain text to `page`. Each header is aligned as its column. Cells beyond the header are left out.
pub fn table(page: &mut String, header: &[(&str, Side)], rows: &[Vec<String>]) -> fmt::Result {
    // The style sheet aligns the first column to the left, and others to the right unless they have the class `left`.
    let class = |side: &Side| if *side == Side::Left { " class=\"left\"" } else { "" };
    writeln!(page, "<div class=\"scroll\"><table>\n<thead><tr>")?;
    for (title, side) in header {
        write!(page, "<th{}>{}</th>", class(side), escape(title))?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for row in rows {
        let cells = row.iter().zip(header);
        let cells = cells.map(|(cell, (_, side))| format!("<td{}>{}</td>", class(side), escape(cell)));
        writeln!(page, "<tr>{}</tr>", cells.collect::<String>())?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

/// Returns `text` with the characters escaped that HTML would take for markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Panics if the page refers to anything outside itself, or is cut off. For tests.
#[cfg(any(test, feature = "testing"))]
pub fn assert_self_contained(page: &str) {
    for reference in ["src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(reference), "{reference}");
    }
    // The name of the SVG vocabulary looks like an address, but no browser fetches it.
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("http"), "an address is left");
    assert!(page.ends_with("</html>\n"));
}
