//! The HTML report of an analysis.

use std::fmt::Write;

use plotters::style::RGBColor;
use rospin_report::page::{self, ReportError, escape};

use super::analyzed::Analyzed;
use super::tables::{self, Figures};
use super::{overheads, plot};

/// Returns the whole HTML page.
pub(super) fn render(analyzed: &Analyzed) -> Result<String, ReportError> {
    let mut page = String::new();
    writeln!(page, "<h1>{}</h1>", escape(&analyzed.title()))?;
    writeln!(page, "<p class=\"soft\">{}</p>", escape(&analyzed.describe()))?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&analyzed.verdict()))?;
    list(&mut page, &analyzed.causes())?;
    list(&mut page, &analyzed.advice())?;
    if let Some(plot) = plot::svg(analyzed)? {
        writeln!(page, "<h2>Bounds against deadlines</h2>\n<ul class=\"legend\">")?;
        for (RGBColor(r, g, b), name) in [(plot::HOLDS, "holds"), (plot::FAILS, "not proven, or has no bound")] {
            writeln!(page, "<li><span class=\"chip\" style=\"background:rgb({r},{g},{b})\"></span>{name}</li>")?;
        }
        if analyzed.seen.is_some() {
            writeln!(page, "<li>● longest in simulations</li>")?;
        }
        writeln!(page, "</ul>\n<figure class=\"scroll\">{plot}</figure>")?;
    }
    analyzed.pictures.iter().try_for_each(|picture| picture.html(&mut page))?;
    writeln!(page, "<h2>Callbacks</h2>")?;
    table(&mut page, &tables::callbacks(analyzed))?;
    if !analyzed.report.chains.is_empty() {
        writeln!(page, "<h2>Chains</h2>")?;
        table(&mut page, &tables::chains(analyzed))?;
    }
    writeln!(page, "<h2>Cores</h2>")?;
    table(&mut page, &tables::cores(analyzed))?;
    if let Some(accelerators) = tables::accelerators(analyzed) {
        writeln!(page, "<h2>Accelerators</h2>")?;
        table(&mut page, &accelerators)?;
    }
    writeln!(page, "<p class=\"soft\">{}</p>", escape(&tables::legend(analyzed)))?;
    if let Some(queues) = tables::queues(analyzed) {
        writeln!(page, "<h2>Queues</h2>")?;
        table(&mut page, &queues)?;
        writeln!(page, "<p class=\"soft\">{}</p>", escape(tables::QUEUES_LEGEND))?;
    }
    if let Some(margins) = tables::margins(analyzed) {
        writeln!(page, "<h2>How far each callback can change</h2>")?;
        table(&mut page, &margins)?;
        writeln!(page, "<p class=\"soft\">{}</p>", escape(&tables::margins_legend(analyzed)))?;
    }
    writeln!(page, "<h2>What must be true for this to be true</h2>")?;
    list(&mut page, &analyzed.report.assumptions)?;
    writeln!(page, "<h2>How it was analysed</h2>")?;
    let overheads = overheads::describe(&analyzed.overheads).unwrap_or_else(|| "none".to_owned());
    let file = analyzed.file.display().to_string();
    let methods = analyzed.report.methods.iter().enumerate();
    let methods: Vec<_> = methods.map(|(number, method)| format!("{}. {method}", number + 1)).collect();
    let methods = methods.join("; ");
    let entries = [("Scenario", file), ("Method", methods), ("Overheads", overheads)];
    page::how_it_was_run(&mut page, &analyzed.machine, &entries)?;
    Ok(page::frame(&analyzed.title(), &page))
}

/// Appends a list of plain text lines to `page`; nothing if there are none.
fn list(page: &mut String, lines: &[String]) -> std::fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(page, "<ul>")?;
    lines.iter().try_for_each(|line| writeln!(page, "<li>{}</li>", escape(line)))?;
    writeln!(page, "</ul>")
}

fn table(page: &mut String, figures: &Figures) -> std::fmt::Result {
    page::table(page, &figures.header, &figures.rows)
}
