//! The command's start: its addresses, its threads, its rights.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foxglove::{AppUrl, FoxgloveError};
use rospin_report::Failure;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::Options;
use super::rules::Rules;
use super::run::{self, Settings};
use super::shared::{Shared, Tell};
use crate::bag::to_stderr;
use crate::ros::{Discovery, Session};
use crate::top;

/// Threads that serve watchers.
const THREADS: usize = 2;

/// Reasons for which a bridge does not start.
#[derive(Debug, thiserror::Error)]
enum BridgeFailure {
    #[error("Tokio cannot be started: {0}")]
    Runtime(io::Error),
    #[error("nothing can listen on port {port} of {address}: {reason}")]
    Listen { address: String, port: u16, reason: io::Error },
    #[error(
        "other computers reach {0}, so --allow-changes is refused; with --token, those that have the token may change \
         something"
    )]
    Open(IpAddr),
    #[error("the server of Foxglove's SDK does not start: {0}")]
    Server(FoxgloveError),
}

/// Runs the command until the user interrupts it.
pub(super) fn run_with(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    // Before the network is joined, which takes time.
    Session::check_network()?;
    let bounds = match &options.system {
        Some(path) => top::prove(path)?.bounds.unwrap_or_default(),
        None => BTreeMap::new(),
    };
    let runtime = runtime()?;
    let listener = listen(&runtime, options)?;
    let session = Session::join(&Discovery::with_sim_time(options.use_sim_time))?;
    let address = begin(&session, options, bounds, &runtime, listener, to_stderr())?;
    let url = AppUrl::new().with_websocket(format!("ws://{address}"));
    writeln!(out, "Watch at ws://{address}, or in a browser at {url}; Ctrl-C ends it")?;
    out.flush()?;
    session.wait(std::future::pending::<()>())?;
    // Watchers that read nothing would be waited for otherwise.
    runtime.shutdown_background();
    Ok(())
}

/// Returns the threads that serve watchers.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(THREADS).thread_name("bridge").enable_all();
    builder.build().map_err(|error| Failure::run(BridgeFailure::Runtime(error)))
}

/// Listens for watchers. It is an error if all of other computers could change something.
pub(super) fn listen(runtime: &Runtime, options: &Options) -> Result<TcpListener, Failure> {
    let address = (options.address.trim_start_matches('[').trim_end_matches(']'), options.port);
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(|reason| {
        Failure::run(BridgeFailure::Listen { address: options.address.clone(), port: options.port, reason })
    })?;
    let local = listener.local_addr().map_err(Failure::run)?.ip();
    if options.allow_changes && options.token.is_none() && !local.is_loopback() {
        return Err(Failure::input(BridgeFailure::Open(local)));
    }
    Ok(listener)
}

/// Starts the bridge. Returns the address for watchers.
pub(super) fn begin(
    session: &Session,
    options: &Options,
    bounds: BTreeMap<String, std::time::Duration>,
    runtime: &Runtime,
    listener: TcpListener,
    tell: Tell,
) -> Result<SocketAddr, Failure> {
    let address = listener.local_addr().map_err(Failure::run)?;
    let choice = options.choice.clone();
    let bytes_max = options.send_buffer_limit;
    let shared = Shared::new(session, choice, bytes_max, options.use_sim_time, tell);
    let rules = Rules {
        token: options.token.clone(),
        // With a token, it decides.
        all_may_change: options.allow_changes && options.token.is_none(),
        origins: options.allow_origin.clone(),
    };
    let settings = Settings { rules, depth_max: options.max_qos_depth, interval: options.interval, bounds };
    let started = runtime.block_on(run::start(Arc::new(shared), settings, listener));
    started.map_err(|error| Failure::run(BridgeFailure::Server(error)))?;
    Ok(address)
}
