//! `rospin interface`: definitions of messages, services and actions, installed or carried along.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin::dynamic::{DynamicMessage, YamlFormat};
use rospin_codegen::Definitions;
use rospin_report::Failure;

use crate::ros::types;

pub(crate) const NAME: &str = "interface";

/// Depth to which definitions are shown in each other. Those of ROS 2 nest 5 deep.
const LEVELS_MAX: usize = 32;

/// Lists and shows messages, services and actions
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 interface`. The definitions are those below AMENT_PREFIX_PATH, and those of ROS 2's own packages,
which the command carries along: ROS need not be installed, and no middleware is needed.

Examples:
  rospin interface list -m
  rospin interface show geometry_msgs/msg/Twist
  rospin topic type /scan | rospin interface show -
  rospin interface proto std_srvs/srv/SetBool

Exit code: 0, 2 if there is no such definition or an option is wrong.")]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Prints a definition, with those of the messages in it
    Show(ShowOptions),
    /// Lists all definitions
    List(Kinds),
    /// Lists the definitions of a package
    Package(PackageOptions),
    /// Lists the packages with definitions
    Packages(Kinds),
    /// Prints the fields with their defaults, as YAML
    Proto(ProtoOptions),
}

#[derive(Args, Debug)]
struct ShowOptions {
    /// Name, such as std_msgs/msg/String; - reads it from standard input
    name: String,

    /// Prints the comments of messages in it, too
    #[arg(long, conflicts_with = "no_comments")]
    all_comments: bool,

    /// Prints neither comments nor empty lines
    #[arg(long)]
    no_comments: bool,
}

#[derive(Args, Debug)]
struct Kinds {
    /// Lists only messages
    #[arg(long, short = 'm')]
    only_msgs: bool,

    /// Lists only services
    #[arg(long, short = 's')]
    only_srvs: bool,

    /// Lists only actions
    #[arg(long, short = 'a')]
    only_actions: bool,
}

#[derive(Args, Debug)]
struct PackageOptions {
    /// Package, such as std_msgs
    package: String,

    #[command(flatten)]
    kinds: Kinds,
}

#[derive(Args, Debug)]
struct ProtoOptions {
    /// Name, such as std_msgs/msg/String
    name: String,

    /// Leaves out the quotes around it
    #[arg(long)]
    no_quotes: bool,
}

impl Kinds {
    /// Returns the titles and folders of the kinds that are wanted.
    fn wanted(&self) -> Vec<(&'static str, &'static str)> {
        let all = [
            (self.only_msgs, "Messages", "msg"),
            (self.only_srvs, "Services", "srv"),
            (self.only_actions, "Actions", "action"),
        ];
        let is_any = all.iter().any(|(is_wanted, _, _)| *is_wanted);
        all.iter().filter(|(is_wanted, _, _)| *is_wanted || !is_any).map(|(_, title, kind)| (*title, *kind)).collect()
    }
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let definitions = types::definitions();
    match &options.action {
        Action::Show(show) => {
            let mut name = show.name.clone();
            if name == "-" {
                name.clear();
                std::io::stdin().lock().read_line(&mut name).map_err(Failure::input)?;
                name.truncate(name.trim_end().len());
            }
            let text = text(&definitions, &name)?;
            if let Some(page) = definitions.page(&name).map_err(Failure::input)?.filter(|_| !show.no_comments) {
                writeln!(out, "# {page} explains it.")?;
            }
            self::show(&definitions, &name, &text, show, 0, out)
        }
        Action::List(kinds) => {
            let names = names(&definitions)?;
            for (title, kind) in kinds.wanted() {
                writeln!(out, "{title}:")?;
                for name in names.iter().filter(|name| name.split('/').nth(1) == Some(kind)) {
                    writeln!(out, "    {name}")?;
                }
            }
            Ok(())
        }
        Action::Package(package) => {
            let names = names(&definitions)?;
            let kinds: Vec<&str> = package.kinds.wanted().into_iter().map(|(_, kind)| kind).collect();
            let mut parts = names.iter().map(|name| (name, name.split('/').collect::<Vec<_>>()));
            if !parts.clone().any(|(_, parts)| parts[0] == package.package) {
                let known: BTreeSet<&str> = names.iter().filter_map(|name| name.split('/').next()).collect();
                let known: Vec<&str> = known.into_iter().collect();
                let nearest = rospin_scenario::nearest(&package.package, &known);
                let nearest = nearest.map(|nearest| format!("; nearest: {nearest}")).unwrap_or_default();
                return Err(Failure::Input(format!("no package {}{nearest}", package.package).into()));
            }
            parts.try_for_each(|(name, parts)| match parts[0] == package.package && kinds.contains(&parts[1]) {
                true => writeln!(out, "{name}").map_err(Failure::from),
                false => Ok(()),
            })
        }
        Action::Packages(kinds) => {
            let kinds: Vec<&str> = kinds.wanted().into_iter().map(|(_, kind)| kind).collect();
            let mut packages = BTreeSet::new();
            for name in names(&definitions)? {
                if name.split('/').nth(1).is_some_and(|kind| kinds.contains(&kind)) {
                    packages.extend(name.split('/').next().map(str::to_owned));
                }
            }
            for package in packages {
                writeln!(out, "{package}")?;
            }
            Ok(())
        }
        Action::Proto(proto) => {
            let text = prototype(&proto.name)?;
            if proto.no_quotes {
                writeln!(out, "{text}")?
            } else {
                writeln!(out, "\"{text}\"")?
            }
            Ok(())
        }
    }
}

fn names(definitions: &Definitions) -> Result<BTreeSet<String>, Failure> {
    definitions.names().map_err(Failure::input)
}

/// Returns the text of a definition, which must exist.
fn text(definitions: &Definitions, name: &str) -> Result<String, Failure> {
    if let Some(text) = definitions.text(name).map_err(Failure::input)? {
        return Ok(text);
    }
    let names = names(definitions)?;
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    // The kind is easily left out.
    let close = ["msg", "srv", "action"].map(|kind| types::full_name(name, kind));
    let close = close.iter().find(|close| names.contains(*close)).map(String::as_str);
    let nearest = close.or_else(|| rospin_scenario::nearest(name, &known));
    let nearest = nearest.map(|nearest| format!("; nearest: {nearest}")).unwrap_or_default();
    Err(Failure::Input(format!("no interface {name}{nearest}").into()))
}

/// Prints the lines of a definition, and below a field that is a message the lines of that, indented.
fn show(
    definitions: &Definitions,
    name: &str,
    text: &str,
    options: &ShowOptions,
    level: usize,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let has_comments = if level == 0 { !options.no_comments } else { options.all_comments };
    let package = name.split('/').next().unwrap_or_default();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim_end();
        let code = line.split('#').next().unwrap_or_default().trim_end();
        let shown = if has_comments { line } else { code };
        if !shown.is_empty() {
            writeln!(out, "{}{shown}", "\t".repeat(level))?;
        } else if has_comments {
            writeln!(out)?;
        }
        if let Some(nested) = nested_type(package, code)
            && level < LEVELS_MAX
            && let Some(text) = definitions.text(&nested).map_err(Failure::input)?
        {
            show(definitions, &nested, &text, options, level + 1, out)?;
        }
    }
    Ok(())
}

/// Returns the name of the message in the field of a line; `None` if the line has no such field.
fn nested_type(package: &str, line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (of, field) = (words.next()?, words.next()?);
    let of = of.split('[').next()?;
    // Constants are no messages, and `string<=5` has a bound.
    if field.contains('=') || words.next().is_some_and(|word| word.starts_with('=')) || of.contains('<') {
        return None;
    }
    match of.split_once('/') {
        Some((package, name)) => Some(format!("{package}/msg/{name}")),
        None if of.starts_with(|c: char| c.is_ascii_uppercase()) => Some(format!("{package}/msg/{of}")),
        None => None,
    }
}

/// Returns the fields of a message, of a service's request or of an action's goal, with their defaults.
fn prototype(name: &str) -> Result<String, Failure> {
    let format = YamlFormat::new().truncate_length(None);
    let message = match name.split('/').nth(1) {
        Some("srv") => DynamicMessage::new(types::service(name)?.request()),
        Some("action") => {
            let of = types::action(name)?;
            let request = DynamicMessage::new(of.send_goal.request());
            request.get::<DynamicMessage>("goal").map_err(Failure::run)?
        }
        _ => DynamicMessage::new(&types::message(name)?),
    };
    Ok(format.text(&message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::testing::{parse, written};

    fn interface(arguments: &[&str]) -> Result<String, String> {
        let matches = parse(command(), &[&[NAME], arguments].concat());
        written(|out| run(&matches, out))
    }

    #[test]
    fn a_definition_is_shown_with_those_in_it() {
        let shown = interface(&["show", "geometry_msgs/msg/Twist"]).unwrap();
        let lines: Vec<_> = shown.lines().collect();
        let page = "# https://docs.ros.org/en/jazzy/p/geometry_msgs/msg/Twist.html explains it.";
        let vector = ["\tfloat64 x", "\tfloat64 y", "\tfloat64 z"];
        assert_eq!(lines, [&[page, "Vector3 linear"][..], &vector, &["Vector3 angular"], &vector].concat());
        let bare = interface(&["show", "--no-comments", "std_srvs/srv/SetBool"]).unwrap();
        assert_eq!(bare, "bool data\n---\nbool success\nstring message\n");
    }

    #[test]
    fn comments_are_shown_as_asked() {
        let carried =
            &[("a_msgs/msg/At", "# Where.\nPoint at  # in the map\n"), ("a_msgs/msg/Point", "# Flat.\nint8 x\n")];
        let definitions = Definitions::new().carried(carried).prefixes([]);
        let shown = |arguments: &[&str]| {
            let matches = ShowOptions::augment_args(Command::new("show")).get_matches_from(arguments);
            let options = ShowOptions::from_arg_matches(&matches).unwrap();
            written(|out| show(&definitions, &options.name, carried[0].1, &options, 0, out)).unwrap()
        };
        let name = "a_msgs/msg/At";
        assert_eq!(shown(&["show", name]), "# Where.\nPoint at  # in the map\n\tint8 x\n");
        let all = shown(&["show", "--all-comments", name]);
        assert_eq!(all, "# Where.\nPoint at  # in the map\n\t# Flat.\n\tint8 x\n");
        assert_eq!(shown(&["show", "--no-comments", name]), "Point at\n\tint8 x\n");
    }

    #[test]
    fn a_missing_definition_is_told_with_the_nearest() {
        let error = interface(&["show", "std_msgs/String"]).unwrap_err();
        assert_eq!(error, "no interface std_msgs/String; nearest: std_msgs/msg/String");
        assert_eq!(interface(&["package", "std_msg"]).unwrap_err(), "no package std_msg; nearest: std_msgs");
    }

    #[test]
    fn definitions_are_listed_by_kind() {
        let list = interface(&["list"]).unwrap();
        assert!(list.starts_with("Messages:\n") && list.contains("\nActions:\n"), "{list}");
        assert!(list.contains("    std_msgs/msg/String\n"), "{list}");
        let services = interface(&["list", "-s"]).unwrap();
        assert!(services.starts_with("Services:\n") && !services.contains("/msg/"), "{services}");
        assert_eq!(
            interface(&["package", "std_srvs"]).unwrap(),
            "std_srvs/srv/Empty\nstd_srvs/srv/SetBool\nstd_srvs/srv/Trigger\n"
        );
        assert!(interface(&["packages", "-a"]).unwrap().contains("example_interfaces\n"));
    }

    #[test]
    fn a_prototype_has_the_defaults() {
        assert_eq!(interface(&["proto", "std_msgs/msg/String"]).unwrap(), "\"data: ''\"\n");
        let goal = interface(&["proto", "--no-quotes", "example_interfaces/action/Fibonacci"]).unwrap();
        assert_eq!(goal, "order: 0\n");
        assert_eq!(interface(&["proto", "--no-quotes", "std_srvs/srv/SetBool"]).unwrap(), "data: false\n");
    }
}
