//! The result as JSON: all figures, with units, machine and settings.

use serde_json::{Value, json};

use super::comparison::Comparison;
use super::measured::Row;
use super::options::NAME;
use super::{deployment, verdict};
use rospin_measure::stats::percentile;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let document = json!({
        "experiment": NAME,
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "settings": {
            "duration_s": comparison.duration.as_secs_f64(),
            "planner_steps": super::planner::STEPS,
            "deployment": deployment::AS_IN_TABLE_3,
            "deployment_wait_set_single": deployment::ONE_THREAD,
        },
        "units": {
            "chain": "microseconds from the due time of the vehicle's timer to the end of the visualiser's callback",
            "callbacks": "microseconds that an activation ran",
            "bounds": "microseconds from release to end; a bound is null if the analysis has none",
            "offset_m": "metres from the lane's middle, after 3 s",
        },
        "verdict": verdict::sentences(comparison),
        "rows": comparison.rows.iter().map(one_row).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn one_row(row: &Row) -> Value {
    let figures = |us: &[f64]| {
        let at = |percent| percentile(us, percent);
        json!({ "count": us.len(), "p50_us": at(50.0), "p99_us": at(99.0), "max_us": at(100.0) })
    };
    let callbacks: serde_json::Map<String, Value> =
        row.durations.iter().map(|of| (of.name.clone(), figures(&of.us))).collect();
    let (bounds, no_bounds) = match &row.bounds {
        Ok(bounds) => (Some(bounds), None),
        Err(reason) => (None, Some(reason)),
    };
    json!({
        "middleware": row.drive.middleware,
        "executors": row.drive.executors,
        "planner": row.drive.planner,
        "sent": row.sent,
        "chain": figures(&row.chain_us),
        "percent_below_800_us": row.percent_as_in_paper(),
        "callbacks": callbacks,
        "bounds": bounds,
        "no_bounds": no_bounds,
        "offset_m": row.worst_offset(),
        "plans": row.answer.plans[0],
        "plans_failed": row.answer.plans[1],
        "markers": row.answer.markers,
        "unsent": row.answer.unsent,
        "lost": row.lost,
        "events_dropped": row.dropped,
        "shortfalls": row.answer.shortfalls,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_row_has_its_figures() {
        let document: Value = serde_json::from_str(&render(&testing::comparison()).unwrap()).unwrap();
        assert_eq!(document["rows"][1]["chain"]["p99_us"], 640.0);
        assert_eq!(document["rows"][0]["bounds"][0]["bound_us"], 120.0);
        assert_eq!(document["rows"][2]["executors"], "wait-set-single");
    }
}
