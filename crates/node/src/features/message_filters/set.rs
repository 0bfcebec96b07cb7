//! Matched messages as tuples, and the topics that they come from.

use std::marker::PhantomData;
use std::sync::Arc;

use rospin_wire::Stamped;

use super::options::SyncInput;
use super::source::{AnyMessage, Input};
use crate::error::TopicError;
use crate::matches::Matches;
use crate::message::Message;
use crate::names::{FullName, TypeName};
use crate::node::Node;
use crate::qos::Qos;

/// A member of a set of messages: `Arc<M>` for a message that must be there, `Option<Arc<M>>` for one that may be
/// missing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a member of a set of messages",
    label = "a synchronizer's callback takes a tuple of `Arc<M>` or `Option<Arc<M>>`",
    note = "`M` is a message whose first field is a `std_msgs/Header`, or that implements `Stamped`"
)]
pub trait Member: Sized + Send + 'static {
    /// The type of the message.
    type Message: Message + Stamped;

    /// True if a set must have a message for this member.
    #[doc(hidden)]
    const IS_REQUIRED: bool;

    /// Returns the member, or `None` if a message is missing that must be there.
    #[doc(hidden)]
    fn from_any(message: Option<AnyMessage>) -> Option<Self>;
}

impl<M: Message + Stamped> Member for Arc<M> {
    type Message = M;
    const IS_REQUIRED: bool = true;

    fn from_any(message: Option<AnyMessage>) -> Option<Self> {
        message.and_then(|AnyMessage(message)| message.downcast().ok())
    }
}

impl<M: Message + Stamped> Member for Option<Arc<M>> {
    type Message = M;
    const IS_REQUIRED: bool = false;

    fn from_any(message: Option<AnyMessage>) -> Option<Self> {
        Some(Arc::from_any(message))
    }
}

/// The subscription of one input, without the type of its messages.
pub(super) struct Opened {
    pub(super) input: Box<dyn Input>,
    pub(super) matches: Box<dyn Matches>,
    pub(super) message_type: TypeName,
}

/// Properties of a member of a tuple, without its type.
#[doc(hidden)]
#[derive(Debug)]
pub struct MemberSpec {
    pub(super) is_required: bool,
    /// Function that creates the subscription of the member's topic.
    pub(super) open: fn(&Node, &str, &FullName, &Qos) -> Result<Opened, TopicError>,
}

impl MemberSpec {
    const fn of<M: Member>() -> Self {
        Self { is_required: M::IS_REQUIRED, open: open::<M::Message> }
    }
}

/// Subscribes to the topic `resolved`, which the user calls `topic`.
fn open<M: Message + Stamped>(node: &Node, topic: &str, resolved: &FullName, qos: &Qos) -> Result<Opened, TopicError> {
    qos.check_depth(topic)?;
    let message_type = TypeName::of_message::<M>()?;
    let created = node.link().create_subscription(resolved, &message_type, qos, PhantomData::<M>, false);
    let (messages, matches, _) = created.map_err(|reason| TopicError::Refused { topic: topic.to_owned(), reason })?;
    Ok(Opened { input: Box::new(messages), matches, message_type })
}

/// A tuple of two to nine [members](Member), the argument of a synchronizer's callback.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of messages",
    label = "a synchronizer's callback takes a tuple of two to nine `Arc<M>` or `Option<Arc<M>>`"
)]
pub trait MessageSet: Sized + Send + 'static {
    #[doc(hidden)]
    const MEMBERS: &'static [MemberSpec];

    /// Returns the set, or `None` if a message is missing that must be there.
    #[doc(hidden)]
    fn from_messages(messages: Vec<Option<AnyMessage>>) -> Option<Self>;
}

/// A tuple of the topics of a set `S`: each a `&str` or a [`SyncInput`], in the order of the set's members.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of as many topics as the set `{S}` has members",
    label = "a topic is a `&str` or a `SyncInput`"
)]
pub trait Inputs<S> {
    #[doc(hidden)]
    fn into_inputs(self) -> Vec<SyncInput>;
}

/// Implements [`MessageSet`] for the tuple of the members `$member`, and [`Inputs`] for a tuple of as many topics, of
/// the types `$topic`.
macro_rules! set {
    ($($member:ident $topic:ident),+) => {
        impl<$($member: Member),+> MessageSet for ($($member,)+) {
            const MEMBERS: &'static [MemberSpec] = &[$(MemberSpec::of::<$member>()),+];

            fn from_messages(messages: Vec<Option<AnyMessage>>) -> Option<Self> {
                let mut messages = messages.into_iter();
                Some(($($member::from_any(messages.next()?)?,)+))
            }
        }

        impl<$($member: Member,)+ $($topic: Into<SyncInput>),+> Inputs<($($member,)+)> for ($($topic,)+) {
            fn into_inputs(self) -> Vec<SyncInput> {
                #[allow(non_snake_case, reason = "the names of the types are also those of the values")]
                let ($($topic,)+) = self;
                vec![$($topic.into()),+]
            }
        }
    };
}

set!(A S, B T);
set!(A S, B T, C U);
set!(A S, B T, C U, D V);
set!(A S, B T, C U, D V, E W);
set!(A S, B T, C U, D V, E W, F X);
set!(A S, B T, C U, D V, E W, F X, G Y);
set!(A S, B T, C U, D V, E W, F X, G Y, H Z);
set!(A S, B T, C U, D V, E W, F X, G Y, H Z, I Q);
