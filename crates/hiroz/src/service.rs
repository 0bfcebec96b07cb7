//! Servers: requests as a source, and where responses go.

use std::marker::PhantomData;

use hiroz_protocol::EndpointKind;
use rospin::{Notifier, Pending, Source, TakeError};
use rospin_node::{FullName, Qos, Refused, ReplyEnd, Service, TypeName};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{Query, Queryable};

use crate::attachment::Attachment;
use crate::cdr::{self, DecodeError};
use crate::inbox::Inbox;
use crate::names::{Endpoint, ZenohNode, refused};

/// The requests of a service.
pub struct ZenohRequests<S: Service> {
    // First out of the graph, then deaf, and only then are clients told of what was left.
    _token: LivelinessToken,
    _queryable: Queryable<()>,
    inbox: Inbox<Query>,
    key: KeyExpr<'static>,
    _takes: PhantomData<fn() -> S>,
}

/// A request that is none.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("the request does not say which one it is and from whom")]
    Attachment,
    #[error("the request has no payload")]
    Payload,
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl<S: Service> ZenohRequests<S> {
    pub(crate) fn new(
        node: &ZenohNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self, Refused> {
        let session = &node.session;
        let endpoint = Endpoint::new(node, EndpointKind::Service, service, service_type, qos)?;
        let key = session.remembered(endpoint.key.clone())?;
        let (inbox, delivery) = Inbox::new(qos);
        // Clients ask those that say that they answer for the whole key.
        let builder = session.zenoh().declare_queryable(key.clone()).complete(true);
        let queryable = builder.callback(move |query| delivery.push(query, 0)).wait().map_err(refused)?;
        let token = endpoint.announce(session)?;
        Ok(Self { _token: token, _queryable: queryable, inbox, key, _takes: PhantomData })
    }
}

/// The number and the client of a request, and the request.
fn read<S: Service>(query: &Query) -> Result<(Attachment, S::Request), RequestError> {
    let attachment = query.attachment().and_then(Attachment::decode).ok_or(RequestError::Attachment)?;
    let payload: &ZBytes = query.payload().ok_or(RequestError::Payload)?;
    Ok((attachment, cdr::decode(payload)?))
}

impl<S: Service> Source for ZenohRequests<S> {
    type Item = (S::Request, ZenohReply<S>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(query) = self.inbox.pop() else { return Ok(None) };
        match read::<S>(&query) {
            Ok((request, message)) => {
                let reply = ZenohReply { query, request, key: self.key.clone(), _sends: PhantomData };
                Ok(Some((message, reply)))
            }
            Err(error) => {
                // If it does not reach the client, nothing does: it hears of the end of its query at least.
                let _ = query.reply_err(error.to_string()).wait();
                Err(TakeError::Failed(Box::new(error)))
            }
        }
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}

/// Where a response goes. If it is dropped, the client is told that there is none.
pub struct ZenohReply<S: Service> {
    query: Query,
    request: Attachment,
    key: KeyExpr<'static>,
    _sends: PhantomData<fn(S)>,
}

impl<S: Service> ReplyEnd<S::Response> for ZenohReply<S> {
    fn send(self, response: S::Response) -> Result<(), Refused> {
        let payload = cdr::encode(&response).map_err(refused)?;
        // It says whose and which request it answers.
        let attachment = Attachment::now(self.request.number, self.request.source);
        self.query.reply(&self.key, payload).attachment(attachment.encode()).wait().map_err(refused)
    }
}
