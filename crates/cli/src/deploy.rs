//! `rospin deploy`: writes deployment files for described systems, and checks them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin_engine::check_cores;
use rospin_engine::os::OsScheduling;
use rospin_node::{CYCLONE_DDS_THREADS, ZENOH_THREADS};
use rospin_report::Failure;
use rospin_scenario::Deployment;
use rospin_scenario::deployment::{ExecutorPlan, Mismatch, Names};

use crate::isolated::{self, Filled, Format, Template};
use crate::scenario_file;

pub(crate) const NAME: &str = "deploy";

/// Writes and checks deployment files: where the callback groups of a program run
#[derive(Args, Debug)]
#[command(after_help = "\
A program that asks for it (ContextOptions::from_env) loads the files that ROSPIN_DEPLOYMENT names, separated by colons, and
writes a template with all that it has to the file that ROSPIN_DEPLOYMENT_TEMPLATE names: nothing is compiled anew.

Examples:
  rospin deploy template crates/scenario/scenarios/chain.toml --output robot.toml
  rospin deploy check robot.toml
  rospin deploy check robot.toml --system system.toml
  rospin deploy fill template.yaml --system system.toml --deployment robot.toml -o config.yaml
  ROSPIN_DEPLOYMENT_TEMPLATE=robot.toml my_robot
  ROSPIN_DEPLOYMENT=robot.toml my_robot")]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Writes the deployment file of a described system
    Template {
        /// Scenario file
        scenario: PathBuf,
        /// Writes it to this file, which must not be there, instead of the terminal
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Fills in the template that the dry run of TIER IV's callback_isolated_executor or agnocast writes: scheduling
    /// and cores of callback groups
    Fill {
        /// Template, a YAML file
        template: PathBuf,
        /// System file, which `rospin trace model --isolate` wrote
        #[arg(long, value_name = "FILE")]
        system: PathBuf,
        /// Deployment file with scheduling and cores, which `rospin analyze --assign picas --deploy` wrote
        #[arg(long, value_name = "FILE")]
        deployment: PathBuf,
        /// Writes the format of this version of the configurator, that of the template unless given
        #[arg(long, value_name = "VERSION")]
        format: Option<Format>,
        /// Writes it to this file, which must not be there, instead of the terminal
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Says whether one or more deployment files make sense, together and on this machine
    Check {
        /// Deployment files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Also compares the names with this system file's, which `rospin trace model` writes
        #[arg(long, value_name = "FILE")]
        system: Option<PathBuf>,
    },
}

/// Error of a template that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("--output {}: cannot be written ({reason}); name a file that is not there", path.display())]
struct Unwritable {
    path: PathBuf,
    reason: io::Error,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    match Options::from_arg_matches(matches).map_err(Failure::input)?.action {
        Action::Template { scenario, output } => template(&scenario, output.as_deref(), out),
        Action::Fill { template, system, deployment, format, output } => {
            fill(&template, (&system, &deployment), format, output.as_deref(), out)
        }
        Action::Check { files, system } => check(&files, system.as_deref(), out),
    }
}

/// Writes the deployment file of the scenario at `path` to the file `output`, or to `out` if that is `None`.
fn template(path: &Path, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let scenario = scenario_file::read(path).map_err(Failure::input)?;
    let text = format!(
        "# What the system has. Leave out what should stay as the program has it.\n\n{}",
        Deployment::describe(&scenario).to_toml()
    );
    match output {
        None => out.write_all(text.as_bytes())?,
        Some(file) => {
            let failed = |reason| Unwritable { path: file.to_owned(), reason };
            write_new(file, &text).map_err(failed).map_err(Failure::input)?;
            writeln!(out, "Deployment: {}", file.display())?;
        }
    }
    Ok(())
}

/// Fills in the template of callback_isolated_executor by a system file and a deployment file, and writes it to the
/// file `output`, or to `out` if that is `None`.
fn fill(
    template: &Path,
    (system, deployment): (&Path, &Path),
    format: Option<Format>,
    output: Option<&Path>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let template = Template::read(template).map_err(Failure::input)?;
    let system = scenario_file::read(system).map_err(Failure::input)?;
    let deployment = Deployment::load(deployment).map_err(Failure::input)?;
    let filled = isolated::fill(&template, &system, &deployment, format).map_err(Failure::input)?;
    let Filled { text, format, groups, rest } = filled;
    let Some(file) = output else {
        out.write_all(text.as_bytes())?;
        return Ok(());
    };
    write_new(file, &text).map_err(|reason| Failure::input(Unwritable { path: file.to_owned(), reason }))?;
    writeln!(out, "Configuration: {}, with {groups} of {} callback groups", file.display(), groups + rest.len())?;
    writeln!(out, "Its format is {format}.")?;
    rest.iter().try_for_each(|id| writeln!(out, "As before, because the system has none of its callbacks: {id}"))?;
    Ok(())
}

/// Writes a new file. Fails if the file exists, since somebody may have edited it.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Checks deployment files together, if this machine has their cores, and if the system file `system` has their names.
/// Prints what they have.
fn check(files: &[PathBuf], system: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let deployment = Deployment::load_all(files).map_err(Failure::input)?;
    check_cores(&deployment).map_err(Failure::input)?;
    let Deployment { executors, groups, callbacks, chains, threads, .. } = &deployment;
    writeln!(
        out,
        "The deployment makes sense: executors {}, groups {}, callbacks {}, chains {}, threads {}.",
        executors.len(),
        groups.len(),
        callbacks.len(),
        chains.len(),
        threads.len(),
    )?;
    if let Some(said) = middleware_threads(&deployment) {
        writeln!(out, "{said}")?;
    }
    let Some(system) = system else {
        writeln!(
            out,
            "Whether its names are the program's is checked when the program begins to spin, and by --system FILE before that."
        )?;
        return Ok(());
    };
    check_names(&deployment, system, out)
}

/// Compares a deployment with the system file at `path`. Prints each name that does not fit; one that the program would
/// refuse is also an error.
fn check_names(deployment: &Deployment, path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let system = scenario_file::read(path).map_err(Failure::input)?;
    let (mut refused, mut warned) = (Vec::new(), 0);
    for mismatch in deployment.compare(&Names::of_system(&system)) {
        if deployment.refuses(&mismatch) {
            refused.push(mismatch);
        } else {
            writeln!(out, "Warning: {mismatch}")?;
            warned += 1;
        }
    }
    if !refused.is_empty() {
        return Err(Failure::input(Misfits { system: path.to_owned(), refused }));
    }
    if warned == 0 {
        writeln!(out, "Its names are those of {}.", path.display())?;
    }
    Ok(())
}

/// Error of a deployment that does not fit a system file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", system.display(), refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
struct Misfits {
    system: PathBuf,
    refused: Vec<Mismatch>,
}

/// Returns a sentence about the scheduling that the threads of a middleware get; `None` if no executor is real-time.
fn middleware_threads(deployment: &Deployment) -> Option<String> {
    let is_real_time = |plan: &ExecutorPlan| plan.scheduling.is_some_and(OsScheduling::is_real_time);
    if !deployment.executors.iter().any(is_real_time) {
        return None;
    }
    let kinds = [CYCLONE_DDS_THREADS, ZENOH_THREADS].into_iter().flat_map(|of| of.kinds);
    let named = kinds.map(|kind| kind.name.trim_end_matches('*')).filter(|name| deployment.thread(name).is_some());
    let named: Vec<&str> = named.collect();
    Some(if named.is_empty() {
        "Executors are real-time: the threads of DDS and Zenoh are raised above them, since no [[thread]] says otherwise.".to_owned()
    } else {
        format!(
            "Executors are real-time: the threads of DDS and Zenoh are raised above them, but for those that a [[thread]] names: {}.",
            named.join(", "),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deploy(arguments: &[&str]) -> Result<String, String> {
        let matches = command().no_binary_name(true).try_get_matches_from(arguments).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        run(&matches, &mut out).map_err(|failure| failure.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_template_passes_the_check_and_is_not_written_over() {
        let folder = std::env::temp_dir().join(format!("rospin-cli-{}-deploy", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("robot.toml");
        let file = file.to_str().unwrap();
        let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/scenarios/chain.toml");
        deploy(&["template", scenario, "--output", file]).unwrap();
        let said = deploy(&["check", file]).unwrap();
        assert!(said.contains("executors 1, groups 1, callbacks 6, chains 2"), "{said}");
        let error = deploy(&["template", scenario, "--output", file]).unwrap_err();
        assert!(error.contains("robot.toml"), "{error}");
        let error = deploy(&["check", file, file]).unwrap_err();
        assert!(error.contains(&format!("{file}, {file} do not go together: {file}: line ")), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// The system has two robots, each in a namespace, and a lidar that both share.
    #[test]
    fn names_are_compared_with_those_of_a_system_file() {
        let folder = std::env::temp_dir().join(format!("rospin-cli-{}-system", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let mut system =
            "duration = \"1 s\"\nexecutor = [{ name = \"main\" }]\ngroup = [{ name = \"steer\" }]\n".to_owned();
        for name in [
            "lidar/ping",
            "robot1/planner/steer/scan",
            "robot1/log/path",
            "robot2/planner/steer/scan",
            "robot2/log/path",
        ] {
            system += &format!(
                "[[callback]]\nname = \"{name}\"\ngroup = \"steer\"\nkind = \"subscription\"\nexecution = \"1 ms\"\n"
            );
        }
        fs::write(path("system.toml"), system).unwrap();
        let check_text = |text: &str| {
            fs::write(path("robot.toml"), text).unwrap();
            deploy(&["check", &path("robot.toml"), "--system", &path("system.toml")])
        };
        let good = "executor = [{ name = \"main\" }]
            group = [{ node = \"planner\", name = \"steer\", executor = \"main\" }]
            callback = [{ name = \"/robot2/planner/steer/scan\", priority = 9 }]
            chain = [{ name = \"c\", callbacks = [\"/lidar/ping\", \"planner/steer/scan\", \"log/path\"] }]";
        let said = check_text(good).unwrap();
        assert!(said.contains("Its names are those of"), "{said}");
        let error = check_text(
            &good.replace("log/path", "log/pth").replace("executor = [{", "executor = [{ name = \"mian\" }, {"),
        )
        .unwrap_err();
        assert!(error.contains("(did you mean `log/path`?)") && error.contains("executor `mian`"), "{error}");
        let torn = check_text(&good.replace("/lidar/ping", "lidar/ping")).unwrap_err();
        assert!(torn.contains("no namespace has all of its callbacks"), "{torn}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_threads_of_middlewares_are_told_of_where_executors_are_real_time() {
        let check_text = |text: &str| {
            let file = std::env::temp_dir().join(format!("rospin-cli-{}-middleware.toml", std::process::id()));
            fs::write(&file, text).unwrap();
            let said = deploy(&["check", file.to_str().unwrap()]).unwrap();
            fs::remove_file(file).unwrap();
            said
        };
        let urgent = "executor = [{ name = \"a\", scheduling = { fifo = 20 } }]\n";
        assert!(!check_text("executor = [{ name = \"a\" }]").contains("Zenoh"));
        assert!(check_text(urgent).contains("raised above them, since"));
        let said = check_text(&format!("{urgent}thread = [{{ name = \"tev\", scheduling = {{ nice = 0 }} }}]"));
        assert!(said.contains("names: tev"), "{said}");
    }

    #[test]
    fn mistakes_name_the_file_and_the_fix() {
        assert!(deploy(&["check", "/nowhere.toml"]).unwrap_err().contains("/nowhere.toml"));
        assert!(deploy(&["template", "/nowhere.toml"]).unwrap_err().contains("name a scenario file"));
        let file = std::env::temp_dir().join(format!("rospin-cli-{}-core.toml", std::process::id()));
        fs::write(&file, "executor = [{ name = \"a\", cores = [1000] }]").unwrap();
        let error = deploy(&["check", file.to_str().unwrap()]).unwrap_err();
        assert!(error.contains("executor `a`") && error.contains("choose from"), "{error}");
        fs::remove_file(file).unwrap();
    }
}
