//! What travels, as the seam to middlewares sees it.

use std::marker::PhantomData;

pub use rospin_wire::{Message, Service};
use serde::Serialize;
use serde::de::DeserializeSeed;

/// What a publisher can send: every [`Message`], and messages whose type is known only at run time. Nothing has to be
/// implemented.
pub trait Encode: Serialize + Clone + Send + Sync + 'static {}

impl<T: Serialize + Clone + Send + Sync + 'static> Encode for T {}

/// How the messages of a subscription are decoded: by a seed of serde's, which may know more of them than their Rust type says.
///
/// For a [`Message`] that is `PhantomData`, which knows nothing and has no size.
pub(crate) trait Decode:
    for<'de> DeserializeSeed<'de, Value = <Self as Decode>::Message> + Clone + Send + Sync + 'static
{
    /// What comes out.
    type Message: Clone + Send + Sync + 'static;
}

impl<M: Message> Decode for PhantomData<M> {
    type Message = M;
}
