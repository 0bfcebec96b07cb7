//! Traffic that systems have beside timers: bursts, limits, measured arrivals, jitter beyond a period, messages that
//! are under way, joins, and deadlines that may be missed now and then. No simulation of a random system exceeds what
//! is proven of it.

use std::time::Duration;

use rospin_analysis::{Analysis, AnalysisError, Report};
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{
    Burst, Callback, Chain, ExecutionTime, Executor, Group, Limit, Link, Pattern, Release, Scenario, Tolerance,
};
use rospin_sim::{Outcome, Simulation};

use crate::common::misses::misses;
use crate::common::seeds;
use crate::common::{pick, us};

const SYSTEMS: u64 = 4_000;

/// Returns arrivals at a rate of one in each period, or less.
fn pattern(rng: &mut Stream, period: Duration) -> (Pattern, Option<Burst>) {
    let offset = us(rng.below(500));
    let jitter = |rng: &mut Stream| us(rng.below(period.as_micros() as u64));
    match rng.below(7) {
        0 => (Pattern::Periodic { period, offset, jitter: jitter(rng) }, None),
        1 => (Pattern::Periodic { period, offset, jitter: 2 * period + jitter(rng) }, None),
        2 => {
            let count = 2 + rng.below(3) as u32;
            let spacing = period.mul_f64((1 + rng.below(10)) as f64 / 10.0);
            let pattern = Pattern::Periodic { period: period * count, offset, jitter: Duration::ZERO };
            (pattern, Some(Burst { count, spacing: spacing.min(period * count / (count - 1)) }))
        }
        3 => {
            let count = 2 + rng.below(3) as u32;
            let limits = vec![
                Limit { count, within: period * count },
                Limit { count: 1 + rng.below(2) as u32, within: period / 4 },
            ];
            (Pattern::Limited { offset, limits }, None)
        }
        4 => {
            let nominal = |number: u64| us(number * period.as_micros() as u64);
            let times: Vec<Duration> = (0..12).map(|number| nominal(number) + jitter(rng) / 2).collect();
            (Pattern::Measured { file: "there".to_owned(), times }, None)
        }
        5 => (Pattern::Sporadic { offset, min: period, max: 2 * period }, None),
        _ => (Pattern::Periodic { period, offset, jitter: Duration::ZERO }, None),
    }
}

/// Returns a system with one or two executors on cores of their own or on one, and up to six callbacks, perhaps joined
/// by a last one.
fn random(seed: u64) -> Scenario {
    let rng = &mut Stream::new(seed, "traffic");
    let mut scenario = Scenario::default();
    scenario.name = format!("traffic {seed}");
    scenario.seed = seed;
    scenario.duration = us(60_000);
    let executors = 1 + rng.below(2) as u16;
    scenario.cores = Some(1 + (executors - 1) * rng.below(2) as u16);
    for number in 0..executors {
        let mut executor = Executor::new(format!("x{number}"));
        pick(rng, &["fixed-priority", "fixed-priority", "edf", "fifo", "wait-set-e2"]).clone_into(&mut executor.policy);
        executor.os_priority = 10 + number as u8;
        executor.cores = vec![number % scenario.cores.unwrap_or(1)];
        scenario.groups.push(Group::new(format!("g{number}"), &executor.name));
        scenario.executors.push(executor);
    }
    let count = 2 + rng.below(3);
    let load = (40 + rng.below(50)) as f64 / 100.0 / (2.0 * count as f64);
    let periods: [u64; 6] = [1_000, 2_000, 3_000, 4_000, 6_000, 12_000];
    let joins = rng.below(2) == 0;
    let common = pick(rng, &periods);
    scenario.topics = (0..count).map(|number| format!("/{number}")).collect();
    for number in 0..count {
        // Three of four topics that may be joined have the same period.
        let period = us(if joins && rng.below(4) > 0 { common } else { pick(rng, &periods) });
        let (name, then) = (format!("c{number}"), format!("d{number}"));
        let is_timer = rng.below(3) == 0;
        let kind = if is_timer { EntityKind::Timer } else { EntityKind::Service };
        let mut first = Callback::new(&name, kind, pick(rng, &scenario.groups).name);
        first.priority = Some(rng.below(6) as u32);
        first.depth = 1_000;
        first.execution = ExecutionTime::Fixed(period.mul_f64(load).max(us(1)));
        first.deadline = Some(us(period.as_micros() as u64 / 2 + rng.below(period.as_micros() as u64)));
        if rng.below(2) == 0 {
            first.tolerates = Some(Tolerance { misses: rng.below(3) as u32, of: 3 + rng.below(8) as u32 });
        }
        if is_timer {
            first.period = Some(period);
            first.offset = Some(us(rng.below(period.as_micros() as u64)));
        } else {
            let (pattern, burst) = pattern(rng, period);
            let mut release = Release::new([&name], pattern);
            release.burst = burst;
            scenario.releases.push(release);
        }
        if rng.below(2) == 0 {
            let mut second = Callback::new(&then, EntityKind::Service, pick(rng, &scenario.groups).name);
            second.priority = Some(rng.below(6) as u32);
            second.depth = 1_000;
            second.execution = ExecutionTime::Uniform(us(1), period.mul_f64(load).max(us(1)));
            second.publishes = vec![format!("/{number}")];
            first.publishes = vec![then.clone()];
            scenario.chains.push(Chain::new(format!("chain {number}"), 1, [name, then.clone()]));
            if rng.below(2) == 0 {
                let delay = ExecutionTime::Uniform(us(rng.below(200)), us(200 + rng.below(2_000)));
                scenario.links.push(Link::new([&then], delay));
            }
            scenario.callbacks.push(first);
            scenario.callbacks.push(second);
        } else {
            first.publishes = vec![format!("/{number}")];
            scenario.chains.push(Chain::new(format!("chain {number}"), 1, [name]));
            scenario.callbacks.push(first);
        }
    }
    if joins {
        join(rng, &mut scenario, us(common).mul_f64(load));
    }
    scenario.check().unwrap_or_else(|error| panic!("{seed}: {error}\n{}", scenario.to_toml()));
    scenario
}

/// Joins some of the topics, at the end of their chains.
fn join(rng: &mut Stream, scenario: &mut Scenario, cost: Duration) {
    let mut joined = Callback::new("joined", EntityKind::Subscription, pick(rng, &scenario.groups).name);
    let some = 2 + rng.below(scenario.topics.len() as u64 - 1) as usize;
    joined.joins = scenario.topics[..some].to_vec();
    joined.depth = 1 + rng.below(3) as u32;
    joined.priority = Some(rng.below(6) as u32);
    joined.execution = ExecutionTime::Fixed(cost.max(us(1)));
    scenario.callbacks.push(joined);
    scenario.chains[..some].iter_mut().for_each(|chain| chain.callbacks.push("joined".to_owned()));
    if rng.below(2) == 0 {
        let delay = ExecutionTime::Uniform(us(rng.below(300)), us(300 + rng.below(1_000)));
        scenario.links.push(Link::new(["/0"], delay));
    }
}

#[derive(Default, Debug)]
struct Tally {
    analysed: u64,
    responses: (u64, f64, f64),
    latencies: (u64, f64, f64),
    joined: (u64, f64, f64),
    ages: (u64, f64, f64),
    misses: (u64, f64, f64),
    /// The number of callbacks with fewer misses than activations.
    tolerated: u64,
}

/// Counts a ratio: how many, their sum, the largest.
fn count(tally: &mut (u64, f64, f64), seen: f64, bound: f64) {
    let ratio = seen / bound;
    *tally = (tally.0 + 1, tally.1 + ratio, tally.2.max(ratio));
}

fn check(tally: &mut Tally, scenario: &Scenario, report: &Report, outcome: &Outcome) {
    let told = |what: String| format!("{what}\n{}\nROSPIN_TEST_SEED={}", scenario.to_toml(), scenario.seed);
    for (number, (bound, seen)) in report.callbacks.iter().zip(&outcome.callbacks).enumerate() {
        if let Some(bound) = bound.bound {
            let text = || told(format!("`{}` took {:?}, the bound is {bound:?}", seen.name, seen.response.max));
            assert!(seen.response.max <= bound, "{}", text());
            count(&mut tally.responses, seen.response.max.as_secs_f64(), bound.as_secs_f64());
        }
        if let (Some(Tolerance { of, .. }), Some(most)) = (scenario.callbacks[number].tolerates, bound.misses) {
            let deadline = bound.deadline.expect("there is something to miss");
            let missed = misses(outcome, number, u64::from(of), deadline);
            let text = || told(format!("`{}` missed {missed} of {of}, the bound is {most}", seen.name));
            assert!(missed <= most, "{}", text());
            if most > 0 {
                count(&mut tally.misses, missed as f64, most as f64);
                tally.tolerated += u64::from(most < u64::from(of));
            }
        }
    }
    for (bound, seen) in report.chains.iter().zip(&outcome.chains) {
        let Some(latency) = bound.latency else { continue };
        let text = || told(format!("`{}` took {:?}, the bound is {latency:?}", seen.name, seen.latency.max));
        assert!(seen.latency.max <= latency, "{}", text());
        let joined = scenario
            .chains
            .iter()
            .any(|chain| chain.name == seen.name && chain.callbacks.ends_with(&["joined".to_owned()]));
        let of_kind = if joined { &mut tally.joined } else { &mut tally.latencies };
        count(of_kind, seen.latency.max.as_secs_f64(), latency.as_secs_f64());
        for pair in seen.instances.windows(2) {
            let ((older, _), (newer, latency)) = (pair[0], pair[1]);
            let age = (newer + latency).saturating_since(older);
            for (most, what) in [(bound.data_age, "data was"), (bound.reaction_time, "a reaction took")] {
                // A message from outside is itself the event. Only timers sample events.
                let samples = scenario.callbacks.iter().any(|callback| {
                    callback.kind == EntityKind::Timer
                        && scenario
                            .chains
                            .iter()
                            .any(|chain| chain.name == seen.name && chain.callbacks[0] == callback.name)
                });
                if let Some(most) = most.filter(|_| samples || what == "data was") {
                    assert!(age <= most, "{}", told(format!("`{}`: {what} {age:?}, the bound is {most:?}", seen.name)));
                    count(&mut tally.ages, age.as_secs_f64(), most.as_secs_f64());
                }
            }
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are asked for")]
fn no_simulation_exceeds_what_is_proven() {
    let mut tally = Tally::default();
    let seeds = seeds::chosen(SYSTEMS);
    let all = seeds.clone().count() as u64 == SYSTEMS;
    for seed in seeds {
        let scenario = random(seed);
        let report = match Analysis::new(&scenario).run() {
            Ok(report) => report,
            Err(AnalysisError::Overloaded { .. } | AnalysisError::GroupOverloaded { .. }) => continue,
            Err(error) => panic!("{error}\n{}", scenario.to_toml()),
        };
        tally.analysed += 1;
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        check(&mut tally, &scenario, &report, &outcome);
    }
    eprintln!("{tally:?}");
    if all {
        assert!(tally.analysed > SYSTEMS * 9 / 10 && tally.tolerated > 100, "{tally:?}");
        // Some bound must be nearly reached, or this test would not notice a bound that is too small.
        for (number, sum, largest) in [tally.responses, tally.latencies, tally.ages] {
            assert!(number > 100 && largest > 0.99 && sum / number as f64 > 0.3, "{tally:?}");
        }
        for (number, _, largest) in [tally.joined, tally.misses] {
            assert!(number > 100 && largest > 0.6, "{tally:?}");
        }
    }
}

/// A message waits for the other topic for almost as long as is between two messages of that; data is that old, too.
#[test]
fn a_join_waits_as_long_as_it_may() {
    let text = "duration = \"2 s\"\ncores = 2\ntopics = [\"left\", \"right\"]\n\
        [[executor]]\nname = \"x\"\ncores = [0]\n[[executor]]\nname = \"y\"\ncores = [1]\n\
        [[group]]\nname = \"g\"\nexecutor = \"x\"\n[[group]]\nname = \"h\"\nexecutor = \"y\"\n\
        [[callback]]\nname = \"l\"\ngroup = \"g\"\nkind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"100 us\"\n\
        offset = \"0 s\"\npublishes = [\"left\"]\n\
        [[callback]]\nname = \"r\"\ngroup = \"h\"\nkind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"100 us\"\n\
        offset = \"9990 us\"\npublishes = [\"right\"]\n\
        [[callback]]\nname = \"both\"\ngroup = \"h\"\nkind = \"subscription\"\njoins = [\"left\", \"right\"]\ndepth = 1\n\
        execution = \"100 us\"\n\
        [[chain]]\nname = \"c\"\ncallbacks = [\"l\", \"both\"]\n";
    let scenario = Scenario::parse(text).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    let (bound, seen) = (report.chain("c").unwrap(), &outcome.chains[0]);
    let latency = bound.latency.unwrap();
    assert!(
        seen.latency.max <= latency && seen.latency.max > latency.mul_f64(0.95),
        "{:?} of {latency:?}",
        seen.latency
    );
    assert_eq!(report.callback("both").unwrap().backlog, Some(1));
    let age = bound.data_age.unwrap();
    assert!(age > latency + Duration::from_millis(9) && bound.lossy.is_empty(), "{age:?}");
}

/// A message waits for the other topic until that begins, however often it comes from then on.
#[test]
fn a_join_waits_for_a_topic_that_begins_late() {
    let text = "duration = \"2 s\"\ncores = 1\ntopics = [\"left\", \"right\"]\n\
        [[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n\
        [[callback]]\nname = \"l\"\nkind = \"timer\"\nperiod = \"1 s\"\nexecution = \"100 us\"\n\
        offset = \"0 s\"\npublishes = [\"left\"]\n\
        [[callback]]\nname = \"r\"\nkind = \"timer\"\nperiod = \"10 ms\"\nexecution = \"100 us\"\n\
        offset = \"500 ms\"\npublishes = [\"right\"]\n\
        [[callback]]\nname = \"both\"\nkind = \"subscription\"\njoins = [\"left\", \"right\"]\ndepth = 1\n\
        execution = \"100 us\"\n\
        [[chain]]\nname = \"c\"\ncallbacks = [\"l\", \"both\"]\n";
    let scenario = Scenario::parse(text).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    let (bound, seen) = (report.chain("c").unwrap(), &outcome.chains[0]);
    assert_eq!(seen.latency.max, us(500_200));
    let latency = bound.latency.unwrap();
    assert!(latency >= seen.latency.max && latency < us(501_000), "{latency:?}");
    assert_eq!(bound.data_age, Some(latency + us(1_000_000)));
}
