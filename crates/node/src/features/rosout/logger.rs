//! Loggers that attribute log records to a node.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use log::{LevelFilter, Log, Metadata, Record};

use super::limits::Limits;
use super::{Quiet, RecordQueue};

/// Logger of a node, which passes records to the program's logger, and to `/rosout` if the node's log is
/// [published](crate::Node::publish_rosout).
///
/// For one record, write `log::info!(logger: node.logger(), "hello")`. For all records of a program, install a
/// [`RosoutLog`]. Records that are more verbose than [`log::max_level`] are dropped first, as with any logger, and then
/// those that are more verbose than the level that `--log-level` sets. The program's logger gets the node's logger name
/// as the record's target, unless the record has a target of its own.
///
/// Allocates, and locks for a moment. Waits neither for the middleware nor for the executor that publishes. May be
/// called anywhere. Cheap to clone.
#[derive(Clone)]
pub struct Logger(Arc<RecordQueue>);

impl Logger {
    pub(super) const fn new(queue: Arc<RecordQueue>) -> Self {
        Self(queue)
    }

    /// Returns the logger's name: the node's fully qualified name, with dots for slashes.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    pub(super) fn limits(&self) -> &Limits {
        self.0.limits()
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.0.level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        self.0.push(record);
        let program = log::logger();
        // The program's logger shows the node's name, as rclcpp's does, unless the call names another target.
        let has_target = Some(record.target()) != record.module_path();
        let record = &Record::builder()
            .args(*record.args())
            .level(record.level())
            .target(if has_target { record.target() } else { self.name() })
            .module_path(record.module_path())
            .file(record.file())
            .line(record.line())
            .build();
        // The program's logger may be this one; the flag prevents an endless recursion.
        if program.enabled(record.metadata()) && !IS_HANDING_ON.replace(true) {
            let _until_its_end = HandingOn;
            // The program's logger may be a `RosoutLog`, which must not queue the record twice.
            let _quiet = Quiet::here();
            program.log(record);
        }
    }

    fn flush(&self) {
        if !IS_HANDING_ON.replace(true) {
            let _until_its_end = HandingOn;
            log::logger().flush();
        }
    }
}

thread_local! {
    static IS_HANDING_ON: Cell<bool> = const { Cell::new(false) };
}

/// Mark that this thread hands a record on to the program's logger, until it is dropped.
struct HandingOn;

impl Drop for HandingOn {
    fn drop(&mut self) {
        IS_HANDING_ON.set(false);
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logger").field(&self.name()).finish()
    }
}

/// The logger of a program. It hands records on to an inner logger, such as one that writes to the console, and has a
/// node publish them on `/rosout`, including those of libraries.
///
/// A middleware that logs while it sends a record would cause the next record. Exclude its targets with
/// [`without`](Self::without). Records that it logs on the thread that publishes are excluded anyway.
///
/// ```
/// use rospin::logging::RosoutLog;
/// use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
///
/// struct Console;
///
/// impl log::Log for Console {
///     fn enabled(&self, _: &log::Metadata<'_>) -> bool {
///         true
///     }
///     fn log(&self, record: &log::Record<'_>) {
///         println!("{}", record.args());
///     }
///     fn flush(&self) {}
/// }
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let node = Ros::in_process(&context).create_node("motor")?;
/// let _rosout = node.publish_rosout(&executor.handle())?;
/// log::set_boxed_logger(Box::new(RosoutLog::new(node.logger(), Console).without("zenoh")))?;
/// log::set_max_level(log::LevelFilter::Info);
///
/// log::info!("on the console and on /rosout");
/// executor.spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RosoutLog<L> {
    logger: Logger,
    inner: L,
    level: LevelFilter,
    without: Vec<String>,
}

impl<L: Log> RosoutLog<L> {
    /// Returns a logger that publishes records in the name of `logger`'s node, and passes them to `inner`.
    #[must_use]
    pub const fn new(logger: Logger, inner: L) -> Self {
        Self { logger, inner, level: LevelFilter::Info, without: Vec::new() }
    }

    /// Sets the level of the records that are published, by default [`Info`](log::Level::Info) and more severe ones.
    /// The inner logger has a level of its own.
    #[must_use]
    pub const fn level(mut self, level: LevelFilter) -> Self {
        self.level = level;
        self
    }

    /// Excludes records of the target `target`, such as a crate or a module, and of those below it.
    #[must_use]
    pub fn without(mut self, target: impl Into<String>) -> Self {
        self.without.push(target.into());
        self
    }

    /// Returns true if a record with these properties goes to `/rosout`.
    fn publishes(&self, metadata: &Metadata<'_>) -> bool {
        let is_in = |module: &String| {
            metadata
                .target()
                .strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        metadata.level() <= self.level && !self.without.iter().any(is_in)
    }
}

impl<L: Log> Log for RosoutLog<L> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.publishes(metadata) || self.inner.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if self.publishes(record.metadata()) {
            self.logger.0.push(record);
        }
        if self.inner.enabled(record.metadata()) {
            self.inner.log(record);
        }
    }

    fn flush(&self) {
        self.inner.flush();
    }
}
