//! The readiness of descriptors as the kernel tells it, by epoll.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFlags, eventfd};

/// The number of the descriptor that ends the wait.
const END: u64 = u64::MAX;

/// The number of descriptors that one look at the kernel may find ready.
const EVENTS_MAX: usize = 64;

/// Set of descriptors, each of which is watched for one readiness at a time.
pub(super) struct Ready {
    epoll: OwnedFd,
    /// Written to end the wait.
    end: OwnedFd,
}

impl Ready {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &end, EventData::new_u64(END), EventFlags::IN)?;
        Ok(Self { epoll, end })
    }

    /// Adds a descriptor, which is not watched yet.
    ///
    /// # Errors
    /// If the descriptor cannot be watched: that of a file on disk cannot, which is always ready.
    pub(super) fn add(&self, number: u64, fd: &OwnedFd) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(number), EventFlags::ONESHOT)?)
    }

    /// Watches for one of the events, once.
    pub(super) fn watch(&self, number: u64, fd: &OwnedFd, events: PollFlags) -> io::Result<()> {
        // Both have the kernel's numbers.
        let events = EventFlags::from_bits_truncate(u32::from(events.bits())) | EventFlags::ONESHOT;
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(number), events)?)
    }

    pub(super) fn remove(&self, _number: u64, fd: &OwnedFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Ends the wait, now and for ever.
    pub(super) fn end(&self) {
        // It can only fail if it was written before.
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
    }

    /// Waits until some of the descriptors are ready, and appends their numbers. Returns false at the [end](Self::end).
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub(super) fn wait(&self, numbers: &mut Vec<u64>) -> io::Result<bool> {
        let mut space = [MaybeUninit::<Event>::uninit(); EVENTS_MAX];
        let events = match epoll::wait(&self.epoll, &mut space, None) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        for event in &*events {
            let number = event.data.u64();
            if number == END {
                return Ok(false);
            }
            numbers.push(number);
        }
        Ok(true)
    }
}
