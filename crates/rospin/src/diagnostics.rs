//! Diagnostics: the state of a node and of its program on `/diagnostics`, where rqt and Foxglove show it.
//!
//! An [`Updater`] is ROS's `diagnostic_updater`: tasks fill in a [`Status`] each, and it publishes all of them once a
//! period. [`add_program`](Updater::add_program) adds one that tells of lost messages and missed deadlines of the whole
//! program.
//!
//! ```
//! use rospin::diagnostics::{Level, Updater};
//! use rospin::msgs::diagnostic_msgs::msg::DiagnosticArray;
//! use rospin::testing::Harness;
//! use std::time::Duration;
//!
//! let mut test = Harness::new();
//! let heard = test.record::<DiagnosticArray>("/diagnostics")?;
//! let node = test.create_node("lidar")?;
//! let diagnostics = Updater::new(&node)?;
//! diagnostics.set_hardware_id("lidar 0815");
//! diagnostics.add("motor", |status| {
//!     status.summary(Level::Warn, "the motor is slow");
//!     status.add("rotations per second", 9.5);
//! });
//! diagnostics.add_program(test.ros());
//!
//! test.run_for(Duration::from_secs(1))?;
//! let report = heard.last().unwrap();
//! assert_eq!((&*report.status[0].name, &*report.status[0].message), ("lidar: motor", "the motor is slow"));
//! assert_eq!((&*report.status[1].name, report.status[1].level), ("lidar: program", 0));
//! # Ok::<(), rospin::Error>(())
//! ```

mod program;
mod status;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rospin_engine::{Timer, TimerError};
use rospin_msgs::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus};
use rospin_msgs::std_msgs::msg::Header;
use rospin_node::{
    DeclareError, Node, ParameterOptions, ParameterValue, ParameterVariant, PublishError, Publisher, TimerOptions,
    TopicError,
};

pub use program::Program;
pub use status::{Level, Status};

/// The topic, for all nodes of a robot.
const TOPIC: &str = "/diagnostics";
/// The parameter with the seconds from one report to the next.
const PERIOD: &str = "diagnostic_updater.period";
/// The parameter that has statuses called after the node with its namespace.
const USE_FQN: &str = "diagnostic_updater.use_fqn";

/// Reasons for which an updater could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdaterError {
    /// A parameter of the updater could not be declared.
    #[error(transparent)]
    Parameter(#[from] DeclareError),
    /// The parameter for the period is no time.
    #[error("parameter `{PERIOD}` of node `{node}` is {seconds}; give it a positive number of seconds, such as 1.0")]
    Period {
        /// The node's name with its namespace.
        node: String,
        /// The parameter's value.
        seconds: f64,
    },
    /// The publisher could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The timer could not be created.
    #[error(transparent)]
    Timer(#[from] TimerError),
}

type Check = Box<dyn FnMut(&mut Status) + Send>;

/// A task with its name. Its lock is held while it runs.
struct Task {
    name: String,
    check: Mutex<Check>,
}

/// Publisher of a node's diagnostics, as C++'s `diagnostic_updater::Updater`. Dropping it ends the reports.
///
/// All of its methods may be called from any thread, and inside callbacks and tasks. They allocate and lock for a
/// moment.
pub struct Updater {
    core: Arc<Core>,
    _timer: Timer,
}

struct Core {
    node: Node,
    /// The node's name in front of the names of tasks.
    prefix: String,
    publisher: Publisher<DiagnosticArray>,
    tasks: Mutex<Vec<Arc<Task>>>,
    hardware_id: Mutex<String>,
}

impl Updater {
    /// Creates an updater without tasks. A timer in the node's own group reports once a period, on the steady clock.
    ///
    /// The node gets two read-only parameters, unless it has declared them already. `diagnostic_updater.period` is the
    /// period in seconds, 1.0 by default. With `diagnostic_updater.use_fqn`, false by default, names of statuses begin
    /// with the node's name and namespace (`/left/lidar: motor`), and without it with the name alone (`lidar: motor`).
    ///
    /// # Errors
    /// If a parameter has another type, the period is not positive, the middleware refuses, or the node's
    /// [`Ros`](rospin_node::Ros) was dropped.
    pub fn new(node: &Node) -> Result<Self, UpdaterError> {
        let read_double = |value: &ParameterValue| match value {
            ParameterValue::Double(seconds) => Some(*seconds),
            _ => None,
        };
        let read_bool = |value: &ParameterValue| match value {
            ParameterValue::Bool(yes) => Some(*yes),
            _ => None,
        };
        let about = "Seconds from one report on /diagnostics to the next";
        let seconds = parameter(node, PERIOD, about, 1.0, read_double)?;
        let about = "Names of statuses begin with the node's namespace, too";
        let use_fqn = parameter(node, USE_FQN, about, false, read_bool)?;
        let period = Duration::try_from_secs_f64(seconds).ok().filter(|period| !period.is_zero());
        let period = period.ok_or_else(|| UpdaterError::Period { node: node.fully_qualified_name(), seconds })?;
        let core = Arc::new(Core {
            node: node.clone(),
            prefix: if use_fqn { node.fully_qualified_name() } else { node.name().to_owned() },
            publisher: node.create_publisher(TOPIC)?,
            tasks: Mutex::default(),
            hardware_id: Mutex::default(),
        });
        let report = Arc::clone(&core);
        let timer = node
            .create_wall_timer(TimerOptions::periodic(period).name("diagnostic_updater"), move |_| report.update())?;
        Ok(Self { core, _timer: timer })
    }

    /// Sets the name of the device that the node drives, for all statuses from now on: its serial number, for example.
    pub fn set_hardware_id(&self, id: impl Into<String>) {
        *lock(&self.core.hardware_id) = id.into();
    }

    /// Adds a task, which fills in a status for each report, and publishes that the node starts up, as
    /// `diagnostic_updater` does. Tasks run one after another in the order in which they were added.
    ///
    /// A task without a summary, and one that panics, are errors in its status. The other tasks go on.
    pub fn add(&self, name: impl Into<String>, check: impl FnMut(&mut Status) + Send + 'static) {
        let task = Arc::new(Task { name: name.into(), check: Mutex::new(Box::new(check)) });
        let mut status = Status::default();
        status.summary(Level::Ok, "Node starting up");
        let status = self.core.finish(&task.name, status);
        lock(&self.core.tasks).push(task);
        if let Err(error) = self.core.publish(vec![status]) {
            log::warn!(target: "rospin", "{error}");
        }
    }

    /// Adds the task `program`, which tells of the whole program since the last report, and in total: items that were
    /// lost, by callback and cause, missed deadlines, violations that the [monitor](crate::monitoring::monitor) found,
    /// and settings that threads could not have. [`Program`] says what its levels are. Between reports it costs
    /// nothing.
    ///
    /// A program has one such task: each would report the same.
    pub fn add_program(&self, program: impl Into<Program>) {
        self.add("program", program.into().into_task());
    }

    /// Removes the first task of that name. Returns false if there is none. A run of the task that has begun goes on.
    pub fn remove(&self, name: &str) -> bool {
        let mut tasks = lock(&self.core.tasks);
        let task = tasks.iter().position(|task| task.name == name).map(|at| tasks.remove(at));
        // The task's own code is dropped after the lock.
        drop(tasks);
        task.is_some()
    }

    /// Runs all tasks and publishes their statuses now, on the calling thread. The timer keeps its due times. A task
    /// that runs already, on another thread or because it made this call itself, is left out.
    ///
    /// # Errors
    /// If the message could not be published.
    pub fn force_update(&self) -> Result<(), PublishError> {
        self.core.update()
    }

    /// Publishes the same level and message for all tasks, without running them: before a long calibration, for
    /// example.
    ///
    /// # Errors
    /// If the message could not be published.
    pub fn broadcast(&self, level: Level, message: impl Into<String>) -> Result<(), PublishError> {
        let message = message.into();
        let of_task = |task: &Arc<Task>| {
            let mut status = Status::default();
            status.summary(level, &message);
            self.core.finish(&task.name, status)
        };
        let statuses = lock(&self.core.tasks).iter().map(of_task).collect();
        self.core.publish(statuses)
    }
}

impl fmt::Debug for Updater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updater").field("node", &self.core.prefix).finish_non_exhaustive()
    }
}

impl Core {
    fn update(&self) -> Result<(), PublishError> {
        // Tasks run without the list's lock, so that they may add and remove tasks.
        let tasks = lock(&self.tasks).clone();
        let statuses = tasks.iter().filter_map(|task| Some(self.finish(&task.name, run(task)?))).collect();
        self.publish(statuses)
    }

    fn finish(&self, task: &str, status: Status) -> DiagnosticStatus {
        let name = format!("{}: {task}", self.prefix);
        status.into_message(name, lock(&self.hardware_id).clone())
    }

    fn publish(&self, status: Vec<DiagnosticStatus>) -> Result<(), PublishError> {
        let header = Header { stamp: self.node.now().into(), frame_id: String::new() };
        self.publisher.publish(DiagnosticArray { header, status })
    }
}

/// Runs a task. Returns `None` if it runs already.
fn run(task: &Task) -> Option<Status> {
    let mut check = match task.check.try_lock() {
        Ok(check) => check,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    let mut status = Status::default();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&mut status))) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)");
        status.summary(Level::Error, format!("the task panicked: {text}"));
        // The panic's value may panic when it is dropped, and so may that panic's: it is leaked then.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(another);
        }
    }
    Some(status)
}

/// Returns the value of a parameter, which is declared if it is not yet.
fn parameter<T: ParameterVariant>(
    node: &Node,
    name: &str,
    description: &str,
    default: T,
    read: impl FnOnce(&ParameterValue) -> Option<T>,
) -> Result<T, DeclareError> {
    if let Some(value) = node.parameter(name).as_ref().and_then(read) {
        return Ok(value);
    }
    let options = ParameterOptions::new().default_value(default).description(description).read_only();
    Ok(node.declare_parameter(name, options)?.get())
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves the data consistent, so its poison is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
