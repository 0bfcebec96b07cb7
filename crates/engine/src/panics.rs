//! Panics of user code that is not a callback: they are caught, told, and go no further.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(message) = payload.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message.clone()
    } else {
        "(a value that is not text)".to_owned()
    }
}

/// Runs user code other than a callback. Returns `None` if it panicked: the panic hook has reported that, and it must
/// not take the executor down.
pub(crate) fn contain<R>(user_code: impl FnOnce() -> R) -> Option<R> {
    caught(user_code).ok()
}

/// Does what [`contain`] does, and logs a panic: `what` names the code.
pub(crate) fn contain_and_log<R>(what: impl fmt::Display, user_code: impl FnOnce() -> R) -> Option<R> {
    let message = match caught(user_code) {
        Ok(result) => return Some(result),
        Err(message) => message,
    };
    // A logger is foreign code, too.
    contain(|| log::error!(target: "rospin", "{what} panicked: {message}"));
    None
}

/// Runs user code. If it panics, returns the panic's message.
pub(crate) fn caught<R>(user_code: impl FnOnce() -> R) -> Result<R, String> {
    match catch_unwind(AssertUnwindSafe(user_code)) {
        Ok(result) => Ok(result),
        Err(panic) => Err(end_of_panic(panic)),
    }
}

/// Drops a panic, and returns its message.
#[cold]
fn end_of_panic(panic: Box<dyn Any + Send>) -> String {
    let message = panic_message(&*panic);
    // The panic's payload may panic when it is dropped, and so may that panic's payload: it is leaked then.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    message
}
