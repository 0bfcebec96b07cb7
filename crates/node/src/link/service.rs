//! The server's end of a service.

use rospin_engine::{Closer, Context, Notifier, Pending, RequestQueue, ServiceOptions, Source, TakeError};
use rospin_wire::cdr::{from_shared_payload, to_payload};
use serde::Serialize;

use super::doors::{Doors, OpenDoor};
use super::{contain, depth, refused};
use crate::error::Refused;
use crate::info::RequestId;
use crate::message::ServiceInterface;
use crate::middleware::{ReplyEnd, RequestSource};
use crate::names::FullName;
use crate::qos::Qos;

/// A request between two ends of this process.
pub(crate) struct Asked<R> {
    pub(super) id: RequestId,
    pub(super) request: R,
}

/// The requests of a server.
pub(crate) enum Requests<S: ServiceInterface> {
    InProcess { queue: RequestQueue<Asked<S::Request>, S::Response>, _door: OpenDoor },
    Network(RequestSource),
}

impl<S: ServiceInterface> Requests<S> {
    pub(super) fn in_process(context: &Context, service: &FullName, qos: &Qos) -> Result<Self, Refused> {
        let options = ServiceOptions::new(service.as_str()).keep_last(depth(qos));
        let queue = context.create_local_request_queue(options).map_err(refused)?;
        Ok(Self::InProcess { queue, _door: Doors::open::<S>(context, service)? })
    }
}

impl<S: ServiceInterface> Source for Requests<S> {
    type Item = (S::Request, Reply<S::Response>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        match self {
            Self::InProcess { queue, .. } => queue.attach(notifier),
            Self::Network(source) => source.attach(notifier),
        }
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        match self {
            Self::InProcess { queue, .. } => {
                let taken = Source::try_take(queue)?;
                Ok(taken.map(|(Asked { id, request }, reply)| (request, Reply::InProcess(id, reply))))
            }
            Self::Network(source) => {
                let Some((payload, end)) = source.try_take()? else { return Ok(None) };
                match contain(|| from_shared_payload(&payload)) {
                    Ok(request) => Ok(Some((request, Reply::Network(end)))),
                    Err(error) => {
                        end.refuse(&error.to_string());
                        Err(TakeError::Failed(error))
                    }
                }
            }
        }
    }

    fn pending(&self) -> Pending {
        match self {
            Self::InProcess { queue, .. } => queue.pending(),
            Self::Network(source) => source.pending(),
        }
    }

    fn closer(&self) -> Option<Closer> {
        match self {
            Self::InProcess { queue, .. } => queue.closer(),
            Self::Network(source) => source.closer(),
        }
    }
}

/// The way of a response to its client.
pub(crate) enum Reply<T> {
    InProcess(RequestId, rospin_engine::Reply<T>),
    Network(Box<dyn ReplyEnd>),
}

impl<T: Serialize + Send + 'static> Reply<T> {
    /// Returns the id of the request.
    pub(crate) fn request_id(&self) -> RequestId {
        match self {
            Self::InProcess(id, _) => *id,
            Self::Network(end) => end.request_id(),
        }
    }

    /// Sends the response, without waiting for the client.
    pub(crate) fn send(self, response: T) -> Result<(), Refused> {
        match self {
            Self::InProcess(_, reply) => {
                reply.send(response);
                Ok(())
            }
            Self::Network(end) => end.send(to_payload(&response).map_err(refused)?),
        }
    }
}
