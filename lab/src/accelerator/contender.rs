//! The ways in which pipelines reach the device.

use std::time::Duration;

use rospin_accelerator::{AcceleratorOptions, Priority};

use super::device::Device;
use super::workload::{Criticality, Pipeline};

/// A way in which pipelines reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contender {
    /// Each pipeline launches all kernels of a frame at once, on a stream of its own. No stream has a priority over
    /// another.
    EachForItself,
    /// All pipelines launch all kernels of a frame at once, on the same stream.
    OneStream,
    /// Each pipeline launches all kernels of a frame at once, on a stream with the priority of its criticality.
    Priorities,
    /// A server launches the kernels on a stream for each criticality, with its priority, first come first served
    /// within one: the buckets of PAAM (Enright et al. 2024). The server takes no time here.
    Buckets,
    /// All pipelines send their frames as requests to rospin's accelerator, whose device has one lane.
    Rospin,
    /// The same on a device with a lane that is urgent, for the critical pipeline, and two others, which are given the
    /// next segment shortly before the end of the running one. On a GPU, neither the device's threads nor the critical
    /// pipeline's sleep while they wait.
    RospinUrgent,
}

/// The time before the end of a segment at which the next one is picked. Reporting an end and launching the next
/// segment takes less.
const AHEAD: Duration = Duration::from_micros(250);

impl Contender {
    pub(crate) const ALL: [Self; 6] =
        [Self::EachForItself, Self::OneStream, Self::Priorities, Self::Buckets, Self::Rospin, Self::RospinUrgent];

    /// Returns the contenders on a device. wgpu has one queue for all, and no priorities.
    pub(crate) const fn on(device: Device) -> &'static [Self] {
        match device {
            Device::Model | Device::Cuda => &Self::ALL,
            Device::Wgpu => &[Self::OneStream, Self::Rospin],
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EachForItself => "each for itself",
            Self::OneStream => "one stream",
            Self::Priorities => "streams with priorities",
            Self::Buckets => "PAAM's buckets",
            Self::Rospin => "rospin, one lane",
            Self::RospinUrgent => "rospin, urgent lane",
        }
    }

    /// Returns true if the pipeline's thread waits for the ends of its frames without sleeping, where it has a core of
    /// its own. Threads of contenders that launch directly on a GPU do so in any case.
    pub(crate) fn spins(self, pipeline: &Pipeline) -> bool {
        self == Self::RospinUrgent && pipeline.criticality == Criticality::High
    }

    /// Returns the name of the contender's recording; `None` for contenders that launch directly.
    pub(crate) const fn recording(self) -> Option<&'static str> {
        match self {
            Self::Rospin => Some("one-lane.mcap"),
            Self::RospinUrgent => Some("urgent-lane.mcap"),
            _ => None,
        }
    }

    /// Returns the number of lanes, which are the device's streams, that this number of pipelines needs.
    pub(crate) const fn lanes(self, pipelines: usize) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => pipelines,
            Self::Buckets => Criticality::ALL.len(),
            Self::OneStream | Self::Rospin => 1,
            Self::RospinUrgent => 3,
        }
    }

    /// Returns the lane on which a pipeline launches; `number` is its index.
    pub(crate) const fn lane(self, number: usize, pipeline: &Pipeline) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => number,
            Self::Buckets => pipeline.criticality as usize,
            // The accelerator chooses the lane.
            Self::OneStream | Self::Rospin | Self::RospinUrgent => 0,
        }
    }

    /// Returns the options of the accelerator; `None` for contenders that launch directly.
    pub(crate) const fn accelerator(self) -> Option<AcceleratorOptions> {
        match self {
            Self::Rospin => Some(AcceleratorOptions::new()),
            Self::RospinUrgent => Some(AcceleratorOptions::new().urgent(Criticality::High.priority()).ahead(AHEAD)),
            _ => None,
        }
    }

    /// Returns the priority of the pipeline's lane.
    pub(crate) const fn priority(self, pipeline: &Pipeline) -> Priority {
        match self {
            Self::EachForItself | Self::OneStream => Priority(0),
            Self::Priorities | Self::Buckets | Self::Rospin | Self::RospinUrgent => pipeline.criticality.priority(),
        }
    }
}
