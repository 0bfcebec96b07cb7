//! Made-up rows for the tests of table, verdict, JSON and report.

use super::super::bounds::Bounds;
use super::super::runner::Variant;
use super::rows::{Figures, Row};

/// Returns figures in which the hot path always takes the same time, 7 ms of which are the wait for the lidar.
pub(super) fn figures(from_due_mean_ms: f64, from_due_max_ms: f64) -> Figures {
    Figures {
        kpi_mean_ms: Some(from_due_mean_ms - 7.0),
        kpi_max_ms: Some(from_due_mean_ms - 7.0),
        from_due_mean_ms: Some(from_due_mean_ms),
        from_due_p99_ms: Some(from_due_max_ms),
        from_due_max_ms: Some(from_due_max_ms),
        drops_mean: Some(0.0),
        missed_front_lidar: 0,
        front_lidar: 100,
        planner_min_ms: Some(99.0),
        planner_max_ms: Some(101.0),
        planner_sd_ms: Some(0.5),
    }
}

/// Returns a row with that longest hot path from the due times and that bound.
pub(super) fn row(executor: Variant, cores: u16, max_ms: f64, bound_ms: Option<f64>) -> Row {
    Row {
        cores,
        executor,
        threads: cores,
        simulated: figures(max_ms, max_ms),
        any_phase_max_ms: Some(max_ms + 20.0),
        planner_response_max_ms: 14.0,
        bounds: Bounds {
            hot_path_ms: bound_ms,
            planner_ms: Some(21.1),
            callbacks: 31,
            unbounded: if bound_ms.is_some() { 0 } else { 30 },
            refused: None,
        },
        measured: Some(figures(max_ms + 0.8, max_ms + 4.8)),
        remarks: Vec::new(),
    }
}

/// Returns rows on two and on four cores, of which only the first three were measured.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![
        row(Variant::WaitSetMulti, 2, 50.6, None),
        row(Variant::PriorityPartitioned, 2, 35.3, Some(83.3)),
        row(Variant::PriorityShared, 2, 35.2, None),
        row(Variant::PriorityPartitioned, 4, 35.3, Some(83.3)),
        row(Variant::PriorityReentrant, 4, 28.2, Some(118.0)),
    ];
    for row in &mut rows[3..] {
        row.measured = None;
    }
    rows
}
