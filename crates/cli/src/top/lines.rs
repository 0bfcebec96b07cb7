//! Lines of the screen, for the terminal and for text alike.

use std::time::Duration;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use rospin_report::number::counted;

use super::app::{App, Page};
use super::columns::{Column, Row, pad_name, short, time};
use super::programs::Shown;

/// The largest number of programs that have a line each at the head.
const PROGRAMS: usize = 4;
/// The largest number of callbacks that do not run although they should which have a line each at the head.
const OVERDUE: usize = 3;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().fg(Color::DarkGray);
const BAD: Style = Style::new().fg(Color::Red);
const LOSSY: Style = Style::new().fg(Color::Yellow);

/// Returns a line in a style, cut to the width.
fn line(text: &str, width: usize, style: Style) -> Line<'static> {
    let text: String = text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).take(width).collect();
    Line::styled(text.trim_end().to_owned(), style)
}

/// Returns the lines of a sentence in a style, broken between words where it is longer than the width.
fn sentence(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let options = textwrap::Options::new(width).subsequent_indent("  ");
    textwrap::wrap(text, options).iter().map(|part| line(part, width, style)).collect()
}

/// Returns the lines above the table: what is watched, and how it is shown.
pub(super) fn head(app: &App, width: usize) -> Vec<Line<'static>> {
    let count = app.programs.len();
    let mut first = format!("rospin top  {}, every {}", counted(count as u64, "program"), seconds(app.interval));
    if app.is_paused {
        first += "  PAUSED";
    }
    if app.is_typing {
        first += &format!("  filter: {}_", app.filter);
    } else if !app.filter.is_empty() {
        first += &format!("  filter: {}", app.filter);
    }
    let mut lines = vec![line(&first, width, BOLD)];
    for program in app.programs.iter().take(if count > PROGRAMS { PROGRAMS - 1 } else { PROGRAMS }) {
        lines.push(program_line(app, program, width));
    }
    if count > PROGRAMS {
        lines.push(line(&format!("… and {} more", count - PROGRAMS + 1), width, DIM));
    }
    lines.extend(overdue(app, width));
    if count == 0 {
        lines.push(line(
            "No program of rospin runs here that can be watched: one that calls rospin::init can,",
            width,
            PLAIN,
        ));
        lines.push(line("unless ROSPIN_LIVE is 0 for it. Programs that start are found.", width, PLAIN));
    }
    lines
}

/// Returns a sentence for each callback that should run and does not, those that have not for longest first.
fn overdue(app: &App, width: usize) -> Vec<Line<'static>> {
    let mut all: Vec<_> = app.programs.iter().flat_map(|program| &program.view.overdue).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.for_ns));
    let shown = if all.len() > OVERDUE { OVERDUE - 1 } else { OVERDUE };
    let mut lines: Vec<_> = all.iter().take(shown).flat_map(|one| sentence(&one.text, width, BAD)).collect();
    if all.len() > OVERDUE {
        lines.push(line(&format!("… and {} more do not run", all.len() - shown), width, BAD));
    }
    lines
}

fn seconds(interval: Duration) -> String {
    format!("{} s", interval.as_secs_f64())
}

fn program_line(app: &App, program: &Shown, width: usize) -> Line<'static> {
    let Shown { pid, view, trouble, .. } = program;
    let name = pad_name(&program.name, program.name.chars().count().min(24));
    if let Some(trouble) = trouble {
        return line(&format!("{pid} {name}: {trouble}"), width, BAD);
    }
    let per_second = view.events as f64 * 1e9 / view.interval_ns.max(1) as f64;
    let missed: u64 = view.callbacks.iter().map(|callback| callback.missed_total).sum();
    let lost: u64 = view.losses.iter().map(|loss| loss.total).sum();
    let shown = view.callbacks.iter().filter(|callback| app.shows(callback)).count();
    let hidden = match view.callbacks.len() - shown {
        0 => String::new(),
        hidden => format!(" (+{hidden})"),
    };
    let mut text = format!(
        "{pid} {name}: {:.0}% CPU, {shown}{hidden} callbacks, {} events/s, {missed} missed, {lost} lost",
        program.cpu() * 100.0,
        short(per_second),
    );
    if view.dropped_total > 0 {
        text += &format!(", {} events not seen", view.dropped_total);
    }
    line(
        &text,
        width,
        if missed > 0 {
            BAD
        } else if lost > 0 {
            LOSSY
        } else {
            PLAIN
        },
    )
}

/// Returns the line with the names of the pages, of which the one that is shown stands in brackets, and the column by
/// which callbacks are sorted.
pub(super) fn tabs(app: &App, width: usize) -> Line<'static> {
    let tab = |page: Page| if page == app.page { format!("[{}]", page.title()) } else { format!(" {} ", page.title()) };
    let mut text: String = Page::ALL.map(tab).concat();
    if app.page == Page::Callbacks {
        let order = if app.is_reversed { "smallest" } else { "largest" };
        let is_text = matches!(app.sorted_by(), Column::Name | Column::Program);
        let order = if is_text { "" } else { order };
        text += &format!("   by {} {order}", app.sorted_by().title());
    }
    line(&text, width, PLAIN)
}

/// Returns the page: the head of its table, and its rows.
pub(super) fn page(app: &App, page: Page, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    match page {
        Page::Callbacks => callbacks(app, width),
        Page::Threads => threads(app, width),
        Page::Queues => queues(app, width),
        Page::Losses => losses(app, width),
    }
}

fn callbacks(app: &App, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    let (columns, name) = Column::fitting(width, app.bounds.is_some(), app.has_twins());
    let join = |cell: &dyn Fn(&Column) -> String| columns.iter().map(cell).collect::<Vec<_>>().join(" ");
    let row = |row: &Row<'_>| {
        let style = match row.callback {
            of if of.missed_total > 0 || row.is_beyond() || row.is_overdue() => BAD,
            of if of.lost_total > 0 => LOSSY,
            of if of.runs == 0 => DIM,
            _ => PLAIN,
        };
        line(&join(&|column| column.cell(row, name)), width, style)
    };
    (line(&join(&|column| column.head(name)), width, BOLD), app.rows().iter().map(row).collect())
}

fn threads(app: &App, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    let name = width.saturating_sub(61).clamp(12, 40);
    let head = format!(
        "{:>8} {:<name$} {:<16} {:<8} {:>4} {:>4} {:>6} {:>8}",
        "THREAD", "NAME", "EXECUTOR", "CLASS", "PRIO", "CORE", "CPU", "CALLBACK"
    );
    let mut rows = Vec::new();
    for program in &app.programs {
        for thread in &program.threads {
            let seen = program.view.threads.iter().find(|seen| seen.kernel_id == thread.id);
            let executor = seen.and_then(|seen| seen.executor.as_deref()).unwrap_or("-");
            if !app.passes([thread.name.as_str(), executor, program.name.as_str()]) {
                continue;
            }
            let callbacks = seen.map_or_else(|| "-".to_owned(), |seen| format!("{:.1}%", seen.utilisation * 100.0));
            let text = format!(
                "{:>8} {} {} {:<8} {:>4} {:>4} {:>5.1}% {callbacks:>8}",
                thread.id,
                pad_name(&thread.name, name),
                pad_name(executor, 16),
                thread.class,
                thread.priority,
                thread.core,
                thread.cpu * 100.0,
            );
            rows.push(line(&text, width, if seen.is_some() { PLAIN } else { DIM }));
        }
    }
    (line(&head, width, BOLD), rows)
}

/// Returns a column with the program, and the space behind it; nothing unless callbacks of two programs have the same
/// name.
fn whose(app: &App, program: Option<&Shown>) -> String {
    if !app.has_twins() {
        return String::new();
    }
    let width = Column::Program.width();
    let text = program.map_or_else(|| Column::Program.title().to_owned(), |of| format!("{} {}", of.pid, of.name));
    let text: String = text.chars().take(width).collect();
    format!("{} ", pad_name(&text, width))
}

fn queues(app: &App, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    let title = whose(app, None);
    let name = width.saturating_sub(24 + title.chars().count()).max(16) / 2;
    let head = format!("{title}{:<name$} {:<name$} {:>6} {:>6} {:>6}", "TOPIC", "TAKEN BY", "FILL", "MAX", "DEPTH");
    let mut rows = Vec::new();
    for (program, queue) in app.programs.iter().flat_map(|of| of.view.queues.iter().map(move |queue| (of, queue))) {
        let taker = queue.callback.as_deref().unwrap_or("-");
        if app.shows_of(&program.view, taker) && app.passes([queue.topic.as_str(), taker]) {
            let [fill, max, depth] = [queue.fill, queue.fill_max, queue.depth].map(|number| short(number as f64));
            let (topic, taker) = (pad_name(&queue.topic, name), pad_name(taker, name));
            let text = format!("{}{topic} {taker} {fill:>6} {max:>6} {depth:>6}", whose(app, Some(program)));
            rows.push(line(&text, width, if queue.fill_max >= queue.depth { LOSSY } else { PLAIN }));
        }
    }
    (line(&head, width, BOLD), rows)
}

fn losses(app: &App, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    let title = whose(app, None);
    let name = width.saturating_sub(34 + title.chars().count()).max(12);
    let head = format!("{title}{:<name$} {:<16} {:>8} {:>7}", "LOST BY", "CAUSE", "NOW", "TOTAL");
    let mut rows = Vec::new();
    for program in &app.programs {
        let whose = whose(app, Some(program));
        for loss in &program.view.losses {
            if !app.shows_of(&program.view, &loss.of) || !app.passes([loss.of.as_str(), loss.cause]) {
                continue;
            }
            let text = format!(
                "{whose}{} {:<16} {:>8} {:>7}",
                pad_name(&loss.of, name),
                loss.cause,
                short(loss.count as f64),
                short(loss.total as f64)
            );
            rows.push(line(&text, width, if loss.count > 0 { LOSSY } else { PLAIN }));
        }
        let skipping = program.view.callbacks.iter().filter(|callback| callback.overruns_total > 0);
        for callback in skipping.filter(|callback| app.passes([callback.name.as_str(), "due time skipped"])) {
            let total = short(callback.overruns_total as f64);
            let name = pad_name(&callback.name, name);
            let text = format!("{whose}{name} {:<16} {:>8} {total:>7}", "due time skipped", "");
            rows.push(line(&text, width, PLAIN));
        }
    }
    (line(&head, width, BOLD), rows)
}

/// Returns a callback by itself: its settings, the histograms of its times, and its worst activations.
pub(super) fn detail(app: &App, width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(row) = app.opened_row() else { return vec![line("This callback is gone.", width, DIM)] };
    let of = row.callback;
    let settings = format!(
        "{} of {} in {} {}, group {}, priority {}",
        of.kind, of.executor, row.program.name, row.program.pid, of.group, of.priority
    );
    let bound = row.bound.map(|bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
    let known =
        [("period", of.period_ns), ("deadline", of.deadline_ns), ("bound", bound), ("waits for", of.waiting_ns)];
    let known = known.into_iter().filter(|(_, ns)| ns.is_some()).map(|(what, ns)| format!("{what} {}", time(ns)));
    let counts = [
        (of.missed_total, "missed"),
        (of.lost_total, "lost"),
        (of.overruns_total, "due times skipped"),
        (of.incidents_total, "panics and errors"),
    ];
    let mut totals = vec![format!("{} activations", of.runs_total)];
    totals.extend(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    totals.extend(known);
    let mut lines =
        vec![line(&of.name, width, BOLD), line(&settings, width, PLAIN), line(&totals.join(", "), width, PLAIN)];
    if let Some(one) = row.program.view.overdue.iter().find(|one| one.place == of.place) {
        lines.extend(sentence(&one.text, width, BAD));
    }
    let Some(detail) = &app.detail else {
        lines.push(line("Its times come with the next interval.", width, DIM));
        return lines;
    };
    for loss in &detail.losses {
        lines.push(line(&format!("lost: {} {}", loss.total, loss.cause), width, LOSSY));
    }
    let bars = height.saturating_sub(lines.len() + 8).clamp(3, 12);
    let half = width.saturating_sub(2) / 2;
    let columns = [("exec", &detail.execution), ("resp", &detail.response)].map(|(title, histogram)| {
        let summary = histogram.summary().unwrap_or_default();
        let [p50, p99, max] = [summary.p50_ns, summary.p99_ns, summary.max_ns].map(|ns| time(Some(ns)));
        let mut column = vec![format!("{title} 50% {p50} 99% {p99} max {max}")];
        let found = histogram.bars(bars);
        let most = found.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
        let room = half.saturating_sub(16).max(1);
        column.extend(found.iter().map(|(end, count)| {
            // Every bar that counts something can be seen.
            let length = (count * room as u64).div_ceil(most) as usize;
            format!("{:>7} {:<room$} {:>6}", time(Some(*end)), "█".repeat(length), short(*count as f64))
        }));
        column
    });
    for place in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let [left, right] = [0, 1].map(|column| columns[column].get(place).cloned().unwrap_or_default());
        let left: String = left.chars().take(half).collect();
        lines.push(line(&format!("{left:<half$}  {right}"), width, PLAIN));
    }
    if !detail.worst.is_empty() {
        let titles = ["WORST IN A MINUTE", "RESPONSE", "EXECUTION", "WAITED", "LATE"];
        let [first, rest @ ..] = titles;
        lines.push(line(&format!("{first:<18}{}", rest.map(|title| format!("{title:>10}")).concat()), width, BOLD));
    }
    for worst in &detail.worst {
        let ago = row.program.view.end_ns.saturating_sub(worst.end_ns);
        let waited = worst.response_ns.saturating_sub(worst.execution_ns);
        let cells = [Some(worst.response_ns), Some(worst.execution_ns), Some(waited), worst.late_ns];
        let cells = cells.map(|ns| format!("{:>10}", time(ns))).concat();
        let style = if worst.late_ns.is_some() { BAD } else { PLAIN };
        lines.push(line(&format!("{:<18}{cells}", format!("{} ago", time(Some(ago)))), width, style));
    }
    lines
}

/// Returns what keys do.
pub(super) fn help(width: usize) -> Vec<Line<'static>> {
    let text = [
        "up, down, PgUp, PgDn, Home, End   another row",
        "Enter      the callback's histogram, and its worst activations",
        "Esc        back; without a callback: no filter",
        "Tab        callbacks, threads, queues, losses",
        "s, < >     sort by another column; r the other way round",
        "/          show only what has a text in its name, executor, group or program",
        "i          show the callbacks that every node has, of its parameters and log;",
        "           24 (+48) callbacks are 24 that are shown and 48 that are hidden",
        "p, space   pause",
        "q          end",
        "",
        "RATE    activations in a second          UTIL    part of a thread's time",
        "EXEC50 EXEC99 EXMAX   execution time: 50 %, 99 %, longest of the interval",
        "RESP99  time from release to end: 99 % of the interval",
        "RSPMAX  the longest since it is watched; ! beyond its deadline or bound;",
        "        > it waits so long by now, and no thread runs it",
        "DEADLN  deadline       BOUND  of the analysis of the system file",
        "QUEUE   messages in its queue / the number that the queue holds",
        "LOST MISS   items lost and deadlines missed since it is watched; what waits",
        "        beyond its deadline has missed it",
    ];
    text.iter().map(|text| line(text, width, PLAIN)).collect()
}

/// Returns everything as text, for a file or a pipe.
pub(super) fn text(app: &App, width: usize) -> String {
    let mut lines = head(app, width);
    for page_shown in Page::ALL {
        let (head, rows) = page(app, page_shown, width);
        if !rows.is_empty() {
            lines.push(Line::default());
            lines.push(head);
            lines.extend(rows);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
