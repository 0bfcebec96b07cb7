//! SIGINT and SIGTERM: the first one halts all executors, one that comes more than a second after it ends the process.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rospin_node::Ros;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Time after the first signal in which another one is the same request: a launcher passes on what the terminal sent
/// already.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// Installs the handlers, and starts the thread that waits for signals until the process ends.
pub(crate) fn halt_on_signal(ros: &Ros) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let context = ros.context().clone();
    let listen = move || {
        let mut halted_at = None;
        for signal in &mut signals {
            let since = halted_at.get_or_insert_with(Instant::now).elapsed();
            if since > SAME_REQUEST {
                // A second signal means that the user does not want to wait for callbacks.
                let _ = emulate_default_handler(signal);
            }
            context.halt_all();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}
