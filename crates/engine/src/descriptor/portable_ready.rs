//! The readiness of descriptors as the kernel tells it, by `poll`, on systems other than Linux.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};

use crate::sync::Mutex;

/// Set of descriptors, each of which is watched for one readiness at a time.
pub(super) struct Ready {
    watched: Mutex<BTreeMap<u64, Watched>>,
    /// A pipe. What is written wakes who waits; its end ends the wait.
    bell: Mutex<Option<io::PipeWriter>>,
    rung: io::PipeReader,
}

struct Watched {
    /// A duplicate, so that it stays open while it is waited for.
    fd: Arc<OwnedFd>,
    /// Empty if it is not watched now.
    events: PollFlags,
}

impl Ready {
    pub(super) fn new() -> io::Result<Self> {
        let (rung, bell) = io::pipe()?;
        Ok(Self { watched: Mutex::default(), bell: Mutex::new(Some(bell)), rung })
    }

    /// Adds a descriptor, which is not watched yet.
    ///
    /// # Errors
    /// If the descriptor cannot be watched: that of a file on disk cannot, which is always ready.
    pub(super) fn add(&self, number: u64, fd: &OwnedFd) -> io::Result<()> {
        let file = File::from(fd.try_clone()?);
        if file.metadata()?.is_file() {
            return Err(rustix::io::Errno::PERM.into());
        }
        let fd = Arc::new(OwnedFd::from(file));
        self.watched.lock().insert(number, Watched { fd, events: PollFlags::empty() });
        Ok(())
    }

    /// Watches for one of the events, once.
    pub(super) fn watch(&self, number: u64, _fd: &OwnedFd, events: PollFlags) -> io::Result<()> {
        let mut watched = self.watched.lock();
        let place = watched.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        // Errors and hangups are told in any case, if only the list has it.
        place.events = events | PollFlags::ERR;
        drop(watched);
        self.ring()
    }

    pub(super) fn remove(&self, number: u64, _fd: &OwnedFd) {
        self.watched.lock().remove(&number);
        let _ = self.ring();
    }

    /// Ends the wait, now and for ever.
    pub(super) fn end(&self) {
        let bell = self.bell.lock().take();
        drop(bell);
    }

    fn ring(&self) -> io::Result<()> {
        if let Some(bell) = &*self.bell.lock() {
            rustix::io::write(bell, &[0])?;
        }
        Ok(())
    }

    /// Waits until some of the descriptors are ready, and appends their numbers. Returns false at the [end](Self::end).
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub(super) fn wait(&self, numbers: &mut Vec<u64>) -> io::Result<bool> {
        let mut listed = Vec::new();
        for (number, watched) in &*self.watched.lock() {
            if !watched.events.is_empty() {
                listed.push((*number, Arc::clone(&watched.fd), watched.events));
            }
        }
        let mut asked = vec![PollFd::new(&self.rung, PollFlags::IN)];
        for (_, fd, events) in &listed {
            asked.push(PollFd::new(fd, *events));
        }
        match poll(&mut asked, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let is_rung = !asked[0].revents().is_empty();
        let is_ready: Vec<bool> = asked[1..].iter().map(|asked| !asked.revents().is_empty()).collect();
        let mut watched = self.watched.lock();
        for ((number, ..), is_ready) in listed.iter().zip(is_ready) {
            let place = watched.get_mut(number).filter(|_| is_ready);
            if let Some(place) = place {
                place.events = PollFlags::empty();
                numbers.push(*number);
            }
        }
        drop(watched);
        // The next list has the descriptor that was rung for. Nothing to read is the end.
        Ok(!is_rung || rustix::io::read(&self.rung, &mut [0_u8; 64])? > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn each_readiness_is_told_once_and_again_when_it_is_watched_again() {
        let ready = Ready::new().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let fd = OwnedFd::from(reader);
        ready.add(7, &fd).unwrap();
        writer.write_all(b"x").unwrap();
        let mut numbers = Vec::new();
        for _ in 0..2 {
            ready.watch(7, &fd, PollFlags::IN).unwrap();
            assert!(ready.wait(&mut numbers).unwrap());
            assert_eq!(numbers, [7]);
            numbers.clear();
        }
        // It is still ready, and not watched: only the bell ends the wait.
        ready.ring().unwrap();
        assert!(ready.wait(&mut numbers).unwrap());
        ready.remove(7, &fd);
        assert!(ready.watch(7, &fd, PollFlags::IN).is_err());
        ready.end();
        while ready.wait(&mut numbers).unwrap() {}
        assert!(numbers.is_empty());
    }

    #[test]
    fn a_watch_that_comes_during_the_wait_counts() {
        let ready = Ready::new().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let fd = OwnedFd::from(reader);
        ready.add(1, &fd).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let mut numbers = Vec::new();
                while numbers.is_empty() {
                    assert!(ready.wait(&mut numbers).unwrap());
                }
                numbers
            });
            ready.watch(1, &fd, PollFlags::IN).unwrap();
            // The other end is closed.
            drop(writer);
            assert_eq!(waits.join().unwrap(), [1]);
        });
    }

    #[test]
    fn a_file_on_disk_cannot_be_watched() {
        let file = File::open(env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml").unwrap();
        assert!(Ready::new().unwrap().add(1, &file.into()).is_err());
    }
}
