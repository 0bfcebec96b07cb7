//! The busy window as a limit of every bound on one thread, whatever the policy: no callback is without a bound where
//! the window closes, no callback and no chain has a longer one, and no simulation exceeds any.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError};
use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Await, Callback, ExecutionTime, Executor, Group, Link, Pattern, Scenario};
use rospin_sim::Simulation;

use crate::common::{ms, seeds, us};
use crate::drawn;
use crate::systems::shares;

const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];
/// Systems of each policy.
const SYSTEMS: u64 = if cfg!(debug_assertions) { 600 } else { 2_000 };
/// Simulations of each system, with other phases and execution times each.
const PHASES: u64 = 6;

/// Returns the least length that is no shorter than the work that is released in it, with all that follows from it. It
/// is computed from the scenario alone, for systems as [`random`] and the cases have them. `None` if it is longer than
/// 1,000 s.
fn window(scenario: &Scenario) -> Option<Duration> {
    let nanos = |time: Duration| time.as_nanos() as u64;
    // The time of a callback and of all that follows from it.
    fn follows(scenario: &Scenario, callback: &Callback) -> u64 {
        let names = |other: &Callback| std::iter::once(other.name.clone()).chain(other.subscribes.clone());
        let receives = |other: &&Callback| names(other).any(|name| callback.publishes.contains(&name));
        let own = callback.execution.longest().as_nanos() as u64;
        own + scenario.callbacks.iter().filter(receives).map(|other| follows(scenario, other)).sum::<u64>()
    }
    let mut sources = Vec::new();
    for callback in &scenario.callbacks {
        let work = follows(scenario, callback);
        sources.extend(callback.period.map(|period| (nanos(period), 0, 1, work)));
        for release in scenario.releases.iter().filter(|release| release.to.contains(&callback.name)) {
            let Pattern::Periodic { period, jitter, .. } = release.pattern else { panic!("{release:?}") };
            let burst = release.burst.as_ref().map_or(1, |burst| u64::from(burst.count));
            sources.push((nanos(period), nanos(jitter), burst, work));
        }
    }
    let mut length = 1;
    while length < 1_000_000_000_000 {
        let work =
            |(period, jitter, burst, work): &(u64, u64, u64, u64)| (length + jitter).div_ceil(*period) * burst * work;
        let needed: u64 = sources.iter().map(work).sum();
        if needed <= length {
            return Some(Duration::from_nanos(length));
        }
        length = needed;
    }
    None
}

/// Returns a system of one thread: 2 to 12 callbacks at 40 to 95 % of load, in chains, some of them with branches.
pub(crate) fn random(policy: &str, seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, policy);
    let mut scenario = Scenario::default();
    scenario.name = format!("{policy} {seed}");
    scenario.duration = ms(400);
    scenario.cores = Some(1);
    let mut executor = Executor::new("main");
    policy.clone_into(&mut executor.policy);
    scenario.executors.push(executor);
    scenario.groups.push(Group::new("node", "main"));
    let load = 0.4 + rng.below(551) as f64 / 1000.0;
    let count = 2 + rng.below(11) as usize;
    let mut periods = Vec::new();
    for (number, share) in shares(rng, count, load).into_iter().enumerate() {
        let others = [EntityKind::Subscription, EntityKind::Service, EntityKind::Waitable];
        // Linked callbacks run at the rate of the one that they follow.
        let from = (number > 0 && rng.below(100) < 55).then(|| rng.below(number as u64) as usize);
        let kind = if from.is_some() || rng.below(2) == 0 { others[rng.below(3) as usize] } else { EntityKind::Timer };
        let mut callback = Callback::new(format!("c{number}"), kind, "node");
        callback.priority = Some(rng.below(6) as u32);
        callback.depth = if rng.below(8) == 0 { 1 } else { 1_000 };
        let period = from.map_or_else(|| us(1_000 * (1 + rng.below(40)) + rng.below(1_000)), |from| periods[from]);
        periods.push(period);
        let longest = period.mul_f64(share).max(us(1));
        callback.execution =
            if rng.below(2) == 0 { ExecutionTime::Fixed(longest) } else { ExecutionTime::Uniform(us(1), longest) };
        callback.deadline = (rng.below(2) == 0).then(|| period.mul_f64(0.5 + rng.below(20) as f64 / 10.0));
        drawn::add_callback(&mut scenario, rng, callback, from, period);
    }
    scenario
}

/// Draws other phases, and perhaps execution times that are all the longest.
fn rephase(scenario: &mut Scenario, seed: u64) {
    let rng = &mut Stream::new(seed, "phases");
    scenario.seed = seed;
    drawn::draw_phases(scenario, rng);
    if rng.below(2) == 0 {
        for callback in &mut scenario.callbacks {
            callback.execution = ExecutionTime::Fixed(callback.execution.longest());
        }
    }
}

/// Gives a system more executors on its core, groups, waits and ways of messages.
fn mix(scenario: &mut Scenario, seed: u64) {
    let rng = &mut Stream::new(seed, "mix");
    scenario.groups.push(Group::new("exclusive", "main"));
    let mut reentrant = Group::new("reentrant", "main");
    reentrant.kind = GroupKind::Reentrant;
    scenario.groups.push(reentrant);
    scenario.executors[0].os_priority = 10;
    for number in 0..rng.below(3) {
        let mut executor = Executor::new(format!("x{number}"));
        POLICIES[rng.below(5) as usize].clone_into(&mut executor.policy);
        executor.os_priority = [5, 10, 20][rng.below(3) as usize];
        scenario.groups.push(Group::new(format!("g{number}"), &executor.name));
        scenario.executors.push(executor);
    }
    let waits = rng.below(3) > 0;
    for callback in &mut scenario.callbacks {
        callback.group.clone_from(&scenario.groups[rng.below(scenario.groups.len() as u64) as usize].name);
        if waits && rng.below(4) == 0 {
            let time = callback.execution.longest();
            callback.execution = ExecutionTime::Fixed(time / 2);
            let wait = ExecutionTime::Uniform(Duration::ZERO, time.mul_f64(rng.below(4) as f64 / 4.0));
            callback.awaits.push(Await::new(wait, ExecutionTime::Fixed(time / 3)));
            callback.releases_group_at_await = rng.below(2) == 0;
        }
        if callback.kind != EntityKind::Timer && rng.below(6) == 0 {
            let delay = ExecutionTime::Uniform(Duration::ZERO, us(rng.below(3_000)));
            scenario.links.push(Link::new([callback.name.clone()], delay));
        }
    }
}

/// Executors share a core, callbacks wait and hold their groups, and messages are under way: windows that are not those
/// of one executor bound what they should.
#[test]
#[expect(clippy::print_stderr, reason = "how much was compared is worth knowing")]
fn windows_hold_for_executors_that_share_a_core_and_for_callbacks_that_wait() {
    let (mut tally, mut windows) = (Tally::default(), 0);
    for policy in POLICIES {
        for seed in seeds::chosen(SYSTEMS) {
            let mut scenario = random(policy, seed);
            mix(&mut scenario, seed);
            match Analysis::new(&scenario).run() {
                Ok(report) => {
                    let methods = report.callbacks.iter().map(|callback| callback.method);
                    let methods = methods.chain(report.chains.iter().map(|chain| chain.method));
                    windows += methods.filter(|method| method.starts_with("busy window of the executor")).count();
                }
                Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => continue,
                Err(error) => panic!("{error}"),
            }
            check(&scenario, Duration::MAX, &mut tally);
        }
    }
    eprintln!("{tally:?}, {windows} bounds by a busy window");
    assert!(seeds::chosen(SYSTEMS).count() < SYSTEMS as usize || windows > 5_000, "{windows}");
}

/// Figures of many systems.
#[derive(Default, Debug)]
struct Tally {
    callbacks: u64,
    unbounded: u64,
    beyond: u64,
    chains: u64,
    chains_unbounded: u64,
    chains_beyond: u64,
    reached: f64,
}

/// Analyses and simulates a system, whose busy window is `window`.
fn check(scenario: &Scenario, window: Duration, tally: &mut Tally) {
    let report = Analysis::new(scenario).run().unwrap();
    for callback in &report.callbacks {
        tally.callbacks += 1;
        tally.unbounded += u64::from(callback.bound.is_none());
        tally.beyond += u64::from(callback.bound.is_some_and(|bound| bound > window));
    }
    for chain in &report.chains {
        tally.chains += 1;
        tally.chains_unbounded += u64::from(chain.latency.is_none());
        tally.chains_beyond += u64::from(chain.latency.is_some_and(|latency| latency > window));
    }
    let mut longest = Duration::ZERO;
    for seed in 0..PHASES {
        let mut simulated = scenario.clone();
        rephase(&mut simulated, seed);
        let outcome = Simulation::new(&simulated).unwrap().run().unwrap();
        let told = || format!("{}\n{}", scenario.name, simulated.to_toml());
        for (callback, seen) in report.callbacks.iter().zip(&outcome.callbacks) {
            let (seen, bound) = (seen.response.max, callback.bound);
            longest = longest.max(seen);
            assert!(bound.is_none_or(|bound| seen <= bound), "{seen:?} > {bound:?}: {callback:?}\n{}", told());
        }
        for (chain, seen) in report.chains.iter().zip(&outcome.chains) {
            let (seen, bound) = (seen.latency.max, chain.latency);
            longest = longest.max(seen);
            assert!(bound.is_none_or(|bound| seen <= bound), "{seen:?} > {bound:?}: {chain:?}\n{}", told());
        }
    }
    assert!(longest <= window, "{}: {longest:?} of {window:?}", scenario.name);
    tally.reached += longest.as_secs_f64() / window.as_secs_f64();
}

/// Run with `--nocapture`, it prints the shares of the bounds that are missing, and that are beyond the window.
#[test]
#[expect(clippy::print_stderr, reason = "the shares are what is asked for")]
fn no_bound_is_missing_or_beyond_the_window() {
    let mut all = Tally::default();
    for policy in POLICIES {
        let mut tally = Tally::default();
        let chosen: Vec<u64> = seeds::chosen(SYSTEMS).collect();
        for seed in &chosen {
            let scenario = random(policy, *seed);
            if let Some(window) = window(&scenario) {
                check(&scenario, window, &mut tally);
            }
        }
        eprintln!(
            "{policy}: seeds {:?}; {} callbacks, {} without a bound, {} beyond the window; {} chains, {} without, {} beyond; longest seen {:.2} of the window",
            (chosen.first(), chosen.last()),
            tally.callbacks,
            tally.unbounded,
            tally.beyond,
            tally.chains,
            tally.chains_unbounded,
            tally.chains_beyond,
            tally.reached / chosen.len() as f64
        );
        all.callbacks += tally.callbacks;
        all.chains += tally.chains;
        all.unbounded += tally.unbounded + tally.chains_unbounded;
        all.beyond += tally.beyond + tally.chains_beyond;
    }
    assert_eq!((all.unbounded, all.beyond), (0, 0));
    let single = seeds::chosen(SYSTEMS).count() < SYSTEMS as usize;
    assert!(single || (all.callbacks > 3_000 && all.chains > 1_000), "{all:?}");
}

/// A wait set with more threads than groups serves each group as if it had a thread alone.
#[test]
fn a_group_at_90_percent_of_a_thread_has_its_window_as_bound() {
    for policy in POLICIES {
        let mut scenario = parse(include_str!("cases/group_overload_not_named.toml"));
        policy.clone_into(&mut scenario.executors[0].policy);
        scenario.executors[0].threads = 4;
        scenario.callbacks[0].execution = ExecutionTime::Fixed(ms(4));
        scenario.callbacks[1].execution = ExecutionTime::Fixed(ms(5));
        let report = Analysis::new(&scenario).run().unwrap();
        let bounds: Vec<_> = report.callbacks.iter().map(|callback| callback.bound.unwrap()).collect();
        assert!(bounds.iter().all(|bound| *bound <= ms(9)), "{policy}: {report:?}");
        check(&scenario, ms(9), &mut Tally::default());
    }
}

#[test]
fn a_group_that_asks_for_more_than_a_thread_is_named_with_its_load() {
    for policy in POLICIES {
        let mut scenario = parse(include_str!("cases/group_overload_not_named.toml"));
        policy.clone_into(&mut scenario.executors[0].policy);
        let error = Analysis::new(&scenario).run().unwrap_err().to_string();
        assert!(
            error.starts_with("group `g` is overloaded: 120.0 % of the time of a thread is asked for, by a, b"),
            "{error}"
        );
    }
}

/// A timer whose callback waits for longer than there is time: the reason has the loads, and a change that is enough.
#[test]
fn a_missing_bound_names_what_asks_for_too_much_and_what_to_change() {
    let system = |wait: &str| {
        parse(&format!(
            "duration = \"1 s\"\ntopics = [\"/a\"]\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n[[group]]\nname = \"h\"\n\
            [[callback]]\nname = \"ask\"\ngroup = \"g\"\nkind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"4 ms\"\n\
            publishes = [\"/a\"]\nawaits = [{{ wait = \"{wait}\", run = \"0.5 ms\" }}]\n\
            [[callback]]\nname = \"use\"\ngroup = \"h\"\nkind = \"subscription\"\nsubscribes = \"/a\"\nexecution = \"0.5 ms\"\n"
        ))
    };
    let report = Analysis::new(&system("8 ms")).run().unwrap();
    let reason = "the work on the thread of `x` asks for 50.0 % of its time, and what is awaited there, most of it by `ask`, \
        for 80.0 %; if no wait is longer than 62 % of what it is now it has a bound";
    assert_eq!(report.callbacks[0].not_proven.as_deref(), Some(reason));
    assert_eq!(report.callbacks[0].changes, ["if no wait is longer than 62 % of what it is now"]);
    assert_eq!(report.callbacks[1].not_proven, Some(format!("`ask` has none, which releases it: {reason}")));
    let shorter = Analysis::new(&system("4.96 ms")).run().unwrap();
    assert!(shorter.callbacks.iter().all(|callback| callback.bound.is_some()), "{shorter:?}");
}

fn parse(text: &str) -> Scenario {
    Scenario::parse(text).unwrap()
}

#[test]
fn two_callbacks_of_a_wait_set_at_57_percent_have_the_window_as_bound() {
    let scenario = parse(include_str!("cases/no_bound_smallest.toml"));
    let window = window(&scenario).unwrap();
    assert_eq!(window, Duration::from_nanos(2_020_963 + 23_449_157));
    for policy in POLICIES {
        let mut scenario = scenario.clone();
        policy.clone_into(&mut scenario.executors[0].policy);
        let report = Analysis::new(&scenario).run().unwrap();
        let bounds = report.callbacks.iter().map(|callback| callback.bound);
        for bound in bounds.chain(report.chains.iter().map(|chain| chain.latency)) {
            assert!(bound.unwrap() <= window, "{policy}: {report:?}");
        }
    }
}

#[test]
fn a_chain_ends_with_the_busy_window_that_it_begins_in() {
    let scenario = parse(include_str!("cases/chain_worse_than_busy_window.toml"));
    for policy in POLICIES {
        let mut scenario = scenario.clone();
        policy.clone_into(&mut scenario.executors[0].policy);
        let report = Analysis::new(&scenario).run().unwrap();
        assert!(report.chains[0].latency.unwrap() <= ms(9), "{policy}: {:?}", report.chains);
    }
}
