//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::comparison::Throughput;
use super::figures::Row;
use super::verdict;
use super::workload::{DEPTH, RATE_HZ, TIMERS_HZ};

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(throughput: &Throughput) -> Result<String, serde_json::Error> {
    let aims = verdict::aims(&throughput.figures);
    let document = json!({
        "experiment": "throughput",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": throughput.machine,
        "settings": {
            "rounds": throughput.rounds,
            "seconds": throughput.window.as_secs_f64(),
            "busy_poll_us": throughput.busy_poll.as_secs_f64() * 1e6,
            "depth": DEPTH,
            "rate_hz": RATE_HZ,
            "timers_hz": TIMERS_HZ,
        },
        "units": {
            "messages_per_s": "callbacks that ran in a second (of messages and timers), over the rounds",
            "lost": "share of the published messages, times subscriptions, that no callback ran for: displaced in the ring, \
                or refused by a channel behind it",
            "callbacks_per_published": "callbacks that ran for each message that was published, those of timers among them",
            "waits_us": "microseconds from publication to callback or loss in the mean, by Little's law: messages that wait at the begin \
                and at the end of the window, divided by the rate at which they end their wait",
            "cpu_percent": "processor time of the whole process, publisher included, percent of one core",
            "executor_cpu_percent": "the same without the publishing thread",
            "cpu_ns_per_message": "processor time of all threads but the publishing one, a callback, in nanoseconds",
            "latency_us": "microseconds from publication to the start of the callback; p50, p99 and p999 are medians of the \
                rounds' percentiles, max is of all rounds",
            "allocations_per_message": "allocations and reallocations of the whole process, a callback, in a run of its own; those of \
                making messages are left out, those of publishing are not",
            "context_switches_per_message": "of all threads but the publishing one, a callback",
            "to_limit": "messages_per_s.median divided by the limit's in the same run",
            "null": "not measured",
        },
        "rows": throughput.figures.rows.iter().map(|row| self::row(throughput, row)).collect::<Vec<_>>(),
        "aims": aims.iter().map(|aim| json!({
            "contender": aim.contender.name(),
            "ratio": aim.text,
            "wanted": aim.cells()[2],
            "measured": aim.value,
            "reached": aim.is_reached(),
        })).collect::<Vec<_>>(),
        "remarks": throughput.remarks,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn row(throughput: &Throughput, row: &Row) -> Value {
    let rate = row.messages_per_s;
    json!({
        "contender": row.contender.name(),
        "workload": row.cell.workload.name(),
        "payload_bytes": row.cell.payload_bytes,
        "subscriptions": row.cell.subscriptions,
        "entities": row.cell.entities,
        "threads": row.contender.threads(&row.cell),
        "work_us": row.cell.work_us,
        "rounds": row.rounds,
        "messages_per_s": { "min": rate.min, "median": rate.median, "max": rate.max },
        "to_limit": throughput.figures.to_limit(row, |row| Some(row.messages_per_s.median)),
        "callbacks_per_published": row.callbacks_per_published,
        "waits_us": row.waits_us,
        "lost": row.lost,
        "cpu_percent": row.cpu_percent,
        "executor_cpu_percent": row.executor_cpu_percent,
        "cpu_ns_per_message": row.cpu_ns_per_message,
        "latency_us": row.latency_us.map(|latency| json!({
            "p50": latency.p50, "p99": latency.p99, "p999": latency.p999, "max": latency.max,
        })),
        "allocations_per_message": row.allocations_per_message,
        "context_switches_per_message": row.context_switches_per_message,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_has_every_figure() {
        let throughput = testing::throughput();
        let document: Value = serde_json::from_str(&render(&throughput).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), throughput.figures.rows.len());
        for row in rows {
            for path in [
                "/payload_bytes",
                "/subscriptions",
                "/entities",
                "/messages_per_s/min",
                "/messages_per_s/median",
                "/messages_per_s/max",
                "/waits_us",
                "/cpu_percent",
                "/allocations_per_message",
                "/context_switches_per_message",
            ] {
                assert!(row.pointer(path).is_some_and(Value::is_number), "{path}");
            }
            assert_eq!(row["latency_us"].is_object(), row["workload"] == "fixed-rate");
        }
        assert_eq!(document["aims"].as_array().unwrap().len(), 52);
    }
}
