//! Lanes: a stream each, the segments on it in their order, and the thread that reports their ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result, sys};
use rospin_accelerator::{Ended, Signal};
use rospin_engine::{Mutex, Recorder};

use crate::device::Inner;
use crate::open::{Waiting, bind};
use crate::thread;
use crate::work::CudaWork;

/// The time between two questions of a thread that spins, in nanoseconds. The driver answers under a lock, which
/// threads need that launch.
const QUESTION_GAP_NS: u64 = 3_000;

/// A stream with its segments.
pub(crate) struct Lane {
    stream: Arc<CudaStream>,
    waiting: Waiting,
    /// True for the lane that [`CudaOptions::urgent_lane`](crate::CudaOptions::urgent_lane) adds.
    is_urgent: bool,
    state: Mutex<State>,
    /// Wakes the lane's thread when there is a segment.
    signal: Signal,
}

#[derive(Default)]
struct State {
    /// The segments on the stream, in order.
    running: VecDeque<Running>,
    /// Pairs of events that no segment uses any more: creating one takes longer than recording it.
    spare: Vec<Events>,
    is_stopped: bool,
}

/// The events before and after a segment.
struct Events {
    start: CudaEvent,
    end: CudaEvent,
}

/// A segment on the stream.
struct Running {
    ticket: u64,
    events: Events,
}

/// The next thing that a lane's thread does.
enum Next {
    WaitFor(Running),
    Sleep,
    Stop,
}

impl Lane {
    pub(crate) fn new(stream: Arc<CudaStream>, waiting: Waiting, is_urgent: bool) -> Self {
        Self { stream, waiting, is_urgent, state: Mutex::new(State::default()), signal: Signal::new() }
    }

    /// Puts the work on the stream, between two events. The accelerator gives a lane its next segment once it has the
    /// one before, so that no two of its threads call it for the same lane at once.
    pub(crate) fn put(&self, context: &Arc<CudaContext>, ticket: u64, work: CudaWork) -> Result<(), DriverError> {
        bind(context)?;
        let spare = self.state.lock().spare.pop();
        let events = match spare {
            Some(events) => events,
            None => Events {
                start: context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?,
                // A thread that waits for it sleeps.
                end: context.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?,
            },
        };
        record(&events.start, &self.stream)?;
        let put = (work.0)(&self.stream);
        record(&events.end, &self.stream)?;
        put?;
        self.state.lock().running.push_back(Running { ticket, events });
        self.signal.wake();
        Ok(())
    }

    /// Has the thread end once there are no more segments.
    pub(crate) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.signal.wake();
    }

    fn next(&self) -> Next {
        let mut state = self.state.lock();
        if let Some(running) = state.running.pop_front() {
            return Next::WaitFor(running);
        }
        // Segments on the device use memory of the program, so they end before the device is closed.
        if state.is_stopped { Next::Stop } else { Next::Sleep }
    }
}

/// Reports the ends of a lane's segments, until the device is dropped. Runs on the lane's own thread.
pub(crate) fn report_ends(inner: &Inner, number: usize) {
    if let Err(error) = bind(&inner.context) {
        inner.lose(error);
    }
    let lane = &inner.lanes[number];
    loop {
        match lane.next() {
            Next::Stop => return,
            Next::Sleep => lane.signal.wait(None),
            Next::WaitFor(Running { ticket, events }) => match wait_for(&events.end, inner, lane) {
                Ok(()) => {
                    let at = inner.now();
                    // Without the times of the events, the time is not known, and counts as none.
                    let ms = elapsed_ms(&events).unwrap_or(0.0).max(0.0);
                    let busy = Duration::try_from_secs_f32(ms / 1e3).unwrap_or_default();
                    if let Some(listener) = inner.listener() {
                        listener.ended(Ended { lane: number, ticket, at, busy, result: Ok(()) });
                    }
                    lane.state.lock().spare.push(events);
                }
                // An error of a kernel is an error of the whole context, which stays.
                Err(error) => inner.lose(error),
            },
        }
    }
}

/// Returns the time between the events of a segment that has ended, in milliseconds.
fn elapsed_ms(events: &Events) -> Result<f32, DriverError> {
    // SAFETY: both events live as long as this call, and have been recorded.
    unsafe { result::event::elapsed(events.start.cu_event(), events.end.cu_event()) }
}

/// Records the event, on a thread that has the context.
fn record(event: &CudaEvent, stream: &CudaStream) -> Result<(), DriverError> {
    // SAFETY: event and stream live as long as these, and are of the same context.
    unsafe { result::event::record(event.cu_event(), stream.cu_stream()) }
}

/// Waits until the device has reached the event. Threads that spin tell of alarms, too, since the one that sleeps for
/// them takes tens of microseconds to wake up; but not that of the urgent lane, which would launch segments of others
/// meanwhile.
fn wait_for(end: &CudaEvent, inner: &Inner, lane: &Lane) -> Result<(), DriverError> {
    match lane.waiting {
        // SAFETY: the event lives as long as this call, on a thread that has its context.
        Waiting::Sleep => unsafe { result::event::synchronize(end.cu_event()) },
        Waiting::Spin if lane.is_urgent => spin_until(end, || ()),
        Waiting::Spin => {
            let _spinning = Spinning::begin(inner);
            spin_until(end, || {
                if Recorder::steady_ns() >= inner.alarm_ns.load(Ordering::Relaxed) {
                    thread::tell_next(inner);
                }
            })
        }
    }
}

/// The time for which a thread spins and tells of alarms.
struct Spinning<'a>(&'a Inner);

impl<'a> Spinning<'a> {
    fn begin(inner: &'a Inner) -> Self {
        inner.spinning.fetch_add(1, Ordering::SeqCst);
        Self(inner)
    }
}

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        let is_last = self.0.spinning.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last && self.0.alarm_ns.load(Ordering::SeqCst) != u64::MAX {
            self.0.signal.wake();
        }
    }
}

/// Asks for the event every few microseconds, and calls `meanwhile` in between.
fn spin_until(end: &CudaEvent, meanwhile: impl Fn()) -> Result<(), DriverError> {
    // The device ends every segment, or fails.
    while !end.try_is_complete()? {
        let asked = Recorder::steady_ns();
        while Recorder::steady_ns() < asked + QUESTION_GAP_NS {
            meanwhile();
            std::hint::spin_loop();
        }
    }
    Ok(())
}
