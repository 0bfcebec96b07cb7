//! Executors, and spins in all ways.

use std::ffi::{c_char, c_void};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use rospin_engine::{Executor, ExecutorOptions, SpinEnd, SpinError, SpinOptions, policy};

use crate::arguments::{Options, destroy, duration, give, given, needed_text, options, place, text};
use crate::context::{Home, rospin_context};
use crate::control::Control;
use crate::status::{
    Failure, ROSPIN_ERROR_PANIC, ROSPIN_ERROR_SPINNING, ROSPIN_HALTED, ROSPIN_NEVER, ROSPIN_OK, ROSPIN_STOPPED,
    ROSPIN_TIMEOUT, rospin_status, status_of, value_of,
};

/// Mode of a spin: until the executor is halted. All threads run callbacks.
pub const ROSPIN_SPIN_UNTIL_HALTED: i32 = 0;
/// Mode of a spin: runs one callback. Waits for one if none is ready, up to the timeout. On the calling thread only.
pub const ROSPIN_SPIN_ONCE: i32 = 1;
/// Mode of a spin: runs as many callbacks as are ready when it begins, in the policy's order. Does not wait. On the
/// calling thread only.
pub const ROSPIN_SPIN_SOME: i32 = 2;
/// Mode of a spin: runs what is ready, and what becomes ready meanwhile, until nothing is ready. Does not wait. On the
/// calling thread only.
pub const ROSPIN_SPIN_ALL: i32 = 3;

/// Options of an executor.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_executor_options {
    /// sizeof(rospin_executor_options).
    pub struct_size: usize,
    /// The name, which must be given. Deployment files name the executor by it, and threads have it.
    pub name: *const c_char,
    /// The policy, which decides what runs next: "fixed-priority" (the default; first in, first out among equals),
    /// "fifo", "edf", "wait-set-e1" or "wait-set-e2".
    pub policy: *const c_char,
    /// The number of threads that run callbacks, including the one that spins. 0 means 1; UINT16_MAX means one for each
    /// core.
    pub threads: u16,
    /// The time for which an idle thread polls for work before it sleeps. ROSPIN_NEVER: always.
    pub busy_poll_ns: i64,
}

// SAFETY: it begins with its size, and zeros are null pointers and zero.
unsafe impl Options for rospin_executor_options {
    const NAME: &'static str = "rospin_executor_options";
}

/// Options of a spin.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_spin_options {
    /// sizeof(rospin_spin_options).
    pub struct_size: usize,
    /// One of ROSPIN_SPIN_...
    pub mode: i32,
    /// True: the spin ends with ROSPIN_TIMEOUT after `timeout_ns`, after the callback that is running.
    pub has_timeout: bool,
    /// The timeout. Zero is one, too: a spin for one callback then does not wait for it.
    pub timeout_ns: i64,
    /// If given, the spin ends with ROSPIN_OK as soon as this function returns true. It is called on the spinning
    /// thread: at the beginning, after callbacks, and after rospin_executor_check(). Only for ROSPIN_SPIN_UNTIL_HALTED.
    pub until: Option<unsafe extern "C" fn(until_data: *mut c_void) -> bool>,
    /// Passed to `until`.
    pub until_data: *mut c_void,
    /// If given, receives the status with which a callback's `run` ended the spin, with ROSPIN_STOPPED.
    pub stop_status: *mut i32,
}

// SAFETY: it begins with its size, and zeros are null pointers, false, zero and no function.
unsafe impl Options for rospin_spin_options {
    const NAME: &'static str = "rospin_spin_options";
}

/// Executor: threads and a policy.
pub struct rospin_executor(pub(crate) Arc<Spun>);

/// An executor, which a spin keeps although its handle is destroyed.
pub(crate) struct Spun {
    executor: Executor,
    pub(crate) control: Arc<Control>,
    pub(crate) home: Arc<Home>,
}

/// Creates an executor. Nothing runs before it is spun, and nothing runs after the spin returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_executor_create(
    context: *const rospin_context,
    options: *const rospin_executor_options,
    executor: *mut *mut rospin_executor,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let place = unsafe { place(executor, "executor") }?;
        // SAFETY: as the header demands.
        let home = Arc::clone(&unsafe { given(context, "context") }?.0);
        // SAFETY: as the header demands.
        let executor = home.context.create_executor(unsafe { executor_options(options) }?);
        let control = Arc::new(Control::new(executor.handle()));
        home.enter(&control);
        give(place, rospin_executor(Arc::new(Spun { executor, control, home })));
        Ok(ROSPIN_OK)
    })
}

/// # Safety
/// As the header demands.
unsafe fn executor_options(from: *const rospin_executor_options) -> Result<ExecutorOptions, Failure> {
    // SAFETY: the caller promises it.
    let from = unsafe { options(from) }?;
    // SAFETY: the caller promises it.
    let mut options = ExecutorOptions::new(unsafe { needed_text(from.name, "name") }?);
    // SAFETY: the caller promises it.
    if let Some(name) = unsafe { text(from.policy, "policy") }? {
        let policy = policy::by_name(name).map_err(|error| Failure::invalid(error.to_string()))?;
        options = options.boxed_policy(policy);
    }
    options = options.threads(match from.threads {
        0 => 1,
        u16::MAX => 0,
        threads => threads,
    });
    let busy_poll =
        if from.busy_poll_ns == ROSPIN_NEVER { std::time::Duration::MAX } else { duration(from.busy_poll_ns) };
    Ok(options.busy_poll(busy_poll))
}

/// Gives up the handle, and ends the executor: `drop` is called for all of its sources, at the end of the spin if it
/// spins; for those of timers when their handles are destroyed. Groups and entities that are still around do nothing
/// from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_executor_destroy(executor: *mut rospin_executor) {
    // SAFETY: as the header demands.
    unsafe { destroy(executor) };
}

/// Spins. `options` may be NULL: until halted. Returns ROSPIN_OK, ROSPIN_HALTED, ROSPIN_TIMEOUT or ROSPIN_STOPPED, or
/// an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_executor_spin(
    executor: *const rospin_executor,
    options: *const rospin_spin_options,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands. A callback may destroy the handle.
        let spun = Arc::clone(&unsafe { given(executor, "executor") }?.0);
        // SAFETY: as the header demands.
        let options = unsafe { crate::arguments::options(options) }?;
        let (status, stop) = spun.spin(&options)?;
        // SAFETY: as the header demands.
        if let (Some(stop), Some(place)) = (stop, unsafe { options.stop_status.as_mut() }) {
            *place = stop;
        }
        Ok(status)
    })
}

/// Ends the spin that is going on, or, if none is, the next one at its beginning: a halt is never lost. Callbacks that
/// run are waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_executor_halt(executor: *const rospin_executor) {
    // SAFETY: as the header demands.
    let executor = unsafe { executor.as_ref() };
    value_of((), || executor.iter().for_each(|executor| executor.0.control.handle.halt()));
}

/// Has the spin's `until` called soon: for whoever changes what it looks at. Does nothing if the spin has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_executor_check(executor: *const rospin_executor) {
    // SAFETY: as the header demands.
    let executor = unsafe { executor.as_ref() };
    value_of((), || executor.iter().for_each(|executor| executor.0.control.check()));
}

impl Spun {
    /// Spins, and returns the status of the spin, with that of the callback that ended it.
    fn spin(&self, from: &rospin_spin_options) -> Result<(rospin_status, Option<i32>), Failure> {
        let mut options = match from.mode {
            ROSPIN_SPIN_UNTIL_HALTED => SpinOptions::new(),
            ROSPIN_SPIN_ONCE => SpinOptions::spin_once(),
            ROSPIN_SPIN_SOME => SpinOptions::spin_some(),
            ROSPIN_SPIN_ALL => SpinOptions::spin_all(),
            mode => return Err(Failure::invalid(format!("there is no mode {mode} of a spin"))),
        };
        if from.has_timeout {
            options = options.timeout(duration(from.timeout_ns));
        }
        let ended = match from.until {
            Some(_) if from.mode != ROSPIN_SPIN_UNTIL_HALTED => {
                return Err(Failure::invalid("`until` is for the mode ROSPIN_SPIN_UNTIL_HALTED"));
            }
            Some(until) => {
                let condition = Condition { until, data: from.until_data, control: &self.control };
                self.executor.spin_until(condition, options).map(|()| SpinEnd::Done)
            }
            None => self.executor.spin(options),
        };
        if let Err(error @ SpinError::AlreadySpinning { .. }) = &ended {
            // A status that stops belongs to the other spin.
            return Err(Failure::new(ROSPIN_ERROR_SPINNING, error));
        }
        if let Some(stop) = self.control.take_stop() {
            return Ok((ROSPIN_STOPPED, Some(stop)));
        }
        let status = match ended {
            Ok(SpinEnd::Halted) | Err(SpinError::Halted) => ROSPIN_HALTED,
            Ok(_) => ROSPIN_OK,
            Err(SpinError::Timeout) => ROSPIN_TIMEOUT,
            Err(SpinError::Deployment(error)) => return Err(Failure::deployment(&error)),
            Err(error @ SpinError::Panicked(_)) => return Err(Failure::new(ROSPIN_ERROR_PANIC, &error)),
            Err(error) => return Err(Failure::system(&error)),
        };
        Ok((status, None))
    }
}

/// Future that is done when a function of the caller returns true.
struct Condition<'a> {
    until: unsafe extern "C" fn(until_data: *mut c_void) -> bool,
    data: *mut c_void,
    control: &'a Control,
}

impl Future for Condition<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        // Before the function is called: what changes meanwhile is checked again.
        self.control.watch(Some(cx.waker().clone()));
        // SAFETY: the header demands such a function and such data. The spinning thread polls.
        if unsafe { (self.until)(self.data) } { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Condition<'_> {
    fn drop(&mut self) {
        self.control.watch(None);
    }
}
