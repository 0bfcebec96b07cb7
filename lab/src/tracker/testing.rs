//! Made-up results for the tests of grids, sentence, JSON and report.

use std::time::Duration;

use rospin_measure::machine::Machine;
use rospin_measure::stats::Summary;

use super::comparison::Tracker;
use super::measure::{Mode, Row};
use super::setup::{CONTENDERS, Cell, PerTopic, Times};

/// Returns every cell for 30 and 70 robots. Under fixed priority the period holds as long as the list fits, under the
/// others it never does.
pub(crate) fn tracker() -> Tracker {
    let mut rows = Vec::new();
    for mode in [Mode::Real, Mode::Virtual] {
        for contender in CONTENDERS {
            for robots in [30, 70] {
                rows.extend(PerTopic::ROWS.map(|per_topic| {
                    let on_time = contender.policy == "fixed-priority" && robots == 30;
                    let times = Times {
                        message: Duration::from_micros(25),
                        list: Duration::from_micros(if robots == 30 { 400 } else { 2200 }),
                    };
                    let period_ms = Summary::of([if on_time { 1.01 } else { 2.5 }]);
                    Row { contender, cell: Cell { robots, per_topic }, mode, period_ms, times, taken: 0.005 }
                }));
            }
        }
    }
    Tracker {
        machine: Machine::made_up(),
        robots: vec![30, 70],
        rows,
        message_us: 25.0,
        list_pair_ns: 457.0,
        iterations: 500,
    }
}
