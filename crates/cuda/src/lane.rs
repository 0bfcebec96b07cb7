//! Lanes: a stream each, the segments on it in their order, and the thread that reports their ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result, sys};
use rospin_accelerator::{Ended, Signal};
use rospin_engine::{Mutex, Recorder};

use crate::device::Inner;
use crate::open::{Waiting, bind};
use crate::thread;
use crate::work::CudaWork;

/// The time between two questions of threads that spin for a lane, in nanoseconds. The driver answers under a lock,
/// which threads need that launch.
const QUESTION_GAP_NS: u64 = 3_000;

/// A stream with its segments.
pub(crate) struct Lane {
    stream: Arc<CudaStream>,
    waiting: Waiting,
    /// True for the lane that [`CudaOptions::urgent_lane`](crate::CudaOptions::urgent_lane) adds.
    is_urgent: bool,
    state: Mutex<State>,
    /// The time of the last question whether a segment has ended, in nanoseconds.
    asked_ns: AtomicU64,
    /// Wakes the lane's thread when there is a segment.
    signal: Signal,
}

#[derive(Default)]
struct State {
    /// The segments on the stream, in order.
    running: VecDeque<Running>,
    /// Pairs of events that no segment uses any more: creating one takes longer than recording it.
    spare: Vec<Arc<Events>>,
    is_stopped: bool,
}

/// The events before and after a segment.
struct Events {
    start: CudaEvent,
    end: CudaEvent,
}

/// A segment on the stream.
#[derive(Clone)]
struct Running {
    ticket: u64,
    events: Arc<Events>,
}

/// The next thing that a lane's thread does.
enum Next {
    WaitFor(Running),
    Sleep,
    Stop,
}

impl Lane {
    pub(crate) fn new(stream: Arc<CudaStream>, waiting: Waiting, is_urgent: bool) -> Self {
        Self {
            stream,
            waiting,
            is_urgent,
            state: Mutex::new(State::default()),
            asked_ns: AtomicU64::new(0),
            signal: Signal::new(),
        }
    }

    /// Puts the work on the stream, between two events. The accelerator gives a lane its next segment once it has the
    /// one before, so that no two of its threads call it for the same lane at once.
    pub(crate) fn put(&self, context: &Arc<CudaContext>, ticket: u64, work: CudaWork) -> Result<(), DriverError> {
        bind(context)?;
        let events = match self.spare_events() {
            Some(events) => events,
            None => Arc::new(Events {
                start: context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?,
                // A thread that waits for it sleeps.
                end: context.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?,
            }),
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

    /// Returns events that no segment uses, and that no thread waits for.
    ///
    /// A thread that has been told of the end of a segment late may still be about to wait for its events. If they were
    /// those of a later segment by then, it would sleep through the ends in between.
    fn spare_events(&self) -> Option<Arc<Events>> {
        let mut state = self.state.lock();
        let at = state.spare.iter().position(|events| Arc::strong_count(events) == 1)?;
        Some(state.spare.swap_remove(at))
    }

    fn next(&self) -> Next {
        let state = self.state.lock();
        match state.running.front() {
            Some(running) => Next::WaitFor(running.clone()),
            // Segments on the device use memory of the program, so they end before the device is closed.
            None if state.is_stopped => Next::Stop,
            None => Next::Sleep,
        }
    }

    /// Returns true if the calling thread is to ask for the end of the segment that runs: nobody has asked for a while.
    fn is_time_to_ask(&self) -> bool {
        let now = Recorder::steady_ns();
        let asked = self.asked_ns.load(Ordering::Relaxed);
        let is_due = now >= asked + QUESTION_GAP_NS;
        // Of two threads, one asks.
        is_due && self.asked_ns.compare_exchange(asked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Returns true if nobody has taken the segment off the lane.
    fn has(&self, ticket: u64) -> bool {
        self.state.lock().running.front().is_some_and(|running| running.ticket == ticket)
    }

    /// Takes a segment off the lane. Does nothing if another thread has done so.
    fn take_off(&self, running: &Running) -> Option<Running> {
        let mut state = self.state.lock();
        if state.running.front().is_none_or(|first| first.ticket != running.ticket) {
            return None;
        }
        state.running.pop_front()
    }

    /// Tells the listener of the end of a segment, and takes it off the lane.
    ///
    /// In that order: a thread that is interrupted in between hides no end, because any other thread still finds the
    /// segment and tells of it, too. The listener ignores the second report. The next segment is found only after the
    /// listener knows of this one, so that ends are told in their order.
    fn finish(&self, inner: &Inner, number: usize, running: &Running) {
        let at = inner.now();
        // Without the times of the events, the time is not known, and counts as none.
        let ms = elapsed_ms(&running.events).unwrap_or(0.0).max(0.0);
        let busy = Duration::try_from_secs_f32(ms / 1e3).unwrap_or_default();
        if self.has(running.ticket)
            && let Some(listener) = inner.listener()
        {
            listener.ended(Ended { lane: number, ticket: running.ticket, at, busy, result: Ok(()) });
        }
        if let Some(over) = self.take_off(running) {
            self.state.lock().spare.push(over.events);
        }
    }

    /// Tells the listener if the segment that runs has ended, on the thread of somebody who waits without sleeping.
    pub(crate) fn poll(&self, inner: &Inner, number: usize) {
        if !self.is_time_to_ask() {
            return;
        }
        let Next::WaitFor(running) = self.next() else { return };
        // An error may be one of the calling thread, such as one that captures a graph. If it is the device's, the lane's
        // own thread gets it, too.
        if bind(&inner.context).and_then(|()| running.events.end.try_is_complete()) == Ok(true) {
            self.finish(inner, number, &running);
        }
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
            Next::WaitFor(running) => {
                match wait_for(&running, inner, lane) {
                    Ok(()) => lane.finish(inner, number, &running),
                    // An error of a kernel is an error of the whole context, which stays.
                    Err(error) => {
                        lane.take_off(&running);
                        inner.lose(error);
                    }
                }
            }
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

/// Waits until the segment has ended, or another thread has told of its end. Threads that spin tell of alarms, too,
/// since the one that sleeps for them takes tens of microseconds to wake up; but not that of the urgent lane, which
/// would launch segments of others meanwhile.
fn wait_for(running: &Running, inner: &Inner, lane: &Lane) -> Result<(), DriverError> {
    match lane.waiting {
        // SAFETY: the event lives as long as this call, on a thread that has its context.
        Waiting::Sleep => unsafe { result::event::synchronize(running.events.end.cu_event()) },
        Waiting::Spin if lane.is_urgent => spin_until_ended(running, lane, || ()),
        Waiting::Spin => {
            let _spinning = Spinning::begin(inner);
            spin_until_ended(running, lane, || {
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

/// Asks for the end every few microseconds, and calls `meanwhile` in between.
fn spin_until_ended(running: &Running, lane: &Lane, meanwhile: impl Fn()) -> Result<(), DriverError> {
    // The device ends every segment, or fails.
    loop {
        if lane.is_time_to_ask() && (!lane.has(running.ticket) || running.events.end.try_is_complete()?) {
            return Ok(());
        }
        meanwhile();
        std::hint::spin_loop();
    }
}
