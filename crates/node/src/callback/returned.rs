//! Return values of callbacks.

use std::fmt::Display;

/// A kind of return value.
pub trait Returned: 'static {
    /// The return value, converted by [`Returns::value`].
    type Value;
}

/// Nothing, or an error: the return values of timers and subscriptions.
#[derive(Debug)]
pub enum Nothing {}

impl Returned for Nothing {
    /// `Err` has the error's text.
    type Value = Result<(), String>;
}

/// A value that the caller waits for: the response of a service.
#[derive(Debug)]
pub struct Value<T>(std::marker::PhantomData<T>);

impl<T: 'static> Returned for Value<T> {
    type Value = T;
}

/// A type that a callback of kind `K` may return.
#[diagnostic::on_unimplemented(
    message = "this callback cannot return `{Self}`",
    label = "it returns `{Self}`",
    note = "callbacks of timers and subscriptions, and executions of goals, return `()` or a `Result<(), E>` whose error has a text; the \
            result of a goal is passed to `GoalHandle::succeed`"
)]
pub trait Returns<K: Returned> {
    #[doc(hidden)]
    fn value(self) -> K::Value;
}

impl Returns<Nothing> for () {
    fn value(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Returns<Nothing> for Result<(), E> {
    fn value(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The type of what never returns, such as `loop {}`, is the return type of functions like [`std::process::exit`].
/// Stable Rust has no other name for it.
impl Returns<Nothing> for <fn() -> ! as Yields>::Output {
    fn value(self) -> Result<(), String> {
        self
    }
}

/// A function pointer, by which its return type is named.
#[doc(hidden)]
pub trait Yields {
    type Output;
}

impl<T> Yields for fn() -> T {
    type Output = T;
}

impl<T: 'static> Returns<Value<T>> for T {
    fn value(self) -> T {
        self
    }
}

/// Converter of the item that was taken to the callback's argument. It also handles the return value.
#[doc(hidden)]
pub trait Convert<Item, A, K: Returned>: Clone + Send + Sync + 'static {
    /// The part of the item that is kept until the callback has returned, such as the address of the response.
    type Kept: Send + 'static;

    /// Splits an item into the callback's argument and the part that is kept.
    fn open(&self, item: Item) -> (A, Self::Kept);

    /// Handles what the callback returned: reports an error, or sends a response.
    fn close(&self, kept: Self::Kept, value: K::Value);
}
