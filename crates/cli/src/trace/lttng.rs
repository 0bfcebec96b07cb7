//! Traces of ros2_tracing, which babeltrace2 reads.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rospin_report::Failure;
use rospin_trace::{Recording, ros2};
use rustix::process::{Pid, Signal, kill_process};

/// The program that prints traces as text.
const READER: &str = "babeltrace2";
/// The folders of a trace down to its files: a session has `ust/uid/1000/64-bit`.
const FOLDERS: u32 = 6;
/// The largest number of bytes that are kept of what the program says on stderr.
const SAID: u64 = 1 << 20;

/// The time without any text after which the program is killed, within a factor of two.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reasons for which a trace cannot be read.
#[derive(Debug, thiserror::Error)]
enum TraceFailure {
    #[error(
        "{}: is a trace of LTTng, which needs babeltrace2 (`apt install babeltrace2`); or give the text that `babeltrace2 \
         --clock-seconds` prints for it",
        path.display()
    )]
    NoReader { path: PathBuf },
    #[error("{}: babeltrace2 cannot be run ({reason})", path.display())]
    Reader { path: PathBuf, reason: io::Error },
    #[error("{}: babeltrace2 cannot read it: {said}", path.display())]
    Unreadable { path: PathBuf, said: String },
    #[error("{}: cannot be read: {reason}", path.display())]
    Io { path: PathBuf, reason: io::Error },
}

/// Returns the recordings in a trace of LTTng, or in the text of one: a folder with a file `metadata`, a text file, or
/// `-` for stdin. Returns `None` if the path is something else.
pub(super) fn open(path: &Path) -> Result<Option<Vec<Recording>>, Failure> {
    let read = |text: &mut dyn BufRead| ros2::read(text, path).map(Some).map_err(Failure::input);
    if path == Path::new("-") {
        return read(&mut io::stdin().lock());
    }
    if path.is_dir() {
        return if has_metadata(path, FOLDERS) { convert(path).map(Some) } else { Ok(None) };
    }
    // A file that cannot be opened is told by whoever reads recordings.
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let is_text = file.fill_buf().is_ok_and(ros2::is_text);
    if is_text { read(&mut file) } else { Ok(None) }
}

/// Returns true if the folder is a trace, or has one in its folders.
fn has_metadata(folder: &Path, depth: u32) -> bool {
    if folder.join("metadata").is_file() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    // A link may lead back.
    let mut folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.any(|entry| has_metadata(&entry.path(), depth))
}

/// Runs babeltrace2 for the trace, and returns the recordings in its text.
fn convert(path: &Path) -> Result<Vec<Recording>, Failure> {
    let program = std::env::var_os("ROSPIN_BABELTRACE").unwrap_or_else(|| READER.into());
    let mut child = spawn(&program, path).map_err(Failure::input)?;
    let (text, said) = (child.stdout.take(), child.stderr.take());
    // Both at once: a pipe that nobody reads stops the program.
    let said = thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut said) = said {
            let _ = said.by_ref().take(SAID).read_to_end(&mut kept);
            let _ = io::copy(&mut said, &mut io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    });
    let recordings = text.map(|text| {
        let reads = Arc::new(AtomicU64::new(0));
        // The guard ends when this end of the channel is dropped.
        let (_reading, is_read) = mpsc::channel();
        guard(&child, PATIENCE, Arc::clone(&reads), is_read);
        ros2::read(BufReader::with_capacity(1 << 16, Counted { text, reads }), path)
    });
    // Nobody reads the rest of its output: the pipe is closed by now, so the program ends.
    let status = child.wait().map_err(|reason| Failure::input(TraceFailure::Io { path: path.to_owned(), reason }))?;
    let said = said.join().unwrap_or_default();
    let is_whole = status.success();
    let reason = || match status.signal() {
        Some(9) => "it printed nothing for seconds, so it was stopped; the file `metadata` may be damaged".to_owned(),
        _ => last_words(&said),
    };
    match recordings {
        Some(Ok(mut recordings)) => {
            ros2::note_losses(&mut recordings, said.lines());
            if !is_whole {
                ros2::note_fault(&mut recordings, &format!("babeltrace2 stopped here: {}", reason()));
            }
            Ok(recordings)
        }
        Some(Err(error)) if is_whole => Err(Failure::input(error)),
        _ => Err(Failure::input(TraceFailure::Unreadable { path: path.to_owned(), said: reason() })),
    }
}

/// A reader that counts its reads.
struct Counted<R> {
    text: R,
    reads: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(bytes);
        self.reads.fetch_add(1, Ordering::Relaxed);
        count
    }
}

/// Kills the program when it has printed nothing for the time `patience`: damaged metadata can make babeltrace2 run for
/// ever. Ends when the other end of the channel is gone, before which nobody may wait for the program.
fn guard(program: &Child, patience: Duration, reads: Arc<AtomicU64>, is_read: Receiver<()>) {
    let Ok(id) = i32::try_from(program.id()) else { return };
    let Some(id) = Pid::from_raw(id) else { return };
    thread::spawn(move || {
        let mut before = u64::MAX;
        while is_read.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let now = reads.load(Ordering::Relaxed);
            if now == before {
                let _ = kill_process(id, Signal::KILL);
                return;
            }
            before = now;
        }
    });
}

fn spawn(program: &OsStr, path: &Path) -> Result<Child, TraceFailure> {
    // A path that begins with a dash would be an option.
    let path_of_trace = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
    let child = Command::new(program)
        .args(["--clock-seconds", "--no-delta", "--color=never"])
        .arg(path_of_trace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.map_err(|reason| {
        let path = path.to_owned();
        match reason.kind() {
            io::ErrorKind::NotFound => TraceFailure::NoReader { path },
            _ => TraceFailure::Reader { path, reason },
        }
    })
}

/// Returns the cause among what babeltrace2 said on stderr: the line behind its last heading, which is that of the
/// innermost cause.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_heading = |line: &&str| line.starts_with("CAUSED BY") || line.starts_with("ERROR:");
    let cause = lines.iter().rposition(is_heading).map_or(lines.last(), |heading| lines.get(heading + 1));
    cause.map_or_else(|| "it does not say why".to_owned(), |line| (*line).to_owned())
}
