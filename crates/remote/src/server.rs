//! The server: it listens, and gives each connection a thread.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use rospin_accelerator::Accelerator;
use rospin_engine::Mutex;
use rospin_engine::os::ThreadOptions;

use crate::access::Access;
use crate::kernels::Kernels;
use crate::session;
use crate::socket::Socket;
use crate::wire::{KERNELS_MAX, NAME_MAX, ToClient};

/// Number of connections, beyond one for each client, that may be there without being a client yet.
const STRANGERS: usize = 8;

/// Options of a [`Server`].
#[derive(Clone, Debug)]
pub struct ServerOptions {
    thread: ThreadOptions,
}

impl ServerOptions {
    /// Creates options: ordinary threads.
    #[must_use]
    pub fn new() -> Self {
        Self { thread: ThreadOptions::new() }
    }

    /// Sets the scheduling of the threads that take the clients' requests, one for each connection. An urgent request is not taken
    /// sooner than its thread runs, so they should be above the threads of unimportant work.
    #[must_use]
    pub fn thread(mut self, thread: ThreadOptions) -> Self {
        self.thread = thread;
        self
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Errors of [`Server::start`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Another server listens there.
    #[error("{}: another server listens there; stop it, or choose another path", path.display())]
    Busy {
        /// The path of the socket.
        path: PathBuf,
    },
    /// The socket cannot be created.
    #[error("{}: no socket can be created there: {reason}", path.display())]
    Socket {
        /// The path of the socket.
        path: PathBuf,
        /// The kernel's reason.
        reason: io::Error,
    },
    /// There are too many kernels, or a name is too long.
    #[error("a server has at most {KERNELS_MAX} kernels, with names of at most {NAME_MAX} bytes")]
    Kernels,
    /// The operating system starts no thread.
    #[error("the server's thread cannot be started: {0}")]
    Thread(io::Error),
}

/// A server that lets other processes use an accelerator. Dropping it ends all sessions: their clients' requests end with an error.
pub struct Server {
    shared: Arc<dyn Stop>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// What all sessions of a server share.
pub(crate) struct Shared<K: Kernels> {
    pub(crate) accelerator: Accelerator<K::Device>,
    pub(crate) kernels: K,
    pub(crate) names: Vec<String>,
    pub(crate) access: Access,
    pub(crate) own_user: u32,
    /// The clients that are there.
    pub(crate) present: Mutex<BTreeSet<String>>,
    options: ServerOptions,
    listener: Socket,
    is_stopped: AtomicBool,
    /// Handles to the connections, by which a stop ends them. Those of sessions that have ended are removed.
    connections: Mutex<Vec<(usize, Socket)>>,
    next_connection: AtomicUsize,
}

/// The end of a server, whatever its kernels.
trait Stop: Send + Sync {
    fn stop(&self);
    fn sessions(&self) -> usize;
}

impl<K: Kernels> Stop for Shared<K> {
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.listener.close();
        self.connections.lock().iter().for_each(|(_, socket)| socket.close());
    }

    fn sessions(&self) -> usize {
        self.present.lock().len()
    }
}

impl Server {
    /// Listens at the path for clients of the accelerator. A socket that a server left there is replaced. The socket is for all users
    /// of the machine, because the clients' entries say which user each may be; its folder may say otherwise.
    ///
    /// # Errors
    /// If another server listens there, the socket cannot be created, there are too many kernels, or no thread starts.
    pub fn start<K: Kernels>(
        path: &Path,
        accelerator: Accelerator<K::Device>,
        kernels: K,
        access: Access,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let names = kernels.names();
        if names.len() > KERNELS_MAX || names.iter().any(|name| name.len() > NAME_MAX) {
            return Err(ServerError::Kernels);
        }
        let shared = Arc::new(Shared {
            accelerator,
            kernels,
            names,
            access,
            own_user: rustix::process::geteuid().as_raw(),
            present: Mutex::new(BTreeSet::new()),
            options,
            listener: listen(path)?,
            is_stopped: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
            next_connection: AtomicUsize::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("accelerator".to_owned()).spawn(move || for_thread.run());
        Ok(Self { shared, path: path.to_owned(), thread: Some(thread.map_err(ServerError::Thread)?) })
    }

    /// Returns the number of clients that are there.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.shared.sessions()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed.
            let _ = thread.join();
        }
        // Another server may have replaced it, which does no harm: clients that come later name the path.
        let _ = fs::remove_file(&self.path);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Creates the socket in place of one at which nobody listens.
fn listen(path: &Path) -> Result<Socket, ServerError> {
    let failed = |reason| ServerError::Socket { path: path.to_owned(), reason };
    if Socket::connect(path).is_ok() {
        return Err(ServerError::Busy { path: path.to_owned() });
    }
    if fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()) {
        fs::remove_file(path).map_err(failed)?;
    }
    let socket = Socket::listen(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(failed)?;
    Ok(socket)
}

impl<K: Kernels> Shared<K> {
    /// Accepts connections until the server is stopped, and waits for their threads.
    fn run(self: &Arc<Self>) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        while !self.is_stopped.load(Ordering::SeqCst) {
            let Ok(socket) = self.listener.accept() else {
                // The listener is closed, or there are no more file descriptors, which others may give back.
                thread::yield_now();
                continue;
            };
            threads.retain(|thread| !thread.is_finished());
            if threads.len() >= self.access.len() + STRANGERS {
                let reason = ToClient::Rejected("the server has too many connections".to_owned());
                // Whoever floods the server need not read it.
                let _ = socket.send(&reason.encode(), None);
                continue;
            }
            threads.extend(self.attend(socket));
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Starts the thread of a connection; `None` if it cannot be, which closes the connection.
    fn attend(self: &Arc<Self>, socket: Socket) -> Option<JoinHandle<()>> {
        let number = self.next_connection.fetch_add(1, Ordering::Relaxed);
        self.connections.lock().push((number, socket.try_clone().ok()?));
        // A stop that came before the connection was in the list did not close it.
        if self.is_stopped.load(Ordering::SeqCst) {
            socket.close();
        }
        let shared = Arc::clone(self);
        let attend = move || {
            // A setting that the kernel refuses leaves the thread as it was.
            shared.options.thread.apply();
            session::run(&shared, Arc::new(socket));
            let gone = {
                let mut connections = shared.connections.lock();
                let place = connections.iter().position(|(other, _)| *other == number);
                place.map(|place| connections.swap_remove(place))
            };
            drop(gone);
        };
        thread::Builder::new().name("accelerator".to_owned()).spawn(attend).ok()
    }
}
