//! The program's side: the libraries that it has opened.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libloading::Library as Shared;
use rospin_msgs::composition_interfaces::srv::{LoadNodeRequest, LoadNodeResponse};
use rospin_wire::cdr::{from_payload, to_payload};

use super::exports::{Exports, Library};
use super::{SYMBOL, VERSION};
use crate::ending::{ContainerHandle, Ending};

/// A library that is part of the process. It is never closed, because its threads run code of it.
#[derive(Clone, Copy)]
pub(crate) struct Opened(&'static Exports);

/// A component of a library. Dropping it unloads the component.
pub(crate) struct LibraryComponent {
    library: Opened,
    id: u64,
}

impl Drop for LibraryComponent {
    fn drop(&mut self) {
        let exports = self.library.0;
        // SAFETY: The function and the library belong to the same exports.
        unsafe { (exports.unload)(exports.library(), self.id) };
    }
}

/// The libraries that the process has opened, by their files. A library is there once in a process.
static OPENED: Mutex<BTreeMap<PathBuf, (Opened, &'static Endings)>> = Mutex::new(BTreeMap::new());

/// Containers that end with the container of a library.
#[derive(Default)]
struct Endings(Mutex<Vec<Weak<Ending>>>);

impl Endings {
    fn add(&self, ending: &Arc<Ending>) {
        let mut all = self.lock();
        all.retain(|there| there.strong_count() > 0 && !Weak::ptr_eq(there, &Arc::downgrade(ending)));
        all.push(Arc::downgrade(ending));
    }

    fn end(&self, reason: &str) {
        let all = std::mem::take(&mut *self.lock());
        for ending in all.iter().filter_map(Weak::upgrade) {
            ContainerHandle { ending, component: None }.end(reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Ending>>> {
        // A panic leaves nothing half changed: only moves of values happen under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// Returns the library in that file, opened if it is not yet. If its container ends, so does the one of `ending`.
    ///
    /// # Errors
    /// If it is no library of components, or one with another interface. The error is the reason for who asks.
    pub(crate) fn open(file: &Path, ending: &Arc<Ending>) -> Result<Self, String> {
        let file = file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))?;
        // Held while the library is opened, so that nobody opens it twice. A panic leaves nothing half changed.
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((there, endings)) = opened.get(&file) {
            endings.add(ending);
            return Ok(*there);
        }
        let endings: &'static Endings = Box::leak(Box::default());
        endings.add(ending);
        let library = Self::enter(&file, endings)?;
        opened.insert(file, (library, endings));
        Ok(library)
    }

    /// Makes the library a part of the process.
    fn enter(file: &Path, endings: &'static Endings) -> Result<Self, String> {
        // SAFETY: A library runs code of its own when it is opened. It is one that whoever started the program has
        // installed, and that its package offers to containers of components, as rclcpp's opens them.
        let shared = unsafe { Shared::new(file) }.map_err(|error| format!("{}: {}", file.display(), said(&error)))?;
        // SAFETY: In every version, the function takes nothing and returns a pointer to `static` exports.
        let found = unsafe { shared.get::<unsafe extern "C" fn() -> *const Exports>(SYMBOL) };
        let Ok(exports) = found else {
            return Err(format!(
                "{} is no library of rospin's components: it has no symbol `{SYMBOL}`. Those of C++ are for rclcpp's \
                 `component_container`",
                file.display()
            ));
        };
        // SAFETY: As above.
        let exports = unsafe { exports() };
        // It stays, since its threads run code of it.
        std::mem::forget(shared);
        // SAFETY: The exports are `static`, and in every version their first field is the version.
        check(file, unsafe { *exports.cast::<u32>() })?;
        // SAFETY: Of this version, they have this layout.
        let exports = unsafe { &*exports };
        let file = file.display();
        log::info!(target: "rospin", "components of {file}, built with {}, can be loaded", exports.built_with());
        // SAFETY: What `ended` gets is never freed, and may be used by any thread.
        unsafe { (exports.begin)(exports.library(), ended, std::ptr::from_ref(endings).cast()) };
        Ok(Self(exports))
    }

    /// Loads a component. Returns the full name of its node with it.
    ///
    /// # Errors
    /// If it does not start. The error is the reason for who asks.
    pub(crate) fn load(self, request: &LoadNodeRequest) -> Result<(String, LibraryComponent), String> {
        let request = to_payload(request).map_err(|error| error.to_string())?;
        let mut answer: Vec<u8> = Vec::new();
        let to: *const c_void = std::ptr::from_mut(&mut answer).cast_const().cast();
        let library: *const Library = self.0.library();
        // SAFETY: Function and library belong to the same exports; the request and the answer outlive the call.
        unsafe { (self.0.load)(library, request.as_ptr(), request.len(), append, to) };
        let answer: LoadNodeResponse = from_payload(&answer).map_err(|error| error.to_string())?;
        if !answer.success {
            return Err(answer.error_message);
        }
        Ok((answer.full_node_name, LibraryComponent { library: self, id: answer.unique_id }))
    }
}

/// Returns what the loader said.
fn said(error: &libloading::Error) -> String {
    let reason = std::error::Error::source(error);
    reason.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Checks that a library has the interface of this program.
fn check(file: &Path, version: u32) -> Result<(), String> {
    if version == VERSION {
        return Ok(());
    }
    Err(format!(
        "{} has version {version} of the interface of component libraries, and this program version {VERSION}; build \
         both with releases of rospin that have the same one",
        file.display()
    ))
}

/// Ends the containers of the [`Endings`] at `to`.
///
/// # Safety
/// `to` points to such, and `bytes` has `length` bytes.
unsafe extern "C" fn ended(to: *const c_void, bytes: *const u8, length: usize) {
    // SAFETY: The caller says so.
    let endings = unsafe { &*to.cast::<Endings>() };
    // SAFETY: As above.
    let reason = unsafe { slice::from_raw_parts(bytes, length) };
    endings.end(&String::from_utf8_lossy(reason));
}

/// Appends bytes to the `Vec<u8>` at `to`.
///
/// # Safety
/// `to` is such a vector, of which there is no other reference during the call, and `bytes` has `length` bytes.
unsafe extern "C" fn append(to: *const c_void, bytes: *const u8, length: usize) {
    // SAFETY: The caller says so.
    let answer = unsafe { &mut *to.cast_mut().cast::<Vec<u8>>() };
    // SAFETY: As above.
    answer.extend_from_slice(unsafe { slice::from_raw_parts(bytes, length) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_interface_is_refused_by_its_number() {
        assert_eq!(check(Path::new("a.so"), VERSION), Ok(()));
        let error = check(Path::new("a.so"), 7).unwrap_err();
        assert!(error.starts_with("a.so has version 7") && error.contains("this program version 1"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Opened::open(Path::new("nowhere.so"), &Arc::default()).err().unwrap();
        assert!(error.starts_with("nowhere.so: "), "{error}");
    }
}
