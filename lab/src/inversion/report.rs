//! The HTML report.

use std::fmt::{self, Write};

use plotters::style::RGBColor;
use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::{plots, table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Priority inversion</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">An urgent executor, a hog of a lower priority and ordinary threads share one core. The ordinary threads \
         use what is the urgent executor's, and the hog keeps them from running in the middle of it. How long do urgent callbacks \
         wait?</p>"
    )?;
    for said in verdict::sentences(comparison) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    page::table(&mut body, &table::HEADER, &table::cells(comparison))?;
    legend(&mut body, comparison)?;
    writeln!(body, "<h2>Timer</h2>")?;
    writeln!(body, "<figure>{}</figure>", plots::waits(comparison)?)?;
    writeln!(body, "<h2>How it was run</h2>")?;
    page::how_it_was_run(&mut body, &comparison.machine, &settings(comparison))?;
    Ok(page::frame("inversion", &body))
}

fn legend(body: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(body, "<ul class=\"legend\">")?;
    for row in &comparison.rows {
        let RGBColor(r, g, b) = plots::colour(row.case);
        let chip = format!("<span class=\"chip\" style=\"background:#{r:02x}{g:02x}{b:02x}\"></span>");
        writeln!(body, "<li>{chip}{}</li>", row.case.name())?;
    }
    writeln!(body, "</ul>")
}

/// Returns the settings that the figures depend on.
fn settings(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let Comparison { setup, turn, throttle, rows, .. } = comparison;
    let mut settings: Vec<_> = rows
        .iter()
        .map(|row| {
            let done =
                format!("{}; {} times, beside {} bursts of the hog", row.case.about(), row.operations, row.bursts);
            (row.case.name(), done)
        })
        .collect();
    settings.push(("Urgent executor", format!("{}: a timer every {:?}", setup.timer_has, turn.period)));
    settings.push(("Hog", format!("{}: runs for {:?}, pauses for {:?}", setup.busy_has, turn.burst, turn.pause)));
    settings.push(("Ordinary threads", "SCHED_OTHER on the same core".to_owned()));
    let share = throttle.map_or_else(|| "not limited".to_owned(), |share| format!("{:.0} % of a core", share * 100.0));
    settings.push(("Real-time threads may have", share));
    let memory = if comparison.is_memory_locked { "kept in RAM" } else { "as it comes: page faults may wait, too" };
    settings.push(("Memory", memory.to_owned()));
    settings
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn page_is_self_contained_and_says_what_it_depends_on() {
        let page = render(&testing::comparison()).unwrap();
        page::assert_self_contained(&page);
        assert_eq!((page.matches("<table>").count(), page.matches("<svg").count()), (1, 1));
        assert!(page.contains("Test &lt;CPU&gt;") && page.contains("16 bursts"), "{page}");
    }
}
