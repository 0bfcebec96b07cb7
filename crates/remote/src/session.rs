//! A client that is connected: its thread takes requests, and whoever sees the end of one answers it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use rospin_accelerator::{
    Backend, Client, ClientOptions, Completion, Instant, Outcome, Request, RequestError, Segment,
};
use rospin_engine::Mutex;

use crate::access;
use crate::kernels::{Call, Kernels};
use crate::memory::SharedMemory;
use crate::server::Shared;
use crate::socket::Socket;
use crate::wire::{Answer, Place, SegmentMessage, ToClient, ToServer, VERSION};

/// The time that a connection has to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// The requests of a client that have not ended, by their numbers.
struct Open<K: Kernels> {
    completions: Mutex<HashMap<u64, Completion<K::Device>>>,
    socket: Arc<Socket>,
}

/// Attends to a connection until the client closes it, says what cannot be understood, or does not read its answers.
pub(crate) fn run<K: Kernels>(shared: &Arc<Shared<K>>, socket: Arc<Socket>, number: usize) {
    let mut buffer = Vec::new();
    let greeted = match greet(shared, &socket, number, &mut buffer) {
        Ok(Some(greeted)) => greeted,
        Ok(None) => return,
        Err(reason) => {
            log::warn!(target: "rospin", "a client of the accelerator was rejected: {reason}");
            // It may be gone.
            let _ = socket.send(&ToClient::Rejected(reason).encode(), None);
            return;
        }
    };
    serve(shared, &socket, &greeted, &mut buffer);
}

/// A client that may use the accelerator.
struct Greeted<'a, K: Kernels> {
    shared: &'a Shared<K>,
    /// Its name, which is taken as long as this value lives.
    name: String,
    options: ClientOptions,
    memory: SharedMemory,
}

impl<K: Kernels> Drop for Greeted<'_, K> {
    fn drop(&mut self) {
        self.shared.present.lock().remove(&self.name);
    }
}

/// Learns who the client is, and takes its name; `None` if the connection was closed. The error is a sentence for the
/// client.
fn greet<'a, K: Kernels>(
    shared: &'a Shared<K>,
    socket: &Socket,
    number: usize,
    buffer: &mut Vec<u8>,
) -> Result<Option<Greeted<'a, K>>, String> {
    let plain = |error: std::io::Error| error.to_string();
    socket.set_patience(Some(PATIENCE)).map_err(plain)?;
    let Some(hello) = socket.receive(buffer).map_err(|_| "it did not say who it is".to_owned())? else {
        return Ok(None);
    };
    let message = ToServer::decode(&hello.bytes).map_err(|error| error.to_string())?;
    let ToServer::Hello { version, name } = message else { return Err("it did not say who it is".to_owned()) };
    if version != VERSION {
        return Err(format!("client `{name}` speaks version {version} of the protocol, and this server {VERSION}"));
    }
    let plan = shared.access.admit(&name, socket.user().map_err(plain)?, shared.own_user)?;
    let file = hello.file.ok_or_else(|| format!("client `{name}` brought no memory"))?;
    let memory = SharedMemory::of(file, access::memory(plan)).map_err(|error| format!("client `{name}`: {error}"))?;
    if !shared.enter(&name, number) {
        return Err(format!("client `{name}` is there already, in another process or as another connection"));
    }
    Ok(Some(Greeted { shared, name, options: access::options(plan), memory }))
}

/// Pins the client's memory, if the device can.
fn pin<K: Kernels>(shared: &Shared<K>, name: &str, memory: &SharedMemory) {
    // The panic was printed. It is the server's own mistake, and must not end the session.
    let pinned = catch_unwind(AssertUnwindSafe(|| shared.kernels.pin(memory)));
    match pinned.unwrap_or_else(|_| Err("it panicked".to_owned())) {
        Ok(Some(pin)) => memory.keep_pinned(pin),
        Ok(None) => {}
        Err(reason) => {
            if !shared.is_unpinned.swap(true, Ordering::Relaxed) {
                log::warn!(
                    target: "rospin",
                    "the memory of client `{name}` of the accelerator, and perhaps that of others, is not pinned for \
                     the device, so that each copy takes longer: {reason}"
                );
            }
        }
    }
}

/// Takes the client's requests.
fn serve<K: Kernels>(shared: &Arc<Shared<K>>, socket: &Arc<Socket>, greeted: &Greeted<'_, K>, buffer: &mut Vec<u8>) {
    let Greeted { name, options, memory, .. } = greeted;
    let client = match shared.accelerator.create_client(options.clone()) {
        Ok(client) => client,
        // It may be gone.
        Err(error) => return drop(socket.send(&ToClient::Rejected(error.to_string()).encode(), None)),
    };
    pin(shared, name, memory);
    let welcome = ToClient::Welcome { kernels: shared.names.clone() };
    if socket.set_patience(None).is_err() || socket.send(&welcome.encode(), None).is_err() {
        return;
    }
    let open = Arc::new(Open { completions: Mutex::new(HashMap::new()), socket: Arc::clone(socket) });
    while let Ok(Some(received)) = socket.receive(buffer) {
        match ToServer::decode(&received.bytes) {
            Ok(ToServer::Request { number, segments }) => request(shared, &open, &client, memory, number, segments),
            Ok(ToServer::Cancel { number }) => {
                let cancelled = open.completions.lock().remove(&number);
                drop(cancelled);
            }
            Ok(ToServer::Hello { .. }) | Err(_) => {
                log::warn!(target: "rospin", "client `{name}` of the accelerator sent what cannot be understood");
                break;
            }
        }
    }
    // Whoever still sees an end has nobody to tell.
    socket.close();
    let cancelled = std::mem::take(&mut *open.completions.lock());
    drop(cancelled);
}

/// Sends a request to the accelerator, and answers it if that is refused.
fn request<K: Kernels>(
    shared: &Shared<K>,
    open: &Arc<Open<K>>,
    client: &Client<K::Device>,
    memory: &SharedMemory,
    number: u64,
    segments: Vec<SegmentMessage>,
) {
    let refuse = |reason: String| open.answer(number, Answer::Refused(reason));
    if open.completions.lock().contains_key(&number) {
        return refuse(format!("the request {number} is there already"));
    }
    let made: Result<Vec<_>, _> = segments.into_iter().map(|segment| work(shared, memory, segment)).collect();
    let segments = match made {
        Ok(segments) => segments,
        Err(reason) => return refuse(reason),
    };
    match client.request(Request::new(segments)) {
        Ok(completion) => {
            open.completions.lock().insert(number, completion);
            // Asks to be woken, or learns that it has ended.
            Arc::new(End { open: Arc::clone(open), number }).look();
        }
        Err(error) => refuse(error.to_string()),
    }
}

/// Returns the segment on the device. The error is a sentence for the client.
fn work<K: Kernels>(
    shared: &Shared<K>,
    memory: &SharedMemory,
    segment: SegmentMessage,
) -> Result<Segment<<K::Device as Backend>::Work>, String> {
    let SegmentMessage { kernel, bound, input, output, arguments } = segment;
    let region = |what: &str, (offset, bytes): Place| {
        let place = usize::try_from(offset).ok().zip(usize::try_from(bytes).ok());
        let region = place.and_then(|(offset, bytes)| memory.region(offset, bytes));
        region.ok_or_else(|| {
            format!("the {what}, {bytes} bytes at {offset}, exceeds the memory of {} bytes", memory.len())
        })
    };
    let kernel = kernel as usize;
    let name = shared.names.get(kernel);
    let name = name.ok_or_else(|| format!("there is no kernel {kernel}; the server has {}", shared.names.len()))?;
    let call = Call { kernel, arguments, input: region("input", input)?, output: region("output", output)? };
    // The panic was printed. It is the server's own mistake, and must not end the session.
    let made =
        catch_unwind(AssertUnwindSafe(|| shared.kernels.work(call))).unwrap_or_else(|_| Err("it panicked".to_owned()));
    let work = made.map_err(|reason| format!("kernel `{name}`: {reason}"))?;
    let segment = Segment::new(work);
    Ok(match bound {
        Some(bound) => segment.bound(bound),
        None => segment,
    })
}

impl<K: Kernels> Open<K> {
    /// Answers a request. Never waits: a client that does not read its answers loses the connection.
    fn answer(&self, number: u64, answer: Answer) {
        if self.socket.send(&ToClient::Ended { number, answer }.encode(), None).is_err() {
            self.socket.close();
        }
    }
}

/// Waker of a request's completion: it answers the request.
struct End<K: Kernels> {
    open: Arc<Open<K>>,
    number: u64,
}

impl<K: Kernels> End<K> {
    /// Answers the request if it has ended, and asks to be woken if not.
    fn look(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let ended = {
            let mut completions = self.open.completions.lock();
            let Some(completion) = completions.get_mut(&self.number) else { return };
            match Pin::new(completion).poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => return,
                Poll::Ready(result) => completions.remove(&self.number).map(|completion| (completion, result)),
            }
        };
        if let Some((completion, result)) = ended {
            // Its drop takes the accelerator's lock, and may wake others.
            drop(completion);
            self.open.answer(self.number, of(&result));
        }
    }
}

impl<K: Kernels> Wake for End<K> {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

/// Returns the answer for a result.
fn of(result: &Result<Outcome, RequestError>) -> Answer {
    match result {
        Ok(outcome) => {
            let since =
                |at: Instant| u64::try_from(at.saturating_since(outcome.requested).as_nanos()).unwrap_or(u64::MAX);
            let busy = u64::try_from(outcome.busy.as_nanos()).unwrap_or(u64::MAX);
            Answer::Done { started: since(outcome.started), finished: since(outcome.finished), busy }
        }
        Err(error) => Answer::Failed(error.to_string()),
    }
}
