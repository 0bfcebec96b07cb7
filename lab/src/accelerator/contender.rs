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
    /// The same with one other lane, so that segments of others do not overlap.
    RospinUrgentAndOne,
    /// Each pipeline is a process, which launches all kernels of a frame at once. The driver gives the device to one
    /// process after the other. Only on CUDA.
    Processes,
    /// The same with NVIDIA's Multi-Process Service, by which kernels of several processes run side by side, and those
    /// of the critical one first. Only on CUDA.
    Mps,
    /// As in the buckets, but the critical pipeline has two fifths of the multiprocessors of its own, and the others
    /// the rest: green contexts. Only CUDA has them.
    Partition,
}

/// The time before the end of a segment at which the next one is picked. Reporting an end and launching the next
/// segment takes less.
const AHEAD: Duration = Duration::from_micros(250);

impl Contender {
    /// Returns the contenders on a device. wgpu has one queue for all, and no priorities.
    pub(crate) const fn on(device: Device) -> &'static [Self] {
        match device {
            Device::Model => &[
                Self::EachForItself,
                Self::OneStream,
                Self::Priorities,
                Self::Buckets,
                Self::Rospin,
                Self::RospinUrgent,
                Self::RospinUrgentAndOne,
            ],
            Device::Cuda => &[
                Self::EachForItself,
                Self::OneStream,
                Self::Priorities,
                Self::Buckets,
                Self::Partition,
                Self::Processes,
                Self::Mps,
                Self::Rospin,
                Self::RospinUrgent,
                Self::RospinUrgentAndOne,
            ],
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
            Self::RospinUrgent => "rospin, urgent lane and two",
            Self::RospinUrgentAndOne => "rospin, urgent lane and one",
            Self::Partition => "partitions",
            Self::Processes => "a process each",
            Self::Mps => "a process each, by MPS",
        }
    }

    /// Returns true if the pipeline's thread waits for the ends of its frames without sleeping, where it has a core of
    /// its own. Threads of contenders that launch directly on a GPU do so in any case.
    pub(crate) fn spins(self, pipeline: &Pipeline) -> bool {
        self.has_urgent_lane() && pipeline.criticality == Criticality::High
    }

    /// Returns true for the contenders of rospin with an urgent lane.
    pub(crate) const fn has_urgent_lane(self) -> bool {
        matches!(self, Self::RospinUrgent | Self::RospinUrgentAndOne)
    }

    /// Returns the name of the contender's recording; `None` for contenders that launch directly.
    pub(crate) const fn recording(self) -> Option<&'static str> {
        match self {
            Self::Rospin => Some("one-lane.mcap"),
            Self::RospinUrgent => Some("urgent-lane-and-two.mcap"),
            Self::RospinUrgentAndOne => Some("urgent-lane-and-one.mcap"),
            _ => None,
        }
    }

    /// Returns the number of lanes, which are the device's streams, that this number of pipelines needs.
    pub(crate) const fn lanes(self, pipelines: usize) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => pipelines,
            Self::Buckets | Self::Partition => Criticality::ALL.len(),
            Self::OneStream | Self::Rospin | Self::Processes | Self::Mps => 1,
            Self::RospinUrgent => 3,
            Self::RospinUrgentAndOne => 2,
        }
    }

    /// Returns the lane on which a pipeline launches; `number` is its index.
    pub(crate) const fn lane(self, number: usize, pipeline: &Pipeline) -> usize {
        match self {
            Self::EachForItself | Self::Priorities => number,
            Self::Buckets | Self::Partition => pipeline.criticality as usize,
            // There is one, or the accelerator chooses it.
            _ => 0,
        }
    }

    /// Returns the options of the accelerator; `None` for contenders that launch directly.
    pub(crate) const fn accelerator(self) -> Option<AcceleratorOptions> {
        match self {
            Self::Rospin => Some(AcceleratorOptions::new()),
            Self::RospinUrgent | Self::RospinUrgentAndOne => {
                Some(AcceleratorOptions::new().urgent(Criticality::High.priority()).ahead(AHEAD))
            }
            _ => None,
        }
    }

    /// Returns the priority of the pipeline's lane.
    pub(crate) const fn priority(self, pipeline: &Pipeline) -> Priority {
        match self {
            Self::EachForItself | Self::OneStream => Priority(0),
            _ => pipeline.criticality.priority(),
        }
    }
}
