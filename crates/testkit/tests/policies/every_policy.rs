//! Every policy decides as the naive reference scheduler does, on random scenarios.
//!
//! `ROSPIN_TEST_SEED` and `ROSPIN_TEST_COUNT` select other scenarios, or more of them.

use rospin_core::policy::{Edf, Fifo, FixedPriority, Policy, Timers, WaitSet};
use rospin_testkit::compare::compare;
use rospin_testkit::generate::scenario as generate;
use rospin_testkit::real::Real;
use rospin_testkit::reference::{Reference, ReferencePolicy};
use rospin_testkit::suite::{self, Plan};

/// For each policy: together three times the hundred thousand that are required.
const SCENARIOS: u64 = 60_000;

/// The policies get different scenarios, unless the environment says otherwise.
fn agrees_with_reference(number: u64, like: ReferencePolicy, policy: impl Fn() -> Box<dyn Policy>) {
    let plan = Plan::from_env_or(number * 1_000_000, SCENARIOS);
    if let Err(failure) = suite::run(plan, like, policy) {
        panic!("{like:?}: {failure}");
    }
}

#[test]
fn fifo() {
    agrees_with_reference(1, ReferencePolicy::Fifo, || Box::new(Fifo::new()));
}

#[test]
fn fixed_priority() {
    agrees_with_reference(2, ReferencePolicy::FixedPriority, || Box::new(FixedPriority::new()));
}

#[test]
fn edf() {
    agrees_with_reference(3, ReferencePolicy::Edf, || Box::new(Edf::new()));
}

#[test]
fn wait_set_e1() {
    let like = ReferencePolicy::WaitSet(Timers::Outside);
    agrees_with_reference(4, like, || Box::new(WaitSet::new(Timers::Outside)));
}

#[test]
fn wait_set_e2() {
    let like = ReferencePolicy::WaitSet(Timers::Inside);
    agrees_with_reference(5, like, || Box::new(WaitSet::new(Timers::Inside)));
}

#[test]
fn activations_often_run_in_place() {
    let often = |policy: fn() -> Box<dyn Policy>, like| -> u64 {
        let in_place = |seed| {
            let mut real = Real::untraced(policy());
            compare(&generate(seed), &mut Reference::new(like), &mut real).unwrap();
            real.in_place()
        };
        (0..2000).map(in_place).sum()
    };
    let counts = [
        often(|| Box::new(Fifo::new()), ReferencePolicy::Fifo),
        often(|| Box::new(FixedPriority::new()), ReferencePolicy::FixedPriority),
        often(|| Box::new(Edf::new()), ReferencePolicy::Edf),
    ];
    assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
}

#[test]
fn entities_often_go_on_by_the_short_way() {
    let ways = |policy: fn() -> Box<dyn Policy>, like| -> u64 {
        let short_ways = |seed| {
            let mut real = Real::new(policy());
            compare(&generate(seed), &mut Reference::new(like), &mut real).unwrap();
            real.short_ways()
        };
        (0..2000).map(short_ways).sum()
    };
    let counts = [
        ways(|| Box::new(Fifo::new()), ReferencePolicy::Fifo),
        ways(|| Box::new(FixedPriority::new()), ReferencePolicy::FixedPriority),
        ways(|| Box::new(Edf::new()), ReferencePolicy::Edf),
    ];
    assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
}
