//! Progress of a long analysis, and Ctrl-C, which ends it with the bounds that it has so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rospin_analysis::Monitor;
use rospin_report::progress::LateProgress;
use signal_hook::consts::SIGINT;

/// The time between two looks at the monitor.
const EVERY: Duration = Duration::from_millis(20);
/// The exit code that a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Thread that shows the progress of an analysis and notices Ctrl-C.
pub(super) struct Watch {
    monitor: Monitor,
    /// True once the thread must end.
    over: Arc<AtomicBool>,
    /// True after the first Ctrl-C. The next one ends the program.
    interrupted: Arc<AtomicBool>,
    /// Thread that watches; `None` if it could not be started. There is no progress then, and Ctrl-C ends the program
    /// as usual.
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. The first Ctrl-C stops the analysis that uses the [monitor](Self::monitor), the second one
    /// the program. With `quiet`, no progress is shown.
    pub(super) fn begin(quiet: bool) -> Self {
        let (over, interrupted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let monitor = Monitor::default();
        let (watched, ended, asked) = (monitor.clone(), Arc::clone(&over), Arc::clone(&interrupted));
        let look = move || {
            let mut progress = LateProgress::begin(super::options::NAME, quiet);
            while !ended.load(Ordering::Relaxed) {
                if asked.load(Ordering::Relaxed) {
                    watched.stop();
                }
                progress.at(watched.share());
                std::thread::park_timeout(EVERY);
            }
            progress.end();
        };
        let thread = std::thread::Builder::new().name("rospin-watch".to_owned()).spawn(look).ok();
        if thread.is_some() {
            // The handlers are registered in this order, so that the first Ctrl-C only sets the flag, and the second
            // one finds it set. If a handler cannot be installed, Ctrl-C ends the program as usual.
            let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&interrupted));
            let _ = signal_hook::flag::register(SIGINT, Arc::clone(&interrupted));
        }
        Self { monitor, over, interrupted, thread }
    }

    /// Returns the monitor of the analysis that is watched.
    pub(super) const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Ends the watch, once the analysis is done. From now on, Ctrl-C ends the program at once.
    pub(super) fn end(self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
