//! Made-up results for the tests of table, sentence, JSON and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use crate::crunch::Calibration;

use super::comparison::Comparison;
use super::kpi::{Kpis, PlannerPeriod};
use super::runner::{RunResult, Settings, Variant};

/// Returns settings for 12 s with 7 ms of work for each node.
pub(crate) fn settings() -> Settings {
    Settings {
        duration: Duration::from_secs(12),
        crunch: Duration::from_millis(7),
        calibration: Calibration { divisions_per_ns: 0.5 },
        transport: None,
        processes: 1,
        cores: None,
    }
}

/// Returns a made-up result such as `variant` is expected to have.
pub(crate) fn result(variant: Variant) -> RunResult {
    let (base, spread, drop_every, jitter, missed, threads, cpu) = match variant {
        Variant::WaitSetSingle => (240.0, 70.0, 2, 30.0, 43, 1, 99.6),
        Variant::WaitSetMulti => (37.0, 25.0, 0, 6.0, 0, 2, 141.2),
        Variant::FifoSingle => (300.0, 110.0, 3, 34.0, 60, 1, 99.7),
        Variant::PrioritySingle => (28.2, 1.5, 0, 4.0, 0, 1, 99.5),
        Variant::PriorityMulti => (28.1, 0.9, 0, 1.0, 0, 2, 137.0),
        Variant::PriorityPartitioned | Variant::PriorityShared | Variant::PriorityReentrant => {
            (28.3, 1.1, 0, 1.2, 0, 4, 138.0)
        }
    };
    // The values are multiples of 1/64, which every decimal notation can represent exactly.
    let wave = |index: u32| ((f64::from(index) * 0.7).sin() * 64.0).round() / 64.0;
    let drops = |index: u32| u32::from(drop_every > 0 && index.is_multiple_of(drop_every));
    RunResult {
        variant,
        threads,
        kpis: Kpis {
            hot_path_latency_ms: (0..100).map(|i| base + spread * (wave(i) + 1.0) / 2.0).collect(),
            hot_path_from_due_ms: (0..100).map(|i| base + 15.0 + spread * (wave(i) + 1.0) / 2.0).collect(),
            hot_path_drops: (0..100).map(drops).collect(),
            planner_periods: (0..100)
                .map(|i| PlannerPeriod { at_s: 1.0 + f64::from(i) / 10.0, period_ms: 100.0 + jitter * wave(i) })
                .collect(),
            front_lidar_counted: 100,
            missed_front_lidar: missed,
        },
        cpu_percent: cpu,
        memory_mib: Some(5.25),
        remarks: Vec::new(),
    }
}

/// Returns a result for each variant.
pub(crate) fn results() -> Vec<RunResult> {
    Variant::ALL.map(result).to_vec()
}

/// Returns a whole comparison.
pub(crate) fn comparison() -> Comparison {
    Comparison {
        machine: Machine::made_up(),
        settings: settings(),
        results: results(),
        recorded: Vec::new(),
        folder: None,
    }
}
