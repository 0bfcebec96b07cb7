//! All figures as JSON.

use rospin_measure::machine::Machine;
use serde::Serialize;
use serde_json::{Value, json};

use super::comparison::Comparison;
use super::figures::{Row, rows};
use super::kernel::Kernel;
use super::runner::RunResult;
use super::stalls::STALL_MS;
use super::threads::{
    CALLBACK_PRIORITY, METER_PRIORITY, PUBLISHER_MAIN_PRIORITY, PUBLISHER_PRIORITY, SAMPLING_PRIORITY,
    callback_priority,
};
use super::topics::{PERIODS_MS, TOPICS, phase};
use super::transport::KEEP_LAST;

#[derive(Serialize)]
struct Document<'a> {
    experiment: &'static str,
    rospin_version: &'static str,
    machine: &'a Machine,
    kernel: &'a Kernel,
    settings: Value,
    units: Value,
    rows: Vec<Value>,
    runs: Vec<Value>,
}

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let document = Document {
        experiment: super::runner::NAME,
        rospin_version: env!("CARGO_PKG_VERSION"),
        machine: &comparison.machine,
        kernel: &comparison.kernel,
        settings: settings(comparison),
        units: units(),
        rows: rows(comparison).iter().map(row).collect(),
        runs: comparison.results.iter().map(run).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn settings(comparison: &Comparison) -> Value {
    let settings = &comparison.settings;
    json!({
        "duration_s": settings.duration.as_secs_f64(),
        "runs": comparison.runs,
        "core": settings.core,
        "load_percent": settings.load_percent,
        "queue_messages_min": KEEP_LAST,
        "transport": settings.wire.map_or("socket", |wire| wire.middleware.name()),
        "phases_ms": (0..TOPICS).map(|topic| phase(topic).as_secs_f64() * 1e3).collect::<Vec<_>>(),
        "overhead": comparison.overhead,
        "divisions_per_ns": settings.calibration.divisions_per_ns,
        "priorities": {
            "stall_meter": METER_PRIORITY,
            "publisher_main": PUBLISHER_MAIN_PRIORITY,
            "publisher": PUBLISHER_PRIORITY,
            "sampling": SAMPLING_PRIORITY,
            "callbacks_on_one_thread": CALLBACK_PRIORITY,
            "callbacks": (0..TOPICS).map(callback_priority).collect::<Vec<_>>(),
        },
    })
}

/// Returns the unit and the meaning of every figure, for readers who only have the file.
fn units() -> Value {
    json!({
        "period_ms": "milliseconds between publications; the deadline of a message",
        "wcet_ms": "milliseconds of thread CPU time that the callback takes",
        "bound_ms": "worst-case response time under preemptive fixed priorities on one core (Audsley et al. 1993); \
            null if more than the period",
        "bound_with_overheads_ms": "the same if each message takes `processor_ms` of `overhead` before all callbacks, and is \
            `way_ms` on its way; null also if no message arrived when they were measured",
        "overhead": "what a message takes besides its callback, with little load: processor_ms: mean of both processes' \
            processor time; way_ms: 99th percentile of the time from publication to callback",
        "p50_ms, p99_ms": "percentiles by nearest rank of the milliseconds from publication to the end of the \
            callback, over all messages sent; null if the percentile is a message that was lost",
        "max_ms": "the longest of those that were received",
        "sent, received": "messages published; callbacks that ended",
        "missed_deadlines": "messages whose callback ended later than a period after publication, or never ran",
        "dropped": "messages, a topic, for which the channel between sampling and callback had no room",
        "refused": "messages, a topic, for which the transport had no room",
        "stalls": format!(
            "how late the machine was to wake the most urgent thread on the experiment's core, every 2 ms, in \
             milliseconds; stalls: how often by more than {STALL_MS} ms; taken_p99_ms: what those took of the topics' periods, \
             99th percentile over the periods, a topic; stolen_ms: taken away by the hypervisor, as \
             the kernel counts it"
        ),
        "threads": "scheduling and cores as read back from the kernel, and what could not be had",
        "null": "no sample",
    })
}

fn row(row: &Row) -> Value {
    json!({
        "variant": row.variant.name(),
        "run": row.run,
        "topic": row.topic + 1,
        "period_ms": PERIODS_MS[row.topic],
        "wcet_ms": row.wcet_ms,
        "bound_ms": row.bound_ms,
        "bound_with_overheads_ms": row.real_bound_ms,
        "p50_ms": row.p50_ms,
        "p99_ms": row.p99_ms,
        "max_ms": row.max_ms,
        "sent": row.sent,
        "received": row.received,
        "missed_deadlines": row.missed_deadlines,
    })
}

fn run(result: &RunResult) -> Value {
    json!({
        "variant": result.variant.name(),
        "run": result.run,
        "dropped": result.subscribed.dropped,
        "refused": result.published.refused,
        "stalls": result.published.stalls,
        "threads": { "subscriber": result.subscribed.threads, "publisher": result.published.threads },
        "remarks": result.subscribed.remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn parsed(comparison: &Comparison) -> Value {
        serde_json::from_str(&render(comparison).unwrap()).unwrap()
    }

    #[test]
    fn every_topic_of_every_run_is_a_row() {
        let document = parsed(&testing::comparison());
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 6 * TOPICS);
        for row in rows {
            for (name, value) in row.as_object().unwrap() {
                assert!(value.is_number() || name == "variant", "{name}: {value}");
            }
        }
        let row = &rows[0];
        assert_eq!((&row["variant"], &row["run"], &row["topic"]), (&json!("tokio"), &json!(1), &json!(1)));
        assert_eq!(
            (&row["p99_ms"], &row["bound_ms"], &row["missed_deadlines"]),
            (&json!(70.0), &json!(2.0), &json!(500))
        );
    }

    #[test]
    fn runs_say_what_threads_and_machine_did() {
        let document = parsed(&testing::comparison());
        let run = &document["runs"][0];
        assert_eq!(run["threads"]["subscriber"][0]["scheduling"], "SCHED_FIFO 21");
        assert_eq!((&run["stalls"]["max_ms"], &run["stalls"]["stalls"]), (&json!(1.5), &json!(3)));
        assert_eq!(document["kernel"]["rt_runtime_us"], 950_000);
        assert_eq!(document["settings"]["load_percent"], 90.0);
        assert_eq!(document["machine"]["cpu_model"], "Test <CPU>");
    }

    #[test]
    fn what_was_lost_is_null() {
        let mut comparison = testing::comparison();
        comparison.results[0].subscribed.latencies_ns[4].clear();
        let row = &parsed(&comparison)["rows"][4];
        assert!(row["p99_ms"].is_null() && row["max_ms"].is_null());
        assert_eq!((&row["received"], &row["missed_deadlines"]), (&json!(0), &json!(25)));
    }
}
