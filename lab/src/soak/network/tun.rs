//! TUN devices: network interfaces whose packets a process reads and writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{Setter, ioctl};

/// The request that makes an open file the other end of an interface: `_IOW('T', 202, int)` of `linux/if_tun.h`.
const TUNSETIFF: rustix::ioctl::Opcode = 0x4004_54ca;
/// An interface of IP packets, which have no header of the device before them: `IFF_TUN | IFF_NO_PI`.
const FLAGS: u16 = 0x1001;
/// The size of an interface's name in the kernel, with the zero byte at its end.
const NAME_SIZE: usize = 16;

/// The kernel's `struct ifreq`, as [`TUNSETIFF`] reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_SIZE],
    flags: u16,
    /// The rest of a union of 24 bytes.
    rest: [u8; 22],
}

/// Creates the interface called `name` in the network namespace of this process. Returns its other end, which does not
/// block. The interface is removed when that is closed.
///
/// # Errors
/// If the device cannot be opened, the interface cannot be created, or the name is too long.
pub(super) fn open(name: &str) -> io::Result<File> {
    let mut request = InterfaceRequest { name: [0; NAME_SIZE], flags: FLAGS, rest: [0; 22] };
    let Some(room) = request.name.get_mut(..name.len()).filter(|_| name.len() < NAME_SIZE) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    room.copy_from_slice(name.as_bytes());
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    // SAFETY: the kernel reads a `struct ifreq` for this request, which `InterfaceRequest` is laid out as: a name of 16
    // bytes and a union of 24, whose first two bytes are the flags.
    unsafe { ioctl(&file, Setter::<TUNSETIFF, InterfaceRequest>::new(request))? };
    Ok(file)
}
