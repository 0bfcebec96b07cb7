//! Choice of a device, its options, and its context.

use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, sys};
use rospin_engine::os::ThreadOptions;

use crate::lane::Lane;
use crate::partition;

/// The way in which a lane's thread waits for the end of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Waiting {
    /// It sleeps until the driver wakes it, which takes tens of microseconds.
    #[default]
    Sleep,
    /// It asks the driver every few microseconds, and so takes a core while its lane is busy.
    Spin,
}

/// Options of a [`CudaDevice`](crate::CudaDevice).
#[derive(Clone, Debug)]
pub struct CudaOptions {
    ordinal: usize,
    urgent: Option<Waiting>,
    urgent_thread: Option<ThreadOptions>,
    urgent_multiprocessors: Option<u32>,
    priorities: Vec<i32>,
    waiting: Waiting,
    pub(crate) thread: ThreadOptions,
}

impl CudaOptions {
    /// Creates options: the first device, one lane, and ordinary threads that sleep while they wait.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ordinal: 0,
            urgent: None,
            urgent_thread: None,
            urgent_multiprocessors: None,
            priorities: vec![0],
            waiting: Waiting::Sleep,
            thread: ThreadOptions::new(),
        }
    }

    /// Sets the number of the device among those that CUDA sees, from 0.
    #[must_use]
    pub const fn ordinal(mut self, ordinal: usize) -> Self {
        self.ordinal = ordinal;
        self
    }

    /// Adds a lane before the others, with a stream of the highest priority that the device has: its kernels preempt
    /// those of other lanes between thread blocks; of copies CUDA knows no priorities. A segment of another lane that
    /// is preempted counts as busy meanwhile, against its bound and budget. [`AcceleratorOptions::urgent`] says which
    /// clients use it. Its thread waits in the way of `waiting`.
    ///
    /// [`AcceleratorOptions::urgent`]: rospin_accelerator::AcceleratorOptions::urgent
    #[must_use]
    pub const fn urgent_lane(mut self, waiting: Waiting) -> Self {
        self.urgent = Some(waiting);
        self
    }

    /// Sets the number of lanes beside the [urgent](Self::urgent_lane) one, at least 1: streams of the same priority.
    #[must_use]
    pub fn lanes(self, lanes: usize) -> Self {
        self.priorities(vec![0; lanes.max(1)])
    }

    /// Sets the priorities of the streams of lanes beside the [urgent](Self::urgent_lane) one, one for each; smaller
    /// numbers are more urgent, as CUDA has it. CUDA brings them into the device's range. An empty list is one lane of
    /// priority 0.
    #[must_use]
    pub fn priorities(mut self, priorities: impl Into<Vec<i32>>) -> Self {
        self.priorities = priorities.into();
        if self.priorities.is_empty() {
            self.priorities.push(0);
        }
        self
    }

    /// Sets the way in which the threads of lanes beside the [urgent](Self::urgent_lane) one wait for the ends of
    /// segments.
    #[must_use]
    pub const fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// Sets the scheduling of the device's threads by the operating system. It should be above the threads whose
    /// requests are urgent, as an interrupt would be.
    #[must_use]
    pub fn thread(mut self, thread: ThreadOptions) -> Self {
        self.thread = thread;
        self
    }

    /// Sets the scheduling of the urgent lane's thread, if it differs from that of the device's other threads. A thread
    /// that [spins](Waiting::Spin) should have a core of its own: the kernel likes to put it on that of the thread
    /// which woke it, and then neither goes on while the other one does.
    #[must_use]
    pub fn urgent_thread(mut self, thread: ThreadOptions) -> Self {
        self.urgent_thread = Some(thread);
        self
    }

    /// Gives the [urgent lane](Self::urgent_lane) that many multiprocessors of its own, which CUDA rounds up to what
    /// the device can split; other lanes have the rest. Kernels of the urgent lane then wait for no block of others,
    /// and take longer if they could use more multiprocessors; those of other lanes never have the urgent lane's, also
    /// while it is idle. CUDA calls it green contexts, and has streams on them from version 12.5 on.
    ///
    /// A [`Graph`](crate::Graph), which is captured outside of the lanes, may run on all multiprocessors, and so may other
    /// streams of the context and other processes. What CUDA creates for the lanes stays until the process ends.
    #[must_use]
    pub const fn urgent_multiprocessors(mut self, multiprocessors: u32) -> Self {
        self.urgent_multiprocessors = Some(multiprocessors);
        self
    }

    /// Returns the scheduling of the thread of the lane with that number.
    pub(crate) fn thread_of(&self, lane: usize) -> ThreadOptions {
        let urgent = self.urgent_thread.as_ref().filter(|_| lane == 0 && self.urgent.is_some());
        urgent.unwrap_or(&self.thread).clone()
    }
}

impl Default for CudaOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Errors of [`CudaDevice::open`](crate::CudaDevice::open).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The driver's library is not there.
    #[error("there is no CUDA driver: libcuda.so.1 cannot be loaded; install the driver of your NVIDIA GPU")]
    NoDriver,
    /// CUDA has no device of that number.
    #[error("there is no CUDA device {ordinal}; there are {count}, from 0 on")]
    NoDevice {
        /// The number.
        ordinal: usize,
        /// The number of devices that there are.
        count: i32,
    },
    /// The driver refused to open the device.
    #[error("the CUDA device {ordinal} cannot be opened: {reason}")]
    Refused {
        /// The number of the device.
        ordinal: usize,
        /// The driver's words.
        reason: String,
    },
    /// The device's multiprocessors cannot be split.
    #[error("the urgent lane cannot have {multiprocessors} multiprocessors of its own: {reason}")]
    Multiprocessors {
        /// The number that was asked for.
        multiprocessors: u32,
        /// The reason.
        reason: String,
    },
    /// The operating system starts no thread.
    #[error("the device's thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Opens the device, and creates its lanes.
pub(crate) fn open(options: &CudaOptions) -> Result<(Arc<CudaContext>, Vec<Lane>), OpenError> {
    if let Some(multiprocessors) = options.urgent_multiprocessors
        && options.urgent.is_none()
    {
        let reason = "there is no urgent lane; add one by `urgent_lane`".to_owned();
        return Err(OpenError::Multiprocessors { multiprocessors, reason });
    }
    // SAFETY: this looks for the library, and calls nothing of it but what the loader runs.
    if !unsafe { sys::is_culib_present() } {
        return Err(OpenError::NoDriver);
    }
    let ordinal = options.ordinal;
    let refused = |reason: DriverError| OpenError::Refused { ordinal, reason: reason.to_string() };
    let count = CudaContext::device_count().map_err(refused)?;
    if i32::try_from(ordinal).is_ok_and(|ordinal| ordinal >= count) {
        return Err(OpenError::NoDevice { ordinal, count });
    }
    let context = CudaContext::new(ordinal).map_err(refused)?;
    // CUDA brings priorities into the device's range.
    let mut priorities: Vec<i32> = options.urgent.map(|_| i32::MIN).into_iter().collect();
    priorities.extend(&options.priorities);
    let streams = match options.urgent_multiprocessors {
        Some(multiprocessors) => {
            let refused = |reason: String| OpenError::Multiprocessors { multiprocessors, reason };
            partition::split(&context, multiprocessors, &priorities).map_err(|reason| refused(reason.to_string()))?
        }
        None => {
            let mut streams = Vec::new();
            for priority in priorities {
                streams.push(context.new_stream_with_priority(priority).map_err(refused)?);
            }
            streams
        }
    };
    let mut lanes = Vec::new();
    for (number, stream) in streams.into_iter().enumerate() {
        let urgent = options.urgent.filter(|_| number == 0);
        lanes.push(Lane::new(stream, urgent.unwrap_or(options.waiting), urgent.is_some()));
    }
    Ok((context, lanes))
}

/// Makes the context that of the calling thread. cudarc keeps an error of anybody's drop for the next call of anybody;
/// it says nothing of this call, nor of a segment.
pub(crate) fn bind(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    let _ = context.check_err();
    context.bind_to_thread()
}
