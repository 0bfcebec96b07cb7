//! The HTML report.

use std::fmt::{self, Write};

use plotters::style::RGBColor;
use rospin_report::number::counted;
use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::figures::{COLUMNS, Column, Figures};
use super::kpi::WARM_UP;
use super::plots;
use super::recorded;
use super::runner::{Settings, Variant};
use super::verdict;

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut page = String::new();
    head(&mut page, comparison)?;
    table(&mut page, comparison)?;
    latency(&mut page, comparison)?;
    planner(&mut page, comparison)?;
    recording(&mut page, comparison)?;
    executors(&mut page, comparison)?;
    measured(&mut page, comparison)?;
    Ok(page::frame("Autoware reference system", &page))
}

fn head(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let settings = &comparison.settings;
    writeln!(page, "<h1>Autoware reference system</h1>")?;
    writeln!(
        page,
        "<p class=\"soft\">24 nodes, 36 callbacks, {} ms of work a node, {} s an executor, on {}.</p>",
        settings.crunch_ms(),
        settings.duration.as_secs_f64(),
        escape(&comparison.machine.describe()),
    )?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&verdict::sentence(comparison)))
}

fn table(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let rows: Vec<Figures> = comparison.results.iter().map(Figures::of).collect();
    writeln!(page, "<div class=\"scroll\"><table>\n<thead>\n<tr><th></th>")?;
    for (column, count) in spans() {
        // Over a single narrow column the title takes two lines.
        let title = if count > 1 { escape(column.quantity) } else { column.lines.map(escape).join("<br>") };
        writeln!(page, "<th colspan=\"{count}\">{title}</th>")?;
    }
    writeln!(page, "</tr>\n<tr><th>executor</th>")?;
    for column in &COLUMNS {
        writeln!(page, "<th>{}</th>", escape(column.statistic))?;
    }
    writeln!(page, "</tr>\n</thead>\n<tbody>")?;
    let values: Vec<_> = COLUMNS.iter().map(|column| column.shown(&rows)).collect();
    for (row, result) in comparison.results.iter().enumerate() {
        write!(page, "<tr><td>{}</td>", name(result.variant))?;
        for column in &values {
            let (class, mark) = if column[row].best { (" class=\"best\"", "*") } else { ("", "") };
            write!(page, "<td{class}>{}{mark}</td>", escape(&column[row].text))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody>\n</table></div>")?;
    writeln!(
        page,
        "<p class=\"soft\">* best of its column. Less CPU is only better for the same work: an executor \
         that drops samples saves the work on them.</p>"
    )
}

/// Returns the quantities of the table: for each, its first column and the number of its columns, which are neighbours.
fn spans() -> Vec<(&'static Column, usize)> {
    let mut spans: Vec<(&Column, usize)> = Vec::new();
    for column in &COLUMNS {
        match spans.last_mut() {
            Some((first, count)) if first.quantity == column.quantity => *count += 1,
            _ => spans.push((column, 1)),
        }
    }
    spans
}

fn latency(page: &mut String, comparison: &Comparison) -> Result<(), ReportError> {
    writeln!(page, "<h2>Hot path latency</h2>")?;
    writeln!(
        page,
        "<p>From the later lidar sample to the object collision estimator: how many percent of the \
         samples arrived within the time below. The dashed line is the shortest possible path, {:.1} ms: \
         four nodes work one after the other and wait for nothing.</p>",
        comparison.settings.shortest_hot_path_ms(),
    )?;
    legend(page, comparison)?;
    writeln!(page, "<figure class=\"scroll\">{}</figure>", plots::latency(comparison)?)?;
    Ok(())
}

fn legend(page: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(page, "<ul class=\"legend\">")?;
    for result in &comparison.results {
        writeln!(page, "<li>{}</li>", name(result.variant))?;
    }
    writeln!(page, "</ul>")
}

fn planner(page: &mut String, comparison: &Comparison) -> Result<(), ReportError> {
    writeln!(page, "<h2>Behavior planner period</h2>")?;
    writeln!(
        page,
        "<p>Time between starts of the planner's timer callback over the run; its timer asks for \
         100 ms. All plots have the same axes.</p>"
    )?;
    for result in &comparison.results {
        let plot = plots::planner(comparison, result)?;
        let caption = name(result.variant);
        writeln!(page, "<figure class=\"scroll\"><figcaption>{caption}</figcaption>{plot}</figure>")?;
    }
    Ok(())
}

fn recording(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let Some(folder) = &comparison.folder else { return Ok(()) };
    writeln!(page, "<h2>What recording costs</h2>")?;
    writeln!(
        page,
        "<p>The hot path's latency in each executor's second run, which was recorded, beside that of the first. CPU is the \
         processor time of the recorded run as a multiple of that without. The recordings are in {}.</p>",
        escape(&folder.display().to_string()),
    )?;
    page::table(page, &recorded::HEADER, &recorded::cells(comparison))
}

fn executors(page: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(page, "<h2>Executors</h2>\n<dl>")?;
    for result in &comparison.results {
        write!(
            page,
            "<dt>{}</dt><dd>{} ({} here)",
            name(result.variant),
            escape(result.variant.describe()),
            counted(result.threads as u64, "thread"),
        )?;
        for remark in &result.remarks {
            write!(page, "<br>{}", escape(remark))?;
        }
        writeln!(page, "</dd>")?;
    }
    writeln!(page, "</dl>")
}

fn measured(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let (machine, settings) = (&comparison.machine, &comparison.settings);
    writeln!(page, "<h2>How it was measured</h2>")?;
    let entries = [
        (
            "Run",
            format!(
                "{} s an executor, each in a process of its own; the first {} s are not counted{}",
                settings.duration.as_secs_f64(),
                WARM_UP.as_secs_f64(),
                transport(settings),
            ),
        ),
        ("Work", format!("{} ms of thread CPU time a node, by trial division", settings.crunch_ms())),
        (
            "Drops",
            "samples that the nodes of the hot path never saw, from gaps in the sequence of their inputs; \
         mean and standard deviation over the samples that came through"
                .to_owned(),
        ),
        (
            "Missed",
            "front lidar samples that never ran the object collision estimator; what was still on its way \
         at the end is not counted"
                .to_owned(),
        ),
        ("Memory", "resident memory of the process at the end of its run".to_owned()),
    ];
    page::how_it_was_run(page, machine, &entries)
}

/// Returns the text about the transport that follows the description of a run; empty for the engine's own topics.
fn transport(settings: &Settings) -> String {
    let transport = settings.describe_transport();
    if transport.is_empty() { transport } else { format!(". {transport}") }
}

/// Returns the executor's name with its colour before it.
fn name(variant: Variant) -> String {
    let RGBColor(r, g, b) = plots::colour(variant);
    format!("<span class=\"chip\" style=\"background:rgb({r},{g},{b})\"></span>{}", escape(variant.name()))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn page_is_self_contained_and_complete() {
        let page = render(&testing::comparison()).unwrap();
        page::assert_self_contained(&page);
        assert_eq!(page.matches("<svg").count(), 1 + Variant::ALL.len());
        for variant in Variant::ALL {
            assert!(page.contains(&escape(variant.describe())));
        }
        assert!(page.contains(&escape(&verdict::sentence(&testing::comparison()))));
    }

    #[test]
    fn foreign_text_is_escaped() {
        let mut comparison = testing::comparison();
        comparison.results[0].remarks = vec!["<b>&".to_owned()];
        let page = render(&comparison).unwrap();
        assert!(page.contains("Test &lt;CPU&gt;") && page.contains("&lt;b&gt;&amp;"));
        assert!(!page.contains("<CPU>") && !page.contains("<b>"));
    }

    #[test]
    fn table_marks_what_the_terminal_marks() {
        let comparison = testing::comparison();
        let page = render(&comparison).unwrap();
        let rows: Vec<Figures> = comparison.results.iter().map(Figures::of).collect();
        let best = COLUMNS.iter().flat_map(|c| c.shown(&rows)).filter(|shown| shown.best).count();
        assert_eq!(page.matches("class=\"best\"").count(), best);
        assert_eq!(spans().iter().map(|(_, count)| count).sum::<usize>(), COLUMNS.len());
    }

    /// Writes the page for a look at it: `ROSPIN_LAB_PREVIEW=/tmp/x.html cargo test -p rospin-lab`.
    #[test]
    fn preview() {
        if let Some(path) = std::env::var_os("ROSPIN_LAB_PREVIEW") {
            std::fs::write(path, render(&testing::comparison()).unwrap()).unwrap();
        }
    }
}
