//! The client of an accelerator that a server owns.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rospin_engine::Mutex;
use rospin_engine::os::ThreadOptions;

use crate::completion::{RemoteCompletion, Slot, Waiting};
use crate::memory::{MemoryError, SharedMemory};
use crate::socket::Socket;
use crate::wire::{ARGUMENTS_MAX, NAME_MAX, SEGMENTS_MAX, SegmentMessage, ToClient, ToServer, VERSION};

/// The longest time that a server may take to accept a client.
const PATIENCE: Duration = Duration::from_secs(10);

/// Errors of [`RemoteClient::connect`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody listens at the path.
    #[error("{}: no server of an accelerator listens there ({reason}); start it first", path.display())]
    NoServer {
        /// The path of the socket.
        path: PathBuf,
        /// The kernel's reason.
        reason: io::Error,
    },
    /// The memory cannot be created.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The name is longer than any.
    #[error("a client's name has at most {NAME_MAX} bytes")]
    Name,
    /// The server does not accept the client.
    #[error("the server rejected the client: {reason}")]
    Rejected {
        /// The server's words.
        reason: String,
    },
    /// The server did not answer as a server of this version does.
    #[error("{}: whoever listens there did not answer as a server of an accelerator does", path.display())]
    NoAnswer {
        /// The path of the socket.
        path: PathBuf,
    },
    /// The operating system starts no thread.
    #[error("the client's thread cannot be started: {0}")]
    Thread(io::Error),
}

/// Reasons for which a request is not sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server has no kernel of that name.
    #[error("the server has no kernel `{kernel}`; it has {known}")]
    NoSuchKernel {
        /// The name.
        kernel: String,
        /// The names that the server has.
        known: String,
    },
    /// A request has too many segments.
    #[error("a request has at most {SEGMENTS_MAX} segments")]
    TooManySegments,
    /// The arguments of a segment are too long.
    #[error("a segment has at most {ARGUMENTS_MAX} bytes of arguments; write more into the memory")]
    ArgumentsTooLong,
    /// The server is gone, has closed the connection, or is so busy that it does not take the request.
    #[error("the request cannot be sent to the server of the accelerator: {reason}")]
    NotSent {
        /// The kernel's reason.
        reason: String,
    },
}

/// A segment of a request to a server: one of its kernels, with arguments and places in the client's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteSegment {
    kernel: String,
    bound: Option<Duration>,
    input: (u64, u64),
    output: (u64, u64),
    arguments: Vec<u8>,
}

impl RemoteSegment {
    /// Creates a segment that runs the kernel of that name: without a bound, arguments, input and output.
    #[must_use]
    pub fn new(kernel: impl Into<String>) -> Self {
        Self { kernel: kernel.into(), bound: None, input: (0, 0), output: (0, 0), arguments: Vec::new() }
    }

    /// Sets the longest time that the segment keeps the device busy. Longer is an overrun, which counts against the
    /// client.
    #[must_use]
    pub const fn bound(mut self, bound: Duration) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Sets what the kernel reads: so many bytes of the client's memory, from `offset` on.
    #[must_use]
    pub const fn input(mut self, offset: usize, bytes: usize) -> Self {
        self.input = (offset as u64, bytes as u64);
        self
    }

    /// Sets what the kernel writes: so many bytes of the client's memory, from `offset` on.
    #[must_use]
    pub const fn output(mut self, offset: usize, bytes: usize) -> Self {
        self.output = (offset as u64, bytes as u64);
        self
    }

    /// Sets the kernel's arguments, at most 128 bytes.
    #[must_use]
    pub fn arguments(mut self, arguments: impl Into<Vec<u8>>) -> Self {
        self.arguments = arguments.into();
        self
    }
}

/// Client of an accelerator in another process, under a name that the server's deployment file has. Its requests run
/// one after the other, in the order of their calls.
///
/// Dropping it ends the session: requests that wait end, and a segment that runs goes on to its end. If the process
/// dies, the kernel does the same.
pub struct RemoteClient {
    socket: Arc<Socket>,
    memory: SharedMemory,
    kernels: Vec<String>,
    waiting: Arc<Mutex<Waiting>>,
    next: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl RemoteClient {
    /// Connects to the server that listens at the path, as the client of that name, and shares so many bytes of memory
    /// with it. Waits for the server's answer, for 10 s at most. A thread with these options takes the server's answers
    /// from then on.
    ///
    /// # Errors
    /// If no server listens there, it does not accept the client, or memory or thread cannot be had.
    pub fn connect(path: &Path, name: &str, bytes: usize, thread: ThreadOptions) -> Result<Self, ConnectError> {
        if name.len() > NAME_MAX {
            return Err(ConnectError::Name);
        }
        let memory = SharedMemory::create(bytes)?;
        let no_server = |reason| ConnectError::NoServer { path: path.to_owned(), reason };
        let no_answer = || ConnectError::NoAnswer { path: path.to_owned() };
        let socket = Socket::connect(path).map_err(no_server)?;
        socket.set_patience(Some(PATIENCE)).map_err(no_server)?;
        let hello = ToServer::Hello { version: VERSION, name: name.to_owned() };
        // A server with too many connections answers before it is asked, so its answer counts also if this fails.
        let _ = socket.send(&hello.encode(), Some(memory.file()));
        let mut buffer = Vec::new();
        let answer = socket.receive(&mut buffer).ok().flatten().ok_or_else(no_answer)?;
        let kernels = match ToClient::decode(&answer.bytes) {
            Ok(ToClient::Welcome { kernels }) => kernels,
            Ok(ToClient::Rejected(reason)) => return Err(ConnectError::Rejected { reason }),
            _ => return Err(no_answer()),
        };
        socket.set_patience(None).map_err(no_server)?;
        let socket = Arc::new(socket);
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let for_thread = Arc::clone(&socket);
        let answers = Arc::clone(&waiting);
        let listen = move || {
            // A setting that the kernel refuses leaves the thread as it was.
            thread.apply();
            listen(&for_thread, &answers);
        };
        let thread =
            thread::Builder::new().name("accelerator".to_owned()).spawn(listen).map_err(ConnectError::Thread)?;
        Ok(Self { socket, memory, kernels, waiting, next: AtomicU64::new(0), thread: Some(thread) })
    }

    /// Returns the memory that the server shares.
    #[must_use]
    pub const fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// Returns the names of the server's kernels.
    #[must_use]
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// Sends a request. Returns the future of its result; its drop cancels the request. What the server does not
    /// accept, such as more requests than the client may have at a time, is the future's error.
    ///
    /// Callbacks may call it: it sends one packet, and never waits. It allocates.
    ///
    /// # Errors
    /// If the server has no such kernel, the request is larger than any, or the server is gone.
    pub fn request(&self, segments: impl IntoIterator<Item = RemoteSegment>) -> Result<RemoteCompletion, CallError> {
        let segments = segments.into_iter().map(|segment| self.message(segment)).collect::<Result<Vec<_>, _>>()?;
        if segments.len() > SEGMENTS_MAX {
            return Err(CallError::TooManySegments);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().requests.insert(number, Slot::default());
        let sent = self.socket.send(&ToServer::Request { number, segments }.encode(), None);
        if let Err(reason) = sent {
            self.waiting.lock().requests.remove(&number);
            return Err(CallError::NotSent { reason: reason.to_string() });
        }
        Ok(RemoteCompletion::new(number, Arc::clone(&self.waiting), Arc::clone(&self.socket)))
    }

    fn message(&self, segment: RemoteSegment) -> Result<SegmentMessage, CallError> {
        let RemoteSegment { kernel, bound, input, output, arguments } = segment;
        if arguments.len() > ARGUMENTS_MAX {
            return Err(CallError::ArgumentsTooLong);
        }
        let place = self.kernels.iter().position(|name| *name == kernel);
        let place = place.and_then(|place| u32::try_from(place).ok());
        let unknown = || CallError::NoSuchKernel { kernel: kernel.clone(), known: self.kernels.join(", ") };
        Ok(SegmentMessage { kernel: place.ok_or_else(unknown)?, bound, input, output, arguments })
    }
}

impl Drop for RemoteClient {
    fn drop(&mut self) {
        self.socket.close();
        // The client's own thread drops it if a callback that it woke had the last handle.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            // A panic of the thread was printed.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for RemoteClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteClient").field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// Takes the server's answers, until the connection is closed.
fn listen(socket: &Socket, waiting: &Mutex<Waiting>) {
    let mut buffer = Vec::new();
    while let Ok(Some(received)) = socket.receive(&mut buffer) {
        let Ok(ToClient::Ended { number, answer }) = ToClient::decode(&received.bytes) else { break };
        // A request that was cancelled has no slot.
        let waker = {
            let mut waiting = waiting.lock();
            let slot = waiting.requests.get_mut(&number);
            slot.and_then(|slot| {
                slot.answer = Some(answer);
                slot.waker.take()
            })
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
    socket.close();
    let wakers: Vec<_> = {
        let mut waiting = waiting.lock();
        waiting.is_gone = true;
        waiting.requests.values_mut().filter_map(|slot| slot.waker.take()).collect()
    };
    for waker in wakers {
        waker.wake();
    }
}
