//! The result as table, sentence, JSON file and HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};
use rospin_report::text_table::{self, Side};
use serde_json::json;

use super::{Comparison, Row, parts};

/// Time in microseconds that the 99th percentile of latencies should be below.
const WANTED_US: f64 = 1000.0;

const HEADER: [(&str, Side); 7] = [
    ("over", Side::Left),
    ("middleware's threads", Side::Left),
    ("sent", Side::Right),
    ("received", Side::Right),
    ("p50 us", Side::Right),
    ("p99 us", Side::Right),
    ("max us", Side::Right),
];

/// Returns the table's word for the scheduling of the middleware's threads.
pub(super) const fn threads(raised: bool) -> &'static str {
    if raised { "raised" } else { "ordinary" }
}

/// Returns the table with its legend, ending in a line break.
pub(super) fn table(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    format!(
        "{table}us: from publication to the controller's callback. raised: what a deployment with real-time executors does.\n"
    )
}

/// Returns the table's cells: a line for each measurement.
fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let line = |row: &Row| {
        let us = |value: f64| format!("{value:.0}");
        let (name, threads) = (row.middleware.name().to_owned(), threads(row.raised).to_owned());
        let counts = [row.sent, row.received].map(|count| count.to_string());
        let [sent, received] = counts;
        vec![name, threads, sent, received, us(row.p50_us), us(row.p99_us), us(row.max_us)]
    };
    comparison.rows.iter().map(line).collect()
}

/// Returns sentences that say for how many middlewares the 99th percentile is below a millisecond with raised threads,
/// and name the first setting that was refused, if one was.
pub(super) fn sentence(comparison: &Comparison) -> String {
    let raised = || comparison.rows.iter().filter(|row| row.raised);
    let kept = raised().filter(|row| row.p99_us < WANTED_US).count();
    let all = raised().count();
    let mut text = format!("With raised threads, {kept} of {all} middlewares keep 1 ms at the 99th percentile.");
    if let Some(shortfall) = comparison.rows.iter().flat_map(|row| &row.shortfalls).next() {
        let _ = write!(text, " Missing: {shortfall}.");
    }
    text
}

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn json(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let document = json!({
        "experiment": super::NAME,
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "settings": {
            "duration_s": comparison.duration.as_secs_f64(),
            "period_ms": parts::PERIOD.as_secs_f64() * 1e3,
            "deployment": parts::DEPLOYMENT,
        },
        "units": { "p50_us, p99_us, max_us": "microseconds from publication to the beginning of the controller's callback" },
        "verdict": sentence(comparison),
        "rows": comparison.rows,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Returns the whole HTML page.
pub(super) fn html(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>The robot</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">An IMU at 200 Hz and its controller in two processes, both on real-time executors, beside a detector that \
         keeps a core busy.</p><p class=\"verdict\">{}</p>",
        escape(&sentence(comparison))
    )?;
    page::table(&mut body, &HEADER, &cells(comparison))?;
    writeln!(body, "<h2>The deployment file</h2>\n<pre>{}</pre>", escape(parts::DEPLOYMENT))?;
    writeln!(body, "<h2>How it was run</h2>")?;
    let length = format!("{} s for each row", comparison.duration.as_secs_f64());
    page::how_it_was_run(&mut body, &comparison.machine, &[("Length", length)])?;
    Ok(page::frame("robot", &body))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rospin_measure::machine::Machine;

    use crate::middleware::Middleware;

    use super::*;

    fn comparison() -> Comparison {
        let row = |raised, p99_us| Row {
            middleware: Middleware::Dds,
            raised,
            sent: 2000,
            received: 1999,
            p50_us: 100.0,
            p99_us,
            max_us: 5000.0,
            shortfalls: Vec::new(),
        };
        let rows = vec![row(true, 400.0), row(false, 90_000.0)];
        Comparison { machine: Machine::made_up(), duration: Duration::from_secs(10), rows }
    }

    #[test]
    fn every_form_has_every_row() {
        let comparison = comparison();
        assert!(table(&comparison).lines().any(|line| line.contains("ordinary") && line.contains("90000")));
        assert!(sentence(&comparison).starts_with("With raised threads, 1 of 1 middlewares keep 1 ms"));
        let document: serde_json::Value = serde_json::from_str(&json(&comparison).unwrap()).unwrap();
        assert_eq!(document["rows"][1]["p99_us"], 90_000.0);
        page::assert_self_contained(&html(&comparison).unwrap());
    }
}
