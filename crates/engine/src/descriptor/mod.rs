//! File descriptors as sources: sockets, pipes, devices, timers and events of the kernel.
//!
//! One thread of the context watches the descriptors of all entities by epoll, and notifies. It reads nothing: the
//! callback does, on its executor's thread, when the policy picks it. A descriptor is watched for one readiness at a
//! time (`EPOLLONESHOT`), and again after the callback. So a descriptor that stays ready costs one notification for
//! each callback, and what a callback leaves is found again. Between the notification and the callback somebody else
//! may have read, so each take asks the kernel what is ready now.

#[cfg(any(test, not(target_os = "linux"), rospin_portable))]
mod portable_ready;
#[cfg(all(target_os = "linux", not(rospin_portable)))]
mod ready;
mod watcher;

use std::cell::Cell;
use std::fmt;
use std::io;
use std::ops::BitOr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::context::Context;
use crate::source::{Notifier, Pending, Source, TakeError};
#[cfg(any(not(target_os = "linux"), rospin_portable))]
use portable_ready as ready;
use watcher::{Watcher, WatcherSlot};

/// Set of conditions of a file descriptor, such as readable: those that hold, or those to watch for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Readiness(u8);

impl Readiness {
    /// There is something to read, or a connection to accept, or the other end is closed.
    pub const READABLE: Self = Self(1);
    /// There is room to write.
    pub const WRITABLE: Self = Self(2);
    /// There is an exceptional condition, such as a changed value of a GPIO pin.
    pub const PRIORITY: Self = Self(4);
    /// There is an error. It is always watched for.
    pub const ERROR: Self = Self(8);
    /// The other end is closed. It is always watched for.
    pub const HANGUP: Self = Self(16);

    /// The poll flag of each kind.
    const FLAGS: [(Self, PollFlags); 5] = [
        (Self::READABLE, PollFlags::IN),
        (Self::WRITABLE, PollFlags::OUT),
        (Self::PRIORITY, PollFlags::PRI),
        (Self::ERROR, PollFlags::ERR),
        (Self::HANGUP, PollFlags::HUP),
    ];

    /// Returns true if it has all of `other`.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the sum of the bits: 1 for readable, 2 for writable, 4 for priority, 8 for an error and 16 for a hangup.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the readiness with these [bits](Self::bits). Other bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 31)
    }

    fn to_flags(self) -> PollFlags {
        let mut flags = PollFlags::empty();
        for (kind, flag) in Self::FLAGS {
            if self.contains(kind) {
                flags |= flag;
            }
        }
        flags
    }

    fn of_flags(flags: PollFlags) -> Self {
        let mut readiness = Self(0);
        for (kind, flag) in Self::FLAGS {
            if flags.contains(flag) {
                readiness = readiness | kind;
            }
        }
        readiness
    }
}

impl BitOr for Readiness {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["READABLE", "WRITABLE", "PRIORITY", "ERROR", "HANGUP"];
        let kinds = Self::FLAGS.iter().zip(names).filter(|((kind, _), _)| self.contains(*kind));
        let names: Vec<&str> = kinds.map(|(_, name)| name).collect();
        if names.is_empty() { f.write_str("nothing") } else { f.write_str(&names.join(" | ")) }
    }
}

/// A file descriptor as a [`Source`]: its entity runs as long as the descriptor is ready, with the entity's priority.
///
/// The item says what the descriptor is ready for when the callback starts. The callback reads or writes, without
/// waiting: set the descriptor to non-blocking. What it leaves is found again, so a callback that finds
/// [`HANGUP`](Readiness::HANGUP) or [`ERROR`](Readiness::ERROR) drops its entity. In a reentrant group, set
/// [`max_in_flight`](crate::EntityOptions::max_in_flight) to 1 unless several callbacks may find the same readiness.
///
/// Each readiness takes three system calls beside those of the callback: one of the thread `rospin-poll`, which watches
/// all descriptors of the context, and two of the executor. If executors are real-time, that thread is above them.
///
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use rospin_engine::{Context, ContextOptions, Descriptor, EntityKind, ExecutorOptions, Priority, EntityOptions};
/// use rospin_engine::{Readiness, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let (mut lidar, socket) = UnixStream::pair()?;
/// socket.set_nonblocking(true)?;
/// let source = Descriptor::new(&context, &socket, Readiness::READABLE)?;
/// let group = executor.create_group("driver", socket);
/// let halt = executor.handle();
/// let options = EntityOptions::new("driver/lidar").priority(Priority(10));
/// let _entity = group.create_source(EntityKind::Waitable, options, source, move |socket, _| {
///     let mut scan = [0; 3];
///     if socket.read_exact(&mut scan).is_ok() {
///         assert_eq!(scan, [1, 2, 3]);
///         halt.halt();
///     }
/// })?;
/// lidar.write_all(&[1, 2, 3])?;
/// executor.spin(SpinOptions::new())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Descriptor {
    fd: OwnedFd,
    interest: Readiness,
    watcher: Arc<Watcher>,
    /// The number under which the watcher knows the descriptor, once it is attached.
    number: Option<u64>,
    /// True if the descriptor could not be watched again. The next take ends the source.
    is_lost: Cell<bool>,
}

impl Descriptor {
    /// Creates a source that watches the descriptor for `interest`. It keeps a duplicate, so the caller may close its
    /// own.
    ///
    /// The first descriptor of a context starts the thread that watches them. Allocates and locks.
    ///
    /// # Errors
    /// If the process has too many descriptors, or if the thread cannot be started.
    pub fn new(context: &Context, fd: impl AsFd, interest: Readiness) -> io::Result<Self> {
        let fd = fd.as_fd().try_clone_to_owned()?;
        let watcher = WatcherSlot::watcher(context)?;
        Ok(Self { fd, interest, watcher, number: None, is_lost: Cell::new(false) })
    }

    /// Returns what the descriptor is ready for now.
    fn ready(&self) -> io::Result<Readiness> {
        let mut asked = [PollFd::new(&self.fd, self.interest.to_flags())];
        loop {
            match poll(&mut asked, Some(&Timespec::default())) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(Readiness::of_flags(asked[0].revents())),
            }
        }
    }

    /// Has the watcher notify when the descriptor is ready. Returns false if that is not possible any more.
    fn watch(&self) -> bool {
        self.number.is_some_and(|number| self.watcher.watch(number, &self.fd, self.interest.to_flags()).is_ok())
    }
}

impl Source for Descriptor {
    type Item = Readiness;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let number = self.watcher.add(&self.fd, notifier).map_err(|error| TakeError::Failed(error.into()))?;
        self.number = Some(number);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Readiness>, TakeError> {
        Ok(self.take_and_look()?.map(|(ready, _)| ready))
    }

    fn take_and_look(&mut self) -> Result<Option<(Readiness, Pending)>, TakeError> {
        if self.is_lost.get() {
            return Err(TakeError::Closed);
        }
        let ready = self.ready().map_err(|error| TakeError::Failed(error.into()))?;
        if ready != Readiness(0) {
            return Ok(Some((ready, Pending::AskAgain)));
        }
        if self.watch() { Ok(None) } else { Err(TakeError::Closed) }
    }

    fn pending(&self) -> Pending {
        if self.watch() {
            return Pending::Empty;
        }
        self.is_lost.set(true);
        Pending::Unknown
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.watcher.remove(number, &self.fd);
        }
    }
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descriptor").field("fd", &self.fd).field("interest", &self.interest).finish_non_exhaustive()
    }
}
