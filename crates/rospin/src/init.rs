//! Start of a program: arguments, environment, log, middleware, signals.

use std::fmt;
use std::io;

use rospin_engine::{Context, ContextOptions, DeploymentError};
#[cfg(any(feature = "dds", feature = "zenoh"))]
use rospin_node::Middleware;
use rospin_node::{Ros, RosArguments, RosArgumentsError};

use crate::live::open_live_door;
use crate::monitor_of_process::{MonitoringError, monitor_from_env};
use crate::recording::{RecordingError, emit_tracepoints_from_env, record_from_env};
use crate::{console, signals};

/// The environment variable that selects the middleware, as for every ROS 2 program.
const VARIABLE: &str = "RMW_IMPLEMENTATION";

/// Middlewares that a program can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Middlewares {
    /// No network: only nodes of the same process reach each other.
    InProcess,
    /// DDS, for nodes of `rmw_cyclonedds_cpp`, `rmw_fastrtps_cpp` and the like.
    Dds,
    /// Zenoh, for nodes of `rmw_zenoh_cpp`.
    Zenoh,
}

impl Middlewares {
    /// Returns the middleware that `RMW_IMPLEMENTATION` selects. If it is not set, or empty, returns the one that the
    /// program was built with: DDS, else Zenoh, else [`InProcess`](Self::InProcess).
    ///
    /// # Errors
    /// If `RMW_IMPLEMENTATION` has an unknown value.
    pub fn from_env() -> Result<Self, InitError> {
        match std::env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => Self::called(&name),
            _ => Ok(Self::of_program()),
        }
    }

    /// Returns the middleware for a value of `RMW_IMPLEMENTATION`.
    fn called(name: &str) -> Result<Self, InitError> {
        match name {
            "in_process" => Ok(Self::InProcess),
            "rmw_zenoh_cpp" => Ok(Self::Zenoh),
            "rmw_cyclonedds_cpp" | "rmw_fastrtps_cpp" | "rmw_fastrtps_dynamic_cpp" | "rmw_connextdds" => Ok(Self::Dds),
            _ => Err(InitError::Unknown { name: name.to_owned() }),
        }
    }

    const fn of_program() -> Self {
        if cfg!(feature = "dds") {
            Self::Dds
        } else if cfg!(feature = "zenoh") {
            Self::Zenoh
        } else {
            Self::InProcess
        }
    }
}

impl fmt::Display for Middlewares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProcess => "in process",
            Self::Dds => "DDS",
            Self::Zenoh => "Zenoh",
        })
    }
}

/// Reasons for which a program could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// An argument for ROS is invalid.
    #[error(transparent)]
    Arguments(#[from] RosArgumentsError),
    /// A deployment file cannot be read, or is invalid.
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    /// The program cannot be recorded as the environment asks for.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The program cannot be monitored as the environment asks for.
    #[error(transparent)]
    Monitoring(#[from] MonitoringError),
    /// `RMW_IMPLEMENTATION` has an unknown value.
    #[error(
        "RMW_IMPLEMENTATION is `{name}`; it may be rmw_cyclonedds_cpp or rmw_fastrtps_cpp (DDS), rmw_zenoh_cpp, or \
         in_process"
    )]
    Unknown {
        /// Value of the variable.
        name: String,
    },
    /// The program was built without the middleware.
    #[error(
        "this program was built without {middleware}; add the feature `{feature}` to its dependency on rospin, or set \
         RMW_IMPLEMENTATION=in_process"
    )]
    NotBuilt {
        /// Middleware that was selected.
        middleware: Middlewares,
        /// Feature of the crate `rospin` that builds in the middleware.
        feature: &'static str,
    },
    /// The middleware could not be started.
    #[error("{middleware} could not be started")]
    Middleware {
        /// Middleware that was selected.
        middleware: Middlewares,
        /// The middleware's reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Handlers for SIGINT and SIGTERM could not be installed.
    #[error("signals cannot be listened for")]
    Signals(#[source] io::Error),
}

/// Starts a program:
///
/// - Reads the [arguments for ROS](RosArguments), which rename nodes and set their parameters.
/// - Writes log records to the console as rclcpp does, unless the program has a logger already.
/// - Records what the executors do if `ROSPIN_TRACE` or `ROSPIN_SCENARIO_TEMPLATE` names a file, see
///   [`record_from_env`].
/// - Emits the tracepoints of ros2_tracing if `ROSPIN_TRACETOOLS` asks for it, see [`emit_tracepoints_from_env`].
/// - Lets `rospin top` and `rospin trace record --pid` see what the program does, see [`open_live_door`].
/// - Compares the program with its system file if `ROSPIN_SYSTEM` names one, see [`monitor_from_env`].
/// - Reads deployment files as [`ContextOptions::from_env`] does.
/// - Starts the middleware that `RMW_IMPLEMENTATION` selects, or the one that the program was built with. With the
///   feature `shared_memory`, images and point clouds for other processes of the machine go through shared memory. If it
///   cannot be set up, the log says why, and the middleware sends them as all others.
/// - Halts all executors on SIGINT or SIGTERM. One more signal, more than a second after the first one, ends the
///   process at once.
///
/// # Errors
/// If an argument or a deployment file is invalid, the program cannot be recorded or monitored as the environment asks
/// for, the middleware is unknown or not built in or cannot be started, or signal handlers cannot be installed.
pub fn init() -> Result<Ros, InitError> {
    let arguments = RosArguments::from_env()?;
    // The console comes first, because the following steps may log.
    console::install(&arguments);
    record_from_env()?;
    monitor_from_env()?;
    if let Err(error) = emit_tracepoints_from_env() {
        log::warn!(target: "rospin", "the program goes on without the tracepoints of ros2_tracing: {error}");
    }
    init_with(ContextOptions::from_env()?, Middlewares::from_env()?, arguments)
}

/// Starts a program with these options and arguments, and over that middleware. Installs no logger, starts neither
/// recorder nor monitor, and reads no deployment files; otherwise it does what [`init`] does.
///
/// # Errors
/// If the program was built without the middleware, the middleware cannot be started, or signal handlers cannot be
/// installed.
pub fn init_with(options: ContextOptions, middleware: Middlewares, arguments: RosArguments) -> Result<Ros, InitError> {
    for remark in arguments.remarks() {
        log::warn!(target: "rospin", "{remark}");
    }
    open_live_door();
    let context = Context::new(options);
    let ros = match middleware {
        Middlewares::InProcess => Ros::in_process(&context),
        Middlewares::Dds => dds(&context, arguments.enclave())?,
        Middlewares::Zenoh => zenoh(&context)?,
    };
    let ros = ros.with_arguments(arguments);
    signals::halt_on_signal(&ros).map_err(InitError::Signals)?;
    Ok(ros)
}

/// Returns a [`Ros`] over that middleware, with shared memory for large messages if it is built in.
#[cfg(any(feature = "dds", feature = "zenoh"))]
fn over(context: &Context, middleware: impl Middleware) -> Ros {
    #[cfg(feature = "shared_memory")]
    let middleware = rospin_local::Local::over_if_possible(middleware, rospin_local::LocalOptions::new());
    Ros::over(context, middleware)
}

#[cfg(feature = "dds")]
fn dds(context: &Context, enclave: Option<&str>) -> Result<Ros, InitError> {
    use rospin_dds::{Domain, DomainOptions};

    let failed = |source| InitError::Middleware { middleware: Middlewares::Dds, source };
    let mut options = DomainOptions::from_env().map_err(|error| failed(error.into()))?;
    if let Some(enclave) = enclave {
        options = options.enclave(enclave);
    }
    let domain = context.start_threads("dds", || Domain::join(options)).map_err(|error| failed(error.into()))?;
    Ok(over(context, domain))
}

#[cfg(not(feature = "dds"))]
fn dds(_: &Context, _: Option<&str>) -> Result<Ros, InitError> {
    Err(InitError::NotBuilt { middleware: Middlewares::Dds, feature: "dds" })
}

#[cfg(feature = "zenoh")]
fn zenoh(context: &Context) -> Result<Ros, InitError> {
    use rospin_zenoh::{Session, SessionOptions};

    let failed = |source| InitError::Middleware { middleware: Middlewares::Zenoh, source };
    let options = SessionOptions::from_env().map_err(|error| failed(error.into()))?;
    let session = context.start_threads("zenoh", || Session::open(options)).map_err(|error| failed(error.into()))?;
    Ok(over(context, session))
}

#[cfg(not(feature = "zenoh"))]
fn zenoh(_: &Context) -> Result<Ros, InitError> {
    Err(InitError::NotBuilt { middleware: Middlewares::Zenoh, feature: "zenoh" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_ros_are_known() {
        for (name, middleware) in [
            ("in_process", Middlewares::InProcess),
            ("rmw_cyclonedds_cpp", Middlewares::Dds),
            ("rmw_fastrtps_cpp", Middlewares::Dds),
            ("rmw_zenoh_cpp", Middlewares::Zenoh),
        ] {
            assert_eq!(Middlewares::called(name).unwrap(), middleware);
        }
        let error = Middlewares::called("rmw_zenoh").unwrap_err().to_string();
        assert!(error.contains("`rmw_zenoh`") && error.contains("rmw_zenoh_cpp"), "{error}");
    }

    #[cfg(not(feature = "zenoh"))]
    #[test]
    fn a_middleware_that_was_not_built_is_told_with_its_feature() {
        let error =
            init_with(ContextOptions::new(), Middlewares::Zenoh, RosArguments::default()).unwrap_err().to_string();
        assert!(error.contains("without Zenoh") && error.contains("`zenoh`"), "{error}");
    }
}
