//! The HTML report: tables, and every execution diagram as a plot.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};
use rospin_report::timeline;

use super::agreement::{self, NOTES};
use super::cases::EXPERIMENTS;
use super::comparison::Comparison;
use super::runs::CaseResult;
use super::tables::{self, Figures};

/// Returns the whole HTML page.
pub(super) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut page = String::new();
    writeln!(page, "<h1>Order of callbacks</h1>")?;
    writeln!(
        page,
        "<p class=\"soft\">Experiments 1 to 4 of Dust et al. (2023) under rclcpp's wait set of both generations, and \
         the same releases under rospin's policies; {}</p>",
        escape(&comparison.time.describe()),
    )?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&agreement::summary(&comparison.cells)))?;
    writeln!(page, "<p>{}</p>", escape(&comparison.sentence()))?;
    for figures in tables::polling_points(&comparison.results) {
        table(&mut page, &figures)?;
    }
    for note in NOTES {
        writeln!(page, "<p class=\"soft\">{}</p>", escape(note))?;
    }
    table(&mut page, &tables::own_policies(&comparison.results))?;
    diagrams(&mut page, comparison)?;
    table(&mut page, &tables::agreement(&comparison.cells))?;
    writeln!(page, "<h2>How it was run</h2>")?;
    let policies = "fixed-priority has the wait set's order as priorities: timers, subscriptions, services, each in \
                    the order of registration; under edf a periodic timer's deadline is its period, nothing else has one";
    let entries = [("Time", comparison.time.describe()), ("Policies", policies.to_owned())];
    page::how_it_was_run(&mut page, &comparison.machine, &entries)?;
    Ok(page::frame("order of callbacks", &page))
}

fn table(page: &mut String, figures: &Figures) -> std::fmt::Result {
    writeln!(page, "<h2>{}</h2>", escape(&figures.title))?;
    page::table(page, &figures.header(), &figures.rows)
}

fn diagrams(page: &mut String, comparison: &Comparison) -> Result<(), ReportError> {
    for experiment in &EXPERIMENTS {
        writeln!(page, "<h2>{}</h2>", escape(experiment.title))?;
        let of = |result: &&CaseResult| result.case.experiment == experiment;
        let results: Vec<&CaseResult> = comparison.results.iter().filter(of).collect();
        let timelines: Vec<_> = results.iter().map(|result| tables::timeline(result)).collect();
        timeline::legend(page, &timelines)?;
        for (result, timeline) in results.into_iter().zip(&timelines) {
            let plot = timeline::plot(timeline)?;
            let caption = escape(result.case.policy);
            writeln!(page, "<figure class=\"scroll\"><figcaption>{caption}</figcaption>{plot}</figure>")?;
        }
    }
    Ok(())
}
