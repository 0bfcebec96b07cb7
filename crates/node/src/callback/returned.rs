//! What callbacks return, and what becomes of it.

use std::fmt::Display;

/// A kind of return value.
pub trait Returned: 'static {
    /// What is made of it.
    type Value;
}

/// Nothing, or an error: of timers and subscriptions.
#[derive(Debug)]
pub enum Nothing {}

impl Returned for Nothing {
    /// `Err` with what the error says.
    type Value = Result<(), String>;
}

/// A value that somebody waits for: of services.
#[derive(Debug)]
pub struct Value<T>(std::marker::PhantomData<T>);

impl<T: 'static> Returned for Value<T> {
    type Value = T;
}

/// Something that a callback may return where `K` is asked for.
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

impl<T: 'static> Returns<Value<T>> for T {
    fn value(self) -> T {
        self
    }
}

/// Makes the callback's argument of what was taken, and does what is to be done with what it returns.
#[doc(hidden)]
pub trait Convert<Item, A, K: Returned>: Clone + Send + Sync + 'static {
    /// What is kept while the callback runs.
    type Kept: Send + 'static;

    fn open(&self, item: Item) -> (A, Self::Kept);

    fn close(&self, kept: Self::Kept, value: K::Value);
}
