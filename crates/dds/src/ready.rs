//! Readers that are matched and may not listen yet.
//!
//! Discovery reports a match to both ends at different moments. A remote reader ignores a reliable writer until it has
//! got a heartbeat. It then asks for what it missed, but a writer that keeps the last few messages does not have all of
//! them. So a match is not reported before the reader has answered a heartbeat. A client waits also for a heartbeat
//! from the writer of its responses, which may not know of the client's reader before. Cyclone DDS calls nobody when
//! that happens: a thread polls, for the few milliseconds that it takes, and sleeps at all other times. The same thread
//! looks for [room](crate::room) in queues that were full, and drops what Cyclone DDS's threads must not drop.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::matches::Bond;
use crate::room::Room;

/// Time between two checks of the matches that may not listen yet.
const INTERVAL: Duration = Duration::from_millis(1);

/// The longest time between two looks for room in a queue. It is reached while none of the queues gets room.
const INTERVAL_MAX: Duration = Duration::from_millis(8);

/// Thread that looks after the matches of a domain, until this value is dropped.
pub(crate) struct Ready {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    work: Work,
    is_over: bool,
}

/// Work of the thread.
#[derive(Default)]
struct Work {
    /// Bonds with matches that may not listen yet.
    bonds: Vec<Weak<Bond>>,
    /// Rooms of queues that were full when a message came.
    rooms: Vec<Weak<Room>>,
    /// Values for this thread to drop, see [`Watch::let_go`].
    leftovers: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Work {
    const fn is_empty(&self) -> bool {
        self.bonds.is_empty() && self.rooms.is_empty() && self.leftovers.is_empty()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Code under this lock leaves nothing half done, so its poison is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work of the thread, and returns it, or `None` if the thread must end.
    fn next(&self) -> Option<Work> {
        let waits = |state: &mut State| state.work.is_empty() && !state.is_over;
        let mut state = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return None;
        }
        Some(std::mem::take(&mut state.work))
    }

    fn run(&self) {
        let mut interval = INTERVAL;
        while let Some(mut work) = self.next() {
            work.leftovers.clear();
            work.bonds.retain(|bond| bond.upgrade().is_some_and(|bond| !bond.prove()));
            let before = work.rooms.len();
            work.rooms.retain(|room| room.upgrade().is_some_and(|room| !room.look()));
            if work.is_empty() {
                interval = INTERVAL;
                continue;
            }
            let is_idle = work.bonds.is_empty() && work.rooms.len() == before;
            interval = if is_idle { (2 * interval).min(INTERVAL_MAX) } else { INTERVAL };
            thread::sleep(interval);
            let mut state = self.lock();
            state.work.bonds.append(&mut work.bonds);
            state.work.rooms.append(&mut work.rooms);
        }
    }
}

/// Handle that adds to the lists of bonds with matches that may not listen yet, and of queues that were full.
#[derive(Clone)]
pub(crate) struct Watch(Weak<Shared>);

impl Watch {
    /// Makes the thread look for room until there is some.
    pub(crate) fn add_room(&self, room: &Arc<Room>) {
        if let Some(shared) = self.0.upgrade() {
            shared.lock().work.rooms.push(Arc::downgrade(room));
            shared.changed.notify_one();
        }
    }

    /// Has the thread drop a clone, since it may be the last one of something that owns an entity. On a thread of
    /// Cyclone DDS, within a call that an entity makes, that would wait for ever: an entity goes when its calls are over.
    pub(crate) fn let_go(&self, clone: Arc<dyn Any + Send + Sync>) {
        if let Some(shared) = self.0.upgrade() {
            shared.lock().work.leftovers.push(clone);
            shared.changed.notify_one();
        }
    }

    /// Makes the thread look at the bond until all of its matches are sure to listen.
    pub(crate) fn add(&self, bond: &Arc<Bond>) {
        if let Some(shared) = self.0.upgrade() {
            shared.lock().work.bonds.push(Arc::downgrade(bond));
            shared.changed.notify_one();
        }
    }
}

impl Ready {
    /// Starts the thread, with the scheduling of the calling one.
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let looks = Arc::clone(&shared);
        let thread = thread::Builder::new().name("rospin-dds".to_owned()).spawn(move || looks.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch(Arc::downgrade(&self.shared))
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The dropping thread may be this thread itself: the last entity of a bond that it looked at can own the
            // last clone of the domain.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Sender};

    use super::*;

    /// Tells the name of the thread that drops it.
    struct Telling(Sender<Option<String>>);

    impl Drop for Telling {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().name().map(str::to_owned));
        }
    }

    #[test]
    fn what_is_let_go_is_dropped_on_the_thread() {
        let ready = Ready::start().unwrap();
        let (sender, told) = mpsc::channel();
        ready.watch().let_go(Arc::new(Telling(sender)));
        assert_eq!(told.recv_timeout(Duration::from_secs(60)).unwrap().as_deref(), Some("rospin-dds"));
    }
}
