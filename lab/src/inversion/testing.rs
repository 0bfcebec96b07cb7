//! Made-up results for the tests of verdict, table, plots, JSON and report.

use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_measure::machine::Machine;
use rospin_measure::setup::Setup;

use super::comparison::Comparison;
use super::figures::Row;
use super::interference::{Case, Turn};

/// Returns a comparison in which rospin waits up to 80 us, and the loop with the ordinary lock as long as the hog runs.
pub(crate) fn comparison() -> Comparison {
    let setup = Setup {
        core: 1,
        timer: ThreadOptions::new(),
        busy: ThreadOptions::new(),
        timer_has: "SCHED_FIFO 80 on core 1".to_owned(),
        busy_has: "SCHED_FIFO 10 on core 1".to_owned(),
        missing: Vec::new(),
    };
    let turn = Turn {
        period: Duration::from_millis(1),
        firings: 1000,
        burst: Duration::from_millis(50),
        pause: Duration::from_millis(10),
    };
    let row = |case: Case| {
        let worst_us = if case.is_rospin() { 80 } else { 50_000 };
        let all_ns: Vec<u64> = (1..=1000).map(|n| worst_us * n).collect();
        let us = all_ns.iter().map(|ns| *ns as f64 / 1e3).collect();
        let message: &[u64] = if case.is_rospin() { &all_ns } else { &[] };
        Row::new(case, 1000, us, &all_ns, message, 100, 16)
    };
    let (machine, rows) = (Machine::made_up(), Case::ALL.map(row).into());
    Comparison { machine, setup, throttle: Some(0.95), is_memory_locked: true, turn, rows }
}
