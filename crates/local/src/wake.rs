//! Wake-ups between processes: a datagram to the socket of each subscription.
//!
//! The events of iceoryx2 0.10 lose wake-ups. A notifier sends a datagram, and then notes that it has; while there is
//! such a note, nobody sends another one. A listener may take the datagram, with an earlier one, before it is noted,
//! and begin to wait. It is not woken by later notifications then.
//!
//! Each subscription, and each publisher while it is created, has a socket. Its name is no file, so nothing is left of
//! it when its process dies. Whoever else sends to it causes a look at an empty queue.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// First part of the names of all sockets.
const PREFIX: &str = "rospin-local-";

/// The socket of a subscription.
pub(crate) struct Bell {
    name: String,
    socket: UnixDatagram,
}

/// A socket that wakes others.
pub(crate) struct Ringer(UnixDatagram);

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{PREFIX}{name}"))
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut number = RandomState::new().build_hasher();
        number.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
        let name = format!("{:x}-{:016x}", std::process::id(), number.finish());
        let socket = UnixDatagram::bind_addr(&address(&name)?)?;
        Ok(Self { name, socket })
    }

    /// Returns its name, by which others wake the one who waits.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Waits until somebody rings, or has rung since the last wait, and for that time at most.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<Option<Ring>> {
        self.socket.set_read_timeout(Some(timeout))?;
        let mut bytes = [0; 64];
        match self.socket.recv(&mut bytes) {
            Ok(length) => Ok(Some(match str::from_utf8(&bytes[..length]) {
                Ok(from) if !from.is_empty() => Ring::Greeting(from.to_owned()),
                _ => Ring::Message,
            })),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }
}

/// What somebody rings for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ring {
    Message,
    /// A publisher has come, or a subscription answers that it is connected with it: the bell of the one who rings.
    Greeting(String),
}

impl Ringer {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Wakes the subscription with that name. One that has gone needs no wake-up, and one with a full socket has some.
    pub(crate) fn ring(&self, name: &str) {
        if let Ok(address) = address(name) {
            let _ = self.0.send_to_addr(&[], &address);
        }
    }

    /// Greets the one with that name. Returns false if it has gone.
    pub(crate) fn greet(&self, name: &str, from: &Bell) -> bool {
        let sent = address(name).and_then(|address| self.0.send_to_addr(from.name.as_bytes(), &address));
        match sent {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn each_wait_after_a_ring_is_short() {
        let (bell, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let ringer = Ringer::new().unwrap();
        let begin = Instant::now();
        for _ in 0..1000 {
            ringer.ring(bell.name());
            assert_eq!(bell.wait(Duration::from_secs(60)).unwrap(), Some(Ring::Message));
        }
        // More than fit in the socket; nobody waits for room.
        for _ in 0..1000 {
            ringer.ring(bell.name());
        }
        bell.wait(Duration::from_secs(60)).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(50));
        assert_eq!(other.wait(Duration::from_millis(1)).unwrap(), None);
        ringer.ring("nobody");
        assert!(ringer.greet(other.name(), &bell) && !ringer.greet("nobody", &bell));
        assert_eq!(other.wait(Duration::from_secs(60)).unwrap(), Some(Ring::Greeting(bell.name().to_owned())));
    }
}
