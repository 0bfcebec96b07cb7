//! The parts that devices with a thread of their own share: the thread, and what it is told beside its segments.

use std::io;
use std::sync::Weak;
use std::thread::{self, JoinHandle};

use rospin_core::Instant;
use rospin_engine::os::ThreadOptions;

use crate::backend::{Listener, SegmentFailure};

/// Thread of a device, with the name `device`. Dropping it waits for its end, unless it drops itself.
#[derive(Debug)]
pub struct DeviceThread(Option<JoinHandle<()>>);

impl DeviceThread {
    /// Starts a thread that calls `run`, with its scheduling by the operating system.
    ///
    /// # Errors
    /// If the operating system starts no thread.
    pub fn start(options: ThreadOptions, run: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let thread = thread::Builder::new().name("device".to_owned()).spawn(move || {
            // A setting that the kernel refuses leaves the thread as it was.
            options.apply();
            run();
        })?;
        Ok(Self(Some(thread)))
    }

    /// Ends the thread's [park](thread::park), or its next one.
    pub fn unpark(&self) {
        if let Some(thread) = &self.0 {
            thread.thread().unpark();
        }
    }
}

impl Drop for DeviceThread {
    fn drop(&mut self) {
        // The device's own thread drops the device if it was the last to use the accelerator.
        if let Some(thread) = self.0.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            // A panic of the thread was printed; nobody is left to tell.
            let _ = thread.join();
        }
    }
}

/// News for a device's thread beside its segments: the alarm, the loss of the device, and its end.
#[derive(Default)]
pub struct Notices {
    listener: Option<Weak<dyn Listener>>,
    alarm: Option<Instant>,
    /// The reason for which the device is lost.
    lost: Option<String>,
    is_loss_told: bool,
    is_stopped: bool,
}

/// Notice that the device's thread has to give to the [`Listener`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The device is lost, for this reason. Its segments do not end.
    Lost(String),
    /// The time of the alarm has come.
    Alarm,
}

impl Notice {
    /// Tells the listener, at the time `now` of the device. The caller must hold none of its locks.
    pub fn tell(self, listener: &dyn Listener, now: Instant) {
        match self {
            Self::Lost(reason) => listener.lost(&reason),
            Self::Alarm => listener.alarm(now),
        }
    }
}

impl Notices {
    /// Stores the listener, as [`Backend::connect`](crate::Backend::connect) does.
    pub fn connect(&mut self, listener: Weak<dyn Listener>) {
        self.listener = Some(listener);
    }

    /// Returns the listener; `None` until one is connected.
    #[must_use]
    pub fn listener(&self) -> Option<Weak<dyn Listener>> {
        self.listener.clone()
    }

    /// Sets the alarm, as [`Backend::set_alarm`](crate::Backend::set_alarm) does: an earlier one that is set stays.
    pub fn set_alarm(&mut self, at: Instant) {
        self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
    }

    /// Returns the time of the alarm; `None` if none is set.
    #[must_use]
    pub fn alarm(&self) -> Option<Instant> {
        self.alarm
    }

    /// Takes note that the device is lost. The first reason counts.
    pub fn lose(&mut self, reason: &str) {
        self.lost.get_or_insert_with(|| reason.to_owned());
    }

    /// Takes note that the device is dropped.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns true if the device is dropped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns what [`Backend::submit`](crate::Backend::submit) returns on a device that is lost; `None` if it is not.
    #[must_use]
    pub fn refusal(&self) -> Option<Result<(), SegmentFailure>> {
        let reason = self.lost.as_ref()?;
        // If the listener is only about to be told, that ends the request, too, and with the better error.
        Some(if self.is_loss_told { Err(SegmentFailure(reason.clone())) } else { Ok(()) })
    }

    /// Takes the notice that is due at the time `now`. After a loss there is no alarm until another one is set.
    pub fn take(&mut self, now: Instant) -> Option<Notice> {
        if let Some(reason) = self.lost.clone().filter(|_| !self.is_loss_told) {
            self.is_loss_told = true;
            self.alarm = None;
            return Some(Notice::Lost(reason));
        }
        let is_due = self.alarm.take_if(|at| *at <= now).is_some();
        if is_due { Some(Notice::Alarm) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_due_once_and_the_earlier_one_counts() {
        let at = |ms| Instant::ZERO + std::time::Duration::from_millis(ms);
        let mut notices = Notices::default();
        notices.set_alarm(at(5));
        notices.set_alarm(at(3));
        notices.set_alarm(at(4));
        assert_eq!(notices.take(at(2)), None);
        assert_eq!(notices.take(at(3)), Some(Notice::Alarm));
        assert_eq!(notices.take(at(9)), None);
    }

    #[test]
    fn a_loss_is_told_once_and_refuses_segments_from_then_on() {
        let mut notices = Notices::default();
        assert_eq!(notices.refusal(), None);
        notices.set_alarm(Instant::ZERO);
        notices.lose("fell off");
        notices.lose("is gone");
        assert_eq!(notices.refusal(), Some(Ok(())), "the listener ends the request");
        assert_eq!(notices.take(Instant::ZERO), Some(Notice::Lost("fell off".to_owned())));
        assert_eq!(notices.take(Instant::ZERO), None);
        assert_eq!(notices.refusal(), Some(Err(SegmentFailure("fell off".to_owned()))));
    }

    #[test]
    fn a_thread_that_drops_itself_does_not_wait() {
        let (send, receive) = std::sync::mpsc::channel::<DeviceThread>();
        let (ended, end) = std::sync::mpsc::channel();
        let run = move || {
            drop(receive.recv().unwrap());
            ended.send(()).unwrap();
        };
        send.send(DeviceThread::start(ThreadOptions::new(), run).unwrap()).unwrap();
        end.recv().unwrap();
    }
}
