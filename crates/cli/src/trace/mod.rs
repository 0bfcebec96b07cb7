//! `rospin trace`: records programs, says what their recordings mean, and converts them.

mod attach;
mod choice;
mod convert;
mod facts;
mod html;
mod lttng;
mod model;
mod record;
mod report;
mod violations;

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin_report::Failure;
use rospin_trace::Recording;

pub(crate) const NAME: &str = "trace";

/// Records what the executors of a program do, and says which callbacks waited, for whom, and what was lost
#[derive(Args, Debug)]
#[command(after_help = "\
A recording is an MCAP file: Foxglove opens it as it is. A program that calls rospin::init, or Recorder::start, can be recorded;
in its environment, ROSPIN_TRACE names the file. Nothing is compiled anew.

Examples:
  rospin trace record my_robot
  rospin trace record --flight 10 my_robot       the last ten seconds before each missed deadline or loss
  rospin trace record --max-size 100 --keep 50 my_robot    the last 5 GB, in files of 100 MiB
  rospin trace record --pid 4711 --seconds 10    a program that runs already, for ten seconds
  rospin trace report trace-1
  rospin trace report trace-1 --html report.html
  rospin trace report trace-1 --from 12 --to 14 --only planner    two seconds of one node
  rospin trace model trace-1 -o system.toml      for rospin analyze and rospin simulate
  rospin trace model lttng-session -o system.toml   nodes of rclcpp that ros2_tracing recorded
  rospin trace convert trace-1 --to perfetto     for https://ui.perfetto.dev")]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Records a program: one that it runs, or one that runs already
    Record(record::Options),
    /// Says what happened: times by callback and chain, what activations waited for, losses, and the worst activations
    Report(report::Options),
    /// Writes the system file of what was recorded: executors, callbacks with measured times, messages, chains
    Model(model::Options),
    /// Writes a recording in another format
    Convert(convert::Options),
}

/// Recordings that a command reads.
#[derive(Args, Debug)]
struct Files {
    /// Recordings, or folders of them: those of programs that ran at the same time are put together. Also traces of
    /// ros2_tracing: the folder of an LTTng session, or the text of `babeltrace2 --clock-seconds` as a file or, with -,
    /// from stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Files {
    /// Returns the recordings, and a line for each place that is damaged in them.
    fn open(&self) -> Result<(Vec<Recording>, Vec<String>), Failure> {
        let mut recordings = Vec::new();
        for file in &self.files {
            match lttng::open(file)? {
                Some(read) => recordings.extend(read),
                None => recordings.extend(Recording::open(file).map_err(Failure::input)?),
            }
        }
        let faults = faults(&recordings);
        Ok((recordings, faults))
    }
}

/// Returns the recordings in files and folders, and a line for each place that is damaged in them.
pub(crate) fn open(files: &[PathBuf]) -> Result<(Vec<Recording>, Vec<String>), Failure> {
    let mut recordings = Vec::new();
    for file in files {
        recordings.extend(Recording::open(file).map_err(Failure::input)?);
    }
    let faults = faults(&recordings);
    Ok((recordings, faults))
}

/// Returns a line for each damaged place of the recordings.
fn faults(recordings: &[Recording]) -> Vec<String> {
    let lines = |recording: &Recording| {
        let name = recording.path.display().to_string();
        recording.faults.iter().map(move |fault| format!("{name}: {fault}")).collect::<Vec<_>>()
    };
    recordings.iter().flat_map(lines).collect()
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    match Options::from_arg_matches(matches).map_err(Failure::input)?.action {
        Action::Record(options) => record::run(&options, out),
        Action::Report(options) => report::run(&options, out),
        Action::Model(options) => model::run(&options, out),
        Action::Convert(options) => convert::run(&options, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/golden.mcap");

    fn trace(arguments: &[&str]) -> Result<String, String> {
        let matches = command().no_binary_name(true).try_get_matches_from(arguments).map_err(|e| e.to_string())?;
        let mut out = Vec::new();
        run(&matches, &mut out).map_err(|failure| failure.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn temporary(name: &str) -> String {
        let path = std::env::temp_dir().join(format!("rospin-cli-{}-{name}", std::process::id()));
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_report_has_callbacks_chains_losses_and_pictures() {
        let page = temporary("trace.html");
        let said = trace(&["report", GOLDEN, "--html", &page, "--worst", "2"]).unwrap();
        for text in
            ["3 items lost", "lidar > tracker > planner", "queue full", "2.000 ms after its deadline", "▐planner"]
        {
            assert!(said.contains(text), "{text} is missing in {said}");
        }
        let html = std::fs::read_to_string(&page).unwrap();
        rospin_report::page::assert_self_contained(&html);
        assert!(html.matches("<svg").count() == 2 && html.contains("lidar &gt; tracker &gt; planner"), "{html}");
        let only = trace(&["report", GOLDEN, "--callback", "lidar", "--worst", "1"]).unwrap();
        assert!(only.contains("1. lidar at"), "{only}");
        std::fs::remove_file(page).unwrap();
    }

    #[test]
    fn a_report_is_of_a_window_and_of_some_callbacks() {
        let all = trace(&["report", GOLDEN, "--worst", "0"]).unwrap();
        let some = trace(&["report", GOLDEN, "--worst", "5", "--only", "TRACK*"]).unwrap();
        let rows = |said: &str| {
            let table = said.split("Callbacks\n").nth(1).unwrap().split("\n\n").nth(1).unwrap();
            table.lines().skip(2).map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            (rows(&all), rows(&some)),
            (["lidar", "tracker", "planner"].map(str::to_owned).to_vec(), vec!["tracker".to_owned()])
        );
        assert!(some.contains("lidar > tracker > planner") && !some.contains(". planner at"), "{some}");
        let count = |said: &str| {
            let line = said.lines().find(|line| line.contains(" activations: ")).unwrap();
            line.split(' ').next().unwrap().parse::<usize>().unwrap()
        };
        let length =
            1e-3 * all.split(" process in ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap() * 1e3;
        let middle = format!("{:.4}", length / 2.0);
        let [first, second] = [["--to", &middle], ["--from", &middle]]
            .map(|window| trace(&[&["report", GOLDEN, "--worst", "0"][..], &window].concat()).unwrap());
        let (whole, parts) = (count(&all), count(&first) + count(&second));
        assert!(count(&first) > 0 && count(&second) > 0, "{first}{second}");
        // At most one activation runs at that time.
        assert!(parts == whole || parts == whole + 1, "{whole} {parts}");
        assert!(first.contains(&format!("Only from 0.000 s to {:.3} s", length / 2.0)), "{first}");
        for (arguments, said) in [
            (&["--from", "3", "--to", "2"][..], "--from 3: the recording ends after"),
            (&["--from", "0.002", "--to", "0.001"], "give a time to that is later than the one from"),
            (&["--only", "wheel"], "no callback of the recording has that in its name"),
        ] {
            let error = trace(&[&["report", GOLDEN][..], arguments].concat()).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_recording_is_compared_with_a_system_file() {
        let system = temporary("system.toml");
        let text = std::fs::read_to_string(GOLDEN.replace(".mcap", ".toml")).unwrap();
        std::fs::write(&system, text.replace("planner", "planer")).unwrap();
        let said = trace(&["report", GOLDEN, "--system", &system, "--worst", "0"]).unwrap();
        for text in [
            "the system file has a callback `planer` that this program does not have; did you mean `planner`?",
            "callback `tracker` has a queue of 1; the system file says 2",
            "ran too long: 2ms instead of at most 1ms",
            "got a message that the system file does not have  because `lidar` published it",
            "lost a message from its queue of 1                because its queue is too short",
        ] {
            assert!(said.contains(text), "{text} is missing in {said}");
        }
        let said = trace(&["report", GOLDEN, "--system", &GOLDEN.replace(".mcap", ".toml"), "--worst", "0"]).unwrap();
        for text in
            ["missed its deadline: 10ms instead of at most 5ms", "missed its deadline: 3ms instead of at most 1ms"]
        {
            assert!(said.contains(text), "{text} is missing in {said}");
        }
        let error = trace(&["report", GOLDEN, "--system", "/nowhere.toml"]).unwrap_err();
        assert!(error.contains("cannot read the scenario /nowhere.toml"), "{error}");
        let error = trace(&["report", GOLDEN, "--system", &system, "--bounds", &system]).unwrap_err();
        assert!(error.contains(&system) && error.contains("unknown field `execution`"), "{error}");
        assert!(trace(&["report", GOLDEN, "--bounds", &system]).unwrap_err().contains("--system"));
        std::fs::remove_file(system).unwrap();
    }

    #[test]
    fn results_of_conversions_are_not_written_over() {
        let file = temporary("trace.json");
        assert_eq!(trace(&["convert", GOLDEN, "--to", "json", "-o", &file]).unwrap(), format!("Written: {file}\n"));
        let error = trace(&["convert", GOLDEN, "--to", "json", "-o", &file]).unwrap_err();
        assert!(error.contains(&file) && error.contains("name a file that is not there"), "{error}");
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn mistakes_name_the_place_and_the_fix() {
        for (arguments, said) in [
            (&["report", "/nowhere.mcap"][..], "/nowhere.mcap: cannot be read"),
            (
                &["report", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
                "`rospin trace record COMMAND` writes one",
            ),
            (&["report", concat!(env!("CARGO_MANIFEST_DIR"), "/src")], "no files that end in .mcap"),
            (&["report", GOLDEN, "--callback", "lydar"], "it has lidar, tracker, planner"),
            (&["convert", GOLDEN, "--to", "word"], "perfetto, mcap, json, text"),
            (&["record", "-o", &temporary("no-program"), "/no/program"], "`/no/program` cannot be run"),
            (&["record", "-o", &temporary("no-events"), "true"], "must call rospin::init"),
            (&["record", "-o", "/proc", "true"], "name a folder that is not there"),
            (&["record", "--pid", "4294967295"], "--pid 4294967295: no program that can be recorded while it runs"),
            (&["record", "--pid", "1", "true"], "cannot be used with"),
            (&["record"], "<COMMAND>"),
            // The time is over before `sleep` ends by itself, and its end by a signal is no error.
            (&["record", "--seconds", "0.1", "-o", &temporary("seconds"), "sleep", "60"], "must call rospin::init"),
        ] {
            let error = trace(arguments).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
