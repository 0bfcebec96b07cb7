//! The back end: segments are put on streams by the thread that launches them.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use cudarc::driver::{CudaContext, DriverError};
use rospin_accelerator::{Backend, DeviceThread, Instant, Launch, Listener, Notices, SegmentFailure, Signal};
use rospin_engine::{Mutex, Recorder};

use crate::lane::{self, Lane};
use crate::open::{CudaOptions, OpenError, open};
use crate::thread;
use crate::work::CudaWork;

/// A GPU as a device of an [`Accelerator`](rospin_accelerator::Accelerator). Its clock is the steady clock.
///
/// Dropping it waits until the segments on the device have ended.
pub struct CudaDevice {
    /// Before `inner`, so that the threads have ended when the device is closed.
    threads: Vec<DeviceThread>,
    inner: Arc<Inner>,
}

/// State that the device shares with its threads: one for each lane, and one for alarms.
pub(crate) struct Inner {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) lanes: Vec<Lane>,
    name: String,
    /// News of the device beside ends.
    pub(crate) notices: Mutex<Notices>,
    /// The time of the alarm in nanoseconds, for threads that spin; `u64::MAX` if none is set. It may be out of date.
    pub(crate) alarm_ns: AtomicU64,
    /// The number of lanes' threads that spin, and tell of alarms.
    pub(crate) spinning: AtomicUsize,
    /// Wakes the thread for alarms.
    pub(crate) signal: Signal,
}

impl CudaDevice {
    /// Loads the driver, opens a device, and starts a thread for each lane, and one for alarms.
    ///
    /// # Errors
    /// If there is no driver or no such device, or the driver refuses.
    pub fn open(options: CudaOptions) -> Result<Self, OpenError> {
        let (context, lanes) = open(&options)?;
        let inner = Arc::new(Inner {
            name: context.name().unwrap_or_else(|_| "a CUDA device".to_owned()),
            context,
            lanes,
            notices: Mutex::new(Notices::default()),
            alarm_ns: AtomicU64::new(u64::MAX),
            spinning: AtomicUsize::new(0),
            signal: Signal::new(),
        });
        // From here on, an error stops the threads that run, as a drop does.
        let mut device = Self { threads: Vec::new(), inner: Arc::clone(&inner) };
        for number in 0..inner.lanes.len() {
            let for_thread = Arc::clone(&inner);
            let run = move || lane::report_ends(&for_thread, number);
            device.threads.push(DeviceThread::start(options.thread_of(number), run)?);
        }
        let for_thread = Arc::clone(&inner);
        device.threads.push(DeviceThread::start(options.thread, move || thread::tell_notices(&for_thread))?);
        Ok(device)
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
        Instant::from_nanos(Recorder::steady_ns())
    }

    /// Takes note that the device is lost, and has the thread for alarms tell it.
    pub(crate) fn lose(&self, error: DriverError) {
        self.notices.lock().lose(&error.to_string());
        self.signal.wake();
    }

    pub(crate) fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.notices.lock().listener().as_ref().and_then(Weak::upgrade)
    }
}

impl Backend for CudaDevice {
    type Work = CudaWork;

    fn lanes(&self) -> usize {
        self.inner.lanes.len()
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        self.inner.notices.lock().connect(listener);
    }

    fn submit(&self, launch: Launch<CudaWork>) -> Result<(), SegmentFailure> {
        let Launch { lane, ticket, work, .. } = launch;
        if let Some(refused) = self.inner.notices.lock().refusal() {
            return refused;
        }
        // Without a lock, because the function is the user's: it may take long, and send requests.
        let put = self.inner.lanes[lane].put(&self.inner.context, ticket, work);
        put.map_err(|error| SegmentFailure(format!("the segment cannot start: {error}")))
    }

    fn poll(&self, lane: usize) {
        self.inner.lanes[lane].poll(&self.inner, lane);
    }

    fn set_alarm(&self, at: Instant) {
        {
            let mut notices = self.inner.notices.lock();
            notices.set_alarm(at);
            let at = notices.alarm().unwrap_or(at);
            // Before the look at the threads that spin: the last one of them looks at the alarm after it has stopped.
            self.inner.alarm_ns.store(at.as_nanos(), Ordering::SeqCst);
        }
        if self.inner.spinning.load(Ordering::SeqCst) == 0 {
            self.inner.signal.wake();
        }
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        self.inner.notices.lock().stop();
        self.inner.signal.wake();
        for lane in &self.inner.lanes {
            lane.stop();
        }
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice").field("name", &self.name()).finish_non_exhaustive()
    }
}
