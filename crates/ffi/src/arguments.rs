//! Arguments from C, checked.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::time::Duration;

use crate::status::Failure;

/// Struct of options, which begins with its size in bytes.
///
/// # Safety
/// Its first field is a `usize`, and a value of zeros is valid.
pub(crate) unsafe trait Options: Copy {
    /// The name in the header.
    const NAME: &'static str;
}

/// Reads options. NULL stands for the defaults, which are zero. Fields behind the end of a shorter struct, which comes
/// from an older header, are zero, too.
///
/// # Safety
/// The pointer is NULL, or points to as many bytes as the `usize` says that they begin with.
pub(crate) unsafe fn options<T: Options>(pointer: *const T) -> Result<T, Failure> {
    let mut options = MaybeUninit::<T>::zeroed();
    if !pointer.is_null() {
        // SAFETY: `Options` promises the field, and the caller the memory.
        let size = unsafe { pointer.cast::<usize>().read() };
        if size < size_of::<usize>() {
            return Err(Failure::invalid(format!("struct_size of {0} is not set; it must be sizeof({0})", T::NAME)));
        }
        let known = size.min(size_of::<T>());
        // SAFETY: both have that many bytes, and `options` is not the caller's.
        unsafe { pointer.cast::<u8>().copy_to_nonoverlapping(options.as_mut_ptr().cast(), known) };
        // SAFETY: the caller promises `size` bytes.
        let unknown = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), size - known) };
        if unknown.iter().any(|byte| *byte != 0) {
            let name = T::NAME;
            return Err(Failure::invalid(format!("{name} has options that this library is too old for; update it")));
        }
    }
    // SAFETY: zeros are valid, and so is what the caller has.
    Ok(unsafe { options.assume_init() })
}

/// Returns what the pointer points to.
///
/// # Safety
/// The pointer is NULL or valid for that long.
pub(crate) unsafe fn given<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::invalid(format!("`{name}` is NULL")))
}

/// Returns the place for a result.
///
/// # Safety
/// The pointer is NULL, or valid for that long, and nobody else uses it.
pub(crate) unsafe fn place<'a, T>(pointer: *mut *mut T, name: &str) -> Result<&'a mut *mut T, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::invalid(format!("the pointer for the new {name} is NULL")))
}

/// Puts a new handle into its place.
pub(crate) fn give<T>(place: &mut *mut T, handle: T) {
    *place = Box::into_raw(Box::new(handle));
}

/// Drops a handle.
///
/// # Safety
/// The handle is NULL, or comes from [`give`] and is not used from now on.
pub(crate) unsafe fn destroy<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it was made by `give`, and the caller gives it up.
        let handle = unsafe { Box::from_raw(handle) };
        crate::status::value_of((), move || drop(handle));
    }
}

/// Returns a text; `None` if it is NULL.
///
/// # Safety
/// The pointer is NULL, or points to bytes that end with a zero.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises the zero.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| Failure::invalid(format!("`{name}` is not UTF-8")))
}

/// Returns a text that must be there.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn needed_text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises it.
    let text = unsafe { text(pointer, name) }?.filter(|text| !text.is_empty());
    text.ok_or_else(|| Failure::invalid(format!("`{name}` is missing")))
}

/// Returns an array as a slice.
///
/// # Safety
/// The pointer is NULL, or points to `count` values that stay for that long.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::invalid(format!("`{name}` is NULL, but its count is {count}")));
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Returns a duration; zero if the number is negative.
pub(crate) fn duration(ns: i64) -> Duration {
    Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
}
