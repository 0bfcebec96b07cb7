//! The forms that a callback may have on each kind of group. Each is a type without values, by which the compiler tells
//! them apart.
//!
//! One method takes every form. The price is that closures write the types of their parameters. Each form of a
//! subscription's callback has an implementation of its own rather than one on top of `Callback`: only so does the
//! compiler know the message's type when it checks that it is a message. Each form of a service's callback has one,
//! too, so that the types of request and response, which are parts of one service, say which service it is.

use rospin_engine::{
    CallbackGroup, Entity, EntityKind, EntityOptions, Payload, ReentrantGroup, Source, SourceError, Tick, Timer,
    TimerError, TimerOptions,
};

use super::given::ByRef;
use super::returned::{Convert, Returned, Returns};
use crate::group::Exclusive;

/// A callback of a group of type `G`. It takes an `A`, and returns a value of the kind `K`. `Form` is the form of the
/// closure.
#[diagnostic::on_unimplemented(
    message = "this closure is not a callback with the argument `{A}` on `{G}`",
    label = "the callback cannot have this form on this group",
    note = "write the type of each parameter: first the payload, if the callback uses it (`&mut P`, or `Payload<P>` if it is \
             asynchronous), then the argument: a timer's `Tick`, a wall timer's `Tick<Instant>`",
    note = "a reentrant group and a node's own group have no payload",
    note = "on a mutually exclusive group a callback is `FnMut + Send + 'static`, on a reentrant one `Fn + Send + Sync + 'static`",
    note = "it returns `()` or a `Result<(), E>`; an asynchronous one returns a future of that"
)]
pub trait Callback<G, A, K: Returned, Form>: Send + 'static {
    /// Creates an entity over a source that runs this callback. `convert` turns an item into the argument.
    #[doc(hidden)]
    fn on_source<S: Source>(
        self,
        group: &G,
        kind: EntityKind,
        options: EntityOptions,
        source: S,
        convert: impl Convert<S::Item, A, K>,
    ) -> Result<Entity, SourceError>;

    /// Creates a timer that runs this callback. `convert` turns a tick into the argument.
    #[doc(hidden)]
    fn on_timer(self, group: &G, options: TimerOptions, convert: impl Convert<Tick, A, K>)
    -> Result<Timer, TimerError>;
}

/// Form `|argument| ..`.
#[derive(Debug)]
pub enum Synchronous {}

/// Form `|argument| async { .. }`.
#[derive(Debug)]
pub enum Asynchronous {}

/// Form `|argument: &M| ..`.
#[derive(Debug)]
pub enum ByReference {}

/// Form `|| ..`.
#[derive(Debug)]
pub enum WithoutArgument {}

/// Form `|| async { .. }`.
#[derive(Debug)]
pub enum AsynchronousWithoutArgument {}

/// Form `|payload: &mut P, argument| ..`.
#[derive(Debug)]
pub enum SynchronousWithPayload {}

/// Form `|payload: Payload<P>, argument| async { .. }`.
#[derive(Debug)]
pub enum AsynchronousWithPayload {}

/// Form `|payload: &mut P, argument: &M| ..`.
#[derive(Debug)]
pub enum ByReferenceWithPayload {}

/// Form `|payload: &mut P| ..`.
#[derive(Debug)]
pub enum WithoutArgumentWithPayload {}

/// Implements both methods of [`Callback`] with the same closure: one for an entity over a source, one for a timer.
///
/// - `$group` is the type of the group, and `$argument` the type of the callback's argument.
/// - `$inner` is the engine's group, from the group `$given`. `$source` and `$timer` are its methods that create the
///   entity.
/// - `$closure` is the callback for the engine. In it, `$this` is the user's callback and `$convert` its [`Convert`].
macro_rules! methods {
    ($group:ty, $argument:ty, |$given:ident| $inner:expr, $source:ident, $timer:ident, |$this:ident, $convert:ident| $closure:expr) => {
        fn on_source<S: Source>(
            self,
            $given: &$group,
            kind: EntityKind,
            options: EntityOptions,
            source: S,
            $convert: impl Convert<S::Item, $argument, K>,
        ) -> Result<Entity, SourceError> {
            #[allow(unused_mut, reason = "callbacks of reentrant groups are not changed by being called")]
            let mut $this = self;
            $inner.$source(kind, options, source, $closure)
        }

        fn on_timer(
            self,
            $given: &$group,
            options: TimerOptions,
            $convert: impl Convert<Tick, $argument, K>,
        ) -> Result<Timer, TimerError> {
            #[allow(unused_mut, reason = "callbacks of reentrant groups are not changed by being called")]
            let mut $this = self;
            $inner.$timer(options, $closure)
        }
    };
}

impl<G, A, K, F, R> Callback<G, A, K, Synchronous> for F
where
    G: Exclusive,
    K: Returned,
    F: FnMut(A) -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(G, A, |group| group.group(), create_source, create_timer, |this, convert| move |_, item| {
        let (argument, kept) = convert.open(item);
        convert.close(kept, this(argument).value());
    });
}

impl<G, A, K, F, Fut> Callback<G, A, K, Asynchronous> for F
where
    G: Exclusive,
    K: Returned,
    F: FnMut(A) -> Fut + Send + 'static,
    Fut: Future<Output: Returns<K>> + Send + 'static,
{
    methods!(G, A, |group| group.group(), create_source_async, create_timer_async, |this, convert| move |_, item| {
        let (argument, kept) = convert.open(item);
        let returned = this(argument);
        let convert = convert.clone();
        async move { convert.close(kept, returned.await.value()) }
    });
}

impl<G, M, K, F, R> Callback<G, ByRef<M>, K, ByReference> for F
where
    G: Exclusive,
    K: Returned,
    F: FnMut(&M) -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(G, ByRef<M>, |group| group.group(), create_source, create_timer, |this, convert| move |_, item| {
        let (argument, kept) = convert.open(item);
        convert.close(kept, this(argument.get()).value());
    });
}

impl<G, A, K, F, R> Callback<G, A, K, WithoutArgument> for F
where
    G: Exclusive,
    K: Returned,
    F: FnMut() -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(G, A, |group| group.group(), create_source, create_timer, |this, convert| move |_, item| {
        let (_, kept) = convert.open(item);
        convert.close(kept, this().value());
    });
}

impl<G, A, K, F, Fut> Callback<G, A, K, AsynchronousWithoutArgument> for F
where
    G: Exclusive,
    K: Returned,
    F: FnMut() -> Fut + Send + 'static,
    Fut: Future<Output: Returns<K>> + Send + 'static,
{
    methods!(G, A, |group| group.group(), create_source_async, create_timer_async, |this, convert| move |_, item| {
        let (_, kept) = convert.open(item);
        let returned = this();
        let convert = convert.clone();
        async move { convert.close(kept, returned.await.value()) }
    });
}

impl<P, A, K, F, R> Callback<CallbackGroup<P>, A, K, SynchronousWithPayload> for F
where
    P: Send + 'static,
    K: Returned,
    F: FnMut(&mut P, A) -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(CallbackGroup<P>, A, |group| group, create_source, create_timer, |this, convert| {
        move |payload: &mut P, item| {
            let (argument, kept) = convert.open(item);
            convert.close(kept, this(payload, argument).value());
        }
    });
}

impl<P, A, K, F, Fut> Callback<CallbackGroup<P>, A, K, AsynchronousWithPayload> for F
where
    P: Send + 'static,
    K: Returned,
    F: FnMut(Payload<P>, A) -> Fut + Send + 'static,
    Fut: Future<Output: Returns<K>> + Send + 'static,
{
    methods!(CallbackGroup<P>, A, |group| group, create_source_async, create_timer_async, |this, convert| {
        move |payload, item| {
            let (argument, kept) = convert.open(item);
            let returned = this(payload, argument);
            let convert = convert.clone();
            async move { convert.close(kept, returned.await.value()) }
        }
    });
}

impl<P, M, K, F, R> Callback<CallbackGroup<P>, ByRef<M>, K, ByReferenceWithPayload> for F
where
    P: Send + 'static,
    K: Returned,
    F: FnMut(&mut P, &M) -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(CallbackGroup<P>, ByRef<M>, |group| group, create_source, create_timer, |this, convert| {
        move |payload: &mut P, item| {
            let (argument, kept) = convert.open(item);
            convert.close(kept, this(payload, argument.get()).value());
        }
    });
}

impl<P, A, K, F, R> Callback<CallbackGroup<P>, A, K, WithoutArgumentWithPayload> for F
where
    P: Send + 'static,
    K: Returned,
    F: FnMut(&mut P) -> R + Send + 'static,
    R: Returns<K>,
{
    methods!(CallbackGroup<P>, A, |group| group, create_source, create_timer, |this, convert| {
        move |payload: &mut P, item| {
            let (_, kept) = convert.open(item);
            convert.close(kept, this(payload).value());
        }
    });
}

impl<A, K, F, R> Callback<ReentrantGroup, A, K, Synchronous> for F
where
    K: Returned,
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Returns<K>,
{
    methods!(ReentrantGroup, A, |group| group, create_source, create_timer, |this, convert| move |item| {
        let (argument, kept) = convert.open(item);
        convert.close(kept, this(argument).value());
    });
}

impl<A, K, F, Fut> Callback<ReentrantGroup, A, K, Asynchronous> for F
where
    K: Returned,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Returns<K>> + Send + 'static,
{
    methods!(ReentrantGroup, A, |group| group, create_source_async, create_timer_async, |this, convert| move |item| {
        let (argument, kept) = convert.open(item);
        let returned = this(argument);
        let convert = convert.clone();
        async move { convert.close(kept, returned.await.value()) }
    });
}

impl<M, K, F, R> Callback<ReentrantGroup, ByRef<M>, K, ByReference> for F
where
    K: Returned,
    F: Fn(&M) -> R + Send + Sync + 'static,
    R: Returns<K>,
{
    methods!(ReentrantGroup, ByRef<M>, |group| group, create_source, create_timer, |this, convert| move |item| {
        let (argument, kept) = convert.open(item);
        convert.close(kept, this(argument.get()).value());
    });
}

impl<A, K, F, R> Callback<ReentrantGroup, A, K, WithoutArgument> for F
where
    K: Returned,
    F: Fn() -> R + Send + Sync + 'static,
    R: Returns<K>,
{
    methods!(ReentrantGroup, A, |group| group, create_source, create_timer, |this, convert| move |item| {
        let (_, kept) = convert.open(item);
        convert.close(kept, this().value());
    });
}

impl<A, K, F, Fut> Callback<ReentrantGroup, A, K, AsynchronousWithoutArgument> for F
where
    K: Returned,
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Returns<K>> + Send + 'static,
{
    methods!(ReentrantGroup, A, |group| group, create_source_async, create_timer_async, |this, convert| move |item| {
        let (_, kept) = convert.open(item);
        let returned = this();
        let convert = convert.clone();
        async move { convert.close(kept, returned.await.value()) }
    });
}
