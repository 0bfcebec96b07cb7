//! Threads that a middleware starts: a message is only as urgent as the least urgent thread that it passes.
//!
//! If executors are real-time, the threads of their middleware get a priority above all callbacks, unless a deployment
//! file has a `[[thread]]` line for them. They get it as soon as they are started
//! ([`Context::start_threads`](crate::Context::start_threads)), and again, by name, when an executor begins to spin.
//! All of a middleware's threads are raised, not only those that carry messages: they share locks that inherit no
//! priority. If a thread cannot be raised, or the file has another setting for it, that is logged once.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rospin_core::OsScheduling;

use crate::os::{ThreadOptions, scheduling_of, threads_of_process};

/// The highest priority that a middleware's threads get without a line in the deployment file: the kernel's watchdogs
/// have 99.
const HIGHEST: u8 = 98;

/// Role of a middleware's thread on the way that messages take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ThreadRole {
    /// Messages pass this thread: it reads or writes the network, or hands messages on.
    Carries,
    /// No messages pass this thread: it finds other processes, answers for them or cleans up. It shares locks with
    /// threads that carry messages.
    Serves,
}

/// Kind of threads that a middleware starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForeignThread {
    /// Beginning of the threads' names in the kernel if it ends in `*`, otherwise the whole name.
    pub name: &'static str,
    /// Role of the threads on the way that messages take.
    pub role: ThreadRole,
}

impl ForeignThread {
    /// Returns a kind of threads that messages pass.
    #[must_use]
    pub const fn carries(name: &'static str) -> Self {
        Self { name, role: ThreadRole::Carries }
    }

    /// Returns a kind of threads that serve those that messages pass.
    #[must_use]
    pub const fn serves(name: &'static str) -> Self {
        Self { name, role: ThreadRole::Serves }
    }

    /// Returns true if a thread that the kernel calls `name` is of this kind.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.strip_suffix('*').map_or(name == self.name, |beginning| name.starts_with(beginning))
    }
}

/// The kinds of threads that a middleware starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForeignThreads {
    /// Name of the middleware.
    pub middleware: &'static str,
    /// Kinds of the middleware's threads.
    pub kinds: &'static [ForeignThread],
}

/// List of the middlewares of a context that have reported their threads.
#[derive(Debug, Default)]
pub struct ForeignList(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    of: Vec<ForeignThreads>,
    /// The last report of threads that are not above the executors, so that the same report is not returned again.
    told: String,
}

impl ForeignList {
    /// Adds a middleware, with the threads that it starts. Does nothing if it was added before, since its threads may
    /// end and be started again.
    pub fn add(&self, threads: ForeignThreads) {
        let mut known = self.lock();
        if !known.of.contains(&threads) {
            known.of.push(threads);
        }
    }

    /// Gives the threads a priority above executors of up to the priority `highest`, except threads that `is_planned`
    /// says have a line in the deployment file. Returns a report of the threads that are not above them after that,
    /// with true if one of them has no line, so that a right is missing. Returns `None` if all threads are above them,
    /// or if the report is the same as last time.
    pub(crate) fn raise(&self, highest: u8, is_planned: impl Fn(&str) -> bool) -> Option<(String, bool)> {
        let late = self.late(highest, is_planned);
        let told = describe(&late, highest)?;
        let mut known = self.lock();
        if known.told == told {
            return None;
        }
        known.told.clone_from(&told);
        Some((told, late.iter().any(|thread| !thread.is_planned)))
    }

    /// Raises the threads above the priority `highest`, except those that are planned. Returns those that are not above
    /// it then.
    fn late(&self, highest: u8, is_planned: impl Fn(&str) -> bool) -> Vec<Late> {
        let known = self.lock().of.clone();
        let find = |name: &str| {
            known.iter().find_map(|of| Some((of.middleware, of.kinds.iter().find(|kind| kind.is(name))?.role)))
        };
        let mut late = Vec::new();
        for (thread, name) in threads_of_process().unwrap_or_default() {
            let Some((middleware, role)) = find(&name).filter(|_| !thread.is_main()) else { continue };
            // A thread that has just ended has no scheduling.
            let Ok(has) = scheduling_of(thread) else { continue };
            if is_above(has, highest) {
                continue;
            }
            let is_planned = is_planned(&name);
            let reason = if is_planned {
                "the deployment file says so in [[thread]]".to_owned()
            } else {
                let report = above(highest).apply_to(thread);
                let Some(shortfall) = report.shortfalls.first() else { continue };
                shortfall.to_string()
            };
            late.push(Late { middleware, name, role, has: has.to_string(), reason, is_planned });
        }
        late
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // A panic leaves nothing half changed under this lock, so its poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Middleware's thread whose priority is not above the executors'.
#[derive(Clone, Debug)]
struct Late {
    middleware: &'static str,
    name: String,
    role: ThreadRole,
    /// Scheduling of the thread, as text.
    has: String,
    /// Reason for which the thread is not above the executors.
    reason: String,
    /// True if the deployment file has a line for the thread.
    is_planned: bool,
}

/// Returns options that place a thread above executors of up to the priority `highest`, at [`HIGHEST`] at most.
pub(crate) fn above(highest: u8) -> ThreadOptions {
    let priority = highest.saturating_add(1).min(HIGHEST);
    ThreadOptions::new().inherited().scheduling(OsScheduling::Fifo { priority })
}

/// Returns the real-time priority of a thread; `None` if it is an ordinary thread. A reservation (`SCHED_DEADLINE`)
/// counts as the highest priority that a middleware's thread can still be above.
pub(crate) fn priority(scheduling: OsScheduling) -> Option<u8> {
    match scheduling {
        OsScheduling::Fifo { priority } | OsScheduling::RoundRobin { priority } => Some(priority),
        // Only another reservation runs before a thread with a reservation.
        OsScheduling::Deadline { .. } => Some(HIGHEST - 1),
        _ => None,
    }
}

fn is_above(has: OsScheduling, highest: u8) -> bool {
    matches!(has, OsScheduling::Deadline { .. }) || priority(has).is_some_and(|has| has > highest || has >= HIGHEST)
}

/// Returns a text that says which threads are not above the executors, and why; `None` if `late` is empty.
fn describe(late: &[Late], highest: u8) -> Option<String> {
    // The report names a thread that carries messages, if there is one.
    let first = late.iter().find(|thread| thread.role == ThreadRole::Carries).or(late.first())?;
    let mut names: Vec<&str> = late.iter().map(|thread| thread.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = format!(
        "executors are real-time, with priorities up to {highest}, but threads of {} are not above them (",
        first.middleware
    );
    let _ = write!(text, "{} of `{}`", first.has, names.join("`, `"));
    let _ = write!(text, "): messages wait for whatever those wait for; {}", first.reason);
    Some(text)
}

#[cfg(test)]
mod tests {
    use crate::os::ThreadId;

    use super::*;

    const KINDS: &[ForeignThread] = &[ForeignThread::carries("recv*"), ForeignThread::serves("gc")];

    const TESTED: ForeignThreads =
        ForeignThreads { middleware: "test", kinds: &[ForeignThread::carries("foreign-recv")] };

    #[test]
    fn names_are_whole_or_begin_so() {
        assert!(KINDS[0].is("recvMC") && KINDS[0].is("recv") && !KINDS[0].is("rec"));
        assert!(KINDS[1].is("gc") && !KINDS[1].is("gc-1"));
    }

    #[test]
    fn middlewares_are_above_all_callbacks_and_below_the_watchdogs() {
        let asked = |highest| {
            above(highest) == ThreadOptions::new().inherited().scheduling(OsScheduling::Fifo { priority: 98 })
        };
        assert!(asked(97) && asked(98) && asked(99) && !asked(20));
        assert!(
            is_above(OsScheduling::Fifo { priority: 21 }, 20) && !is_above(OsScheduling::Fifo { priority: 20 }, 20)
        );
        assert!(!is_above(OsScheduling::Other { nice: -20 }, 1));
        assert!(is_above(OsScheduling::Fifo { priority: 98 }, 99));
    }

    #[test]
    fn threads_that_are_late_are_told_with_the_reason() {
        let thread = |name: &str, role, reason: &str| Late {
            middleware: "DDS",
            name: name.to_owned(),
            role,
            has: "SCHED_OTHER".to_owned(),
            reason: reason.to_owned(),
            is_planned: false,
        };
        let late =
            [thread("gc", ThreadRole::Serves, "no"), thread("recv", ThreadRole::Carries, "give it CAP_SYS_NICE")];
        let told = describe(&late, 20).unwrap();
        for expected in ["up to 20", "DDS", "`gc`, `recv`", "give it CAP_SYS_NICE", "SCHED_OTHER"] {
            assert!(told.contains(expected), "{told}");
        }
        assert_eq!(describe(&[], 20), None);
    }

    #[test]
    fn a_middleware_that_comes_again_is_in_the_list_once() {
        let known = ForeignList::default();
        known.add(TESTED);
        known.add(TESTED);
        assert_eq!(known.lock().of, [TESTED]);
    }

    /// With the rights for it, the thread is raised; without them, the report names it. The test accepts both.
    #[test]
    #[cfg(all(target_os = "linux", not(rospin_portable)))]
    fn a_thread_is_raised_above_a_real_time_executor_or_told_of() {
        let known = ForeignList::default();
        known.add(TESTED);
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let (send, id) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("foreign-recv".to_owned()).spawn(move || {
            send.send(ThreadId::current()).unwrap();
            let _ = may_end.recv();
        });
        let id = id.recv().unwrap();
        let (told, is_right_missing) = known.raise(3, |_| true).expect("the file wants it so");
        assert!(told.contains("[[thread]]") && !is_right_missing, "{told}");
        assert!(!scheduling_of(id).unwrap().is_real_time());
        let told = known.raise(3, |_| false);
        let has = scheduling_of(id).unwrap();
        assert_ne!(has == OsScheduling::Fifo { priority: 4 }, told.is_some(), "{has}");
        assert!(told.is_none_or(|(told, is_right_missing)| told.contains("`foreign-recv`") && is_right_missing));
        assert_eq!(known.raise(3, |_| false), None, "it is told once");
        drop(end);
        thread.unwrap().join().unwrap();
    }
}
