//! Rows of tables and pictures of a recording, which the report in the terminal and the one in HTML have in common.

use std::collections::BTreeMap;

use rospin_report::number::counted;
use rospin_report::page::columns;
use rospin_report::text_table::Side;
use rospin_report::timeline::{self, Bar, Timeline, TimelineRow};
use rospin_trace::Model;
use rospin_trace::blame::{Blame, Reason, Share};
use rospin_trace::chains::{Chain, chains};
use rospin_trace::figures::Figures;

use super::choice::Choice;
use super::violations::{self, Found};

/// The largest number of rows of a table of chains.
const CHAINS: usize = 30;
/// The nanoseconds before the first callback of an executor from which on a line tells that they are not counted.
const NOTABLE_NS: u64 = 1_000_000;
/// The largest number of callbacks that are named for each reason of waiting.
const SHARES: usize = 3;

/// A table with a title, and a sentence that explains it.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) sentence: &'static str,
    pub(super) header: Vec<(&'static str, Side)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// An activation that was late or waited long: what happened in words, and a picture of it.
pub(super) struct Worst {
    pub(super) text: String,
    pub(super) timeline: Timeline,
}

/// Content of a report, for the terminal and the HTML page.
pub(super) struct Facts {
    /// Lines about the whole recording, and one for each damaged place of it.
    pub(super) summary: Vec<String>,
    /// Sentences about callbacks that should run and do not.
    pub(super) alarms: Vec<String>,
    pub(super) tables: Vec<Table>,
    /// Late activations, the latest first, then those that waited longest.
    pub(super) worst: Vec<Worst>,
}

impl Facts {
    /// Adds the table of violations behind the first one.
    pub(super) fn with_violations(mut self, found: &[Found]) -> Self {
        let place = self.tables.len().min(1);
        if let Some(table) = violations::table(found) {
            self.tables.insert(place, table);
        }
        self
    }

    /// Adds differences between the program and its system file.
    pub(super) fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.summary.extend(remarks);
        self
    }
}

/// Returns nanoseconds as milliseconds.
fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// Returns the mean as milliseconds.
fn mean(figures: &Figures) -> String {
    format!("{:.3}", figures.mean_ns / 1e6)
}

/// Returns what the model of a recording says of that part of it. `faults` has a line for each damaged place of it.
/// `worst` is the number of activations that are shown one by one; with `callback`, they are those of the callback with
/// that number.
pub(super) fn facts(
    model: &Model,
    choice: &Choice,
    faults: &[String],
    (worst, callback): (usize, Option<usize>),
) -> Facts {
    let blame = Blame::new(model);
    let labels: Vec<String> = (0..model.callbacks.len()).map(|callback| model.label(callback)).collect();
    let mut tables = vec![callbacks(model, choice, &labels), waits(model, choice, &blame, &labels)];
    tables.extend(chain_table(model, choice, &labels));
    tables.extend(losses(model, choice, &labels));
    // Those that every node has are among them: whoever asks for a parameter waits for ever.
    let overdue = model.overdue.iter().filter(|one| choice.has(one.callback) || choice.has_name(&labels[one.callback]));
    Facts {
        summary: summary(model, choice, faults, &labels),
        alarms: overdue.map(|one| model.tell_overdue(one) + ".").collect(),
        tables,
        worst: worst_of(model, choice, &blame, &labels, (worst, callback)),
    }
}

/// Returns the numbers of events, activations and losses in sentences, and a line for each fault.
fn summary(model: &Model, choice: &Choice, faults: &[String], labels: &[String]) -> Vec<String> {
    let seconds = (model.span.1 - model.span.0) as f64 / 1e9;
    let missing = match model.dropped {
        0 => "none is missing".to_owned(),
        dropped => format!("{dropped} more are missing, because buffers were full: record with a larger --buffer"),
    };
    let events = counted(model.events, "event");
    let processes = if model.processes.len() == 1 { "process" } else { "processes" };
    let mut lines = vec![format!("{events} of {} {processes} in {seconds:.3} s; {missing}.", model.processes.len())];
    lines.extend(choice.window.clone());
    let activations: Vec<_> = model.activations.iter().filter(|of| choice.has_activation(of)).collect();
    let waiting = model.waiting.iter().filter(|of| of.is_late && choice.has(of.callback)).count();
    let late = activations.iter().filter(|activation| activation.is_late()).count() + waiting;
    let is_shown = |callback: Option<usize>| callback.is_none_or(|callback| choice.has(callback));
    let lost: u64 = model.losses.iter().filter(|loss| is_shown(loss.callback)).map(|loss| loss.count).sum();
    let callbacks = || model.callbacks.iter().enumerate().filter(|(number, _)| choice.has(*number));
    let overruns: u64 = callbacks().map(|(_, callback)| callback.overruns).sum();
    let incidents = model.incidents.iter().filter(|incident| is_shown(incident.callback)).count();
    let still = if waiting > 0 { format!(", {waiting} of them still waiting at the end") } else { String::new() };
    lines.push(format!(
        "{}: {late} missed their deadline{still}. {} lost, {} of timers skipped, {}.",
        counted(activations.len() as u64, "activation"),
        counted(lost, "item"),
        counted(overruns, "due time"),
        counted(incidents as u64, "incident"),
    ));
    let first = activations.iter().max_by_key(|of| of.before_spin_ns).filter(|of| of.before_spin_ns > NOTABLE_NS);
    if let Some(of) = first {
        lines.push(format!(
            "Not counted as waiting: the time before executors ran their first callback, up to {:.0} ms for {}. They did not spin \
             yet, or the recording began later.",
            of.before_spin_ns as f64 / 1e6,
            labels[of.callback],
        ));
    }
    if choice.internals > 0 {
        lines.push(format!(
            "Left out: {} that every node has, of its parameters and its log; --internals shows them.",
            counted(choice.internals as u64, "callback")
        ));
    }
    lines.extend(faults.iter().map(|fault| format!("Damaged: {fault}")));
    lines
}

/// Returns the table of execution, waiting and response times of callbacks. Those that never ran to their end have a
/// row, too.
fn callbacks(model: &Model, choice: &Choice, labels: &[String]) -> Table {
    let has_stalls = model.activations.iter().any(|activation| activation.stalled_ns().is_some());
    let mut header = columns([
        "callback",
        "kind",
        "count",
        "execution mean",
        "p99",
        "max",
        "waiting mean",
        "p99",
        "max",
        "response min",
        "mean",
        "p99",
        "max",
        "jitter",
        "late",
    ]);
    header.extend(has_stalls.then_some(("not scheduled", Side::Right)));
    header[1].1 = Side::Left;
    let mut rows = Vec::new();
    for (number, callback) in model.callbacks.iter().enumerate().filter(|(number, _)| choice.has(*number)) {
        let ended = choice.ended(model, callback);
        let mut row = vec![labels[number].clone(), callback.kind.to_string(), ended.len().to_string()];
        let figures = [
            Figures::of(ended.iter().map(|of| of.execution_ns())),
            Figures::of(ended.iter().map(|of| of.waiting_ns())),
        ];
        for figures in figures {
            let cells = figures.map(|of| [mean(&of), ms(of.p99_ns), ms(of.max_ns)]);
            row.extend(cells.unwrap_or_else(|| std::array::from_fn(|_| "-".to_owned())));
        }
        let response = Figures::of(ended.iter().filter_map(|of| of.response_ns()));
        let cells = response.map(|of| [ms(of.min_ns), mean(&of), ms(of.p99_ns), ms(of.max_ns), ms(of.jitter_ns())]);
        row.extend(cells.unwrap_or_else(|| std::array::from_fn(|_| "-".to_owned())));
        let waiting = model.waiting.iter().filter(|of| of.callback == number && of.is_late).count();
        row.push((ended.iter().filter(|of| of.is_late()).count() + waiting).to_string());
        row.extend(has_stalls.then(|| ms(ended.iter().filter_map(|of| of.stalled_ns()).sum())));
        rows.push(row);
    }
    Table {
        title: "Callbacks",
        sentence: "Times in milliseconds. Waiting is from release to start, response from release to end, jitter the longest less \
                   the shortest response. What waits beyond its deadline when the recording ends is late, too.",
        header,
        rows,
    }
}

/// Returns the table of callbacks that waited, the longest in total first, with the reasons.
fn waits(model: &Model, choice: &Choice, blame: &Blame<'_>, labels: &[String]) -> Table {
    let mut rows = Vec::new();
    for (number, callback) in model.callbacks.iter().enumerate().filter(|(number, _)| choice.has(*number)) {
        let mut total: BTreeMap<(Reason, Option<usize>), u64> = BTreeMap::new();
        let chosen = callback.activations.iter().filter(|place| choice.has_activation(&model.activations[**place]));
        let waiting = model.waiting.iter().filter(|of| of.callback == number);
        let waiting = waiting.flat_map(|of| blame.of_wait(number, of.from_ns, of.until_ns));
        for share in chosen.flat_map(|place| blame.of(*place)).chain(waiting) {
            *total.entry((share.reason, share.callback)).or_default() += share.ns;
        }
        let sum: u64 = total.values().sum();
        if sum == 0 {
            continue;
        }
        let mut shares: Vec<Share> =
            total.into_iter().map(|((reason, callback), ns)| Share { reason, callback, ns }).collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.ns));
        rows.push((sum, vec![labels[number].clone(), ms(sum), told(&shares, sum, labels)]));
    }
    rows.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
    let mut header = columns(["callback", "waited", "for"]);
    header[2].1 = Side::Left;
    Table {
        title: "What activations waited for",
        sentence: "Milliseconds in total, and the callbacks that ran meanwhile, or held the group while they awaited something.",
        header,
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    }
}

/// Returns the reasons in words, the largest first, each with the callbacks that ran longest meanwhile. Percentages are
/// of `sum`, the whole waiting time in nanoseconds. `shares` begins with the largest one.
fn told(shares: &[Share], sum: u64, labels: &[String]) -> String {
    let percent = |ns: u64| format!("{:.0} %", 100.0 * ns as f64 / sum.max(1) as f64);
    let mut reasons: BTreeMap<Reason, (u64, Vec<String>)> = BTreeMap::new();
    for share in shares {
        let (ns, who) = reasons.entry(share.reason).or_default();
        *ns += share.ns;
        if let Some(callback) = share.callback.filter(|_| who.len() < SHARES) {
            who.push(format!("{} {}", labels[callback], percent(share.ns)));
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    let told = reasons.iter().map(|(reason, (ns, who))| {
        let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
        format!("{} {}{who}", percent(*ns), reason.as_str())
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Returns the table of latencies of chains, those with most runs first; `None` if there are no chains.
fn chain_table(model: &Model, choice: &Choice, labels: &[String]) -> Option<Table> {
    let mut by_count = chains(model);
    by_count.retain(|chain| chain.callbacks.iter().any(|callback| choice.has(*callback)));
    let is_in_window = |last: usize| model.activations[last].end_ns.is_some_and(|end| end >= choice.from_ns);
    by_count.iter_mut().for_each(|chain| chain.runs.retain(|(_, last)| is_in_window(*last)));
    by_count.sort_by_key(|chain| std::cmp::Reverse(chain.runs.len()));
    let row = |chain: &Chain| {
        let latency = Figures::of(chain.latencies_ns(model))?;
        let names: Vec<&str> = chain.callbacks.iter().map(|callback| labels[*callback].as_str()).collect();
        Some(vec![
            names.join(" > "),
            latency.count.to_string(),
            ms(latency.min_ns),
            mean(&latency),
            ms(latency.p99_ns),
            ms(latency.max_ns),
            ms(latency.jitter_ns()),
        ])
    };
    let rows: Vec<_> = by_count.iter().filter_map(row).take(CHAINS).collect();
    (!rows.is_empty()).then(|| Table {
        title: "Chains",
        sentence: "Messages followed from callback to callback: milliseconds from the first release to the last end.",
        header: columns(["chain", "count", "latency min", "mean", "p99", "max", "jitter"]),
        rows,
    })
}

/// Returns the table of lost items and of due times that timers skipped, by callback or topic, and cause; `None` if
/// there are none.
fn losses(model: &Model, choice: &Choice, labels: &[String]) -> Option<Table> {
    let mut counts: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for loss in &model.losses {
        if !loss.callback.map_or_else(|| choice.has_name(&loss.topic), |callback| choice.has(callback)) {
            continue;
        }
        let of = loss.callback.map_or_else(|| loss.topic.clone(), |callback| labels[callback].clone());
        *counts.entry((of, loss.cause)).or_default() += loss.count;
    }
    let skipping = model.callbacks.iter().enumerate().filter(|(_, callback)| callback.overruns > 0);
    for (number, callback) in skipping.filter(|(number, _)| choice.has(*number)) {
        counts.insert((labels[number].clone(), "timer overrun"), callback.overruns);
    }
    let mut header = columns(["of", "cause", "count"]);
    header[1].1 = Side::Left;
    let rows: Vec<_> =
        counts.into_iter().map(|((of, cause), count)| vec![of, cause.to_owned(), count.to_string()]).collect();
    (!rows.is_empty()).then_some(Table { title: "Losses", sentence: "Items that no callback got.", header, rows })
}

/// Returns the `count` worst activations that ran to their end, of the callback `only` if that is given.
fn worst_of(
    model: &Model,
    choice: &Choice,
    blame: &Blame<'_>,
    labels: &[String],
    (count, only): (usize, Option<usize>),
) -> Vec<Worst> {
    let mut places: Vec<usize> = (0..model.activations.len())
        .filter(|place| model.activations[*place].end_ns.is_some())
        .filter(|place| choice.has_activation(&model.activations[*place]))
        .filter(|place| only.is_none_or(|only| model.activations[*place].callback == only))
        .collect();
    // Late ones first, by how late they are; then by how long they waited.
    places.sort_by_key(|place| {
        let of = &model.activations[*place];
        std::cmp::Reverse((of.late_ns().unwrap_or(0), of.waiting_ns()))
    });
    places.into_iter().take(count).map(|place| worst(model, blame, labels, place)).collect()
}

/// Returns the text and the picture of the activation with the number `place`.
fn worst(model: &Model, blame: &Blame<'_>, labels: &[String], place: usize) -> Worst {
    let of = &model.activations[place];
    let callback = &model.callbacks[of.callback];
    let mut text = format!(
        "{} at {:.3} s: response {} ms, of which it waited {} ms",
        labels[of.callback],
        of.eligible_ns().saturating_sub(model.span.0) as f64 / 1e9,
        ms(of.response_ns().unwrap_or(0)),
        ms(of.waiting_ns()),
    );
    if let Some(late) = of.late_ns() {
        text += &format!("; {} ms after its deadline", ms(late));
    }
    let shares = blame.of(place);
    if of.waiting_ns() > 0 && !shares.is_empty() {
        text += &format!(". It waited for {}", told(&shares, of.waiting_ns(), labels));
    }
    Worst { text: text + ".", timeline: picture(model, blame, labels, (place, callback.executor)) }
}

/// Returns the picture of the activation with the number `place`: itself in the first row, and below it the threads of
/// its executor at that time. The time axis begins a little before its release.
fn picture(model: &Model, blame: &Blame<'_>, labels: &[String], (place, executor): (usize, usize)) -> Timeline {
    let of = &model.activations[place];
    let (release, end) = (of.eligible_ns(), of.end_ns.unwrap_or_else(|| of.start_ns()));
    let margin = (end - release.min(end)) / 10 + 1;
    let (from, to) = (release.saturating_sub(margin), end + margin);
    let bar = |release: u64, start: u64, end: u64, name: Option<String>| Bar {
        activation: timeline::Activation {
            callback: 0,
            thread: None,
            release_ns: release.saturating_sub(from),
            start_ns: start.saturating_sub(from),
            end_ns: end.min(to).saturating_sub(from),
        },
        name,
    };
    let own = of.segments.iter().map(|of| bar(of.release_ns.max(release), of.start_ns, of.end_ns, None));
    let mut rows = vec![TimelineRow {
        label: labels[of.callback].clone(),
        kind: Some(model.callbacks[of.callback].kind),
        bars: own.collect(),
    }];
    let mut threads: BTreeMap<usize, Vec<Bar>> = BTreeMap::new();
    for (start, end, other) in blame.overlapping(executor, from, to) {
        let running = &model.activations[other];
        let segment = running.segments.iter().find(|segment| segment.start_ns == start);
        let Some(thread) = segment.map(|segment| segment.thread) else { continue };
        let start = start.max(from);
        threads.entry(thread).or_default().push(bar(start, start, end, Some(labels[running.callback].clone())));
    }
    rows.extend(threads.into_iter().map(|(thread, bars)| TimelineRow {
        label: model.threads[thread].name.clone(),
        kind: None,
        bars,
    }));
    Timeline { end_ns: to - from, rows }
}
