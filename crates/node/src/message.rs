//! Messages as values that can be encoded and decoded.

use std::marker::PhantomData;

pub use rospin_wire::{Message, Service};
use serde::Serialize;
use serde::de::DeserializeSeed;

/// Values that a publisher can send: every [`Message`], and messages whose type is known only at run time. Users do
/// not implement it.
pub trait Encode: Serialize + Clone + Send + Sync + 'static {}

impl<T: Serialize + Clone + Send + Sync + 'static> Encode for T {}

/// Decoder of a subscription's messages: a seed of serde's, which may know more about the type than Rust does.
///
/// The seed of a [`Message`] is `PhantomData`, which has no size.
pub(crate) trait Decode:
    for<'de> DeserializeSeed<'de, Value = <Self as Decode>::Message> + Clone + Send + Sync + 'static
{
    /// The decoded message.
    type Message: Clone + Send + Sync + 'static;
}

impl<M: Message> Decode for PhantomData<M> {
    type Message = M;
}
