//! The thread that watches the descriptors of a context by epoll. It ends with the last descriptor.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFlags, eventfd};

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

/// The number of the descriptor that ends the thread.
const END: u64 = u64::MAX;

/// The number of descriptors that one look at the kernel may find ready.
const EVENTS_MAX: usize = 64;

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
    epoll: OwnedFd,
    /// Written to end the thread.
    end: OwnedFd,
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
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &end, EventData::new_u64(END), EventFlags::IN)?;
        let watched = Arc::new(Watched { epoll, end, notifiers: Mutex::default() });
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
        let added = epoll::add(&self.watched.epoll, fd, EventData::new_u64(number), EventFlags::ONESHOT);
        if let Err(error) = added {
            self.watched.notifiers.lock().by_number.remove(&number);
            return Err(error.into());
        }
        Ok(number)
    }

    /// Notifies once as soon as one of the events is there.
    pub(super) fn watch(&self, number: u64, fd: &OwnedFd, events: PollFlags) -> io::Result<()> {
        // Both have the kernel's numbers.
        let events = EventFlags::from_bits_truncate(u32::from(events.bits())) | EventFlags::ONESHOT;
        epoll::modify(&self.watched.epoll, fd, EventData::new_u64(number), events)?;
        Ok(())
    }

    pub(super) fn remove(&self, number: u64, fd: &OwnedFd) {
        // A forked process shares the kernel's list with its parent, which still needs it.
        if !self.process.is_another() {
            let _ = epoll::delete(&self.watched.epoll, fd);
            self.watched.notifiers.lock().by_number.remove(&number);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if !self.process.is_another() {
            // It can only fail if it was written before.
            let _ = rustix::io::write(&self.watched.end, &1_u64.to_ne_bytes());
        }
    }
}

impl Watched {
    fn run(&self) {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        loop {
            events.clear();
            let waited = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None);
            match waited {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    log::error!(target: "rospin", "file descriptors are not watched any more: {error}");
                    return;
                }
            }
            for event in &events {
                let number = event.data.u64();
                if number == END {
                    return;
                }
                // Dropped by this thread only if the entity was removed meanwhile. Its drop runs no user code.
                let notifier = self.notifiers.lock().by_number.get(&number).cloned();
                if let Some(notifier) = notifier {
                    notifier.notify();
                }
            }
        }
    }
}
