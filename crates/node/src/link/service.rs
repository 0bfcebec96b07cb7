//! The server's end of a service.

use rospin_engine::{Closer, Context, Notifier, Pending, RequestQueue, ServiceOptions, Source, TakeError};
use rospin_wire::cdr::to_payload;
use serde::Serialize;

use super::doors::{Doors, OpenDoor};
use super::{contain, depth, refused};
use crate::error::Refused;
use crate::info::RequestId;
use crate::message::Decode;
use crate::middleware::{ReplyEnd, RequestSource};
use crate::names::FullName;
use crate::qos::Qos;

/// Returns the name of the queue of a service's requests in this process. Those of dynamic types have one of their own,
/// since a queue has one type.
pub(super) fn queue_name(service: &FullName, is_dynamic: bool) -> String {
    if is_dynamic { format!("{service} (dynamic)") } else { service.as_str().to_owned() }
}

/// A request between two ends of this process.
pub(crate) struct Asked<R> {
    pub(super) id: RequestId,
    pub(super) request: R,
}

/// The requests of a server, whose responses are of the type `R`.
pub(crate) enum Requests<D: Decode, R: Serialize + Send + 'static> {
    InProcess { queue: RequestQueue<Asked<D::Message>, R>, _door: OpenDoor },
    Network { source: RequestSource, decoder: D },
}

impl<D: Decode, R: Serialize + Send + 'static> Requests<D, R> {
    pub(super) fn in_process(
        context: &Context,
        service: &FullName,
        qos: &Qos,
        decoder: D,
        is_dynamic: bool,
    ) -> Result<Self, Refused> {
        let options = ServiceOptions::new(queue_name(service, is_dynamic)).keep_last(depth(qos));
        let queue = context.create_local_request_queue(options).map_err(refused)?;
        Ok(Self::InProcess { queue, _door: Doors::open::<D, R>(context, service, decoder, is_dynamic)? })
    }
}

impl<D: Decode, R: Serialize + Send + 'static> Source for Requests<D, R> {
    type Item = (D::Message, Reply<R>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        match self {
            Self::InProcess { queue, .. } => queue.attach(notifier),
            Self::Network { source, .. } => source.attach(notifier),
        }
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        match self {
            Self::InProcess { queue, .. } => {
                let taken = Source::try_take(queue)?;
                Ok(taken.map(|(Asked { id, request }, reply)| (request, Reply::InProcess(id, reply))))
            }
            Self::Network { source, decoder } => {
                let Some((payload, end)) = source.try_take()? else { return Ok(None) };
                match contain(|| decoder.decode(&payload)) {
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
            Self::Network { source, .. } => source.pending(),
        }
    }

    fn closer(&self) -> Option<Closer> {
        match self {
            Self::InProcess { queue, .. } => queue.closer(),
            Self::Network { source, .. } => source.closer(),
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

    /// Tells the client, where the middleware can do that, that there is no response.
    pub(crate) fn refuse(self, reason: &str) {
        match self {
            // The client learns it when the reply is dropped.
            Self::InProcess(..) => {}
            Self::Network(end) => end.refuse(reason),
        }
    }
}
