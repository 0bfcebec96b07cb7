//! The ways in which pipelines reach the device.

use rospin_accelerator::Priority;

use super::workload::Pipeline;

/// A way in which pipelines reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// Each pipeline launches all kernels of a frame at once, on a stream of its own. No stream has a priority over another.
    EachForItself,
    /// All pipelines launch all kernels of a frame at once, on the same stream.
    OneStream,
    /// Each pipeline launches all kernels of a frame at once, on a stream with the priority of its criticality.
    Priorities,
    /// All pipelines send their frames as requests to rospin's accelerator.
    Rospin,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] = [Self::EachForItself, Self::OneStream, Self::Priorities, Self::Rospin];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EachForItself => "each for itself",
            Self::OneStream => "one stream",
            Self::Priorities => "streams with priorities",
            Self::Rospin => "rospin",
        }
    }

    /// Returns the number of lanes, which are the device's streams, that this number of pipelines needs.
    pub(crate) const fn lanes(self, pipelines: usize) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => pipelines,
            Self::OneStream | Self::Rospin => 1,
        }
    }

    /// Returns the lane on which the pipeline with this number launches.
    pub(crate) const fn lane(self, pipeline: usize) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => pipeline,
            Self::OneStream | Self::Rospin => 0,
        }
    }

    /// Returns the priority of the pipeline's lane.
    pub(crate) const fn priority(self, pipeline: &Pipeline) -> Priority {
        match self {
            Self::EachForItself | Self::OneStream => Priority(0),
            Self::Priorities | Self::Rospin => pipeline.criticality.priority(),
        }
    }
}
