//! The result as JSON: all figures, with units, machine and settings.

use serde_json::json;

use super::comparison::Comparison;
use super::verdict;

/// Returns the whole JSON file as text, ending in a line break.
pub(crate) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    let Comparison { machine, device, device_name, load, durations, shortfalls, overheads, pipelines, rows } =
        comparison;
    let document = json!({
        "experiment": "accelerator",
        "rospin_version": env!("CARGO_PKG_VERSION"),
        "machine": machine,
        "settings": {
            "device": device.name(),
            "device_name": device_name,
            "load": load,
            "durations_s": durations.iter().map(|(time, duration)| (time.name(), duration.as_secs_f64())).collect::<std::collections::BTreeMap<_, _>>(),
            "shortfalls": shortfalls,
            "overheads_us": overheads.map(|overhead| overhead.as_secs_f64() * 1e6),
            "pipelines": pipelines.iter().map(|one| json!({
                "name": one.name,
                "criticality": one.criticality,
                "period_us": one.period.as_secs_f64() * 1e6,
                "deadline_us": one.deadline.as_secs_f64() * 1e6,
                "segments": one.segments,
                "segment_us": one.segment().as_secs_f64() * 1e6,
                "longest_segment_us": one.lengths.longest.as_secs_f64() * 1e6,
                "longest_block_us": one.lengths.block.as_secs_f64() * 1e6,
            })).collect::<Vec<_>>(),
        },
        "units": { "_us": "microseconds, from the frame to its end", "utilisation": "share of the device's time" },
        "promises": verdict::promises(comparison).iter().map(|p| json!({ "text": p.text, "kept": p.kept })).collect::<Vec<_>>(),
        "rows": rows.iter().map(|row| json!({
            "contender": row.contender.name(),
            "critical_bound_us": comparison.critical_bound(row.time, row.contender).map(|bound| bound.as_secs_f64() * 1e6),
            "time": row.time,
            "pipelines": row.pipelines,
            "segments_per_second": row.segments_per_second,
            "utilisation": row.utilisation,
        })).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
