//! `rospin top --web`: a page in the browser, which this command serves itself.
//!
//! The page is one file without references to others. It gets a state in each interval, as an event of a stream. The
//! server only reads: no request changes anything.

mod connection;
mod hosts;
mod page;
mod server;
pub(super) mod state;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rospin_report::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::hosts::Hosts;
use self::server::{Limits, Server};
use self::state::States;
use super::Proven;
use super::programs::Programs;

/// The port unless another one is given.
pub(super) const PORT: u16 = 8770;

/// Reasons for which the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebFailure {
    #[error("--address {0}: no address of this machine: {1}")]
    Address(String, io::Error),
    #[error("cannot listen at {0}: {1}; --port 0 takes a port that is free")]
    Listen(SocketAddr, io::Error),
    #[error("cannot serve the page: {0}")]
    Serve(io::Error),
}

/// Returns a socket that listens at the address and port, which may be 0 for one that is free.
fn listen(address: &str, port: u16) -> Result<TcpListener, WebFailure> {
    let wrong = |error| WebFailure::Address(address.to_owned(), error);
    let mut found = (address, port).to_socket_addrs().map_err(wrong)?;
    let found = found.next().ok_or_else(|| wrong(io::ErrorKind::NotFound.into()))?;
    TcpListener::bind(found).map_err(|error| match error.kind() {
        io::ErrorKind::AddrNotAvailable => WebFailure::Address(address.to_owned(), error),
        _ => WebFailure::Listen(found, error),
    })
}

/// Returns the name of the machine; the empty text if the kernel does not tell it.
fn machine() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Returns the address of the page.
fn url(bound: SocketAddr) -> String {
    if bound.ip().is_unspecified() {
        return format!("http://{}:{}/", machine(), bound.port());
    }
    format!("http://{bound}/")
}

/// Serves the page until Ctrl-C. `out` is stdout.
pub(super) fn run(
    address: &str,
    port: u16,
    interval: Duration,
    programs: &mut Programs,
    proven: Proven,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (stop, stopped) = mpsc::channel();
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| Failure::run(WebFailure::Serve(error)))?;
    let listener = listen(address, port).map_err(Failure::run)?;
    let mut states = States::new(proven);
    let first = states.next(&[], interval);
    let serve = || {
        let hosts = Hosts::new(listener.local_addr()?.ip(), address, &machine());
        let wait = move || {
            for _ in signals.forever() {
                // Who waits is gone after the first one.
                let _ = stop.send(());
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Server::start(listener, hosts, Limits::default(), &first)
    };
    let server = serve().map_err(|error| Failure::run(WebFailure::Serve(error)))?;
    writeln!(out, "{}", url(server.address()))?;
    writeln!(out, "Ctrl-C ends it.")?;
    out.flush()?;
    let mut next = Instant::now();
    loop {
        programs.look();
        // After the computer slept, nothing is made up for.
        next = (next + interval).max(Instant::now());
        match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        server.send(&states.next(&programs.show(), interval));
    }
}
