//! Runs in which a callback waits for ever that may starve, as the analysis says: found by a search, and run long.
//!
//! A run belongs to the same system with other phases, in which some callbacks are released less often than they may
//! be, or not at all, and some take less than their longest time. All releases repeat after a cycle, so that the run
//! goes on like that for ever if its callback waits longer the longer it is simulated. No bound can hold for such a
//! callback that also holds if something is released less often.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_scenario::draw::Stream;
use rospin_scenario::{ExecutionTime, Pattern, Scenario};
use rospin_sim::{Outcome, Simulation};

use crate::common::{self, seeds};
use crate::several::{self, Kind};
use crate::starvation;

const POLICIES: [&str; 4] = ["fixed-priority", "edf", "wait-set-e1", "wait-set-e2"];
/// Nanoseconds of which each cycle is a multiple, so that it can be divided by many numbers.
const GRAIN: u64 = 27_720;
/// Numbers of releases in a cycle: divisors of [`GRAIN`].
const COUNTS: [u64; 22] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 18, 20, 21, 22, 24, 28, 30, 36];
/// Cycles of a run during the search.
const SHORT: u64 = 12;
/// Cycles of the two runs that decide.
const LONG: [u64; 2] = [100, 1_000];

/// Returns the number of systems of each policy and kind.
fn systems() -> u64 {
    common::systems(1, 5)
}

/// Returns the number of runs that are tried for each callback.
fn tries() -> u64 {
    let given = std::env::var("ROSPIN_TRIES").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(600)
}

/// Source of releases from outside the system, by its number in the scenario.
#[derive(Clone, Copy)]
enum Source {
    Timer(usize),
    Release(usize),
}

/// Releases of one source in a run.
#[derive(Clone, Copy)]
struct Timing {
    /// Releases in a cycle, or 0 for none at all.
    count: u64,
    /// Cycles between two releases; 1 if there are several in a cycle.
    cycles: u64,
    /// First release.
    offset: u64,
}

/// A run of the system: its cycle, when each source releases, and the share of the longest time that each callback
/// takes, in per cent.
#[derive(Clone)]
struct Plan {
    cycle: u64,
    timings: Vec<Timing>,
    percents: Vec<u64>,
}

/// A system, with what a run may change.
struct Game<'a> {
    scenario: &'a Scenario,
    sources: Vec<Source>,
    /// Shortest time between two releases, by source.
    periods: Vec<u64>,
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl<'a> Game<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let (mut sources, mut periods) = (Vec::new(), Vec::new());
        for (number, callback) in scenario.callbacks.iter().enumerate() {
            if let Some(period) = callback.period {
                sources.push(Source::Timer(number));
                periods.push(nanos(period));
            }
        }
        for (number, release) in scenario.releases.iter().enumerate() {
            let Pattern::Periodic { period, .. } = release.pattern else { panic!("a release that is not periodic") };
            sources.push(Source::Release(number));
            periods.push(nanos(period));
        }
        Self { scenario, sources, periods }
    }

    /// Returns the densest timing of a source in a cycle.
    fn densest(&self, source: usize, cycle: u64) -> Timing {
        let period = self.periods[source];
        if period > cycle {
            return Timing { count: 1, cycles: period.div_ceil(cycle), offset: 0 };
        }
        let count = COUNTS.into_iter().filter(|count| cycle / count >= period).max().unwrap_or(1);
        Timing { count, cycles: 1, offset: 0 }
    }

    fn gap(timing: Timing, cycle: u64) -> u64 {
        (cycle * timing.cycles).checked_div(timing.count).unwrap_or(u64::MAX)
    }

    /// Returns the longest time of the callback's first segment.
    fn longest(&self, callback: usize) -> u64 {
        nanos(self.scenario.callbacks[callback].execution.longest())
    }

    /// Draws a plan.
    fn draw(&self, rng: &mut Stream) -> Plan {
        let base = self.periods[rng.below(self.periods.len() as u64) as usize] * (1 + rng.below(2));
        let cycle = base.div_ceil(GRAIN) * GRAIN;
        let silent = [0, 15, 40][rng.below(3) as usize];
        let mut timings = Vec::new();
        for source in 0..self.sources.len() {
            let mut timing = self.densest(source, cycle);
            timing.offset = rng.below(Self::gap(timing, cycle));
            if rng.below(100) < silent {
                timing.count = 0;
            }
            timings.push(timing);
        }
        Plan { cycle, timings, percents: vec![100; self.scenario.callbacks.len()] }
    }

    /// Changes one thing of a plan.
    fn change(&self, plan: &mut Plan, rng: &mut Stream) {
        let source = rng.below(self.sources.len() as u64) as usize;
        match rng.below(10) {
            0 => {
                let place = rng.below(plan.percents.len() as u64) as usize;
                plan.percents[place] = [100, 1 + rng.below(100), 0][rng.below(3) as usize];
            }
            1 => {
                let densest = self.densest(source, plan.cycle);
                let less = COUNTS[rng.below(COUNTS.len() as u64) as usize].min(densest.count);
                plan.timings[source].count = [0, densest.count, less][rng.below(3) as usize];
                plan.timings[source].cycles = densest.cycles;
            }
            2 => {
                let more = rng.below(plan.cycle);
                plan.timings[source].offset = more;
            }
            _ => {
                // Close to the end, or the begin, of something else.
                let other = rng.below(self.sources.len() as u64) as usize;
                let mut offset = plan.timings[other].offset + plan.cycle;
                for _ in 0..rng.below(3) {
                    let callback = rng.below(plan.percents.len() as u64) as usize;
                    let time = self.longest(callback) * plan.percents[callback] / 100;
                    offset = if rng.below(4) > 0 { offset + time } else { offset.saturating_sub(time) };
                }
                plan.timings[source].offset = (offset + 1).saturating_sub(rng.below(3));
            }
        }
        for timing in &mut plan.timings {
            let gap = Self::gap(*timing, plan.cycle);
            timing.offset %= gap;
        }
    }

    /// Returns the scenario of a plan, for so many cycles.
    fn of(&self, plan: &Plan, cycles: u64) -> Scenario {
        let mut scenario = self.scenario.clone();
        let end = Duration::from_nanos(plan.cycle * cycles);
        scenario.duration = end;
        for (source, timing) in self.sources.iter().zip(&plan.timings) {
            let is_silent = timing.count == 0;
            let period = if is_silent { 2 * end } else { Duration::from_nanos(Self::gap(*timing, plan.cycle)) };
            let offset = if is_silent { end + Duration::from_secs(1) } else { Duration::from_nanos(timing.offset) };
            match *source {
                Source::Timer(callback) => {
                    scenario.callbacks[callback].period = Some(period);
                    scenario.callbacks[callback].offset = Some(offset);
                }
                Source::Release(release) => {
                    let pattern = Pattern::Periodic { period, offset, jitter: Duration::ZERO };
                    scenario.releases[release].pattern = pattern;
                }
            }
        }
        for (callback, percent) in scenario.callbacks.iter_mut().zip(&plan.percents) {
            callback.depth = 1_000_000;
            let parts = callback.awaits.iter_mut().flat_map(|part| [&mut part.wait, &mut part.run]);
            for time in std::iter::once(&mut callback.execution).chain(parts) {
                let shortest = if let ExecutionTime::Uniform(shortest, _) = time { *shortest } else { Duration::ZERO };
                let part = Duration::from_nanos(nanos(time.longest()) * percent / 100);
                *time = ExecutionTime::Fixed(part.max(shortest));
            }
        }
        scenario
    }

    fn run(&self, plan: &Plan, cycles: u64) -> Outcome {
        let scenario = self.of(plan, cycles);
        Simulation::new(&scenario).unwrap().run().unwrap()
    }

    /// Returns true if a callback waits longer the longer the run goes on.
    fn grows(&self, plan: &Plan, callback: usize) -> bool {
        let [short, long] = LONG.map(|cycles| longest(&self.run(plan, cycles), callback));
        short >= Duration::from_nanos(plan.cycle * LONG[0] / 50) && long >= 5 * short
    }

    /// Returns a plan in which the callback waits for ever; `None` if none was found.
    fn search(&self, callback: usize, rng: &mut Stream) -> Option<Plan> {
        let value = |plan: &Plan| {
            let outcome = self.run(plan, SHORT);
            let whole = plan.cycle as f64 * SHORT as f64;
            let (seen, own) = (longest(&outcome, callback), &outcome.callbacks[callback]);
            // The share of time in which it waits or runs counts, too, so that the search has a slope to climb.
            let pending = nanos(own.response.mean) as f64 * own.response.count as f64 + nanos(own.waited) as f64;
            nanos(seen) as f64 / whole + 0.2 * (pending / whole).min(1.0)
        };
        let tries = tries();
        let (mut tried, mut best) = (0, None::<(f64, Plan)>);
        while tried < tries {
            // A quarter of the tries begins anew.
            let mut now = (0..8).map(|_| self.draw(rng)).map(|plan| (value(&plan), plan)).collect::<Vec<_>>();
            tried += 8;
            now.sort_by(|one, other| other.0.total_cmp(&one.0));
            let (mut best_here, mut plan) = now.swap_remove(0);
            let mut failures = 0;
            while failures < 40 && tried < tries {
                let mut next = plan.clone();
                for _ in 0..1 + rng.below(2) {
                    self.change(&mut next, rng);
                }
                let found = value(&next);
                tried += 1;
                failures = if found > best_here { 0 } else { failures + 1 };
                if found >= best_here {
                    (best_here, plan) = (found, next);
                }
                if best_here > 0.6 && failures == 0 && self.grows(&plan, callback) {
                    return Some(plan);
                }
            }
            if best.as_ref().is_none_or(|(value, _)| best_here > *value) {
                best = Some((best_here, plan));
            }
        }
        let (_, plan) = best?;
        self.grows(&plan, callback).then_some(plan)
    }
}

/// Returns the longest time that an activation of a callback took, or has waited at the end.
fn longest(outcome: &Outcome, callback: usize) -> Duration {
    let seen = &outcome.callbacks[callback];
    seen.response.max.max(seen.waited)
}

/// Numbers of callbacks without a bound, by what the analysis says and whether a run was found.
type Tally = BTreeMap<(String, String, bool), [u64; 2]>;

fn look(policy: &str, scenario: &Scenario, tally: &mut Tally) -> u64 {
    if !several::is_light(scenario) {
        return 0;
    }
    let Ok(report) = Analysis::new(scenario).run() else { return 0 };
    let game = Game::new(scenario);
    let mut known: Vec<Plan> = Vec::new();
    for (place, callback) in report.callbacks.iter().enumerate() {
        let Some(kind) = callback.unbounded else { continue };
        let has_sender = scenario.callbacks.iter().any(|sender| sender.publishes.contains(&callback.name));
        let rng = &mut Stream::new(place as u64, &scenario.name);
        // A run in which another callback waits for ever may be one for this callback, too.
        let is_known = known.iter().any(|plan| game.grows(plan, place));
        let found = if is_known { None } else { game.search(place, rng) };
        let count = tally.entry((policy.to_owned(), format!("{kind:?}"), has_sender)).or_default();
        count[usize::from(is_known || found.is_some())] += 1;
        known.extend(found);
    }
    report.callbacks.len() as u64
}

/// The search finds a run in the systems that are known to have one, from phases in which the callback does not wait.
#[test]
fn the_search_finds_a_run_where_there_is_one() {
    for policy in POLICIES {
        let scenario = starvation::starving(policy);
        let game = Game::new(&scenario);
        let place = scenario.callbacks.iter().position(|callback| callback.name == "last").unwrap();
        let found = game.search(place, &mut Stream::new(1, policy));
        assert!(found.is_some(), "{policy}");
    }
}

/// Run with `--nocapture`, it prints for how many callbacks without a bound there is a run in which they wait for ever.
#[test]
#[expect(clippy::print_stderr, reason = "the shares are what is asked for")]
fn runs_in_which_callbacks_without_a_bound_wait_for_ever() {
    let (mut tally, mut callbacks) = (Tally::default(), 0);
    for policy in POLICIES {
        for kind in [Kind::Nodes, Kind::Mixed] {
            for seed in seeds::chosen(systems()) {
                callbacks += look(policy, &several::random(policy, kind, seed), &mut tally);
            }
            eprintln!("{policy} {kind:?}: of {callbacks} callbacks so far: {tally:?}");
        }
    }
}
