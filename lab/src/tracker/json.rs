//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::comparison::Tracker;
use super::grid;
use super::measure::Row;
use super::setup::{PERIOD, PerTopic, ROBOT_PERIOD};

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(tracker: &Tracker) -> Result<String, serde_json::Error> {
    let document = json!({
        "experiment": "tracker",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": tracker.machine,
        "settings": {
            "period_ms": PERIOD.as_secs_f64() * 1e3,
            "robot_period_ms": ROBOT_PERIOD.as_secs_f64() * 1e3,
            "message_us": tracker.message_us,
            "list_pair_ns": tracker.list_pair_ns,
            "iterations": tracker.iterations,
            "origin_of_times": super::report::ORIGIN,
        },
        "units": {
            "period_ms_mean": "milliseconds between starts of the list's callback, mean over `periods`; 1 is asked for",
            "period_ms_sd": "standard deviation of the same (count - 1)",
            "message_us_mean, list_us_mean": "microseconds that the callbacks ran, preemption included; in virtual time \
                what was simulated",
            "list_utilization": "share of a core that the list alone needs",
            "utilization": "share of a core that the list and all messages need",
            "messages_taken": "share of the robots' messages that were taken, from 0 to 1",
            "paper_ms": "the paper's period under E2",
            "null": "nothing to compare with, or no sample",
        },
        "rows": tracker.rows.iter().map(row).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn row(row: &Row) -> Value {
    let per_topic = match row.cell.per_topic {
        PerTopic::Robots(count) => json!(count),
        PerTopic::All => json!("all"),
    };
    json!({
        "policy": row.contender.policy,
        "robots": row.cell.robots,
        "robots_per_topic": per_topic,
        "mode": grid::name(row.mode),
        "period_ms_mean": row.mean_ms(),
        "period_ms_sd": row.period_ms.map(|period| period.sd),
        "periods": row.period_ms.map_or(0, |period| period.count),
        "message_us_mean": row.times.message.as_secs_f64() * 1e6,
        "list_us_mean": row.times.list.as_secs_f64() * 1e6,
        "list_utilization": row.times.list_utilization(),
        "utilization": row.times.utilization(row.cell.robots),
        "messages_taken": row.taken,
        "holds_period": grid::holds(row),
        "paper_ms": row.cell.paper_ms(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_cell_is_a_row() {
        let document: Value = serde_json::from_str(&render(&testing::tracker()).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2 * 3 * 2 * 5);
        for row in rows {
            assert!(row["period_ms_mean"].is_number() && row["utilization"].is_number());
            assert!(row["robots_per_topic"].is_number() || row["robots_per_topic"] == "all");
            assert!(["real", "virtual"].contains(&row["mode"].as_str().unwrap()));
        }
        assert_eq!(document["settings"]["message_us"], 25.0);
    }
}
