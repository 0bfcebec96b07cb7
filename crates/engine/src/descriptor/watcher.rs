//! The thread that watches the descriptors of a context and notifies. It ends with the last descriptor.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use rustix::event::PollFlags;

use super::ready::Ready;
use crate::context::Context;
use crate::foreign::{ForeignList, ForeignThread, ForeignThreads};
use crate::os::Process;
use crate::source::Notifier;
use crate::sync::Mutex;

/// The thread's name in the kernel, by which deployment files name it.
const THREAD: &str = "rospin-poll";

/// The threads that messages pass.
const THREADS: ForeignThreads =
    ForeignThreads { middleware: "file descriptors", kinds: &[ForeignThread::carries(THREAD)] };

/// The place of a context's watcher.
#[derive(Default)]
pub(super) struct WatcherSlot(Mutex<Weak<Watcher>>);

/// Watcher of a context's descriptors, which they own together.
pub(super) struct Watcher {
    watched: Arc<Watched>,
    process: Process,
    /// Kept alive as long as the watcher is: has the watcher's thread, so that it is above real-time executors.
    _threads: Arc<ForeignList>,
    _slot: Arc<WatcherSlot>,
}

/// The part of a watcher that its thread has.
struct Watched {
    ready: Ready,
    notifiers: Mutex<Notifiers>,
}

#[derive(Default)]
struct Notifiers {
    /// The number of the last descriptor.
    last: u64,
    by_number: BTreeMap<u64, Notifier>,
}

impl WatcherSlot {
    /// Returns the watcher of the context's descriptors. Starts it and its thread if no descriptor is watched yet.
    pub(super) fn watcher(context: &Context) -> io::Result<Arc<Watcher>> {
        let slot = context.shared::<Self>();
        let mut place = slot.0.lock();
        let former = place.upgrade().filter(|watcher| !watcher.process.is_another());
        if let Some(watcher) = former {
            return Ok(watcher);
        }
        let watched = Arc::new(Watched { ready: Ready::new()?, notifiers: Mutex::default() });
        let threads = context.foreign_threads();
        threads.add(THREADS);
        let of_thread = Arc::clone(&watched);
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        context.start_threads(THREAD, || thread.spawn(move || of_thread.run()))?;
        let watcher =
            Arc::new(Watcher { watched, process: Process::this(), _threads: threads, _slot: Arc::clone(&slot) });
        *place = Arc::downgrade(&watcher);
        Ok(watcher)
    }
}

impl Watcher {
    /// Adds a descriptor, which is not watched yet, and returns its number.
    ///
    /// # Errors
    /// If the descriptor cannot be watched: that of a file on disk cannot, which is always ready.
    pub(super) fn add(&self, fd: &OwnedFd, notifier: Notifier) -> io::Result<u64> {
        let number = {
            let mut notifiers = self.watched.notifiers.lock();
            notifiers.last += 1;
            let number = notifiers.last;
            notifiers.by_number.insert(number, notifier);
            number
        };
        if let Err(error) = self.watched.ready.add(number, fd) {
            self.watched.notifiers.lock().by_number.remove(&number);
            return Err(error);
        }
        Ok(number)
    }

    /// Notifies once as soon as one of the events is there.
    pub(super) fn watch(&self, number: u64, fd: &OwnedFd, events: PollFlags) -> io::Result<()> {
        self.watched.ready.watch(number, fd, events)
    }

    pub(super) fn remove(&self, number: u64, fd: &OwnedFd) {
        // A forked process shares the kernel's list with its parent, which still needs it.
        if !self.process.is_another() {
            self.watched.ready.remove(number, fd);
            self.watched.notifiers.lock().by_number.remove(&number);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if !self.process.is_another() {
            self.watched.ready.end();
        }
    }
}

impl Watched {
    fn run(&self) {
        let mut numbers = Vec::with_capacity(64);
        loop {
            numbers.clear();
            match self.ready.wait(&mut numbers) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    log::error!(target: "rospin", "file descriptors are not watched any more: {error}");
                    return;
                }
            }
            for number in &numbers {
                // Dropped by this thread only if the entity was removed meanwhile. Its drop runs no user code.
                let notifier = self.notifiers.lock().by_number.get(number).cloned();
                if let Some(notifier) = notifier {
                    notifier.notify();
                }
            }
        }
    }
}
