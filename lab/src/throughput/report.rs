//! The HTML report.

use std::fmt::Write;

use rospin_report::page::{self, ReportError, escape};

use super::comparison::Throughput;
use super::contenders::Contender;
use super::plots::bars;
use super::table;
use super::verdict;
use super::workload::{Cell, DEPTH, Workload};

/// Returns the whole HTML page.
pub(crate) fn render(throughput: &Throughput) -> Result<String, ReportError> {
    let figures = &throughput.figures;
    let mut body = String::new();
    writeln!(body, "<h1>Throughput</h1>")?;
    writeln!(
        body,
        "<p class=\"soft\">What an executor costs: all contenders take from the same in-process rings. Medians of {} rounds, in \
         each of which all ran in turn.</p>",
        throughput.rounds,
    )?;
    let aims = verdict::aims(figures);
    let reached = aims.iter().filter(|aim| aim.is_reached()).count();
    if !aims.is_empty() {
        writeln!(body, "<p class=\"verdict\">{reached} of {} aims are reached.</p>", aims.len())?;
        page::table(
            &mut body,
            &page::columns(verdict::AIM_HEADER),
            &aims.iter().map(verdict::Aim::cells).collect::<Vec<_>>(),
        )?;
    }
    let mut workload = None;
    for (cell, table) in figures.cells().iter().zip(table::tables(figures)) {
        if workload != Some(cell.workload) {
            workload = Some(cell.workload);
            let (name, text) = (cell.workload.name(), cell.workload.describe());
            writeln!(body, "<h2>{name}</h2>\n<p>{}.</p>", escape(text))?;
        }
        section(&mut body, throughput, cell, &table)?;
    }
    contenders(&mut body)?;
    writeln!(body, "<h2>How it was run</h2>")?;
    page::how_it_was_run(&mut body, &throughput.machine, &settings(throughput))?;
    Ok(page::frame("throughput", &body))
}

fn section(body: &mut String, throughput: &Throughput, cell: &Cell, table: &table::Table) -> Result<(), ReportError> {
    let figures = &throughput.figures;
    writeln!(body, "<h3>{}</h3>", escape(&cell.title()))?;
    if let Some(winner) = verdict::winner(figures, cell) {
        writeln!(body, "<p>{}</p>", escape(&winner))?;
    }
    let plots = if cell.workload == Workload::FixedRate {
        vec![
            bars(figures, cell, "CPU of the process, %", |row| Some(row.cpu_percent))?,
            bars(figures, cell, "p99 latency, us", |row| row.latency_us.map(|latency| latency.p99))?,
        ]
    } else {
        vec![bars(figures, cell, "messages/s", |row| Some(row.messages_per_s.median))?]
    };
    for plot in plots {
        writeln!(body, "<figure class=\"scroll\">{plot}</figure>")?;
    }
    page::table(body, &page::columns(table.header.iter().copied()), &table.rows)?;
    Ok(())
}

fn contenders(body: &mut String) -> std::fmt::Result {
    writeln!(body, "<h2>Contenders</h2>\n<dl>")?;
    for contender in Contender::ALL {
        writeln!(body, "<dt>{}</dt><dd>{}</dd>", contender.name(), escape(contender.describe()))?;
    }
    writeln!(body, "</dl>")
}

/// Returns the settings that the figures depend on.
fn settings(throughput: &Throughput) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        (
            "Run",
            format!(
                "{} rounds of {} s, five times as long at a fixed rate, each in a process of its own after a warm-up",
                throughput.rounds,
                throughput.window.as_secs_f64()
            ),
        ),
        ("Messages", format!(
            "counted are those that a callback ran for; each subscription keeps the last {DEPTH}, what is displaced is lost. \
             Publishers use messages again that nobody has any more"
        )),
        (
            "Cores",
            "the publisher has the last core, the executor's threads share the others; under `threads`, where nothing is \
             published beside them, they have all cores"
                .to_owned(),
        ),
        (
            "Models",
            "executors other than rospin are modelled: they do what the design has to do for a message, and nothing that \
             their middleware does beside it"
                .to_owned(),
        ),
        (
            "Waits",
            "the mean time from publication to callback or loss, by Little's law: the messages that wait at the begin and at the end, \
             divided by the rate at which they end their wait. \
             A design that lets messages pile up can win by taking many at once, and has them late"
                .to_owned(),
        ),
        ("Allocations", "of the whole process, in a run of its own, since counting takes time".to_owned()),
    ];
    settings.extend(throughput.remarks.iter().map(|remark| ("Remark", remark.clone())));
    settings
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn page_is_self_contained_and_complete() {
        let throughput = testing::throughput();
        let page = render(&throughput).unwrap();
        page::assert_self_contained(&page);
        let cells = throughput.figures.cells().len();
        // The cells at a fixed rate have two plots, and the aims have one table.
        assert_eq!((page.matches("<svg").count(), page.matches("<table>").count()), (cells + 1, cells + 1));
        for contender in Contender::ALL {
            assert!(page.contains(&escape(contender.describe())));
        }
        assert!(page.contains("Test &lt;CPU&gt;"));
    }
}
