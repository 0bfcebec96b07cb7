//! The model device in virtual time.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use rospin_core::Instant;
use rospin_engine::Mutex;

use super::machine::{Finished, Machine};
use super::{ModelOptions, ModelWork};
use crate::backend::{Backend, Launch, Listener, SegmentFailure};

/// A model device in virtual time, which moves only by [`run_until`](Self::run_until) and [`run`](Self::run). The
/// thread that calls them reports the ends.
pub struct VirtualDevice {
    inner: Mutex<Inner>,
    now_ns: AtomicU64,
    lanes: usize,
}

struct Inner {
    machine: Machine,
    alarm: Option<Instant>,
    listener: Option<Weak<dyn Listener>>,
    /// The reason for which segments are refused; `None` until the device is lost.
    refusal: Option<String>,
}

impl VirtualDevice {
    /// Creates an idle device at time zero.
    #[must_use]
    pub fn new(options: ModelOptions) -> Self {
        let machine = Machine::new(options);
        let lanes = machine.lanes();
        let inner = Inner { machine, alarm: None, listener: None, refusal: None };
        Self { inner: Mutex::new(inner), now_ns: AtomicU64::new(0), lanes }
    }

    /// Moves time on to `until`. Reports each end at its exact time, and each alarm.
    pub fn run_until(&self, until: Instant) {
        // Each turn handles an event until then. A listener that starts segments of no length without end keeps the
        // time.
        while let Some((event, listener)) = self.next_event(until) {
            Self::report(event, &listener);
        }
        self.now_ns.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }

    /// Moves time on until the device is idle and no alarm is set. Returns the time.
    pub fn run(&self) -> Instant {
        while let Some((event, listener)) = self.next_event(Instant::MAX) {
            Self::report(event, &listener);
        }
        self.now()
    }

    /// Makes the device fail for good: its segments never end, further ones are refused, and the listener is told the
    /// reason.
    pub fn lose(&self, reason: &str) {
        let (works, listener) = {
            let mut inner = self.inner.lock();
            inner.refusal = Some(reason.to_owned());
            inner.alarm = None;
            (inner.machine.clear(), inner.listener.clone())
        };
        drop(works);
        if let Some(listener) = listener.and_then(|listener| listener.upgrade()) {
            listener.lost(reason);
        }
    }

    /// Takes the next event that is not after `until`, and sets the clock to its time. `None` if there is none, or no
    /// listener is connected.
    fn next_event(&self, until: Instant) -> Option<(Event, Weak<dyn Listener>)> {
        let mut inner = self.inner.lock();
        loop {
            let step = inner.machine.next_step().filter(|at| *at <= until);
            let alarm = inner.alarm.filter(|at| *at <= until);
            // An end precedes an alarm of the same time: the watchdog has no quarrel with a segment that ends in time.
            let is_alarm = alarm.is_some_and(|alarm| step.is_none_or(|step| alarm < step));
            let at = if is_alarm { alarm? } else { step? };
            self.now_ns.fetch_max(at.as_nanos(), Ordering::Relaxed);
            let event = if is_alarm {
                inner.alarm = None;
                Some(Event::Alarm(at))
            } else {
                inner.machine.step(at).map(Event::Ended)
            };
            // Without an end, a copy has ended and a kernel has begun.
            if let Some(event) = event {
                return inner.listener.clone().map(|listener| (event, listener));
            }
        }
    }

    /// Reports an event to the listener, if it still exists.
    fn report(event: Event, listener: &Weak<dyn Listener>) {
        let listener = listener.upgrade();
        match event {
            Event::Alarm(at) => {
                if let Some(listener) = listener {
                    listener.alarm(at);
                }
            }
            Event::Ended(finished) => {
                let ended = finished.report();
                if let Some(listener) = listener {
                    listener.ended(ended);
                }
            }
        }
    }
}

/// Event of the device.
enum Event {
    Alarm(Instant),
    Ended(Finished),
}

impl Backend for VirtualDevice {
    type Work = ModelWork;

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        self.inner.lock().listener = Some(listener);
    }

    fn submit(&self, launch: Launch<ModelWork>) -> Result<(), SegmentFailure> {
        let Launch { lane, ticket, priority, work } = launch;
        let mut inner = self.inner.lock();
        if let Some(reason) = &inner.refusal {
            return Err(SegmentFailure(reason.clone()));
        }
        match inner.machine.submit(self.now(), lane, ticket, priority, work) {
            true => Ok(()),
            false => Err(SegmentFailure(format!("the device has no lane {lane}"))),
        }
    }

    fn set_alarm(&self, at: Instant) {
        let mut inner = self.inner.lock();
        inner.alarm = Some(inner.alarm.map_or(at, |alarm| alarm.min(at)));
    }
}
