//! `rospin bridge`: a running robot in Foxglove, and in everything else that speaks its WebSocket protocol.
//!
//! The protocol is spoken by the SDK of its authors, which the feature `bridge` compiles. This side of it:
//!
//! - `door` lets watchers in by the `rules`, and `watchers` bounds what waits for each.
//! - `topics`, `services`, `parameters`, `publishing` and `graph` are the robot's, and `types` their definitions;
//!   `programs` has what rospin alone knows: executors, callbacks, misses.
//! - `run` follows the graph and the watchers, and `server` receives what watchers ask for. Both run on Tokio's
//!   threads, callbacks of ROS topics on the command's executor.

#[cfg_attr(not(feature = "bridge"), allow(dead_code, reason = "without the feature, options are only parsed"))]
mod choice;
#[cfg(feature = "bridge")]
mod door;
#[cfg(feature = "bridge")]
mod graph;
#[cfg(feature = "bridge")]
mod parameters;
#[cfg(feature = "bridge")]
mod programs;
#[cfg(feature = "bridge")]
mod publishing;
#[cfg(feature = "bridge")]
mod rules;
#[cfg(feature = "bridge")]
mod run;
#[cfg(feature = "bridge")]
mod server;
#[cfg(feature = "bridge")]
mod services;
#[cfg(feature = "bridge")]
mod shared;
#[cfg(feature = "bridge")]
mod start;
#[cfg(feature = "bridge")]
mod topics;
#[cfg(feature = "bridge")]
mod types;
#[cfg(feature = "bridge")]
mod watchers;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_report::{Failure, number};

use self::choice::Choice;

pub(crate) const NAME: &str = "bridge";

/// The environment variable with the token.
const TOKEN: &str = "ROSPIN_BRIDGE_TOKEN";

/// Fewest characters of a token.
const TOKEN_MIN: usize = 8;

/// Shows a running robot in Foxglove: topics, services, parameters, executors
#[derive(Args, Debug)]
#[command(after_help = "\
Open ws://localhost:8765 in Foxglove. Watchers see all topics with their types, and the topics
/rospin/executors, callbacks, misses, queues, losses and programs of the programs on this machine.
A topic is subscribed to only while somebody watches it. Without a token, watchers change nothing:
with one, those that connect to ws://localhost:8765/?token=TOKEN, or send it in the header
`Authorization: Bearer TOKEN`, may publish, call services and set parameters.

Examples:
  rospin bridge
  rospin bridge --topic '/camera/.*' --topic /tf --exclude-topic '.*/compressed'
  ROSPIN_BRIDGE_TOKEN=only-for-us rospin bridge --address 0.0.0.0
  rospin bridge --use-sim-time --system robot.toml

Exit code: 0, 1 if nothing can listen there, 2 if an option is wrong.")]
#[cfg_attr(not(feature = "bridge"), allow(dead_code, reason = "without the feature, options are only parsed"))]
struct Options {
    /// Port for watchers; 0 is any that is free
    #[arg(long, short, value_name = "PORT", default_value = "8765")]
    port: u16,

    /// Address for watchers; 0.0.0.0 lets other computers watch
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: String,

    /// Lets those that have this token publish, call services and set parameters; the environment variable
    /// ROSPIN_BRIDGE_TOKEN does the same, and does not show it in the list of processes
    #[arg(long, value_name = "TOKEN", value_parser = parse_token)]
    token: Option<String>,

    /// Lets all programs of this computer publish, call services and set parameters, without a token
    #[arg(long)]
    allow_changes: bool,

    /// Lets web pages of this origin watch, such as https://example.org; those of Foxglove and of this computer may
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    #[command(flatten)]
    choice: Choice,

    /// Bytes of messages that may wait for a watcher; messages that find no room are lost
    #[arg(long, value_name = "BYTES", default_value = "10000000")]
    send_buffer_limit: u64,

    /// The most messages of a topic that wait for the bridge
    #[arg(long, value_name = "N", default_value = "25")]
    max_qos_depth: usize,

    /// Stamps messages with the time of the topic /clock, and tells it to watchers
    #[arg(long, short = 's')]
    use_sim_time: bool,

    /// Length of an interval in seconds, after which the topics about programs have their next messages
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = |text: &str| number::parse_seconds(text, 0.1, 3600.0))]
    interval: Duration,

    /// Shows the bounds that the analysis proves for this system file in /rospin/callbacks
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
}

/// Parses a token of an option or of the environment.
fn parse_token(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    if text.len() < TOKEN_MIN || !text.chars().all(is_plain) {
        let sentence = format!("a token has at least {TOKEN_MIN} characters: letters, digits, and -_.~");
        return Err(sentence);
    }
    Ok(text.to_owned())
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let mut options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    if options.token.is_none()
        && let Ok(token) = std::env::var(TOKEN)
    {
        let parsed = parse_token(&token).map_err(|reason| Failure::Input(format!("{TOKEN}: {reason}").into()))?;
        options.token = Some(parsed);
    }
    run_with(&options, out)
}

#[cfg(feature = "bridge")]
use self::start::run_with;

#[cfg(not(feature = "bridge"))]
fn run_with(_: &Options, _: &mut dyn Write) -> Result<(), Failure> {
    Err(Failure::Input(
        "this `rospin` was built without the bridge; build it with `cargo install rospin-cli --features bridge,dds`, \
         or `bridge,zenoh`"
            .into(),
    ))
}

#[cfg(test)]
mod option_tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_fit_into_addresses() {
        assert!(parse_token("abcdefg1").is_ok());
        for wrong in ["", "short", "with space1", "abcdefg&h"] {
            assert!(parse_token(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_have_the_names_of_foxglove_bridge() {
        let arguments = [
            "bridge",
            "--port",
            "0",
            "--address",
            "0.0.0.0",
            "--topic-whitelist",
            "/tf",
            "--service-whitelist",
            "/.*",
            "--param-whitelist",
            "/a.*",
            "--client-topic-whitelist",
            "/cmd_vel",
            "--send-buffer-limit",
            "5",
            "--max-qos-depth",
            "3",
            "--use-sim-time",
            "--include-hidden",
        ];
        let matches = command().try_get_matches_from(arguments).unwrap();
        let options = Options::from_arg_matches(&matches).unwrap();
        assert_eq!((options.send_buffer_limit, options.max_qos_depth, options.use_sim_time), (5, 3, true));
        assert!(options.choice.takes_topic("/tf") && !options.choice.takes_topic("/tf_static"));
        assert!(options.choice.takes_published("/cmd_vel") && !options.choice.takes_published("/cmd"));
        assert!(command().try_get_matches_from(["bridge", "--topic", "("]).is_err());
    }

    #[cfg(not(feature = "bridge"))]
    #[test]
    fn without_the_feature_the_command_says_how_to_get_it() {
        let matches = command().try_get_matches_from(["bridge"]).unwrap();
        let failure = run(&matches, &mut Vec::new()).unwrap_err();
        assert!(failure.to_string().contains("--features bridge,dds"), "{failure}");
    }
}
