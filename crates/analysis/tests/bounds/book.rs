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
/// The same of the systems' analysis before it had busy windows and theorems for groups: that of commit 8f05c0a9, with
/// the systems of today. It did not tell which callbacks may starve.
const RATIOS_BEFORE: &str = include_str!("../../benches/ratios_before.txt");

/// Figures of callbacks of one kind.
struct Ratios {
    /// The kind, such as "edf, 2 threads, some callbacks asynchronous, default groups".
    kind: &'static str,
    median: f64,
    mean: f64,
    bounds: f64,
    starving: f64,
    unbounded: f64,
}

impl Ratios {
    /// Returns true if the kind has this policy and number of threads, and neither asynchronous callbacks nor rclcpp's
    /// default groups.
    fn is_plain(&self, policy: &str, threads: u64) -> bool {
        let end = if threads == 1 { "" } else { "s" };
        self.kind == format!("{policy}, {threads} thread{end}")
    }

    fn all(&self) -> f64 {
        self.bounds + self.starving + self.unbounded
    }
}

/// Returns the figures of a run by kind.
fn ratios(run: &'static str) -> Vec<Ratios> {
    let mut found = Vec::new();
    for line in run.lines().skip(2) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(kind) = cells.get(1) else { continue };
        // A kind without any bound has empty cells.
        let number = |place: usize| cells[place].parse::<f64>().unwrap_or(0.0);
        let (bounds, median, mean) = (number(2), number(4), number(5));
        found.push(Ratios { kind, median, mean, bounds, starving: number(7), unbounded: number(8) });
    }
    found
}

/// Returns the sum over figures of several kinds.
fn sum(these: &[&Ratios], of: impl Fn(&Ratios) -> f64) -> f64 {
    these.iter().map(|ratios| of(ratios)).sum()
}

/// Returns a row of the table, of these policies on so many threads.
fn row(name: &str, policies: &[&str], threads: std::ops::RangeInclusive<u64>) -> String {
    let all = ratios(RATIOS);
    let mut these: Vec<&Ratios> = Vec::new();
    for policy in policies {
        for threads in threads.clone() {
            these.push(all.iter().find(|ratios| ratios.is_plain(policy, threads)).unwrap());
        }
    }
    let times = if threads.clone().count() == 1 {
        these.iter().map(|ratios| format!("{:.2}", ratios.median)).collect::<Vec<_>>().join(", ")
    } else {
        these.sort_by(|one, other| one.median.total_cmp(&other.median));
        format!("{:.1} to {:.1}", these[0].median, these[these.len() - 1].median)
    };
    let share = |part: f64| part / sum(&these, Ratios::all) * 100.0;
    let starving = share(sum(&these, |ratios| ratios.starving));
    let unbounded = share(sum(&these, |ratios| ratios.unbounded));
    format!("| {name} | {times} | {starving:.1} % | {unbounded:.1} % |\n")
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

/// Returns the cells of the mean and of the shares without a bound, of all kinds with a name that is chosen.
fn mean_and_shares(run: &'static str, is_chosen: &dyn Fn(&str) -> bool) -> (String, f64, f64) {
    let all = ratios(run);
    let these: Vec<&Ratios> = all.iter().filter(|ratios| is_chosen(ratios.kind)).collect();
    let bounds = sum(&these, |ratios| ratios.bounds);
    let mean = sum(&these, |ratios| ratios.mean * ratios.bounds) / bounds;
    let callbacks = sum(&these, Ratios::all);
    let starving = sum(&these, |ratios| ratios.starving) / callbacks * 100.0;
    let unbounded = sum(&these, |ratios| ratios.unbounded) / callbacks * 100.0;
    (if bounds > 0.0 { format!("{mean:.1}") } else { "none".to_owned() }, starving, unbounded)
}

/// `ROSPIN_BLESS=1` writes the table into the page.
#[test]
fn the_table_of_before_and_now_is_that_of_the_kept_runs() {
    const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];
    let mut table = "| kind | mean before | mean now | without before | may starve | no known bound |\n\
        | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut add = |name: &str, is_chosen: &dyn Fn(&str) -> bool| {
        let (before, _, without) = mean_and_shares(RATIOS_BEFORE, is_chosen);
        let (now, starving, unknown) = mean_and_shares(RATIOS, is_chosen);
        table += &format!("| {name} | {before} | {now} | {without:.1} % | {starving:.1} % | {unknown:.1} % |\n");
    };
    for policy in POLICIES {
        add(&format!("{policy}, one thread"), &|kind| kind == format!("{policy}, 1 thread"));
    }
    let is_several = |kind: &str, policy: &str, end: &str| {
        (2..=4).any(|threads| kind == format!("{policy}, {threads} threads{end}"))
    };
    for policy in POLICIES {
        add(&format!("{policy}, two to four threads"), &|kind| is_several(kind, policy, ""));
    }
    for policy in POLICIES {
        add(&format!("{policy}, the same, rclcpp's default groups"), &|kind| {
            is_several(kind, policy, ", default groups")
        });
    }
    add("two to four threads, all policies", &|kind| POLICIES.iter().any(|policy| is_several(kind, policy, "")));
    add("the same, rclcpp's default groups", &|kind| {
        POLICIES.iter().any(|policy| is_several(kind, policy, ", default groups"))
    });
    add("executors that share a core", &|kind| kind.ends_with("core shared"));
    add("systems with asynchronous callbacks", &|kind| kind.contains("asynchronous"));
    add("chains", &|kind| kind == "chains");
    add("chains, rclcpp's default groups", &|kind| kind == "chains, default groups");
    compare("| kind | mean before |", &table);
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

/// The book's page about learnt files tells bounds of the reference system in a wait set with two threads, at three
/// loads.
#[test]
fn a_wait_set_of_two_threads_has_bounds_beyond_the_load_of_one_core() {
    let page = words(&std::fs::read_to_string(root().join("book/src/guide/model.md")).unwrap());
    let at = |percent: u32| {
        let mut scenario = rospin_scenario::Scenario::parse(REFERENCE_SYSTEM).unwrap();
        "wait-set-e2".clone_into(&mut scenario.executors[0].policy);
        (scenario.executors[0].threads, scenario.cores) = (2, Some(2));
        for callback in &mut scenario.callbacks {
            let time = callback.execution.longest() * percent / 100;
            callback.execution = rospin_scenario::ExecutionTime::Fixed(time);
        }
        rospin_analysis::Analysis::new(&scenario).run().unwrap().callbacks
    };
    let longest = |percent: u32| at(percent).iter().map(|callback| callback.bound.unwrap()).max().unwrap();
    let told = format!(
        "{:.0} ms for each with the times of `crates/scenario/scenarios/reference_system.toml`, {:.1} s with a quarter more",
        longest(100).as_secs_f64() * 1e3,
        longest(125).as_secs_f64()
    );
    assert!(page.contains(&told), "{told}");
    let told = format!("and {:.1} s with two fifths more", longest(140).as_secs_f64());
    assert!(page.contains(&told), "{told}");
}
