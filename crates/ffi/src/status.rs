//! Status codes, the text of the last error, and the border that no panic crosses.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rospin_engine::SourceError;

/// The version of this interface. Within one version, functions, codes, and fields at the end of structs are only
/// added.
pub const ROSPIN_ABI_VERSION: u32 = 1;

/// The result of a call: ROSPIN_OK, another end of a spin, or an error, which is below zero.
pub type rospin_status = i32;

/// It worked. Of a spin: what its options ask for is done.
pub const ROSPIN_OK: i32 = 0;
/// The spin ended because the executor was halted.
pub const ROSPIN_HALTED: i32 = 1;
/// The spin ended because its timeout had passed.
pub const ROSPIN_TIMEOUT: i32 = 2;
/// The spin ended because a callback's `run` returned a status of its own.
pub const ROSPIN_STOPPED: i32 = 3;
/// An argument is invalid: a NULL, a text that is not UTF-8, an unknown value, a name that is missing.
pub const ROSPIN_ERROR_INVALID: i32 = -1;
/// The executor spins already.
pub const ROSPIN_ERROR_SPINNING: i32 = -2;
/// The group was removed, or its executor destroyed.
pub const ROSPIN_ERROR_GONE: i32 = -3;
/// A deployment file cannot be read, is invalid, or does not fit the program.
pub const ROSPIN_ERROR_DEPLOYMENT: i32 = -4;
/// The operating system refused something: a thread, a setting of a thread, a file, a file descriptor.
pub const ROSPIN_ERROR_SYSTEM: i32 = -5;
/// Something panicked inside rospin.
pub const ROSPIN_ERROR_PANIC: i32 = -6;

/// The time point of what is never due, and the longest duration.
pub const ROSPIN_NEVER: i64 = i64::MAX;

/// Reason for which a call fails, with its code.
#[derive(Debug)]
pub(crate) struct Failure {
    code: rospin_status,
    message: String,
}

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: ROSPIN_ERROR_INVALID, message: message.into() }
    }

    pub(crate) fn new(code: rospin_status, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let cause = error.to_string();
            // Many errors have the text of their cause in their own.
            if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
            source = error.source();
        }
        Self { code, message }
    }

    pub(crate) fn gone(error: &dyn std::error::Error) -> Self {
        Self::new(ROSPIN_ERROR_GONE, error)
    }

    /// Returns the failure of creating the entity of a source.
    pub(crate) fn of_source(error: &SourceError) -> Self {
        let code = if matches!(error, SourceError::GroupGone(_)) { ROSPIN_ERROR_GONE } else { ROSPIN_ERROR_SYSTEM };
        Self::new(code, error)
    }

    pub(crate) fn system(error: &dyn std::error::Error) -> Self {
        Self::new(ROSPIN_ERROR_SYSTEM, error)
    }

    pub(crate) fn deployment(error: &dyn std::error::Error) -> Self {
        Self::new(ROSPIN_ERROR_DEPLOYMENT, error)
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs `call` and returns its status. An error and a panic become codes, with their text for
/// [`rospin_last_error`].
pub(crate) fn status_of(call: impl FnOnce() -> Result<rospin_status, Failure>) -> rospin_status {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure { code: ROSPIN_ERROR_PANIC, message: format!("rospin panicked: {}", text_of(&*panic)) },
    };
    let text = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
    // A thread that ends has no last error any more.
    let _ = LAST_ERROR.try_with(|last| last.replace(text));
    failure.code
}

/// Runs a `call` that cannot fail. A panic is logged, and the result is `otherwise` then.
pub(crate) fn value_of<R>(otherwise: R, call: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        log::error!(target: "rospin", "rospin panicked: {}", text_of(&*panic));
        otherwise
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("for an unknown reason")
}

/// Returns the version of the library's interface. Compare it with ROSPIN_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn rospin_abi_version() -> u32 {
    ROSPIN_ABI_VERSION
}

/// Returns why the last call of this thread that failed did so, and what to do; empty if none did. The text is valid
/// until the thread's next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn rospin_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
