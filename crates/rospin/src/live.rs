//! The door of a program through which others see what it does while it runs: a Unix socket, which one thread listens
//! at.
//!
//! That thread sleeps while nobody comes, and the recorder is off. Each connection has a thread of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rospin_engine::Recorder;
use rospin_trace::{FileSink, Flow, ProcessName, StreamSink, end_of_stream, places};

/// The largest number of connections that are served at the same time. Others are told so, up to four times this number
/// in all; those beyond it are closed without a word.
const CONNECTIONS: usize = 8;
/// The largest number of bytes that wait for a watcher: some seconds of a busy program.
const BUFFER: usize = 16 << 20;
/// The longest time for which a thread waits for a request, or for room in the socket.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes of a request, which may have a path in it.
const REQUEST: usize = 8 << 10;

/// The number of the process that opened a door, and the path of its socket.
static DOOR: Mutex<Option<(u32, PathBuf)>> = Mutex::new(None);

/// Opens the door of the process, so that `rospin top` and `rospin trace record --pid` reach it: the socket
/// `rospin/PID.sock` in `$XDG_RUNTIME_DIR`, or else `/tmp/rospin-UID/PID.sock`, for its user alone. Does nothing if the
/// door is open already, or if `ROSPIN_LIVE` is 0. [`init`](crate::init) calls it.
///
/// The door costs a thread that sleeps. Where the socket cannot be opened, the program goes on without a door, and a
/// log record for debugging says why.
pub fn open_live_door() {
    if std::env::var_os(places::LIVE).is_some_and(|value| value == "0") {
        return;
    }
    let mut door = DOOR.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    // A forked process has a copy of its parent's memory, and not the thread that listens.
    if door.as_ref().is_some_and(|(of, _)| *of == process) {
        return;
    }
    match open(process) {
        Ok(socket) => *door = Some((process, socket)),
        Err(error) => log::debug!(target: "rospin", "the program cannot be watched while it runs: {error}"),
    }
}

fn open(process: u32) -> io::Result<PathBuf> {
    let folder = places::own_folder()?;
    places::make(&folder)?;
    let socket = folder.join(format!("{process}.sock"));
    let listener = bind(&socket)?;
    let listen = move || {
        places::sweep(&folder);
        listen(&listener);
    };
    thread::Builder::new().name("rospin-live".to_owned()).spawn(listen)?;
    Ok(socket)
}

/// Creates the socket in place of the one of an earlier process with the same number, unless a process still listens at
/// that.
fn bind(socket: &Path) -> io::Result<UnixListener> {
    // Processes in two containers may have the same number. The one that lives keeps its socket.
    if places::connect(socket).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    // It gets its name once somebody listens: watchers remove sockets at which nobody does.
    let fresh = socket.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let listener = UnixListener::bind(&fresh)?;
    fs::rename(&fresh, socket)?;
    Ok(listener)
}

fn listen(listener: &UnixListener) {
    let connections = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // The process has no free file descriptor.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let place = Place::of(&connections);
        if place.number > 4 * CONNECTIONS {
            continue;
        }
        let attend = move || {
            // The connection ended, which is no news.
            let _ = attend(stream, &place, &Recorder::of_process());
        };
        let _ = thread::Builder::new().name("rospin-live-con".to_owned()).spawn(attend);
    }
}

/// A connection's place among those of now. It is free again when this is dropped.
struct Place {
    connections: Arc<AtomicUsize>,
    /// The number of connections when this one came, with itself.
    number: usize,
}

impl Place {
    fn of(connections: &Arc<AtomicUsize>) -> Self {
        let number = connections.fetch_add(1, Ordering::Relaxed) + 1;
        Self { connections: Arc::clone(connections), number }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does what the first line of a connection asks for, or refuses it if there are too many connections.
fn attend(mut stream: UnixStream, place: &Place, recorder: &Recorder) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(line) = read_line(&mut stream)? else { return Ok(()) };
    if place.number > CONNECTIONS {
        return refuse(&mut stream, &format!("{CONNECTIONS} others watch this program already"));
    }
    let space = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let word = &line[..space];
    let rest = line.get(space + 1..).unwrap_or_default();
    match word {
        b"live" => live(stream, recorder),
        b"record" => record(stream, Path::new(OsStr::from_bytes(rest)), recorder),
        b"trigger" => {
            let reason = String::from_utf8_lossy(rest);
            recorder.trigger(if rest.is_empty() { "somebody asked for it" } else { &*reason });
            stream.write_all(b"ok\n")
        }
        _ => refuse(&mut stream, "the request must be `live`, `record FILE` or `trigger REASON`"),
    }
}

/// Sends what is recorded, until the watcher is gone, or too slow.
fn live(mut stream: UnixStream, recorder: &Recorder) -> io::Result<()> {
    let (sink, bytes) = StreamSink::new(&ProcessName::of_this(Recorder::steady_ns()), BUFFER);
    let handle = match recorder.start(sink) {
        Ok(handle) => handle,
        Err(error) => return refuse(&mut stream, &error.to_string()),
    };
    // A watcher says nothing, so that a read tells that it is gone.
    let mut send = || -> io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_millis(1)))?;
        let mut piece = Vec::new();
        loop {
            let flow = bytes.take(&mut piece, Duration::from_millis(500));
            stream.write_all(&piece)?;
            let reason = match flow {
                Flow::GoesOn if is_gone(&mut stream) => return Ok(()),
                Flow::GoesOn => continue,
                Flow::Ended => "the program stopped its recorder",
                Flow::TooSlow => "the watcher was too slow for what the program does",
            };
            return stream.write_all(&end_of_stream(reason));
        }
    };
    let sent = send();
    handle.stop();
    sent
}

/// Records into a file until the connection says `stop`, or ends.
fn record(mut stream: UnixStream, path: &Path, recorder: &Recorder) -> io::Result<()> {
    if !path.is_absolute() {
        return refuse(&mut stream, "`record` needs a path that begins with /");
    }
    let sink = match FileSink::create(path, &ProcessName::of_this(Recorder::steady_ns())) {
        Ok(sink) => sink,
        Err(error) => return refuse(&mut stream, &format!("{} cannot be created: {error}", path.display())),
    };
    let handle = match recorder.start(sink) {
        Ok(handle) => handle,
        Err(error) => return refuse(&mut stream, &error.to_string()),
    };
    let wait = |stream: &mut UnixStream| {
        stream.write_all(b"ok\n")?;
        stream.set_read_timeout(None)?;
        read_line(stream)
    };
    let waited = wait(&mut stream);
    handle.stop();
    waited?;
    stream.write_all(b"ok\n")
}

fn refuse(stream: &mut UnixStream, reason: &str) -> io::Result<()> {
    stream.write_all(format!("error: {}\n", reason.replace('\n', " ")).as_bytes())
}

/// Returns true if the other end is closed.
fn is_gone(stream: &mut UnixStream) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};

    let waits = |error: &io::Error| matches!(error.kind(), WouldBlock | TimedOut | Interrupted);
    match stream.read(&mut [0; 64]) {
        Ok(count) => count == 0,
        Err(error) => !waits(&error),
    }
}

/// Returns a line without its end; `None` if the connection ended before.
///
/// # Errors
/// If the line does not come in time, or is longer than [`REQUEST`].
fn read_line(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < REQUEST {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if byte == *b"\n" {
            return Ok(Some(line));
        }
        line.push(byte[0]);
    }
    Err(io::ErrorKind::InvalidData.into())
}
