//! Made-up results for the tests of table, sentences, JSON and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use super::comparison::Throughput;
use super::contenders::Contender;
use super::figures::{Figures, Latency, Row, Spread};
use super::workload::Workload;

/// Returns a row for each contender and cell. The later a contender is in the list, the slower it is.
pub(crate) fn figures() -> Figures {
    let mut rows = Vec::new();
    for cell in Workload::ALL.into_iter().flat_map(Workload::cells) {
        for (number, contender) in Contender::ALL.into_iter().enumerate() {
            if contender.threads(&cell).is_none() {
                continue;
            }
            let slowness = 1.0 + number as f64 / 8.0;
            let median = 1e6 * cell.threads as f64 / slowness;
            let latency = Latency { p50: 2.0 * slowness, p99: 4.0 * slowness, p999: 8.0 * slowness, max: 16.0 };
            rows.push(Row {
                contender,
                cell,
                rounds: 5,
                messages_per_s: Spread { min: median * 0.5, median, max: median * 1.5 },
                callbacks_per_published: Some(cell.subscriptions as f64),
                waits_us: Some(4.0 / slowness),
                lost: 0.25,
                cpu_percent: 32.0 * slowness,
                executor_cpu_percent: 16.0 * slowness,
                cpu_ns_per_message: 128.0 * slowness,
                latency_us: (cell.workload == Workload::FixedRate).then_some(latency),
                context_switches_per_message: 0.5,
                allocations_per_message: Some(0.0),
            });
        }
    }
    Figures { rows }
}

/// Returns a whole result.
pub(crate) fn throughput() -> Throughput {
    Throughput {
        machine: Machine::made_up(),
        rounds: 5,
        window: Duration::from_millis(80),
        busy_poll: Duration::ZERO,
        figures: figures(),
        remarks: Vec::new(),
    }
}
