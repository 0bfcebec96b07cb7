//! Way of a message between processes: a Unix socket for each topic.
//!
//! It is the cheapest transport between processes that keeps messages apart, can be waited for, and has a queue. The
//! kernel wakes a receiver as soon as a message has arrived, as a middleware's thread would.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recv, send, socket_with,
};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use super::topics::TOPICS;

/// Smallest number of messages that a topic's queue has room for: that of the paper.
pub(crate) const KEEP_LAST: usize = 100;
/// Number of bytes that the kernel counts for a small message in a socket's buffer, at most.
const BYTES_A_MESSAGE: usize = 1024;
/// Longest time that the processes wait for each other.
const MEET_WITHIN: Duration = Duration::from_secs(10);
/// Length of an encoded message.
const MESSAGE_BYTES: usize = 16;

/// A message of a topic.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Message {
    /// Time of publication, in nanoseconds of the monotonic clock.
    pub(crate) published_ns: u64,
    /// The topic's data: a 64-bit integer, here the number of the message.
    pub(crate) number: u64,
}

impl Message {
    /// Returns the message as bytes.
    pub(super) fn encode(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..8].copy_from_slice(&self.published_ns.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.number.to_ne_bytes());
        bytes
    }

    /// Returns the message that these bytes encode.
    pub(super) fn decode(bytes: [u8; MESSAGE_BYTES]) -> Self {
        let half = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]));
        Self { published_ns: half(0), number: half(8) }
    }
}

/// Result of a read from a topic's queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// The oldest message.
    Message(Message),
    /// The queue is empty.
    Nothing,
    /// The queue is empty, and no message will ever come.
    End,
}

/// The receiving end of a topic.
#[derive(Debug)]
pub(crate) struct Inlet(OwnedFd);

impl Inlet {
    /// Takes the oldest message. Does not block.
    pub(crate) fn take(&self) -> io::Result<Found> {
        self.look(RecvFlags::DONTWAIT)
    }

    /// Returns the oldest message and leaves it in the queue. Does not block.
    pub(crate) fn peek(&self) -> io::Result<Found> {
        self.look(RecvFlags::DONTWAIT | RecvFlags::PEEK)
    }

    /// Returns the file descriptor to wait on.
    pub(crate) const fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Receives a message with these flags. A wait that a signal interrupts counts as an empty queue.
    fn look(&self, flags: RecvFlags) -> io::Result<Found> {
        let mut bytes = [0; MESSAGE_BYTES];
        match recv(&self.0, &mut bytes, flags) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Ok(Found::End),
            Ok((MESSAGE_BYTES, _)) => Ok(Found::Message(Message::decode(bytes))),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Found::Nothing),
            Err(error) => Err(error.into()),
        }
    }
}

/// The sending end of a topic.
#[derive(Debug)]
pub(crate) struct Outlet(OwnedFd);

impl Outlet {
    /// Sends a message. Returns false if the queue has no room. Does not block.
    pub(crate) fn send(&self, message: Message) -> io::Result<bool> {
        match send(&self.0, &message.encode(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Socket at which the subscriber waits for the publisher.
pub(crate) struct Meeting(OwnedFd);

impl Meeting {
    /// Opens a socket with this name, which no other process may use.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let socket = socket()?;
        bind(&socket, &address(name)?)?;
        listen(&socket, TOPICS as i32)?;
        Ok(Self(socket))
    }

    /// Waits for the publisher, which then waits for the invitation. Fails if the publisher does not come within
    /// [`MEET_WITHIN`].
    pub(crate) fn wait(self) -> io::Result<([Inlet; TOPICS], Invitation)> {
        let inlets = try_array(|| {
            readable(&self.0)?;
            Ok(Inlet(accept_with(&self.0, SocketFlags::CLOEXEC)?))
        })?;
        let invitation = Invitation(inlets[0].0.try_clone()?);
        Ok((inlets, invitation))
    }
}

/// Sender of the subscriber's message to the publisher that it is ready.
pub(crate) struct Invitation(OwnedFd);

impl Invitation {
    /// Tells the publisher to begin.
    pub(crate) fn send(self) -> io::Result<()> {
        send(&self.0, &[1], SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Connects to the subscriber's [`Meeting`] of that name, and waits until the subscriber is ready.
pub(crate) fn meet(name: &str) -> io::Result<[Outlet; TOPICS]> {
    let address = address(name)?;
    let late = Instant::now() + MEET_WITHIN;
    let outlets = try_array(|| {
        let socket = socket()?;
        set_socket_send_buffer_size(&socket, KEEP_LAST * BYTES_A_MESSAGE)?;
        loop {
            match connect(&socket, &address) {
                Ok(()) => return Ok(Outlet(socket)),
                Err(Errno::CONNREFUSED) if Instant::now() < late => thread::sleep(Duration::from_millis(2)),
                Err(error) => return Err(error.into()),
            }
        }
    })?;
    readable(&outlets[0].0)?;
    recv(&outlets[0].0, &mut [0_u8], RecvFlags::empty())?;
    Ok(outlets)
}

/// Returns the two ends of a new socket.
pub(crate) fn pair() -> io::Result<(Outlet, Inlet)> {
    let (one, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_send_buffer_size(&one, KEEP_LAST * BYTES_A_MESSAGE)?;
    Ok((Outlet(one), Inlet(other)))
}

fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Returns the address of a socket of that name. It is abstract: it has no file, and disappears with the socket.
fn address(name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

/// Waits until the socket can be read or accepts a connection.
///
/// # Errors
/// If that takes longer than [`MEET_WITHIN`].
fn readable(socket: &OwnedFd) -> io::Result<()> {
    let mut waited = [PollFd::new(socket, PollFlags::IN)];
    let timeout = Timespec::try_from(MEET_WITHIN).map_err(io::Error::other)?;
    if poll(&mut waited, Some(&timeout))? == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the other process did not come"));
    }
    Ok(())
}

/// Returns what `make` returns for each topic, or its first error.
fn try_array<T: std::fmt::Debug>(mut make: impl FnMut() -> io::Result<T>) -> io::Result<[T; TOPICS]> {
    let made = (0..TOPICS).map(|_| make()).collect::<io::Result<Vec<_>>>()?;
    Ok(<[T; TOPICS]>::try_from(made).expect("it has as many"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_measure::wake_up::now_ns;

    #[test]
    fn messages_come_in_order_and_then_the_end() {
        let (outlet, inlet) = pair().unwrap();
        assert_eq!(inlet.take().unwrap(), Found::Nothing);
        let message = |number| Message { published_ns: now_ns(), number };
        let (one, two) = (message(1), message(2));
        assert!(outlet.send(one).unwrap() && outlet.send(two).unwrap());
        drop(outlet);
        assert_eq!(inlet.peek().unwrap(), Found::Message(one));
        assert_eq!(inlet.take().unwrap(), Found::Message(one));
        assert_eq!(inlet.take().unwrap(), Found::Message(two));
        assert_eq!(inlet.take().unwrap(), Found::End);
    }

    #[test]
    fn there_is_room_for_what_is_kept_and_an_end_to_it() {
        let (outlet, _inlet) = pair().unwrap();
        let sent = (0..100_000).take_while(|_| outlet.send(Message::default()).unwrap()).count();
        assert!((KEEP_LAST..10_000).contains(&sent), "{sent}");
    }

    #[test]
    fn the_processes_meet() {
        let name = format!("rospin-test-{}", std::process::id());
        let meeting = Meeting::open(&name).unwrap();
        let publisher = thread::spawn(move || {
            let outlets = meet(&name).unwrap();
            for (topic, outlet) in outlets.iter().enumerate() {
                outlet.send(Message { published_ns: 0, number: topic as u64 }).unwrap();
            }
        });
        let (inlets, invitation) = meeting.wait().unwrap();
        invitation.send().unwrap();
        publisher.join().unwrap();
        for (topic, inlet) in inlets.iter().enumerate() {
            assert_eq!(inlet.take().unwrap(), Found::Message(Message { published_ns: 0, number: topic as u64 }));
        }
    }
}
