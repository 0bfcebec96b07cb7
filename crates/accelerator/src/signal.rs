//! The signal that the thread of a back end sleeps on.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A signal for the thread of a [`Backend`](crate::Backend), which reports ends and alarms: it sleeps until there is
/// news. News that comes while it works is not lost.
#[derive(Debug, Default)]
pub struct Signal {
    is_news: Mutex<bool>,
    news: Condvar,
}

impl Signal {
    /// Creates a signal without news.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_news: Mutex::new(false), news: Condvar::new() }
    }

    /// Wakes the thread, or keeps it from its next sleep. Any thread may call it; it takes a lock for an instant.
    pub fn wake(&self) {
        *self.is_news.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.news.notify_one();
    }

    /// Sleeps until there is news, or for `at_most`. Only the back end's own thread may call it.
    pub fn wait(&self, at_most: Option<Duration>) {
        let mut is_news = self.is_news.lock().unwrap_or_else(PoisonError::into_inner);
        match at_most {
            Some(at_most) => {
                let waited = self.news.wait_timeout_while(is_news, at_most, |is_news| !*is_news);
                is_news = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            None => {
                let waited = self.news.wait_while(is_news, |is_news| !*is_news);
                is_news = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        *is_news = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_that_comes_first_is_not_lost() {
        let signal = Signal::new();
        signal.wake();
        signal.wake();
        signal.wait(None);
        // It is gone now, so only the time ends this wait.
        signal.wait(Some(Duration::from_nanos(1)));
    }
}
