//! Parity: what is simulated is what runs.
//!
//! The same scenario runs on the engine under a manual clock and in the simulator, and both must make the same
//! decisions: the same entity, with the same release, at the same instant. For the shipped scenarios, and for thousands
//! of random ones with one to three executors of one thread each, which share a core and preempt each other.
//!
//! Several cores are left out, since a clock that callbacks move lets only one of them take time. So are equal OS
//! priorities: who was notified first would decide, and the engine may be notified for nothing where the simulator is
//! not.
//!
//! A failure prints its seed and the command that replays it:
//! `ROSPIN_TEST_SEED=17 cargo test -p rospin-synthetic parity -- --nocapture`.

use std::time::Duration;

use rospin_engine::trace::TraceEvent;
use rospin_engine::{ClockKind, EntityKind, GroupKind, Overrun, policy};
use rospin_scenario::draw::Stream;
use rospin_scenario::{
    Await, Bin, Burst, Callback, Chain, ExecutionTime, Executor, Fault, Group, Pattern, Priorities, Release, Scenario,
};
use rospin_sim::{Event, Observer, Simulation, What};

use crate::RealPollingPoint;
use crate::manual::{self, Decision};

/// Number of random scenarios that a run of the test compares. Optimised builds compare more.
const RANDOM_SCENARIOS: u64 = if cfg!(debug_assertions) { 3_000 } else { 5_000 };
/// Unit of the generator's random durations.
const STEP: Duration = Duration::from_micros(100);

/// Behaviour that must be the same on the engine and in the simulator.
#[derive(PartialEq, Eq, Debug, Default)]
struct Behaviour {
    decisions: Vec<Decision>,
    polling_points: Vec<RealPollingPoint>,
}

/// Returns the behaviour of the engine, under a manual clock.
fn on_the_engine(scenario: &Scenario) -> Behaviour {
    let (decisions, outcome) = manual::run(scenario).expect("the engine runs it");
    Behaviour { decisions, polling_points: outcome.polling_points }
}

/// Record of the picks of the simulator's schedulers, with the executor of each.
#[derive(Default)]
struct Picks(Vec<(usize, Decision)>);

impl Observer for Picks {
    fn observe(&mut self, event: &Event) {
        if let What::Scheduler(Some(callback), TraceEvent::Dispatched(_, activation)) = event.what {
            let decision = Decision {
                callback,
                segment: activation.segment,
                release_ns: activation.release.as_nanos(),
                start_ns: event.at.as_nanos(),
            };
            self.0.push((event.executor, decision));
        }
    }
}

/// Returns the behaviour of the simulator.
fn in_the_simulator(scenario: &Scenario) -> Behaviour {
    let mut picks = Picks::default();
    let simulation = Simulation::new(scenario).expect("a scenario that makes sense");
    let mut outcome = simulation.observe(&mut picks).run().expect("it runs to its end");
    // Sorted by executor, as in the engine, where every executor has a record of its own.
    picks.0.sort_by_key(|(executor, _)| *executor);
    outcome.polling_points.sort_by_key(|point| (point.at, point.executor));
    let points = outcome.polling_points.into_iter();
    let points = points.map(|point| RealPollingPoint { at_ns: point.at.as_nanos(), ready_set: point.ready_set });
    let decisions = picks.0.into_iter().map(|(_, decision)| decision).collect();
    Behaviour { decisions, polling_points: points.collect() }
}

/// Returns a text about the first difference; `None` if engine and simulator behave the same.
fn difference(scenario: &Scenario) -> Option<String> {
    let (engine, simulator) = (on_the_engine(scenario), in_the_simulator(scenario));
    if engine == simulator {
        return None;
    }
    let at = engine.decisions.iter().zip(&simulator.decisions).take_while(|(engine, simulator)| engine == simulator);
    let at = at.count();
    if engine.decisions == simulator.decisions {
        let pairs = engine.polling_points.iter().zip(&simulator.polling_points);
        let at = pairs.take_while(|(engine, simulator)| engine == simulator).count();
        let (engine, simulator) = (engine.polling_points.get(at), simulator.polling_points.get(at));
        return Some(format!("polling point {at}: engine {engine:?}, simulator {simulator:?}"));
    }
    let (engine, simulator) = (engine.decisions.get(at), simulator.decisions.get(at));
    Some(format!("decision {at}: engine {engine:?}, simulator {simulator:?}"))
}

// ---- random scenarios ----

/// Generator of random scenarios.
pub(crate) struct Generator(Stream);

impl Generator {
    fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// Returns a random duration from `low` to `high` times [`STEP`]. Half of the durations are multiples of ten steps,
    /// because events at the same instant are the interesting ones.
    fn steps(&mut self, low: u64, high: u64) -> Duration {
        let steps = self.between(low, high);
        let steps = if self.chance(50) { steps.next_multiple_of(10).min(high.max(10)) } else { steps };
        STEP * steps as u32
    }

    fn execution(&mut self) -> ExecutionTime {
        match self.between(0, 9) {
            0 => ExecutionTime::Fixed(Duration::ZERO),
            1..=5 => ExecutionTime::Fixed(self.steps(1, 40)),
            6 | 7 => ExecutionTime::Uniform(self.steps(1, 10), self.steps(10, 50)),
            8 => ExecutionTime::List(vec![self.steps(1, 30), self.steps(1, 30)]),
            _ => {
                let bins = [(self.steps(1, 20), 8), (self.steps(20, 60), 2)];
                ExecutionTime::Recorded(bins.map(|(time, count)| Bin { time, count }).into())
            }
        }
    }

    pub(crate) fn scenario(seed: u64) -> Scenario {
        let mut generator = Self(Stream::new(seed, "parity"));
        let mut scenario = Scenario::default();
        scenario.name = format!("parity {seed}");
        scenario.seed = seed;
        scenario.duration = generator.steps(500, 1500);
        scenario.cores = Some(1);
        let executors = if generator.chance(50) { 1 } else { generator.between(2, 3) };
        for number in 0..executors {
            generator.add_executor(&mut scenario, number);
        }
        for number in 0..generator.between(executors, 3) {
            // The first groups go to one executor each, so that each executor has one. The others go to any.
            let executor = if number < executors { number } else { generator.0.below(executors) };
            let mut group = Group::new(format!("g{number}"), format!("x{executor}"));
            if generator.chance(25) {
                group.kind = GroupKind::Reentrant;
            }
            scenario.groups.push(group);
        }
        scenario.topics = (0..generator.between(0, 3)).map(|number| format!("/t{number}")).collect();
        for number in 0..generator.between(1, 7) {
            generator.add_callback(&mut scenario, number);
        }
        generator.add_outputs(&mut scenario);
        for _ in 0..generator.between(0, 4) {
            generator.add_release(&mut scenario);
        }
        generator.add_rest(&mut scenario);
        scenario
    }

    fn add_executor(&mut self, scenario: &mut Scenario, number: u64) {
        let mut executor = Executor::new(format!("x{number}"));
        executor.policy = policy::POLICIES[self.between(0, 4) as usize].name.to_owned();
        // No two executors have the same priority.
        executor.os_priority = (self.between(1, 30) * 3 + number) as u8;
        if self.chance(10) {
            executor.start = self.steps(1, 100);
        }
        if self.chance(10) {
            executor.stop = Some(executor.start + self.steps(100, 400));
        }
        scenario.executors.push(executor);
    }

    fn add_callback(&mut self, scenario: &mut Scenario, number: u64) {
        let kinds = [EntityKind::Timer, EntityKind::Subscription, EntityKind::Service, EntityKind::Client];
        let kind = match self.between(0, 9) {
            0..=2 => kinds[0],
            3..=6 => kinds[1],
            7 | 8 => kinds[2],
            _ => kinds[3],
        };
        let group = format!("g{}", self.0.below(scenario.groups.len() as u64));
        let mut callback = Callback::new(format!("c{number}"), kind, group);
        callback.execution = self.execution();
        if self.chance(60) {
            callback.priority = Some(self.between(0, 4) as u32);
        }
        if self.chance(50) {
            callback.deadline = Some(self.steps(5, 100));
        }
        if kind == EntityKind::Timer {
            self.make_timer(&mut callback);
        } else {
            callback.depth = self.between(1, 5) as u32;
        }
        if kind == EntityKind::Subscription && !scenario.topics.is_empty() && self.chance(80) {
            let topic = self.0.below(scenario.topics.len() as u64) as usize;
            callback.subscribes = Some(scenario.topics[topic].clone());
        }
        if self.chance(25) {
            for _ in 0..self.between(1, 2) {
                let wait = ExecutionTime::Fixed(if self.chance(10) { Duration::ZERO } else { self.steps(1, 60) });
                let run = self.execution();
                callback.awaits.push(Await::new(wait, run));
            }
            callback.releases_group_at_await = self.chance(50);
        }
        // The generator makes no synchronous callback of a reentrant group with several activations in flight on one
        // thread. There the simulator reports the remaining messages when one is taken, and the engine when the
        // callback ends, by when a newer message may have been released.
        if callback.is_async() && self.chance(30) {
            callback.max_in_flight = Some(self.between(1, 3) as u32);
        }
        scenario.callbacks.push(callback);
    }

    fn make_timer(&mut self, timer: &mut Callback) {
        if self.chance(85) {
            timer.period = Some(self.steps(10, 200));
        }
        if timer.period.is_none() || self.chance(50) {
            timer.offset = Some(self.steps(0, 200));
        }
        timer.overrun = match self.between(0, 3) {
            0 => Overrun::CatchUp(self.between(1, 3) as u32),
            1 => Overrun::ShiftPhase,
            _ => Overrun::Skip,
        };
        if self.chance(15) {
            timer.clock = ClockKind::System;
        }
    }

    /// Has callbacks publish to later ones only, so that no message goes round for ever.
    fn add_outputs(&mut self, scenario: &mut Scenario) {
        for number in 0..scenario.callbacks.len() {
            let topics: Vec<String> = scenario.topics.clone();
            for topic in topics {
                let goes_on = scenario.receivers(&topic).all(|(receiver, _)| receiver > number);
                if goes_on && self.chance(25) {
                    scenario.callbacks[number].publishes.push(topic);
                }
            }
            let later = scenario.callbacks[number + 1..].iter().filter(|later| later.kind != EntityKind::Timer);
            let later: Vec<String> = later.map(|later| later.name.clone()).collect();
            for name in later {
                if self.chance(10) {
                    scenario.callbacks[number].publishes.push(name);
                }
            }
        }
    }

    fn add_release(&mut self, scenario: &mut Scenario) {
        let callbacks = scenario.callbacks.iter().filter(|callback| callback.kind != EntityKind::Timer);
        let mut to: Vec<String> = callbacks.map(|callback| callback.name.clone()).collect();
        to.extend(scenario.topics.iter().cloned());
        to.retain(|_| self.chance(40));
        if to.is_empty() {
            return;
        }
        let pattern = match self.between(0, 2) {
            0 => Pattern::List((0..self.between(1, 8)).map(|_| self.steps(0, 600)).collect()),
            1 => {
                let period = self.steps(20, 300);
                let jitter = if self.chance(50) { period / 4 } else { Duration::ZERO };
                Pattern::Periodic { period, offset: self.steps(0, 100), jitter }
            }
            _ => Pattern::Sporadic { offset: self.steps(0, 50), min: self.steps(20, 50), max: self.steps(50, 300) },
        };
        let mut release = Release::new(to, pattern);
        if !matches!(release.pattern, Pattern::List(_)) && self.chance(30) {
            release.burst = Some(Burst { count: self.between(2, 4) as u32, spacing: STEP * self.between(0, 4) as u32 });
        }
        scenario.releases.push(release);
    }

    fn add_rest(&mut self, scenario: &mut Scenario) {
        let linked = scenario.callbacks.iter().find_map(|from| {
            let mut receivers = from.publishes.iter().flat_map(|address| scenario.receivers(address));
            receivers.next().map(|(_, to)| [from.name.clone(), to.name.clone()])
        });
        if let Some(callbacks) = linked
            && self.chance(50)
        {
            scenario.priorities = Priorities::Picas;
            scenario.chains.push(Chain::new("chain", 3, callbacks));
        }
        if self.chance(20) {
            let callback = scenario.callbacks[0].name.clone();
            scenario.faults.push(Fault::Overrun { callback, probability: 0.3, extra: self.steps(5, 50) });
        }
    }
}

/// Removes parts of a scenario, one after the other, as long as the difference remains.
fn shrink(mut scenario: Scenario) -> Scenario {
    let differs = |smaller: &Scenario| smaller.check().is_ok() && difference(smaller).is_some();
    loop {
        let Some(smaller) = smaller(&scenario).into_iter().find(&differs) else {
            return scenario;
        };
        scenario = smaller;
    }
}

/// Returns the scenarios that lack one part of `scenario` each.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut candidates = Vec::new();
    let mut without = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        if candidate != *scenario {
            candidates.push(candidate);
        }
    };
    without(&|s| s.duration /= 2);
    without(&|s| s.faults.clear());
    without(&|s| s.chains.clear());
    without(&|s| s.priorities = Priorities::Given);
    for number in 0..scenario.executors.len() {
        without(&|s| s.executors[number].start = Duration::ZERO);
        without(&|s| s.executors[number].stop = None);
    }
    for number in 0..scenario.releases.len() {
        without(&|s| drop(s.releases.remove(number)));
        without(&|s| s.releases[number].burst = None);
        for place in 0..scenario.releases[number].to.len() {
            without(&|s| drop(s.releases[number].to.remove(place)));
        }
    }
    for number in 0..scenario.callbacks.len() {
        without(&|s| {
            let name = s.callbacks.remove(number).name;
            s.callbacks.iter_mut().for_each(|callback| callback.publishes.retain(|to| *to != name));
            s.releases.iter_mut().for_each(|release| release.to.retain(|to| *to != name));
        });
        without(&|s| s.callbacks[number].publishes.clear());
        without(&|s| s.callbacks[number].subscribes = None);
        without(&|s| s.callbacks[number].awaits.clear());
        without(&|s| s.callbacks[number].priority = None);
        without(&|s| s.callbacks[number].deadline = None);
        without(&|s| s.callbacks[number].max_in_flight = None);
        without(&|s| s.callbacks[number].releases_group_at_await = false);
        without(&|s| s.callbacks[number].clock = ClockKind::Steady);
        without(&|s| s.callbacks[number].overrun = Overrun::Skip);
        without(&|s| s.callbacks[number].execution = ExecutionTime::Fixed(10 * STEP));
    }
    candidates
}

/// Returns the seed in `ROSPIN_TEST_SEED`, or all seeds if that is not set.
fn seeds() -> std::ops::Range<u64> {
    match std::env::var("ROSPIN_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..RANDOM_SCENARIOS,
    }
}

#[test]
fn parity_of_random_scenarios() {
    let (mut decisions, mut polling_points) = (0, 0);
    for seed in seeds() {
        let scenario = Generator::scenario(seed);
        scenario.check().unwrap_or_else(|error| panic!("seed {seed} makes no sense: {error}"));
        if let Some(difference) = difference(&scenario) {
            let smallest = shrink(scenario);
            panic!(
                "engine and simulator differ: {difference}\nreplay: ROSPIN_TEST_SEED={seed} cargo test -p rospin-synthetic \
                 parity -- --nocapture\nsmallest scenario: {}\n{smallest:#?}",
                self::difference(&smallest).unwrap_or_default(),
            );
        }
        let behaviour = on_the_engine(&scenario);
        decisions += behaviour.decisions.len();
        polling_points += behaviour.polling_points.len();
    }
    // A generator whose scenarios decide nothing would pass without a comparison.
    assert!(seeds().count() == 1 || (decisions > 50_000 && polling_points > 5_000), "{decisions} {polling_points}");
}

#[test]
fn parity_of_the_shipped_scenarios() {
    let shipped = [
        ("exp1", rospin_scenario::examples::EXP1),
        ("exp2", rospin_scenario::examples::EXP2),
        ("chain", rospin_scenario::examples::CHAIN),
    ];
    for (name, text) in shipped {
        let mut scenario = Scenario::parse(text).expect(name);
        for entry in policy::POLICIES {
            for executor in &mut scenario.executors {
                entry.name.clone_into(&mut executor.policy);
            }
            assert_eq!(difference(&scenario), None, "{name} under {}", entry.name);
            assert!(!on_the_engine(&scenario).decisions.is_empty(), "{name}");
        }
    }
}
