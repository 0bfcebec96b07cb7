//! A timer of rcl, which all client libraries of ROS 2 have below theirs: the C program `timer.c` beside this file.
//!
//! The program is compiled when the experiment begins, against the ROS 2 that is found: the Python environment in the
//! folder `ROSPIN_TEST_ROS`, or else what is sourced (`AMENT_PREFIX_PATH`), from Jazzy on. It has a process of its own
//! for each turn.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use rospin_engine::os::{OsScheduling, ThreadOptions};
use rospin_measure::timer::Turn;

const SOURCE: &str = include_str!("timer.c");
/// Number of programs that this process has compiled. Each has a folder of its own.
static COMPILED: AtomicU32 = AtomicU32::new(0);
/// Prints what programs need that are linked against the libraries of Python packages: some of these refer to Python
/// without naming it.
const PYTHON_LIBRARY: &str =
    "from sysconfig import get_config_var as of; print(of('LIBDIR'), of('INSTSONAME'), sep='\\n')";

/// Reasons for which the timer of rcl does not take part.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    /// No ROS 2 was found.
    #[error("no ROS 2 is there: source one, or name a Python environment that has it (ROSPIN_TEST_ROS)")]
    NoRos,
    /// The folder for the program cannot be used, or a program cannot be started.
    #[error("{0}: {1}")]
    Start(String, io::Error),
    /// A program that was needed failed. The text has its name and the last line that it printed.
    #[error("{0}")]
    Failed(String),
}

/// Reasons for which a turn gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The program could not be started.
    #[error("the timer of rcl cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The program failed, or printed something else than numbers.
    #[error("the timer of rcl failed: {0}")]
    Failed(String),
}

/// The compiled program. Its folder is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct RclTimer {
    folder: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl RclTimer {
    /// Finds ROS 2, and compiles the program against it.
    ///
    /// # Errors
    /// If there is no ROS 2, or if the program cannot be compiled or started.
    pub(crate) fn find() -> Result<Self, FindError> {
        let python = env::var_os("ROSPIN_TEST_ROS").map(PathBuf::from);
        let prefixes: Vec<PathBuf> = match &python {
            Some(folder) => vec![folder.clone()],
            None => env::var_os("AMENT_PREFIX_PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect()),
        };
        if !prefixes.iter().any(|prefix| prefix.join("include/rcl").is_dir()) {
            return Err(FindError::NoRos);
        }
        let number = COMPILED.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("rospin-lab-{}-rcl-timer-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| FindError::Start(folder.display().to_string(), error))?;
        let mut found = Self { folder, variables: Vec::new() };
        found.compile(&prefixes, python.as_deref())?;
        let short = found.command(&["1000000", "1", "0", "0"]).output();
        ended("the timer of rcl", short)?;
        Ok(found)
    }

    fn compile(&mut self, prefixes: &[PathBuf], python: Option<&Path>) -> Result<(), FindError> {
        let source = self.folder.join("timer.c");
        fs::write(&source, SOURCE).map_err(|error| FindError::Start(source.display().to_string(), error))?;
        let mut compiler = Command::new("cc");
        compiler.arg("-O2").arg(&source).arg("-o").arg(self.program());
        for prefix in prefixes {
            for package in folders_of(&prefix.join("include")) {
                compiler.arg("-I").arg(package);
            }
            compiler.arg("-L").arg(prefix.join("lib"));
        }
        compiler.args(["-Wl,--allow-shlib-undefined", "-lrcl", "-lrcutils"]);
        if let Some(folder) = python {
            let libraries = PythonLibraries::find(folder)?;
            compiler.arg("-Wl,--no-as-needed").arg(&libraries.python);
            self.variables.push(("LD_LIBRARY_PATH", libraries.path));
            self.variables.push(("AMENT_PREFIX_PATH", folder.into()));
        }
        ended("cc", compiler.output()).map(drop)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("timer")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program());
        command.args(arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        // Nobody should hear of its node.
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF");
        command
    }

    /// Runs the timer for the due times of `turn`, in a process whose waiting thread gets the core and the real-time
    /// priority that this thread can have by `options`. Returns the lateness of each start, in microseconds.
    ///
    /// # Errors
    /// If the program cannot be started or fails.
    pub(super) fn run(&self, options: &ThreadOptions, turn: Turn) -> Result<Vec<f64>, RunError> {
        let has = options.apply_for_now().report().clone();
        let priority = match has.scheduling {
            Some(OsScheduling::Fifo { priority }) => priority,
            _ => 0,
        };
        let core = has.cores.as_slice().first().copied().unwrap_or(0);
        let period_ns = turn.period.as_nanos().to_string();
        let order = [&period_ns, &turn.firings.to_string(), &core.to_string(), &priority.to_string()];
        let output = self.command(&order.map(String::as_str)).output()?;
        if !output.status.success() {
            return Err(RunError::Failed(last_line(&output)));
        }
        let late_us = |line: &str| line.parse::<u64>().map(|late_ns| late_ns as f64 / 1e3);
        let printed = String::from_utf8_lossy(&output.stdout);
        let read: Result<Vec<f64>, _> = printed.lines().map(late_us).collect();
        read.map_err(|error| RunError::Failed(error.to_string()))
    }
}

impl Drop for RclTimer {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Libraries beside those of ROS 2 in a Python environment.
struct PythonLibraries {
    /// File of Python's own library.
    python: PathBuf,
    /// Value of `LD_LIBRARY_PATH`.
    path: OsString,
}

impl PythonLibraries {
    fn find(environment: &Path) -> Result<Self, FindError> {
        let program = environment.join("bin/python");
        let output = Command::new(&program).args(["-c", PYTHON_LIBRARY]).output();
        let printed = ended(&program.display().to_string(), output)?;
        let mut lines = printed.lines();
        let folder = PathBuf::from(lines.next().unwrap_or_default());
        let python = folder.join(lines.next().unwrap_or_default());
        let mut path = vec![environment.join("lib"), folder];
        // Other libraries that the packages bring are in folders of their own.
        for version in folders_of(&environment.join("lib")) {
            let packages = folders_of(&version.join("site-packages"));
            path.extend(packages.into_iter().filter(|package| package.extension().is_some_and(|it| it == "libs")));
        }
        path.extend(env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths));
        let path = env::join_paths(path).map_err(|error| FindError::Failed(error.to_string()))?;
        Ok(Self { python, path })
    }
}

/// Returns the folders in `folder`; none if it cannot be read.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    folders
}

/// Returns what a program printed.
///
/// # Errors
/// If it could not be started, or failed.
fn ended(program: &str, output: io::Result<Output>) -> Result<String, FindError> {
    let output = output.map_err(|error| FindError::Start(program.to_owned(), error))?;
    if !output.status.success() {
        return Err(FindError::Failed(format!("{program}: {}", last_line(&output))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the last line that a program wrote to stderr, or its exit status if it wrote nothing.
fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().last().map_or_else(|| output.status.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rcl_fires_and_ends_where_it_is_found() {
        let rcl = match RclTimer::find() {
            Ok(rcl) => rcl,
            Err(error) => {
                assert!(env::var_os("ROSPIN_TEST_REQUIRE_ROS").is_none(), "{error}");
                return;
            }
        };
        let turn = Turn { period: Duration::from_millis(2), firings: 10, phase: Duration::ZERO };
        let late_us = rcl.run(&ThreadOptions::new(), turn).unwrap();
        assert!((1..=10).contains(&late_us.len()), "{late_us:?}");
        let folder = rcl.folder.clone();
        drop(rcl);
        assert!(!folder.exists());
    }
}
