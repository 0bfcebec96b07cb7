//! An analysis as JSON: all figures, with units, machine and settings.

use std::time::Duration;

use rospin_analysis::{CallbackBound, Unbounded};
use rospin_engine::EntityKind;
use serde_json::{Value, json};

use super::analyzed::Analyzed;
use super::{rows, tables};

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn render(analyzed: &Analyzed) -> Result<String, serde_json::Error> {
    let document = json!({
        "command": super::options::NAME,
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": analyzed.machine,
        "settings": settings(analyzed),
        "units": units(),
        "holds": analyzed.report.holds(),
        "callbacks": callbacks(analyzed),
        "chains": chains(analyzed),
        "cores": cores(analyzed),
        "accelerators": accelerators(analyzed),
        "critical_instants": critical_instants(analyzed),
        "causes": analyzed.causes(),
        "advice": analyzed.advice(),
        "method": analyzed.report.methods.join("; "),
        "assumptions": analyzed.report.assumptions,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Returns the unit and the meaning of every figure, for readers who have the file and not this program.
fn units() -> Value {
    json!({
        "bound_ms": "longest time from release to end, in milliseconds; null if none was found",
        "deadline_ms": "milliseconds from release; of a chain, from the release of its first callback; null without one",
        "slack_ms": "deadline less bound, milliseconds",
        "holds": "the bound is within the deadline; without a deadline, there is a bound",
        "misses_max": "the most misses of as many activations in a row as `tolerates` says; null without it, or if unknown",
        "simulated_max_ms": "longest time in simulations with settings.seeds seeds, overheads aside; null without",
        "execution_ms": "longest execution time, overheads included, milliseconds",
        "execution_max_ms": "longest one with which all deadlines hold, all else being as it is, up to 64 times as long",
        "period_ms": "shortest time between two releases, milliseconds; null if others release it",
        "period_min_ms": "shortest one with which all deadlines hold, all else being as it is, down to a 64th",
        "latency_bound_ms": "milliseconds from the release of the first callback to the end of the last one",
        "reaction_time_bound_ms": "milliseconds from an event to the end of the last callback that knows of it; null if \
            messages may be lost on the way",
        "data_age_bound_ms": "milliseconds that the data behind the newest output can be old; null if messages may be lost",
        "margins_early": "true if the work ran out before the largest margins were found: with these all deadlines hold",
        "margins_known": "false if the work ran out before the four above were known; null with --no-sensitivity",
        "not_proven": "why there is no bound, and what gives one; null if there is a bound",
        "unbounded": "kind, reason and changes of a callback without a bound; null if there is a bound. kind: `may starve`, \
            `may grow` or `unknown`. changes: the smallest ones that were found, each of which alone gives a bound",
        "unbounded_callbacks": "the callbacks of the chain that have no bound, and so leave it without one",
        "critical_instants": "the longest response found in simulations that begin with a critical instant; what ran, in \
            milliseconds from there",
        "utilization": "share of the time of a core, or of an accelerator's lanes, that is asked for",
        "own_ms": "milliseconds that an activation's requests take on an accelerator; `bound_ms` there is with all waiting",
    })
}

fn settings(analyzed: &Analyzed) -> Value {
    let us = |time: Duration| time.as_nanos() as f64 / 1e3;
    let executor = |executor: &rospin_scenario::Executor| {
        json!({
            "name": executor.name,
            "policy": executor.policy,
            "threads": executor.threads,
            "os_priority": executor.os_priority,
            "cores": executor.cores,
        })
    };
    json!({
        "file": analyzed.file.display().to_string(),
        "scenario": analyzed.scenario.name,
        "assign": analyzed.assigned,
        "applied": analyzed.applied.as_ref().map(rospin_analysis::Change::describe),
        "reservations": analyzed.reservations.iter().map(|(executor, reservation)| json!({
            "executor": executor,
            "budget_ms": ms(Some(reservation.budget)),
            "period_ms": ms(Some(reservation.period)),
        })).collect::<Vec<_>>(),
        "overheads_us": {
            "dispatch": us(analyzed.overheads.dispatch),
            "wake_up": us(analyzed.overheads.wake_up),
            "receive": us(analyzed.overheads.receive),
        },
        "seeds": analyzed.seen.as_ref().map(|seen| seen.seeds),
        "executors": analyzed.scenario.executors.iter().map(executor).collect::<Vec<_>>(),
    })
}

fn callbacks(analyzed: &Analyzed) -> Vec<Value> {
    let figures = |(row, callback): (rows::Row, &CallbackBound)| {
        let margin = rows::margin(analyzed, &row.name);
        let queue = queue(analyzed, &row.name);
        json!({
            "name": row.name,
            "executor": callback.executor,
            "priority": callback.priority,
            "bound_ms": ms(row.bound),
            "deadline_ms": ms(row.deadline),
            "slack_ms": row.slack_ms(),
            "holds": row.holds,
            "misses_max": callback.misses,
            "simulated_max_ms": ms(row.seen),
            "execution_ms": ms(margin.map(|margin| margin.execution)),
            "execution_max_ms": ms(margin.and_then(|margin| margin.execution_max)),
            "period_ms": ms(margin.and_then(|margin| margin.period)),
            "period_min_ms": ms(margin.and_then(|margin| margin.period_min)),
            "margins_early": margin.map(|margin| margin.early),
            "margins_known": margin.map(|margin| !margin.unknown),
            "not_proven": callback.not_proven,
            "unbounded": unbounded(callback),
            "backlog": callback.backlog,
            "depth": queue.map(|plan| plan.depth),
            "depth_min": queue.and_then(|plan| tables::smallest_depth(analyzed, plan)),
            "may_lose": callback.may_lose,
            "method": callback.method,
        })
    };
    rows::callbacks(analyzed).into_iter().zip(&analyzed.report.callbacks).map(figures).collect()
}

/// Returns why a callback has no bound, and the changes that give one; `None` if it has one.
fn unbounded(callback: &CallbackBound) -> Option<Value> {
    let kind = match callback.unbounded? {
        Unbounded::MayStarve => "may starve",
        Unbounded::MayGrow => "may grow",
        _ => "unknown",
    };
    Some(json!({ "kind": kind, "why": callback.why, "changes": callback.changes }))
}

/// Returns the names of the callbacks of a chain that have no bound.
fn unbounded_callbacks<'a>(analyzed: &'a Analyzed, chain: &str) -> Vec<&'a str> {
    let chain = analyzed.scenario.chains.iter().find(|known| known.name == chain);
    let members = chain.map_or(&[][..], |chain| &chain.callbacks);
    let bounds = members.iter().filter_map(|name| analyzed.report.callback(name));
    bounds.filter(|callback| callback.bound.is_none()).map(|callback| callback.name.as_str()).collect()
}

/// Returns the callback of this name if it has a queue.
fn queue<'a>(analyzed: &'a Analyzed, name: &str) -> Option<&'a rospin_scenario::Callback> {
    let named = analyzed.scenario.callbacks.iter().find(|callback| callback.name == name);
    named.filter(|callback| callback.kind != EntityKind::Timer)
}

fn chains(analyzed: &Analyzed) -> Vec<Value> {
    let figures = |(row, chain): (rows::Row, &rospin_analysis::ChainBound)| {
        json!({
            "name": row.name,
            "latency_bound_ms": ms(row.bound),
            "reaction_time_bound_ms": ms(chain.reaction_time),
            "data_age_bound_ms": ms(chain.data_age),
            "deadline_ms": ms(row.deadline),
            "slack_ms": row.slack_ms(),
            "holds": row.holds,
            "simulated_max_ms": ms(row.seen),
            "lossy": chain.lossy,
            "unbounded_callbacks": unbounded_callbacks(analyzed, &chain.name),
            "method": chain.method,
        })
    };
    rows::chains(analyzed).into_iter().zip(&analyzed.report.chains).map(figures).collect()
}

fn cores(analyzed: &Analyzed) -> Vec<Value> {
    let cores = analyzed.report.cores.iter();
    cores
        .map(|core| json!({ "core": core.core, "utilization": core.utilization, "executors": core.executors }))
        .collect()
}

fn accelerators(analyzed: &Analyzed) -> Vec<Value> {
    let of = |accelerator: &rospin_analysis::AcceleratorLoad| {
        let uses = accelerator
            .uses
            .iter()
            .map(|one| json!({ "callback": one.callback, "own_ms": ms(Some(one.own)), "bound_ms": ms(one.bound) }));
        let uses: Vec<_> = uses.collect();
        json!({ "name": accelerator.name, "utilization": accelerator.utilization, "uses": uses })
    };
    analyzed.report.accelerators.iter().map(of).collect()
}

fn critical_instants(analyzed: &Analyzed) -> Vec<Value> {
    let figures = |picture: &super::critical::Picture| {
        let rows = picture.timeline.rows.iter();
        let ran = rows.flat_map(|row| row.bars.iter().map(|bar| (&row.label, &bar.activation)));
        let ran = ran.map(|(name, activation)| {
            let ms = |ns: u64| ns as f64 / 1e6;
            json!({
                "callback": name,
                "release_ms": ms(activation.release_ns),
                "start_ms": ms(activation.start_ns),
                "end_ms": ms(activation.end_ns),
            })
        });
        json!({
            "name": picture.name,
            "response_ms": ms(Some(picture.response)),
            "bound_ms": ms(picture.bound),
            "ran": ran.collect::<Vec<_>>(),
        })
    };
    analyzed.pictures.iter().map(figures).collect()
}

fn ms(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_nanos() as f64 / 1e6)
}
