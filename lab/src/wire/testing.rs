//! Made-up results for the tests of table, verdict, JSON file and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use crate::middleware::Middleware;

use super::cell::{Cell, Contender, Place, Size};
use super::comparison::{Comparison, Figures, Row};

fn row(middleware: Middleware, contender: Contender, messages_per_s: f64) -> Row {
    let figures = Figures {
        messages_per_s,
        p50_us: 10.0,
        p99_us: 5e7 / messages_per_s,
        max_us: 900.0,
        cpu_percent: 6.5,
        wake_ups_per_message: 1.01,
        allocations_per_message: Some(2.0),
        lost: if middleware == Middleware::InProcess { 3.0 } else { 0.0 },
        lost_percent: 0.0,
        refused: 0.0,
    };
    let cell = Cell { place: Place::Process, size: Size(0), middleware, contender };
    Row { cell, figures: (middleware != Middleware::Zenoh).then_some(figures) }
}

/// Returns a made-up comparison of three middlewares, of which one could not be measured.
pub(crate) fn comparison() -> Comparison {
    let rows = vec![
        row(Middleware::InProcess, Contender::Rospin, 900_000.0),
        row(Middleware::Dds, Contender::Rospin, 400_000.0),
        row(Middleware::Dds, Contender::Bare, 500_000.0),
        row(Middleware::Zenoh, Contender::Rospin, 1.0),
    ];
    let remarks = vec!["zenoh: nothing came back".to_owned()];
    let (machine, duration) = (Machine::made_up(), Duration::from_millis(500));
    Comparison { machine, rounds: 1, duration, peer: None, rows, remarks }
}
