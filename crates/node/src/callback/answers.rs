//! Callbacks of services: the forms of a closure that takes a request and returns the response.

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, Payload, ReentrantGroup, Source, SourceError};
use rospin_wire::{ServiceInterface, ServicePart};

use super::forms::{
    Asynchronous, AsynchronousWithPayload, AsynchronousWithoutArgument, Callback, Synchronous, SynchronousWithPayload,
    WithoutArgument, WithoutArgumentWithPayload,
};
use super::returned::{Convert, Value};
use crate::group::Exclusive;

/// A callback of the service `S` on a group of type `G`. The module [`callback`](crate::callback) lists the forms.
#[diagnostic::on_unimplemented(
    message = "this closure is not a callback of a service on `{G}`",
    label = "a service's callback cannot have this form on this group",
    note = "write the type of each parameter: first the payload, if the callback uses it (`&mut P`, or `Payload<P>` if it is \
            asynchronous), then the request by value",
    note = "it returns the response of the same service, not a `Result`, since ROS 2 has no way to send an error: put it into the \
            response; an asynchronous one returns a future of that",
    note = "a reentrant group and a node's own group have no payload",
    note = "on a mutually exclusive group a callback is `FnMut + Send + 'static`, on a reentrant one `Fn + Send + Sync + 'static`"
)]
pub trait ServiceCallback<G, S: ServiceInterface, Form> {
    /// Creates the entity. `convert` turns what the source has into a request, and sends the response.
    #[doc(hidden)]
    fn create<Requests: Source>(
        self,
        group: &G,
        options: EntityOptions,
        source: Requests,
        convert: impl Convert<Requests::Item, S::Request, Value<S::Response>>,
    ) -> Result<Entity, SourceError>;
}

/// Implements [`ServiceCallback`] for closures with the bounds `$bounds` on groups `$group`, in the form `$form`.
///
/// The closure's bounds come first, then that its return value is a part of a service, which a future is not: so the
/// compiler tells synchronous closures from asynchronous ones before it knows the service. The types of request and
/// response say then which service it is.
macro_rules! service_callback {
    ([$($generics:tt)*] $group:ty, $form:ty, [$($bounds:tt)+]) => {
        impl<S, $($generics)*> ServiceCallback<$group, S, $form> for F
        where
            $($bounds)+,
        {
            fn create<Requests: Source>(
                self,
                group: &$group,
                options: EntityOptions,
                source: Requests,
                convert: impl Convert<Requests::Item, S::Request, Value<S::Response>>,
            ) -> Result<Entity, SourceError> {
                let kind = EntityKind::Service;
                Callback::<$group, S::Request, Value<S::Response>, $form>::on_source(self, group, kind, options, source, convert)
            }
        }
    };
}

service_callback!([G: Exclusive, A, F, R] G, Synchronous, [F: FnMut(A) -> R + Send + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([G: Exclusive, A, F, Fut, R] G, Asynchronous, [F: FnMut(A) -> Fut + Send + 'static, Fut: Future<Output = R> + Send + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([G: Exclusive, F, R] G, WithoutArgument, [F: FnMut() -> R + Send + 'static, R: ServicePart<S>, S: ServiceInterface<Response = R>]);
service_callback!([G: Exclusive, F, Fut, R] G, AsynchronousWithoutArgument, [F: FnMut() -> Fut + Send + 'static, Fut: Future<Output = R> + Send + 'static, R: ServicePart<S>, S: ServiceInterface<Response = R>]);
service_callback!([P: Send + 'static, A, F, R] CallbackGroup<P>, SynchronousWithPayload, [F: FnMut(&mut P, A) -> R + Send + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([P: Send + 'static, A, F, Fut, R] CallbackGroup<P>, AsynchronousWithPayload, [F: FnMut(Payload<P>, A) -> Fut + Send + 'static, Fut: Future<Output = R> + Send + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([P: Send + 'static, F, R] CallbackGroup<P>, WithoutArgumentWithPayload, [F: FnMut(&mut P) -> R + Send + 'static, R: ServicePart<S>, S: ServiceInterface<Response = R>]);
service_callback!([A, F, R] ReentrantGroup, Synchronous, [F: Fn(A) -> R + Send + Sync + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([A, F, Fut, R] ReentrantGroup, Asynchronous, [F: Fn(A) -> Fut + Send + Sync + 'static, Fut: Future<Output = R> + Send + 'static, A: ServicePart<S>, R: ServicePart<S>, S: ServiceInterface<Request = A, Response = R>]);
service_callback!([F, R] ReentrantGroup, WithoutArgument, [F: Fn() -> R + Send + Sync + 'static, R: ServicePart<S>, S: ServiceInterface<Response = R>]);
service_callback!([F, Fut, R] ReentrantGroup, AsynchronousWithoutArgument, [F: Fn() -> Fut + Send + Sync + 'static, Fut: Future<Output = R> + Send + 'static, R: ServicePart<S>, S: ServiceInterface<Response = R>]);
