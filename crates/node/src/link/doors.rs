//! Encoded requests to servers of the same process, where client or server know the types only at run time.
//!
//! Without a middleware, requests and responses go from client to server as values of Rust types. A server also has a
//! door, which decodes a request, calls the server as any client does, and encodes its response. Dynamic clients call
//! all servers through it, and other clients dynamic servers.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use rospin_engine::{Context, Waiters, Waiting};
use rospin_wire::cdr::to_payload;
use serde::Serialize;

use super::call::called;
use super::service::{Asked, queue_name};
use super::{contain, refused};
use crate::error::{CallError, Refused};
use crate::info::RequestId;
use crate::matches::Awaited;
use crate::message::Decode;
use crate::names::FullName;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Function that sends an encoded request to a server, and returns the future of its encoded response.
pub(super) type Door = Arc<dyn Fn(RequestId, Bytes) -> Awaited<Result<Bytes, CallError>> + Send + Sync>;

/// The doors of a context's servers.
#[derive(Default)]
pub(crate) struct Doors {
    state: Mutex<State>,
    /// The number of doors of dynamic servers, for readers without the lock.
    dynamic: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Doors by the services' names. A service has one server in a process.
    doors: BTreeMap<String, Entry>,
    /// The last number that was given to a door.
    last: u64,
    /// Tasks that wait for the next door.
    waiters: Waiters,
}

struct Entry {
    number: u64,
    door: Door,
    is_dynamic: bool,
    /// Returns false if the server has ended, and its door is about to be closed.
    is_served: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A server's door, which is closed when this is dropped.
pub(crate) struct OpenDoor {
    doors: Arc<Doors>,
    service: String,
    number: u64,
}

impl Doors {
    /// Opens a door to the server of a service in this process.
    pub(super) fn open<D: Decode, R: Serialize + Send + 'static>(
        context: &Context,
        service: &FullName,
        decoder: D,
        is_dynamic: bool,
    ) -> Result<OpenDoor, Refused> {
        let queue = queue_name(service, is_dynamic);
        let client = context.create_local_client::<Asked<D::Message>, R>(&queue).map_err(refused)?;
        let server = client.clone();
        let name: Arc<str> = service.as_str().into();
        let door: Door = Arc::new(move |id: RequestId, payload: Bytes| {
            let unanswered = |reason: String| CallError::Unanswered { service: name.to_string(), reason };
            let request = match contain(|| decoder.decode(&payload)) {
                Ok(request) => request,
                Err(error) => {
                    let error = unanswered(error.to_string());
                    return Box::pin(async { Err(error) });
                }
            };
            let call = client.call(Asked { id, request });
            let name = Arc::clone(&name);
            Box::pin(async move {
                let response = call.await.map_err(|error| called(error, &name))?;
                let encoded = to_payload(&response).map(Bytes::from);
                encoded.map_err(|error| CallError::Unanswered { service: name.to_string(), reason: error.to_string() })
            })
        });
        let doors: Arc<Self> = context.shared();
        let is_served = Box::new(move || server.service_is_ready());
        let mut state = doors.lock();
        state.last += 1;
        let number = state.last;
        let entry = Entry { number, door, is_dynamic, is_served };
        // Servers of one kind share a queue, which refuses the second one.
        let is_taken = state
            .doors
            .get(service.as_str())
            .is_some_and(|there| there.is_dynamic != is_dynamic && (there.is_served)());
        if is_taken {
            drop(state);
            return Err(Refused(format!("service `{service}` exists already; drop the other one first")));
        }
        // The door of an earlier server, whose end is under way, is dropped without the lock.
        let earlier = state.doors.insert(service.as_str().to_owned(), entry);
        doors.count(&state);
        let waiters = state.waiters.take();
        drop(state);
        drop(earlier);
        waiters.wake();
        Ok(OpenDoor { doors, service: service.as_str().to_owned(), number })
    }

    /// Notes the number of doors of dynamic servers.
    fn count(&self, state: &State) {
        let dynamic = state.doors.values().filter(|entry| entry.is_dynamic).count();
        self.dynamic.store(dynamic, Ordering::Release);
    }

    /// Returns a door of a service; `None` if it has no server in this process.
    pub(super) fn of(&self, service: &str) -> Option<Door> {
        let state = self.lock();
        let entry = state.doors.get(service)?;
        Some(Arc::clone(&entry.door))
    }

    /// Returns a door of a service whose server is dynamic. Does not lock if there is no dynamic server in this process.
    pub(super) fn of_dynamic(&self, service: &str) -> Option<Door> {
        if self.dynamic.load(Ordering::Acquire) == 0 {
            return None;
        }
        let state = self.lock();
        let entry = state.doors.get(service).filter(|entry| entry.is_dynamic && (entry.is_served)())?;
        Some(Arc::clone(&entry.door))
    }

    /// Returns a future that resolves when the service has a dynamic server.
    pub(super) async fn wait_for_dynamic(self: Arc<Self>, service: Arc<str>) {
        loop {
            // The future is taken before the doors are read, so no door is missed.
            let next = self.next();
            if self.of_dynamic(&service).is_some() {
                return;
            }
            next.await;
        }
    }

    /// Returns a future that resolves when the next door of any service is opened.
    pub(super) fn next(&self) -> Waiting {
        self.lock().waiters.wait()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        let mut state = self.doors.lock();
        let is_open = state.doors.get(&self.service).is_some_and(|entry| entry.number == self.number);
        let closed = if is_open { state.doors.remove(&self.service) } else { None };
        self.doors.count(&state);
        drop(state);
        // The door's client is dropped without the lock.
        drop(closed);
    }
}
