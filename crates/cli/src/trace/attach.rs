//! `rospin trace record --pid`: records a program that runs already, through its socket.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rospin_report::Failure;
use rospin_trace::places;

/// The longest time that a program has for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reasons for which a program that runs could not be recorded.
#[derive(Debug, thiserror::Error)]
enum AttachFailure {
    #[error(
        "--pid {0}: no program that can be recorded while it runs; one that calls rospin::init can be, unless ROSPIN_LIVE is 0 for it, and \
         only by its own user or root"
    )]
    Nobody(u32),
    #[error("--output {}: a path with a line break cannot be sent to the program; name another file", .0.display())]
    Path(PathBuf),
    #[error("--pid {0}: the program says: {1}")]
    Refused(u32, String),
    #[error("--pid {0}: the program does not answer: {1}")]
    Silent(u32, io::Error),
}

/// Records the process into a file until the time is over, Ctrl-C is pressed, or the program ends.
pub(super) fn run(
    pid: u32,
    output: Option<&Path>,
    duration: Option<Duration>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let file = output.map_or_else(|| PathBuf::from(format!("trace-{pid}.mcap")), Path::to_owned);
    // The program has a working directory of its own.
    let whole = std::path::absolute(&file).map_err(Failure::input)?;
    if whole.as_os_str().as_bytes().contains(&b'\n') {
        return Err(Failure::input(AttachFailure::Path(file)));
    }
    let sockets = places::programs().into_iter().filter(|(of, _)| *of == pid);
    let stream = sockets.map(|(_, socket)| places::connect(&socket)).find_map(Result::ok);
    let stream = stream.ok_or_else(|| Failure::input(AttachFailure::Nobody(pid)))?;
    let silent = |error| Failure::run(AttachFailure::Silent(pid, error));
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_interrupted)).map_err(Failure::run)?;
    }
    let mut answers = BufReader::new(&stream);
    (&stream).write_all(&[b"record ", whole.as_os_str().as_bytes(), b"\n"].concat()).map_err(silent)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(silent)?;
    let mut answer = String::new();
    answers.read_line(&mut answer).map_err(silent)?;
    if answer.trim_end() != "ok" {
        let reason = answer.trim_end().trim_start_matches("error: ");
        let reason = if reason.is_empty() { "nothing" } else { reason };
        return Err(Failure::input(AttachFailure::Refused(pid, reason.to_owned())));
    }
    let until = duration.map_or("Ctrl-C", |_| "the time is over, or Ctrl-C");
    writeln!(out, "Process {pid} is recorded until {until}.")?;
    out.flush()?;
    let end = duration.map(|duration| Instant::now() + duration);
    let has_ended = wait(&stream, &mut answers, end, &is_interrupted).map_err(silent)?;
    if has_ended {
        writeln!(out, "The program ended.")?;
    } else {
        stream.set_read_timeout(Some(PATIENCE)).map_err(silent)?;
        (&stream).write_all(b"stop\n").map_err(silent)?;
        // The answer says that the file is complete.
        answers.read_line(&mut String::new()).map_err(silent)?;
    }
    let bytes = std::fs::metadata(&whole).map(|data| data.len()).unwrap_or(0);
    writeln!(out, "Recording: {} ({:.1} MiB)", file.display(), bytes as f64 / 1_048_576.0)?;
    writeln!(out, "rospin trace report {}", file.display())?;
    Ok(())
}

/// Waits until the time is over or Ctrl-C was pressed. Returns true if the program ended before.
fn wait(
    stream: &UnixStream,
    answers: &mut BufReader<&UnixStream>,
    end: Option<Instant>,
    is_interrupted: &AtomicBool,
) -> io::Result<bool> {
    const LOOK: Duration = Duration::from_millis(100);
    while !is_interrupted.load(Ordering::Relaxed) {
        let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()).min(LOOK));
        if left.is_zero() {
            return Ok(false);
        }
        stream.set_read_timeout(Some(left))?;
        match answers.fill_buf() {
            Ok(bytes) => return Ok(bytes.is_empty()),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
