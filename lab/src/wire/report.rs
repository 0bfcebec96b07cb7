//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::cell::{Place, Size};
use super::comparison::Comparison;
use super::{plots, table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>The wire</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">Messages over each middleware, between two ends in one process, in two processes and on two hosts: how many \
         a second, how late, and at which cost, beside the middleware with a listener and a thread.</p>"
    )?;
    for said in verdict::sentences(comparison) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    page::table(&mut body, &table::HEADER, &table::cells(comparison))?;
    for place in plots::places(comparison) {
        writeln!(body, "<h2>{}</h2>", escape(place.name()))?;
        writeln!(body, "<figure>{}</figure>", plots::latency(comparison, place)?)?;
    }
    if !comparison.remarks.is_empty() {
        writeln!(body, "<h2>Remarks</h2>")?;
        for remark in &comparison.remarks {
            writeln!(body, "<p>{}</p>", escape(remark))?;
        }
    }
    writeln!(body, "<h2>How it was run</h2>")?;
    page::how_it_was_run(&mut body, &comparison.machine, &settings(comparison))?;
    Ok(page::frame("wire", &body))
}

/// Returns the settings that the figures depend on.
fn settings(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let rate = |place: Place| {
        let small = Size(0).period(place);
        format!("{} us between messages up to 16 KiB", small.as_micros())
    };
    vec![
        (
            "Length",
            format!(
                "{} s for each of two measurements, {} rounds",
                comparison.duration.as_secs_f64(),
                comparison.rounds
            ),
        ),
        ("Under way", "at most 100 messages and 64 MiB where messages a second are counted".to_owned()),
        ("Fixed rate", format!("{} in one process, {} otherwise", rate(Place::Process), rate(Place::Processes))),
        ("Peer", comparison.peer.clone().unwrap_or_else(|| "our own".to_owned())),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_report_has_table_and_plot_and_needs_no_other_file() {
        let page = render(&testing::comparison()).unwrap();
        page::assert_self_contained(&page);
        assert!(page.contains("<svg") && page.contains("in-process") && page.contains("Test &lt;CPU&gt;"));
    }
}
