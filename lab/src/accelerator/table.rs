//! The table in the terminal, and the same cells for the report.

use rospin_report::text_table::{self, Side};

use super::comparison::Comparison;
use super::device::Device;
use super::workload::Criticality;

pub(crate) const HEADER: [(&str, Side); 12] = [
    ("contender", Side::Left),
    ("time", Side::Left),
    ("critical p50 ms", Side::Right),
    ("p99", Side::Right),
    ("max", Side::Right),
    ("bound", Side::Right),
    ("missed", Side::Right),
    ("medium missed", Side::Right),
    ("low missed", Side::Right),
    ("low p99", Side::Right),
    ("segments/s", Side::Right),
    ("device used", Side::Right),
];

/// Returns the whole table, with explanations below it.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    let critical = &comparison.pipelines[0];
    let others = &comparison.pipelines[1];
    format!(
        "{table}Critical: a frame every {:?}, {:?} on the device in {} segments, due after {:?}. Others: segments of {:?}, \
         blocks of {:?} at most.\n\
         The pipelines ask for {:.0} % of the device: {}.\n\
         The bounds are {}; in real time with {:?} beside each segment, or {:?} if nobody sleeps, {}.\n",
        critical.period,
        critical.work(),
        critical.segments,
        critical.deadline,
        others.segment(),
        others.lengths.block,
        comparison.load * 100.0,
        comparison.device_name,
        match comparison.device {
            Device::Model => "proven",
            Device::Wgpu | Device::Cuda => "those of the longest segments and blocks that were measured",
        },
        comparison.overheads[0],
        comparison.overheads[1],
        match comparison.device {
            Device::Model => "for wake-ups",
            Device::Wgpu | Device::Cuda => "the longest that was measured",
        },
    )
}

/// Returns the cells of the columns of [`HEADER`]: a line for each contender and kind of time.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let line = |row: &super::figures::Row| {
        let [critical, medium, low] = Criticality::ALL.map(|criticality| row.of(criticality));
        let ms = |us: f64| format!("{:.2}", us / 1e3);
        let bound = comparison.critical_bound(row.time, row.contender);
        vec![
            row.contender.name().to_owned(),
            row.time.name().to_owned(),
            ms(critical.p50_us),
            ms(critical.p99_us),
            ms(critical.max_us),
            bound.map_or_else(|| "-".to_owned(), |bound| ms(bound.as_secs_f64() * 1e6)),
            format!("{}/{}", critical.misses, critical.frames),
            format!("{}/{}", medium.misses, medium.frames),
            format!("{}/{}", low.misses, low.frames),
            ms(low.p99_us),
            format!("{:.1}", row.segments_per_second),
            format!("{:.1} %", row.utilisation * 100.0),
        ]
    };
    comparison.rows.iter().map(line).collect()
}
