//! Comparison of a policy with the reference, over many random scenarios.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use rospin_core::Policy;

use crate::compare::{Mismatch, compare};
use crate::generate;
use crate::real::Real;
use crate::reference::{Reference, ReferencePolicy};
use crate::scenario::Scenario;
use crate::shrink::shrink;

/// Environment variable with the seed of the first scenario. The following scenarios have the following seeds.
pub const SEED: &str = "ROSPIN_TEST_SEED";
/// Environment variable with the number of scenarios for each policy.
pub const COUNT: &str = "ROSPIN_TEST_COUNT";

/// The range of scenarios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Seed of the first scenario.
    pub seed: u64,
    /// Number of scenarios.
    pub count: u64,
}

impl Plan {
    /// Returns the plan of the environment, or else one with `seed` and `count`. The default is the same in every run,
    /// so that a new failure is due to the code.
    ///
    /// # Panics
    /// If a variable is set and is not a number.
    #[must_use]
    pub fn from_env_or(seed: u64, count: u64) -> Self {
        Self { seed: number(SEED).unwrap_or(seed), count: number(COUNT).unwrap_or(count) }
    }
}

/// Returns the number in an environment variable; `None` if it is not set.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(error) => panic!("{variable} is `{text}`, which is not a number: {error}"),
    }
}

/// A scenario on which an implementation is wrong, shrunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Seed of the scenario that failed first.
    pub seed: u64,
    /// The shrunk scenario.
    pub scenario: Scenario,
    /// The difference in the shrunk scenario.
    pub mismatch: Mismatch,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, scenario, mismatch } = self;
        writeln!(f, "scenario {seed} fails; the smallest part of it that does:\n\n{scenario}")?;
        if mismatch.step == scenario.ops.len() {
            writeln!(f, "and then, when all that waits goes on and all that runs ends until nothing is ready,")?;
        }
        writeln!(f, "{mismatch}\n")?;
        // The test harness names the thread after the test.
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        write!(f, "replay: {SEED}={seed} {COUNT}=1 cargo test -p rospin-testkit {test}")
    }
}

/// Plays one scenario against the reference with the policy `like`, and against the real scheduler with `policy`.
///
/// # Errors
/// The first operation after which they differ, or with which the real scheduler breaks a rule. A panic is reported as
/// step 0.
pub fn play(scenario: &Scenario, like: ReferencePolicy, policy: Box<dyn Policy>) -> Result<(), Mismatch> {
    play_with(scenario, like, Real::new(policy))
}

/// Plays one scenario as [`play`] does, against a scheduler without a trace, which takes shorter steps.
///
/// # Errors
/// As of [`play`].
pub fn play_untraced(scenario: &Scenario, like: ReferencePolicy, policy: Box<dyn Policy>) -> Result<(), Mismatch> {
    play_with(scenario, like, Real::untraced(policy))
}

fn play_with(scenario: &Scenario, like: ReferencePolicy, mut real: Real) -> Result<(), Mismatch> {
    silence_expected_panics();
    QUIET.set(true);
    let both = || compare(scenario, &mut Reference::new(like), &mut real);
    let result = catch_unwind(AssertUnwindSafe(both));
    QUIET.set(false);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no text)");
        Err(Mismatch { step: 0, what: format!("panic: {text}") })
    })
}

/// Plays the scenarios of `plan`, and shrinks the first one that fails.
///
/// # Errors
/// The shrunk scenario.
pub fn run(plan: Plan, like: ReferencePolicy, policy: impl Fn() -> Box<dyn Policy>) -> Result<(), Box<Failure>> {
    let both =
        |scenario: &Scenario| play(scenario, like, policy()).and_then(|()| play_untraced(scenario, like, policy()));
    for seed in (0..plan.count).map(|number| plan.seed.wrapping_add(number)) {
        let scenario = generate::scenario(seed);
        if both(&scenario).is_ok() {
            continue;
        }
        let scenario = shrink(&scenario, |smaller| both(smaller).is_err());
        if let Err(mismatch) = both(&scenario) {
            return Err(Box::new(Failure { seed, scenario, mismatch }));
        }
    }
    Ok(())
}

thread_local! {
    /// True on a thread while it runs [`play`], whose panics are not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps panics while [`play`] runs off stderr. Otherwise shrinking would print the same panic a hundred times.
fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
}
