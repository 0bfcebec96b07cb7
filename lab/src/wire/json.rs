//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::comparison::{Comparison, Row};
use super::verdict;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let ends = comparison.measured_ends();
    let document = json!({
        "experiment": "wire",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "settings": {
            "rounds": comparison.rounds,
            "duration_s": comparison.duration.as_secs_f64(),
            "peer": comparison.peer,
        },
        "units": {
            "messages_per_s": "messages a second with a bounded number under way",
            "p50_us, p99_us, max_us": "microseconds at a fixed rate, one way in one process, there and back otherwise",
            "cpu_percent": format!("of one core at the fixed rate, {ends}, without the sending thread"),
            "wake_ups_per_message": format!("context switches of all threads but the sending one, {ends}"),
            "allocations_per_message": "of the Rust code of a process, sender included; null if nobody counted",
            "lost": "messages that were sent and did not come",
            "lost_percent": "of the messages that were published as fast as possible",
            "refused": "messages that their publisher refused with an error, for want of room",
            "flood, keep-all": "published as fast as possible, reliable, keep last 1000 or keep all: messages received a second, latency one way",
        },
        "verdict": verdict::sentences(comparison),
        "remarks": comparison.remarks,
        "rows": comparison.rows.iter().map(|row| one_row(comparison, row)).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn one_row(comparison: &Comparison, row: &Row) -> Value {
    json!({
        "place": row.cell.place,
        "size_bytes": row.cell.size,
        "middleware": row.cell.middleware,
        "contender": row.cell.contender,
        "period_us": row.cell.size.period(row.cell.place).as_micros() as u64,
        "figures": comparison.figures(row.cell),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_has_its_figures() {
        let document: Value = serde_json::from_str(&render(&testing::comparison()).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), testing::comparison().rows.len());
        assert_eq!(rows[0]["figures"]["messages_per_s"], 900_000.0);
        assert!(rows[3]["figures"].is_null() && rows[0]["machine"].is_null());
    }
}
