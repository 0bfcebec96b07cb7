//! `rospin bag record`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use jiff::ZonedDateTime;
use regex::Regex;
use rospin_report::Failure;

use super::{counted, overrides, places, to_stderr};
use crate::bag::choice::Choice;
use crate::bag::info::{SERVICE_EVENT, seconds, size};
use crate::bag::mcap::{Compression, Layout};
use crate::bag::record::{RecordOptions, Recorder, Recording, Tell};
use crate::bag::write::{CreateError, WriteOptions};
use crate::ros::{Discovery, Session};

/// Bytes of messages that may wait for the disk, unless the user says otherwise; as in rosbag2.
const CACHE: usize = 100 << 20;

/// Arrangement of a file, by rosbag2's names.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[value(rename_all = "snake_case")]
enum Preset {
    /// Chunks without compression
    #[default]
    None,
    /// No chunks, and so no index: least work while recording
    Fastwrite,
    /// Chunks that are compressed with Zstandard, at its fastest
    ZstdFast,
    /// The same with larger chunks, which compress better
    ZstdSmall,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    None,
    File,
    Message,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Zstd,
    Lz4,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    Mcap,
}

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("chosen").args([
    "names", "topics", "regex", "all", "all_topics", "services", "all_services",
]).multiple(true).required(true))]
#[command(after_help = "\
Ends with Ctrl-C or SIGTERM, and with a complete bag. Messages that were lost are told while it
records and at the end, by topic. Definitions of messages come from AMENT_PREFIX_PATH, and else
from the nodes that publish.

Examples:
  rospin bag record -a -x '^/camera'
  rospin bag record /scan /tf /tf_static -o drive --storage-preset-profile zstd_fast
  rospin bag record -a --max-bag-duration 60 --max-bag-size 1000000000
  rospin bag record -a -o drive --trace $(pidof robot); rospin trace report drive

Exit code: 0, 1 if the bag could not be written to its end, 2 if an option is wrong or the folder is there already.")]
pub(super) struct Options {
    /// Topics to record
    #[arg(value_name = "TOPIC")]
    names: Vec<String>,

    /// Records all topics, also those that come later, and the events of services
    #[arg(long, short)]
    all: bool,

    /// Records all topics, also those that come later
    #[arg(long)]
    all_topics: bool,

    #[command(flatten)]
    choice: Choice,

    /// Records what these services tell of their calls
    #[arg(long, value_name = "SERVICE", num_args = 1..)]
    services: Vec<String>,

    /// Records what all services tell of their calls
    #[arg(long)]
    all_services: bool,

    /// Records topics that begin with an underscore, too
    #[arg(long)]
    include_hidden_topics: bool,

    /// Folder of the bag, which must not be there [default: rosbag2_ with day and time]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Storage of the bag
    #[arg(long, short, value_enum, default_value = "mcap")]
    storage: Storage,

    /// Begins a new file when one has so many bytes; 0 is no limit
    #[arg(long, short = 'b', value_name = "BYTES", default_value = "0")]
    max_bag_size: u64,

    /// Begins a new file after so many seconds; 0 is no limit
    #[arg(long, short = 'd', value_name = "SECONDS", default_value = "0")]
    max_bag_duration: u64,

    /// Bytes of messages that may wait for the disk; messages that find no room are lost. 0 writes each message at once
    #[arg(long, value_name = "BYTES", default_value_t = CACHE)]
    max_cache_size: usize,

    /// Arrangement of the files
    #[arg(long, value_name = "PRESET", value_enum, default_value = "none")]
    storage_preset_profile: Preset,

    /// Compresses the chunks of the files; `file` and `message` do the same, so that every reader of MCAP reads them
    #[arg(long, value_name = "MODE", value_enum, default_value = "none")]
    compression_mode: Mode,

    /// Format of --compression-mode
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "zstd")]
    compression_format: Format,

    /// YAML file with the quality of service with which topics are subscribed to
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,

    /// Stamps messages with the time of the topic /clock
    #[arg(long)]
    use_sim_time: bool,

    /// Does nothing: the network tells of new topics. `ros2` has it
    #[arg(long, value_name = "MILLISECONDS", hide = true)]
    polling_interval: Option<u64>,

    /// Does nothing: messages stay as they travelled. `ros2` has it
    #[arg(long, short = 'f', value_name = "FORMAT", hide = true)]
    serialization_format: Option<String>,

    /// Does nothing: no message waits for compression beside the cache. `ros2` has it
    #[arg(long, value_name = "MESSAGES", hide = true)]
    compression_queue_size: Option<u64>,

    /// Does nothing: one thread compresses and writes. `ros2` has it
    #[arg(long, value_name = "THREADS", hide = true)]
    compression_threads: Option<u64>,

    /// Does nothing: what is told is told. `ros2` has it
    #[arg(long, value_name = "LEVEL", hide = true)]
    log_level: Option<String>,

    /// Is accepted as by `ros2`, and does nothing: recording has no keyboard controls
    #[arg(long, hide = true)]
    disable_keyboard_controls: bool,

    /// Records what the executors of the process with this number do, too, for `rospin trace report`
    #[arg(long, value_name = "PID", conflicts_with_all = ["max_bag_size", "max_bag_duration", "use_sim_time"])]
    trace: Option<u32>,

    /// Name of the recorder's node
    #[arg(long, value_name = "NAME", default_value = "rosbag2_recorder")]
    node_name: String,
}

impl Options {
    fn layout(&self) -> Layout {
        let chunk_bytes = Layout::default().chunk_bytes;
        let mut layout = match self.storage_preset_profile {
            Preset::None => Layout::default(),
            Preset::Fastwrite => Layout { chunk_bytes: 0, compression: Compression::None },
            Preset::ZstdFast => Layout { chunk_bytes, compression: Compression::Zstd },
            Preset::ZstdSmall => Layout { chunk_bytes: 16 * chunk_bytes, compression: Compression::Zstd },
        };
        if self.compression_mode != Mode::None {
            layout.chunk_bytes = layout.chunk_bytes.max(chunk_bytes);
            layout.compression = match self.compression_format {
                Format::Zstd => Compression::Zstd,
                Format::Lz4 => Compression::Lz4,
            };
        }
        layout
    }

    fn to_record(&self) -> Result<RecordOptions, Failure> {
        let mut choice = self.choice.clone();
        choice.topics.extend(self.names.iter().cloned());
        choice.topics.extend(self.services.iter().map(|service| format!("{service}{SERVICE_EVENT}")));
        if self.all_services {
            let of_services = format!("{SERVICE_EVENT}$");
            let both =
                choice.regex.as_ref().map_or_else(|| of_services.clone(), |regex| format!("(?:{regex})|{of_services}"));
            choice.regex = Some(Regex::new(&both).map_err(Failure::input)?);
        }
        if self.all || self.all_topics {
            // As in rosbag2, this overrides names and expressions.
            (choice.topics, choice.regex) = (Vec::new(), None);
        }
        let limit = |number: u64| (number > 0).then_some(number);
        Ok(RecordOptions {
            choice,
            with_hidden: self.include_hidden_topics,
            with_events: self.all || self.all_services,
            overrides: overrides(self.qos_profile_overrides_path.as_deref())?,
            places: places(),
            // As in rosbag2, zero does without a cache. What the disk has not taken yet needs memory all the same.
            cache_bytes: if self.max_cache_size == 0 { CACHE } else { self.max_cache_size },
            is_at_once: self.max_cache_size == 0,
            is_sim_time: self.use_sim_time,
            trace: self.trace,
            write: WriteOptions {
                layout: self.layout(),
                size_max: limit(self.max_bag_size),
                duration_ns_max: limit(self.max_bag_duration).map(|seconds| seconds.saturating_mul(1_000_000_000)),
                ros_distro: std::env::var("ROS_DISTRO").unwrap_or_else(|_| "unknown".to_owned()),
            },
        })
    }
}

/// Returns the name of a bag that begins now.
fn folder_of_now() -> PathBuf {
    PathBuf::from(ZonedDateTime::now().strftime("rosbag2_%Y_%m_%d-%H_%M_%S").to_string())
}

pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let folder = options.output.clone().unwrap_or_else(folder_of_now);
    // Before the network is joined, which takes time.
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::input(CreateError::Exists(folder)));
    }
    let record = options.to_record()?;
    let discovery = Discovery::with_sim_time(options.use_sim_time);
    let session = Session::join_as(&discovery, Some(&options.node_name))?;
    record_until(&session, &folder, record, to_stderr(), std::future::pending(), out)
}

/// Records until `end` resolves, the user interrupts, or nothing more can be written.
fn record_until(
    session: &Session,
    folder: &Path,
    options: RecordOptions,
    tell: Tell,
    end: impl Future<Output = ()>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let executor = session.ros().executor().handle();
    let begun = Recorder::start(session.node(), &executor, folder, options, std::sync::Arc::clone(&tell));
    let mut recorder = begun.map_err(Failure::input)?;
    tell(&format!("Recording into '{}'; Ctrl-C ends it", folder.display()));
    let waited = {
        let mut end = std::pin::pin!(end);
        let mut run = std::pin::pin!(recorder.run());
        session.wait(std::future::poll_fn(|cx| {
            if end.as_mut().poll(cx).is_ready() { std::task::Poll::Ready(()) } else { run.as_mut().poll(cx) }
        }))
    };
    let recording = recorder.finish();
    waited?;
    tell_recording(&recording, folder, out)
}

/// Reasons for which a recording is not complete.
#[derive(Debug, thiserror::Error)]
#[error("the recording ended early: {0}; what was written before can be read")]
struct EndedEarly(String);

fn tell_recording(recording: &Recording, folder: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(metadata) = &recording.metadata {
        let length = metadata.times.map_or(0, |(first, last)| last.saturating_sub(first));
        let sizes = metadata.files.iter().filter_map(|file| folder.join(&file.path).metadata().ok());
        let bytes = sizes.map(|file| file.len()).sum();
        let topics = metadata.topics.iter().filter(|topic| topic.count > 0).count() as u64;
        writeln!(
            out,
            "Recorded {} of {} in {} s: {} ({})",
            counted(metadata.count, "message"),
            counted(topics, "topic"),
            seconds(length),
            folder.display(),
            size(bytes)
        )?;
    }
    for (topic, count) in &recording.lost {
        writeln!(out, "Lost: {} of {topic}", counted(*count, "message"))?;
    }
    match &recording.failure {
        Some(failure) => Err(Failure::run(EndedEarly(failure.clone()))),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(in crate::bag) mod testing {
    use super::*;

    /// Records into a folder until `end` resolves, with the options of a command line. Returns what is printed.
    pub(in crate::bag) fn record(
        session: &Session,
        arguments: &[&str],
        folder: &Path,
        end: impl Future<Output = ()>,
    ) -> Result<String, String> {
        use clap::FromArgMatches;
        let command = Options::augment_args(clap::Command::new("record"));
        let matches = crate::ros::testing::parse(command, &[&["record"], arguments].concat());
        let options = Options::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        let record = options.to_record().map_err(|error| error.to_string())?;
        crate::ros::testing::written(|out| {
            record_until(session, folder, record, std::sync::Arc::new(|_: &str| ()), end, out)
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, String> {
        let command = Options::augment_args(clap::Command::new("record"));
        let matches = command.try_get_matches_from([&["record"], arguments].concat());
        Options::from_arg_matches(&matches.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_those_of_ros2_bag_record() {
        let text = "/scan /tf -s mcap -o drive -b 1000 -d 60 --compression-mode file --compression-format zstd --max-cache-size 5";
        let arguments: Vec<&str> = text.split(' ').collect();
        let record = options(&arguments).unwrap().to_record().unwrap();
        assert_eq!(record.choice.topics, ["/scan", "/tf"]);
        assert_eq!((record.write.size_max, record.write.duration_ns_max), (Some(1_000), Some(60_000_000_000)));
        assert_eq!((record.write.layout.compression, record.cache_bytes), (Compression::Zstd, 5));
        let services = options(&["--services", "/add", "/set"]).unwrap().to_record().unwrap();
        assert!(services.choice.takes("/add/_service_event") && !services.choice.takes("/other/_service_event"));
        let services = options(&["--all-services", "-e", "^/scan$"]).unwrap().to_record().unwrap();
        assert!(services.choice.takes_live("/add/_service_event", services.takes_hidden("/add/_service_event")));
        assert!(services.choice.takes("/scan") && !services.choice.takes("/scans"));
        let all = options(&["-a", "-x", "camera"]).unwrap().to_record().unwrap();
        assert!(all.choice.takes("/scan") && !all.choice.takes("/camera/image"));
        assert!(options(&["-e", "cam.*"]).is_ok() && options(&["--topics", "/a", "/b"]).is_ok());
    }

    #[test]
    fn without_a_cache_messages_are_written_at_once_and_none_is_lost_for_that() {
        let record = options(&["-a", "--max-cache-size", "0"]).unwrap().to_record().unwrap();
        assert_eq!((record.is_at_once, record.cache_bytes), (true, CACHE));
    }

    #[test]
    fn wrong_options_are_refused() {
        assert!(options(&[]).unwrap_err().contains("required"));
        assert!(options(&["-a", "-s", "sqlite3"]).unwrap_err().contains("mcap"));
        assert!(options(&["-e", "("]).unwrap_err().contains("unclosed group"));
        assert!(options(&["-a", "-b", "-5"]).is_err());
    }

    #[test]
    fn presets_have_the_names_of_rosbag2() {
        for (name, chunks, compression) in [
            ("none", 1 << 18, Compression::None),
            ("fastwrite", 0, Compression::None),
            ("zstd_fast", 1 << 18, Compression::Zstd),
            ("zstd_small", 1 << 22, Compression::Zstd),
        ] {
            let layout = options(&["-a", "--storage-preset-profile", name]).unwrap().layout();
            assert_eq!(layout, Layout { chunk_bytes: chunks, compression }, "{name}");
        }
    }

    #[test]
    fn folder_is_named_by_the_time() {
        let name = folder_of_now().display().to_string();
        let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "rosbag0_0000_00_00-00_00_00");
    }
}
