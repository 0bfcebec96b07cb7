//! Encoded requests to servers of the same process, for clients that know the types only at run time.
//!
//! Without a middleware, requests and responses go from client to server as values of Rust types. A server also has a
//! door, which decodes a request, calls the server as any client does, and encodes its response.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use rospin_engine::{Context, Waiters, Waiting};
use rospin_wire::cdr::{from_shared_payload, to_payload};

use super::call::called;
use super::refused;
use super::service::Asked;
use crate::error::{CallError, Refused};
use crate::info::RequestId;
use crate::matches::Awaited;
use crate::message::ServiceInterface;
use crate::names::FullName;
use crate::sync::{Mutex, MutexGuard};

/// Function that sends an encoded request to a server, and returns the future of its encoded response.
type Door = Arc<dyn Fn(RequestId, Bytes) -> Awaited<Result<Bytes, CallError>> + Send + Sync>;

/// The doors of a context's servers.
#[derive(Default)]
pub(crate) struct Doors(Mutex<State>);

#[derive(Default)]
struct State {
    /// Doors with their numbers, by the services' names. A service has one server in a process.
    doors: BTreeMap<String, (u64, Door)>,
    /// The last number that was given to a door.
    last: u64,
    /// Tasks that wait for the next door.
    waiters: Waiters,
}

/// A server's door, which is closed when this is dropped.
pub(crate) struct OpenDoor {
    doors: Arc<Doors>,
    service: String,
    number: u64,
}

impl Doors {
    /// Opens a door to the server of a service in this process.
    pub(super) fn open<S: ServiceInterface>(context: &Context, service: &FullName) -> Result<OpenDoor, Refused> {
        let client =
            context.create_local_client::<Asked<S::Request>, S::Response>(service.as_str()).map_err(refused)?;
        let name: Arc<str> = service.as_str().into();
        let door: Door = Arc::new(move |id: RequestId, payload: Bytes| {
            let unanswered = |reason: String| CallError::Unanswered { service: name.to_string(), reason };
            let request = match from_shared_payload(&payload) {
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
        let service = service.as_str().to_owned();
        let mut state = doors.lock();
        state.last += 1;
        let number = state.last;
        // The door of an earlier server, whose end is under way, is dropped without the lock.
        let earlier = state.doors.insert(service.clone(), (number, door));
        let waiters = state.waiters.take();
        drop(state);
        drop(earlier);
        waiters.wake();
        Ok(OpenDoor { doors, service, number })
    }

    /// Returns a door of a service; `None` if it has no server in this process.
    pub(super) fn of(&self, service: &str) -> Option<Door> {
        let state = self.lock();
        let (_, door) = state.doors.get(service)?;
        Some(Arc::clone(door))
    }

    /// Returns a future that resolves when the next door of any service is opened.
    pub(super) fn next(&self) -> Waiting {
        self.lock().waiters.wait()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        let mut state = self.doors.lock();
        let is_open = state.doors.get(&self.service).is_some_and(|(number, _)| *number == self.number);
        let closed = if is_open { state.doors.remove(&self.service) } else { None };
        drop(state);
        // The door's client is dropped without the lock.
        drop(closed);
    }
}
