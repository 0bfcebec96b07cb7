//! Choice of a device, its options, and its context.

use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, sys};
use rospin_engine::os::ThreadOptions;

use crate::lane::Lane;

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
    /// The operating system starts no thread.
    #[error("the device's thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// Opens the device, and creates its lanes.
pub(crate) fn open(options: &CudaOptions) -> Result<(Arc<CudaContext>, Vec<Lane>), OpenError> {
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
    let mut lanes = Vec::new();
    if let Some(waiting) = options.urgent {
        // CUDA brings the priority into the device's range.
        let stream = context.new_stream_with_priority(i32::MIN).map_err(refused)?;
        lanes.push(Lane::new(stream, waiting, true));
    }
    for priority in &options.priorities {
        let stream = context.new_stream_with_priority(*priority).map_err(refused)?;
        lanes.push(Lane::new(stream, options.waiting, false));
    }
    Ok((context, lanes))
}

/// Makes the context that of the calling thread. cudarc keeps an error of anybody's drop for the next call of anybody;
/// it says nothing of this call, nor of a segment.
pub(crate) fn bind(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    let _ = context.check_err();
    context.bind_to_thread()
}
