//! `rospin trace record`: runs a program with the environment that has it recorded.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use rospin_report::{Failure, number};
use rospin_trace::settings;
use rustix::process::{Pid, Signal, kill_process};

use super::attach;

/// The time that a program has to end after Ctrl-C's signal, before it gets that of `kill`.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between two looks at the program.
const LOOK: Duration = Duration::from_millis(50);

// No doc comment: clap would show it as the description of the command.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("limits").args(["max_size", "max_duration"]).multiple(true))]
pub(super) struct Options {
    /// Records the process with this number, which runs already, into one file
    #[arg(long, value_name = "N", conflicts_with_all = ["flight", "cpu", "buffer", "max_size", "max_duration", "command"])]
    pid: Option<u32>,

    /// Ends the recording after this time, and the program, as Ctrl-C does
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.1, 1e9))]
    seconds: Option<Duration>,

    /// Writes the recordings into this folder, which must not be there: a file for each process; with --pid, the file
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Keeps only the last seconds, and writes them when a deadline is missed, an item is lost or a callback panics
    #[arg(long, value_name = "SECONDS", value_parser = |text: &str| number::parse_seconds(text, 0.1, 86_400.0))]
    flight: Option<Duration>,

    /// Begins a new file when one has this size; each can be read by itself
    #[arg(long, value_name = "MIB", conflicts_with = "flight", value_parser = |text: &str| number::parse(text, "MiB", 0.1, 1e9))]
    max_size: Option<f64>,

    /// Begins a new file after this time
    #[arg(long, value_name = "SECONDS", conflicts_with = "flight", value_parser = |text: &str| number::parse_seconds(text, 0.1, 1e9))]
    max_duration: Option<Duration>,

    /// Keeps only the last files that --max-size or --max-duration begins, so that the disk does not fill
    #[arg(long, value_name = "N", requires = "limits", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    keep: Option<u32>,

    /// Records the threads' processor time, too: two more system calls for each callback tell how long the kernel did
    /// not let it run
    #[arg(long)]
    cpu: bool,

    /// Sets the number of events that the buffer of each thread holds, 48 bytes each [default: 32768]
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(16..))]
    buffer: Option<u32>,

    /// Program to record, with its arguments
    #[arg(
        required_unless_present = "pid",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// Reasons for which a program could not be recorded.
#[derive(Debug, thiserror::Error)]
enum RecordFailure {
    #[error("--output {}: {reason}; name a folder that is not there", path.display())]
    Folder { path: PathBuf, reason: io::Error },
    #[error("`{}` cannot be run: {reason}", program.display())]
    Start { program: PathBuf, reason: io::Error },
    #[error("the program ended with {0}; its recording is in {1}")]
    Ended(std::process::ExitStatus, String),
    #[error(
        "the program recorded nothing: it must call rospin::init, or Recorder::start, and run a callback; with --flight, \
         something must have gone wrong"
    )]
    Nothing,
}

/// Runs the program, or waits while a process that runs already records itself, and prints the paths of the recordings
/// to `out`.
///
/// # Errors
/// If the folder cannot be created, the program cannot be run, fails or records nothing, or the process cannot be
/// reached.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(pid) = options.pid {
        return attach::run(pid, options.output.as_deref(), options.seconds, out);
    }
    let folder = match &options.output {
        Some(folder) => fs::create_dir(folder).map(|()| folder.clone()),
        None => fresh_folder(),
    };
    let named = || options.output.clone().unwrap_or_else(|| PathBuf::from("trace-1"));
    let folder = folder.map_err(|reason| Failure::input(RecordFailure::Folder { path: named(), reason }))?;
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let program = PathBuf::from(&options.command[0]);
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().replace('%', "_");
    let mut command = Command::new(&program);
    command.args(&options.command[1..]).env(settings::FILE, whole.join(format!("{name}-%p.mcap")));
    for (variable, value) in [
        (settings::FLIGHT, options.flight.map(|window| window.as_secs_f64().to_string())),
        (settings::CPU, options.cpu.then(|| "1".to_owned())),
        (settings::BUFFER, options.buffer.map(|events| events.to_string())),
        (settings::SIZE_MAX, options.max_size.map(|mib| mib.to_string())),
        (settings::DURATION_MAX, options.max_duration.map(|duration| duration.as_secs_f64().to_string())),
        (settings::KEEP, options.keep.map(|files| files.to_string())),
    ] {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    // Ctrl-C ends the program, which the terminal tells it itself. This command waits for it.
    let is_interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, is_interrupted).map_err(Failure::run)?;
    let ended = command.spawn().and_then(|mut child| wait(&mut child, options.seconds));
    let (ended, is_in_time) = ended.map_err(|reason| {
        // Nobody has written into the folder.
        let _ = fs::remove_dir(&folder);
        Failure::input(RecordFailure::Start { program, reason })
    })?;
    let files = recordings(&folder).map_err(Failure::run)?;
    if files.is_empty() {
        let _ = fs::remove_dir(&folder);
        let nothing = if ended.success() || is_in_time {
            RecordFailure::Nothing
        } else {
            RecordFailure::Ended(ended, "no file".into())
        };
        return Err(Failure::run(nothing));
    }
    for (file, bytes) in &files {
        writeln!(out, "Recording: {} ({:.1} MiB)", file.display(), *bytes as f64 / 1_048_576.0)?;
    }
    writeln!(out, "rospin trace report {}", folder.display())?;
    if ended.success() || is_in_time {
        return Ok(());
    }
    Err(Failure::run(RecordFailure::Ended(ended, folder.display().to_string())))
}

/// Waits for the end of the program, and ends it once the time is over. Returns true if the time was over before.
fn wait(child: &mut Child, time: Option<Duration>) -> io::Result<(ExitStatus, bool)> {
    let Some(time) = time else { return child.wait().map(|ended| (ended, false)) };
    let end = Instant::now() + time;
    let mut signals = [(end, Signal::INT), (end + PATIENCE, Signal::TERM)].into_iter().peekable();
    let mut is_in_time = false;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok((ended, is_in_time));
        }
        if let Some((_, signal)) = signals.next_if(|(due, _)| *due <= Instant::now()) {
            // The child was not waited for yet, so its number is still its own.
            kill_process(Pid::from_child(child), signal)?;
            is_in_time = true;
        }
        std::thread::sleep(LOOK);
    }
}

/// Creates the folder `trace-1`, or `trace-2` if that is there, and so on.
fn fresh_folder() -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let folder = PathBuf::from(format!("trace-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|()| folder),
        }
    }
}

/// Returns the paths of the recordings in a folder, each with its size in bytes.
fn recordings(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.path(), entry.metadata()?.len()));
    }
    files.sort_unstable();
    Ok(files)
}
