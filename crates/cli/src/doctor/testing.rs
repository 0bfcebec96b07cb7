//! A made-up diagnosis for the tests of text and JSON.

use rospin_measure::machine::Machine;

use super::diagnosis::Diagnosis;
use super::finding::Finding;
use super::installation::Installation;
use super::measure::{Measured, Microseconds};

pub(crate) fn measured() -> Measured {
    let us = |p99| Microseconds { p50: p99 / 2.0, p99, p999: p99 * 1.5, max: p99 * 2.0, count: 1000 };
    Measured {
        floor_plain: us(80.0),
        floor_real_time: Some(us(8.0)),
        timer: us(9.0),
        notification: us(12.0),
        dispatch: us(0.2),
        publish: us(0.4),
        stolen_percent: 0.5,
    }
}

/// Returns a diagnosis with one finding of each verdict.
pub(crate) fn diagnosis() -> Diagnosis {
    let findings = vec![
        Finding::good("clock source", "tsc", "the clock is read without a system call"),
        Finding::limits("isolated cores", "none", "others run there, too", "boot with isolcpus=1"),
        Finding::limits("real-time priorities", "none", "every thread can delay an executor", "setcap").broken(),
    ];
    let installation = Installation {
        version: "0.1.0",
        target: "x86_64 linux".to_owned(),
        path: "/usr/bin/rospin".into(),
        hidden_by: Some("/home/me/.cargo/bin/rospin".into()),
    };
    Diagnosis { installation, machine: Machine::made_up(), core: 1, duration_s: 2.0, findings, measured: measured() }
}
