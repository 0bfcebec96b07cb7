//! SIGINT and SIGTERM: the first one halts the main executor, the next one ends the process.

use std::io;
use std::thread;

use rospin_node::Ros;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Installs the handlers, and starts the thread that waits for signals until the process ends.
pub(crate) fn halt_on_signal(ros: &Ros) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let executor = ros.executor().handle();
    let listen = move || {
        let mut has_halted = false;
        for signal in &mut signals {
            if has_halted {
                // A second signal means that the user does not want to wait for callbacks.
                let _ = emulate_default_handler(signal);
            }
            has_halted = true;
            executor.halt();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}
