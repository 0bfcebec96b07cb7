//! A simulation as JSON: all figures, with units, machine and settings.

use rospin_measure::machine::Machine;
use rospin_sim::Statistics;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::simulated::Simulated;
use super::tables::ms;

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn render(simulated: &Simulated<'_>) -> Result<String, serde_json::Error> {
    let units = json!({
        "response_ms": "milliseconds from release to end",
        "wait_ms": "milliseconds from release to start",
        "latency_ms": "milliseconds from the release of the first callback to the end of the last one",
        "misses": "activations or instances that ended after the deadline, or had not at the end; null without one",
        "unfinished": "activations that were released and had not run by the end",
        "waited_ms": "milliseconds that the oldest of those had waited",
        "starved": "it never ran although it was late, or had waited for half of the time at the end",
        "dropped_overflow": "messages that made room for newer ones",
        "dropped_overrun": "due times that a timer gave up, or that passed while it waited at the end",
        "queued": "messages left in the queue at the end",
        "empty": "activations that found no message",
        "activations": "in the order of their starts: all that ran to their end, or those that the timeline shows",
        "release_s, start_s, end_s": "seconds of virtual time since the beginning",
        "release_s": "arrival of the message, due time of the timer",
        "busy": "share of the time of an accelerator's lanes",
        "p99": "percentile by nearest rank",
    });
    let document = Document {
        command: super::options::NAME,
        rospin_version: env!("CARGO_PKG_VERSION"),
        machine: &simulated.machine,
        settings: settings(simulated),
        units,
        violations: simulated.violations.as_deref(),
        callbacks: callbacks(simulated),
        chains: chains(simulated),
        accelerators: accelerators(simulated),
        activations: Activations(simulated),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Content of the JSON file, with the longest part at the end.
#[derive(Serialize)]
struct Document<'a> {
    command: &'static str,
    rospin_version: &'static str,
    machine: &'a Machine,
    settings: Value,
    units: Value,
    violations: Option<&'a str>,
    callbacks: Vec<Value>,
    chains: Vec<Value>,
    accelerators: Vec<Value>,
    activations: Activations<'a>,
}

fn settings(simulated: &Simulated<'_>) -> Value {
    let executors = simulated.scenario.executors.iter();
    json!({
        "file": simulated.file.display().to_string(),
        "scenario": simulated.scenario.name,
        "duration_s": simulated.scenario.duration.as_secs_f64(),
        "seed": simulated.outcome.seed,
        "activations": simulated.listed,
        "executors": executors
            .map(|executor| json!({ "name": executor.name, "policy": executor.policy, "threads": executor.threads }))
            .collect::<Vec<_>>(),
    })
}

fn callbacks(simulated: &Simulated<'_>) -> Vec<Value> {
    let figures = |(callback, plan): (&rospin_sim::CallbackOutcome, &rospin_scenario::Callback)| {
        json!({
            "name": callback.name,
            "runs": callback.response.count,
            "response_ms": statistics(&callback.response),
            "wait_ms": statistics(&callback.wait),
            "misses": plan.relative_deadline().map(|_| callback.misses),
            "dropped_overflow": callback.dropped,
            "dropped_overrun": callback.overruns,
            "queued": callback.queued,
            "unfinished": callback.unfinished,
            "waited_ms": ms(callback.waited),
            "starved": callback.is_starved(simulated.scenario.duration),
            "empty": callback.empty,
        })
    };
    simulated.outcome.callbacks.iter().zip(&simulated.scenario.callbacks).map(figures).collect()
}

fn chains(simulated: &Simulated<'_>) -> Vec<Value> {
    let figures = |(chain, plan): (&rospin_sim::ChainOutcome, &rospin_scenario::Chain)| {
        json!({
            "name": chain.name,
            "runs": chain.latency.count,
            "latency_ms": statistics(&chain.latency),
            "misses": plan.deadline.map(|_| chain.misses),
        })
    };
    simulated.outcome.chains.iter().zip(&simulated.scenario.chains).map(figures).collect()
}

fn accelerators(simulated: &Simulated<'_>) -> Vec<Value> {
    let all = super::tables::accelerators(simulated.scenario, &simulated.outcome);
    all.into_iter().map(|(name, busy)| json!({ "name": name, "busy": busy })).collect()
}

/// The activations as a list that is written one by one. A long simulation has millions, too many for a [`Value`] of
/// each.
struct Activations<'a>(&'a Simulated<'a>);

impl Serialize for Activations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let callbacks = &self.0.scenario.callbacks;
        serializer.collect_seq(self.0.listed().iter().map(|activation| Activation {
            entity: &callbacks[activation.callback].name,
            release_s: activation.release_ns as f64 / 1e9,
            start_s: activation.start_ns as f64 / 1e9,
            end_s: activation.end_ns as f64 / 1e9,
        }))
    }
}

#[derive(Serialize)]
struct Activation<'a> {
    entity: &'a str,
    release_s: f64,
    start_s: f64,
    end_s: f64,
}

/// Returns statistics as JSON. Their times are `null` if nothing was counted.
fn statistics(of: &Statistics) -> Value {
    let time = |time| if of.count == 0 { Value::Null } else { json!(ms(time)) };
    json!({ "min": time(of.min), "mean": time(of.mean), "p99": time(of.p99), "max": time(of.max) })
}
