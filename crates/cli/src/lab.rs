//! `rospin lab`: runs the program `rospin-lab`, which is built in a workspace of its own.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_report::Failure;

pub(crate) const NAME: &str = "lab";

/// The program with the experiments.
const PROGRAM: &str = "rospin-lab";

/// Runs experiments: rospin beside other executors, with the program rospin-lab
#[derive(Args, Debug)]
struct Options {
    /// Arguments of rospin-lab; `rospin lab list` shows the experiments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Reasons for which no experiment was run.
#[derive(Debug, thiserror::Error)]
enum LabError {
    #[error(
        "there is no program {PROGRAM} beside this one, in lab/target of a checkout around it, or on PATH; build it with \
         `cargo build --release --manifest-path lab/Cargo.toml`"
    )]
    Missing,
    #[error("`{}` cannot be run: {reason}", program.display())]
    Start { program: PathBuf, reason: io::Error },
}

/// Returns the command `rospin lab`.
pub(crate) fn command() -> Command {
    // `--help` goes to the program, too.
    Options::augment_args(Command::new(NAME)).disable_help_flag(true)
}

/// Replaces this process by `rospin-lab` with the same arguments. So its output, its exit code and signals to it are
/// those of this process. Returns only if that fails.
pub(crate) fn run(matches: &ArgMatches, _out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(|error| Failure::Input(Box::new(error)))?;
    let own = env::current_exe().map_err(Failure::run)?;
    let path = env::var_os("PATH").unwrap_or_default();
    let program = find(&own, &path).ok_or_else(|| Failure::input(LabError::Missing))?;
    let reason = process::Command::new(&program).args(options.arguments).exec();
    Err(Failure::run(LabError::Start { program, reason }))
}

/// Returns the path of `rospin-lab`: beside `own`, which is the path of this program, else in the checkout that `own`
/// was built in, else in a folder of `path`.
fn find(own: &Path, path: &OsString) -> Option<PathBuf> {
    let mut candidates = vec![own.with_file_name(PROGRAM)];
    let lab = own.ancestors().map(|folder| folder.join("lab")).find(|lab| lab.join("Cargo.toml").is_file());
    if let Some(lab) = lab {
        candidates.push(lab.join("target/release").join(PROGRAM));
        candidates.push(lab.join("target/debug").join(PROGRAM));
    }
    for folder in env::split_paths(path) {
        candidates.push(folder.join(PROGRAM));
    }
    candidates.into_iter().find(|candidate| is_program(candidate))
}

/// Returns true if there is a file at `path` that somebody may execute.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
