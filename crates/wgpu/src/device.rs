//! The back end: segments are submitted to the queue by the thread that launches them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use rospin_accelerator::{Backend, DeviceThread, Instant, Launch, Listener, Notices, SegmentFailure, Signal};
use rospin_engine::{Mutex, Recorder};
use wgpu::{AdapterInfo, DeviceType, ErrorFilter, SubmissionIndex};

use crate::open::{OpenError, WgpuOptions, open};
use crate::thread::run;
use crate::work::WgpuWork;

/// A GPU as a device of an [`Accelerator`](rospin_accelerator::Accelerator). Its clock is the steady clock.
///
/// Dropping it waits until the segments on the device have ended.
pub struct WgpuDevice {
    /// Before `inner`, so that the thread has ended when the device is closed.
    _thread: DeviceThread,
    inner: Arc<Inner>,
}

/// State that the device shares with its thread.
pub(crate) struct Inner {
    pub(crate) device: wgpu::Device,
    queue: wgpu::Queue,
    info: AdapterInfo,
    lanes: usize,
    pub(crate) state: Mutex<State>,
    /// Wakes the device's thread.
    pub(crate) signal: Signal,
}

/// Segments on the device, and news for its thread.
#[derive(Default)]
pub(crate) struct State {
    /// The segments in the queue, in its order.
    pub(crate) running: VecDeque<Running>,
    pub(crate) notices: Notices,
}

/// A segment in the device's queue.
pub(crate) struct Running {
    pub(crate) lane: usize,
    pub(crate) ticket: u64,
    pub(crate) submission: SubmissionIndex,
    pub(crate) submitted: Instant,
    pub(crate) effect: Option<Box<dyn FnOnce() + Send>>,
}

impl WgpuDevice {
    /// Opens a device and starts its thread.
    ///
    /// # Errors
    /// If there is no Vulkan driver, no adapter has the name that is asked for, or the driver refuses.
    pub fn open(options: WgpuOptions) -> Result<Self, OpenError> {
        let (adapter, device, queue) = open(&options)?;
        let inner = Arc::new(Inner {
            device,
            queue,
            info: adapter.get_info(),
            lanes: options.lanes,
            state: Mutex::new(State::default()),
            signal: Signal::new(),
        });
        let weak = Arc::downgrade(&inner);
        inner.device.set_device_lost_callback(move |_, reason| {
            // The callback may come on any thread, also within `submit`. The device's thread tells the listener.
            if let Some(inner) = weak.upgrade() {
                inner.lose(&reason);
            }
        });
        let for_thread = Arc::clone(&inner);
        let thread = DeviceThread::start(options.thread, move || run(&for_thread))?;
        Ok(Self { _thread: thread, inner })
    }

    /// Returns wgpu's device, which creates kernels, buffers and bind groups.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// Returns wgpu's queue. What is submitted to it directly passes by the accelerator, and delays its segments.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// Returns the name of the adapter, with that of its driver.
    #[must_use]
    pub fn name(&self) -> String {
        let AdapterInfo { name, driver, driver_info, .. } = &self.inner.info;
        format!("{name} ({driver} {driver_info})")
    }

    /// Returns true if the processor does the device's work: with a software driver.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.inner.info.device_type == DeviceType::Cpu
    }
}

impl Inner {
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(Recorder::steady_ns())
    }

    /// Takes note that the device is lost, for its thread.
    pub(crate) fn lose(&self, reason: &str) {
        let reason = if reason.is_empty() { "the driver gave it up" } else { reason };
        self.state.lock().notices.lose(reason);
        self.signal.wake();
    }
}

/// Calls the function, and returns its result with the first error that wgpu reports on this thread meanwhile.
fn observed<T>(device: &wgpu::Device, function: impl FnOnce() -> T) -> (T, Option<wgpu::Error>) {
    let filters = [ErrorFilter::Validation, ErrorFilter::OutOfMemory, ErrorFilter::Internal];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let result = function();
    // The innermost scope comes first. The futures are ready at once.
    let errors = scopes.into_iter().rev().filter_map(|scope| pollster::block_on(scope.pop()));
    (result, errors.reduce(|first, _| first))
}

impl Backend for WgpuDevice {
    type Work = WgpuWork;

    fn lanes(&self) -> usize {
        self.inner.lanes
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        self.inner.state.lock().notices.connect(listener);
    }

    fn submit(&self, launch: Launch<WgpuWork>) -> Result<(), SegmentFailure> {
        let Launch { lane, ticket, work, .. } = launch;
        let Inner { device, queue, state, signal, .. } = &*self.inner;
        // The order of the queue is that of `running`, so both change under one lock.
        let mut state = state.lock();
        if let Some(refused) = state.notices.refusal() {
            return refused;
        }
        let submitted = self.inner.now();
        let ((submission, rest), error) = observed(device, || {
            let mut encoder = device.create_command_encoder(&Default::default());
            let rest = work.encode(&mut encoder, queue);
            (queue.submit([encoder.finish()]), rest)
        });
        if let Some(error) = error {
            return Err(SegmentFailure(error.to_string()));
        }
        // Not before: what failed leaves no results, and its places for them are free at once. Only a device that is
        // lost refuses to map them, and of that the device's thread tells.
        let ((), _) = observed(device, || {
            for target in &rest.targets {
                target.ask();
            }
        });
        state.running.push_back(Running { lane, ticket, submission, submitted, effect: rest.effect });
        drop(state);
        signal.wake();
        Ok(())
    }

    fn set_alarm(&self, at: Instant) {
        self.inner.state.lock().notices.set_alarm(at);
        self.inner.signal.wake();
    }
}

impl Drop for WgpuDevice {
    fn drop(&mut self) {
        self.inner.state.lock().notices.stop();
        self.inner.signal.wake();
    }
}

impl fmt::Debug for WgpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WgpuDevice").field("name", &self.name()).finish_non_exhaustive()
    }
}
