//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::comparison::Tracker;
use super::grid;
use super::setup::{PERIOD, ROBOT_PERIOD};

/// Origin of the default execution times, in words.
pub(crate) const ORIGIN: &str = "the paper publishes no execution times: the defaults, 25 us and 457 ns, are inferred from \
                                 its Table VI, as those that its periods follow from under E2, after several set-ups \
                                 were tried";

/// Returns the whole HTML page.
pub(crate) fn render(tracker: &Tracker) -> Result<String, ReportError> {
    let mut body = String::new();
    writeln!(body, "<h1>Multi-robot tracker</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">One node takes the states of all robots and sends a list of them every {} ms, on one thread \
         (Dust et al. 2023, Table VI).</p>",
        PERIOD.as_millis(),
    )?;
    writeln!(body, "<p class=\"verdict\">{}</p>", escape(&grid::sentence(tracker)))?;
    for grid in grid::grids(tracker) {
        writeln!(body, "<h2>{}</h2>", escape(&grid.title))?;
        page::table(&mut body, &page::columns(grid.header.iter().map(String::as_str)), &grid.rows)?;
    }
    writeln!(body, "<h2>How it was run</h2>")?;
    page::how_it_was_run(&mut body, &tracker.machine, &settings(tracker))?;
    Ok(page::frame("multi-robot tracker", &body))
}

/// Returns the settings that the figures depend on.
pub(crate) fn settings(tracker: &Tracker) -> Vec<(&'static str, String)> {
    let Tracker { message_us, list_pair_ns, iterations, .. } = tracker;
    vec![
        (
            "Work",
            format!(
                "{message_us} us of thread CPU time a message, {list_pair_ns} ns for each pair of robots in the list; {ORIGIN}"
            ),
        ),
        ("Robots", format!("each sends its state every {} us, all at once", ROBOT_PERIOD.as_micros())),
        ("Queues", "two places for each robot of a topic; the oldest makes room".to_owned()),
        ("Period", format!("mean over the first {iterations} periods of the list's callback, from start to start")),
        ("Real", "on the engine, with in-process topics, without OS priorities".to_owned()),
        ("Virtual", "in the simulator; after a real run, with the mean times that were measured in it".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn page_is_self_contained_and_says_what_it_depends_on() {
        let page = render(&testing::tracker()).unwrap();
        page::assert_self_contained(&page);
        assert!(page.contains("25 us of thread CPU time") && page.contains("inferred from its Table VI"), "{page}");
        assert!(page.contains("Test &lt;CPU&gt;"), "{page}");
        assert_eq!(page.matches("<table>").count(), 4);
    }
}
