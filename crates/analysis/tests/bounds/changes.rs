//! Changes that are told for callbacks without a bound, and for deadlines that are not proven: each is made, and the
//! analysis of the changed system must give what was told.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Change, Report};
use rospin_core::GroupKind;
use rospin_scenario::{Await, Callback, ExecutionTime, Scenario};

use crate::common::{ms, seeds};
use crate::several::{self, Kind};

const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];

/// Returns the number of systems of each policy.
fn systems() -> u64 {
    if cfg!(debug_assertions) { 2 } else { 60 }
}

/// Returns the name between back quotes.
fn quoted(words: &str) -> &str {
    words.split('`').nth(1).unwrap_or_else(|| panic!("no name in {words}"))
}

/// Returns the number before or after which the sentence says what it counts.
fn number(words: &str) -> u64 {
    let mut numbers = words.split(' ').filter_map(|word| word.parse().ok());
    numbers.next_back().unwrap_or_else(|| panic!("no number in {words}"))
}

fn scaled(time: &ExecutionTime, percent: u64) -> ExecutionTime {
    let part = |time: Duration| Duration::from_nanos((time.as_nanos() as u64 * percent / 100).max(1));
    match time {
        ExecutionTime::Uniform(shortest, longest) => ExecutionTime::Uniform(part(*shortest), part(*longest)),
        other => ExecutionTime::Fixed(part(other.longest())),
    }
}

/// Returns the scenario with a change that is told in these words.
fn changed(scenario: &Scenario, words: &str) -> Scenario {
    let mut changed = scenario.clone();
    let executor = &mut changed.executors[0];
    if words.ends_with("threads") || words == "with one thread" {
        executor.threads = if words.ends_with("threads") { number(words) as u16 } else { 1 };
        changed.cores = Some(executor.threads.max(scenario.cores.unwrap_or(1)));
    } else if words.ends_with("first in, first out") {
        assert_eq!(quoted(words), executor.name);
        "fifo".clone_into(&mut executor.policy);
    } else if words.ends_with("is reentrant") {
        let group = changed.groups.iter_mut().find(|group| group.name == quoted(words)).unwrap();
        group.kind = GroupKind::Reentrant;
    } else if words.ends_with("% of its time") {
        assert_eq!(quoted(words), executor.name);
        for callback in &mut changed.callbacks {
            let runs = callback.awaits.iter_mut().map(|part| &mut part.run);
            for run in std::iter::once(&mut callback.execution).chain(runs) {
                *run = scaled(run, number(words));
            }
        }
    } else if words.ends_with("% of what it is now") {
        for part in changed.callbacks.iter_mut().flat_map(|callback| &mut callback.awaits) {
            part.wait = scaled(&part.wait, number(words));
        }
    } else {
        panic!("an unknown change: {words}");
    }
    changed
}

/// Makes each change that is told for callbacks without a bound. Returns the numbers of callbacks without a bound, of
/// those with a change, and of changes.
fn make_all(scenario: &Scenario) -> (u64, u64, u64) {
    let report = match Analysis::new(scenario).run() {
        Ok(report) => report,
        Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => return (0, 0, 0),
        Err(error) => panic!("{error}"),
    };
    let (mut unbounded, mut with_change, mut changes) = (0, 0, 0);
    let mut known: Vec<(String, Report)> = Vec::new();
    for (place, callback) in report.callbacks.iter().enumerate() {
        assert!(callback.bound.is_none() || callback.changes.is_empty(), "{callback:?}");
        unbounded += u64::from(callback.bound.is_none());
        with_change += u64::from(!callback.changes.is_empty());
        for words in &callback.changes {
            changes += 1;
            if known.iter().all(|(told, _)| told != words) {
                let after = Analysis::new(&changed(scenario, words)).run();
                let after = after.unwrap_or_else(|error| panic!("{words}: {error}\n{}", scenario.to_toml()));
                known.push((words.clone(), after));
            }
            let (_, after) = known.iter().find(|(told, _)| told == words).unwrap();
            let is_bounded = after.callbacks[place].bound.is_some();
            assert!(is_bounded, "{}: {words}: {:?}\n{}", callback.name, after.callbacks[place], scenario.to_toml());
        }
    }
    (unbounded, with_change, changes)
}

#[test]
#[expect(clippy::print_stderr, reason = "the shares are asked for")]
fn a_change_that_is_told_gives_a_bound() {
    let (mut unbounded, mut with_change, mut changes) = (0, 0, 0);
    for policy in POLICIES {
        for kind in [Kind::Nodes, Kind::Mixed] {
            for seed in seeds::chosen(systems()) {
                let made = make_all(&several::random(policy, kind, seed));
                unbounded += made.0;
                with_change += made.1;
                changes += made.2;
            }
        }
    }
    eprintln!("{unbounded} callbacks without a bound, {with_change} of them with a change, {changes} changes");
    assert!(seeds::chosen(systems()).count() < systems() as usize || with_change * 2 > unbounded);
}

/// One thread that waits for longer than there is time.
#[test]
fn shorter_waits_that_are_told_give_a_bound() {
    for wait in 1..12 {
        let mut scenario = several::random("fifo", Kind::Nodes, 1);
        (scenario.executors[0].threads, scenario.cores) = (1, Some(1));
        scenario.callbacks.clear();
        scenario.links.clear();
        scenario.releases.clear();
        scenario.chains.clear();
        let group = scenario.groups[0].name.clone();
        let mut callback = Callback::new("ask", rospin_core::EntityKind::Timer, group);
        callback.period = Some(ms(10));
        callback.execution = ExecutionTime::Fixed(ms(4));
        callback.awaits.push(Await::new(ExecutionTime::Fixed(ms(wait)), ExecutionTime::Fixed(ms(1))));
        scenario.callbacks.push(callback);
        let (unbounded, with_change, _) = make_all(&scenario);
        assert_eq!((unbounded, with_change), if wait <= 5 { (0, 0) } else { (1, 1) }, "{wait}");
    }
}

/// Two threads. In the first part of each 100 ms, `one` and `two` keep both busy, and in the rest `mate` has the group
/// of `last`.
#[test]
fn kinds_of_groups_and_a_group_for_one_callback_are_proposed() {
    let mut text =
        "duration = \"2 s\"\ncores = 2\n[[executor]]\nname = \"x\"\nthreads = 2\npolicy = \"fixed-priority\"\n"
            .to_owned();
    for group in ["a", "b", "c"] {
        text += &format!("[[group]]\nname = \"{group}\"\n");
    }
    for (name, group, priority, execution) in
        [("one", "a", 4, 45), ("two", "b", 3, 45), ("mate", "c", 2, 40), ("last", "c", 1, 20)]
    {
        text += &format!(
            "[[callback]]\nname = \"{name}\"\ngroup = \"{group}\"\nkind = \"waitable\"\npriority = {priority}\n\
            deadline = \"2 s\"\nexecution = \"{execution} ms\"\n[[release]]\nto = [\"{name}\"]\nperiod = \"100 ms\"\n"
        );
    }
    let scenario = Scenario::parse(&text).unwrap();
    let analysis = Analysis::new(&scenario);
    assert!(!analysis.run().unwrap().holds());
    let changes = analysis.sensitivity().unwrap().changes;
    let kind = Change::Kind { group: "c".to_owned(), kind: GroupKind::Reentrant };
    let own = Change::OwnGroup { callback: "last".to_owned(), group: "last alone".to_owned() };
    for change in [kind, own] {
        assert!(changes.contains(&change), "{changes:?}");
        assert!(!change.is_deployable());
        let changed = change.apply(&scenario);
        changed.check().unwrap();
        assert!(Analysis::new(&changed).run().unwrap().holds(), "{}", change.describe());
    }
}

/// On one thread groups make no difference, so none is proposed.
#[test]
fn on_one_thread_no_group_is_proposed() {
    let text = "duration = \"1 s\"\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n\
        [[callback]]\nname = \"control\"\nkind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"2 ms\"\n\
        [[callback]]\nname = \"map\"\nkind = \"timer\"\nperiod = \"40 ms\"\nexecution = \"9 ms\"\n";
    let changes = Analysis::new(&Scenario::parse(text).unwrap()).sensitivity().unwrap().changes;
    let of_groups = |change: &Change| matches!(change, Change::Kind { .. } | Change::OwnGroup { .. });
    assert!(!changes.iter().any(of_groups), "{changes:?}");
}
