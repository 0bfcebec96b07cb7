//! `rospin complete`: the names that a shell offers while somebody types, from the graph of the running robot.
//!
//! The script of `rospin completions` calls it with the words before the one that is typed. It is silent where there is
//! nothing to offer, and never fails: a shell has no place for an error.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_report::Failure;

use crate::ros::{Discovery, Session, ends, is_hidden, types};

pub(crate) const NAME: &str = "complete";

/// Prints the names of the running robot that may follow these words
#[derive(Args, Clone, Debug)]
struct Options {
    /// Words of the command line before the one that is typed, without `rospin`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).hide(true)
}

/// The kind of word that completes the line.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Wanted {
    Topics,
    Nodes,
    Services,
    Actions,
    /// Parameters of this node.
    Parameters(String),
    /// Types of this topic, service or action.
    TypesOf(Kind, String),
    /// Types of this kind that are known here.
    Types(Kind),
    /// Transitions that a managed node has.
    Transitions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Message,
    Service,
    Action,
    Any,
}

/// Transitions that people set.
const TRANSITIONS: [&str; 5] = ["configure", "activate", "deactivate", "cleanup", "shutdown"];

/// Returns what may follow these words; `None` if it is nothing of a robot.
fn wanted(words: &[String]) -> Option<Wanted> {
    let (command, rest) = words.split_first()?;
    // An option's value cannot be told from a name here, except where it has no value.
    let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let (verb, names) = rest.split_first()?;
    let name = names.last().map(|name| (*name).to_owned());
    Some(match (command.as_str(), *verb, names.len()) {
        ("topic", "hz", _) | ("bag", "record", _) => Wanted::Topics,
        ("topic", "echo" | "info" | "bw" | "delay" | "type" | "pub", 0) => Wanted::Topics,
        ("topic", "echo" | "pub", 1) => Wanted::TypesOf(Kind::Message, name?),
        ("topic", "find", 0) => Wanted::Types(Kind::Message),
        ("node", "info", 0) => Wanted::Nodes,
        ("service", "info" | "type" | "call" | "echo", 0) => Wanted::Services,
        ("service", "call" | "echo", 1) => Wanted::TypesOf(Kind::Service, name?),
        ("service", "find", 0) => Wanted::Types(Kind::Service),
        ("action", "info" | "type" | "send_goal" | "send", 0) => Wanted::Actions,
        ("action", "send_goal" | "send", 1) => Wanted::TypesOf(Kind::Action, name?),
        ("action", "find", 0) => Wanted::Types(Kind::Action),
        ("param", "list" | "get" | "set" | "delete" | "describe" | "dump" | "load", 0) => Wanted::Nodes,
        ("param", "get" | "set" | "delete", 1) => Wanted::Parameters(name?),
        ("param", "describe", 1..) => Wanted::Parameters(names[0].to_owned()),
        ("lifecycle", "get" | "set" | "list", 0) => Wanted::Nodes,
        ("lifecycle", "set", 1) => Wanted::Transitions,
        ("interface", "show" | "proto", 0) => Wanted::Types(Kind::Any),
        _ => return None,
    })
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let mut words = Vec::new();
    for word in options.words {
        let Ok(word) = word.into_string() else { return Ok(()) };
        words.push(word);
    }
    let Some(wanted) = wanted(&words) else { return Ok(()) };
    let names = match &wanted {
        Wanted::Types(kind) => known_types(*kind),
        Wanted::Transitions => TRANSITIONS.map(str::to_owned).into(),
        of_robot => {
            // Without a network there is nothing to offer.
            let Ok(session) = Session::join(&Discovery::default()) else { return Ok(()) };
            names(&session, of_robot).unwrap_or_default()
        }
    };
    for name in names {
        writeln!(out, "{name}")?;
    }
    Ok(())
}

/// Returns the types of that kind that are known here.
fn known_types(kind: Kind) -> BTreeSet<String> {
    let part = match kind {
        Kind::Message => "/msg/",
        Kind::Service => "/srv/",
        Kind::Action => "/action/",
        Kind::Any => "/",
    };
    let mut names: BTreeSet<String> = types::definitions().names().unwrap_or_default().into_iter().collect();
    names.retain(|name| name.contains(part));
    names
}

/// Returns the names of the robot.
fn names(session: &Session, wanted: &Wanted) -> Result<BTreeSet<String>, Failure> {
    let node = session.node();
    if let Wanted::Parameters(of) = wanted {
        return crate::param::names(session, of);
    }
    session.discover()?;
    let mut names: BTreeSet<String> = match wanted {
        Wanted::Topics => node.topic_names_and_types().into_keys().collect(),
        Wanted::Services => node.service_names_and_types().into_keys().collect(),
        Wanted::Actions => ends::actions(&node.topic_names_and_types()).into_keys().collect(),
        Wanted::Nodes => node.node_names().into_iter().collect(),
        Wanted::TypesOf(kind, of) => {
            let all = match kind {
                Kind::Service => node.service_names_and_types(),
                Kind::Action => ends::actions(&node.topic_names_and_types()),
                Kind::Message | Kind::Any => node.topic_names_and_types(),
            };
            let of = if of.starts_with('/') { of.clone() } else { format!("/{of}") };
            match all.get(&of) {
                Some(types) => types.clone(),
                None => known_types(*kind),
            }
        }
        Wanted::Parameters(_) | Wanted::Types(_) | Wanted::Transitions => BTreeSet::new(),
    };
    if !matches!(wanted, Wanted::TypesOf(..)) {
        names.retain(|name| !is_hidden(name));
    }
    Ok(names)
}

/// Returns what a shell's script needs to offer names of the robot, too, behind the script of all commands and options;
/// `None` if that is not known for the shell.
pub(crate) fn script(shell: clap_complete::Shell) -> Option<&'static str> {
    match shell {
        clap_complete::Shell::Bash => Some(BASH),
        clap_complete::Shell::Zsh => Some(ZSH),
        clap_complete::Shell::Fish => Some(FISH),
        _ => None,
    }
}

/// Names that begin as the word does. Bash breaks words at colons, which such names do not have.
const BASH: &str = r#"
# Names of the running robot, where a word is no option.
_rospin_names() {
    _rospin "$@"
    [[ $2 == -* ]] && return
    local -a names
    mapfile -t names < <(rospin complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    [[ ${#names[@]} -eq 0 ]] && return
    mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$2")
}
complete -F _rospin_names -o nosort -o bashdefault -o default rospin
"#;

const ZSH: &str = r#"
# Names of the running robot, where a word is no option.
_rospin_names() {
    local -a names
    if [[ $words[CURRENT] != -* ]]; then
        names=("${(@f)$(rospin complete -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
        names=(${names:#})
        if (( $#names )); then
            compadd -a names
            return
        fi
    fi
    _rospin "$@"
}
compdef _rospin_names rospin
"#;

const FISH: &str = r#"
# Names of the running robot, where a word is no option.
function __rospin_names
    rospin complete -- (commandline -opc)[2..] 2>/dev/null
end
complete -c rospin -f -n 'not string match -q -- "-*" (commandline -ct)' -a '(__rospin_names)'
"#;

#[cfg(test)]
mod tests {
    use rospin::ParameterOptions;
    use rospin::msgs::std_msgs::msg::String as Text;

    use super::*;
    use crate::ros::testing::Robot;

    fn wanted_by(line: &str) -> Option<Wanted> {
        wanted(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_say_what_may_follow() {
        for (line, expected) in [
            ("topic echo", Some(Wanted::Topics)),
            ("topic echo --once", Some(Wanted::Topics)),
            ("topic echo /a", Some(Wanted::TypesOf(Kind::Message, "/a".to_owned()))),
            ("topic hz /a /b", Some(Wanted::Topics)),
            ("topic list", None),
            ("node info", Some(Wanted::Nodes)),
            ("param get /arm", Some(Wanted::Parameters("/arm".to_owned()))),
            ("param describe /arm gain", Some(Wanted::Parameters("/arm".to_owned()))),
            ("param get /arm gain", None),
            ("service call /set", Some(Wanted::TypesOf(Kind::Service, "/set".to_owned()))),
            ("action send_goal", Some(Wanted::Actions)),
            ("lifecycle set /camera", Some(Wanted::Transitions)),
            ("interface show", Some(Wanted::Types(Kind::Any))),
            ("topic", None),
            ("", None),
            ("simulate", None),
        ] {
            assert_eq!(wanted_by(line), expected, "{line}");
        }
    }

    #[test]
    fn names_are_those_of_the_graph() {
        let robot = Robot::new();
        let node = robot.node("arm");
        let _chatter = node.create_publisher::<Text>("chatter").unwrap();
        let _hidden = node.create_publisher::<Text>("_hidden").unwrap();
        let _gain = node.declare_parameter::<f64>("gain", ParameterOptions::new().default_value(1.0)).unwrap();
        let offered = |line: &str| names(&robot.session, &wanted_by(line).unwrap()).unwrap();
        let topics = offered("topic echo");
        assert!(topics.contains("/chatter") && !topics.contains("/_hidden"), "{topics:?}");
        assert_eq!(offered("topic echo chatter"), BTreeSet::from(["std_msgs/msg/String".to_owned()]));
        assert_eq!(offered("node info"), BTreeSet::from(["/arm".to_owned()]));
        assert!(offered("param get /arm").contains("gain"));
        assert!(offered("topic pub /new").contains("geometry_msgs/msg/Twist"));
        assert!(offered("service call").contains("/arm/list_parameters"));
    }
}
