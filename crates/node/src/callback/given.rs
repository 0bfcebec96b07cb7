//! Messages as callbacks take them: by value, shared, or by reference.

use std::marker::PhantomData;
use std::sync::Arc;

use rospin_engine::{
    CallbackGroup, Entity, EntityKind, EntityOptions, Failures, Payload, ReentrantGroup, Source, SourceError,
};
pub use rospin_wire::Given;

use super::forms::{
    Asynchronous, AsynchronousWithPayload, ByReference, ByReferenceWithPayload, Callback, Synchronous,
    SynchronousWithPayload,
};
use super::returned::{Convert, Nothing, Returns};
use crate::group::Exclusive;
use crate::info::MessageInfo;

/// A message as it arrived.
#[derive(Debug)]
pub enum Received<M> {
    /// Decoded for this subscription alone.
    Owned(M),
    /// Published in this process, and shared with other subscriptions.
    Shared(Arc<M>),
}

impl<M: Clone> Received<M> {
    pub(crate) fn into_value(self) -> M {
        match self {
            Self::Owned(message) => message,
            // The last subscription that holds the message gets it without a copy.
            Self::Shared(message) => Arc::unwrap_or_clone(message),
        }
    }
}

impl<M> Received<M> {
    pub(crate) fn into_arc(self) -> Arc<M> {
        match self {
            Self::Owned(message) => Arc::new(message),
            Self::Shared(message) => message,
        }
    }
}

/// A message for a callback that takes it by reference.
#[derive(Debug)]
pub struct ByRef<M>(Received<M>);

impl<M> ByRef<M> {
    pub(super) fn get(&self) -> &M {
        match &self.0 {
            Received::Owned(message) => message,
            Received::Shared(message) => message,
        }
    }
}

/// Message by value: `|message: M|`.
#[derive(Debug)]
pub struct ByValue<Form>(PhantomData<Form>);

/// Shared message: `|message: Arc<M>|`.
#[derive(Debug)]
pub struct ByArc<Form>(PhantomData<Form>);

/// Message by reference: `|message: &M|`.
#[derive(Debug)]
pub struct ByReferenceTo<Form>(PhantomData<Form>);

/// The messages of a subscription.
#[doc(hidden)]
pub trait Arrivals<M>: Source<Item = Received<M>> {
    /// Returns the same messages, each with its [`MessageInfo`], for callbacks that take it.
    fn informed(self) -> impl Source<Item = (Received<M>, MessageInfo)>;
}

/// A callback of a subscription of messages `M` on a group of type `G`. The module [`callback`](crate::callback) lists
/// the forms.
#[diagnostic::on_unimplemented(
    message = "this closure is not a callback of a subscription on `{G}`",
    label = "a subscription's callback cannot have this form on this group",
    note = "write the type of each parameter: first the payload, if the callback uses it (`&mut P`, or `Payload<P>` if it is \
            asynchronous), then the message as `M`, `Arc<M>` or `&M`, whose type must be a `Message`, and last a \
            `MessageInfo`, if the callback asks for it",
    note = "a reentrant group and a node's own group have no payload",
    note = "on a mutually exclusive group a callback is `FnMut + Send + 'static`, on a reentrant one `Fn + Send + Sync + 'static`",
    note = "it returns `()` or a `Result<(), E>`; an asynchronous one returns a future of that"
)]
pub trait SubscriptionCallback<G, M, Form> {
    /// True if the callback takes a [`MessageInfo`].
    #[doc(hidden)]
    const ASKS_FOR_INFO: bool = false;

    /// Creates the entity. With [`ASKS_FOR_INFO`](Self::ASKS_FOR_INFO) the source keeps the origins of its messages.
    #[doc(hidden)]
    fn create(
        self,
        group: &G,
        options: EntityOptions,
        source: impl Arrivals<M>,
        failures: Failures,
    ) -> Result<Entity, SourceError>;
}

/// Implements [`SubscriptionCallback`] for closures with the bounds `$bounds` on groups `$group`, and for one way to
/// pass the message: `$way`, in the closure's form `$form`. `$gives` converts the message that arrived into the
/// closure's `$argument`.
///
/// The closure's bounds come before the bound of the message. So the compiler knows the message's type when it checks
/// that it is a message, and can name it in its error.
macro_rules! subscription_callback {
    ([$($generics:tt)*] $group:ty, $way:ident<$form:ty>, $argument:ty, $gives:ident, [$($bounds:tt)+]) => {
        impl<$($generics)*> SubscriptionCallback<$group, M, $way<$form>> for F
        where
            $($bounds)+,
            M: Given,
        {
            fn create(
                self,
                group: &$group,
                options: EntityOptions,
                source: impl Arrivals<M>,
                failures: Failures,
            ) -> Result<Entity, SourceError> {
                let kind = EntityKind::Subscription;
                Callback::<$group, $argument, Nothing, $form>::on_source(self, group, kind, options, source, $gives(failures))
            }
        }
    };
}

subscription_callback!([G: Exclusive, M, F, R] G, ByValue<Synchronous>, M, GivesValue, [F: FnMut(M) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([G: Exclusive, M, F, Fut] G, ByValue<Asynchronous>, M, GivesValue, [F: FnMut(M) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByValue<SynchronousWithPayload>, M, GivesValue, [F: FnMut(&mut P, M) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([P: Send + 'static, M, F, Fut] CallbackGroup<P>, ByValue<AsynchronousWithPayload>, M, GivesValue, [F: FnMut(Payload<P>, M) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([M, F, R] ReentrantGroup, ByValue<Synchronous>, M, GivesValue, [F: Fn(M) -> R + Send + Sync + 'static, R: Returns<Nothing>]);
subscription_callback!([M, F, Fut] ReentrantGroup, ByValue<Asynchronous>, M, GivesValue, [F: Fn(M) -> Fut + Send + Sync + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([G: Exclusive, M, F, R] G, ByArc<Synchronous>, Arc<M>, GivesArc, [F: FnMut(Arc<M>) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([G: Exclusive, M, F, Fut] G, ByArc<Asynchronous>, Arc<M>, GivesArc, [F: FnMut(Arc<M>) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByArc<SynchronousWithPayload>, Arc<M>, GivesArc, [F: FnMut(&mut P, Arc<M>) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([P: Send + 'static, M, F, Fut] CallbackGroup<P>, ByArc<AsynchronousWithPayload>, Arc<M>, GivesArc, [F: FnMut(Payload<P>, Arc<M>) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([M, F, R] ReentrantGroup, ByArc<Synchronous>, Arc<M>, GivesArc, [F: Fn(Arc<M>) -> R + Send + Sync + 'static, R: Returns<Nothing>]);
subscription_callback!([M, F, Fut] ReentrantGroup, ByArc<Asynchronous>, Arc<M>, GivesArc, [F: Fn(Arc<M>) -> Fut + Send + Sync + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static]);
subscription_callback!([G: Exclusive, M, F, R] G, ByReferenceTo<ByReference>, ByRef<M>, GivesRef, [F: FnMut(&M) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByReferenceTo<ByReferenceWithPayload>, ByRef<M>, GivesRef, [F: FnMut(&mut P, &M) -> R + Send + 'static, R: Returns<Nothing>]);
subscription_callback!([M, F, R] ReentrantGroup, ByReferenceTo<ByReference>, ByRef<M>, GivesRef, [F: Fn(&M) -> R + Send + Sync + 'static, R: Returns<Nothing>]);

/// The converter of messages for callbacks that take them by value. A shared message is copied, unless nobody else
/// holds it.
#[derive(Clone)]
pub(super) struct GivesValue(pub(super) Failures);
/// The converter of messages for callbacks that take them shared.
#[derive(Clone)]
pub(super) struct GivesArc(pub(super) Failures);
/// The converter of messages for callbacks that take them by reference.
#[derive(Clone)]
pub(super) struct GivesRef(pub(super) Failures);
/// The converter of items that are the argument themselves, such as the ticks of timers.
#[derive(Clone)]
pub(crate) struct GivesItem(pub(crate) Failures);

/// Implements [`Convert`] for the converter `$gives`, which keeps nothing while the callback runs, and reports errors.
/// `$open` turns the taken `$item`, called `$taken`, into the callback's `$argument`.
macro_rules! convert {
    ([$($generics:tt)*], $gives:ident, $item:ty, $argument:ty, |$taken:ident| $open:expr) => {
        impl<$($generics)*> Convert<$item, $argument, Nothing> for $gives {
            type Kept = ();

            fn open(&self, $taken: $item) -> ($argument, ()) {
                ($open, ())
            }

            fn close(&self, (): (), value: Result<(), String>) {
                if let Err(reason) = value {
                    self.0.report(reason);
                }
            }
        }
    };
}

convert!([M: Clone + Send + Sync + 'static], GivesValue, Received<M>, M, |received| received.into_value());
convert!([M: Send + Sync + 'static], GivesArc, Received<M>, Arc<M>, |received| received.into_arc());
convert!([M: Send + Sync + 'static], GivesRef, Received<M>, ByRef<M>, |received| ByRef(received));
convert!([T: Send + 'static], GivesItem, T, T, |item| item);
convert!([M: Clone + Send + Sync + 'static], GivesValue, (Received<M>, MessageInfo), (M, MessageInfo), |received| (received.0.into_value(), received.1));
convert!([M: Send + Sync + 'static], GivesArc, (Received<M>, MessageInfo), (Arc<M>, MessageInfo), |received| (received.0.into_arc(), received.1));
convert!([M: Send + Sync + 'static], GivesRef, (Received<M>, MessageInfo), (ByRef<M>, MessageInfo), |received| (ByRef(received.0), received.1));
