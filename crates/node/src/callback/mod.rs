//! What may be given where a callback is asked for: any of these, as the group allows.
//!
//! | | mutually exclusive group with payload `P` | reentrant group | a node's own group |
//! | --- | --- | --- | --- |
//! | synchronous | `\|payload: &mut P, message: M\|` or `\|message: M\|` | `\|message: M\|` | `\|message: M\|` |
//! | asynchronous | `\|payload: Payload<P>, message: M\| async { .. }` or `\|message: M\| async { .. }` | `\|message: M\| async { .. }` | `\|message: M\| async { .. }` |
//!
//! - Callbacks of a mutually exclusive group, or a node's own, are `FnMut`: one runs at a time. Those of a reentrant group are `Fn`
//!   and [`Sync`], for they run at the same time.
//! - A subscription's message comes by value, as [`Arc`](std::sync::Arc), or to a synchronous callback by reference: `M`, `Arc<M>`, `&M`. In
//!   process an `Arc` is shared by all subscriptions, and a value is a copy unless it is the last one. The closure says which: its
//!   parameters are written with their types.
//! - A timer's callback takes a [`Tick`], or nothing.
//! - A service's callback takes the request by value, and returns the response.
//! - Callbacks of timers and subscriptions return nothing or a [`Result`], whose error is an [`Incident`](rospin_engine::Incident).
//!
//! What captures something that an asynchronous callback uses clones it for each call: `move |message: M| { let log = log.clone(); async
//! move { .. } }`.
//!
//! A closure that fits no form is an error that says so:
//!
//! ```compile_fail,E0277
//! # use rospin_node::{Node, Subscription, TopicError};
//! # fn wrong(node: &Node) -> Result<Subscription, TopicError> {
//! node.create_subscription("chatter", |number: u32| println!("{number}")) // error: this is no callback of a subscription
//! # }
//! ```
//!
//! The traits here are not called or implemented outside of this crate.

mod forms;
mod given;
mod returned;

use rospin_engine::{Entity, EntityKind, EntityOptions, Source, SourceError, Tick, Timer, TimerError, TimerOptions};

pub use forms::{
    Asynchronous, AsynchronousWithPayload, AsynchronousWithoutArgument, ByReference, ByReferenceWithPayload,
    Synchronous, SynchronousWithPayload, WithoutArgument, WithoutArgumentWithPayload,
};
pub(crate) use given::GivesTick;
pub use given::{ByArc, ByRef, ByReferenceTo, ByValue, Given, Received, SubscriptionCallback};
pub use returned::{Convert, Nothing, Returned, Returns, Value};

/// A callback of a group of type `G`, which is given an `A` and returns what `K` says; `Form` is how it does that.
#[diagnostic::on_unimplemented(
    message = "this is no callback of a `{G}`",
    label = "it cannot be called with `{A}` on this group",
    note = "write the types of its parameters: the payload (`&mut P`, or `Payload<P>` where it is asynchronous) if it wants that, \
            then what it is called for",
    note = "callbacks of mutually exclusive groups are `FnMut + Send + 'static`, those of reentrant groups `Fn + Send + Sync + 'static`",
    note = "timers and subscriptions want `()` or a `Result<(), E>` back, services the response"
)]
pub trait Callback<G, A, K: Returned, Form>: Send + 'static {
    /// Creates an entity over a source.
    #[doc(hidden)]
    fn on_source<S: Source>(
        self,
        group: &G,
        kind: EntityKind,
        options: EntityOptions,
        source: S,
        convert: impl Convert<S::Item, A, K>,
    ) -> Result<Entity, SourceError>;

    /// Creates a timer.
    #[doc(hidden)]
    fn on_timer(self, group: &G, options: TimerOptions, convert: impl Convert<Tick, A, K>)
    -> Result<Timer, TimerError>;
}
