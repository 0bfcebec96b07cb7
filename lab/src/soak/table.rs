//! The tables in the terminal, and the same cells for the report.

use rospin_measure::stats::percentile;
use rospin_report::text_table::{self, Side};

use super::accounts::TopicAccount;
use super::lead;
use super::ledger::Tally;
use super::outcome::Outcome;
use super::words::HeapUse;

pub(super) const FAULTS: [(&str, Side); 4] =
    [("fault", Side::Left), ("survived", Side::Right), ("s together", Side::Right), ("not possible", Side::Right)];
pub(super) const TOPICS: [(&str, Side); 8] = [
    ("topic", Side::Left),
    ("published", Side::Right),
    ("heard", Side::Right),
    ("lost, counted", Side::Right),
    ("to nobody", Side::Right),
    ("no station", Side::Right),
    ("one end only", Side::Right),
    ("replaced", Side::Right),
];
pub(super) const REQUESTS: [(&str, Side); 7] = [
    ("requests", Side::Left),
    ("all", Side::Right),
    ("answered", Side::Right),
    ("refused", Side::Right),
    ("no server", Side::Right),
    ("error", Side::Right),
    ("no answer in 60 s", Side::Right),
];
pub(super) const HEALED: [(&str, Side); 4] =
    [("right again after", Side::Left), ("p50 s", Side::Right), ("max s", Side::Right), ("bound s", Side::Right)];
pub(super) const FLAT: [(&str, Side); 8] = [
    ("process", Side::Left),
    ("age s", Side::Right),
    ("KiB", Side::Right),
    ("heap KiB", Side::Right),
    ("of it Rust's", Side::Right),
    ("growth %", Side::Right),
    ("threads", Side::Right),
    ("files", Side::Right),
];

/// Returns all tables.
pub(super) fn render(outcome: &Outcome) -> String {
    let mut text = text_table::render(&FAULTS, &faults(outcome));
    text += &text_table::render(&TOPICS, &topics(outcome));
    text += &text_table::render(&REQUESTS, &requests(outcome));
    text += &text_table::render(&HEALED, &healed(outcome));
    if !outcome.flatness.is_empty() {
        text += &text_table::render(&FLAT, &flat(outcome));
    }
    text
}

pub(super) fn faults(outcome: &Outcome) -> Vec<Vec<String>> {
    let row = |(name, row): (&&str, &super::outcome::FaultRow)| {
        vec![(*name).to_owned(), row.count.to_string(), format!("{:.1}", row.seconds), row.skipped.to_string()]
    };
    outcome.faults.iter().map(row).collect()
}

pub(super) fn topics(outcome: &Outcome) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (name, topic) in &outcome.topics {
        let TopicAccount { published, heard, lost, to_nobody, to_the_dead, one_sided, replaced } = *topic;
        let numbers = [published, heard, lost, to_nobody, to_the_dead, one_sided, replaced];
        rows.push([(*name).to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect());
    }
    rows
}

pub(super) fn requests(outcome: &Outcome) -> Vec<Vec<String>> {
    let row = |name: &str, tally: &Tally| {
        let Tally { answered, unavailable, unanswered, timed_out, refused } = *tally;
        let numbers = [tally.total(), answered, refused, unavailable, unanswered, timed_out];
        [name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    };
    vec![
        row("calls", &outcome.called),
        row("calls by way of a robot", &outcome.relayed),
        row("goals", &outcome.asked_goals),
        row("parameters", &outcome.speed_sets),
        row("changes of state", &outcome.changed),
        row("components", &outcome.components),
    ]
}

pub(super) fn healed(outcome: &Outcome) -> Vec<Vec<String>> {
    let bound = lead::bound(outcome.middleware).as_secs_f64();
    let mut rows = Vec::new();
    for (subject, seconds) in &outcome.healed_s {
        let at = |percent| percentile(seconds, percent).map_or_else(|| "-".to_owned(), |s| format!("{s:.1}"));
        rows.push(vec![subject.name().to_owned(), at(50.0), at(100.0), format!("{bound:.0}")]);
    }
    rows
}

pub(super) fn flat(outcome: &Outcome) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for row in &outcome.flatness {
        let change = |first: u64, last: u64| format!("{first} to {last}");
        let heap = |bytes: &dyn Fn(&HeapUse) -> u64| match (&row.first.heap, &row.last.heap) {
            (Some(first), Some(last)) => change(bytes(first) / 1024, bytes(last) / 1024),
            _ => "-".to_owned(),
        };
        rows.push(vec![
            row.name.clone(),
            format!("{:.0} to {:.0}", row.from_s, row.to_s),
            change(row.first.memory_kib, row.last.memory_kib),
            heap(&|heap| heap.all_bytes),
            heap(&|heap| heap.rust_bytes),
            format!("{:+.1}", row.growth() * 100.0),
            change(row.first.threads, row.last.threads),
            change(row.first.files, row.last.files),
        ]);
    }
    rows
}
