//! The table in the terminal, and the same cells for the report.

use rospin_report::text_table::{self, Side};

use super::comparison::Comparison;
use super::device::Device;
use super::workload::{self, Criticality};

pub(crate) const HEADER: [(&str, Side); 10] = [
    ("contender", Side::Left),
    ("time", Side::Left),
    ("critical p50 ms", Side::Right),
    ("p99", Side::Right),
    ("max", Side::Right),
    ("missed", Side::Right),
    ("medium missed", Side::Right),
    ("low missed", Side::Right),
    ("segments/s", Side::Right),
    ("device used", Side::Right),
];

/// Returns the whole table, with explanations below it.
pub(crate) fn render(comparison: &Comparison) -> String {
    let table = text_table::render(&HEADER, &cells(comparison));
    let critical = &comparison.pipelines[0];
    let bound = workload::critical_bound(&comparison.pipelines);
    format!(
        "{table}Critical: a frame every {:?}, {:?} on the device in {} segments, due after {:?}; {} behind rospin: {}.\n\
         Others: segments of {:?}. The pipelines ask for {:.0} % of the device: {}.\n",
        critical.period,
        critical.work(),
        critical.segments,
        critical.deadline,
        match comparison.device {
            Device::Model => "proven bound",
            Device::Wgpu => "bound by the longest segments that were measured",
        },
        bound.map_or_else(|| "none".to_owned(), |bound| format!("{bound:?}")),
        comparison.pipelines[1].segment(),
        comparison.load * 100.0,
        comparison.device_name,
    )
}

/// Returns the cells of the columns of [`HEADER`]: a line for each contender and kind of time.
pub(crate) fn cells(comparison: &Comparison) -> Vec<Vec<String>> {
    let line = |row: &super::figures::Row| {
        let [critical, medium, low] = Criticality::ALL.map(|criticality| row.of(criticality));
        let ms = |us: f64| format!("{:.2}", us / 1e3);
        vec![
            row.contender.name().to_owned(),
            row.time.name().to_owned(),
            ms(critical.p50_us),
            ms(critical.p99_us),
            ms(critical.max_us),
            format!("{}/{}", critical.misses, critical.frames),
            format!("{}/{}", medium.misses, medium.frames),
            format!("{}/{}", low.misses, low.frames),
            format!("{:.1}", row.segments_per_second),
            format!("{:.1} %", row.utilisation * 100.0),
        ]
    };
    comparison.rows.iter().map(line).collect()
}
