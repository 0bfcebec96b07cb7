//! The work of a segment.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};

/// Function that puts the work of a segment on its stream.
type Put = Box<dyn FnOnce(&Arc<CudaStream>) -> Result<(), DriverError> + Send>;

/// The work of a segment: copies and kernels, which a function puts on the stream that it is given.
pub struct CudaWork(pub(crate) Put);

impl CudaWork {
    /// Creates work. The function is called when the segment's turn has come, on the thread that brings the news: that
    /// of the request, one that [waits](rospin_accelerator::Completion::busy_wait) without sleeping, or the device's
    /// own. It must put everything on that stream, and wait for none of it. Copies from and to memory that is not
    /// pinned wait for the device;
    /// [`alloc_pinned`](cudarc::driver::CudaContext::alloc_pinned) has memory that is.
    ///
    /// # Errors
    /// An error of the function fails the segment. What it has put on the stream before runs nevertheless, and delays
    /// the next segment.
    pub fn new(put: impl FnOnce(&Arc<CudaStream>) -> Result<(), DriverError> + Send + 'static) -> Self {
        Self(Box::new(put))
    }

    /// Adds what another function puts on the stream after it.
    #[must_use]
    pub fn and(self, put: impl FnOnce(&Arc<CudaStream>) -> Result<(), DriverError> + Send + 'static) -> Self {
        Self::new(|stream| {
            (self.0)(stream)?;
            put(stream)
        })
    }
}

impl fmt::Debug for CudaWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CudaWork")
    }
}
