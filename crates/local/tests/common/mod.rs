//! A domain that nobody else is in, with the local path.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

use rospin_dds::{Domain, DomainOptions};
use rospin_local::{Local, LocalOptions};

/// Nothing but the loopback interface, whatever networks the machine has.
const LOOPBACK: &str = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>";

/// A domain id that is kept from the other tests of this machine while this lives.
pub(crate) struct OwnDomain {
    pub(crate) id: u16,
    _reservation: TcpListener,
}

impl OwnDomain {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let process = u16::try_from(std::process::id() % 200).expect("a small number");
        for _ in 0..200 {
            let id = 20 + (process + NEXT.fetch_add(1, Ordering::Relaxed)) % 200;
            // Participants of a domain listen on its first port; tests that will join it hold a port for it.
            let Ok(reservation) = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id)) else { continue };
            let is_free = |port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id + port)).is_ok();
            if is_free(0) && is_free(10) {
                return Self { id, _reservation: reservation };
            }
        }
        panic!("no domain without participants");
    }
}

/// Joins a domain on the loopback interface.
pub(crate) fn domain(id: u16) -> Domain {
    let options = DomainOptions::new().domain_id(id).localhost().cyclonedds_uri(LOOPBACK);
    Domain::join(options).expect("a participant")
}

/// Joins a domain on the loopback interface, with the local path for those topics.
pub(crate) fn join(id: u16, options: LocalOptions) -> Local<Domain> {
    Local::over(domain(id), options).expect("shared memory")
}
