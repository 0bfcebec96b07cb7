//! The result as JSON: all figures, with units, machine and settings.

use rospin_measure::machine::Machine;
use rospin_measure::stats::Summary;
use serde::Serialize;
use serde_json::{Value, json};

use crate::middleware::Middleware;

use super::comparison::Comparison;
use super::figures::Figures;
use super::kpi::{TAIL, WARM_UP};
use super::recorded;
use super::runner::{RunResult, Settings};

/// Content of the JSON file.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    rospin_version: &'static str,
    machine: &'a Machine,
    settings: Value,
    units: Value,
    executors: Vec<Value>,
    recorded: Vec<Value>,
}

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let document = Document {
        experiment: "reference-system",
        rospin_version: env!("CARGO_PKG_VERSION"),
        machine: &comparison.machine,
        settings: settings(&comparison.settings, &comparison.results),
        units: units(),
        executors: comparison.results.iter().map(executor).collect(),
        recorded: recorded::json(comparison),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn settings(settings: &Settings, results: &[RunResult]) -> Value {
    json!({
        "duration_s": settings.duration.as_secs_f64(),
        "warm_up_s": WARM_UP.as_secs_f64(),
        "tail_s": TAIL.as_secs_f64(),
        "crunch_ms": settings.crunch_ms(),
        "shortest_hot_path_ms": settings.shortest_hot_path_ms(),
        "transport": settings.transport.map(Middleware::name),
        "processes": settings.processes,
        "divisions_per_ns": settings.calibration.divisions_per_ns,
        "executors": results.iter().map(|result| result.variant.name()).collect::<Vec<_>>(),
    })
}

/// Returns the unit and the meaning of every figure, for readers who only have the file.
fn units() -> Value {
    json!({
        "hot_path_latency_ms": "milliseconds from the start of the callback of the later lidar to the \
            start of ObjectCollisionEstimator's, over samples that reached a command node",
        "hot_path_from_due_ms": "milliseconds from the due time of the later lidar to the same start: with the time for which the \
            lidars' callbacks wait",
        "hot_path_drops": "samples that nodes of the hot path never saw, a sample as above",
        "planner_period_ms": "milliseconds between starts of BehaviorPlanner's timer callback; 100 is \
            asked for",
        "missed_front_lidar": "front lidar samples published after the warm-up that never ran \
            ObjectCollisionEstimator, out of samples.front_lidar",
        "cpu_percent": "processor time of the executor's processes, percent of one core",
        "memory_mib": "resident memory of the executor's processes at the end of their run, MiB",
        "cpu_ratio": "processor time of the recorded run, as a multiple of that without recording",
        "sd": "standard deviation of the sample (count - 1)",
        "p50, p99": "percentiles by nearest rank",
        "null": "no sample; as transport: the engine's own topics",
    })
}

fn executor(result: &RunResult) -> Value {
    let figures = Figures::of(result);
    let of = |summary: Option<Summary>, value: fn(Summary) -> f64| summary.map(value);
    let (latency, from_due) = (figures.latency_ms, figures.from_due_ms);
    let (drops, period) = (figures.drops, figures.planner_period_ms);
    json!({
        "executor": result.variant.name(),
        "threads": result.threads,
        "hot_path_latency_ms": {
            "mean": of(latency, |s| s.mean),
            "p50": figures.latency_p50_ms,
            "p99": figures.latency_p99_ms,
            "max": of(latency, |s| s.max),
        },
        "hot_path_from_due_ms": { "mean": of(from_due, |s| s.mean), "max": of(from_due, |s| s.max) },
        "hot_path_drops": { "mean": of(drops, |s| s.mean), "sd": of(drops, |s| s.sd) },
        "planner_period_ms": {
            "min": of(period, |s| s.min),
            "mean": of(period, |s| s.mean),
            "max": of(period, |s| s.max),
            "sd": of(period, |s| s.sd),
        },
        "missed_front_lidar": result.kpis.missed_front_lidar,
        "cpu_percent": result.cpu_percent,
        "memory_mib": result.memory_mib,
        "samples": {
            "hot_path": result.kpis.hot_path_latency_ms.len(),
            "planner_periods": result.kpis.planner_periods.len(),
            "front_lidar": result.kpis.front_lidar_counted,
        },
        "remarks": result.remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::super::kpi::Kpis;
    use super::super::runner::Variant;
    use super::super::testing;
    use super::*;

    fn parsed(comparison: &Comparison) -> Value {
        serde_json::from_str(&render(comparison).unwrap()).unwrap()
    }

    #[test]
    fn every_figure_is_a_number_under_its_name() {
        let document = parsed(&testing::comparison());
        let executors = document["executors"].as_array().unwrap();
        let names: Vec<_> = executors.iter().map(|e| e["executor"].as_str().unwrap()).collect();
        assert_eq!(names, Variant::ALL.map(Variant::name));
        for executor in executors {
            for path in [
                "/hot_path_latency_ms/mean",
                "/hot_path_latency_ms/p50",
                "/hot_path_latency_ms/p99",
                "/hot_path_latency_ms/max",
                "/hot_path_from_due_ms/mean",
                "/hot_path_from_due_ms/max",
                "/hot_path_drops/mean",
                "/hot_path_drops/sd",
                "/planner_period_ms/min",
                "/planner_period_ms/mean",
                "/planner_period_ms/max",
                "/planner_period_ms/sd",
                "/missed_front_lidar",
                "/cpu_percent",
                "/memory_mib",
                "/samples/hot_path",
                "/samples/planner_periods",
                "/samples/front_lidar",
            ] {
                assert!(executor.pointer(path).is_some_and(Value::is_number), "{path}");
            }
        }
    }

    #[test]
    fn machine_settings_and_units_are_there() {
        let document = parsed(&testing::comparison());
        assert_eq!(document["machine"]["cores"], 2);
        assert_eq!(document["machine"]["cpu_model"], "Test <CPU>");
        assert_eq!(document["settings"]["duration_s"], 12.0);
        assert_eq!(document["settings"]["crunch_ms"], 7.0);
        assert_eq!(document["settings"]["shortest_hot_path_ms"], 28.0);
        assert!(document["settings"]["transport"].is_null());
        assert_eq!(document["settings"]["processes"], 1);
        let executor = document["executors"][0].as_object().unwrap();
        let units = document["units"].as_object().unwrap();
        let figures =
            executor.keys().filter(|key| !["executor", "threads", "samples", "remarks"].contains(&key.as_str()));
        for figure in figures {
            assert!(units.contains_key(figure), "{figure} has no unit");
        }
    }

    #[test]
    fn run_without_samples_has_nulls() {
        let mut comparison = testing::comparison();
        comparison.results[0].kpis = Kpis::default();
        let executor = &parsed(&comparison)["executors"][0];
        assert!(executor["hot_path_latency_ms"]["mean"].is_null());
        assert!(executor["planner_period_ms"]["sd"].is_null());
        assert_eq!(executor["samples"]["hot_path"], 0);
    }
}
