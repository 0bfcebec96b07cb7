//! The logs of the threads that record.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use rospin_core::recording::{Definition, Words};

use super::{Recorder, fresh_thread};
use crate::lock_free::log::{Reader, Writer, log};
use crate::os::ThreadId;

/// The number of words of an event.
const WORDS: usize = 6;

/// The reading end of a thread's log.
pub(super) struct ThreadLog {
    pub(super) thread: u32,
    pub(super) kernel_id: u32,
    /// The name of the thread when it first recorded an event.
    name: Option<String>,
    pub(super) reader: Reader<WORDS>,
    /// The number of dropped events that was recorded already.
    pub(super) dropped: u64,
}

impl ThreadLog {
    /// Returns the definition of the thread, with the name that the kernel has for it now, or its first name if it has
    /// ended.
    pub(super) fn definition(&self) -> Definition {
        let path = format!("/proc/self/task/{}/comm", self.kernel_id);
        let name = std::fs::read_to_string(path).map(|name| name.trim_end().to_owned());
        let name = name.ok().or_else(|| self.name.clone()).unwrap_or_default();
        Definition::Thread { thread: self.thread, kernel_id: self.kernel_id, name }
    }
}

thread_local! {
    /// The logs of this thread, with the numbers of their recorders. Most processes have one recorder.
    static LOGS: RefCell<Vec<(u64, Writer<WORDS>)>> = const { RefCell::new(Vec::new()) };
}

impl Recorder {
    /// Appends an event to the log of the calling thread. A thread's first event allocates the log, and locks.
    #[inline]
    pub(super) fn write(&self, words: &Words) {
        let number = self.0.number;
        // While a thread ends, its log may be gone already.
        let _ = LOGS.try_with(|logs| {
            let Ok(mut logs) = logs.try_borrow_mut() else { return };
            match logs.iter_mut().find(|(of, _)| *of == number) {
                Some((_, writer)) => writer.push(words),
                None => self.write_first(&mut logs, words),
            }
        });
    }

    #[cold]
    fn write_first(&self, logs: &mut Vec<(u64, Writer<WORDS>)>, words: &Words) {
        // Recorders that are gone need no logs.
        logs.retain(|(_, writer)| !writer.is_orphaned());
        let (mut writer, reader) = log(self.0.capacity.load(Ordering::Relaxed));
        writer.push(words);
        logs.push((self.0.number, writer));
        let name = std::thread::current().name().map(str::to_owned);
        let kernel_id = ThreadId::current().as_raw().unsigned_abs();
        let log = ThreadLog { thread: fresh_thread(), kernel_id, name, reader, dropped: 0 };
        self.lock().logs.push(log);
    }
}
