//! Seeds of the tests. The analysis's tests use this file, too.

/// Returns the seeds of a test: `ROSPIN_TEST_COUNT` of them from `ROSPIN_TEST_SEED` on, or that single one if no count
/// is given. By default `count` of them.
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
