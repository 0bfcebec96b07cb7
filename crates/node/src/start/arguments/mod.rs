//! Arguments of a program between `--ros-args` and `--`, as rcl reads them.

mod levels;

use std::path::PathBuf;

use log::LevelFilter;

use crate::features::parameters::{ParameterFile, ParameterFileError};
use crate::remap::RemapRule;
use levels::LogLevels;

/// Option at which the arguments for ROS begin.
const BEGIN: &str = "--ros-args";
/// Argument at which the arguments for ROS end.
const END: &str = "--";

/// Errors of arguments that are for ROS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RosArgumentsError {
    /// The last argument is an option without its value.
    #[error("`{option}` is the last argument; it wants {wanted} behind it")]
    NoValue {
        /// Name of the option, such as `--remap`.
        option: String,
        /// Examples of valid values, as text.
        wanted: &'static str,
    },
    /// An option has an invalid value.
    #[error("`{option} {value}`: {reason}; it should look like {wanted}")]
    Value {
        /// Name of the option, such as `--remap`.
        option: String,
        /// Value of the option, as it was given.
        value: String,
        /// Reason for which the value is invalid.
        reason: String,
        /// Examples of valid values, as text.
        wanted: &'static str,
    },
    /// A parameter file is invalid or cannot be read.
    #[error("`--params-file`")]
    File(#[from] ParameterFileError),
    /// An option between `--ros-args` and `--` does not exist.
    #[error(
        "`{argument}` after `{BEGIN}` is not an option of ROS; arguments for the program itself come before it, or after `{END}`"
    )]
    Unknown {
        /// Argument, as it was given.
        argument: String,
    },
}

/// The arguments of a program that are for ROS: names, parameters, log levels, and the security enclave.
///
/// `rospin::init` reads them, so that launch files and `ros2 run` work. They are everything between `--ros-args` and
/// `--`, in any number of places:
///
/// | argument | meaning |
/// | --- | --- |
/// | `-r FROM:=TO`, `--remap FROM:=TO` | replace a topic or a service; only `rostopic://FROM`, only `rosservice://FROM` |
/// | `-r __node:=NAME`, `-r __ns:=/NAMESPACE` | rename nodes |
/// | `-r NODE:FROM:=TO` | the same for the node called `NODE` only |
/// | `-p NAME:=VALUE`, `--param NODE:NAME:=VALUE` | set a parameter; the value is YAML |
/// | `--params-file FILE` | set the parameters of a [file](ParameterFile) |
/// | `--log-level LEVEL`, `--log-level LOGGER:=LEVEL` | log from this level on |
/// | `-e ENCLAVE`, `--enclave ENCLAVE` | use this enclave of DDS security |
/// | `--disable-rosout-logs`, `--disable-stdout-logs` | do not log there; `--enable-…` takes it back |
///
/// Of several rules for one name, the first one counts; of several values of one parameter, the last one.
///
/// ```
/// use rospin::{Context, ContextOptions, Ros, RosArguments};
///
/// let arguments = ["talker", "--loud", "--ros-args", "-r", "__ns:=/robot", "-r", "chatter:=news", "-p", "rate:=5"];
/// let arguments = RosArguments::parse(arguments)?;
/// assert_eq!(arguments.others(), ["talker", "--loud"]);
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new())).with_arguments(arguments);
/// let node = ros.create_node("talker")?;
/// assert_eq!(node.fully_qualified_name(), "/robot/talker");
/// assert_eq!(node.resolve_topic("chatter")?.as_str(), "/robot/news");
/// assert_eq!(node.declare_parameter("rate", 1)?.get(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RosArguments {
    others: Vec<String>,
    rules: Vec<RemapRule>,
    /// Parameters of `--params-file` and `--param`, in the order of the arguments.
    parameters: Vec<ParameterFile>,
    levels: LogLevels,
    enclave: Option<String>,
    is_rosout_disabled: bool,
    is_console_disabled: bool,
    /// Remarks for the user: on options that have no effect here, and on rules without `--ros-args`.
    remarks: Vec<String>,
}

impl RosArguments {
    /// Reads the arguments of this program.
    ///
    /// # Errors
    /// If an argument for ROS is invalid, or a parameter file cannot be read.
    pub fn from_env() -> Result<Self, RosArgumentsError> {
        Self::parse(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()))
    }

    /// Reads arguments: a list of `String`s, of `&str`s, or a slice of them. The first one is the program's name, as in
    /// [`std::env::args`].
    ///
    /// # Errors
    /// If an argument for ROS is invalid, or a parameter file cannot be read.
    pub fn parse(arguments: impl IntoIterator<Item: AsRef<str>>) -> Result<Self, RosArgumentsError> {
        let mut parsed = Self::default();
        let mut arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
        parsed.others.extend(arguments.next());
        let mut is_for_ros = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                BEGIN => is_for_ros = true,
                END if is_for_ros => is_for_ros = false,
                _ if is_for_ros => parsed.option(argument, &mut arguments)?,
                _ => parsed.other(argument),
            }
        }
        Ok(parsed)
    }

    /// Takes an argument outside of those for ROS. It is for the program itself, unless it is a remapping rule, which
    /// is accepted there, too, as in rcl.
    fn other(&mut self, argument: String) {
        match RemapRule::parse(&argument) {
            Ok(rule) => {
                self.remarks.push(format!("`{argument}` is taken as a remapping rule; write `{BEGIN} -r {argument}`"));
                self.rules.push(rule);
            }
            Err(_) => self.others.push(argument),
        }
    }

    /// Applies an option for ROS. Its value, if it has one, is the next argument of `following`.
    fn option(
        &mut self,
        option: String,
        following: &mut impl Iterator<Item = String>,
    ) -> Result<(), RosArgumentsError> {
        let wanted = match option.as_str() {
            "-r" | "--remap" => "`chatter:=/news`, `__ns:=/robot` or `talker:chatter:=news`",
            "-p" | "--param" => "`rate:=5` or `talker:rate:=5`",
            "--params-file" => "`parameters.yaml`",
            "--log-level" => "`debug` or `talker:=debug`",
            "-e" | "--enclave" => "`/robot/arm`",
            "--log-file-name" | "--log-config-file" => "a name",
            _ => return self.switch(option),
        };
        let Some(value) = following.next() else {
            return Err(RosArgumentsError::NoValue { option, wanted });
        };
        let taken = match option.as_str() {
            "-r" | "--remap" => RemapRule::parse(&value).map(|rule| self.rules.push(rule)),
            "-p" | "--param" => ParameterFile::of_argument(&value).map(|file| self.parameters.push(file)),
            "--params-file" => {
                self.parameters.push(ParameterFile::load(PathBuf::from(value))?);
                return Ok(());
            }
            "--log-level" => self.levels.add(&value),
            "-e" | "--enclave" => {
                self.enclave = Some(value.clone());
                Ok(())
            }
            _ => {
                self.remarks.push(format!("`{option} {value}` has no effect: there are no log files"));
                Ok(())
            }
        };
        taken.map_err(|reason| RosArgumentsError::Value { option, value, reason, wanted })
    }

    /// Applies an option without a value. Returns an error if it does not exist.
    fn switch(&mut self, option: String) -> Result<(), RosArgumentsError> {
        match option.as_str() {
            "--enable-rosout-logs" => self.is_rosout_disabled = false,
            "--disable-rosout-logs" => self.is_rosout_disabled = true,
            "--enable-stdout-logs" => self.is_console_disabled = false,
            "--disable-stdout-logs" => self.is_console_disabled = true,
            // rospin writes no log files, so this option has no effect.
            "--disable-external-lib-logs" => {}
            "--enable-external-lib-logs" => {
                self.remarks.push(format!("`{option}` has no effect: there are no log files"));
            }
            _ => return Err(RosArgumentsError::Unknown { argument: option }),
        }
        Ok(())
    }

    /// Returns the arguments that are not for ROS, for the program itself: its name first, as in [`std::env::args`].
    #[must_use]
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// Returns the name that `--enclave` gives; `None` without that option.
    #[must_use]
    pub fn enclave(&self) -> Option<&str> {
        self.enclave.as_deref()
    }

    /// Returns the level from which on a logger logs. Names of loggers have dots for slashes, such as `robot.talker`.
    /// Without an own level, `robot.talker` has that of `robot`, and `robot` that of `--log-level LEVEL`, or `info` if
    /// there is none. Modules of Rust, whose names have two colons, are loggers likewise. Those of the crate `zenoh`
    /// log errors only unless a level is set.
    #[must_use]
    pub fn log_level(&self, logger: &str) -> LevelFilter {
        self.levels.of(logger)
    }

    /// Returns the most verbose level of any logger.
    #[must_use]
    pub fn log_level_max(&self) -> LevelFilter {
        self.levels.most_verbose()
    }

    /// Returns true unless `--disable-stdout-logs` was given: log records should go to the console.
    #[must_use]
    pub const fn logs_to_console(&self) -> bool {
        !self.is_console_disabled
    }

    /// Returns true unless `--disable-rosout-logs` was given: nodes should publish their log records.
    #[must_use]
    pub const fn logs_to_rosout(&self) -> bool {
        !self.is_rosout_disabled
    }

    /// Returns remarks for the user: arguments that are outdated or have no effect.
    pub fn remarks(&self) -> impl Iterator<Item = &str> {
        self.remarks.iter().map(String::as_str)
    }

    /// Returns the level from which on a node's logger logs: that of the arguments, or `Trace`, for all records, if the
    /// arguments set no level at all.
    pub(crate) fn node_log_level(&self, logger: &str) -> LevelFilter {
        if self.levels.is_set() { self.levels.of(logger) } else { LevelFilter::Trace }
    }

    /// Returns the remapping rules, in order.
    pub(crate) fn rules(&self) -> &[RemapRule] {
        &self.rules
    }

    /// Returns the values of parameters, by node, in order.
    pub(crate) fn parameters(&self) -> &[ParameterFile] {
        &self.parameters
    }
}
