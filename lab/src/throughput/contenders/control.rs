//! Control of a contender: the contender reports that it runs, and is told to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Function that wakes a thread of the contender, so that it finds that it must end.
type Wake = Box<dyn Fn() + Send>;

/// Control that the measuring thread and the contender's threads share.
pub(crate) struct Control {
    /// True once the contender must end.
    over: AtomicBool,
    wakes: Mutex<Vec<Wake>>,
    /// Sender of the report that the contender runs.
    running: SyncSender<()>,
    /// Number of messages that the contender lost.
    lost_messages: AtomicU64,
    /// Number of timers' ticks that the contender lost.
    lost_ticks: AtomicU64,
}

impl Control {
    /// Creates a control. The receiver gets an item once the contender runs, and none if it fails before: wait for it
    /// with a timeout.
    pub(crate) fn new() -> (Self, Receiver<()>) {
        let (running, is_running) = sync_channel(1);
        let (over, wakes) = (AtomicBool::new(false), Mutex::default());
        let (lost_messages, lost_ticks) = (AtomicU64::new(0), AtomicU64::new(0));
        (Self { over, wakes, running, lost_messages, lost_ticks }, is_running)
    }

    /// Reports that a thread of the contender is ready for messages. `wake` is called when the contender must end. It
    /// wakes that thread, which then finds [`is_over`](Self::is_over) true.
    pub(super) fn running(&self, wake: impl Fn() + Send + 'static) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(wake));
        // Several threads of one contender report that they run. One report is enough.
        let _ = self.running.try_send(());
    }

    /// Returns true if the contender must end.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Counts a message that the contender lost before its callback, because a channel of the contender was full.
    pub(super) fn lose_message(&self) {
        self.lost_messages.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a timer's tick that the contender lost in the same way.
    pub(super) fn lose_tick(&self) {
        self.lost_ticks.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of messages that the contender [lost](Self::lose_message) so far.
    pub(crate) fn lost_messages(&self) -> u64 {
        self.lost_messages.load(Ordering::Relaxed)
    }

    /// Returns the number of messages and ticks that the contender lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost_messages() + self.lost_ticks.load(Ordering::Relaxed)
    }

    /// Tells the contender to end, and wakes its threads.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        for wake in &*self.wakes.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }
}
