//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::agreement::NOTES;
use super::comparison::{Comparison, Time};
use super::runs::CaseResult;

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let document = json!({
        "experiment": "callback-order",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "settings": settings(comparison),
        "units": {
            "time_s, release_s, start_s, end_s": "seconds since the beginning of the run, unscaled",
            "release_s": "arrival of the message, due time of the timer",
            "ready_set": "in the order in which it is served; policies without ready sets have no polling points",
            "cells": "what the paper says and what the run says",
        },
        "runs": comparison.results.iter().map(run).collect::<Vec<_>>(),
        "cells": comparison.cells.iter().map(cell).collect::<Vec<_>>(),
        "cells_agree": comparison.cells.iter().filter(|cell| cell.agrees).count(),
        "sentence": comparison.sentence(),
        "notes": NOTES,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn settings(comparison: &Comparison) -> Value {
    let scale = match comparison.time {
        Time::Virtual => None,
        Time::Real { scale } => Some(scale),
    };
    json!({
        "time": if scale.is_some() { "real" } else { "virtual" },
        "scale": scale,
        "tolerance_s": comparison.time.tolerance_ns() as f64 / 1e9,
    })
}

fn run(result: &CaseResult) -> Value {
    let s = |ns: u64| ns as f64 / 1e9;
    let names = |set: &[usize]| set.iter().map(|callback| result.name(*callback).to_owned()).collect::<Vec<_>>();
    let points = result.polling_points.iter();
    let points = points.map(|point| json!({ "time_s": s(point.at_ns), "ready_set": names(&point.ready_set) }));
    let activations = result.activations.iter().map(|activation| {
        json!({
            "entity": result.name(activation.callback),
            "release_s": s(activation.release_ns),
            "start_s": s(activation.start_ns),
            "end_s": s(activation.end_ns),
        })
    });
    json!({
        "experiment": result.case.experiment.name,
        "policy": result.case.policy,
        "threads": result.scenario.executors.iter().map(|executor| executor.threads).sum::<u16>(),
        "published": result.case.is_published(),
        "polling_points": points.collect::<Vec<_>>(),
        "activations": activations.collect::<Vec<_>>(),
    })
}

fn cell(cell: &super::agreement::Cell) -> Value {
    json!({
        "experiment": cell.experiment,
        "policy": cell.policy,
        "cell": cell.what,
        "paper": cell.paper,
        "run": cell.run,
        "agrees": cell.agrees,
    })
}
