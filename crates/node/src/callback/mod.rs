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

pub use answers::ServiceCallback;
pub use forms::{
    Asynchronous, AsynchronousWithPayload, AsynchronousWithoutArgument, ByReference, ByReferenceWithPayload, Callback,
    Synchronous, SynchronousWithPayload, WithoutArgument, WithoutArgumentWithPayload,
};
pub(crate) use given::GivesItem;
pub use given::{Arrivals, ByArc, ByRef, ByReferenceTo, ByValue, Given, Received, SubscriptionCallback};
pub use informed::Informed;
pub use returned::{Convert, Nothing, Returned, Returns, Value};
