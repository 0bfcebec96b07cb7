//! Choice of a device, and its options.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};
use rospin_engine::os::ThreadOptions;

/// Options of a [`CudaDevice`](crate::CudaDevice).
#[derive(Clone, Debug)]
pub struct CudaOptions {
    ordinal: usize,
    priorities: Vec<i32>,
    pub(crate) thread: ThreadOptions,
}

impl CudaOptions {
    /// Creates options: the first device, one lane, and an ordinary thread.
    #[must_use]
    pub fn new() -> Self {
        Self { ordinal: 0, priorities: vec![0], thread: ThreadOptions::new() }
    }

    /// Sets the number of the device among those that CUDA sees, from 0.
    #[must_use]
    pub const fn ordinal(mut self, ordinal: usize) -> Self {
        self.ordinal = ordinal;
        self
    }

    /// Sets the number of lanes, at least 1: streams of the same priority.
    #[must_use]
    pub fn lanes(self, lanes: usize) -> Self {
        self.priorities(vec![0; lanes.max(1)])
    }

    /// Sets the priorities of the lanes' streams, one for each; smaller numbers are more urgent, as CUDA has it. CUDA
    /// brings them into the device's range. An empty list is one lane of priority 0.
    #[must_use]
    pub fn priorities(mut self, priorities: impl Into<Vec<i32>>) -> Self {
        self.priorities = priorities.into();
        if self.priorities.is_empty() {
            self.priorities.push(0);
        }
        self
    }

    /// Sets the scheduling of the device's thread by the operating system. It should be above the threads whose
    /// requests are urgent, as an interrupt would be.
    #[must_use]
    pub fn thread(mut self, thread: ThreadOptions) -> Self {
        self.thread = thread;
        self
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

/// Opens the device, and creates a stream for each lane.
pub(crate) fn open(options: &CudaOptions) -> Result<(Arc<CudaContext>, Vec<Arc<CudaStream>>), OpenError> {
    // SAFETY: this looks for the library, and calls nothing of it but what the loader runs.
    if !unsafe { sys::is_culib_present() } {
        return Err(OpenError::NoDriver);
    }
    let ordinal = options.ordinal;
    let refused = |reason: cudarc::driver::DriverError| OpenError::Refused { ordinal, reason: reason.to_string() };
    let count = CudaContext::device_count().map_err(refused)?;
    if i32::try_from(ordinal).is_ok_and(|ordinal| ordinal >= count) {
        return Err(OpenError::NoDevice { ordinal, count });
    }
    let context = CudaContext::new(ordinal).map_err(refused)?;
    let streams = options.priorities.iter().map(|priority| context.new_stream_with_priority(*priority));
    let streams = streams.collect::<Result<_, _>>().map_err(refused)?;
    Ok((context, streams))
}
