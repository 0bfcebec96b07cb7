//! Messages as values that can be encoded and decoded.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use rospin_wire::cdr::{CdrError, Gap, PayloadError, append_payload, append_payload_around, from_shared_payload};
pub use rospin_wire::{Message, ServiceInterface, ServicePart};
use serde::Serialize;

/// Values that a publisher can send: every [`Message`], messages whose type is known only at run time, and
/// [`SerializedMessage`](crate::SerializedMessage)s. Users do not implement it.
pub trait Encode: Clone + Send + Sync + 'static {
    /// Appends the message to `payload`: the header of CDR, and then the encoded value.
    #[doc(hidden)]
    fn append_to(&self, payload: &mut Vec<u8>) -> Result<(), CdrError>;

    /// Does the same, but leaves out bytes of a blob for which `is_lent` returns true. Returns the place where they
    /// belong; `None` if none are left out.
    #[doc(hidden)]
    fn append_around(&self, payload: &mut Vec<u8>, is_lent: &dyn Fn(&[u8]) -> bool) -> Result<Option<Gap>, CdrError> {
        let _ = is_lent;
        self.append_to(payload).map(|()| None)
    }
}

impl<T: Serialize + Clone + Send + Sync + 'static> Encode for T {
    #[inline]
    fn append_to(&self, payload: &mut Vec<u8>) -> Result<(), CdrError> {
        append_payload(payload, self)
    }

    fn append_around(&self, payload: &mut Vec<u8>, is_lent: &dyn Fn(&[u8]) -> bool) -> Result<Option<Gap>, CdrError> {
        append_payload_around(payload, self, is_lent)
    }
}

/// Ways to give a message to [`Publisher::publish`](crate::Publisher::publish): an `M`, an `Arc<M>`, or a reference to
/// an `M`. Users do not implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message of this publisher, whose messages are `{M}`",
    label = "neither an `{M}`, nor an `Arc` of one or a reference to one"
)]
pub trait Outgoing<M> {
    /// Returns the message.
    #[doc(hidden)]
    fn message(&self) -> &M;

    /// Returns the message as subscriptions of this process share it. A message behind a reference is cloned.
    #[doc(hidden)]
    fn into_shared(self) -> Arc<M>;

    /// Returns true if nobody has the message besides the publisher that it is given to.
    #[doc(hidden)]
    fn is_given_away(&self) -> bool;
}

impl<M: Encode> Outgoing<M> for M {
    fn message(&self) -> &M {
        self
    }

    fn into_shared(self) -> Arc<M> {
        Arc::new(self)
    }

    fn is_given_away(&self) -> bool {
        true
    }
}

impl<M: Encode> Outgoing<M> for Arc<M> {
    fn message(&self) -> &M {
        self
    }

    fn into_shared(self) -> Self {
        self
    }

    fn is_given_away(&self) -> bool {
        Arc::strong_count(self) == 1 && Arc::weak_count(self) == 0
    }
}

impl<M: Encode> Outgoing<M> for &M {
    fn message(&self) -> &M {
        self
    }

    fn into_shared(self) -> Arc<M> {
        Arc::new(self.clone())
    }

    fn is_given_away(&self) -> bool {
        false
    }
}

/// Decoder of a subscription's messages. It may know more about the type than Rust does, such as the definition of
/// dynamic messages.
///
/// The decoder of a [`Message`] is `PhantomData`, which has no size.
pub(crate) trait Decode: Clone + Send + Sync + 'static {
    /// Type of the decoded messages.
    type Message: Clone + Send + Sync + 'static;

    /// Decodes a payload.
    fn decode(&self, payload: &Bytes) -> Result<Self::Message, PayloadError>;
}

impl<M: Message> Decode for PhantomData<M> {
    type Message = M;

    fn decode(&self, payload: &Bytes) -> Result<M, PayloadError> {
        from_shared_payload(payload)
    }
}
