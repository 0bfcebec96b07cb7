//! The tables of the book about the analysis are what the examples and the benchmark print.

use std::path::{Path, PathBuf};

#[path = "../../examples/picas.rs"]
#[allow(dead_code, reason = "the example prints what the test compares")]
mod picas;

const REFERENCE_SYSTEM: &str = include_str!("../../../scenario/scenarios/reference_system.toml");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares the table of the page about deadlines that begins with `first`; with `ROSPIN_BLESS`, writes it into the
/// page.
fn compare(first: &str, table: &str) {
    let path = root().join("book/src/guide/deadlines.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let begin = page.find(first).expect("the table");
    let end = page[begin..].find("\n\n").map_or(page.len(), |length| begin + length + 1);
    if std::env::var_os("ROSPIN_BLESS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
    } else {
        assert_eq!(&page[begin..end], table, "ROSPIN_BLESS=1 writes the table");
    }
}

/// `ROSPIN_BLESS=1 cargo test -p rospin-analysis --test bounds book` writes the table into the page.
#[test]
fn the_table_of_the_case_study_is_what_the_example_prints() {
    let table = picas::table().unwrap();
    compare("| chain | deadline | paper |", &table);
    // The sentences above it have the numbers of its last row.
    let last = table.lines().last().unwrap();
    let number = |cell: &str| Some(["six", "seven", "eight", "nine", "ten"][cell.trim().parse::<usize>().ok()? - 6]);
    let held: Vec<_> = last.split('|').filter_map(number).collect();
    let page = words(&std::fs::read_to_string(root().join("book/src/guide/deadlines.md")).unwrap());
    for told in [
        format!("only those {} hold.", held[0]),
        format!("in {} of twelve.", held[1]),
        format!("under which {} hold,", held[2]),
    ] {
        assert!(page.contains(&told), "{told}");
    }
}

/// Returns a text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The output of `cargo bench -p rospin-analysis --bench ratios -- 0 1000`.
const RATIOS: &str = include_str!("../../benches/ratios.txt");

/// Figures of callbacks of one kind.
struct Ratios {
    policy: &'static str,
    threads: u64,
    median: f64,
    bounds: f64,
    starving: f64,
    unbounded: f64,
}

/// Returns the figures of synchronous callbacks of executors that share no core.
fn ratios() -> Vec<Ratios> {
    let mut found = Vec::new();
    for line in RATIOS.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some((policy, threads)) = cells.get(1).and_then(|kind| kind.split_once(", ")) else { continue };
        let Ok(threads) = threads.trim_end_matches('s').trim_end_matches(" thread").parse() else { continue };
        let number = |place: usize| cells[place].parse::<f64>().unwrap();
        let (starving, unbounded) = (number(7), number(8));
        found.push(Ratios { policy, threads, median: number(4), bounds: number(2), starving, unbounded });
    }
    found
}

/// Returns a row of the table, of these policies on so many threads.
fn row(name: &str, policies: &[&str], threads: std::ops::RangeInclusive<u64>) -> String {
    let all = ratios();
    let of = |policy: &str| {
        let these = all.iter().filter(|ratios| ratios.policy == policy && threads.contains(&ratios.threads));
        these.map(|ratios| ratios.median).collect::<Vec<_>>()
    };
    let mut medians: Vec<f64> = policies.iter().flat_map(|policy| of(policy)).collect();
    assert_eq!(medians.len(), policies.len() * threads.clone().count());
    let these = all.iter().filter(|ratios| policies.contains(&ratios.policy) && threads.contains(&ratios.threads));
    let (mut callbacks, mut starving, mut unbounded) = (0.0, 0.0, 0.0);
    for of in these {
        callbacks += of.bounds + of.starving + of.unbounded;
        starving += of.starving;
        unbounded += of.unbounded;
    }
    let times = if threads.clone().count() == 1 {
        medians.iter().map(|median| format!("{median:.2}")).collect::<Vec<_>>().join(", ")
    } else {
        medians.sort_by(f64::total_cmp);
        format!("{:.1} to {:.1}", medians[0], medians[medians.len() - 1])
    };
    format!("| {name} | {times} | {:.1} % | {:.1} % |\n", starving / callbacks * 100.0, unbounded / callbacks * 100.0)
}

/// `ROSPIN_BLESS=1` writes the table into the page.
#[test]
fn the_table_of_ratios_is_that_of_the_kept_run() {
    let (keyed, polled) = (["fixed-priority", "edf", "fifo"], ["wait-set-e1", "wait-set-e2"]);
    let table = [
        "| | times the longest seen | may starve | no known bound |\n| --- | --- | --- | --- |\n".to_owned(),
        row("one thread: fixed priority, EDF, FIFO", &keyed, 1..=1),
        row("one thread: wait set, timers outside and inside", &polled, 1..=1),
        row("two to four threads: fixed priority, EDF, FIFO", &keyed, 2..=4),
        row("two to four threads: wait set", &polled, 2..=4),
    ];
    compare("| | times the longest seen |", &table.concat());
    // "1000 systems, 33337 bounds, none exceeded; ..."
    let said = RATIOS.lines().find(|line| line.contains("none exceeded")).unwrap();
    let bounds: u64 = said.split(' ').nth(2).unwrap().parse().unwrap();
    let page = std::fs::read_to_string(root().join("book/src/guide/deadlines.md")).unwrap();
    let told = format!("None of {},{:03} bounds was exceeded.", bounds / 1_000, bounds % 1_000);
    assert!(page.contains(&told), "{told}");
}

/// The bound and the simulation of the reference system that the page names are those of today, and so is what the
/// analysis says of the two timers.
#[test]
fn the_figures_of_the_reference_system_are_those_of_today() {
    let scenario = rospin_scenario::Scenario::parse(REFERENCE_SYSTEM).unwrap();
    let report = rospin_analysis::Analysis::new(&scenario).run().unwrap();
    let outcome = rospin_sim::Simulation::new(&scenario).unwrap().run().unwrap();
    let page = words(&std::fs::read_to_string(root().join("book/src/guide/deadlines.md")).unwrap());
    let hot = report.chains.iter().position(|chain| chain.name.contains("hot")).unwrap();
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let (bound, seen) = (ms(report.chains[hot].latency.unwrap()), ms(outcome.chains[hot].latency.max));
    let told = format!("bounds the hot path by {bound:.1} ms, and the simulator sees {seen:.1} ms.");
    assert!(page.contains(&told), "{told}");
    let late = report.callbacks.iter().filter(|callback| !callback.holds && callback.deadline.is_some()).count();
    assert_eq!(late, 2, "two timers miss their periods");
    let load = format!("loads one core by {:.0} %.", report.cores[0].utilization * 100.0);
    assert!(page.contains(&load), "{load}");
}

/// The book's page about learnt files tells a bound of the reference system in a wait set with two threads, and at
/// which load no bound exists any more.
#[test]
fn a_wait_set_of_two_threads_has_bounds_up_to_the_load_of_one_core() {
    let mut scenario = rospin_scenario::Scenario::parse(REFERENCE_SYSTEM).unwrap();
    "wait-set-e2".clone_into(&mut scenario.executors[0].policy);
    (scenario.executors[0].threads, scenario.cores) = (2, Some(2));
    let report = rospin_analysis::Analysis::new(&scenario).run().unwrap();
    let longest = report.callbacks.iter().map(|callback| callback.bound.unwrap()).max().unwrap();
    let page = words(&std::fs::read_to_string(root().join("book/src/guide/model.md")).unwrap());
    let told = format!("{:.0} ms for each with the times of", longest.as_secs_f64() * 1e3);
    assert!(page.contains(&told), "{told}");
    for callback in &mut scenario.callbacks {
        callback.execution = rospin_scenario::ExecutionTime::Fixed(callback.execution.longest() * 5 / 4);
    }
    let report = rospin_analysis::Analysis::new(&scenario).run().unwrap();
    assert!(report.callbacks.iter().all(|callback| callback.bound.is_none()), "and none with a quarter more");
}
