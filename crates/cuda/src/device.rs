//! The back end: segments are put on streams by the thread that launches them.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Weak};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result, sys};
use rospin_accelerator::{Backend, DeviceThread, Instant, Launch, Listener, Notices, SegmentFailure, Signal};
use rospin_engine::Mutex;

use crate::open::{CudaOptions, OpenError, open};
use crate::thread::run;
use crate::work::CudaWork;

/// A GPU as a device of an [`Accelerator`](rospin_accelerator::Accelerator). Its clock starts at zero when it is
/// opened.
///
/// Dropping it waits until the segments on the device have ended.
pub struct CudaDevice {
    /// Before `inner`, so that the thread has ended when the device is closed.
    _thread: DeviceThread,
    inner: Arc<Inner>,
}

/// State that the device shares with its thread.
pub(crate) struct Inner {
    pub(crate) context: Arc<CudaContext>,
    streams: Vec<Arc<CudaStream>>,
    name: String,
    epoch: std::time::Instant,
    pub(crate) state: Mutex<State>,
    /// Wakes the device's thread. The driver has a share of it for each segment on the device.
    pub(crate) signal: Arc<Signal>,
}

/// Segments on the device, and news for its thread.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) running: Vec<Running>,
    pub(crate) notices: Notices,
}

/// A segment on a stream.
pub(crate) struct Running {
    pub(crate) lane: usize,
    pub(crate) ticket: u64,
    pub(crate) start: CudaEvent,
    pub(crate) end: CudaEvent,
}

impl CudaDevice {
    /// Loads the driver, opens a device, and starts its thread.
    ///
    /// # Errors
    /// If there is no driver or no such device, or the driver refuses.
    pub fn open(options: CudaOptions) -> Result<Self, OpenError> {
        let (context, streams) = open(&options)?;
        let inner = Arc::new(Inner {
            name: context.name().unwrap_or_else(|_| "a CUDA device".to_owned()),
            context,
            streams,
            epoch: std::time::Instant::now(),
            state: Mutex::new(State::default()),
            signal: Arc::new(Signal::new()),
        });
        let for_thread = Arc::clone(&inner);
        let thread = DeviceThread::start(options.thread, move || run(&for_thread))?;
        Ok(Self { _thread: thread, inner })
    }

    /// Returns cudarc's context, which loads kernels and allocates memory.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.inner.context
    }

    /// Returns the name of the GPU.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    /// Takes note that the device is lost, for its thread.
    pub(crate) fn lose(&self, reason: &str) {
        self.state.lock().notices.lose(reason);
    }

    /// Puts the work on its stream, between two events, and has the driver wake the device's thread at its end.
    fn put(&self, lane: usize, work: CudaWork) -> Result<(CudaEvent, CudaEvent), DriverError> {
        let stream = &self.streams[lane];
        // Events with times.
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = stream.record_event(timed)?;
        let put = (work.0)(stream);
        let end = stream.record_event(timed)?;
        put?;
        let signal = Arc::into_raw(Arc::clone(&self.signal)).cast_mut().cast::<c_void>();
        // SAFETY: the stream lives as long as `self`, and the device's drop waits for what is on it. `woken` gets the
        // share of the signal that was just made, once.
        let asked = unsafe { result::stream::launch_host_function(stream.cu_stream(), woken, signal) };
        if asked.is_err() {
            // SAFETY: the driver did not take the share, which was made above.
            drop(unsafe { Arc::from_raw(signal.cast_const().cast::<Signal>()) });
        }
        asked.map(|()| (start, end))
    }
}

/// Wakes the device's thread. The driver calls it on a thread of its own, in which nothing of CUDA may be called.
///
/// # Safety
/// `signal` must be a share of an `Arc<Signal>` that was turned into a pointer, and the callee takes it.
unsafe extern "C" fn woken(signal: *mut c_void) {
    // SAFETY: as the caller promises.
    let signal = unsafe { Arc::from_raw(signal.cast_const().cast::<Signal>()) };
    signal.wake();
}

impl Backend for CudaDevice {
    type Work = CudaWork;

    fn lanes(&self) -> usize {
        self.inner.streams.len()
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        self.inner.state.lock().notices.connect(listener);
    }

    fn submit(&self, launch: Launch<CudaWork>) -> Result<(), SegmentFailure> {
        let Launch { lane, ticket, work, .. } = launch;
        if let Some(refused) = self.inner.state.lock().notices.refusal() {
            return refused;
        }
        // Without the lock, because the function is the user's: it may take long, and send requests.
        let (start, end) =
            self.inner.put(lane, work).map_err(|error| SegmentFailure(format!("the segment cannot start: {error}")))?;
        {
            let mut state = self.inner.state.lock();
            // The device may have been lost meanwhile. Then its thread has forgotten what runs, and waits for nothing
            // more.
            if let Some(refused) = state.notices.refusal() {
                return refused;
            }
            state.running.push(Running { lane, ticket, start, end });
        }
        // The driver may have told of the end before the thread knew of the segment.
        self.inner.signal.wake();
        Ok(())
    }

    fn set_alarm(&self, at: Instant) {
        self.inner.state.lock().notices.set_alarm(at);
        self.inner.signal.wake();
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        self.inner.state.lock().notices.stop();
        self.inner.signal.wake();
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice").field("name", &self.name()).finish_non_exhaustive()
    }
}
