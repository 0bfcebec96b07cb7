//! Random scenarios with all oracles, and the same results from the same seed.

use rospin_scenario::Scenario;
use rospin_sim::{Simulation, oracle};

const SCENARIOS: u64 = 3_000;

#[test]
fn no_rule_is_broken() {
    for seed in crate::common::seeds::chosen(SCENARIOS) {
        let scenario = crate::common::random(seed);
        let replay = crate::common::replay("random", "no_rule_is_broken", seed);
        if let Err(error) = oracle::check(&scenario, seed, &replay) {
            panic!("{error}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let trace = |scenario: &Scenario, seed| {
        let outcome = Simulation::new(scenario).unwrap().seed(seed).trace().run().unwrap();
        outcome.trace_text(scenario)
    };
    let mut different = 0;
    for seed in crate::common::seeds::chosen(100) {
        let scenario = crate::common::random(seed);
        let first = trace(&scenario, 1);
        assert_eq!(first, trace(&scenario, 1), "{}", crate::common::replay("random", "the_same_seed", seed));
        different += usize::from(first != trace(&scenario, 2));
    }
    if crate::common::seeds::chosen(100).count() > 1 {
        assert!(different > 50, "the seed changes little: {different} of 100 traces");
    }
}

/// A scenario that was written and read again runs the same.
#[test]
fn a_written_scenario_runs_alike() {
    for seed in crate::common::seeds::chosen(200) {
        let scenario = crate::common::random(seed);
        let read = Scenario::parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(scenario, read, "seed {seed}");
        let run = |scenario| Simulation::new(scenario).unwrap().run().unwrap();
        assert_eq!(run(&scenario), run(&read), "seed {seed}");
    }
}

/// The results agree with the events that an observer saw.
#[test]
fn messages_add_up() {
    use rospin_sim::{Event, What};
    for seed in crate::common::seeds::chosen(300) {
        let scenario = crate::common::random(seed);
        let mut arrived = vec![0; scenario.callbacks.len()];
        let mut count = |event: &Event| {
            if let What::Arrived(callback) = event.what {
                arrived[callback] += 1;
            }
        };
        let outcome = Simulation::new(&scenario).unwrap().observe(&mut count).run().unwrap();
        for (callback, arrived) in outcome.callbacks.iter().zip(arrived) {
            let known = callback.response.count as u64 + callback.dropped + callback.queued;
            assert!(known <= arrived || arrived == 0, "seed {seed}: {callback:?}, {arrived} arrived");
        }
    }
}
