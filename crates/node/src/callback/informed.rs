//! Callbacks of subscriptions that take a message with its [`MessageInfo`].

use std::marker::PhantomData;
use std::sync::Arc;

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, Failures, Payload, ReentrantGroup, SourceError};

use super::forms::{
    Asynchronous, AsynchronousWithPayload, ByReference, ByReferenceWithPayload, Callback, Synchronous,
    SynchronousWithPayload,
};
use super::given::{
    Arrivals, ByArc, ByRef, ByReferenceTo, ByValue, Given, GivesArc, GivesRef, GivesValue, SubscriptionCallback,
};
use super::returned::{Nothing, Returns};
use crate::group::Exclusive;
use crate::info::MessageInfo;

/// The form `Way`, with a [`MessageInfo`] as the last parameter.
#[derive(Debug)]
pub struct Informed<Way>(PhantomData<Way>);

/// Implements [`SubscriptionCallback`] for closures with the bounds `$bounds`, which take a message in the way `$way`
/// and then its info.
///
/// - `$group` is the type of the group, and `$way<$of>` the form without the info.
/// - `$callback` names the user's closure in `$inner`.
/// - `$inner` is a closure of the form `$form` with one argument, `($argument, MessageInfo)`, that calls it.
/// - `$gives` converts a message as it arrived into a `$argument`.
macro_rules! informed_callback {
    ([$($generics:tt)*] $group:ty, $way:ident<$of:ty>, $form:ty, $argument:ty, $gives:ident, [$($bounds:tt)+], |$callback:ident| $inner:expr) => {
        impl<$($generics)*> SubscriptionCallback<$group, M, Informed<$way<$of>>> for F
        where
            $($bounds)+,
            M: Given,
        {
            const ASKS_FOR_INFO: bool = true;

            fn create(
                self,
                group: &$group,
                options: EntityOptions,
                source: impl Arrivals<M>,
                failures: Failures,
            ) -> Result<Entity, SourceError> {
                #[allow(unused_mut, reason = "callbacks of reentrant groups are not changed by being called")]
                let mut $callback = self;
                let kind = EntityKind::Subscription;
                let source = source.informed();
                Callback::<$group, ($argument, MessageInfo), Nothing, $form>::on_source($inner, group, kind, options, source, $gives(failures))
            }
        }
    };
}

informed_callback!([G: Exclusive, M, F, R] G, ByValue<Synchronous>, Synchronous, M, GivesValue, [F: FnMut(M, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |(message, info): (M, MessageInfo)| this(message, info));
informed_callback!([G: Exclusive, M, F, Fut] G, ByValue<Asynchronous>, Asynchronous, M, GivesValue, [F: FnMut(M, MessageInfo) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |(message, info): (M, MessageInfo)| this(message, info));
informed_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByValue<SynchronousWithPayload>, SynchronousWithPayload, M, GivesValue, [F: FnMut(&mut P, M, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |payload: &mut P, (message, info): (M, MessageInfo)| this(payload, message, info));
informed_callback!([P: Send + 'static, M, F, Fut] CallbackGroup<P>, ByValue<AsynchronousWithPayload>, AsynchronousWithPayload, M, GivesValue, [F: FnMut(Payload<P>, M, MessageInfo) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |payload: Payload<P>, (message, info): (M, MessageInfo)| this(payload, message, info));
informed_callback!([M, F, R] ReentrantGroup, ByValue<Synchronous>, Synchronous, M, GivesValue, [F: Fn(M, MessageInfo) -> R + Send + Sync + 'static, R: Returns<Nothing>], |this| move |(message, info): (M, MessageInfo)| this(message, info));
informed_callback!([M, F, Fut] ReentrantGroup, ByValue<Asynchronous>, Asynchronous, M, GivesValue, [F: Fn(M, MessageInfo) -> Fut + Send + Sync + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |(message, info): (M, MessageInfo)| this(message, info));
informed_callback!([G: Exclusive, M, F, R] G, ByArc<Synchronous>, Synchronous, Arc<M>, GivesArc, [F: FnMut(Arc<M>, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |(message, info): (Arc<M>, MessageInfo)| this(message, info));
informed_callback!([G: Exclusive, M, F, Fut] G, ByArc<Asynchronous>, Asynchronous, Arc<M>, GivesArc, [F: FnMut(Arc<M>, MessageInfo) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |(message, info): (Arc<M>, MessageInfo)| this(message, info));
informed_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByArc<SynchronousWithPayload>, SynchronousWithPayload, Arc<M>, GivesArc, [F: FnMut(&mut P, Arc<M>, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |payload: &mut P, (message, info): (Arc<M>, MessageInfo)| this(payload, message, info));
informed_callback!([P: Send + 'static, M, F, Fut] CallbackGroup<P>, ByArc<AsynchronousWithPayload>, AsynchronousWithPayload, Arc<M>, GivesArc, [F: FnMut(Payload<P>, Arc<M>, MessageInfo) -> Fut + Send + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |payload: Payload<P>, (message, info): (Arc<M>, MessageInfo)| this(payload, message, info));
informed_callback!([M, F, R] ReentrantGroup, ByArc<Synchronous>, Synchronous, Arc<M>, GivesArc, [F: Fn(Arc<M>, MessageInfo) -> R + Send + Sync + 'static, R: Returns<Nothing>], |this| move |(message, info): (Arc<M>, MessageInfo)| this(message, info));
informed_callback!([M, F, Fut] ReentrantGroup, ByArc<Asynchronous>, Asynchronous, Arc<M>, GivesArc, [F: Fn(Arc<M>, MessageInfo) -> Fut + Send + Sync + 'static, Fut: Future<Output: Returns<Nothing>> + Send + 'static], |this| move |(message, info): (Arc<M>, MessageInfo)| this(message, info));
informed_callback!([G: Exclusive, M, F, R] G, ByReferenceTo<ByReference>, Synchronous, ByRef<M>, GivesRef, [F: FnMut(&M, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |(message, info): (ByRef<M>, MessageInfo)| this(message.get(), info));
informed_callback!([P: Send + 'static, M, F, R] CallbackGroup<P>, ByReferenceTo<ByReferenceWithPayload>, SynchronousWithPayload, ByRef<M>, GivesRef, [F: FnMut(&mut P, &M, MessageInfo) -> R + Send + 'static, R: Returns<Nothing>], |this| move |payload: &mut P, (message, info): (ByRef<M>, MessageInfo)| this(payload, message.get(), info));
informed_callback!([M, F, R] ReentrantGroup, ByReferenceTo<ByReference>, Synchronous, ByRef<M>, GivesRef, [F: Fn(&M, MessageInfo) -> R + Send + Sync + 'static, R: Returns<Nothing>], |this| move |(message, info): (ByRef<M>, MessageInfo)| this(message.get(), info));
