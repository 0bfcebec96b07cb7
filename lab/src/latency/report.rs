//! The HTML report.

use std::fmt::{self, Write};

use plotters::style::RGBColor;
use rospin_report::page::{self, ReportError, escape};

use super::comparison::Comparison;
use super::figures::{Bounds, deadline_ms, rows, standings};
use super::settings::Settings;
use super::stalls::STALL_MS;
use super::topics;
use super::transport::KEEP_LAST;
use super::{plots, table, verdict};

/// Returns the whole HTML page.
pub(crate) fn render(comparison: &Comparison) -> Result<String, ReportError> {
    let mut page = String::new();
    head(&mut page, comparison)?;
    let (header, rows) = table::grid(comparison);
    page::table(&mut page, &page::columns(header.iter().map(String::as_str)), &rows)?;
    writeln!(
        page,
        "<p class=\"soft\">Under each topic: 99th percentile of the latency in ms, mean over the runs; ! after the \
         deadline in a run. good: runs in which all topics kept it. missed: deadlines missed by single messages. \
         stalls: times that the core itself stood still for more than {STALL_MS} ms; longest: ms.</p>"
    )?;
    figure(&mut page, comparison)?;
    spread(&mut page, comparison)?;
    variants(&mut page, comparison)?;
    threads(&mut page, comparison)?;
    measured(&mut page, comparison)?;
    Ok(page::frame("latency of real-time subscribers", &page))
}

fn head(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let settings = &comparison.settings;
    writeln!(page, "<h1>Latency from publication to the end of the callback</h1>")?;
    writeln!(
        page,
        "<p class=\"soft\">Five topics, {} % load, everything on core {}, {} s a run, on {} (Skoudlil et al. \
         2025).</p>",
        settings.load_percent,
        settings.core,
        settings.duration.as_secs_f64(),
        escape(&comparison.machine.describe()),
    )?;
    writeln!(page, "<p class=\"verdict\">{}</p>", escape(&verdict::sentence(comparison)))
}

fn figure(page: &mut String, comparison: &Comparison) -> Result<(), ReportError> {
    let chip =
        |RGBColor(r, g, b): RGBColor| format!("<span class=\"chip\" style=\"background:rgb({r},{g},{b})\"></span>");
    writeln!(page, "<h2>Latency, topic by topic</h2>")?;
    writeln!(
        page,
        "<p>A box reaches from the median to the 99th percentile, its line to the longest latency, over all runs. The \
         dashed line is the analysis with overheads, the full one the deadline.</p>\n<ul class=\"legend\"><li>{}99th percentile \
         keeps the deadline in every run</li><li>{}misses it</li></ul>",
        chip(plots::KEPT),
        chip(plots::MISSED),
    )?;
    let work = topics::work(comparison.settings.load_percent);
    let bounds = Bounds::of(comparison);
    let text = |bound: Option<f64>| bound.map_or_else(|| "none".to_owned(), |ms| format!("{ms:.2} ms"));
    for (topic, work) in work.into_iter().enumerate() {
        let (plain, real) = (text(bounds.plain_ms[topic]), text(bounds.real_ms[topic]));
        writeln!(
            page,
            "<figure class=\"scroll\"><figcaption>Topic {}: every {} ms, callback takes {:.2} ms, analysis \
             {plain}, with overheads {real}</figcaption>{} </figure>",
            topic + 1,
            deadline_ms(topic),
            work.as_secs_f64() * 1e3,
            plots::topic(comparison, topic)?,
        )?;
    }
    Ok(())
}

/// Appends a table with the figures of every single run, since means could hide a bad one.
fn spread(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let ms = |value: Option<f64>| value.map_or_else(|| "lost".to_owned(), |ms| format!("{ms:.3}"));
    let rows: Vec<_> = rows(comparison)
        .iter()
        .map(|row| {
            vec![
                row.variant.name().to_owned(),
                row.run.to_string(),
                (row.topic + 1).to_string(),
                ms(row.p50_ms),
                ms(row.p99_ms),
                ms(row.max_ms),
                row.sent.to_string(),
                row.received.to_string(),
                row.missed_deadlines.to_string(),
            ]
        })
        .collect();
    writeln!(page, "<h2>Every run</h2>\n<details><summary>{} rows</summary>", rows.len())?;
    let header = ["variant", "run", "topic", "p50 ms", "p99 ms", "max ms", "sent", "received", "missed"];
    page::table(page, &page::columns(header), &rows)?;
    writeln!(page, "</details>")
}

fn variants(page: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(page, "<h2>Variants</h2>\n<dl>")?;
    for standing in standings(comparison) {
        let variant = standing.variant;
        let plain = if variant.real_time { "" } else { " Without real-time threads." };
        writeln!(page, "<dt>{}</dt><dd>{}{plain}</dd>", variant.name(), escape(variant.structure.describe()))?;
    }
    writeln!(page, "</dl>")
}

/// Appends the settings that the threads of each variant had in its first run.
fn threads(page: &mut String, comparison: &Comparison) -> fmt::Result {
    writeln!(page, "<h2>Threads, as the kernel says</h2>\n<dl>")?;
    for result in comparison.results.iter().filter(|result| result.run == 1) {
        let threads: Vec<String> = result
            .threads()
            .map(|thread| {
                let missing: String = thread.shortfalls.iter().map(|shortfall| format!(" ({shortfall})")).collect();
                format!("{}: {} on {}{missing}", thread.name, thread.scheduling, thread.cores)
            })
            .collect();
        writeln!(page, "<dt>{}</dt><dd>{}</dd>", result.variant.name(), escape(&threads.join("; ")))?;
    }
    writeln!(page, "</dl>")
}

fn measured(page: &mut String, comparison: &Comparison) -> fmt::Result {
    let settings = &comparison.settings;
    writeln!(page, "<h2>How it was measured</h2>")?;
    let entries = [
        (
            "Runs",
            format!(
                "{} a variant, {} s each, in two processes of their own",
                comparison.runs,
                settings.duration.as_secs_f64()
            ),
        ),
        ("Kernel", comparison.kernel.describe(settings.core)),
        (
            "Topics",
            "absolute due times; the least urgent topic first, 0.25 ms apart: the worst way to meet, for callbacks \
             that can be preempted and for those that cannot"
                .to_owned(),
        ),
        ("Transport", transport(settings)),
        ("Work", "thread CPU time, by trial division".to_owned()),
        (
            "R2R",
            "emulated: one message of each ready topic is taken at a time, into a channel of 11 that drops the newest"
                .to_owned(),
        ),
        (
            "Stalls",
            "a thread of the highest priority on the same core notes every 2 ms how late it is; this is the \
             machine's own doing, and no executor can be better"
                .to_owned(),
        ),
    ];
    page::how_it_was_run(page, &comparison.machine, &entries)
}

/// Returns a description of the way between the processes.
fn transport(settings: &Settings) -> String {
    match settings.wire {
        None => "a Unix socket a topic, with room for 100 messages and more".to_owned(),
        Some(wire) => format!(
            "ROS 2 nodes over {}, reliable, keep last {KEEP_LAST}; the middleware's threads are as urgent as sampling. rospin's executors \
             take messages themselves; for the others a thread as urgent hands them on to a socket a topic",
            wire.middleware.name(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::super::topics::TOPICS;
    use super::*;

    #[test]
    fn page_is_self_contained_and_complete() {
        let comparison = testing::comparison();
        let page = render(&comparison).unwrap();
        page::assert_self_contained(&page);
        assert_eq!(page.matches("<svg").count(), TOPICS);
        for standing in standings(&comparison) {
            assert!(page.contains(&escape(standing.variant.structure.describe())));
        }
        assert!(page.contains(&escape(&verdict::sentence(&comparison))));
        assert!(page.contains("publisher: SCHED_FIFO 24 on 1"));
    }

    #[test]
    fn foreign_text_is_escaped() {
        let mut comparison = testing::comparison();
        comparison.results[0].subscribed.threads[0].shortfalls = vec!["<b>&".to_owned()];
        let page = render(&comparison).unwrap();
        assert!(page.contains("Test &lt;CPU&gt;") && page.contains("(&lt;b&gt;&amp;)"));
        assert!(!page.contains("<CPU>") && !page.contains("<b>"));
    }
}
