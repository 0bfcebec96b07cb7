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

/// Plays 3,000 scenarios under each of the policies that have a total order, against schedulers that `real` creates.
/// Returns the sums of what `count` returns for each scheduler afterwards.
fn counts(real: fn(Box<dyn Policy>) -> Real, count: fn(&Real) -> u64) -> [u64; 3] {
    let sum = |policy: fn() -> Box<dyn Policy>, like| -> u64 {
        let play = |seed| {
            let mut real = real(policy());
            compare(&generate(seed), &mut Reference::new(like), &mut real).unwrap();
            count(&real)
        };
        (0..3000).map(play).sum()
    };
    [
        sum(|| Box::new(Fifo::new()), ReferencePolicy::Fifo),
        sum(|| Box::new(FixedPriority::new()), ReferencePolicy::FixedPriority),
        sum(|| Box::new(Edf::new()), ReferencePolicy::Edf),
    ]
}

#[test]
fn activations_often_run_in_place() {
    let counts = counts(Real::untraced, Real::in_place);
    assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
}
