//! Made-up results for the tests of table, sentence, JSON and report.

use std::time::Duration;

use rospin_measure::machine::Machine;

use crate::crunch::Calibration;

use super::comparison::Comparison;
use super::kernel::Kernel;
use super::overhead::Overhead;
use super::publisher::Published;
use super::runner::RunResult;
use super::settings::Settings;
use super::stalls::Stalls;
use super::subscriber::Subscribed;
use super::threads::ThreadFacts;
use super::topics::{PERIODS_MS, TOPICS};
use super::variant::{Structure, Variant};

/// Returns settings of a run of 5 s at a load of 90 %.
pub(crate) fn settings() -> Settings {
    Settings {
        duration: Duration::from_secs(5),
        core: 1,
        load_percent: 90.0,
        calibration: Calibration { divisions_per_ns: 0.5 },
        wire: None,
    }
}

/// Returns a run in which all messages of a topic have the same given latency, in microseconds.
pub(crate) fn result(structure: Structure, run: u32, latency_us: [u64; TOPICS]) -> RunResult {
    let sent = PERIODS_MS.map(|period_ms| 5000 / period_ms);
    let fact = |name: &str, scheduling: &str| ThreadFacts {
        name: name.to_owned(),
        scheduling: scheduling.to_owned(),
        cores: "1".to_owned(),
        shortfalls: Vec::new(),
    };
    RunResult {
        variant: Variant::real_time(structure),
        run,
        subscribed: Subscribed {
            latencies_ns: std::array::from_fn(|topic| vec![latency_us[topic] * 1000; sent[topic] as usize]),
            processor: Duration::from_millis(1),
            dropped: [0; TOPICS],
            threads: vec![fact("main", "SCHED_FIFO 21")],
            remarks: Vec::new(),
        },
        published: Published {
            sent,
            refused: [0; TOPICS],
            processor: Duration::from_millis(1),
            stalls: Stalls { looks: 5000, max_ms: 1.5, stalls: 3, stalled_ms: 4.0, ..Stalls::default() },
            threads: vec![fact("publisher", "SCHED_FIFO 24")],
        },
    }
}

/// Returns two runs of three variants.
pub(crate) fn results() -> Vec<RunResult> {
    let of = |run| {
        [
            result(Structure::Tokio, run, [70_000, 76_000, 68_000, 50_000, 80_000]),
            result(Structure::FuturesRt, run, [2_100, 6_200, 13_300, 36_500, 175_000]),
            result(Structure::RospinRt, run, [2_080, 6_150, 13_250, 36_400, 173_750]),
        ]
    };
    (1..=2).flat_map(of).collect()
}

/// Returns a whole comparison.
pub(crate) fn comparison() -> Comparison {
    let kernel = Kernel { rt_runtime_us: Some(950_000), rt_period_us: Some(1_000_000), isolated_cores: String::new() };
    Comparison {
        machine: Machine::made_up(),
        kernel,
        settings: settings(),
        overhead: Some(Overhead { processor_ms: 0.05, way_ms: 0.1 }),
        runs: 2,
        results: results(),
    }
}
