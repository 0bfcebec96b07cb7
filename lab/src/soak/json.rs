//! The result as JSON: all figures, with units, machine and schedule.

use rospin_measure::machine::Machine;
use serde_json::json;

use super::lead;
use super::outcome::Outcome;
use super::verdict;

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn render(outcome: &Outcome, machine: &Machine, file: &str) -> Result<String, serde_json::Error> {
    let healed: serde_json::Map<_, _> =
        outcome.healed_s.iter().map(|(subject, seconds)| (subject.name().to_owned(), json!(seconds))).collect();
    let document = json!({
        "experiment": super::options::NAME,
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": machine,
        "middleware": outcome.middleware,
        "schedule": outcome.schedule,
        "seconds": outcome.seconds,
        "rests": outcome.rests,
        "units": {
            "healed_s": "seconds from healing until all see and have the same, a figure for each rest",
            "topics": "messages: heard; lost, which the subscription counts; to_nobody, published while no subscription \
                       matched, which the publisher counts; to_the_dead, sent while the station did not run, which the leading \
                       process counts; one_sided, sent while only one end knew the other, which nobody can count; replaced, \
                       latched ones that a later one took the place of",
            "lateness": "callbacks late by more than 100 ms, by their cause",
            "flatness": "pages in KiB, bytes of the heap that are in use, threads, open files and sockets: at an age of ten \
                         minutes, and at the end",
        },
        "bound_s": lead::bound(outcome.middleware).as_secs_f64(),
        "faults": outcome.faults,
        "healed_s": healed,
        "topics": outcome.topics,
        "requests": {
            "calls": outcome.called,
            "relayed_calls": outcome.relayed,
            "goals": outcome.asked_goals,
            "parameters": outcome.speed_sets,
            "changes_of_state": outcome.changed,
            "components": outcome.components,
        },
        "goals_told": outcome.goals_told,
        "lateness": outcome.lateness,
        "log_lines": outcome.log_lines,
        "library_errors": outcome.library_errors,
        "packets": outcome.packets,
        "killed_for_memory": outcome.killed_for_memory,
        "flatness": outcome.flatness,
        "verdict": verdict::sentences(outcome, file),
        "wrong": outcome.wrong,
        "remarks": outcome.remarks,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
