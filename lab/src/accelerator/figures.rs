//! Results of the contenders: a row for each, with figures for each pipeline.

use std::time::Duration;

use rospin_measure::stats::percentile;

use super::comparison::Time;
use super::contender::Contender;
use super::workload::{Criticality, Pipeline};

/// Results of a pipeline, or of all of a criticality. Latencies are in microseconds, from a frame's due time to its
/// end; they are zero if no frame ended.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Figures {
    pub(crate) name: String,
    pub(crate) criticality: Criticality,
    /// Number of frames.
    pub(crate) frames: usize,
    /// Number of those that ended after their deadline, or failed.
    pub(crate) misses: usize,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    #[serde(skip)]
    pub(crate) latencies_us: Vec<f64>,
}

impl Figures {
    /// Returns the results of a pipeline whose frames had these latencies.
    pub(crate) fn new(pipeline: &Pipeline, latencies_us: Vec<f64>) -> Self {
        let deadline_us = pipeline.deadline.as_secs_f64() * 1e6;
        let misses = latencies_us.iter().filter(|latency| **latency > deadline_us).count();
        Self::of(pipeline.name.clone(), pipeline.criticality, misses, latencies_us)
    }

    fn of(name: String, criticality: Criticality, misses: usize, latencies_us: Vec<f64>) -> Self {
        let at = |percent| percentile(&latencies_us, percent).unwrap_or(0.0);
        let (p50_us, p99_us, max_us) = (at(50.0), at(99.0), at(100.0));
        Self { name, criticality, frames: latencies_us.len(), misses, p50_us, p99_us, max_us, latencies_us }
    }
}

/// Results of a contender.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) time: Time,
    pub(crate) contender: Contender,
    pub(crate) pipelines: Vec<Figures>,
    /// Number of segments that ended in a second, on average.
    pub(crate) segments_per_second: f64,
    /// Share of the time for which the pipelines used the device.
    pub(crate) utilisation: f64,
}

impl Row {
    /// Returns the results of a run that took `elapsed`, with the `figures` of each of the pipelines, in their order.
    pub(crate) fn new(
        time: Time,
        contender: Contender,
        pipelines: &[Pipeline],
        figures: Vec<Figures>,
        elapsed: Duration,
    ) -> Self {
        let done = || pipelines.iter().zip(&figures);
        let segments: usize = done().map(|(pipeline, figures)| pipeline.segments * figures.frames).sum();
        let busy: f64 = done().map(|(pipeline, figures)| pipeline.work().as_secs_f64() * figures.frames as f64).sum();
        let seconds = elapsed.as_secs_f64();
        let (segments_per_second, utilisation) = (segments as f64 / seconds, busy / seconds);
        Self { time, contender, pipelines: figures, segments_per_second, utilisation }
    }

    /// Returns the figures of all pipelines of a criticality together.
    pub(crate) fn of(&self, criticality: Criticality) -> Figures {
        let members = || self.pipelines.iter().filter(|figures| figures.criticality == criticality);
        let latencies = members().flat_map(|figures| figures.latencies_us.iter().copied()).collect();
        let misses = members().map(|figures| figures.misses).sum();
        Figures::of(criticality.name().to_owned(), criticality, misses, latencies)
    }
}
