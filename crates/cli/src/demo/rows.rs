//! The demo's results: table, sentences and JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_measure::machine::Machine;
use rospin_report::number::counted;
use rospin_report::text_table::{self, Side};
use rospin_scenario::{Bounds, Scenario};
use rospin_trace::monitor::{Monitor, ViolationKind};
use serde_json::{Value, json};

use super::drive::{Driven, Latencies};
use super::{Demo, NAME};

/// The chain of the IMU and the controller, about which the demo has a sentence.
const STEER: &str = "steer";
/// The timer that begins it.
const IMU: &str = "imu/sample";

/// The largest number of exceeded bounds about which there is a sentence each.
const SHOWN: usize = 3;

/// A chain or a callback, its bound and its latencies.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// The callbacks of a chain; empty for a callback.
    pub(super) callbacks: Vec<String>,
    pub(super) bound: Option<Duration>,
    pub(super) rospin: Option<Latencies>,
    pub(super) fifo: Option<Latencies>,
}

impl Row {
    /// Returns true if the longest latency was within the bound; `None` if there is no bound or nothing ran.
    fn holds(&self) -> Option<bool> {
        Some(u128::from(self.rospin?.max_ns) <= self.bound?.as_nanos())
    }
}

/// Returns a row for each chain of several callbacks, then one for each callback.
pub(super) fn rows(system: &Scenario, bounds: &Bounds, rospin: &Driven, fifo: &Driven) -> Vec<Row> {
    let mut rows = Vec::new();
    for chain in system.chains.iter().filter(|chain| chain.callbacks.len() > 1) {
        let bound = bounds.chains.iter().find(|bound| bound.name == chain.name);
        rows.push(Row {
            name: chain.name.clone(),
            callbacks: chain.callbacks.clone(),
            bound: bound.map(|bound| bound.bound),
            rospin: rospin.chains.get(&chain.name).copied(),
            fifo: fifo.chains.get(&chain.name).copied(),
        });
    }
    for callback in &system.callbacks {
        let bound = bounds.callbacks.iter().find(|bound| bound.name == callback.name);
        rows.push(Row {
            name: callback.name.clone(),
            callbacks: Vec::new(),
            bound: bound.map(|bound| bound.bound),
            rospin: rospin.callbacks.get(&callback.name).copied(),
            fifo: fifo.callbacks.get(&callback.name).copied(),
        });
    }
    rows
}

/// Returns what the monitor says of the worst violation of each bound, by the name of callback or chain.
pub(super) fn violations(monitor: &Monitor) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    for count in monitor.counts() {
        if matches!(count.kind, ViolationKind::Bound | ViolationKind::ChainBound) {
            told.insert(count.name, count.worst.to_string());
        }
    }
    told
}

/// Returns what is printed: the table, and what it says in sentences.
pub(super) fn text(demo: &Demo) -> String {
    let mut text = table(&demo.rows);
    text.push_str("Milliseconds from a due time or the arrival of a message to the end. ");
    text.push_str("Bounds are proven, as by `rospin analyze`.\n");
    for row in demo.rows.iter().filter(|row| !row.callbacks.is_empty()) {
        text.push_str(&format!("Chain `{}`: {}.\n", row.name, row.callbacks.join(", ")));
    }
    text.push('\n');
    for sentence in sentences(demo) {
        text.push_str(&textwrap::fill(&sentence, 100));
        text.push('\n');
    }
    text
}

fn table(rows: &[Row]) -> String {
    let header = [
        ("", Side::Left),
        ("bound", Side::Right),
        ("rospin p50", Side::Right),
        ("p99", Side::Right),
        ("max", Side::Right),
        ("", Side::Left),
        ("fifo p50", Side::Right),
        ("p99", Side::Right),
        ("max", Side::Right),
    ];
    let mut cells = Vec::new();
    for row in rows {
        let mut line = vec![row.name.clone()];
        line.push(row.bound.map_or_else(|| "-".to_owned(), |bound| ms(bound.as_nanos() as u64)));
        line.extend(figures(row.rospin));
        let verdict = match row.holds() {
            Some(true) => "held",
            Some(false) => "exceeded",
            None => "-",
        };
        line.push(verdict.to_owned());
        line.extend(figures(row.fifo));
        cells.push(line);
    }
    text_table::render(&header, &cells)
}

fn figures(latencies: Option<Latencies>) -> [String; 3] {
    match latencies {
        Some(of) => [ms(of.p50_ns), ms(of.p99_ns), ms(of.max_ns)],
        None => ["-", "-", "-"].map(str::to_owned),
    }
}

fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

/// Returns the verdict on the bounds, the comparison, and what the machine did not give.
fn sentences(demo: &Demo) -> Vec<String> {
    let mut all = Vec::new();
    let exceeded: Vec<&Row> = demo.rows.iter().filter(|row| row.holds() == Some(false)).collect();
    let judged = demo.rows.iter().filter(|row| row.holds().is_some()).count();
    if exceeded.is_empty() {
        all.push(format!("All {judged} bounds held."));
    } else {
        all.push(format!("{} of {judged} bounds did not hold:", exceeded.len()));
        for row in exceeded.iter().take(SHOWN) {
            all.push(demo.violations.get(&row.name).cloned().unwrap_or_else(|| format!("`{}`", row.name)) + ".");
        }
        if exceeded.len() > SHOWN {
            all.push(format!("And {} more.", exceeded.len() - SHOWN));
        }
    }
    all.push(rights(&demo.rospin));
    all.extend(comparison(demo));
    all
}

fn comparison(demo: &Demo) -> Option<String> {
    let steer = demo.rows.iter().find(|row| row.name == STEER)?;
    let (rospin, fifo) = (steer.rospin?, steer.fifo?);
    let skipped = |driven: &Driven| counted(driven.skipped.get(IMU).copied().unwrap_or(0), "due time");
    Some(format!(
        "From the IMU to the wheels: at most {} ms under rospin, and its timer skipped {}. First in, first out: {} ms, \
         and {}.",
        ms(rospin.max_ns),
        skipped(&demo.rospin),
        ms(fifo.max_ns),
        skipped(&demo.fifo),
    ))
}

/// Returns a sentence about the right to real-time priorities, and about the time that the kernel took.
fn rights(driven: &Driven) -> String {
    let stalled = ms(driven.stalled_ns);
    match driven.shortfalls.first() {
        None => format!(
            "The thread had a real-time priority. All the same it lost the processor for {stalled} ms amid callbacks, to \
             interrupts or to the host of a virtual machine; bounds do not count that."
        ),
        Some(shortfall) => format!(
            "The thread had no real-time priority: {shortfall}. So the kernel let other programs have the processor for \
             {stalled} ms amid callbacks, and for longer between them; bounds do not count that."
        ),
    }
}

/// Returns the content of the JSON file, ending in a line break.
pub(super) fn json(demo: &Demo) -> Result<String, serde_json::Error> {
    let document = json!({
        "command": NAME,
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": Machine::read(),
        "settings": { "seconds": demo.seconds },
        "units": {
            "bound_ns": "nanoseconds from the release of the callback, or of the first one of the chain, to the end of the last one: proven",
            "p50_ns, p99_ns, max_ns": "the same time as it was measured; percentiles by nearest rank",
            "holds": "the longest measured time is within the bound",
            "skipped": "due times that timers gave up, because they were late, by name",
            "stalled_ns": "nanoseconds in which the kernel did not run the thread amid a callback",
        },
        "rows": demo.rows.iter().map(row_as_json).collect::<Vec<_>>(),
        "rospin": driven_as_json(&demo.rospin),
        "fifo": driven_as_json(&demo.fifo),
        "violations": demo.violations,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn row_as_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "callbacks": row.callbacks,
        "bound_ns": row.bound.map(|bound| bound.as_nanos() as u64),
        "holds": row.holds(),
        "rospin": row.rospin,
        "fifo": row.fifo,
    })
}

fn driven_as_json(driven: &Driven) -> Value {
    json!({ "skipped": driven.skipped, "stalled_ns": driven.stalled_ns, "shortfalls": driven.shortfalls })
}

#[cfg(test)]
mod tests {
    use rospin_analysis::Analysis;

    use super::*;
    use crate::demo::SYSTEM;

    fn latencies(ms: u64) -> Option<Latencies> {
        Some(Latencies { runs: 500, p50_ns: ms * 500_000, p99_ns: ms * 900_000, max_ns: ms * 1_000_000 })
    }

    fn driven(shortfalls: &[&str], skipped: u64) -> Driven {
        Driven {
            callbacks: BTreeMap::new(),
            chains: BTreeMap::new(),
            skipped: BTreeMap::from([(IMU.to_owned(), skipped)]),
            stalled_ns: 1_500_000,
            shortfalls: shortfalls.iter().map(|text| (*text).to_owned()).collect(),
            recordings: Vec::new(),
        }
    }

    fn demo(rospin: Driven, longest_ms: u64) -> Demo {
        let steer = Row {
            name: STEER.to_owned(),
            callbacks: vec![IMU.to_owned(), "base/cmd_vel".to_owned()],
            bound: Some(Duration::from_millis(8)),
            rospin: latencies(longest_ms),
            fifo: latencies(40),
        };
        let map =
            Row { name: "mapper/update".to_owned(), callbacks: Vec::new(), bound: None, rospin: None, fifo: None };
        let violations = BTreeMap::from([(STEER.to_owned(), "chain `steer` exceeded its proven bound".to_owned())]);
        Demo { seconds: 5.0, rows: vec![steer, map], rospin, fifo: driven(&[], 31), violations }
    }

    #[test]
    fn kept_bounds_are_told_beside_the_other_policy() {
        let text = text(&demo(driven(&[], 0), 6));
        assert!(text.contains("steer           8.00        3.00  5.40  6.00  held     20.00  36.00  40.00"), "{text}");
        assert!(text.contains("mapper/update      -           -     -     -  -            -      -      -"), "{text}");
        assert!(text.contains("Chain `steer`: imu/sample, base/cmd_vel."), "{text}");
        assert!(text.contains("All 1 bounds held.\nThe thread had a real-time priority."), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        let told = "at most 6.00 ms under rospin, and its timer skipped 0 due times. First in, first out: 40.00 ms, and 31 due";
        assert!(words.join(" ").contains(told), "{text}");
    }

    #[test]
    fn an_exceeded_bound_is_told_with_its_cause_and_so_are_missing_rights() {
        let text = text(&demo(driven(&["not SCHED_FIFO 20"], 0), 9));
        assert!(text.contains("1 of 1 bounds did not hold:\nchain `steer` exceeded its proven bound.\n"), "{text}");
        assert!(text.contains("The thread had no real-time priority: not SCHED_FIFO 20."), "{text}");
    }

    #[test]
    fn the_analysis_proves_every_deadline_of_the_demo() {
        let system = Scenario::parse(SYSTEM).unwrap();
        let report = Analysis::new(&system).run().unwrap();
        assert!(report.holds(), "{report:?}");
        assert!(report.callbacks.iter().all(|callback| callback.bound.is_some()), "{report:?}");
    }
}
