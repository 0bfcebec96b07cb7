//! Times at which the machine itself was late: a thread of the leading process sleeps for a moment again and again, and
//! notes when it sleeps too long. A process that was late at the same time could not have been in time.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time for which the thread sleeps.
const SLEEP: Duration = Duration::from_millis(10);
/// The oversleeping that counts.
const STALL: Duration = Duration::from_millis(30);
/// The most stalls that are remembered.
const KEPT_MAX: usize = 1000;

/// The thread that sleeps. It ends when this value is dropped.
pub(super) struct Stalls {
    /// When each stall ended, and how long it was.
    noted: Arc<Mutex<VecDeque<(Instant, Duration)>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stalls {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn watch() -> io::Result<Self> {
        let noted = Arc::new(Mutex::new(VecDeque::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (notes, ends) = (Arc::clone(&noted), Arc::clone(&is_over));
        let watch = move || {
            while !ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                thread::sleep(SLEEP);
                let late = begun.elapsed().saturating_sub(SLEEP);
                if late > STALL {
                    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                    notes.push_back((Instant::now(), late));
                    if notes.len() > KEPT_MAX {
                        notes.pop_front();
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("stalls".to_owned()).spawn(watch)?;
        Ok(Self { noted, is_over, thread: Some(thread) })
    }

    /// Returns for how long the machine was late within the last `time`, all stalls together.
    pub(super) fn within(&self, time: Duration) -> Duration {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.iter().filter(|(ended, _)| ended.elapsed() < time).map(|(_, late)| *late).sum()
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
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
            noted.push_back((Instant::now(), Duration::from_secs(7)));
        }
        assert!(stalls.within(Duration::from_secs(60)) >= Duration::from_secs(7));
        assert_eq!(stalls.within(Duration::ZERO), Duration::ZERO);
    }
}
