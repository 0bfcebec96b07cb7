//! Control of a contender: the contender reports that it runs, and is told to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Function that wakes a thread of the contender, so that it finds that it must end.
type Wake = Box<dyn Fn() + Send>;

pub(crate) struct Control {
    over: AtomicBool,
    wakes: Mutex<Vec<Wake>>,
    running: SyncSender<()>,
    lost: AtomicU64,
}

impl Control {
    /// Creates a control. The receiver gets an item once the contender runs. It gets nothing if the contender fails before that,
    /// so that its caller must limit the wait.
    pub(crate) fn new() -> (Self, Receiver<()>) {
        let (running, is_running) = sync_channel(1);
        let (over, wakes, lost) = (AtomicBool::new(false), Mutex::default(), AtomicU64::new(0));
        (Self { over, wakes, running, lost }, is_running)
    }

    /// Reports that a thread of the contender is ready for messages. `wake` is called when the contender must end, and has that
    /// thread look.
    pub(super) fn running(&self, wake: impl Fn() + Send + 'static) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(wake));
        // Several threads of one contender report that they run. One report is enough.
        let _ = self.running.try_send(());
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Counts a message or a timer's tick that the contender lost before its callback, because a channel of the contender was
    /// full.
    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Tells the contender to end, and wakes its threads.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        for wake in &*self.wakes.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }
}
