//! The HTML report.

use std::fmt::{self, Write};

use plotters::style::RGBColor;
use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::contender::{Contender, Load};
use super::{load, plots, table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Timers</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">One timer on one core, at several rates: whether its callback starts every time, and how long after \
         its due time. Idle, and beside a busy executor of lower priority on the same core.</p>"
    )?;
    for said in verdict::sentences(comparison) {
        writeln!(body, "<p class=\"verdict\">{}</p>", escape(&said))?;
    }
    page::table(&mut body, &table::HEADER, &table::cells(comparison))?;
    legend(&mut body, comparison)?;
    for rate in comparison.rates() {
        for load in Load::ALL {
            writeln!(body, "<h2>{rate} Hz, {}</h2>", load.name())?;
            writeln!(body, "<figure>{}</figure>", plots::lateness(comparison, load, rate)?)?;
        }
    }
    writeln!(body, "<h2>How it was run</h2>")?;
    page::how_it_was_run(&mut body, &comparison.machine, &settings(comparison))?;
    Ok(page::frame("timers", &body))
}

fn legend(body: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(body, "<ul class=\"legend\">")?;
    for contender in contenders(comparison) {
        let RGBColor(r, g, b) = contender.colour();
        let chip = format!("<span class=\"chip\" style=\"background:#{r:02x}{g:02x}{b:02x}\"></span>");
        writeln!(body, "<li>{chip}{}</li>", contender.name())?;
    }
    writeln!(body, "</ul>")
}

fn contenders(comparison: &Comparison) -> impl Iterator<Item = Contender> {
    let takes_part = |contender: &Contender| comparison.rows.iter().any(|row| row.contender == *contender);
    Contender::ALL.into_iter().filter(takes_part)
}

/// Returns the settings that the figures depend on.
fn settings(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let setup = &comparison.setup;
    let turn = comparison.duration / comparison.rounds;
    let mut settings: Vec<_> =
        contenders(comparison).map(|contender| (contender.name(), contender.about().to_owned())).collect();
    settings.push(("Timers' threads", setup.timer_has.clone()));
    settings.push(("Busy executor", busy(comparison)));
    let turns = format!(
        "{} of {turn:?} for each line, all contenders in turn; each round begins elsewhere in a millisecond, which matters to \
         Tokio's timers",
        comparison.rounds
    );
    settings.push(("Turns", turns));
    let fired = "starts of callbacks whose due time lies in the turn; expected are all those due times";
    settings.push(("Fired", fired.to_owned()));
    let jitter =
        "start of the callback minus due time; p50 and p99 are medians over the turns, max is the largest of all";
    settings.push(("Jitter", jitter.to_owned()));
    settings
}

fn busy(comparison: &Comparison) -> String {
    format!(
        "{}: works for {} us of every {} us, through {} KiB of memory",
        comparison.setup.busy_has,
        load::WORK.as_micros(),
        load::PERIOD.as_micros(),
        load::MEMORY / 1024,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn page_is_self_contained_and_says_what_it_depends_on() {
        let page = render(&testing::comparison()).unwrap();
        page::assert_self_contained(&page);
        assert_eq!((page.matches("<table>").count(), page.matches("<svg").count()), (1, 4));
        assert!(page.contains("Test &lt;CPU&gt;") && page.contains("pull request 654"), "{page}");
    }
}
