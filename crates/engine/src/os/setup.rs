//! The settings of an executor's threads while they spin.
//!
//! A thread is ordinary by default: it gets its scheduling when a spin begins, and loses it when the spin ends. Threads
//! that callbacks start do not inherit it, and Tokio's thread is started before.

use crate::sync::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::ffi::CString;
use std::marker::PhantomData;

use super::apply::Applied;
use super::kernel;
use super::options::{OnShortfall, ThreadOptions};
use super::report::ThreadReport;
use super::threads::ThreadId;

/// The settings that an executor's threads get while they spin, and the kernel's reports of them since the last spin
/// began.
#[derive(Debug, Default)]
pub(crate) struct ThreadSetup {
    options: ThreadOptions,
    reports: Mutex<Vec<ThreadReport>>,
}

/// Guard that makes the calling thread one of an executor's, with the executor's settings and a name of the executor's,
/// until the guard is dropped.
#[derive(Debug)]
pub(crate) struct SetUp {
    _applied: Option<Applied>,
    _named: Option<Named>,
    _here: Here,
}

impl ThreadSetup {
    pub(crate) fn new(options: ThreadOptions) -> Self {
        Self { options, reports: Mutex::default() }
    }

    /// Returns the scheduling that the threads should have.
    pub(crate) fn scheduling(&self) -> Option<rospin_core::OsScheduling> {
        self.options.scheduling
    }

    /// Returns true if the threads get cores of the executor's own.
    pub(crate) fn has_cores(&self) -> bool {
        self.options.cores.is_some()
    }

    /// Makes the calling thread one of the executor's, with the settings and the name. If there are no settings, it
    /// keeps its name, too.
    ///
    /// # Errors
    /// The report, if the thread cannot have all settings and that is [to be an error](OnShortfall::Fail).
    pub(crate) fn enter(&self, name: &str) -> Result<SetUp, Box<ThreadReport>> {
        let here = Here::new(self);
        if self.options.is_empty() {
            return Ok(SetUp { _applied: None, _named: None, _here: here });
        }
        let named = Named::new(name);
        let applied = self.options.apply_for_now();
        let report = applied.report().clone();
        self.lock().push(report.clone());
        if !report.shortfalls.is_empty() {
            match self.options.on_shortfall {
                OnShortfall::Warn => log::warn!(target: "rospin", "{report}"),
                OnShortfall::Fail => return Err(Box::new(report)),
            }
        }
        Ok(SetUp { _applied: Some(applied), _named: named, _here: here })
    }

    /// Returns true if the calling thread is one of the executor's, so that it runs one of its callbacks.
    pub(crate) fn is_here(&self) -> bool {
        let address = std::ptr::from_ref(self).addr();
        EXECUTORS.with(|executors| executors.borrow().contains(&address))
    }

    /// Forgets the reports of the last spin, if there are settings.
    pub(crate) fn forget(&self) {
        if !self.options.is_empty() {
            self.lock().clear();
        }
    }

    /// Returns the reports of the last spin. Without settings there are none.
    pub(crate) fn reports(&self) -> Vec<ThreadReport> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ThreadReport>> {
        self.reports.lock()
    }
}

crate::sync::thread_local! {
    /// The executors whose callbacks this thread runs, by the addresses of their setups. A callback may spin another
    /// executor, so there can be several.
    static EXECUTORS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Guard that marks the calling thread as one of an executor's until it is dropped.
#[derive(Debug)]
struct Here(PhantomData<*const ()>);

impl Here {
    fn new(setup: &ThreadSetup) -> Self {
        EXECUTORS.with(|executors| executors.borrow_mut().push(std::ptr::from_ref(setup).addr()));
        Self(PhantomData)
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        EXECUTORS.with(|executors| executors.borrow_mut().pop());
    }
}

/// Guard that gives the calling thread another name until it is dropped. The main thread keeps its name, which is the
/// process's.
#[derive(Debug)]
struct Named {
    before: CString,
    /// Marker that keeps the guard on its thread, whose name it restores.
    _not_send: PhantomData<*const ()>,
}

impl Named {
    fn new(name: &str) -> Option<Self> {
        if ThreadId::current().is_main() {
            return None;
        }
        let before = kernel::rename_thread(name)?;
        Some(Self { before, _not_send: PhantomData })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        kernel::name_thread(&self.before);
    }
}
