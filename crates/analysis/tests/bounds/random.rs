//! Random systems, analysed and simulated: the longest response time that is seen never exceeds the bound.

use std::time::Duration;

use rospin_analysis::{AnalysisError, Report};
use rospin_sim::{Outcome, Simulation};

use crate::common::{Kind, System, random, replay, seeds};

/// Systems of each kind. Optimised builds look at more of them.
const SYSTEMS: u64 = if cfg!(debug_assertions) { 6_000 } else { 10_000 };

/// Figures of many systems.
#[derive(Default)]
struct Tally {
    analysed: u64,
    refused: u64,
    unbounded: u64,
    bounds: u64,
    ratios: f64,
    tightest: f64,
}

impl Tally {
    fn count(&mut self, seen: Duration, bound: Duration) {
        self.bounds += 1;
        let ratio = seen.as_secs_f64() / bound.as_secs_f64();
        self.ratios += ratio;
        self.tightest = self.tightest.max(ratio);
    }

    fn mean(&self) -> f64 {
        self.ratios / self.bounds.max(1) as f64
    }
}

/// Analyses and simulates until there are [`SYSTEMS`] of the kind that could be analysed.
#[expect(clippy::print_stderr, reason = "the figure is asked for")]
fn validate(name: &str, kind: Kind, least_ratio: f64, least_bounded: f64) {
    let mut tally = Tally::default();
    let single = seeds::chosen(SYSTEMS).count() < SYSTEMS as usize;
    // Up to as many systems again are drawn, in place of those that are refused as overloaded.
    for seed in seeds::chosen(SYSTEMS * if single { 1 } else { 2 }) {
        let system = random(kind, seed);
        match system.analyse() {
            Ok(report) => {
                let scenario = system.simulated.as_ref().unwrap_or(&system.scenario);
                let outcome = Simulation::new(scenario).unwrap().run().unwrap();
                check(&mut tally, &system, &report, &outcome, &replay(name, seed));
            }
            Err(
                AnalysisError::Overloaded { .. }
                | AnalysisError::GroupOverloaded { .. }
                | AnalysisError::NeverReleased { .. },
            ) => tally.refused += 1,
            Err(error) => panic!("{error}\n{}\n{}", system.scenario.to_toml(), replay(name, seed)),
        }
        if tally.analysed == SYSTEMS {
            break;
        }
    }
    eprintln!(
        "{name}: {} systems, {} bounds, mean of longest seen / bound {:.3}, largest {:.3}; {} callbacks without a bound, {} systems refused",
        tally.analysed,
        tally.bounds,
        tally.mean(),
        tally.tightest,
        tally.unbounded,
        tally.refused
    );
    if !single {
        assert_eq!(tally.analysed, SYSTEMS, "{} refused", tally.refused);
        assert!(tally.mean() >= least_ratio, "the bounds of {name} are too loose: {:.3}", tally.mean());
        // Some bound must be nearly reached, or this test would not notice a bound that is too small.
        assert!(least_ratio < 0.5 || tally.tightest > 0.99, "no bound of {name} is reached: {:.3}", tally.tightest);
        let bounded = tally.bounds as f64 / (tally.bounds + tally.unbounded) as f64;
        assert!(bounded >= least_bounded, "too few callbacks have a bound: {bounded:.3}");
    }
}

fn check(tally: &mut Tally, system: &System, report: &Report, outcome: &Outcome, replay: &str) {
    tally.analysed += 1;
    let received = |name: &str| outcome.chains.iter().find(|chain| system.simulated.is_some() && chain.name == name);
    for (callback, seen) in report.callbacks.iter().zip(&outcome.callbacks) {
        let Some(bound) = callback.bound else {
            tally.unbounded += 1;
            continue;
        };
        // A system with overheads is simulated with a callback that receives each message. The chain with the
        // callback's name includes it, so its latency is compared with the bound.
        let seen = received(&callback.name).map_or(seen.response, |chain| chain.latency);
        assert!(
            seen.max <= bound,
            "`{}` took {:?}, the bound is {bound:?} ({})\n{}\n{replay}",
            callback.name,
            seen.max,
            callback.method,
            system.scenario.to_toml()
        );
        if seen.count > 0 {
            tally.count(seen.max, bound);
        }
    }
    for (chain, seen) in report.chains.iter().zip(&outcome.chains) {
        let Some(latency) = chain.latency else { continue };
        let longest = seen.latency.max;
        let system = system.scenario.to_toml();
        assert!(longest <= latency, "`{}` took {longest:?}, the bound is {latency:?}\n{system}\n{replay}", chain.name);
    }
}

macro_rules! validates {
    ($($(#[$doc:meta])* $name:ident: $kind:expr, $ratio:expr, $bounded:expr;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            validate(stringify!($name), $kind, $ratio, $bounded);
        }
    )*};
}

validates! {
    preemptive: Kind::Preemptive, 0.5, 0.99;
    fixed_priority: Kind::Alone("fixed-priority"), 0.5, 0.99;
    edf: Kind::Alone("edf"), 0.5, 0.99;
    fifo: Kind::Alone("fifo"), 0.5, 0.99;
    wait_set_e1: Kind::Alone("wait-set-e1"), 0.5, 0.99;
    wait_set_e2: Kind::Alone("wait-set-e2"), 0.5, 0.99;
    shared_core: Kind::Shared, 0.5, 0.99;
    overheads: Kind::Overheads, 0.5, 0.99;
    /// The supply that is simulated is better than the worst that keeps the reservation.
    reservation: Kind::Reserved, 0.4, 0.99;
    /// Waits are not always as long as they may be, and groups are not always held.
    limited_preemptive: Kind::Asynchronous("fixed-priority"), 0.4, 0.9;
    asynchronous_fifo: Kind::Asynchronous("fifo"), 0.4, 0.9;
    asynchronous_edf: Kind::Asynchronous("edf"), 0.4, 0.9;
    asynchronous_wait_set: Kind::Asynchronous("wait-set-e2"), 0.4, 0.9;
    /// The holder of a group inherits priority, and others wait for it.
    holding: Kind::Holding("fixed-priority", 1), 0.4, 0.99;
    holding_edf: Kind::Holding("edf", 1), 0.3, 0.99;
    holding_fifo: Kind::Holding("fifo", 1), 0.3, 0.99;
    holding_threads: Kind::Holding("fixed-priority", 2), 0.3, 0.9;
    holding_threads_edf: Kind::Holding("edf", 2), 0.3, 0.9;
    holding_threads_fifo: Kind::Holding("fifo", 2), 0.3, 0.9;
    chains: Kind::Chains, 0.5, 0.9;
    linked: Kind::Linked, 0.5, 0.9;
    threads: Kind::Threads, 0.2, 0.99;
    /// Groups that a wait set passes over, as long as there is a bound.
    polling: Kind::Polling, 0.2, 0.99;
}

/// Queues of one to three messages: a run has the release, and the deadline, of the first message that was displaced
/// since the one before. No other message has that release, so the runs come no more often than the messages.
#[test]
fn short_queues() {
    let kinds = ["fixed-priority", "edf", "fifo", "wait-set-e1", "wait-set-e2"].map(Kind::Alone);
    let others = [Kind::Asynchronous("edf"), Kind::Holding("edf", 1), Kind::Holding("edf", 2), Kind::Threads];
    for kind in kinds.into_iter().chain(others) {
        let (mut tally, mut displaced) = (Tally::default(), 0);
        for seed in seeds::chosen(SYSTEMS / 3) {
            let mut system = random(kind, seed);
            for (number, callback) in system.scenario.callbacks.iter_mut().enumerate() {
                callback.depth = 1 + (seed as u32 + number as u32) % 3;
            }
            // A queue that is too short keeps messages from being handled, and none from being bounded.
            let Ok(report) = system.analyse() else { continue };
            let outcome = Simulation::new(&system.scenario).unwrap().run().unwrap();
            check(&mut tally, &system, &report, &outcome, &replay("short_queues", seed));
            displaced += outcome.callbacks.iter().map(|callback| callback.dropped).sum::<u64>();
        }
        let single = seeds::chosen(SYSTEMS).count() < SYSTEMS as usize;
        assert!(single || displaced > 100, "only {displaced} messages were displaced under {kind:?}");
    }
}
