//! The rows as JSON, with units, machine and settings.

use serde::Serialize;
use serde_json::{Value, json};

use rospin_measure::machine::Machine;

use super::super::kpi::{TAIL, WARM_UP};
use super::Answer;
use super::rows::{PHASES, Row};
use super::verdict;

/// Content of the JSON file.
#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    rospin_version: &'static str,
    machine: &'a Machine,
    settings: Value,
    units: Value,
    verdict: String,
    rows: &'a [Row],
}

/// Returns the whole JSON file as text, ending in a line break.
pub(super) fn render(answer: &Answer) -> Result<String, serde_json::Error> {
    let settings = &answer.settings;
    let document = Document {
        experiment: "reference-system on a number of cores",
        rospin_version: env!("CARGO_PKG_VERSION"),
        machine: &answer.machine,
        settings: json!({
            "duration_s": settings.duration.as_secs_f64(),
            "warm_up_s": WARM_UP.as_secs_f64(),
            "tail_s": TAIL.as_secs_f64(),
            "crunch_ms": settings.crunch_ms(),
        }),
        units: units(),
        verdict: verdict::sentence(&answer.rows),
        rows: &answer.rows,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Returns the unit and the meaning of every figure, for readers who only have the file.
fn units() -> Value {
    json!({
        "simulated": "figures of virtual time: the same on every machine. All timers start together",
        "measured": "figures of a run on the machine; null if it has fewer cores, or was not asked to",
        "kpi": "milliseconds from the start of the callback of the later lidar to the start of \
            ObjectCollisionEstimator's, over samples that reached a command node",
        "from_due": "milliseconds from the due time of the later lidar to the same start",
        "any_phase_max_ms": format!("the longest from_due in {PHASES} runs in virtual time with other phases of the timers"),
        "planner_response_max_ms": "the longest time from a due time of BehaviorPlanner's timer to its end, in all runs in virtual time",
        "drops_mean": "samples that nodes of the hot path never saw, a sample as above",
        "missed_front_lidar": "front lidar samples that never ran ObjectCollisionEstimator, out of front_lidar",
        "planner": "milliseconds between starts of BehaviorPlanner's timer callback; 100 is asked for",
        "bounds.hot_path_ms": "bound from the due time of the later lidar to the end of ObjectCollisionEstimator, for all phases \
            of the timers; null if there is none",
        "bounds.planner_ms": "bound of the response of BehaviorPlanner's timer; null if there is none",
        "bounds.unbounded": "callbacks without a bound, out of bounds.callbacks, in a model in which a fusion is one callback",
        "bounds.refused": "the reason for which the analysis refuses the whole system",
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::settings;
    use super::super::testing::rows;
    use super::*;

    #[test]
    fn each_row_is_there_and_can_be_read_again() {
        let answer = Answer { machine: Machine::made_up(), settings: settings(), rows: rows() };
        let document: Value = serde_json::from_str(&render(&answer).unwrap()).unwrap();
        // Numbers may lose their last digit on the way through the text.
        let once: Vec<Row> = serde_json::from_str(&serde_json::to_string(&rows()).unwrap()).unwrap();
        assert_eq!(serde_json::from_value::<Vec<Row>>(document["rows"].clone()).unwrap(), once);
        assert_eq!(
            (&document["rows"][2]["executor"], &document["settings"]["crunch_ms"]),
            (&json!("priority-shared"), &json!(7.0))
        );
        assert!(document["rows"][2]["bounds"]["hot_path_ms"].is_null());
        assert_eq!(document["machine"]["cpu_model"], "Test <CPU>");
    }
}
