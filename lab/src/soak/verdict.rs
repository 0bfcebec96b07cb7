//! The result in sentences.

use super::ledger::Lateness;
use super::outcome::Outcome;

/// The most sentences about what is wrong that are shown.
const SHOWN_MAX: usize = 20;

/// Returns the result in sentences. `file` is where the schedule is.
pub(super) fn sentences(outcome: &Outcome, file: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let (faults, minutes) = (outcome.faults(), outcome.seconds / 60.0);
    let middleware = outcome.middleware.name();
    let wrong = outcome.wrong.len();
    if wrong == 0 {
        sentences.push(format!(
            "{faults} faults in {minutes:.1} minutes over {middleware}: after each of {} rests everything was right.",
            outcome.rests
        ));
    } else {
        sentences.push(format!(
            "{faults} faults in {minutes:.1} minutes over {middleware}: {wrong} times something was not right. Again with \
             `rospin lab soak --middleware {middleware} --schedule {file}` (seed {}).",
            outcome.schedule.seed
        ));
    }
    let lateness = &outcome.lateness;
    let without = lateness.no_processor + lateness.others_without_processor + lateness.stood_still;
    let Lateness { stopped, pages_read, other_callbacks, publishing, timed, longest_ms, .. } = lateness;
    let late = stopped + without + pages_read + other_callbacks + publishing;
    sentences.push(format!(
        "Of {timed} timed callbacks {late} were late by more than 100 ms: {stopped} of processes that were stopped, started or \
         short of memory, {without} without a processor, {pages_read} while pages were read from a disk, {other_callbacks} behind \
         other callbacks, {publishing} behind a publisher without room; the longest of those that were neither stopped nor stood \
         still by {longest_ms:.0} ms."
    ));
    let packets = &outcome.packets;
    sentences.push(format!(
        "The network passed {} packets on, {} of them twice; it lost {}, had no room for {}, and {} came to a cut.",
        packets.passed, packets.duplicated, packets.lost, packets.full, packets.cut
    ));
    if outcome.library_errors > 0 {
        sentences.push(format!("The Zenoh library logged {} errors.", outcome.library_errors));
    }
    if outcome.killed_for_memory > 0 {
        sentences
            .push(format!("{} processes were killed because they had too little memory.", outcome.killed_for_memory));
    }
    for text in outcome.wrong.iter().take(SHOWN_MAX) {
        sentences.push(format!("Wrong: {text}"));
    }
    if wrong > SHOWN_MAX {
        sentences.push(format!("And {} more.", wrong - SHOWN_MAX));
    }
    sentences
}
