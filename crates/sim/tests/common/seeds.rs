//! Which seeds tests try. Those of the analysis use this file, too.

/// The seeds that a test tries: `ROSPIN_TEST_COUNT` of them, from `ROSPIN_TEST_SEED` on; that one alone if no count is given.
pub(crate) fn chosen(count: u64) -> std::ops::Range<u64> {
    let given = |name: &str| {
        let value = std::env::var(name).ok()?;
        Some(value.parse::<u64>().unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    let (first, count) = match given("ROSPIN_TEST_SEED") {
        Some(seed) => (seed, 1),
        None => (0, count),
    };
    first..first + given("ROSPIN_TEST_COUNT").unwrap_or(count)
}
