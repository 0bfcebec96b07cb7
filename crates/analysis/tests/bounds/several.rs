//! Two to four threads that share groups: how many callbacks have no bound, and why; and that no simulation exceeds a
//! bound.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Unbounded};
use rospin_core::{EntityKind, GroupKind};
use rospin_scenario::draw::Stream;
use rospin_scenario::{Await, Callback, ExecutionTime, Executor, Group, Pattern, Scenario};
use rospin_sim::Simulation;

use crate::common::{self, ms, pick, seeds, us};
use crate::drawn;
use crate::systems::shares;

const POLICIES: [&str; 5] = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"];
/// Largest load of a group, as a share of a thread.
const GROUP_MAX: f64 = 0.9;
/// Depth of a queue by default, in ROS 2 and here. Those of the random systems lose no message in a simulation.
const DEPTH: u32 = 10;
/// Simulations of each system, with other phases and execution times each.
const PHASES: u64 = 5;

/// Returns how many systems there are of each policy and kind: 10,000 in all with `ROSPIN_SYSTEMS=1000`.
fn systems() -> u64 {
    common::systems(10, 100)
}

/// Kinds of groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// As rclcpp has them by default: a mutually exclusive group for each node.
    Nodes,
    /// Some of them reentrant.
    Mixed,
}

/// Returns a system of an executor with two to four threads, and whether some callbacks wait: 3 to 20 callbacks in more
/// nodes than threads, at 30 to 85 % of the time of all threads, in most systems with chains from node to node.
pub(crate) fn random(policy: &str, kind: Kind, seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, &format!("{policy} {kind:?}"));
    let mut scenario = Scenario::default();
    scenario.name = format!("{policy} {kind:?} {seed}");
    scenario.duration = ms(400);
    let threads = 2 + rng.below(3) as u16;
    scenario.cores = Some(threads);
    let mut executor = Executor::new("main");
    policy.clone_into(&mut executor.policy);
    executor.threads = threads;
    scenario.executors.push(executor);
    let nodes = 2 + rng.below(7);
    for number in 0..nodes {
        let mut group = Group::new(format!("node{number}"), "main");
        if kind == Kind::Mixed && rng.below(2) == 0 {
            group.kind = GroupKind::Reentrant;
        }
        scenario.groups.push(group);
    }
    let load = (0.3 + rng.below(551) as f64 / 1000.0) * f64::from(threads);
    let count = (nodes + rng.below(13)) as usize;
    let links = if rng.below(3) == 0 { 0 } else { 10 + rng.below(50) };
    let waits = rng.below(8) == 0;
    let mut periods = Vec::new();
    for (number, share) in shares(rng, count, load).into_iter().enumerate() {
        let others = [EntityKind::Subscription, EntityKind::Service, EntityKind::Waitable];
        // Linked callbacks run at the rate of the one that they follow.
        let from = (number > 0 && rng.below(100) < links).then(|| rng.below(number as u64) as usize);
        let entity = if from.is_some() || rng.below(2) == 0 { pick(rng, &others) } else { EntityKind::Timer };
        let group = pick(rng, &scenario.groups).name;
        let mut callback = Callback::new(format!("c{number}"), entity, group);
        callback.priority = Some(rng.below(8) as u32);
        callback.depth = 1_000;
        let period = from.map_or_else(|| us(1_000 * (1 + rng.below(40)) + rng.below(1_000)), |from| periods[from]);
        periods.push(period);
        let longest = period.mul_f64(share.min(GROUP_MAX)).max(us(1));
        callback.execution = ExecutionTime::Uniform(us(1), longest);
        callback.deadline = (rng.below(2) == 0).then(|| period.mul_f64(0.5 + rng.below(20) as f64 / 10.0));
        if waits && rng.below(6) == 0 {
            callback.execution = ExecutionTime::Uniform(us(1), (longest / 2).max(us(1)));
            let wait = ExecutionTime::Uniform(Duration::ZERO, longest / 4);
            callback.awaits.push(Await::new(wait, ExecutionTime::Uniform(us(1), (longest / 2).max(us(1)))));
            callback.releases_group_at_await = rng.below(2) == 0;
        }
        drawn::add_callback(&mut scenario, rng, callback, from, period);
    }
    scenario
}

/// Returns the loads of the mutually exclusive groups, as shares of a thread, and that of the whole executor.
fn loads(scenario: &Scenario) -> (Vec<f64>, f64) {
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut groups, mut all) = (vec![0.0; scenario.groups.len()], 0.0);
    for callback in &scenario.callbacks {
        let senders = scenario.callbacks.iter().filter(|sender| sender.publishes.contains(&callback.name));
        let mut rate: f64 = senders.map(|sender| rates[sender.name.as_str()]).sum();
        rate += callback.period.map_or(0.0, |period| 1.0 / period.as_secs_f64());
        for release in scenario.releases.iter().filter(|release| release.to.contains(&callback.name)) {
            if let Pattern::Periodic { period, .. } = release.pattern {
                rate += 1.0 / period.as_secs_f64();
            }
        }
        rates.insert(&callback.name, rate);
        let runs = std::iter::once(&callback.execution).chain(callback.awaits.iter().map(|part| &part.run));
        let load = rate * runs.map(|run| run.longest().as_secs_f64()).sum::<f64>();
        all += load;
        let group = scenario.groups.iter().position(|group| group.name == callback.group).unwrap();
        if scenario.groups[group].kind == GroupKind::MutuallyExclusive {
            groups[group] += load;
        }
    }
    (groups, all)
}

/// Returns true if no mutually exclusive group asks for too much.
pub(crate) fn is_light(scenario: &Scenario) -> bool {
    loads(scenario).0.iter().all(|load| *load <= GROUP_MAX)
}

/// Draws other phases and execution times.
pub(crate) fn rephase(scenario: &mut Scenario, seed: u64) {
    let rng = &mut Stream::new(seed, "phases");
    scenario.seed = seed;
    drawn::draw_phases(scenario, rng);
    let style = rng.below(3);
    for callback in &mut scenario.callbacks {
        let parts = callback.awaits.iter_mut().flat_map(|part| [&mut part.wait, &mut part.run]);
        for time in std::iter::once(&mut callback.execution).chain(parts) {
            // In some runs all take the longest time, in others some take a nanosecond and some the longest time.
            let longest = time.longest();
            match style {
                0 => *time = ExecutionTime::Fixed(longest),
                1 => *time = ExecutionTime::List(vec![longest, Duration::from_nanos(1).min(longest), longest]),
                _ => {}
            }
        }
    }
}

/// Figures of many systems.
#[derive(Default, Debug)]
struct Tally {
    systems: u64,
    callbacks: u64,
    /// Callbacks without a bound, by kind.
    without: Without,
    chains: u64,
    chains_unbounded: u64,
    ratios: Vec<f64>,
    /// Callbacks without a bound where queues hold as many messages as by default, and the ratios there.
    without_shallow: u64,
    ratios_shallow: Vec<f64>,
    methods: BTreeMap<&'static str, u64>,
    reasons: BTreeMap<String, u64>,
    /// Numbers of callbacks and of those without a bound: by load in steps of 10 %, and by whether the system has
    /// messages, and waits.
    parts: BTreeMap<(u64, bool, bool), (u64, u64)>,
    /// Numbers of callbacks and of those without a bound: by policy, kind of groups, and by whether the system has
    /// messages, and waits.
    classes: BTreeMap<(String, Kind, bool, bool), (u64, Without)>,
}

/// Numbers of callbacks without a bound.
#[derive(Clone, Copy, Default, Debug)]
struct Without {
    /// Those that may starve.
    starve: u64,
    /// Those of groups that send to each other, or behind them: in some systems of this kind responses grow without end.
    grow: u64,
    /// All others.
    unknown: u64,
}

impl Without {
    fn count(&mut self, kind: Unbounded) {
        match kind {
            Unbounded::MayStarve => self.starve += 1,
            Unbounded::MayGrow => self.grow += 1,
            _ => self.unknown += 1,
        }
    }

    fn add(&mut self, other: Self) {
        self.starve += other.starve;
        self.grow += other.grow;
        self.unknown += other.unknown;
    }

    const fn all(self) -> u64 {
        self.starve + self.grow + self.unknown
    }

    /// Returns the columns of the table: those that may starve, those that may grow, and the others, in per cent.
    fn columns(self, callbacks: u64) -> String {
        let share = |part: u64| part as f64 / callbacks.max(1) as f64 * 100.0;
        format!("{:5.1} | {:5.1} | {:5.1}", share(self.starve), share(self.grow), share(self.unknown))
    }
}

impl Tally {
    fn row(&mut self, name: &str) -> String {
        self.ratios.sort_by(f64::total_cmp);
        self.ratios_shallow.sort_by(f64::total_cmp);
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64 * 100.0;
        let ratio = |ratios: &[f64], part: f64| ratios[((ratios.len() as f64 * part) as usize).min(ratios.len() - 1)];
        let ratios = |of: &[f64]| {
            if of.is_empty() {
                return String::new();
            }
            let [half, few, least] = [0.5, 0.9, 0.99].map(|part| ratio(of, part));
            format!("bound / longest seen: median {half:.2}, of 10 % more than {few:.1}, of 1 % more than {least:.0}")
        };
        format!(
            "{name}: {} systems, {} callbacks, {:.1} % may starve, {:.1} % have no known bound; {} chains, {:.1} % without; {}; with queues of {DEPTH} messages {:.1} % without, {}",
            self.systems,
            self.callbacks,
            share(self.without.starve, self.callbacks),
            share(self.without.all() - self.without.starve, self.callbacks),
            self.chains,
            share(self.chains_unbounded, self.chains),
            ratios(&self.ratios),
            share(self.without_shallow, self.callbacks),
            ratios(&self.ratios_shallow)
        )
    }
}

/// Analyses and simulates a system.
fn check(policy: &str, kind: Kind, scenario: &Scenario, tally: &mut Tally) {
    if !is_light(scenario) {
        return;
    }
    let (_, all) = loads(scenario);
    let report = match Analysis::new(scenario).run() {
        Ok(report) => report,
        Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => return,
        Err(error) => panic!("{error}\n{}", scenario.to_toml()),
    };
    tally.systems += 1;
    let threads = f64::from(scenario.executors[0].threads);
    let part = (
        (all / threads * 10.0) as u64 * 10,
        scenario.callbacks.iter().any(|callback| !callback.publishes.is_empty()),
        scenario.callbacks.iter().any(|callback| !callback.awaits.is_empty()),
    );
    let class = tally.classes.entry((policy.to_owned(), kind, part.1, part.2)).or_default();
    let part = tally.parts.entry(part).or_default();
    for callback in &report.callbacks {
        tally.callbacks += 1;
        part.0 += 1;
        class.0 += 1;
        if let Some(kind) = callback.unbounded {
            tally.without.count(kind);
            class.1.count(kind);
            part.1 += 1;
            let text = callback.not_proven.as_deref().unwrap_or_default();
            let reason: String = text.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect();
            *tally.reasons.entry(reason).or_default() += 1;
        } else {
            *tally.methods.entry(callback.method).or_default() += 1;
        }
    }
    tally.chains += report.chains.len() as u64;
    tally.chains_unbounded += report.chains.iter().filter(|chain| chain.latency.is_none()).count() as u64;
    let mut longest = vec![Duration::ZERO; report.callbacks.len()];
    for seed in 0..PHASES {
        let mut simulated = scenario.clone();
        rephase(&mut simulated, seed);
        let outcome = Simulation::new(&simulated).unwrap().run().unwrap();
        let told = || format!("{}\n{}", scenario.name, simulated.to_toml());
        for (number, (callback, seen)) in report.callbacks.iter().zip(&outcome.callbacks).enumerate() {
            let (seen, bound) = (seen.response.max, callback.bound);
            longest[number] = longest[number].max(seen);
            assert!(bound.is_none_or(|bound| seen <= bound), "{seen:?} > {bound:?}: {callback:?}\n{}", told());
        }
        for (chain, seen) in report.chains.iter().zip(&outcome.chains) {
            let (seen, bound) = (seen.latency.max, chain.latency);
            assert!(bound.is_none_or(|bound| seen <= bound), "{seen:?} > {bound:?}: {chain:?}\n{}", told());
        }
    }
    let mut shallow = scenario.clone();
    shallow.callbacks.iter_mut().for_each(|callback| callback.depth = DEPTH);
    let shallow = Analysis::new(&shallow).run().unwrap();
    for (place, longest) in longest.into_iter().enumerate() {
        let ratio = |bound: Duration| bound.as_secs_f64() / longest.as_secs_f64().max(1e-9);
        let (deep, shallow) = (report.callbacks[place].bound, shallow.callbacks[place].bound);
        tally.without_shallow += u64::from(shallow.is_none());
        if !longest.is_zero() {
            tally.ratios.extend(deep.map(ratio));
            tally.ratios_shallow.extend(shallow.map(ratio));
        }
    }
}

/// Run with `--nocapture`, it prints the shares of the callbacks without a bound, and why. With `ROSPIN_SYSTEMS=1000`,
/// it looks at 10,000 systems.
#[test]
#[expect(clippy::print_stderr, reason = "the shares are what is asked for")]
fn few_callbacks_have_no_bound_and_none_is_exceeded() {
    let mut all = Tally::default();
    for policy in POLICIES {
        for kind in [Kind::Nodes, Kind::Mixed] {
            let mut tally = Tally::default();
            for seed in seeds::chosen(systems()) {
                check(policy, kind, &random(policy, kind, seed), &mut tally);
            }
            eprintln!("{}", tally.row(&format!("{policy}, {kind:?}")));
            all.systems += tally.systems;
            all.callbacks += tally.callbacks;
            all.without.add(tally.without);
            all.classes.extend(tally.classes);
            all.chains += tally.chains;
            all.chains_unbounded += tally.chains_unbounded;
            all.ratios.extend(tally.ratios);
            all.without_shallow += tally.without_shallow;
            all.ratios_shallow.extend(tally.ratios_shallow);
            tally.methods.into_iter().for_each(|(method, count)| *all.methods.entry(method).or_default() += count);
            for (part, (callbacks, unbounded)) in tally.parts {
                let known = all.parts.entry(part).or_default();
                *known = (known.0 + callbacks, known.1 + unbounded);
            }
            tally.reasons.into_iter().for_each(|(reason, count)| *all.reasons.entry(reason).or_default() += count);
        }
    }
    eprintln!("{}", all.row("all"));
    for ((load, messages, waits), (callbacks, unbounded)) in &all.parts {
        let share = *unbounded as f64 / *callbacks as f64 * 100.0;
        eprintln!(
            "load from {load} %, messages {messages}, waits {waits}: {callbacks} callbacks, {share:.1} % without"
        );
    }
    eprintln!("policy, groups, messages, waits | callbacks | may starve | may grow | not known");
    for ((policy, kind, messages, waits), (callbacks, without)) in &all.classes {
        let name = format!("{policy}, {kind:?}, {messages}, {waits}");
        eprintln!("{name:35} | {callbacks:5} | {}", without.columns(*callbacks));
    }
    eprintln!("{:35} | {:5} | {}", "all", all.callbacks, all.without.columns(all.callbacks));
    all.methods.iter().for_each(|(method, count)| eprintln!("{count:6} {method}"));
    all.reasons.iter().for_each(|(reason, count)| eprintln!("{count:6} without: {reason}"));
    if seeds::chosen(systems()).count() < systems() as usize {
        return;
    }
    let share = |of: &dyn Fn(u64, bool) -> bool| {
        let parts = all.parts.iter().filter(|((load, messages, _), _)| of(*load, *messages));
        let (callbacks, unbounded) = parts.fold((0, 0), |sum, (_, part)| (sum.0 + part.0, sum.1 + part.1));
        unbounded as f64 / callbacks as f64
    };
    assert!(share(&|load, _| load < 70) < 0.03);
    assert!(share(&|_, _| true) < 0.1);
    let known = all.classes.iter().filter(|((_, _, messages, waits), _)| !messages && !waits);
    let unknown: u64 = known.map(|(_, (_, without))| without.grow + without.unknown).sum();
    assert!(unknown <= all.callbacks / 100, "without messages and waits, what does not starve has a bound: {unknown}");
    let others = (all.without.all() - all.without.starve) as f64 / all.callbacks as f64;
    assert!(others < 0.1, "without a known bound, though they do not starve: {others}");
}

/// A wait set with a thread to spare serves the group of Dust's third experiment by the kinds of its callbacks, as the
/// simulator and 200 s of random phases show: 0.9 s.
#[test]
fn the_bounds_of_dust_are_within_twice_the_longest_seen() {
    for (text, longest) in [(rospin_scenario::examples::EXP3, ms(900)), (rospin_scenario::examples::EXP4, ms(500))] {
        let report = Analysis::new(&Scenario::parse(text).unwrap()).run().unwrap();
        let bound = report.callback("T0").unwrap().bound.unwrap();
        assert!(bound <= 2 * longest, "{bound:?}");
    }
}
