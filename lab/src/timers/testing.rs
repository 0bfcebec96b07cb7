//! Made-up results for the tests of verdict, table, plots, JSON and report.

use std::time::Duration;

use rospin_engine::os::ThreadOptions;
use rospin_measure::machine::Machine;
use rospin_measure::setup::Setup;

use super::comparison::Comparison;
use super::contender::{Contender, Load};
use super::figures::Row;

/// Returns results at two rates, idle and busy: rospin is close behind the floor, Tokio far behind it, and the task per
/// timer does not fire every time.
pub(crate) fn comparison() -> Comparison {
    let mut rows = Vec::new();
    for rate_hz in [100, 1000] {
        for load in Load::ALL {
            rows.extend(Contender::ALL.map(|contender| row(contender, load, rate_hz)));
        }
    }
    let setup = Setup {
        core: 1,
        timer: ThreadOptions::new(),
        busy: ThreadOptions::new(),
        timer_has: "SCHED_FIFO 80 on core 1".to_owned(),
        busy_has: "SCHED_FIFO 10 on core 1".to_owned(),
        missing: Vec::new(),
    };
    let (machine, duration) = (Machine::made_up(), Duration::from_secs(2));
    Comparison { machine, setup, duration, rounds: 2, remarks: Vec::new(), rows }
}

fn row(contender: Contender, load: Load, rate_hz: u32) -> Row {
    let worst_us = match contender {
        Contender::Floor => 10.0,
        Contender::Timerfd => 14.0,
        Contender::TokioInterval => 1900.0,
        Contender::TaskPerTimer => 2000.0,
        Contender::Rcl => 60.0,
        Contender::Rospin => 12.0,
    };
    let busier = if load == Load::Busy { 1.1 } else { 1.0 };
    let mut row = Row::new(contender, load, rate_hz);
    for _ in 0..2 {
        let fired = if contender == Contender::TaskPerTimer { rate_hz * 6 / 10 } else { rate_hz };
        let late_us: Vec<f64> = (1..=fired).map(|n| worst_us * busier * f64::from(n) / f64::from(fired)).collect();
        row.add(rate_hz.into(), &late_us);
    }
    row
}
