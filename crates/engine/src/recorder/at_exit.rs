//! The end of a recording with the process: a file that is complete says that the program ended by itself.

use std::sync::mpsc::channel;
use std::sync::{Mutex, Once, PoisonError};

use super::{PATIENCE, Recorder};
use crate::os::{Process, at_exit};

/// The recorders that are stopped when the process ends, each with its process.
static RECORDERS: Mutex<Vec<(Process, Recorder)>> = Mutex::new(Vec::new());

impl Recorder {
    /// Has the recorder [stopped](Self::stop) when the process ends by itself: when `main` returns, or
    /// [`std::process::exit`] is called. The process waits for that, for five seconds at most. A process that is
    /// killed, or aborts, does not come to it.
    pub fn stop_at_exit(&self) {
        static REGISTER: Once = Once::new();
        REGISTER.call_once(|| at_exit(stop_all));
        let mut recorders = RECORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if !recorders.iter().any(|(_, recorder)| recorder.0.number == self.0.number) {
            recorders.push((Process::this(), self.clone()));
        }
    }
}

/// Stops the recorders of this process. A thread does it, so that the end of the process waits no longer than it may:
/// the calling thread may have what the recorders need.
extern "C" fn stop_all() {
    // Another thread may be amid `stop_at_exit`, and comes too late.
    let recorders = RECORDERS.try_lock().map(|mut recorders| std::mem::take(&mut *recorders)).unwrap_or_default();
    // Nobody records in a forked process, whose locks may be held by threads that it does not have.
    let recorders: Vec<Recorder> = recorders
        .into_iter()
        .filter(|(process, recorder)| !process.is_another() && !recorder.is_asked_by_sink())
        .map(|(_, recorder)| recorder)
        .collect();
    if recorders.is_empty() {
        return;
    }
    let (done, finished) = channel();
    let stop = move || {
        recorders.iter().for_each(Recorder::stop);
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("rospin-end".to_owned()).spawn(stop).is_ok() {
        let _ = finished.recv_timeout(PATIENCE);
    }
}
