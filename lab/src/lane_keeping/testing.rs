//! Made-up results for the tests of table, verdict, JSON and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::bounds::Bound;
use super::comparison::Comparison;
use super::measured::{CHAIN, Durations, Row};
use super::order::{Answer, Drive, Executors, Place};
use crate::middleware::Middleware;

/// Returns a drive over DDS whose chain takes `chain_us`.
pub(crate) fn row(executors: Executors, planner: u32, chain_us: f64) -> Row {
    let durations = CHAIN.iter().chain(&["keeper/control", "keeper/planner", "keeper/imu"]);
    let us = |name: &str| if name == "keeper/planner" { 8e3 * f64::from(planner) } else { 12.0 };
    let durations = durations.map(|name| Durations { name: (*name).to_owned(), us: vec![us(name); 100] }).collect();
    let bound =
        Bound { name: "keeper/control".to_owned(), measured_us: Some(90.0), bound_us: Some(120.0), reason: None };
    let place = |(time_s, offset_m)| Place { time_s, travelled_m: 10.0 + 25.0 * time_s, offset_m };
    let path = [(0.0, 0.2), (4.0, -0.05), (5.0, 0.02)].map(place).to_vec();
    Row {
        drive: Drive { middleware: Middleware::Dds, executors, planner },
        sent: 100,
        chain_us: vec![chain_us; 100],
        durations,
        lost: 0,
        dropped: 0,
        bounds: Ok(vec![bound]),
        answer: Answer { path, ..Answer::default() },
    }
}

/// Returns drives of which only those with priorities keep what is promised.
pub(crate) fn comparison() -> Comparison {
    let rows = vec![
        row(Executors::Priority, 1, 600.0),
        row(Executors::Priority, 3, 640.0),
        row(Executors::WaitSetSingle, 1, 9_000.0),
    ];
    Comparison { machine: Machine::made_up(), duration: Duration::from_secs(10), rows }
}
