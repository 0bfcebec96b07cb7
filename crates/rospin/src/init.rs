//! The way in: environment, middleware, signals.

use std::fmt;
use std::io;

use rospin_engine::{Context, ContextOptions, DeploymentError};
use rospin_node::Ros;

use crate::signals;

/// The variable by which ROS 2 programs are told what to talk through.
const VARIABLE: &str = "RMW_IMPLEMENTATION";

/// What a program can talk through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Middlewares {
    /// Nothing: nodes of the same process hear each other.
    InProcess,
    /// DDS, to nodes of `rmw_cyclonedds_cpp`, `rmw_fastrtps_cpp` and the like.
    Dds,
    /// Zenoh, to nodes of `rmw_zenoh_cpp`.
    Zenoh,
}

impl Middlewares {
    /// Returns what the environment asks for, or else what this program was built with: DDS before Zenoh.
    ///
    /// # Errors
    /// If `RMW_IMPLEMENTATION` is nothing that is known.
    pub fn from_env() -> Result<Self, InitError> {
        match std::env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => Self::called(&name),
            _ => Ok(Self::of_program()),
        }
    }

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

/// Why a program could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// A deployment file cannot be read, or makes no sense.
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    /// `RMW_IMPLEMENTATION` is nothing that is known.
    #[error(
        "RMW_IMPLEMENTATION is `{name}`; it may be rmw_cyclonedds_cpp or rmw_fastrtps_cpp (DDS), rmw_zenoh_cpp, or in_process"
    )]
    Unknown {
        /// What it is.
        name: String,
    },
    /// The program was built without that middleware.
    #[error(
        "this program was built without {middleware}; add the feature `{feature}` to its dependency on rospin, or set \
         RMW_IMPLEMENTATION=in_process"
    )]
    NotBuilt {
        /// What was asked for.
        middleware: Middlewares,
        /// The feature that it takes.
        feature: &'static str,
    },
    /// The middleware cannot be had.
    #[error("{middleware} could not be started")]
    Middleware {
        /// Which one.
        middleware: Middlewares,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Signals cannot be listened for.
    #[error("signals cannot be listened for")]
    Signals(#[source] io::Error),
}

/// Begins a program: reads `ROSPIN_DEPLOYMENT` and its like, starts the middleware that `RMW_IMPLEMENTATION` names (or the one that the
/// program was built with), and has SIGINT and SIGTERM halt the main executor. A second signal ends the process at once.
///
/// # Errors
/// If the environment asks for something that is not there.
pub fn init() -> Result<Ros, InitError> {
    init_with(ContextOptions::from_env()?, Middlewares::from_env()?)
}

/// Begins a program as [`init`] does, with these options and over that middleware.
///
/// # Errors
/// If the program was built without that middleware, it cannot be started, or signals cannot be listened for.
pub fn init_with(options: ContextOptions, middleware: Middlewares) -> Result<Ros, InitError> {
    let context = Context::new(options);
    let ros = match middleware {
        Middlewares::InProcess => Ros::in_process(&context),
        Middlewares::Dds => dds(&context)?,
        Middlewares::Zenoh => zenoh(&context)?,
    };
    signals::halt_on_signal(&ros).map_err(InitError::Signals)?;
    Ok(ros)
}

#[cfg(feature = "dds")]
fn dds(context: &Context) -> Result<Ros, InitError> {
    use rospin_dds::{Domain, DomainOptions};

    let failed = |source| InitError::Middleware { middleware: Middlewares::Dds, source };
    let options = DomainOptions::from_env().map_err(|error| failed(error.into()))?;
    let domain = context.start_threads("dds", || Domain::join(options)).map_err(|error| failed(error.into()))?;
    Ok(Ros::over(context, domain))
}

#[cfg(not(feature = "dds"))]
fn dds(_: &Context) -> Result<Ros, InitError> {
    Err(InitError::NotBuilt { middleware: Middlewares::Dds, feature: "dds" })
}

#[cfg(feature = "zenoh")]
fn zenoh(context: &Context) -> Result<Ros, InitError> {
    use rospin_zenoh::{Session, SessionOptions};

    let failed = |source| InitError::Middleware { middleware: Middlewares::Zenoh, source };
    let options = SessionOptions::from_env().map_err(|error| failed(error.into()))?;
    let session = context.start_threads("zenoh", || Session::open(options)).map_err(|error| failed(error.into()))?;
    Ok(Ros::over(context, session))
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
    fn what_was_not_built_is_told_with_its_feature() {
        let error = init_with(ContextOptions::new(), Middlewares::Zenoh).unwrap_err().to_string();
        assert!(error.contains("without Zenoh") && error.contains("`zenoh`"), "{error}");
    }
}
