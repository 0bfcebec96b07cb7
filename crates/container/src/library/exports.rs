//! The library's side: what it gives to the program that opens it, and the container in it.

use std::error::Error;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::{fmt, slice, thread};

use rospin_msgs::composition_interfaces::srv::{LoadNodeRequest, LoadNodeResponse};
use rospin_node::Ros;
use rospin_wire::cdr::{from_payload, to_payload};

use super::{BUILT_WITH, VERSION};
use crate::components::Components;
use crate::composition::answer_load;
use crate::container::Container;
use crate::loaded::Loaded;

/// Function that takes bytes for `to`. They are the caller's, and valid during the call.
pub(super) type Take = unsafe extern "C" fn(to: *const c_void, bytes: *const u8, length: usize);

/// Table of functions that a library gives to the program that opens it. Its layout is that of C; the number `version`
/// says which one.
#[repr(C)]
pub struct Exports {
    /// [`VERSION`] of the library. The first field of every version.
    pub(super) version: u32,
    /// The version of rospin that the library is built with, in UTF-8.
    built_with: *const u8,
    built_with_length: usize,
    library: *const Library,
    /// Says who is told when the library ends by itself. Called once, before all others.
    pub(super) begin: unsafe extern "C" fn(library: *const Library, ended: Take, to: *const c_void),
    /// Loads a component. Takes a request of `composition_interfaces/srv/LoadNode` in CDR, and gives the response.
    pub(super) load: unsafe extern "C" fn(library: *const Library, *const u8, usize, answer: Take, to: *const c_void),
    /// Drops the component with that id.
    pub(super) unload: unsafe extern "C" fn(library: *const Library, id: u64),
}

// SAFETY: All that it points to is `static` and `Sync`, and never changes.
unsafe impl Sync for Exports {}

impl Exports {
    /// Returns the exports of a library.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(library: &'static Library) -> Self {
        Self {
            version: VERSION,
            built_with: BUILT_WITH.as_ptr(),
            built_with_length: BUILT_WITH.len(),
            library,
            begin,
            load,
            unload,
        }
    }

    /// Returns the version of rospin that the library is built with.
    pub(super) fn built_with(&self) -> String {
        // SAFETY: It is the text of the library's own constant, which stays while the library is in the process.
        let text = unsafe { slice::from_raw_parts(self.built_with, self.built_with_length) };
        String::from_utf8_lossy(text).into_owned()
    }

    pub(super) const fn library(&self) -> *const Library {
        self.library
    }
}

impl fmt::Debug for Exports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exports").field("version", &self.version).finish_non_exhaustive()
    }
}

type Failure = Box<dyn Error + Send + Sync>;

/// The components of a shared library, and the container that runs them. [`component_library`](crate::component_library)
/// makes it.
pub struct Library {
    components: fn() -> Components,
    ros: fn() -> Result<Ros, Failure>,
    host: OnceLock<Host>,
    running: OnceLock<Result<Running, String>>,
}

/// Who is told that the container ended by itself.
struct Host {
    ended: Take,
    to: *const c_void,
}

// SAFETY: The program that opened the library gave a pointer that any thread may pass to the function.
unsafe impl Send for Host {}
// SAFETY: As above.
unsafe impl Sync for Host {}

/// The container of a library, which runs on a thread of its own.
struct Running {
    components: Components,
    ros: Ros,
    loaded: Weak<Loaded>,
}

impl Library {
    /// Returns a library whose container does not run yet.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(components: fn() -> Components, ros: fn() -> Result<Ros, Failure>) -> Self {
        Self { components, ros, host: OnceLock::new(), running: OnceLock::new() }
    }

    /// Starts the container, and a thread that runs it.
    fn start(&'static self) -> Result<Running, String> {
        let ros = (self.ros)().map_err(|error| error.to_string())?;
        let container = Container::new(ros.context());
        let loaded = Arc::downgrade(container.loaded());
        let run = move || {
            let reason = match container.run() {
                Ok(ended) => ended.to_string(),
                Err(error) => error.to_string(),
            };
            if let Some(host) = self.host.get() {
                // SAFETY: The program promised that its function may be called by any thread.
                unsafe { (host.ended)(host.to, reason.as_ptr(), reason.len()) };
            }
        };
        let thread = thread::Builder::new().name("component library".to_owned());
        thread.spawn(run).map_err(|error| format!("there is no thread for it: {error}"))?;
        Ok(Running { components: (self.components)(), ros, loaded })
    }

    fn load(&'static self, request: &[u8]) -> LoadNodeResponse {
        let failed = |error_message: String| LoadNodeResponse { error_message, ..LoadNodeResponse::default() };
        let running = match self.running.get_or_init(|| self.start()) {
            Ok(running) => running,
            Err(reason) => return failed(format!("the library did not start: {reason}")),
        };
        match from_payload::<LoadNodeRequest>(request) {
            Ok(request) => answer_load(&running.components, &running.ros, &running.loaded, request),
            Err(error) => failed(format!("the request cannot be read: {error}")),
        }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("is_running", &self.running.get().is_some()).finish_non_exhaustive()
    }
}

/// See [`Exports::begin`].
///
/// # Safety
/// `library` is that of the exports, and any thread may call `ended` with `to`, until the process ends.
unsafe extern "C" fn begin(library: *const Library, ended: Take, to: *const c_void) {
    // SAFETY: It is that of the exports, which is `static`.
    let library = unsafe { &*library };
    let _ = library.host.set(Host { ended, to });
}

/// See [`Exports::load`].
///
/// # Safety
/// `library` is that of the exports, `request` has `length` bytes, and `answer` may be called with `to` during the call.
unsafe extern "C" fn load(library: *const Library, request: *const u8, length: usize, answer: Take, to: *const c_void) {
    // SAFETY: It is that of the exports, which is `static`.
    let library: &'static Library = unsafe { &*library };
    // SAFETY: The caller says so.
    let request = unsafe { slice::from_raw_parts(request, length) };
    // A panic must not cross the border. Components are contained one by one; this is for what starts the library.
    let response = catch_unwind(AssertUnwindSafe(|| library.load(request))).unwrap_or_else(|_| LoadNodeResponse {
        error_message: "the library panicked while it started".to_owned(),
        ..LoadNodeResponse::default()
    });
    // A response without contents can always be encoded.
    let bytes = to_payload(&response).unwrap_or_default();
    // SAFETY: The caller says so; the bytes are valid during the call.
    unsafe { answer(to, bytes.as_ptr(), bytes.len()) };
}

/// See [`Exports::unload`].
///
/// # Safety
/// `library` is that of the exports.
unsafe extern "C" fn unload(library: *const Library, id: u64) {
    // SAFETY: It is that of the exports, which is `static`.
    let library = unsafe { &*library };
    let Some(Ok(running)) = library.running.get() else { return };
    let Some(loaded) = running.loaded.upgrade() else { return };
    // The drop of a component runs its code.
    let _ = catch_unwind(AssertUnwindSafe(|| loaded.unload(id)));
}
