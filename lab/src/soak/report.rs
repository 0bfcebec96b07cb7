//! The HTML report.

use std::fmt::Write;

use rospin_measure::machine::Machine;
use rospin_report::page::{self, ReportError, escape};

use super::outcome::Outcome;
use super::{table, verdict};

/// Returns the whole HTML page.
pub(super) fn render(outcome: &Outcome, machine: &Machine, file: &str) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Soak</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">Robots and a station on hosts of their own, while paths are cut and poor, processes are killed and \
         stopped, disks are full, and memory is short. After each few minutes everything must be right again.</p>"
    )?;
    for said in verdict::sentences(outcome, file) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    for (title, header, rows) in [
        ("Faults", &table::FAULTS[..], table::faults(outcome)),
        ("Messages", &table::TOPICS, table::topics(outcome)),
        ("Requests", &table::REQUESTS, table::requests(outcome)),
        ("After healing", &table::HEALED, table::healed(outcome)),
        ("What processes have", &table::FLAT, table::flat(outcome)),
    ] {
        writeln!(body, "<h2>{title}</h2>")?;
        page::table(&mut body, header, &rows)?;
    }
    for remark in &outcome.remarks {
        writeln!(body, "<p>Remark: {}.</p>", escape(remark))?;
    }
    writeln!(body, "<h2>How it was run</h2>")?;
    let settings = [
        ("Middleware", outcome.middleware.name().to_owned()),
        ("Robots", outcome.schedule.robots.to_string()),
        ("Seed", outcome.schedule.seed.to_string()),
        ("Schedule", file.to_owned()),
    ];
    page::how_it_was_run(&mut body, machine, &settings)?;
    Ok(page::frame("soak", &body))
}
