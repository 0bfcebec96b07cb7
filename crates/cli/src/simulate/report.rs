//! The HTML report of a simulation.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};
use rospin_report::timeline;

use super::simulated::Simulated;
use super::tables::{self, Figures};

/// Returns the whole HTML page.
pub(super) fn render(simulated: &Simulated<'_>) -> Result<String, ReportError> {
    let mut page = String::new();
    writeln!(page, "<h1>{}</h1>", escape(&simulated.title()))?;
    writeln!(page, "<p class=\"soft\">{}</p>", escape(&simulated.describe()))?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&simulated.deadline_line()))?;
    let class = if simulated.violations.is_some() { "verdict" } else { "soft" };
    writeln!(page, "<p class=\"{class}\">{}</p>", escape(simulated.oracle_line()))?;
    if let Some(violations) = &simulated.violations {
        writeln!(page, "<pre class=\"scroll\">{}</pre>", escape(violations))?;
    }
    for line in simulated.starved() {
        writeln!(page, "<p class=\"verdict\">Starved: {}.</p>", escape(&line))?;
    }
    writeln!(page, "<h2>Response times</h2>")?;
    table(&mut page, &tables::callbacks(simulated.scenario, &simulated.outcome))?;
    if !simulated.outcome.chains.is_empty() {
        writeln!(page, "<h2>Chains</h2>")?;
        table(&mut page, &tables::chains(simulated.scenario, &simulated.outcome))?;
    }
    let accelerators = tables::accelerators(simulated.scenario, &simulated.outcome);
    if !accelerators.is_empty() {
        writeln!(page, "<h2>Accelerators</h2>")?;
        let row = |(name, share): &(&str, f64)| vec![(*name).to_owned(), format!("{:.1} %", share * 100.0)];
        let rows: Vec<_> = accelerators.iter().map(row).collect();
        page::table(&mut page, &page::columns(["accelerator", "busy"]), &rows)?;
    }
    writeln!(page, "<p class=\"soft\">{}</p>", escape(tables::LEGEND))?;
    writeln!(page, "<h2>Timeline of the beginning</h2>")?;
    let beginning = simulated.beginning();
    timeline::legend(&mut page, &beginning)?;
    for (caption, timeline) in ["by thread", "by callback"].into_iter().zip(&beginning) {
        let plot = timeline::plot(timeline)?;
        writeln!(page, "<figure class=\"scroll\"><figcaption>{caption}</figcaption>{plot}</figure>")?;
    }
    writeln!(page, "<h2>How it was simulated</h2>")?;
    let time = "virtual time: the engine's scheduling core, driven by a simulator; switching takes no time".to_owned();
    let file = simulated.file.display().to_string();
    page::how_it_was_run(&mut page, &simulated.machine, &[("Scenario", file), ("Time", time)])?;
    Ok(page::frame(&simulated.title(), &page))
}

fn table(page: &mut String, figures: &Figures) -> std::fmt::Result {
    page::table(page, &figures.header, &figures.rows)
}
