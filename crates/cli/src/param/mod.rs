//! `rospin param`: the parameters of a running robot.

mod dump;
mod remote;
mod text;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use regex::Regex;
use rospin::NodeOptions;
use rospin::parameters::{ParameterFile, ParameterValue};
use rospin_report::{Failure, number};

use self::remote::Remote;
use crate::ros::{Discovery, Session, find_node};

pub(crate) const NAME: &str = "param";

/// Longest time that somebody waits for the names of parameters while typing.
const COMPLETION: Duration = Duration::from_secs(1);

/// Lists, reads and sets the parameters of a running robot
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 param`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin param list                          of all nodes
  rospin param get /arm gain
  rospin param set /arm gain 2               an integer is a number with a fraction where the parameter is one
  rospin param dump /arm > arm.yaml
  rospin param load /arm arm.yaml

Exit code: 0, 1 if there is no such node or parameter or a value is refused, 2 if an option or a file is wrong.")]
struct Options {
    /// Counts nodes that begin with an underscore, too
    #[arg(long, global = true)]
    include_hidden_nodes: bool,

    /// Waits for answers of a node for at most so many seconds
    #[arg(long, global = true, value_name = "SECONDS", default_value = "5", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Duration,

    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the parameters of a node, or of all
    List(ListOptions),
    /// Prints the value of a parameter
    Get(GetOptions),
    /// Sets a parameter
    Set(SetOptions),
    /// Removes a parameter
    Delete(NameOptions),
    /// Prints descriptions of parameters: type, range, flags
    Describe(DescribeOptions),
    /// Prints all parameters of a node as a parameter file
    Dump(DumpOptions),
    /// Sets the parameters that a parameter file has for a node
    Load(LoadOptions),
}

#[derive(Args, Debug)]
struct ListOptions {
    /// Node, such as /arm
    node: Option<String>,

    /// Lists only parameters below these names
    #[arg(long, value_name = "PREFIX", num_args = 1..)]
    param_prefixes: Vec<String>,

    /// Lists only parameters whose names match this regular expression from their beginning on
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,

    /// Prints the types, too
    #[arg(long)]
    param_type: bool,
}

#[derive(Args, Debug)]
struct GetOptions {
    /// Node, such as /arm
    node: String,

    /// Parameter, such as gain
    parameter: String,

    /// Prints only the value
    #[arg(long)]
    hide_type: bool,
}

#[derive(Args, Debug)]
struct NameOptions {
    /// Node, such as /arm
    node: String,

    /// Parameter, such as gain
    parameter: String,
}

#[derive(Args, Debug)]
struct SetOptions {
    /// Node, such as /arm
    node: String,

    /// Parameter, such as gain
    parameter: String,

    /// Value in YAML, such as true, 2.5, hello or '[1, 2]'
    #[arg(allow_hyphen_values = true)]
    value: String,
}

#[derive(Args, Debug)]
struct DescribeOptions {
    /// Node, such as /arm
    node: String,

    /// Parameters, such as gain
    #[arg(required = true)]
    parameters: Vec<String>,
}

#[derive(Args, Debug)]
struct DumpOptions {
    /// Node, such as /arm
    node: String,
}

#[derive(Args, Debug)]
struct LoadOptions {
    /// Node, such as /arm
    node: String,

    /// Parameter file in YAML
    file: PathBuf,

    /// Leaves out what the file has for all nodes
    #[arg(long)]
    no_use_wildcard: bool,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    run_with(&Session::join(&options.discovery)?, &options, out)
}

fn run_with(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let find = |node: &str| -> Result<Remote<'_>, Failure> {
        Ok(Remote { session, node: find_node(session, node)?, limit: options.timeout })
    };
    match &options.action {
        Action::List(list) => self::list(session, list, options, out),
        Action::Get(get) => self::get(&find(&get.node)?, get, out),
        Action::Set(set) => self::set(&find(&set.node)?, set, out),
        Action::Delete(of) => self::delete(&find(&of.node)?, &of.parameter, out),
        Action::Describe(describe) => self::describe(&find(&describe.node)?, &describe.parameters, out),
        Action::Dump(dump) => dump::run(&find(&dump.node)?, out),
        Action::Load(load) => self::load(&find(&load.node)?, load, out),
    }
}

fn list(session: &Session, list: &ListOptions, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let mut nodes = Vec::new();
    if let Some(node) = &list.node {
        nodes.push(find_node(session, node)?);
    } else {
        session.discover()?;
        let services = session.node().service_names_and_types();
        let own = session.node().fully_qualified_name();
        nodes.extend(session.node().node_names());
        nodes.retain(|node| *node != own && services.contains_key(&format!("{node}/list_parameters")));
        nodes.retain(|node| options.include_hidden_nodes || !crate::ros::is_hidden(node));
    }
    let prefixes: Vec<&str> = list.param_prefixes.iter().map(String::as_str).collect();
    for node in nodes {
        let remote = Remote { session, node, limit: options.timeout };
        let mut names = match remote.list(&prefixes) {
            Ok(names) => names,
            // One node that does not answer must not keep the others from being listed.
            Err(error) if list.node.is_none() => {
                writeln!(std::io::stderr(), "warning: {error}")?;
                continue;
            }
            Err(error) => return Err(error),
        };
        names.sort();
        if let Some(filter) = &list.filter {
            names.retain(|name| filter.find(name).is_some_and(|found| found.start() == 0));
        }
        if list.node.is_none() && !names.is_empty() {
            writeln!(out, "{}:", remote.node)?;
        }
        let types = if list.param_type { Some(remote.describe(&names)?) } else { None };
        for (at, name) in names.iter().enumerate() {
            match types.as_ref().and_then(|types| types.get(at)) {
                Some(descriptor) => writeln!(out, "  {name} (type: {})", text::type_name(descriptor.r#type))?,
                None => writeln!(out, "  {name}")?,
            }
        }
    }
    Ok(())
}

/// Returns the names of a node's parameters.
pub(crate) fn names(session: &Session, node: &str) -> Result<BTreeSet<String>, Failure> {
    let remote = Remote { session, node: find_node(session, node)?, limit: COMPLETION };
    Ok(remote.list(&[])?.into_iter().collect())
}

fn get(remote: &Remote<'_>, options: &GetOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let value = remote.value(&options.parameter)?;
    let (label, shown) = text::labelled(&value);
    match (options.hide_type, shown) {
        (true, shown) => writeln!(out, "{}", shown.unwrap_or_else(|| "None".to_owned()))?,
        (false, Some(shown)) => writeln!(out, "{label} {shown}")?,
        (false, None) => writeln!(out, "{label}")?,
    }
    Ok(())
}

fn set(remote: &Remote<'_>, options: &SetOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let kind = remote.kind(&options.parameter)?;
    let value = ParameterValue::from_yaml(&options.value, kind);
    match remote.set(&options.parameter, value)? {
        Ok(()) => writeln!(out, "Set parameter successful")?,
        Err(reason) => return Err(Failure::Run(failed("Setting parameter failed", &reason).into())),
    }
    Ok(())
}

fn delete(remote: &Remote<'_>, parameter: &str, out: &mut dyn Write) -> Result<(), Failure> {
    // A name that is wrong is told with the nearest.
    remote.value(parameter)?;
    match remote.set(parameter, ParameterValue::NotSet)? {
        Ok(()) => writeln!(out, "Deleted parameter successfully")?,
        Err(reason) => return Err(Failure::Run(failed("Deleting parameter failed", &reason).into())),
    }
    Ok(())
}

fn failed(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}

fn describe(remote: &Remote<'_>, parameters: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    let known = remote.list(&[])?;
    for parameter in parameters {
        if !known.contains(parameter) {
            return Err(remote.missing(parameter, &known));
        }
    }
    for descriptor in remote.describe(parameters)? {
        write!(out, "{}", text::description(&descriptor))?;
    }
    Ok(())
}

fn load(remote: &Remote<'_>, options: &LoadOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let file = ParameterFile::load(&options.file).map_err(Failure::input)?;
    let (namespace, name) = remote.node.rsplit_once('/').unwrap_or(("", &remote.node));
    let node = NodeOptions::new(name).namespace(if namespace.is_empty() { "/" } else { namespace });
    let node = remote.session.ros().name_of_node(node.use_global_arguments(false)).map_err(Failure::input)?;
    let declared = remote.list(&[])?;
    let values = remote.values(&declared)?;
    let current = |wanted: &str| values.get(declared.iter().position(|name| name == wanted)?);
    let kind = |wanted: &str| current(wanted).and_then(ParameterValue::kind);
    let file = if options.no_use_wildcard { file.without_wildcards() } else { file };
    let settings = file.settings(&node, kind);
    let settings = settings.map_err(Failure::input)?;
    if settings.is_empty() {
        let sentence = format!("{} has no parameters for node {}", options.file.display(), remote.node);
        return Err(Failure::Input(sentence.into()));
    }
    let mut refused = 0;
    for (name, value) in settings {
        // So a node takes what it has dumped, although some of it is read-only.
        if current(&name) == Some(&value) {
            continue;
        }
        match remote.set(&name, value)? {
            Ok(()) => writeln!(out, "Set parameter {name} successful")?,
            Err(reason) => {
                refused += 1;
                writeln!(out, "{}", failed(&format!("Set parameter {name} failed"), &reason))?;
            }
        }
    }
    match refused {
        0 => Ok(()),
        count => Err(Failure::Run(format!("node {} refused {count} parameters", remote.node).into())),
    }
}

#[cfg(test)]
mod tests;
