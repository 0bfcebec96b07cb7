//! How a container ends, and who says so.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::RunError;

/// Why a container ended as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// A component [said so](ContainerHandle::end).
    Component {
        /// The node of the component.
        component: String,
        /// Why.
        reason: String,
    },
    /// The program said so, by a [handle](crate::Container::handle).
    Asked {
        /// Why.
        reason: String,
    },
    /// A signal came.
    Signal {
        /// Its name, such as `SIGINT`.
        signal: &'static str,
    },
    /// Somebody halted an executor.
    Halted {
        /// The executor.
        executor: String,
    },
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component { component, reason } => write!(f, "component `{component}` ended: {reason}"),
            Self::Asked { reason } => write!(f, "ended: {reason}"),
            Self::Signal { signal } => write!(f, "ended by {signal}"),
            Self::Halted { executor } => write!(f, "executor `{executor}` was halted"),
        }
    }
}

/// The end of a container; the first one counts.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    end: Mutex<Option<Result<Ended, RunError>>>,
    has_come: Condvar,
}

impl Ending {
    pub(crate) fn set(&self, end: Result<Ended, RunError>) {
        self.lock().get_or_insert(end);
        self.has_come.notify_all();
    }

    /// Waits for the end.
    pub(crate) fn wait(&self) -> Result<Ended, RunError> {
        let mut end = self.lock();
        loop {
            if let Some(end) = end.take() {
                return end;
            }
            end = self.has_come.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<Ended, RunError>>> {
        // Set in one go: nothing is ever half done.
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a container, from callbacks and from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ContainerHandle {
    pub(crate) ending: Arc<Ending>,
    /// The component that has it, if one has.
    pub(crate) component: Option<String>,
}

impl ContainerHandle {
    /// Ends the container, and with it all of its components: callbacks that run are waited for, others do not begin. It is
    /// ended by whoever says so first; if nothing runs yet, [`run`](crate::Container::run) returns at once.
    ///
    /// Allocates, and locks for a moment; returns at once.
    pub fn end(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.ending.set(Ok(match &self.component {
            Some(component) => Ended::Component { component: component.clone(), reason },
            None => Ended::Asked { reason },
        }));
    }
}
