//! Times at which a processor itself was late: a thread of the leading process on each of them sleeps for a moment
//! again and again, and notes when it sleeps too long. A process that was late at the same time could not have been in
//! time. A virtual machine's processors stand still one by one.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The time for which the thread sleeps.
const SLEEP: Duration = Duration::from_millis(10);
/// The oversleeping that counts.
const STALL: Duration = Duration::from_millis(30);
/// The most stalls that are remembered.
const KEPT_MAX: usize = 1000;

/// A time at which a processor was late.
struct Stall {
    core: usize,
    ended: Instant,
    late: Duration,
}

/// The threads that sleep. They end when this value is dropped.
pub(super) struct Stalls {
    noted: Arc<Mutex<VecDeque<Stall>>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Stalls {
    /// Starts the threads.
    ///
    /// # Errors
    /// If one cannot be started.
    pub(super) fn watch() -> io::Result<Self> {
        let noted = Arc::new(Mutex::new(VecDeque::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut stalls = Self { noted, is_over, threads: Vec::new() };
        let all = sched_getaffinity(None)?;
        for core in (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)) {
            stalls.watch_core(core)?;
        }
        Ok(stalls)
    }

    fn watch_core(&mut self, core: usize) -> io::Result<()> {
        let (notes, ends) = (Arc::clone(&self.noted), Arc::clone(&self.is_over));
        let watch = move || {
            let mut only = CpuSet::new();
            only.set(core);
            // A thread that may not choose its core notes what it can.
            let _ = sched_setaffinity(None, &only);
            while !ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                thread::sleep(SLEEP);
                let late = begun.elapsed().saturating_sub(SLEEP);
                if late > STALL {
                    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                    notes.push_back(Stall { core, ended: Instant::now(), late });
                    if notes.len() > KEPT_MAX {
                        notes.pop_front();
                    }
                }
            }
        };
        self.threads.push(thread::Builder::new().name("stalls".to_owned()).spawn(watch)?);
        Ok(())
    }

    /// Returns for how long a processor was late within the last `time`, all its stalls together: the one that was so
    /// for longest.
    pub(super) fn within(&self, time: Duration) -> Duration {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut late = BTreeMap::<usize, Duration>::new();
        for stall in noted.iter().filter(|stall| stall.ended.elapsed() < time) {
            *late.entry(stall.core).or_default() += stall.late;
        }
        late.into_values().max().unwrap_or_default()
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_those_of_the_time_that_is_asked_for() {
        let stalls = Stalls::watch().unwrap();
        {
            let mut noted = stalls.noted.lock().unwrap();
            for (core, seconds) in [(0, 300), (1, 400), (0, 300)] {
                noted.push_back(Stall { core, ended: Instant::now(), late: Duration::from_secs(seconds) });
            }
        }
        let within = stalls.within(Duration::from_secs(60));
        assert!((600..700).contains(&within.as_secs()), "{within:?}");
        assert_eq!(stalls.within(Duration::ZERO), Duration::ZERO);
    }
}
