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
use std::time::Duration;

use rospin_accelerator::Accelerator;
use rospin_engine::Mutex;
use rospin_engine::os::ThreadOptions;

use crate::access::Access;
use crate::kernels::Kernels;
use crate::session;
use crate::socket::Socket;
use crate::wire::{KERNELS_MAX, NAME_MAX};

/// Number of connections that may be there without being a client yet. One more ends the one that has been there for
/// longest.
const STRANGERS: usize = 8;
/// The time before the next attempt to accept a connection if one has failed: there may be no file descriptors.
const RETRY: Duration = Duration::from_millis(10);

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

    /// Sets the scheduling of the threads that take the clients' requests, one for each connection. An urgent request
    /// is not taken sooner than its thread runs, so they should be above the threads of unimportant work.
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

/// A server that lets other processes use an accelerator. Dropping it ends all sessions: their clients' requests end
/// with an error.
pub struct Server {
    shared: Arc<dyn Stop>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// State that all sessions of a server share.
pub(crate) struct Shared<K: Kernels> {
    pub(crate) accelerator: Accelerator<K::Device>,
    pub(crate) kernels: K,
    pub(crate) names: Vec<String>,
    pub(crate) access: Access,
    pub(crate) own_user: u32,
    /// The clients that are there.
    pub(crate) present: Mutex<BTreeSet<String>>,
    /// True once memory could not be pinned, which is logged once.
    pub(crate) is_unpinned: AtomicBool,
    options: ServerOptions,
    listener: Socket,
    is_stopped: AtomicBool,
    /// The connections, in the order in which they came. Those of sessions that have ended are removed.
    connections: Mutex<Vec<Connection>>,
    next_connection: AtomicUsize,
}

/// A connection, as others than its own thread see it.
struct Connection {
    number: usize,
    /// A handle, by which others end it.
    socket: Socket,
    is_client: bool,
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
        for connection in self.connections.lock().iter() {
            connection.socket.close();
        }
    }

    fn sessions(&self) -> usize {
        self.present.lock().len()
    }
}

impl Server {
    /// Listens at the path for clients of the accelerator. A socket that a server left there is replaced. The socket is
    /// for all users of the machine, because the clients' entries say which user each may be; its folder may say
    /// otherwise.
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
            is_unpinned: AtomicBool::new(false),
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
        // Before the end, after which another server may listen there. It may be gone already.
        let _ = fs::remove_file(&self.path);
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed.
            let _ = thread.join();
        }
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
                if !self.is_stopped.load(Ordering::SeqCst) {
                    thread::sleep(RETRY);
                }
                continue;
            };
            threads.retain(|thread| !thread.is_finished());
            threads.extend(self.attend(socket));
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Starts the thread of a connection; `None` if it cannot be, which closes the connection.
    fn attend(self: &Arc<Self>, socket: Socket) -> Option<JoinHandle<()>> {
        let number = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let connection = Connection { number, socket: socket.try_clone().ok()?, is_client: false };
        {
            let mut connections = self.connections.lock();
            if connections.iter().filter(|connection| !connection.is_client).count() >= STRANGERS
                && let Some(oldest) = connections.iter().position(|connection| !connection.is_client)
            {
                connections.remove(oldest).socket.close();
            }
            connections.push(connection);
        }
        // A stop that came before the connection was in the list did not close it.
        if self.is_stopped.load(Ordering::SeqCst) {
            socket.close();
        }
        let shared = Arc::clone(self);
        let attend = move || {
            // A setting that the kernel refuses leaves the thread as it was.
            shared.options.thread.apply();
            // Removes the connection also if a kernel of the user panics.
            let _gone = Gone { shared: &*shared, number };
            session::run(&shared, Arc::new(socket), number);
        };
        thread::Builder::new().name("accelerator".to_owned()).spawn(attend).ok()
    }
}

/// Removes a connection when it is dropped.
struct Gone<'a, K: Kernels> {
    shared: &'a Shared<K>,
    number: usize,
}

impl<K: Kernels> Drop for Gone<'_, K> {
    fn drop(&mut self) {
        let mut connections = self.shared.connections.lock();
        let place = connections.iter().position(|connection| connection.number == self.number);
        let gone = place.map(|place| connections.remove(place));
        drop(connections);
        drop(gone);
    }
}

impl<K: Kernels> Shared<K> {
    /// Takes the name for the connection with that number. Returns false if another one has it.
    pub(crate) fn enter(&self, name: &str, number: usize) -> bool {
        if !self.present.lock().insert(name.to_owned()) {
            return false;
        }
        if let Some(connection) = self.connections.lock().iter_mut().find(|connection| connection.number == number) {
            connection.is_client = true;
        }
        true
    }
}
