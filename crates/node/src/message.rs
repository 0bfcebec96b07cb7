//! Messages as values that can be encoded and decoded.

use std::marker::PhantomData;

use bytes::Bytes;
use rospin_wire::cdr::{CdrError, PayloadError, append_payload, from_shared_payload};
pub use rospin_wire::{Message, Service};
use serde::Serialize;

/// Values that a publisher can send: every [`Message`], messages whose type is known only at run time, and
/// [`SerializedMessage`](crate::SerializedMessage)s. Users do not implement it.
pub trait Encode: Clone + Send + Sync + 'static {
    /// Appends the message to `payload`: the header of CDR, and then the encoded value.
    #[doc(hidden)]
    fn append_to(&self, payload: &mut Vec<u8>) -> Result<(), CdrError>;
}

impl<T: Serialize + Clone + Send + Sync + 'static> Encode for T {
    #[inline]
    fn append_to(&self, payload: &mut Vec<u8>) -> Result<(), CdrError> {
        append_payload(payload, self)
    }
}

/// Decoder of a subscription's messages. It may know more about the type than Rust does, such as the definition of dynamic
/// messages.
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
