//! The diagnosis as JSON.

use serde_json::{Map, Value, json};

use super::diagnosis::Diagnosis;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(diagnosis: &Diagnosis) -> Result<String, serde_json::Error> {
    let overheads = diagnosis.measured.overheads_us();
    let overheads: Map<String, Value> = overheads.into_iter().map(|(name, us)| (name.to_owned(), json!(us))).collect();
    let document = json!({
        "experiment": "doctor",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "installation": diagnosis.installation,
        "machine": diagnosis.machine,
        "settings": { "core": diagnosis.core, "duration_s": diagnosis.duration_s },
        "units": {
            "overheads_us": "microseconds, as the response-time analysis takes them: dispatch from one callback to the next and \
                receive for the publication of a message in the process (a middleware's receive thread takes longer), 99th \
                percentiles; wake_up from due time or notification to the callback of a parked executor, 999 of 1000",
            "measured_us": "percentiles and count of each measurement; floor_plain and floor_real_time are of a bare sleeping \
                thread, as ordinary thread and with SCHED_FIFO (null: not allowed); stolen_percent is the share of all cores' \
                time that the host took meanwhile",
            "verdict": "good, limits-you or broken",
        },
        "overheads_us": overheads,
        "measured_us": diagnosis.measured,
        "findings": diagnosis.findings,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn overheads_and_findings_are_there() {
        let document: Value = serde_json::from_str(&render(&testing::diagnosis()).unwrap()).unwrap();
        assert_eq!(document["overheads_us"], json!({ "dispatch": 0.2, "wake_up": 18.0, "receive": 0.4 }));
        assert_eq!(document["findings"][1]["verdict"], "limits-you");
        assert_eq!(document["findings"][0]["fix"], Value::Null);
        assert_eq!(document["measured_us"]["floor_real_time"]["p99"], 8.0);
    }
}
