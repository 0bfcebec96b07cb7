//! SIGINT and SIGTERM: the first signal ends a container, one that comes more than a second after it ends the process.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use crate::ending::{Ended, Ending};

/// A signal so soon after the first one is the same request: a launcher passes on what the terminal sent already.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// Guard that passes signals to a container. After it is dropped, signals have their default effect again.
pub(crate) struct Listening {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    _claim: Claim,
}

impl Listening {
    pub(crate) fn start(ending: &Arc<Ending>) -> io::Result<Self> {
        let claim = Claim::new()?;
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let ending = Arc::clone(ending);
        let listen = move || {
            let mut ended_at = None;
            for signal in &mut signals {
                let since = ended_at.get_or_insert_with(Instant::now).elapsed();
                if since > SAME_REQUEST {
                    // A second signal means that the user does not want to wait for callbacks.
                    let _ = emulate_default_handler(signal);
                }
                ending.set(Ok(Ended::Signal { signal: if signal == SIGINT { "SIGINT" } else { "SIGTERM" } }));
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(Self { handle, thread: Some(thread), _claim: claim })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread has no code that could panic.
            let _ = thread.join();
        }
    }
}

/// Number of containers in this process that listen for signals. A handler that was installed stays for good. So it
/// must end the process itself while no container listens.
static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners { count: 0, is_unheard: None });

struct Listeners {
    count: usize,
    /// True while no container listens, so that the handler ends the process. `None` before the handler is installed.
    is_unheard: Option<Arc<AtomicBool>>,
}

/// Guard that keeps signals from ending the process until it is dropped.
struct Claim;

impl Claim {
    fn new() -> io::Result<Self> {
        let mut listeners = listeners();
        if listeners.is_unheard.is_none() {
            let is_unheard = Arc::new(AtomicBool::new(false));
            for signal in [SIGINT, SIGTERM] {
                flag::register_conditional_default(signal, Arc::clone(&is_unheard))?;
            }
            listeners.is_unheard = Some(is_unheard);
        }
        listeners.count += 1;
        listeners.tell();
        Ok(Self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut listeners = listeners();
        listeners.count -= 1;
        listeners.tell();
    }
}

impl Listeners {
    /// Tells the handler if a container listens.
    fn tell(&self) {
        if let Some(is_unheard) = &self.is_unheard {
            is_unheard.store(self.count == 0, Ordering::Relaxed);
        }
    }
}

fn listeners() -> MutexGuard<'static, Listeners> {
    // A number and a flag, which are consistent between any two operations.
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}
