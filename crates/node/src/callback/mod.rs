//! Callbacks: the forms that a closure may have. The group decides which of them it takes.
//!
//! | | mutually exclusive group with payload `P` | reentrant group | a node's own group |
//! | --- | --- | --- | --- |
//! | synchronous | `\|payload: &mut P, message: M\|` or `\|message: M\|` | `\|message: M\|` | `\|message: M\|` |
//! | asynchronous | `\|payload: Payload<P>, message: M\| async { .. }` or `\|message: M\| async { .. }` | `\|message: M\| async { .. }` | `\|message: M\| async { .. }` |
//!
//! - Callbacks of a mutually exclusive group, a node's own included, are `FnMut`: one runs at a time. Callbacks of a
//!   reentrant group are `Fn` and [`Sync`], because several of them run at once.
//! - A subscription's callback takes the message by value (`M`), shared (`Arc<M>`, [`Arc`](std::sync::Arc)), or, if it
//!   is synchronous, by reference (`&M`). The parameter's type, which the closure must write, decides. Within a
//!   process, subscriptions with the publisher's Rust type share the `Arc`; a value is a copy, except for the last
//!   subscription that holds the message.
//! - After the message it may take a [`MessageInfo`](crate::MessageInfo) by value, in every form:
//!   `|message: &M, info: MessageInfo|`.
//! - A timer's callback takes a [`Tick`](crate::Tick), or nothing. That of a wall timer takes a `Tick<Instant>`.
//! - The callback of a [synchronizer](crate::message_filters) takes a tuple of `Arc<M>`.
//! - A service's callback takes the request by value, and returns the response. Their types say which service it is.
//! - Callbacks of timers and subscriptions, and executions of goals, return nothing or a [`Result`]. An error is
//!   reported as an [`Incident`](rospin_engine::Incident). A callback that uses `?` ends with `rospin::Ok(())`, which
//!   tells the compiler the type of its errors. An asynchronous one may be a `loop` without an end.
//!
//! While an asynchronous callback awaits, other callbacks of a node's own group or a reentrant group run. A mutually
//! exclusive group that was created is held until the callback ends, unless its options [say
//! otherwise](rospin_engine::GroupOptions::releases_at_await).
//!
//! An asynchronous callback clones whatever it captures for each call: `move |message: M| { let log = log.clone();
//! async move { .. } }`.
//!
//! A closure that has none of these forms is a compile error that says so:
//!
//! ```compile_fail,E0277
//! # use rospin::errors::TopicError;
//! # use rospin::{Node, Subscription};
//! # fn wrong(node: &Node) -> Result<Subscription, TopicError> {
//! node.create_subscription("chatter", |number: u32| println!("{number}")) // error: this closure is not a callback of a subscription
//! # }
//! ```
//!
//! The traits of this module are neither called nor implemented outside of this crate.

mod answers;
mod forms;
mod given;
mod informed;
mod returned;

use rospin_engine::{Entity, EntityKind, EntityOptions, Source, SourceError, Tick, Timer, TimerError, TimerOptions};

pub use answers::ServiceCallback;
pub use forms::{
    Asynchronous, AsynchronousWithPayload, AsynchronousWithoutArgument, ByReference, ByReferenceWithPayload,
    Synchronous, SynchronousWithPayload, WithoutArgument, WithoutArgumentWithPayload,
};
pub(crate) use given::GivesItem;
pub use given::{Arrivals, ByArc, ByRef, ByReferenceTo, ByValue, Given, Received, SubscriptionCallback};
pub use informed::Informed;
pub use returned::{Convert, Nothing, Returned, Returns, Value};

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
