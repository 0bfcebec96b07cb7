//! Graphs: many small kernels that are put on a stream in one call.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaGraph, CudaStream, DriverError, result, sys};
use rospin_engine::Mutex;

use crate::device::CudaDevice;
use crate::work::CudaWork;

/// Kernels and copies that were captured once, and are put on a lane's stream in one call: for segments of many small
/// kernels, whose launches take longer than they do themselves. Cheap to clone.
///
/// Runs of one graph come one after the other, also on different lanes.
#[derive(Clone)]
pub struct Graph(Arc<Captured>);

/// A graph with the lock that its calls need: the driver must not be called for it by two threads at once.
struct Captured(Mutex<Owned>);

struct Owned(CudaGraph);

// SAFETY: a graph may be used by any thread, but not by two at once, which the lock around it sees to.
unsafe impl Send for Owned {}

/// Errors of [`Graph::capture`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The driver captured nothing, and gave no graph.
    #[error("the driver gave no graph: nothing was put on the stream that is captured")]
    Empty,
    /// The driver refuses to capture what was put on the stream.
    #[error(
        "the driver cannot capture the graph: {0}; captured work may not wait for the device, nor for events from \
         outside, which cudarc records for memory that several streams use unless its context's event tracking is \
         disabled"
    )]
    Refused(#[from] DriverError),
}

impl Graph {
    /// Captures what the function puts on a stream, which runs only when the graph's [work](Self::work) does. Memory
    /// that it names must live as long as the graph.
    ///
    /// # Errors
    /// If the function fails, or the driver cannot capture what it puts on the stream. A graph of nothing is one that
    /// does nothing.
    pub fn capture(
        device: &CudaDevice,
        put: impl FnOnce(&Arc<CudaStream>) -> Result<(), DriverError>,
    ) -> Result<Self, GraphError> {
        let stream = device.context().new_stream()?;
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let put = put(&stream);
        let captured = stream.end_capture(sys::CUgraphInstantiate_flags(0));
        put?;
        let graph = captured?.ok_or(GraphError::Empty)?;
        graph.upload()?;
        stream.synchronize()?;
        Ok(Self(Arc::new(Captured(Mutex::new(Owned(graph))))))
    }

    /// Returns the work of a segment that runs the graph.
    #[must_use]
    pub fn work(&self) -> CudaWork {
        let graph = self.clone();
        CudaWork::new(move |stream| {
            let owned = graph.0.0.lock();
            stream.context().bind_to_thread()?;
            // SAFETY: the graph lives as long as its owner, whose lock is held, and the stream was lent by the lane.
            unsafe { result::graph::launch(owned.0.cu_graph_exec(), stream.cu_stream()) }
        })
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Graph")
    }
}
