//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::{table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Accelerator</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">Seven camera pipelines of three criticalities share one device (Choi et al. 2022, section IV). How long \
         does the critical one wait for the others?</p>"
    )?;
    for said in verdict::sentences(comparison) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    page::table(&mut body, &table::HEADER, &table::cells(comparison))?;
    writeln!(body, "<h2>How it was run</h2>")?;
    let mut settings: Vec<(&str, String)> = comparison
        .pipelines
        .iter()
        .map(|one| {
            let text = format!(
                "{}: a frame every {:?}, {} segments of {:?}, due after {:?}",
                one.criticality.name(),
                one.period,
                one.segments,
                one.segment(),
                one.deadline
            );
            (one.name.as_str(), text)
        })
        .collect();
    settings.push(("Device", comparison.device_name.clone()));
    settings.push(("Load", format!("{:.0} % of the device's time", comparison.load * 100.0)));
    page::how_it_was_run(&mut body, &comparison.machine, &settings)?;
    Ok(page::frame("accelerator", &body))
}
