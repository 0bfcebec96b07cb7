//! The threads of this process, by name: a middleware starts its own, and nobody hands them out.

use std::fmt;
use std::fs;
use std::io;

use rustix::thread::Pid;

/// A thread's number in the kernel, as `ps -L` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(pub(super) Pid);

impl ThreadId {
    /// The calling thread's.
    #[must_use]
    pub fn current() -> Self {
        Self(rustix::thread::gettid())
    }

    /// The number.
    #[must_use]
    pub fn as_raw(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Whether it is the thread that the process began with, whose name is the process's.
    pub(crate) fn is_main(self) -> bool {
        self.0 == rustix::process::getpid()
    }

    /// Its name in the kernel, of at most 15 bytes.
    pub(super) fn name(self) -> io::Result<String> {
        let name = fs::read(format!("/proc/self/task/{self}/comm"))?;
        // The kernel cuts it off in the middle of a character, too.
        Ok(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_raw().fmt(f)
    }
}

/// A name as the kernel keeps it and [`threads_of_process`] tells it.
pub(crate) fn cut_off(name: &str) -> String {
    String::from_utf8_lossy(&name.as_bytes()[..name.len().min(15)]).into_owned()
}

/// All threads of this process with their names in the kernel, which has room for 15 bytes of each.
///
/// # Errors
/// Where the kernel does not tell.
pub fn threads_of_process() -> io::Result<Vec<(ThreadId, String)>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        // One that ended meanwhile has no name any more.
        if let Some(thread) = number.map(ThreadId)
            && let Ok(name) = thread.name()
        {
            threads.push((thread, name));
        }
    }
    threads.sort_by_key(|(thread, _)| thread.as_raw());
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_by_its_name() {
        for (given, known) in [("to-be-found", "to-be-found"), ("ääääääää", "äääääää\u{FFFD}")] {
            let (send, receive) = std::sync::mpsc::channel();
            let thread = std::thread::Builder::new().name(given.to_owned());
            let thread = thread.spawn(move || {
                send.send((ThreadId::current(), threads_of_process().unwrap())).unwrap();
            });
            let (id, threads) = receive.recv().unwrap();
            thread.unwrap().join().unwrap();
            assert!(threads.contains(&(id, known.to_owned())), "{threads:?}");
            assert!(!id.is_main());
        }
    }
}
