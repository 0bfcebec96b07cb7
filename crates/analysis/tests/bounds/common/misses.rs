//! Counts missed deadlines in a row.

use std::time::Duration;

use rospin_sim::Outcome;

/// Returns the most misses of so many activations in a row.
pub(crate) fn misses(outcome: &Outcome, callback: usize, of: u64, deadline: Duration) -> u64 {
    let mut runs: Vec<_> = outcome.runs.iter().filter(|run| run.callback == callback).collect();
    runs.sort_by_key(|run| run.release);
    let late: Vec<u64> = runs.iter().map(|run| u64::from(run.response() > deadline)).collect();
    late.windows((of as usize).min(late.len()).max(1)).map(|part| part.iter().sum()).max().unwrap_or(0)
}
