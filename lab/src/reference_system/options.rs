//! The options of `rospin lab reference-system`.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use clap::Args;
use rospin_report::choice;
use rospin_report::output_options::OutputOptions;

use crate::middleware::Middleware;

use super::kpi::{TAIL, WARM_UP};
use super::runner::Variant;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-reference-system.html";

const DURATION_MAX_S: f64 = 3600.0;
const CRUNCH_MIN_MS: f64 = 0.01;
const CRUNCH_MAX_MS: f64 = 1000.0;

/// Runs the Autoware reference system (24 nodes, 36 callbacks) under several executors and compares them.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin lab reference-system
  rospin lab reference-system --crunch 5 --duration 30
  rospin lab reference-system --executors wait-set-single,priority-single --json result.json
  rospin lab reference-system --cores 2,4 --virtual-only
  rospin lab reference-system --duration 60 --crunch 5 --record recordings
  rospin lab reference-system --transport dds --processes 2")]
pub(crate) struct Options {
    /// Seconds that each executor runs; the first one is warm-up and does not count
    #[arg(long, value_name = "SECONDS", default_value = "12", value_parser = parse_duration)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// Work of a node in milliseconds of processor time: 5 just fits one core, 7 overloads it
    #[arg(long, value_name = "MS", default_value = "7", value_parser = parse_crunch)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) crunch: Duration,

    /// Executors to run, in this order, separated by commas; the first five unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) executors: Vec<Variant>,

    /// Has the nodes be ROS 2 nodes that talk over this; the engine's own topics unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: Option<Middleware>,

    /// Compares priorities in one executor with several threads with several executors of one thread, on these numbers
    /// of cores, separated by commas: in virtual time, with bounds, and measured where this machine has the cores
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(2..=64))]
    #[arg(allow_negative_numbers = true, conflicts_with_all = ["transport", "processes", "record"])]
    pub(crate) cores: Vec<u16>,

    /// With --cores: only in virtual time, with bounds
    #[arg(long, requires = "cores")]
    pub(crate) virtual_only: bool,

    /// Distributes the nodes over that many processes, each with one executor: priority-single only, over a transport
    /// that reaches other processes
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=24))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) processes: u16,

    /// Runs each executor once more, recorded into this folder, which must not be there, and shows what recording costs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,

    /// For this program's own use: runs one executor as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

impl Options {
    /// Checks that this program can do everything that the options ask for together.
    ///
    /// # Errors
    /// If it cannot. The error names the obstacle and the fix.
    pub(crate) fn check(&self) -> Result<(), Conflict> {
        if let Some(transport) = self.transport.filter(|transport| !transport.is_built()) {
            return Err(Conflict::NotBuilt { name: transport.name() });
        }
        if self.processes > 1 {
            if !self.transport.is_some_and(Middleware::discovers) {
                return Err(Conflict::Unreachable { processes: self.processes });
            }
            if let Some(other) = self.variants().into_iter().find(|variant| *variant != Variant::PrioritySingle) {
                return Err(Conflict::OneProcess { executor: other.name() });
            }
        }
        Ok(())
    }

    /// Creates the folder for recordings, if there is to be one, and returns its whole path.
    ///
    /// # Errors
    /// If it is there already, or cannot be created.
    pub(crate) fn create_folder(&self) -> Result<Option<PathBuf>, Conflict> {
        let Some(folder) = &self.record else { return Ok(None) };
        let created = fs::create_dir(folder).and_then(|()| folder.canonicalize());
        let named = |reason: io::Error| Conflict::Folder { folder: folder.clone(), reason: reason.to_string() };
        created.map(Some).map_err(named)
    }

    /// Returns the executors to run, each once, in the order in which they were given. If none were given: the usual
    /// ones, on a number of cores those that use them, or for several processes the one that can.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let all: &[Variant] = match self.processes {
            2.. => &[Variant::PrioritySingle],
            _ if self.cores.is_empty() => &Variant::ALL,
            _ => &Variant::ON_CORES,
        };
        choice::in_given_order(&self.executors, all)
    }
}

/// Options that contradict each other, or that this program cannot fulfil.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Conflict {
    /// The transport was left out when the program was built.
    #[error(
        "--transport {name}: this program was built without it; build with --features {name}, as in `cargo run --release --manifest-path lab/Cargo.toml --features {name} -- reference-system --transport {name}`"
    )]
    NotBuilt {
        /// Name of the middleware, which is also that of the feature.
        name: &'static str,
    },
    /// Several processes are asked for without a transport between processes.
    #[error(
        "--processes {processes}: nodes of several processes need a transport that reaches them; add --transport dds or zenoh"
    )]
    Unreachable {
        /// Number of processes.
        processes: u16,
    },
    /// The folder for recordings cannot be created.
    #[error("--record {}: {reason}; name a folder that is not there", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The kernel's reason.
        reason: String,
    },
    /// The executor is not for several processes.
    #[error("--executors {executor}: it runs in one process only; leave it out, or give --processes 1")]
    OneProcess {
        /// Name of the executor.
        executor: &'static str,
    },
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let min_s = (WARM_UP + TAIL).as_secs_f64();
    let seconds = parse_number(text, "seconds", min_s, DURATION_MAX_S)?;
    Ok(Duration::from_secs_f64(seconds))
}

fn parse_crunch(text: &str) -> Result<Duration, String> {
    let ms = parse_number(text, "milliseconds", CRUNCH_MIN_MS, CRUNCH_MAX_MS)?;
    Ok(Duration::from_secs_f64(ms / 1e3))
}

/// Parses a number from `min` to `max`. The error says if the number is too small, too large or none, and which numbers
/// are valid.
fn parse_number(text: &str, unit: &str, min: f64, max: f64) -> Result<f64, String> {
    let expected = format!("give a number of {unit} from {min} to {max}");
    match text.trim().parse::<f64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        Ok(number) if number > max => Err(format!("too large; {expected}")),
        Ok(number) if number < min => Err(format!("too small; {expected}")),
        // All other texts are not a number: words, or NaN.
        Ok(_) | Err(_) => Err(format!("not a number; {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    fn refusal(arguments: &[&str]) -> String {
        let error = Options::from_arguments(arguments).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn defaults() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!(options.duration, Duration::from_secs(12));
        assert_eq!(options.crunch, Duration::from_millis(7));
        assert_eq!(options.variants(), Variant::ALL);
        assert!(options.outputs.json.is_none() && options.outputs.report.is_none() && !options.outputs.quiet);
    }

    #[test]
    fn executors_are_taken_by_comma_and_repeated_in_order_and_once() {
        let options = Options::from_arguments(&[
            "--executors",
            "priority-single,fifo-single",
            "--executors=wait-set-single,fifo-single",
        ]);
        assert_eq!(options.unwrap().variants(), [Variant::PrioritySingle, Variant::FifoSingle, Variant::WaitSetSingle]);
    }

    #[test]
    fn unknown_executor_lists_the_known_and_suggests_the_nearest() {
        let message = refusal(&["--executors", "priority-sigle"]);
        assert!(message.contains("'priority-sigle' for '--executors <NAMES>'"), "{message}");
        for variant in Variant::ALL {
            assert!(message.contains(variant.name()), "{message}");
        }
        assert!(message.contains("similar value exists: 'priority-single'"), "{message}");
        assert!(refusal(&["--executors", ""]).contains("possible values"));
        assert!(refusal(&["--executors", "fifo-single,,"]).contains("--executors"));
    }

    #[test]
    fn impossible_numbers_name_the_option_and_the_range() {
        let cases = [
            ("--duration", "-3", "too small"),
            ("--duration", "0", "too small"),
            ("--duration", "1.9", "too small"),
            ("--duration", "NaN", "not a number"),
            ("--duration", "1e300", "too large"),
            ("--duration", "inf", "too large"),
            ("--duration", "soon", "not a number"),
            ("--duration", "", "not a number"),
            ("--crunch", "-7", "too small"),
            ("--crunch", "0", "too small"),
            ("--crunch", "1001", "too large"),
            ("--crunch", "7ms", "not a number"),
        ];
        for (option, value, reason) in cases {
            let message = refusal(&[option, value]);
            assert!(message.contains(option) && message.contains(reason), "{message}");
            assert!(message.contains("give a number of"), "{message}");
        }
    }

    #[test]
    fn several_processes_need_a_transport_and_an_executor_for_them() {
        assert_eq!(Options::from_arguments(&["--transport", "in-process"]).unwrap().check(), Ok(()));
        let refused = |arguments: &[&str]| Options::from_arguments(arguments).unwrap().check().unwrap_err().to_string();
        for arguments in [&["--processes", "2"][..], &["--processes", "2", "--transport", "in-process"]] {
            assert!(refused(arguments).contains("add --transport dds or zenoh"));
        }
        if cfg!(feature = "dds") {
            let distributed = Options::from_arguments(&["--processes", "2", "--transport", "dds"]).unwrap();
            assert_eq!((distributed.check(), distributed.variants()), (Ok(()), vec![Variant::PrioritySingle]));
            let other = ["--processes", "2", "--transport", "dds", "--executors", "wait-set-single"];
            assert!(refused(&other).contains("wait-set-single"));
        } else {
            assert!(refused(&["--transport", "dds"]).contains("build with --features dds"));
        }
        assert!(refusal(&["--processes", "25"]).contains("1..=24"));
        assert!(refusal(&["--processes", "0"]).contains("--processes"));
        assert!(refusal(&["--transport", "iceoryx"]).contains("in-process, dds, zenoh"));
    }

    #[test]
    fn fractions_are_fine() {
        let options = Options::from_arguments(&["--duration", "2.5", "--crunch", "0.25"]).unwrap();
        assert_eq!(options.duration, Duration::from_millis(2500));
        assert_eq!(options.crunch, Duration::from_micros(250));
    }
}
