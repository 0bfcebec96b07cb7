//! Applies settings to threads, reads them back from the kernel, and undoes them.

use std::io;

use rospin_core::OsScheduling;
use rustix::io::Errno;
use rustix::process::Pid;

use super::cores::CoreSet;
use super::kernel::{self, Attributes, Saved};
use super::memory::prefault_stack;
use super::options::ThreadOptions;
use super::report::{Shortfall, ThreadReport};
use super::threads::ThreadId;

/// Returns the kernel's scheduling of a thread of this process.
///
/// # Errors
/// If the thread has ended.
pub fn scheduling_of(thread: ThreadId) -> io::Result<OsScheduling> {
    Ok(kernel::read(Some(thread.0))?.scheduling)
}

impl ThreadOptions {
    /// Applies the options to the calling thread, and reports the settings that the thread has then.
    pub fn apply(&self) -> ThreadReport {
        let mut shortfalls = self.apply_from_outside(None);
        if let Some(slack) = self.timer_slack {
            let slack_ns = u64::try_from(slack.as_nanos()).unwrap_or(u64::MAX).max(1);
            let set = kernel::set_timer_slack(slack_ns);
            let is_so = || is_real_time(None) || kernel::timer_slack().is_ok_and(|now| now == slack_ns);
            if let Some(reason) = failed(set, is_so) {
                let fix = "give a slack that the kernel takes".to_owned();
                shortfalls.push(Shortfall { asked: format!("a timer slack of {slack:?}"), reason, fix });
            }
        }
        let touched = prefault_stack(self.stack_prefault);
        if touched < self.stack_prefault {
            let asked = format!("{} KiB of stack from the beginning", self.stack_prefault / 1024);
            let reason = format!("it has {} KiB to spare", touched / 1024);
            let fix = "ask for less, or start it with a larger stack (`RUST_MIN_STACK`; `ulimit -s`)".to_owned();
            shortfalls.push(Shortfall { asked, reason, fix });
        }
        report(ThreadId::current(), shortfalls)
    }

    /// Applies scheduling and cores to another thread of this process. Only a thread itself can set its slack and its
    /// stack.
    pub fn apply_to(&self, thread: ThreadId) -> ThreadReport {
        report(thread, self.apply_from_outside(Some(thread.0)))
    }

    /// Applies the options to the calling thread until the guard that it returns is dropped.
    pub fn apply_for_now(&self) -> Applied {
        let before = Before {
            scheduling: self.scheduling.and_then(|_| Saved::new().ok()),
            cores: self.cores.as_ref().and_then(|_| CoreSet::of(None).ok()),
            // A thread loses its timer slack when it becomes a real-time thread.
            slack_ns: (self.scheduling.is_some() || self.timer_slack.is_some())
                .then(kernel::timer_slack)
                .and_then(Result::ok),
        };
        Applied { report: self.apply(), before, _not_send: std::marker::PhantomData }
    }

    /// Applies the options to the calling thread, for threads that it is about to create, until the guard is dropped. A
    /// scheduling that the thread could not give up again is left out, and reported as a shortfall.
    pub(crate) fn apply_to_inherit(&self) -> Applied {
        let Some(scheduling) = self.scheduling.filter(|_| !self.can_be_undone()) else {
            return self.apply_for_now();
        };
        let rest = Self { scheduling: None, ..self.clone() };
        let mut applied = rest.apply_for_now();
        let reason = "their creator would keep it".to_owned();
        let fix = "run with CAP_SYS_NICE, or give it to them by their own names".to_owned();
        applied.report.shortfalls.push(Shortfall { asked: scheduling.to_string(), reason, fix });
        applied
    }

    /// Returns true if a thread that gets this scheduling can give it up again. Tries it on a thread that it starts.
    fn can_be_undone(&self) -> bool {
        let options = Self { scheduling: self.scheduling, ..Self::default() };
        let attempt = move || {
            let before = kernel::read(None)?.scheduling;
            let saved = Saved::new()?;
            let _ = options.apply();
            let _ = saved.give_back();
            Ok::<_, io::Error>(kernel::read(None)?.scheduling == before)
        };
        let attempt = std::thread::Builder::new().spawn(attempt).ok();
        attempt.and_then(|attempt| attempt.join().ok()).is_some_and(|same| same.unwrap_or(false))
    }

    /// Sets the cores, then the scheduling. The kernel refuses a deadline reservation to a thread that may not use all
    /// cores; in this order the error says so.
    fn apply_from_outside(&self, thread: Option<Pid>) -> Vec<Shortfall> {
        let cores = self.cores.as_ref().and_then(|cores| apply_cores(thread, cores));
        let scheduling = self.scheduling.and_then(|scheduling| self.apply_scheduling(thread, scheduling));
        [cores, scheduling].into_iter().flatten().collect()
    }

    fn apply_scheduling(&self, thread: Option<Pid>, scheduling: OsScheduling) -> Option<Shortfall> {
        let asked = scheduling.to_string();
        if let Err(error) = scheduling.check() {
            return Some(Shortfall { asked, reason: "no kernel has it".to_owned(), fix: error.to_string() });
        }
        let wanted = Attributes { scheduling, reset_on_fork: !self.inherited };
        let set = kernel::write(thread, wanted);
        let fix = set.as_ref().err().map_or_else(String::new, |error| fix(scheduling, error));
        let is_so = || kernel::read(thread).is_ok_and(|now| now.scheduling == scheduling);
        let reason = failed(set, is_so)?;
        Some(Shortfall { asked, reason, fix })
    }
}

fn apply_cores(thread: Option<Pid>, cores: &CoreSet) -> Option<Shortfall> {
    let asked = format!("on cores {cores}");
    let missing = cores.missing();
    if cores.is_empty() || !missing.is_empty() {
        let online = CoreSet::online().map_or_else(|_| "some".to_owned(), |online| online.to_string());
        let reason = format!("there is no core {missing}").trim_end().to_owned();
        return Some(Shortfall { asked, reason, fix: format!("choose from {online}") });
    }
    let reason = failed(cores.apply(thread), || CoreSet::of(thread).is_ok_and(|now| now == *cores))?;
    let fix = "choose from the cores that its cpuset (container, cgroup) lets it use".to_owned();
    Some(Shortfall { asked, reason, fix })
}

/// Returns the reason for which a setting is not in place, or `None` if it is: `set` is the result of setting it, and
/// `is_so` reads it back.
fn failed(set: io::Result<()>, is_so: impl FnOnce() -> bool) -> Option<String> {
    match set {
        Err(error) => Some(error.to_string()),
        Ok(()) if !is_so() => Some("the kernel took it and says otherwise".to_owned()),
        Ok(()) => None,
    }
}

fn is_real_time(thread: Option<Pid>) -> bool {
    kernel::read(thread).is_ok_and(|now| now.scheduling.is_real_time())
}

/// Returns advice for a user whose thread could not have this scheduling because of the error.
fn fix(scheduling: OsScheduling, error: &io::Error) -> String {
    let refused = error.raw_os_error().map(Errno::from_raw_os_error);
    match (scheduling, refused) {
        (OsScheduling::Fifo { priority } | OsScheduling::RoundRobin { priority }, Some(Errno::PERM)) => format!(
            "run with CAP_SYS_NICE, or allow real-time priorities up to {priority} (`ulimit -r`, rtprio in \
             /etc/security/limits.conf)"
        ),
        (OsScheduling::Other { nice }, Some(Errno::PERM | Errno::ACCESS)) => {
            format!("run with CAP_SYS_NICE, or allow a niceness of {nice} (`ulimit -e {}`)", 20 - i32::from(nice))
        }
        (OsScheduling::Deadline { .. }, Some(Errno::PERM)) => {
            "run with CAP_SYS_NICE, and let the thread use all cores: a reservation cannot be bound to some".to_owned()
        }
        (OsScheduling::Deadline { .. }, Some(Errno::BUSY)) => {
            "ask for less: all reservations together exceed what the kernel admits".to_owned()
        }
        _ => "see sched(7)".to_owned(),
    }
}

fn report(thread: ThreadId, shortfalls: Vec<Shortfall>) -> ThreadReport {
    ThreadReport {
        name: thread.name().unwrap_or_default(),
        thread,
        scheduling: scheduling_of(thread).ok(),
        cores: CoreSet::of(Some(thread.0)).unwrap_or_default(),
        shortfalls,
    }
}

/// Guard that keeps options applied to the calling thread until it is dropped.
#[derive(Debug)]
pub struct Applied {
    report: ThreadReport,
    before: Before,
    /// Marker that keeps the guard on its thread, whose settings it restores.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Applied {
    /// Returns the settings that the thread has.
    #[must_use]
    pub const fn report(&self) -> &ThreadReport {
        &self.report
    }
}

/// The values that the settings had before they were changed.
#[derive(Debug)]
struct Before {
    scheduling: Option<Saved>,
    cores: Option<CoreSet>,
    slack_ns: Option<u64>,
}

impl Drop for Applied {
    fn drop(&mut self) {
        let Before { scheduling, cores, slack_ns } = &self.before;
        // Without rights a thread cannot lower its nice value again, and keeps the applied one.
        if let Some(Err(error)) = scheduling.as_ref().map(Saved::give_back) {
            log::warn!(target: "rospin", "a thread stays as it is instead of as it was: {error}; {}", self.report);
        }
        if let Some(Err(error)) = cores.as_ref().map(|cores| cores.apply(None)) {
            log::warn!(target: "rospin", "a thread stays on its cores: {error}; {}", self.report);
        }
        if let Some(slack_ns) = slack_ns {
            let _ = kernel::set_timer_slack(*slack_ns);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(rospin_portable)))]
mod tests {
    use std::thread;
    use std::time::Duration;

    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    use super::*;

    /// Runs a test on a thread of its own, so that the settings do not reach other tests.
    fn apart(test: impl FnOnce() + Send + 'static) {
        thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_thread_has_its_settings_or_the_report_names_them() {
        apart(|| {
            let fifo = OsScheduling::Fifo { priority: 7 };
            let report = ThreadOptions::new().scheduling(fifo).apply();
            let has = scheduling_of(ThreadId::current()).unwrap();
            assert_eq!(report.scheduling, Some(has));
            if report.shortfalls.is_empty() {
                assert_eq!(has, fifo);
            } else {
                let said = report.to_string();
                assert_ne!(has, fifo);
                assert!(said.contains("not SCHED_FIFO 7") && said.contains("CAP_SYS_NICE"), "{said}");
            }
        });
    }

    #[test]
    fn it_is_undone() {
        apart(|| {
            let before = (kernel::read(None).unwrap(), CoreSet::of(None).unwrap(), kernel::timer_slack().unwrap());
            let one = CoreSet::new(before.1.as_slice().first().copied());
            let options = ThreadOptions::new().cores(one.clone()).timer_slack(Duration::from_micros(3));
            let applied = options.apply_for_now();
            assert_eq!((&applied.report().cores, kernel::timer_slack().unwrap()), (&one, 3000));
            assert_eq!(applied.report().shortfalls, []);
            drop(applied);
            assert_eq!((kernel::read(None).unwrap(), CoreSet::of(None).unwrap()), (before.0, before.1));
            assert_eq!(kernel::timer_slack().unwrap(), before.2);
        });
    }

    /// A user may have real-time priorities by a limit (`ulimit -r`). Only a thread with `CAP_SYS_NICE` can clear its
    /// flag reset-on-fork.
    #[test]
    fn it_is_undone_without_rights() {
        apart(|| {
            kernel::set_timer_slack(7000).unwrap();
            let before = kernel::read(None).unwrap();
            let applied = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 3 }).apply_for_now();
            let none = CapabilitySet::empty();
            set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).unwrap();
            drop(applied);
            assert_eq!(kernel::read(None).unwrap().scheduling, before.scheduling);
            assert_eq!(kernel::timer_slack().unwrap(), 7000);
        });
    }

    #[test]
    fn a_core_that_is_not_there_is_told_with_those_that_are() {
        apart(|| {
            let report = ThreadOptions::new().cores(CoreSet::new([0, 1000])).apply();
            let said = report.shortfalls[0].to_string();
            let online = CoreSet::online().unwrap();
            assert_eq!(said, format!("not on cores 0,1000: there is no core 1000; choose from {online}"));
        });
    }

    #[test]
    fn another_thread_can_be_set_from_outside() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            send.send(ThreadId::current()).unwrap();
            let _ = wait.recv();
        });
        let id = receive.recv().unwrap();
        let report = ThreadOptions::new().scheduling(OsScheduling::Other { nice: 19 }).apply_to(id);
        assert_eq!(report.shortfalls, []);
        assert_eq!(scheduling_of(id).unwrap(), OsScheduling::Other { nice: 19 });
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        apart(|| {
            let report = ThreadOptions::new().scheduling(OsScheduling::Fifo { priority: 100 }).apply();
            assert!(report.to_string().contains("1 to 99"), "{report}");
        });
    }
}
