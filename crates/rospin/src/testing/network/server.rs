//! Servers on a simulated network: requests as a source, each with the way of its response.

use bytes::Bytes;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{Refused, ReplyEnd, RequestId, RequestInbox};

use super::SimulatedNetwork;
use super::channel::Sample;
use super::ends::OwnedEnd;
use super::state::{Asked, EndId, gid_of};

/// Source of a server's requests.
pub(super) struct Requests {
    // Dropped first, so that no request comes any more.
    pub(super) end: OwnedEnd,
    pub(super) inbox: RequestInbox<Asked>,
}

impl Source for Requests {
    type Item = (Bytes, Box<dyn ReplyEnd>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(Asked { client, number, payload }) = self.inbox.pop() else { return Ok(None) };
        let network = self.end.network.clone();
        Ok(Some((payload, Box::new(Reply { network, server: self.end.id, client, number }))))
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}

/// Way of a response to the client that sent the request.
struct Reply {
    network: SimulatedNetwork,
    server: EndId,
    client: EndId,
    number: i64,
}

impl ReplyEnd for Reply {
    fn request_id(&self) -> RequestId {
        RequestId { client: gid_of(self.client), number: self.number }
    }

    fn send(self: Box<Self>, payload: Vec<u8>) -> Result<(), Refused> {
        let Self { network, server, client, number } = *self;
        // It is lost if the server's host has forgotten the client.
        network.with(|state| state.send((server, client), Sample::Response { payload: payload.into(), number }));
        Ok(())
    }

    fn refuse(self: Box<Self>, _reason: &str) {
        // As over DDS, there is no message for a refusal: the client waits as long as it likes.
    }
}
