//! The result as JSON: all figures, with units, machine and settings.

use rospin_measure::stats::percentile;
use serde_json::{Value, json};

use super::comparison::Comparison;
use super::figures::Row;
use super::load;
use super::verdict;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let setup = &comparison.setup;
    let promises = verdict::promises(comparison);
    let document = json!({
        "experiment": "timers",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "settings": {
            "duration_s": comparison.duration.as_secs_f64(),
            "turns": comparison.rounds,
            "core": setup.core,
            "timer_thread": setup.timer_has,
            "busy_thread": setup.busy_has,
            "real_time": setup.is_real_time(),
            "missing": setup.missing,
            "busy_period_us": load::PERIOD.as_micros() as u64,
            "busy_work_us": load::WORK.as_micros() as u64,
            "busy_memory_bytes": load::MEMORY,
        },
        "units": {
            "rate_hz": "how often the timer is due, in hertz",
            "fired, expected": "starts of its callback, and due times, in all turns together",
            "jitter_us": "microseconds from due time to start of the callback; p50 and p99 are medians over the turns, max is \
                the largest of all",
            "pooled_us": "percentiles over the starts of all turns: below the machine's own stalls, p90 and p95 compare best",
            "turns": "jitter_us of each turn",
            "p99_to_floor": "p99 divided by that of clock-nanosleep at the same rate and load",
            "null": "nothing to compare with, or not a single start",
        },
        "promises": promises.iter().map(|p| json!({ "text": p.text, "kept": p.kept })).collect::<Vec<_>>(),
        "remarks": comparison.remarks,
        "rows": comparison.rows.iter().map(|row| one_row(comparison, row)).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn one_row(comparison: &Comparison, row: &Row) -> Value {
    json!({
        "contender": row.contender.name(),
        "load": row.load.name(),
        "rate_hz": row.rate_hz,
        "fired": row.fired,
        "expected": row.expected,
        "jitter_us": row.jitter(),
        "pooled_us": {
            "p50": percentile(&row.late_us, 50.0),
            "p90": percentile(&row.late_us, 90.0),
            "p95": percentile(&row.late_us, 95.0),
            "p99": percentile(&row.late_us, 99.0),
        },
        "p99_to_floor": comparison.to_floor(row),
        "turns": row.turns,
    })
}

#[cfg(test)]
mod tests {
    use super::super::contender::Contender;
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_has_its_figures() {
        let document: Value = serde_json::from_str(&render(&testing::comparison()).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2 * 2 * Contender::ALL.len());
        for row in rows {
            for percentile in ["p50", "p99", "max"] {
                assert!(row["jitter_us"][percentile].is_number(), "{row}");
            }
            assert!(row["pooled_us"]["p95"].is_number(), "{row}");
            assert!(["idle", "busy"].contains(&row["load"].as_str().unwrap()));
            assert_eq!(row["turns"].as_array().unwrap().len(), 2);
        }
        assert_eq!(document["promises"].as_array().unwrap().len(), 4);
    }
}
