//! The HTML report.

use std::fmt::{self, Write};

use rospin_report::page::{self, ReportError, escape};
use rospin_report::text_table::Side;

use super::super::runner::Variant;
use super::{Answer, table, verdict};

/// Returns the whole HTML page.
pub(super) fn render(answer: &Answer) -> Result<String, ReportError> {
    let mut page = String::new();
    writeln!(page, "<h1>Autoware reference system: one executor or several?</h1>")?;
    writeln!(
        page,
        "<p class=\"soft\">Priorities in one executor with several threads, or in several executors with one thread each \
         (Choi et al. 2022, section III). 24 nodes, 36 callbacks, {} ms of work a node, {} s a run.</p>",
        answer.settings.crunch_ms(),
        answer.settings.duration.as_secs_f64(),
    )?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&verdict::sentence(&answer.rows)))?;
    let titles: Vec<(String, Side)> =
        table::header().into_iter().map(|(title, side)| (title.replace('\n', " "), side)).collect();
    let header: Vec<(&str, Side)> = titles.iter().map(|(title, side)| (title.as_str(), *side)).collect();
    let cells: Vec<_> = answer.rows.iter().map(table::cells).collect();
    page::table(&mut page, &header, &cells)?;
    writeln!(page, "<p class=\"soft\">{}</p>", escape(&table::legend(answer.settings.crunch_ms())))?;
    without_bound(&mut page, answer)?;
    executors(&mut page, answer)?;
    measured(&mut page, answer)?;
    Ok(page::frame("Autoware reference system: one executor or several?", &page))
}

/// Appends the systems that the analysis refuses, with its reasons.
fn without_bound(page: &mut String, answer: &Answer) -> fmt::Result {
    let refused = || answer.rows.iter().filter_map(|row| row.bounds.refused.as_ref().map(|reason| (row, reason)));
    if refused().next().is_none() {
        return Ok(());
    }
    writeln!(page, "<h2>No bound for anything</h2>\n<dl>")?;
    for (row, reason) in refused() {
        writeln!(page, "<dt>{} on {} cores</dt><dd>{}</dd>", row.executor.name(), row.cores, escape(reason))?;
    }
    writeln!(page, "</dl>")
}

fn executors(page: &mut String, answer: &Answer) -> fmt::Result {
    writeln!(page, "<h2>Executors</h2>\n<dl>")?;
    let mut variants: Vec<Variant> = Vec::new();
    for row in &answer.rows {
        if !variants.contains(&row.executor) {
            variants.push(row.executor);
        }
    }
    for variant in variants {
        writeln!(page, "<dt>{}</dt><dd>{}</dd>", variant.name(), escape(variant.describe()))?;
    }
    writeln!(page, "</dl>")
}

fn measured(page: &mut String, answer: &Answer) -> fmt::Result {
    let entries = [
        (
            "Virtual time",
            "the nodes on rospin's scheduling core; work takes exactly its time, a callback that publishes 40 us more, one \
             that stores 5 us; threads of executors that share a core preempt each other by OS priority"
                .to_owned(),
        ),
        (
            "Measured",
            "each executor in a process of its own, on the engine's own topics, with the threads kept on that many cores; \
             executors that share a core under SCHED_FIFO"
                .to_owned(),
        ),
        ("Bounds", "rospin analyze, with a fusion as a join of its two topics".to_owned()),
    ];
    writeln!(page, "<h2>How it was run</h2>")?;
    page::how_it_was_run(page, &answer.machine, &entries)?;
    for row in &answer.rows {
        for remark in &row.remarks {
            let name = row.executor.name();
            writeln!(page, "<p class=\"soft\">{name} on {} cores: {}</p>", row.cores, escape(remark))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rospin_measure::machine::Machine;

    use super::super::super::testing::settings;
    use super::super::testing::rows;
    use super::*;

    #[test]
    fn page_is_self_contained_and_complete() {
        let mut rows = rows();
        rows[0].bounds.refused = Some("core 0 is <overloaded>".to_owned());
        rows[1].remarks.push("a thread lacks <b>".to_owned());
        let answer = Answer { machine: Machine::made_up(), settings: settings(), rows };
        let page = render(&answer).unwrap();
        page::assert_self_contained(&page);
        for row in &answer.rows {
            assert!(page.contains(&escape(row.executor.describe())));
        }
        assert!(page.contains(&escape(&verdict::sentence(&answer.rows))));
        assert!(page.contains("core 0 is &lt;overloaded&gt;") && page.contains("a thread lacks &lt;b&gt;"));
    }
}
