//! Scopes: the priority and the name that what is created within them gets.

use std::cell::RefCell;

use rospin_engine::Priority;

/// The settings of a scope. rclrs passes neither priorities nor names to its executors, so they come by the thread that
/// creates.
///
/// ```no_run
/// # use rclrs::*;
/// # use rospin_rclrs::{CreateRospinExecutor, Priority, RospinOptions, Scope};
/// # fn main() -> Result<(), RclrsError> {
/// let executor = Context::default().create_rospin_executor(RospinOptions::new());
/// let node = executor.create_node("robot")?;
/// // A deployment file can name the group `planner`.
/// let planner = Scope::new().name("planner").priority(Priority(8)).run(|| node.create_worker(0_u64));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a scope does nothing before it runs"]
pub struct Scope {
    priority: Option<Priority>,
    name: Option<String>,
}

thread_local! {
    static SCOPE: RefCell<Scope> = RefCell::new(Scope::default());
}

impl Scope {
    /// Creates a scope that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the priority of the entities, workers and tasks that are created in the scope. A greater number is more
    /// urgent. The entities of a worker have the worker's priority unless they are created in a scope of their own.
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the name of the worker that is created in the scope, or of the entity, which otherwise has the name of its
    /// worker and its topic. Deployment files, traces and messages use it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Runs `create` in the scope. What the scope does not set is that of the scope around it, but for the name.
    pub fn run<R>(self, create: impl FnOnce() -> R) -> R {
        /// Restores the scope around, also after a panic.
        struct Restore(Scope);
        impl Drop for Restore {
            fn drop(&mut self) {
                SCOPE.set(std::mem::take(&mut self.0));
            }
        }

        let around = Self::here();
        let inner = Self { priority: self.priority.or(around.priority), name: self.name };
        let _restore = Restore(SCOPE.replace(inner));
        create()
    }

    pub(super) fn here() -> Self {
        SCOPE.with_borrow(Self::clone)
    }

    pub(super) const fn own_priority(&self) -> Option<Priority> {
        self.priority
    }

    pub(super) fn own_name(&self) -> Option<String> {
        self.name.clone()
    }
}

/// Runs `create`, and gives the entities, workers and tasks that it creates a priority: see [`Scope`].
pub fn with_priority<R>(priority: Priority, create: impl FnOnce() -> R) -> R {
    Scope::new().priority(priority).run(create)
}
