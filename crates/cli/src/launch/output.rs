//! The output of a launch: lines of its processes and its own, on the terminal and in files.
//!
//! A thread reads each stream of a process, and writes what it reads to files at once. The terminal has a queue, and a
//! thread of its own: if nobody reads there, lines are left out and counted, and neither a process nor the launch
//! waits.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::ZonedDateTime;

/// Lines that may wait for the terminal.
const QUEUE: usize = 10_000;
/// Longest part of a line that is read as one.
const LINE_BYTES: u64 = 64 << 10;
/// Time that the terminal has at the end to show a line that waits.
const LAST_LINES: Duration = Duration::from_millis(200);
/// Time that it has for all of them. Whoever reads so slowly finds the rest in the files.
const ALL_LAST_LINES: Duration = Duration::from_secs(5);

/// Importance of one of the launch's own lines, as in logs of ROS 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    const fn text(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }

    /// Returns the number of its colour on a terminal; `None` for the ordinary one.
    const fn colour(self) -> Option<u8> {
        match self {
            Self::Info => None,
            Self::Warning => Some(33),
            Self::Error => Some(31),
        }
    }
}

/// Colours of the names of processes.
const COLOURS: [u8; 6] = [36, 32, 35, 34, 33, 96];

/// Where lines go. Clones write to the same places.
#[derive(Clone)]
pub(super) struct Output {
    screen: SyncSender<String>,
    left_out: Arc<AtomicU64>,
    /// Number of lines that wait for the terminal.
    waiting: Arc<AtomicU64>,
    /// Log of everything; `None` if it cannot be written.
    log: Arc<Mutex<Option<File>>>,
    /// Folder of the logs; `None` if there is none.
    folder: Option<PathBuf>,
    is_coloured: bool,
}

/// The thread that writes to the terminal.
pub(super) struct Screen {
    thread: JoinHandle<()>,
    left_out: Arc<AtomicU64>,
    waiting: Arc<AtomicU64>,
}

impl Output {
    /// Begins output to stdout and to files in a new folder below `logs`.
    pub(super) fn start(logs: &Path) -> io::Result<(Self, Screen)> {
        let (screen, lines) = mpsc::sync_channel(QUEUE);
        let left_out = Arc::new(AtomicU64::new(0));
        let waiting = Arc::new(AtomicU64::new(0));
        let (seen, shown) = (Arc::clone(&left_out), Arc::clone(&waiting));
        // Not by way of `io::stdout()`, whose lock the command has.
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            show(&lines, &seen, &shown, stdout);
        })?;
        let is_coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        let folder = logs.join(folder_name(&ZonedDateTime::now()));
        let file = fs::create_dir_all(&folder).and_then(|()| File::create(folder.join("launch.log")));
        let (folder, log, trouble) = match file {
            Ok(file) => (Some(folder), Some(file), None),
            Err(error) => (None, None, Some(format!("there are no log files: {}: {error}", folder.display()))),
        };
        let screen_thread = Screen { thread, left_out: Arc::clone(&left_out), waiting: Arc::clone(&waiting) };
        let output = Self { screen, left_out, waiting, log: Arc::new(Mutex::new(log)), folder, is_coloured };
        if let Some(folder) = &output.folder {
            output.tell(Level::Info, "launch", &format!("All log files can be found below {}", folder.display()));
        }
        if let Some(trouble) = trouble {
            output.tell(Level::Warning, "launch", &trouble);
        }
        Ok((output, screen_thread))
    }

    /// Writes one of the launch's own lines, about `of`.
    pub(super) fn tell(&self, level: Level, of: &str, text: &str) {
        let line = format!("[{}] [{of}]: {text}", level.text());
        let coloured = level.colour().filter(|_| self.is_coloured).map(|colour| paint(&line, colour));
        self.write(&line, coloured);
    }

    /// Writes a line of the process with that number.
    fn say(&self, number: usize, label: &str, text: &str) {
        let line = format!("[{label}] {text}");
        let coloured = || format!("{} {text}", paint(&format!("[{label}]"), COLOURS[number % COLOURS.len()]));
        self.write(&line, if self.is_coloured { Some(coloured()) } else { None });
    }

    fn write(&self, line: &str, coloured: Option<String>) {
        let now = jiff::Timestamp::now();
        let stamped = format!("{}.{:09} {line}\n", now.as_second(), now.subsec_nanosecond());
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = log.as_mut().and_then(|log| log.write_all(stamped.as_bytes()).err());
        if failed.is_some() {
            *log = None;
        }
        drop(log);
        if let Some(error) = failed {
            self.show(format!("[WARNING] [launch]: the log file ends here: {error}"));
        }
        self.show(coloured.unwrap_or_else(|| line.to_owned()));
    }

    /// Puts a line into the terminal's queue, or counts it as left out.
    fn show(&self, line: String) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let Err(error) = self.screen.try_send(line) else { return };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        match error {
            TrySendError::Full(_) => {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
            // Nobody can read stdout any more. The files have everything.
            TrySendError::Disconnected(_) => {}
        }
    }

    /// Starts a thread that passes on what a process writes. What it returns is disconnected once the stream has ended.
    pub(super) fn follow(&self, number: usize, label: &str, stream: impl Read + Send + 'static) -> Receiver<()> {
        let (end, ended) = mpsc::sync_channel(0);
        let output = self.clone();
        let label = label.to_owned();
        let file = self.file_of(&label);
        let read = move || {
            output.pass_on(number, &label, stream, file);
            drop(end);
        };
        // Without a thread, the process finds nobody who reads, as if its terminal had gone.
        let _ = thread::Builder::new().name("output".to_owned()).spawn(read);
        ended
    }

    /// Opens the log of a process. Both of its streams append to it, and those of later starts.
    fn file_of(&self, label: &str) -> Option<File> {
        let path = self.folder.as_ref()?.join(format!("{}.log", label.replace('/', ".")));
        File::options().create(true).append(true).open(path).ok()
    }

    fn pass_on(&self, number: usize, label: &str, stream: impl Read, mut file: Option<File>) {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match stream.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if bytes.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
            if file.as_mut().is_some_and(|file| file.write_all(&bytes).is_err()) {
                self.tell(Level::Warning, label, "its log file ends here: it cannot be written");
                file = None;
            }
            let text = String::from_utf8_lossy(&bytes);
            self.say(number, label, text.trim_end_matches(['\n', '\r']));
        }
    }
}

impl Screen {
    /// Waits until all lines are shown, or for a moment if nobody reads them, and says on stderr how many are not. All
    /// outputs should have been dropped; one of a process that holds its stream may be left.
    pub(super) fn finish(self, output: Output) {
        drop(output);
        let end = Instant::now() + ALL_LAST_LINES;
        let (mut count, mut until) = (u64::MAX, end);
        while !self.thread.is_finished() && Instant::now() < until {
            let now = self.waiting.load(Ordering::Relaxed);
            if now != count {
                (count, until) = (now, end.min(Instant::now() + LAST_LINES));
            }
            thread::sleep(Duration::from_millis(1));
        }
        if self.thread.is_finished() && self.waiting.load(Ordering::Relaxed) > 0 {
            // Stdout has gone.
            return;
        }
        let rest = self.waiting.load(Ordering::Relaxed) + self.left_out.load(Ordering::Relaxed);
        if rest > 0 {
            // If stderr has gone, too, nobody is left to tell.
            let _ = writeln!(io::stderr(), "warning: the last {rest} lines are only in the log files");
        }
    }
}

/// Writes lines to stdout, and how many were left out.
fn show(lines: &Receiver<String>, left_out: &AtomicU64, waiting: &AtomicU64, mut stdout: File) {
    for line in lines {
        let mut text = line;
        text.push('\n');
        let count = left_out.swap(0, Ordering::Relaxed);
        if count > 0 {
            text.push_str(&format!(
                "[WARNING] [launch]: {count} lines are not shown here, since nobody read in time\n"
            ));
        }
        if stdout.write_all(text.as_bytes()).is_err() {
            return;
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

fn paint(text: &str, colour: u8) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// Returns the name of a launch's folder, which no other launch on this machine has.
fn folder_name(now: &ZonedDateTime) -> String {
    format!("{}-{}", now.strftime("%Y-%m-%d-%H-%M-%S-%6f"), std::process::id())
}

/// Returns the folder of all logs, as ROS 2 chooses it.
pub(super) fn log_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("ROS_LOG_DIR") {
        return folder;
    }
    if let Some(home) = variable("ROS_HOME") {
        return home.join("log");
    }
    match std::env::home_dir() {
        Some(home) => home.join(".ros/log"),
        None => std::env::temp_dir().join("ros-log"),
    }
}
