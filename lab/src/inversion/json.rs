//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::comparison::Comparison;
use super::figures::Row;
use super::verdict;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let Comparison { machine, setup, throttle, is_memory_locked, turn, rows } = comparison;
    let promises = verdict::promises(comparison);
    let document = json!({
        "experiment": "inversion",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": machine,
        "settings": {
            "core": setup.core,
            "urgent_thread": setup.timer_has,
            "hog_thread": setup.busy_has,
            "hog_burst_ms": turn.burst.as_secs_f64() * 1e3,
            "hog_pause_ms": turn.pause.as_secs_f64() * 1e3,
            "timer_period_us": turn.period.as_micros() as u64,
            "real_time_share_max": throttle,
            "memory_locked": is_memory_locked,
        },
        "units": {
            "timer_us": "microseconds from due time to start of the timer's callback",
            "message_us": "microseconds from before its publication by the timer's callback to the start of the subscription's",
            "own_us": "microseconds that the timer's callback took to publish, and to do once what the ordinary threads do",
            "operations": "how often the ordinary threads did it",
            "bursts": "how often the hog ran",
            "real_time_share_max": "the share of a core that the kernel lets real-time threads have (sched_rt_runtime_us)",
            "null": "none, or not limited",
        },
        "promises": promises.iter().map(|p| json!({ "text": p.text, "kept": p.kept })).collect::<Vec<_>>(),
        "rows": rows.iter().map(one_row).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn one_row(row: &Row) -> Value {
    json!({
        "case": row.case.name(),
        "fired": row.fired(),
        "expected": row.expected,
        "timer_us": row.timer,
        "message_us": row.message,
        "own_us": row.own,
        "worst_p999_us": row.worst_p999(),
        "operations": row.operations,
        "bursts": row.bursts,
    })
}

#[cfg(test)]
mod tests {
    use super::super::interference::Case;
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_has_its_figures() {
        let document: Value = serde_json::from_str(&render(&testing::comparison()).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), Case::ALL.len());
        for row in rows {
            for percentile in ["p50", "p99", "p999", "max"] {
                assert!(row["timer_us"][percentile].is_number(), "{row}");
            }
        }
        assert_eq!(document["promises"].as_array().unwrap().len(), 6);
    }
}
