//! Recording of what executors do: an event for each release, dispatch, publication, loss and so on, in a lock-free log
//! for each thread. One ordinary thread moves the events from the logs to all [`Sink`]s.
//!
//! While nothing is recorded, the dispatch path does not know of recorders: a [`Tap`] stands before a scheduler's trace
//! only while its recorder is on. Publishing and taking look at one flag, without ordering.
//!
//! Messages have the number of their place in the queue, which the ring counts anyway. So a publication and a take are
//! known to be of the same message, without a field in it.

mod at_exit;
mod definitions;
mod drain;
mod logs;
mod numbers;
mod observer;
mod scheduler;
mod scribe;
mod tap;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
// The standard library's lock in the model checkers, too: no step of a model happens under it. It is taken where
// entities and threads come and go, never on the dispatch path.
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rospin_core::recording::{Definition, DefinitionKey, Sink};

use crate::clock::Clock;
use crate::os::Process;
use drain::{Command, Drainer};
use logs::ThreadLog;
pub(crate) use numbers::ExecutorNumber;
use numbers::Numbers;
use observer::ObserverSlot;
pub use observer::{Declaration, Observer};
pub use scheduler::RecordedScheduler;
pub(crate) use scribe::Scribe;
pub(crate) use tap::Tap;

/// The number of events that a thread's log holds unless [`Recorder::set_capacity`] sets another one: 1.5 MiB.
const CAPACITY: usize = 1 << 15;
/// The largest number of events that a log may hold.
const CAPACITY_MAX: usize = 1 << 24;
/// The longest time that [`Recorder::flush`] waits for the recording thread.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    /// The number of the recorder whose sinks this thread calls; 0 on other threads.
    static RECORDS: Cell<u64> = const { Cell::new(0) };
}

/// The recorder of the process, which every context has unless its options name another one.
static OF_PROCESS: LazyLock<Recorder> = LazyLock::new(Recorder::new);

/// Recorder of what the executors of one or more contexts do. Cheap to clone; clones are the same recorder. It is off
/// at first.
///
/// Each context has the recorder [of the process](Self::of_process) unless
/// [its options](crate::ContextOptions::recorder) say otherwise.
///
/// ```
/// use rospin_engine::recording::{Definition, Sink, Words};
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, Recorder, SpinOptions};
///
/// /// Prints how many events come.
/// struct Count(usize);
///
/// impl Sink for Count {
///     fn define(&mut self, _: &Definition) {}
///     fn record(&mut self, _thread: u32, events: &[Words]) {
///         self.0 += events.len();
///     }
///     fn flush(&mut self) {
///         println!("{} events", self.0);
///     }
/// }
///
/// let recorder = Recorder::new();
/// recorder.set_capacity(1000);
/// recorder.set_cpu_times(true);
/// let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
/// let sink = recorder.start(Count(0))?;
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// executor.spin(SpinOptions::spin_all())?;
/// assert!(recorder.is_on() && recorder.flush());
/// // A sink that keeps the last seconds would write them now.
/// recorder.trigger("the robot fell over");
/// sink.stop();
/// recorder.stop();
/// assert!(!recorder.is_on() && !Recorder::of_process().is_on() && Recorder::steady_ns() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

/// Driver of a scheduler, which is told when its recorder is switched.
pub trait Recorded: Send + Sync {
    /// Gives the scheduler another trace, or takes it away. Defines everything that the scheduler has, and records its
    /// state.
    fn recorder_switched(&self);
}

struct Inner {
    number: u64,
    is_on: AtomicBool,
    has_cpu_times: AtomicBool,
    capacity: AtomicUsize,
    observer: ObserverSlot,
    /// Locked while a sink comes or goes, which waits for the recording thread.
    switch: Mutex<()>,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    executors: Vec<Weak<dyn Recorded>>,
    numbers: Numbers,
    /// Queues and publishers that are there, each by its number, with true for a publisher.
    standing: BTreeMap<(bool, u64), Definition>,
    /// Definitions for the recording thread.
    definitions: Vec<Definition>,
    /// Queues, publishers, entities and executors that are gone, for the recording thread.
    gone: Vec<DefinitionKey>,
    /// Logs of new threads, and after a recording those of all threads.
    logs: Vec<ThreadLog>,
    recording: Option<Recording>,
}

/// The recording thread, and the numbers of its sinks.
struct Recording {
    commands: Sender<Command>,
    thread: JoinHandle<Vec<ThreadLog>>,
    process: Process,
    sinks: BTreeSet<u64>,
}

/// Handle of a sink that a recorder records into. Dropping it changes nothing: the recording goes on.
#[derive(Debug)]
pub struct SinkHandle {
    recorder: Recorder,
    number: u64,
}

impl SinkHandle {
    /// Stops to record into this sink, and waits until it has all events that were recorded before this call. Other
    /// sinks go on; without one, the recorder is off. Does nothing if the recorder was stopped meanwhile.
    ///
    /// Locks, and waits for the recording thread. Does nothing if a sink of the recorder calls it.
    pub fn stop(self) {
        self.recorder.stop_sinks(Some(self.number));
    }
}

/// Reasons for which a recording could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The process was forked off one that is recorded: it has a copy of the recorder, and not the recording thread.
    #[error("this process was forked off one that is recorded; stop the recorder before it records anew")]
    Forked,
    /// The recorder has an observer already.
    #[error("the recorder has an observer already")]
    Observed,
    /// A sink of the recorder asked for it, on the recording thread.
    #[error("a sink cannot switch its own recorder; let another thread do it")]
    BySink,
    /// The recording thread could not be started, or has ended.
    #[error("the recording thread does not run: {0}")]
    Thread(std::io::Error),
}

/// Returns a number that this process has not used before.
pub(crate) fn fresh_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns a number for a thread that this process has not used before.
fn fresh_thread() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Recorder {
    /// Creates a recorder of its own, for tests and for contexts that are recorded apart from others.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            number: fresh_number(),
            is_on: AtomicBool::new(false),
            has_cpu_times: AtomicBool::new(false),
            capacity: AtomicUsize::new(CAPACITY),
            observer: ObserverSlot::default(),
            switch: Mutex::default(),
            registry: Mutex::default(),
        }))
    }

    /// Returns the recorder of the process.
    #[must_use]
    pub fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// Returns the time on the steady clock, by which events are timed, in nanoseconds.
    #[must_use]
    pub fn steady_ns() -> u64 {
        Clock::kernel().now().as_nanos()
    }

    /// Returns true while events are recorded. Neither blocks nor locks.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// Sets the number of events that the log of each further thread holds, rounded up to a power of two. Each takes 48
    /// bytes, at once. A log holds at most 16,777,216 events, 768 MiB.
    pub fn set_capacity(&self, events: usize) {
        self.0.capacity.store(events.min(CAPACITY_MAX), Ordering::Relaxed);
    }

    /// Sets whether the threads' processor time is recorded at the start and the end of each callback. That takes two
    /// system calls per callback, and tells how long the kernel did not let the thread run.
    pub fn set_cpu_times(&self, yes: bool) {
        self.0.has_cpu_times.store(yes, Ordering::Relaxed);
    }

    /// Starts to record into `sink`, beside other sinks that there may be. It first has all names that are known, and
    /// then events from now on. Executors that spin are recorded from their next callback on.
    ///
    /// Locks, allocates, and starts an ordinary thread for the first sink; for others, waits for that thread. May be
    /// called from any thread.
    ///
    /// # Errors
    /// If the recording thread cannot be started, if the process was forked off one that is recorded, or if a sink of
    /// this recorder calls it.
    pub fn start(&self, sink: impl Sink + 'static) -> Result<SinkHandle, RecordError> {
        if self.is_asked_by_sink() {
            return Err(RecordError::BySink);
        }
        let _switch = self.0.switch.lock().unwrap_or_else(PoisonError::into_inner);
        let number = fresh_number();
        let sink: Box<dyn Sink> = Box::new(sink);
        let mut registry = self.lock();
        if let Some(recording) = &mut registry.recording {
            if recording.process.is_another() {
                return Err(RecordError::Forked);
            }
            let (done, added) = channel();
            if recording.commands.send(Command::Add(number, sink, done)).is_err() {
                return Err(RecordError::Thread(std::io::Error::other("it has ended")));
            }
            recording.sinks.insert(number);
            drop(registry);
            // The sink needs the state of the executors, which the other sinks have had: it must not come before the
            // sink.
            let _ = added.recv();
            self.tell_executors();
            return Ok(SinkHandle { recorder: self.clone(), number });
        }
        let (commands, asked) = channel();
        let logs = std::mem::take(&mut registry.logs);
        registry.gone.clear();
        registry.numbers.begin_recording();
        registry.definitions = registry.standing.values().cloned().collect();
        let drainer = Drainer::new(self.clone(), (number, sink), asked, logs);
        let thread = std::thread::Builder::new().name("rospin-record".to_owned());
        let of = self.0.number;
        let run = move || {
            RECORDS.set(of);
            drainer.run()
        };
        let thread = thread.spawn(run).map_err(RecordError::Thread)?;
        let sinks = BTreeSet::from([number]);
        registry.recording = Some(Recording { commands, thread, process: Process::this(), sinks });
        self.0.is_on.store(true, Ordering::SeqCst);
        drop(registry);
        self.tell_executors();
        Ok(SinkHandle { recorder: self.clone(), number })
    }

    /// Stops all sinks, and waits until they have all events. Does nothing if the recorder is off, or if a sink calls
    /// it.
    pub fn stop(&self) {
        self.stop_sinks(None);
    }

    /// Stops the sink with the number `one`, or all sinks if it is `None`.
    fn stop_sinks(&self, one: Option<u64>) {
        if self.is_asked_by_sink() {
            return;
        }
        let _switch = self.0.switch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut registry = self.lock();
        let Some(recording) = &mut registry.recording else { return };
        match one {
            Some(one) if !recording.sinks.remove(&one) => return,
            None => recording.sinks.clear(),
            Some(_) => {}
        }
        if let (Some(one), false) = (one, recording.sinks.is_empty()) {
            let (done, finished) = channel();
            let is_sent =
                !recording.process.is_another() && recording.commands.send(Command::Remove(one, done)).is_ok();
            drop(registry);
            if is_sent {
                // The recording thread drops its end when it is done, if not before.
                let _ = finished.recv();
            }
            return;
        }
        self.0.is_on.store(false, Ordering::SeqCst);
        let Some(Recording { commands, thread, process, .. }) = registry.recording.take() else { return };
        drop(registry);
        self.tell_executors();
        if process.is_another() {
            return;
        }
        let _ = commands.send(Command::Stop);
        if let Ok(logs) = thread.join() {
            self.lock().logs.extend(logs);
        }
    }

    /// Waits until all sinks have the events that were recorded before this call, and have made them readable. Returns
    /// false if that takes more than five seconds, the recorder is off, or a sink calls it.
    pub fn flush(&self) -> bool {
        let (done, finished) = channel();
        !self.is_asked_by_sink() && self.command(Command::Flush(done)) && finished.recv_timeout(PATIENCE).is_ok()
    }

    /// Has the sinks that keep the last seconds in memory write them; other sinks ignore it. Does not wait for that.
    pub fn trigger(&self, reason: impl Into<String>) {
        self.command(Command::Trigger(reason.into()));
    }

    /// Returns true on the thread that records, which cannot wait for itself.
    fn is_asked_by_sink(&self) -> bool {
        RECORDS.get() == self.0.number
    }

    fn command(&self, command: Command) -> bool {
        let registry = self.lock();
        let recording = registry.recording.as_ref().filter(|recording| !recording.process.is_another());
        recording.is_some_and(|recording| recording.commands.send(command).is_ok())
    }

    /// Tells the executor from now on when the recorder is switched.
    pub(crate) fn enter(&self, executor: Weak<dyn Recorded>) {
        let mut registry = self.lock();
        registry.executors.retain(|executor| executor.strong_count() > 0);
        registry.executors.push(executor);
    }

    fn tell_executors(&self) {
        let executors = self.lock().executors.clone();
        for executor in executors.iter().filter_map(Weak::upgrade) {
            executor.recorder_switched();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("is_on", &self.is_on()).finish_non_exhaustive()
    }
}
