//! The programs that are watched: they are found, connected to, and listened to by a thread each.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rospin_engine::Recorder;
use rospin_trace::live::{Detail, Feed, Item, Live, Place, View};
use rospin_trace::places;

use super::kernel::{Kernel, KernelThread};

/// The time after which events of a program have arrived here. Intervals end so long before now.
const DELAY_NS: u64 = 150_000_000;

/// A program in an interval.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) view: View,
    pub(crate) threads: Vec<KernelThread>,
    /// The reason for which it is not watched any more, or not yet.
    pub(crate) trouble: Option<String>,
}

impl Shown {
    /// Returns the part of a core that all its threads took.
    pub(crate) fn cpu(&self) -> f64 {
        self.threads.iter().map(|thread| thread.cpu).sum()
    }
}

/// The programs to be watched.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Wanted {
    /// The numbers of processes; all, if there are no numbers.
    pub(crate) pids: Vec<u32>,
    /// Text that the program's name has in it.
    pub(crate) name: Option<String>,
}

impl Wanted {
    fn takes(&self, pid: u32, name: Option<&str>) -> bool {
        let is_named = |wanted: &String| name.is_none_or(|name| name.contains(wanted.as_str()));
        (self.pids.is_empty() || self.pids.contains(&pid)) && self.name.as_ref().is_none_or(is_named)
    }
}

/// Data that the thread that listens to a program has received.
#[derive(Default)]
struct Heard {
    live: Live,
    /// The reason for which the program cannot be heard any more.
    end: Option<String>,
}

struct Program {
    pid: u32,
    name: String,
    heard: Arc<Mutex<Heard>>,
    kernel: Kernel,
    /// The connection, which ends with this.
    stream: Option<UnixStream>,
    /// True once the reason for which it cannot be heard any more was shown. The program is forgotten then.
    is_over: bool,
}

impl Drop for Program {
    fn drop(&mut self) {
        // Then the program records nothing for this command any more, and the thread that listens ends.
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Program {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All programs that are watched, by their sockets.
#[derive(Default)]
pub(crate) struct Programs {
    wanted: Wanted,
    /// True if views tell who waits for whom.
    explains_waits: bool,
    programs: BTreeMap<PathBuf, Program>,
}

/// Returns the name of a program by its command line, if that can be seen.
fn name_of(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let program = line.split(|byte| *byte == 0).next()?;
    let program = String::from_utf8_lossy(program).into_owned();
    let name = Path::new(&program).file_name()?.to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

impl Programs {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Asks for who waits for whom, of programs that are connected to from now on.
    pub(super) fn explain_waits(&mut self) {
        self.explains_waits = true;
    }

    /// Connects to each wanted program that is new, starts a thread that listens to it, and forgets programs that
    /// ended.
    pub(crate) fn look(&mut self) {
        // One that ended is tried again if its socket is still there: perhaps this command was too slow for it.
        self.programs.retain(|_, program| !program.is_over);
        for (pid, socket) in places::programs() {
            if self.programs.contains_key(&socket) {
                continue;
            }
            let name = name_of(pid);
            if !self.wanted.takes(pid, name.as_deref()) {
                continue;
            }
            let stream = match places::connect(&socket) {
                // The program has ended, and its socket is removed.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => continue,
                stream => stream,
            };
            let heard = Arc::new(Mutex::new(Heard::default()));
            let (name, kernel) = (name.unwrap_or_default(), Kernel::default());
            let kept = stream.as_ref().ok().and_then(|stream| stream.try_clone().ok());
            let program = Program { pid, name, heard: Arc::clone(&heard), kernel, stream: kept, is_over: false };
            {
                let live = &mut program.lock().live;
                if self.explains_waits {
                    live.explain_waits();
                }
                live.view(now().saturating_sub(DELAY_NS));
            }
            let listen = move || {
                let end = stream
                    .and_then(|stream| listen(stream, &heard))
                    .map_or_else(|error| Some(error.to_string()), |()| None);
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.end.get_or_insert(end.unwrap_or_else(|| "the program ended".to_owned()));
            };
            if thread::Builder::new().name("listen".to_owned()).spawn(listen).is_ok() {
                self.programs.insert(socket, program);
            }
        }
    }

    /// Ends the interval, and returns what the programs did in it.
    pub(crate) fn show(&mut self) -> Vec<Shown> {
        let now = now();
        let show = |program: &mut Program| {
            let (view, trouble) = {
                let mut heard = program.lock();
                (heard.live.view(now.saturating_sub(DELAY_NS)), heard.end.clone())
            };
            program.is_over = trouble.is_some();
            let threads = program.kernel.look(program.pid, now);
            let name = if program.name.is_empty() { view.process.name.clone() } else { program.name.clone() };
            Shown { pid: program.pid, name, view, threads, trouble }
        };
        let shown = self.programs.values_mut().map(show);
        shown.filter(|shown| self.wanted.takes(shown.pid, Some(&shown.name))).collect()
    }

    /// Returns the details of the callback in that place of the program; `None` if one of them is not there any more.
    pub(crate) fn detail(&self, pid: u32, place: Place) -> Option<Detail> {
        let program = self.programs.values().find(|program| program.pid == pid)?;
        program.lock().live.detail(place)
    }
}

/// Returns the time on the steady clock of the machine, which the events have.
fn now() -> u64 {
    Recorder::steady_ns()
}

/// Asks a program for its events, and adds them to `heard` until the program ends.
fn listen(mut stream: UnixStream, heard: &Mutex<Heard>) -> io::Result<()> {
    stream.write_all(b"live\n")?;
    let (mut feed, mut bytes) = (Feed::default(), vec![0; 1 << 18]);
    loop {
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let Heard { live, end } = &mut *heard;
        let taken = feed.push(&bytes[..count], |item| match item {
            Item::End(reason) => *end = Some(reason),
            item => live.take(item),
        });
        taken.map_err(io::Error::other)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_wanted_by_number_and_name() {
        let wanted = |pids: &[u32], name: &str| Wanted { pids: pids.to_vec(), name: Some(name.to_owned()) };
        assert!(Wanted::default().takes(7, None));
        assert!(wanted(&[], "rob").takes(7, Some("my_robot")) && !wanted(&[], "rob").takes(7, Some("camera")));
        assert!(wanted(&[6, 7], "").takes(7, Some("robot")) && !wanted(&[6], "").takes(7, Some("robot")));
        // A name that cannot be seen yet is found out by watching.
        assert!(wanted(&[7], "robot").takes(7, None));
        assert_eq!(name_of(u32::MAX), None);
        assert!(name_of(std::process::id()).is_some());
    }
}
