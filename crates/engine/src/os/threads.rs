//! The threads of this process, by name. A middleware starts threads of its own and hands out no handles to them.

use std::fmt;
use std::fs;
use std::io;

use rustix::process::Pid;

use super::kernel;

/// A thread's number in the kernel, as `ps -L` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(pub(super) Pid);

impl ThreadId {
    /// Returns the number of the calling thread.
    #[must_use]
    pub fn current() -> Self {
        Self(kernel::thread_number())
    }

    /// Returns the number as the kernel's calls take it.
    #[must_use]
    pub fn as_raw(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Returns true for the main thread, whose name is the process's.
    pub(crate) fn is_main(self) -> bool {
        kernel::is_main(self.0)
    }

    /// Returns the thread's name in the kernel, of at most 15 bytes.
    pub(super) fn name(self) -> io::Result<String> {
        let name = fs::read(format!("/proc/self/task/{self}/comm"))?;
        // The kernel may cut the name off in the middle of a character.
        Ok(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_raw().fmt(f)
    }
}

/// Returns a name as the kernel keeps it and [`threads_of_process`] returns it.
pub(crate) fn cut_off(name: &str) -> String {
    String::from_utf8_lossy(&name.as_bytes()[..name.len().min(15)]).into_owned()
}

/// The most times that the kernel is asked for the threads. The limit matters if threads come and go all the time, or
/// if a kernel counts other threads than it lists.
const LISTINGS: usize = 100;

/// Returns all threads of this process with their names in the kernel, of at most 15 bytes. A thread that starts or
/// ends during the call may be among them or not.
///
/// # Errors
/// If the kernel does not tell.
pub fn threads_of_process() -> io::Result<Vec<(ThreadId, String)>> {
    complete(list, count, ThreadId::name)
}

/// Lists the threads until the list is complete, or [`LISTINGS`] times; after that some may be missing. The kernel
/// skips a thread in its list if the one before it ends meanwhile. So the list is compared with the kernel's count, and
/// asked for again if it is shorter.
fn complete(
    mut list: impl FnMut() -> io::Result<Vec<ThreadId>>,
    mut count: impl FnMut() -> Option<usize>,
    mut name: impl FnMut(ThreadId) -> io::Result<String>,
) -> io::Result<Vec<(ThreadId, String)>> {
    let mut threads = Vec::<(ThreadId, String)>::new();
    for _ in 0..LISTINGS {
        let mut listed = list()?;
        listed.extend(threads.iter().map(|(thread, _)| *thread));
        listed.sort_unstable_by_key(|thread| thread.as_raw());
        listed.dedup();
        let count = count();
        // A thread that has ended has no name any more. The others existed when they were counted, and still do.
        threads = listed.into_iter().filter_map(|thread| Some((thread, name(thread).ok()?))).collect();
        if count.is_none_or(|count| threads.len() >= count) {
            break;
        }
    }
    Ok(threads)
}

/// Lists the threads of this process once. The kernel may skip some.
fn list() -> io::Result<Vec<ThreadId>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        threads.extend(number.map(ThreadId));
    }
    Ok(threads)
}

/// Returns the number of threads of this process.
fn count() -> Option<usize> {
    let stat = fs::read("/proc/self/stat").ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The third field follows the name, which may contain anything. The number of threads is the twentieth.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(17)?.parse().ok()
}

#[cfg(all(test, target_os = "linux", not(rospin_portable)))]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_is_found_by_its_name() {
        for (given, known) in [("to-be-found", "to-be-found"), ("ääääääää", "äääääää\u{FFFD}")] {
            let (send, receive) = mpsc::channel();
            let thread = thread::Builder::new().name(given.to_owned());
            let thread = thread.spawn(move || {
                send.send((ThreadId::current(), threads_of_process().unwrap())).unwrap();
            });
            let (id, threads) = receive.recv().unwrap();
            thread.unwrap().join().unwrap();
            assert!(threads.contains(&(id, known.to_owned())), "{threads:?}");
            assert!(!id.is_main());
        }
    }

    /// Each thread that stays was started right after one that ends while they are listed.
    #[test]
    fn no_thread_is_passed_over_while_others_end() {
        for _ in 0..100 {
            thread::scope(|scope| {
                let start = || {
                    let (end, may_end) = mpsc::channel::<()>();
                    let (send, id) = mpsc::channel();
                    scope.spawn(move || {
                        send.send(ThreadId::current()).unwrap();
                        let _ = may_end.recv();
                    });
                    (id.recv().unwrap(), end)
                };
                let pairs = std::iter::repeat_with(|| (start(), start())).take(20);
                let (ending, staying): (Vec<_>, Vec<_>) = pairs.unzip();
                let ending = scope.spawn(move || drop(ending));
                let mut is_over = false;
                while !is_over {
                    is_over = ending.is_finished();
                    let threads = threads_of_process().unwrap();
                    let has = |id: ThreadId| threads.iter().any(|(found, _)| *found == id);
                    let lost: Vec<_> = staying.iter().filter(|(id, _)| !has(*id)).collect();
                    assert!(lost.is_empty(), "{lost:?} of {threads:?}");
                }
            });
        }
    }

    fn thread(number: i32) -> ThreadId {
        ThreadId(Pid::from_raw(number).unwrap())
    }

    /// Returns the threads that are found if the kernel gives these listings and counts, while the threads in `there`
    /// exist.
    fn completed(listings: &[&[i32]], there: &[i32], mut counts: VecDeque<usize>) -> Vec<i32> {
        let mut listings = listings.iter();
        let listed = || Ok(listings.next().expect("one listing too many").iter().copied().map(thread).collect());
        let name = |thread: ThreadId| {
            if there.contains(&thread.as_raw()) { Ok(String::new()) } else { Err(io::ErrorKind::NotFound.into()) }
        };
        let threads = complete(listed, || counts.pop_front(), name).unwrap();
        threads.into_iter().map(|(thread, _)| thread.as_raw()).collect()
    }

    #[test]
    fn a_thread_that_one_listing_lacks_is_found_in_another_one() {
        assert_eq!(completed(&[&[1, 2, 3]], &[1, 2, 3], [3].into()), [1, 2, 3]);
        // The second thread ended, and the kernel skipped the third one.
        assert_eq!(completed(&[&[1, 2, 4], &[1, 3, 4]], &[1, 3, 4], [3, 3].into()), [1, 3, 4]);
        assert_eq!(completed(&[&[1, 2, 4], &[1, 3]], &[1, 3, 4], [3, 3].into()), [1, 3, 4]);
        // A thread started between the first listing and the count, so the second listing has it.
        assert_eq!(completed(&[&[1, 2], &[1, 2, 3]], &[1, 2, 3], [3, 3].into()), [1, 2, 3]);
        // A thread ended after the count.
        assert_eq!(completed(&[&[1, 2, 3], &[1, 2]], &[1, 2], [3, 2].into()), [1, 2]);
        // The kernel gives no count.
        assert_eq!(completed(&[&[1, 2]], &[1, 2], [].into()), [1, 2]);
    }

    #[test]
    fn a_count_that_is_never_reached_ends_it_in_time() {
        assert_eq!(completed(&[&[1][..]; LISTINGS], &[1], [2; LISTINGS].into()), [1]);
    }

    #[test]
    fn the_threads_are_counted() {
        let threads = count().unwrap();
        assert!((1..10_000).contains(&threads), "{threads}");
    }
}
