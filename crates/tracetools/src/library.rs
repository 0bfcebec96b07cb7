//! `libtracetools.so`, loaded while the program runs. All unsafe code of the crate is here.
//!
//! It is loaded by name, because a program that was built without ROS 2 must run without it. It stays loaded, because
//! LTTng's threads run in it.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;

use crate::address::Address;

/// Reasons for which the library could not be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The path has a zero byte in it.
    #[error("the path of libtracetools has a zero byte in it")]
    Path,
    /// The dynamic loader does not find the library, or one that it needs.
    #[error("{reason}; it is a part of ROS 2: source its setup file, or set ROSPIN_TRACETOOLS to the library's path")]
    Library {
        /// The text of the dynamic loader.
        reason: String,
    },
    /// The library has not the functions of tracetools.
    #[error("`{library}` has no `{function}`, so it is not the libtracetools of ROS 2")]
    Foreign {
        /// The library, as it was asked for.
        library: String,
        /// The function that it does not have.
        function: &'static str,
    },
    /// The library was built without tracepoints.
    #[error("`{library}` was built without LTTng, so that it traces nothing")]
    NoTracepoints {
        /// The library, as it was asked for.
        library: String,
    },
}

/// An argument of a function of the library.
trait Argument {
    /// The argument's type in C.
    type Raw: Copy;

    /// Returns the argument as C has it.
    fn raw(self) -> Self::Raw;
}

impl Argument for Address {
    type Raw = *const c_void;

    fn raw(self) -> *const c_void {
        std::ptr::without_provenance(self.0 as usize)
    }
}

impl Argument for &CStr {
    type Raw = *const c_char;

    fn raw(self) -> *const c_char {
        self.as_ptr()
    }
}

/// The id of a publisher, with zeros behind it: some distributions read 24 bytes.
impl Argument for &[u8; 24] {
    type Raw = *const u8;

    fn raw(self) -> *const u8 {
        self.as_ptr()
    }
}

macro_rules! plain_arguments {
    ($($of:ty),*) => {
        $(impl Argument for $of {
            type Raw = Self;

            fn raw(self) -> Self {
                self
            }
        })*
    };
}

plain_arguments!(bool, i64, u64, usize);

/// Defines [`Library`]: the functions of `tracetools/tracetools.h`, each with its arguments. A function that a
/// distribution does not have does nothing.
macro_rules! tracepoints {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $of:ty),*);)*) => {
        /// The tracepoints of the library. It is never unloaded, because LTTng's threads run in it.
        #[derive(Debug)]
        pub(crate) struct Library {
            $($name: Option<unsafe extern "C" fn($(<$of as Argument>::Raw),*)>,)*
        }

        impl Library {
            fn of(handle: Handle) -> Self {
                // SAFETY: `tracetools/tracetools.h` declares each function with these arguments, and without a result.
                Self { $($name: unsafe { handle.function(concat!("ros_trace_", stringify!($name), "\0")) },)* }
            }

            $($(#[$doc])*
            pub(crate) fn $name(&self, $($argument: $of),*) {
                if let Some(function) = self.$name {
                    // SAFETY: pointers that the library reads from are to strings and ids that outlive the call. It
                    // takes all others as numbers, and reads nothing from there. The functions may be called from any
                    // thread.
                    unsafe { function($($argument.raw()),*) };
                }
            })*
        }
    };
}

tracepoints! {
    rcl_init(context: Address);
    rcl_node_init(node: Address, rmw: Address, name: &CStr, namespace: &CStr);
    rmw_publisher_init(rmw: Address, id: &[u8; 24]);
    rcl_publisher_init(publisher: Address, node: Address, rmw: Address, topic: &CStr, depth: usize);
    rclcpp_publish(publisher: Address, message: Address);
    rcl_publish(publisher: Address, message: Address);
    rclcpp_intra_publish(publisher: Address, message: Address);
    rcl_subscription_init(entity: Address, node: Address, rmw: Address, topic: &CStr, depth: usize);
    rclcpp_subscription_init(entity: Address, subscription: Address);
    rclcpp_subscription_callback_added(subscription: Address, callback: Address);
    rmw_take(rmw: Address, message: Address, published_ns: i64, taken: bool);
    rcl_take(message: Address);
    rclcpp_take(message: Address);
    rcl_service_init(entity: Address, node: Address, rmw: Address, service: &CStr);
    rclcpp_service_callback_added(entity: Address, callback: Address);
    rcl_client_init(client: Address, node: Address, rmw: Address, service: &CStr);
    rcl_timer_init(entity: Address, period_ns: i64);
    rclcpp_timer_callback_added(entity: Address, callback: Address);
    rclcpp_timer_link_node(entity: Address, node: Address);
    rclcpp_callback_register(callback: Address, symbol: &CStr);
    callback_start(callback: Address, is_intra_process: bool);
    callback_end(callback: Address);
    rclcpp_executor_execute(entity: Address);
    rclcpp_construct_ring_buffer(queue: Address, capacity: u64);
    rclcpp_buffer_to_ipb(queue: Address, buffer: Address);
    rclcpp_ipb_to_subscription(buffer: Address, subscription: Address);
    rclcpp_ring_buffer_enqueue(queue: Address, index: u64, size: u64, overwritten: bool);
    rclcpp_ring_buffer_dequeue(queue: Address, index: u64, size: u64);
}

impl Library {
    /// Loads the library of that name or path.
    pub(crate) fn load(library: &OsStr) -> Result<Self, LoadError> {
        let path = CString::new(library.as_bytes()).map_err(|_| LoadError::Path)?;
        let handle = Handle::open(&path)?;
        let name = || library.to_string_lossy().into_owned();
        // SAFETY: `tracetools/tracetools.h` declares it so.
        let status: Option<unsafe extern "C" fn() -> bool> = unsafe { handle.function("ros_trace_compile_status\0") };
        let foreign = |function| LoadError::Foreign { library: name(), function };
        let status = status.ok_or_else(|| foreign("ros_trace_compile_status"))?;
        // SAFETY: it has no arguments, and only returns whether there are tracepoints.
        if !unsafe { status() } {
            return Err(LoadError::NoTracepoints { library: name() });
        }
        let library = Self::of(handle);
        if library.callback_start.is_none() {
            return Err(foreign("ros_trace_callback_start"));
        }
        Ok(library)
    }
}

/// A library in memory, which stays there.
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

impl Handle {
    fn open(path: &CStr) -> Result<Self, LoadError> {
        // SAFETY: `path` is a string. The library's own initialization runs, which is what the user asks for by naming
        // it.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Self(handle));
        }
        // SAFETY: after a failure it returns a string, or null. The string is this thread's, until its next call.
        let reason = unsafe {
            let reason = libc::dlerror();
            if reason.is_null() { None } else { Some(CStr::from_ptr(reason).to_string_lossy().into_owned()) }
        };
        Err(LoadError::Library { reason: reason.unwrap_or_else(|| "libtracetools was not found".to_owned()) })
    }

    /// Returns the function with that name, which ends with a zero byte; `None` if there is none.
    ///
    /// # Safety
    /// `F` must be the type of a pointer to that function.
    unsafe fn function<F: Copy>(self, name: &'static str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        debug_assert!(name.ends_with('\0'));
        // SAFETY: the handle is of a library that is never unloaded, and `name` is a string with a zero at its end.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr().cast()) };
        if address.is_null() {
            return None;
        }
        // SAFETY: the address is the function's, of which the caller says that it is an `F`, and both are of one size.
        Some(unsafe { std::mem::transmute_copy(&address) })
    }
}
