//! `rospin launch`: starts the processes of a launch file, and ends them together.
//!
//! - `file.rs`, `substitute.rs`, `parameters.rs`, `find.rs`: the file as it is written, and `plan.rs`: what it means.
//! - `run.rs`: the launch while it runs, on one thread, and `process.rs`: one of its processes, in its `group.rs`.
//! - `output.rs`: where lines go.
//! - `guard.rs` and `lead.rs`: two helpers, processes of this program, see there.

mod file;
mod find;
mod group;
mod guard;
mod lead;
mod output;
mod parameters;
mod plan;
mod process;
mod run;
mod substitute;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use rospin_report::Failure;

use crate::ros::Session;
use file::LaunchFile;
use plan::Planned;

pub(crate) const NAME: &str = "launch";

/// Starts the processes of a launch file, and ends them together
#[derive(Args, Debug)]
#[command(after_help = "\
Ctrl-C ends all processes: they get SIGINT, SIGTERM after 1.2 s, and SIGKILL 0.4 s later, unless
the file says otherwise. A second Ctrl-C kills them at once. If the launch itself is killed, they
are ended likewise.

A launch file, of which the book has every key:
  [arguments]
  robot = \"robot1\"                          # rospin launch FILE robot:=robot2

  [[process]]
  program = \"../target/release/camera\"      # from the folder of the file; or package = \"..\"
  node = \"camera\"
  namespace = \"/$(var robot)\"
  parameters = { rate = 30.0 }
  lifecycle = \"active\"                      # configured and activated
  respawn = true

Examples:
  rospin launch robot.toml
  rospin launch robot.toml robot:=robot2
  rospin launch robot.toml --show-args
  rospin launch robot.toml --dry-run        the command lines, for a shell

Exit code: 0, 1 if a process failed or had to be killed or a node did not reach its state, 2 if the
file or an option is wrong.")]
struct Options {
    /// Launch file
    #[arg(required_unless_present = "part")]
    file: Option<PathBuf>,

    /// Values of the file's arguments
    #[arg(value_name = "NAME:=VALUE")]
    arguments: Vec<String>,

    /// Prints the file's arguments and their values, and starts nothing
    #[arg(long, short, visible_alias = "show-arguments")]
    show_args: bool,

    /// Prints the command lines, and starts nothing
    #[arg(long, short = 'n', visible_alias = "print", conflicts_with = "show_args")]
    dry_run: bool,

    /// Runs as a helper of a launch
    #[arg(long, hide = true)]
    part: Option<Part>,
}

/// A helper of a launch, which is a process of its own.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Guard,
    Lead,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let Some(path) = &options.file else {
        match options.part {
            Some(Part::Lead) => return lead::run(out),
            _ => guard::run(),
        }
        return Ok(());
    };
    if path.extension().is_some_and(|ending| ["py", "xml", "yaml", "yml"].iter().any(|other| ending == *other)) {
        let text = "is a launch file of ROS 2, which `ros2 launch` runs; those of `rospin launch` are in TOML";
        return Err(Failure::Input(format!("{} {text}", path.display()).into()));
    }
    let file = LaunchFile::load(path).map_err(Failure::input)?;
    let folder = folder_of(path)?;
    let scope = plan::arguments(&file, &folder, &options.arguments).map_err(|error| Failure::Input(error.into()))?;
    if options.show_args {
        if scope.arguments.is_empty() {
            writeln!(out, "The launch file has no arguments.")?;
        }
        for (name, value) in &scope.arguments {
            writeln!(out, "{name}:={value}")?;
        }
        return Ok(());
    }
    let processes = plan::processes(&file, &folder, &scope).map_err(Failure::input)?;
    if options.dry_run {
        return Ok(print(&processes, out)?);
    }
    if processes.iter().any(|process| !process.managed.is_empty()) {
        Session::check_network()?;
    }
    out.flush()?;
    run::run(processes, &output::log_folder())
}

/// Returns the folder of the launch file as an absolute path.
fn folder_of(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = path.canonicalize();
    let absolute = absolute.map_err(|error| Failure::Input(format!("{}: {error}", path.display()).into()))?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Prints the processes as a shell script, with what a shell does not do as remarks.
fn print(processes: &[Planned], out: &mut dyn Write) -> std::io::Result<()> {
    for process in processes {
        write!(out, "# {}", process.label)?;
        for (node, goal) in &process.managed {
            write!(out, ", {node} {goal}")?;
        }
        for before in &process.after {
            write!(out, ", after {}", processes[*before].label)?;
        }
        writeln!(out, "\n{}", process.line())?;
    }
    Ok(())
}
