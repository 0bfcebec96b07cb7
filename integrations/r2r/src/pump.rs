//! The pump: the thread that spins an R2R node, and empties R2R's channels after every spin.
//!
//! R2R's node takes a message of each subscription in a spin, and puts it into a channel of ten, which drops the newest
//! when it is full. This thread is above all executors and empties the channels into queues as long as the quality of
//! service says. So no channel of R2R's is ever full, and what is lost is counted where it is lost.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex as StdMutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rospin_engine::{Context, ForeignThread, ForeignThreads, Mutex};

use super::incoming::Drain;

/// Name of the threads that spin nodes, for deployment files.
const NAME: &str = "r2r-pump";

/// The threads on which messages depend, so that they are more urgent than all executors.
pub(super) const THREADS: ForeignThreads = ForeignThreads { middleware: "R2R", kinds: &[ForeignThread::carries(NAME)] };

/// A node, and what its pump and its handles share.
pub(super) struct Pumped {
    node: Mutex<r2r::Node>,
    feeds: Mutex<Vec<Box<dyn Drain>>>,
    /// The number of threads that wait for the node. The pump lets them go first.
    wanted: AtomicUsize,
    /// The pump waits here for its start, and for the threads that want the node.
    gate: StdMutex<()>,
    changed: Condvar,
    is_started: AtomicBool,
    is_stopped: AtomicBool,
    context: r2r::Context,
    longest_wait: Duration,
}

/// A pump, which ends when this is dropped.
pub(super) struct Pump {
    pumped: Arc<Pumped>,
    thread: Option<JoinHandle<()>>,
}

impl Pump {
    /// Creates the thread, which waits for its [start](Pumped::start).
    pub(super) fn new(
        engine: &Context,
        ros: r2r::Context,
        node: r2r::Node,
        longest_wait: Duration,
    ) -> io::Result<Self> {
        let pumped = Arc::new(Pumped {
            node: Mutex::new(node),
            feeds: Mutex::default(),
            wanted: AtomicUsize::new(0),
            gate: StdMutex::new(()),
            changed: Condvar::new(),
            is_started: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            context: ros,
            longest_wait,
        });
        let shared = Arc::clone(&pumped);
        let spawn = || thread::Builder::new().name(NAME.to_owned()).spawn(move || shared.run());
        let thread = engine.start_threads(NAME, spawn)?;
        Ok(Self { pumped, thread: Some(thread) })
    }

    pub(super) const fn pumped(&self) -> &Arc<Pumped> {
        &self.pumped
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.pumped.set(&self.pumped.is_stopped);
        // The pump itself drops it if a task that it wakes had ended with the node's last handle.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            // A panic of the thread was reported.
            let _ = thread.join();
        }
        // Streams and sources learn that nothing more comes.
        let feeds = std::mem::take(&mut *self.pumped.feeds.lock());
        drop(feeds);
    }
}

impl Pumped {
    /// Lets the pump spin the node from now on.
    pub(super) fn start(&self) {
        self.set(&self.is_started);
    }

    fn set(&self, flag: &AtomicBool) {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        flag.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Calls `f` with the node. Waits until the pump's present wait is over, which takes at most its longest wait.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut r2r::Node) -> R) -> R {
        /// Lets the pump go on, also after a panic.
        struct Wanted<'a>(&'a Pumped);
        impl Drop for Wanted<'_> {
            fn drop(&mut self) {
                let _gate = self.0.gate.lock().unwrap_or_else(PoisonError::into_inner);
                self.0.wanted.fetch_sub(1, Ordering::SeqCst);
                self.0.changed.notify_all();
            }
        }

        self.wanted.fetch_add(1, Ordering::SeqCst);
        let _wanted = Wanted(self);
        f(&mut self.node.lock())
    }

    /// Adds a stream that is emptied after every spin.
    pub(super) fn add(&self, feed: impl Drain + 'static) {
        self.feeds.lock().push(Box::new(feed));
    }

    fn run(&self) {
        while self.is_to_go_on() {
            self.node.lock().spin_once(self.longest_wait);
            self.drain();
        }
        self.drain();
    }

    /// Waits until the pump may have the node. Returns false if it should end.
    fn is_to_go_on(&self) -> bool {
        let is_held = || self.wanted.load(Ordering::SeqCst) > 0 || !self.is_started.load(Ordering::SeqCst);
        if is_held() {
            let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
            let is_stopped = || self.is_stopped.load(Ordering::SeqCst);
            let _gate = self.changed.wait_while(gate, |()| is_held() && !is_stopped());
        }
        !self.is_stopped.load(Ordering::SeqCst) && self.context.is_valid()
    }

    fn drain(&self) {
        // Nothing is locked meanwhile: a waker may drop a task with code of its own.
        let mut feeds = std::mem::take(&mut *self.feeds.lock());
        feeds.retain_mut(|feed| feed.drain());
        let mut present = self.feeds.lock();
        // Those that were added meanwhile stay behind.
        feeds.append(&mut present);
        *present = feeds;
    }
}
