//! The threads of an executor: what they are to have while they spin, and what they had.

use std::ffi::CString;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::apply::Applied;
use super::options::{OnShortfall, ThreadOptions};
use super::report::ThreadReport;
use super::threads::ThreadId;

/// What the threads of an executor are to have while they spin, and what they had.
#[derive(Debug, Default)]
pub(crate) struct ThreadSetup {
    options: ThreadOptions,
    reports: Mutex<Vec<ThreadReport>>,
}

/// A thread that has what it should until this is dropped.
#[derive(Debug)]
pub(crate) struct SetUp {
    _applied: Applied,
    _named: Option<Named>,
}

impl ThreadSetup {
    pub(crate) fn new(options: ThreadOptions) -> Self {
        Self { options, reports: Mutex::default() }
    }

    /// Gives the calling thread what it is to have, if anything, and a name.
    ///
    /// # Errors
    /// What is missing, if that is to be an error.
    pub(crate) fn enter(&self, name: &str) -> Result<Option<SetUp>, Box<ThreadReport>> {
        if self.options.is_empty() {
            return Ok(None);
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
        Ok(Some(SetUp { _applied: applied, _named: named }))
    }

    /// A new spin begins.
    pub(crate) fn forget(&self) {
        if !self.options.is_empty() {
            self.lock().clear();
        }
    }

    /// What the threads had in the last spin, as far as they were to have anything.
    pub(crate) fn reports(&self) -> Vec<ThreadReport> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ThreadReport>> {
        // A list is whole between any two operations.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that has another name for a while. The main thread keeps its own, which is the process's.
#[derive(Debug)]
struct Named {
    before: CString,
    /// A name belongs to one thread.
    _not_send: PhantomData<*const ()>,
}

impl Named {
    fn new(name: &str) -> Option<Self> {
        if ThreadId::current().is_main() {
            return None;
        }
        let before = rustix::thread::name().ok()?;
        // The kernel cuts it off behind 15 bytes.
        rustix::thread::set_name(&CString::new(name.replace('\0', "")).ok()?).ok()?;
        Some(Self { before, _not_send: PhantomData })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = rustix::thread::set_name(&self.before);
    }
}
