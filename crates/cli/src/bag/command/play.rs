//! `rospin bag play`.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rospin::Middlewares;
use rospin::time::ClockKind;
use rospin_report::{Failure, number};

use super::{counted, keyboard, overrides, places, to_stderr};
use crate::bag::choice::Choice;
use crate::bag::play::{Control, PlayOptions, Player};
use crate::bag::read::Bag;
use crate::bag::record::Tell;
use crate::ros::{Discovery, Session};

/// Time for which publishers stay after their last messages, which may have to be sent again.
const LINGER: Duration = Duration::from_millis(500);

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
#[command(after_help = "\
The space bar pauses, and goes on. Topics are published with the quality of service with which
they were recorded. Messages that latched topics had sent before the start come first. Ctrl-C
ends it.

Examples:
  rospin bag play drive --clock
  rospin bag play drive --start-offset 30 --rate 0.5 --loop
  rospin bag play drive --topics /scan /tf --remap /scan:=/scan_recorded

Exit code: 0, 1 if a part of the bag is damaged, 2 if an option is wrong or there is no bag.")]
pub(super) struct Options {
    /// Folder of the bag, or a file of one
    #[arg(value_name = "BAG")]
    bag: PathBuf,

    /// Plays so many seconds of the bag in a second
    #[arg(long, short, value_name = "RATE", default_value = "1", value_parser = |text: &str| number::parse(text, "", 1e-3, 1e6))]
    rate: f64,

    #[command(flatten)]
    choice: Choice,

    /// Begins so many seconds into the bag
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = |text: &str| number::parse_seconds(text, 0.0, 1e9))]
    start_offset: Duration,

    /// Ends after so many seconds of the bag
    #[arg(long, value_name = "SECONDS", value_parser = limit, allow_negative_numbers = true)]
    playback_duration: Option<Limit>,

    /// Ends at that time of the bag, in seconds since 1970
    #[arg(long, value_name = "SECONDS", value_parser = limit, allow_negative_numbers = true)]
    playback_until_sec: Option<Limit>,

    /// Begins again at the end
    #[arg(long = "loop", short = 'l')]
    is_loop: bool,

    /// Publishes the bag's time on /clock, so often in a second
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "40", value_parser = |text: &str| number::parse(text, "Hz", 1e-3, 1e4))]
    clock: Option<f64>,

    /// Waits so many seconds before each beginning
    #[arg(long, short, value_name = "SECONDS", default_value = "0", value_parser = |text: &str| number::parse_seconds(text, 0.0, 1e9))]
    delay: Duration,

    /// Gives topics other names
    #[arg(long, short = 'm', value_name = "OLD:=NEW", num_args = 1.., value_parser = remap)]
    remap: Vec<(String, String)>,

    /// Begins with a pause
    #[arg(long, short = 'p')]
    start_paused: bool,

    /// YAML file with the quality of service with which topics are published
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,

    /// Does not read the keyboard
    #[arg(long, conflicts_with = "start_paused")]
    disable_keyboard_controls: bool,

    /// Does nothing: as much is read ahead as is needed. `ros2` has it
    #[arg(long, value_name = "MESSAGES", hide = true)]
    read_ahead_queue_size: Option<u64>,

    /// Does nothing: messages are never borrowed from the middleware. `ros2` has it
    #[arg(long, hide = true)]
    disable_loan_message: bool,

    /// Does nothing: what is told is told. `ros2` has it
    #[arg(long, value_name = "LEVEL", hide = true)]
    log_level: Option<String>,

    /// Does nothing: there is no bar. `ros2` has it
    #[arg(long, value_name = "HZ", hide = true, allow_negative_numbers = true)]
    progress_bar: Option<f64>,

    /// Does nothing: files say what they are. `ros2` has it
    #[arg(long, short, value_name = "ID", hide = true)]
    storage: Option<String>,
}

/// A time; `None` without a limit.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<Duration>);

/// Reads a limit in seconds. As for `ros2`, a negative number means no limit.
fn limit(text: &str) -> Result<Limit, String> {
    if text.parse::<f64>().is_ok_and(|seconds| seconds < 0.0) {
        return Ok(Limit(None));
    }
    number::parse_seconds(text, 0.0, 1e10).map(|limit| Limit(Some(limit)))
}

/// Reads a rule such as `/old:=/new`.
fn remap(text: &str) -> Result<(String, String), String> {
    let absolute = |name: &str| format!("/{}", name.trim_start_matches('/'));
    match text.split_once(":=") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((absolute(from), absolute(to))),
        _ => Err("it should look like `/old:=/new`".to_owned()),
    }
}

impl Options {
    fn to_play(&self) -> Result<PlayOptions, Failure> {
        Ok(PlayOptions {
            choice: self.choice.clone(),
            rate: self.rate,
            start_offset: self.start_offset,
            duration: self.playback_duration.and_then(|limit| limit.0),
            until: self.playback_until_sec.and_then(|limit| limit.0),
            is_loop: self.is_loop,
            clock_hz: self.clock,
            delay: self.delay,
            remaps: self.remap.iter().cloned().collect::<BTreeMap<_, _>>(),
            overrides: overrides(self.qos_profile_overrides_path.as_deref())?,
            places: places(),
            needs_hash: false,
        })
    }
}

/// Reasons for which a bag was not played as a whole.
#[derive(Debug, thiserror::Error)]
enum PlayFailure {
    #[error("--start-paused: the keyboard goes on, and standard input is no terminal")]
    NoKeyboard,
    #[error("a part of the bag could not be read")]
    Damaged,
    #[error("no topic of the bag is played")]
    Nothing,
}

pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    if options.start_paused && !std::io::stdin().is_terminal() {
        return Err(Failure::input(PlayFailure::NoKeyboard));
    }
    let bag = Bag::open(&options.bag).map_err(Failure::input)?;
    let mut play = options.to_play()?;
    let session = Session::join_as(&Discovery::default(), Some("rosbag2_player"))?;
    play.needs_hash = Middlewares::from_env().map_err(Failure::input)? == Middlewares::Zenoh;
    if play.needs_hash && bag.metadata.topics.iter().any(|topic| topic.hash.is_empty()) {
        // Subscriptions may tell the hashes.
        session.discover()?;
    }
    let control = Arc::new(Control::new(options.start_paused));
    let _keys = if options.disable_keyboard_controls { None } else { keyboard::listen(&control) };
    play_bag(&session, &bag, &play, &control, to_stderr(), LINGER, out)
}

/// Plays a bag to its end, or until the user interrupts.
fn play_bag(
    session: &Session,
    bag: &Bag,
    options: &PlayOptions,
    control: &Control,
    tell: Tell,
    linger: Duration,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for damage in &bag.damages {
        tell(damage);
    }
    let executor = session.ros().executor().handle();
    let created = Player::new(session.node(), &executor, bag, options, control, Arc::clone(&tell));
    let mut player = created.map_err(Failure::input)?;
    if player.is_empty() {
        return Err(Failure::input(PlayFailure::Nothing));
    }
    let is_whole = session.wait(player.run())?.is_some();
    if is_whole {
        session.wait(executor.sleep(ClockKind::Steady, linger))?;
    }
    let summary = player.summary();
    let topics = summary.counts.values().filter(|count| **count > 0).count() as u64;
    let messages = counted(summary.counts.values().sum(), "message");
    writeln!(out, "Played {messages} of {}", counted(topics, "topic"))?;
    for (topic, count) in &summary.lost {
        writeln!(out, "Lost: {} of {topic}", counted(*count, "message"))?;
    }
    if summary.is_damaged || !bag.damages.is_empty() {
        return Err(Failure::run(PlayFailure::Damaged));
    }
    Ok(())
}

#[cfg(test)]
pub(in crate::bag) mod testing {
    use clap::FromArgMatches;

    use super::*;

    /// Plays a bag with the options of a command line. Returns what is printed.
    pub(in crate::bag) fn play(session: &Session, arguments: &[&str]) -> Result<String, String> {
        let command = Options::augment_args(clap::Command::new("play"));
        let matches = crate::ros::testing::parse(command, &[&["play"], arguments].concat());
        let options = Options::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        let play = options.to_play().map_err(|error| error.to_string())?;
        let bag = Bag::open(&options.bag).map_err(|error| error.to_string())?;
        let control = Control::new(false);
        let tell: Tell = Arc::new(|_: &str| ());
        crate::ros::testing::written(|out| play_bag(session, &bag, &play, &control, tell, Duration::ZERO, out))
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, String> {
        let command = Options::augment_args(clap::Command::new("play"));
        let matches = command.try_get_matches_from([&["play"], arguments].concat());
        Options::from_arg_matches(&matches.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_those_of_ros2_bag_play() {
        let text = "drive -s mcap -r 2.5 --start-offset 3 -l --clock -d 1 -m /a:=/b c:=d --topics /x /y -e z -x w";
        let play = options(&text.split(' ').collect::<Vec<_>>()).unwrap().to_play().unwrap();
        assert_eq!((play.rate, play.is_loop, play.clock_hz), (2.5, true, Some(40.0)));
        assert_eq!((play.start_offset, play.delay), (Duration::from_secs(3), Duration::from_secs(1)));
        assert_eq!((play.remaps["/a"].as_str(), play.remaps["/c"].as_str()), ("/b", "/d"));
        assert_eq!(play.choice.topics, ["/x", "/y"]);
        assert_eq!(options(&["drive", "--clock", "100"]).unwrap().clock, Some(100.0));
        assert_eq!(options(&["drive"]).unwrap().clock, None);
        let limits = options(&["drive", "--playback-duration", "-1", "--playback-until-sec", "1700000000.5"]).unwrap();
        let limits = limits.to_play().unwrap();
        assert_eq!((limits.duration, limits.until), (None, Some(Duration::from_millis(1_700_000_000_500))));
    }

    #[test]
    fn absurd_options_are_refused() {
        for text in [
            "drive -r 0",
            "drive -r nan",
            "drive -r -1",
            "drive -r 1e30",
            "drive --clock 0",
            "drive -m /a",
            "drive -m :=/b",
        ] {
            assert!(options(&text.split(' ').collect::<Vec<_>>()).is_err(), "{text}");
        }
        assert!(options(&["drive", "--start-offset", "-3"]).is_err() && options(&[]).is_err());
    }
}
