//! Unix sockets whose packets are messages.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, RecvMsg, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    recvmsg, sendmsg, shutdown, socket_with,
};

use crate::wire::MESSAGE_MAX;

/// Number of connections that wait until the server has accepted them.
const BACKLOG: i32 = 16;

/// A socket that sends and receives whole messages.
pub(crate) struct Socket(OwnedFd);

/// A message, and the file that came with it.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) file: Option<OwnedFd>,
}

fn open() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl Socket {
    /// Listens at the path.
    pub(crate) fn listen(path: &Path) -> io::Result<Self> {
        let socket = open()?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        listen(&socket, BACKLOG)?;
        Ok(Self(socket))
    }

    /// Connects to the server that listens at the path.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let socket = open()?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self(socket))
    }

    /// Waits for the next connection.
    pub(crate) fn accept(&self) -> io::Result<Self> {
        Ok(Self(rustix::io::retry_on_intr(|| accept_with(&self.0, SocketFlags::CLOEXEC))?))
    }

    /// Returns the number of the user whose process is at the other end, as the kernel knows it.
    pub(crate) fn user(&self) -> io::Result<u32> {
        Ok(socket_peercred(&self.0)?.uid.as_raw())
    }

    /// Sets the longest time that [`receive`](Self::receive) waits; `None` for no limit.
    pub(crate) fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, patience)?)
    }

    /// Sends a message and a file. Never waits: without room for it, the error is `WouldBlock`.
    pub(crate) fn send(&self, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        rustix::io::retry_on_intr(|| sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, flags))?;
        Ok(())
    }

    /// Waits for the next message; `None` if the other end is closed.
    ///
    /// # Errors
    /// If the message is longer than any, or none came in time.
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<Option<Received>> {
        buffer.resize(MESSAGE_MAX, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let RecvMsg { bytes, flags, .. } =
            rustix::io::retry_on_intr(|| recvmsg(&self.0, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags))?;
        let mut file = None;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                // Files that were not asked for are closed.
                file = files.last();
            }
        }
        if flags.contains(ReturnFlags::TRUNC) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if bytes == 0 {
            return Ok(None);
        }
        Ok(Some(Received { bytes: buffer[..bytes].to_vec(), file }))
    }

    /// Ends the connection in both directions, so that whoever waits for a message goes on.
    pub(crate) fn close(&self) {
        // It may be closed already.
        let _ = shutdown(&self.0, rustix::net::Shutdown::Both);
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.as_fd().try_clone_to_owned().map(Self)
    }
}
