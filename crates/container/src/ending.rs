//! The end of a container, and its cause.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::RunError;

/// Causes for which a container ended without an error.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// A component [ended](ContainerHandle::end) the container.
    Component {
        /// The full name of the component's node.
        component: String,
        /// Reason that the component gave to [`ContainerHandle::end`].
        reason: String,
    },
    /// The program ended the container through a [handle](crate::Container::handle).
    Asked {
        /// Reason that the program gave to [`ContainerHandle::end`].
        reason: String,
    },
    /// A signal ended the container.
    Signal {
        /// The signal's name, such as `SIGINT`.
        signal: &'static str,
    },
    /// An executor was halted.
    Halted {
        /// The name of the executor.
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

/// The end of a container, for the thread that waits for it. Of several causes, the first one counts.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    news: Mutex<News>,
    has_come: Condvar,
}

/// News for the thread that waits in `run`.
#[derive(Debug, Default)]
struct News {
    end: Option<Result<Ended, RunError>>,
    /// True if an executor came that has no thread yet.
    has_executor: bool,
}

impl Ending {
    /// Ends the container for that cause, unless it has one.
    pub(crate) fn set(&self, end: Result<Ended, RunError>) {
        self.lock().end.get_or_insert(end);
        self.has_come.notify_all();
    }

    /// Tells the waiting thread that an executor came.
    pub(crate) fn tell(&self) {
        self.lock().has_executor = true;
        self.has_come.notify_all();
    }

    /// Waits until the container must end, and returns the cause, or until an executor came, and returns `None`.
    pub(crate) fn wait(&self) -> Option<Result<Ended, RunError>> {
        let mut news = self.lock();
        loop {
            let has_executor = std::mem::take(&mut news.has_executor);
            if news.end.is_some() || has_executor {
                return news.end.take();
            }
            news = self.has_come.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, News> {
        // Each value is set at once, so a panic leaves nothing half changed.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle that ends a container, from callbacks and from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ContainerHandle {
    pub(crate) ending: Arc<Ending>,
    /// The name of the component whose [`Setup`](crate::Setup) has the handle; `None` for a handle of the program.
    pub(crate) component: Option<String>,
}

impl ContainerHandle {
    /// Ends the container with all of its components. Callbacks that are running are waited for, and no other ones
    /// start. If there are several causes for the end, the first one counts. If the container is not running yet,
    /// [`run`](crate::Container::run) returns at once.
    ///
    /// Allocates, and locks for a moment. Does not wait for the end.
    pub fn end(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.ending.set(Ok(match &self.component {
            Some(component) => Ended::Component { component: component.clone(), reason },
            None => Ended::Asked { reason },
        }));
    }
}
