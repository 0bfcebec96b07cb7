//! The report of a recording as an HTML page.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};
use rospin_report::timeline;

use super::facts::Facts;

/// Returns the whole HTML page.
pub(super) fn render(facts: &Facts) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Recording</h1>")?;
    facts.alarms.iter().try_for_each(|line| writeln!(body, "<p class=\"verdict\">{}</p>", escape(line)))?;
    facts.summary.iter().try_for_each(|line| writeln!(body, "<p>{}</p>", escape(line)))?;
    for table in &facts.tables {
        writeln!(body, "<h2>{}</h2>\n<p>{}</p>", escape(table.title), escape(table.sentence))?;
        page::table(&mut body, &table.header, &table.rows)?;
    }
    if !facts.worst.is_empty() {
        writeln!(body, "<h2>The worst activations</h2>")?;
        let timelines: Vec<_> = facts.worst.iter().map(|worst| worst.timeline.clone()).collect();
        timeline::legend(&mut body, &timelines)?;
    }
    for (number, worst) in facts.worst.iter().enumerate() {
        writeln!(body, "<h3>{}.</h3>\n<p>{}</p>", number + 1, escape(&worst.text))?;
        writeln!(body, "{}", timeline::plot(&worst.timeline)?)?;
    }
    Ok(page::frame("recording", &body))
}
