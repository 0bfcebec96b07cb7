//! The model device in real time.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use rospin_core::Instant;
use rospin_engine::os::ThreadOptions;
use rospin_engine::{Mutex, Recorder};

use super::machine::{Finished, Machine};
use super::{ModelOptions, ModelWork};
use crate::backend::{Backend, Launch, Listener, SegmentFailure};
use crate::device_thread::DeviceThread;

/// Options of a [`RealTimeDevice`].
#[derive(Clone, Debug)]
pub struct RealTimeOptions {
    model: ModelOptions,
    thread: ThreadOptions,
    spin: Duration,
}

impl RealTimeOptions {
    /// Creates options: an ordinary thread that sleeps until each end.
    #[must_use]
    pub fn new(model: ModelOptions) -> Self {
        Self { model, thread: ThreadOptions::new().timer_slack(Duration::from_nanos(1)), spin: Duration::ZERO }
    }

    /// Sets the scheduling of the device's thread by the operating system.
    #[must_use]
    pub fn thread(mut self, thread: ThreadOptions) -> Self {
        self.thread = thread;
        self
    }

    /// Sets the time before an end for which the thread looks at the clock instead of sleeping. It makes ends punctual,
    /// and takes that much of a core.
    #[must_use]
    pub const fn spin(mut self, before: Duration) -> Self {
        self.spin = before;
        self
    }
}

/// A model device in real time: a thread of its own reports the ends. Its clock is the steady clock.
pub struct RealTimeDevice {
    thread: DeviceThread,
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    lanes: usize,
    spin: Duration,
}

struct State {
    machine: Machine,
    alarm: Option<Instant>,
    listener: Option<Weak<dyn Listener>>,
    /// Reason for which segments are refused; `None` until the device is lost.
    refusal: Option<String>,
    is_stopped: bool,
    /// The time until which the thread sleeps; zero while it works.
    sleeps_until: Instant,
}

/// The next thing that the device's thread does.
enum Next {
    Report(Finished),
    Alarm,
    Sleep(Instant),
    Stop,
}

impl RealTimeDevice {
    /// Starts the device's thread.
    ///
    /// # Errors
    /// If the operating system starts no thread.
    pub fn start(options: RealTimeOptions) -> io::Result<Self> {
        let machine = Machine::new(options.model);
        let lanes = machine.lanes();
        let state = Mutex::new(State {
            machine,
            alarm: None,
            listener: None,
            refusal: None,
            is_stopped: false,
            sleeps_until: Instant::ZERO,
        });
        let inner = Arc::new(Inner { state, lanes, spin: options.spin });
        let for_thread = Arc::clone(&inner);
        let thread = DeviceThread::start(options.thread, move || for_thread.run())?;
        Ok(Self { thread, inner })
    }

    /// Makes the device fail for good: its segments never end, further ones are refused, and the listener is told the
    /// reason.
    pub fn lose(&self, reason: &str) {
        let (works, listener) = {
            let mut state = self.inner.state.lock();
            state.refusal = Some(reason.to_owned());
            state.alarm = None;
            (state.machine.clear(), state.listener.clone())
        };
        drop(works);
        if let Some(listener) = listener.and_then(|listener| listener.upgrade()) {
            listener.lost(reason);
        }
    }

    /// Wakes the thread if it would sleep past `at`.
    fn wake_for(&self, state: &State, at: Instant) {
        if at < state.sleeps_until {
            self.thread.unpark();
        }
    }
}

impl Inner {
    fn now(&self) -> Instant {
        Instant::from_nanos(Recorder::steady_ns())
    }

    /// Reports ends and alarms on the calling thread, the device's own, until the device is dropped.
    fn run(&self) {
        loop {
            let (next, listener) = {
                let mut state = self.state.lock();
                (self.next(&mut state), state.listener.clone())
            };
            let listener = || listener.as_ref().and_then(Weak::upgrade);
            match next {
                Next::Stop => return,
                Next::Sleep(until) => self.sleep(until),
                Next::Alarm => {
                    if let Some(listener) = listener() {
                        listener.alarm(self.now());
                    }
                }
                Next::Report(finished) => {
                    let ended = finished.report();
                    if let Some(listener) = listener() {
                        listener.ended(ended);
                    }
                }
            }
        }
    }

    /// Returns what the thread must do next.
    fn next(&self, state: &mut State) -> Next {
        state.sleeps_until = Instant::ZERO;
        if state.is_stopped {
            return Next::Stop;
        }
        let now = self.now();
        if let Some(finished) = state.machine.step(now) {
            return Next::Report(finished);
        }
        if state.alarm.take_if(|at| *at <= now).is_some() {
            return Next::Alarm;
        }
        let until = state.machine.next_step().into_iter().chain(state.alarm).min().unwrap_or(Instant::MAX);
        state.sleeps_until = until;
        Next::Sleep(until)
    }

    /// Sleeps until that time, or until the thread is woken. Spins for the last [`RealTimeOptions::spin`] before that
    /// time.
    fn sleep(&self, until: Instant) {
        let now = self.now();
        let ahead = until.saturating_since(now);
        if until == Instant::MAX {
            thread::park();
        } else if ahead > self.spin {
            thread::park_timeout(ahead - self.spin);
        } else {
            // The spin has an end: `until` is at most `spin` ahead. The lock is looked at again after it, so a segment
            // that is submitted meanwhile starts that much later at most.
            while self.now() < until {
                std::hint::spin_loop();
            }
        }
    }
}

impl Backend for RealTimeDevice {
    type Work = ModelWork;

    fn lanes(&self) -> usize {
        self.inner.lanes
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        self.inner.state.lock().listener = Some(listener);
    }

    fn submit(&self, launch: Launch<ModelWork>) -> Result<(), SegmentFailure> {
        let Launch { lane, ticket, priority, work } = launch;
        let mut state = self.inner.state.lock();
        if let Some(reason) = &state.refusal {
            return Err(SegmentFailure(reason.clone()));
        }
        let now = self.inner.now();
        if !state.machine.submit(now, lane, ticket, priority, work) {
            return Err(SegmentFailure(format!("the device has no lane {lane}")));
        }
        let next = state.machine.next_step().unwrap_or(Instant::MAX);
        self.wake_for(&state, next);
        Ok(())
    }

    fn set_alarm(&self, at: Instant) {
        let mut state = self.inner.state.lock();
        let at = state.alarm.map_or(at, |alarm| alarm.min(at));
        state.alarm = Some(at);
        self.wake_for(&state, at);
    }
}

impl Drop for RealTimeDevice {
    fn drop(&mut self) {
        self.inner.state.lock().is_stopped = true;
        self.thread.unpark();
    }
}
