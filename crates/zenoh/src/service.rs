//! Servers: requests as a source, each with a way back for its response.

use bytes::Bytes;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{EndpointKind, FullName, Gid, Qos, Refused, ReplyEnd, RequestId, RequestInbox, TypeName};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{Query, Queryable};

use crate::attachment::Attachment;
use crate::names::{Endpoint, ZenohNode, refused};
use crate::payload::contiguous;
use crate::publisher::KEEP_ALL;

/// Source of a service's requests.
pub(crate) struct ZenohRequests {
    // These are dropped in order: the token leaves the graph, the queryable gets no more requests, and the clients of
    // the remaining requests are told.
    _token: LivelinessToken,
    _queryable: Queryable<()>,
    inbox: RequestInbox<Query>,
    key: KeyExpr<'static>,
}

/// Errors of an invalid request.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("the request does not say which one it is and from whom")]
    Attachment,
    #[error("the request has no payload")]
    Payload,
}

impl ZenohRequests {
    pub(crate) fn new(
        node: &ZenohNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self, Refused> {
        let session = &node.session;
        let endpoint = Endpoint::new(node, EndpointKind::Server, service, service_type, qos)?;
        let key = session.remembered(endpoint.key.clone())?;
        let (inbox, delivery) = RequestInbox::new(qos.depth().unwrap_or(KEEP_ALL));
        // Clients only query queryables that are complete.
        let builder = session.zenoh().declare_queryable(key.clone()).complete(true);
        let queryable = builder.callback(move |query| delivery.push(query, 0)).wait().map_err(refused)?;
        let token = endpoint.announce(session)?;
        Ok(Self { _token: token, _queryable: queryable, inbox, key })
    }
}

/// Returns the attachment of a request, which has its number and client, and its payload.
fn read(query: &Query) -> Result<(Attachment, Bytes), RequestError> {
    let attachment = query.attachment().and_then(Attachment::decode).ok_or(RequestError::Attachment)?;
    let payload: &ZBytes = query.payload().ok_or(RequestError::Payload)?;
    Ok((attachment, contiguous(payload.clone())))
}

impl Source for ZenohRequests {
    type Item = (Bytes, Box<dyn ReplyEnd>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(query) = self.inbox.pop() else { return Ok(None) };
        match read(&query) {
            Ok((request, payload)) => {
                let reply = ZenohReply { query, request, key: self.key.clone() };
                Ok(Some((payload, Box::new(reply))))
            }
            Err(error) => {
                refuse(&query, &error.to_string());
                Err(TakeError::Failed(Box::new(error)))
            }
        }
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}

/// Way of a response to the client of one request. If it is dropped, the client is told that there will be no response.
pub(crate) struct ZenohReply {
    query: Query,
    request: Attachment,
    key: KeyExpr<'static>,
}

impl ReplyEnd for ZenohReply {
    fn request_id(&self) -> RequestId {
        RequestId { client: Gid::new(self.request.source), number: self.request.number }
    }

    fn send(self: Box<Self>, payload: Vec<u8>) -> Result<(), Refused> {
        // A response carries the request's number and the client's identifier, by which the client recognizes it.
        let attachment = Attachment::now(self.request.number, self.request.source);
        self.query.reply(&self.key, payload).attachment(attachment.encode()).wait().map_err(refused)
    }

    fn refuse(self: Box<Self>, reason: &str) {
        refuse(&self.query, reason);
    }
}

/// Tells the client that its request gets no response, and the reason.
fn refuse(query: &Query, reason: &str) {
    // If this fails, the client still learns that its query has ended.
    let _ = query.reply_err(reason).wait();
}
