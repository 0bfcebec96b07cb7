//! A domain that nobody else is in, for all tests, and the helpers that tests of other adapters have, too.

#![allow(dead_code, reason = "no test uses all of it")]

pub(crate) mod stranger;

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

use rospin_dds::{Domain, DomainOptions};
#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::conformance::messages::{
    AddTwoInts, Fibonacci, FibonacciGoal, Sequence, Sum as AddResponse, Summands as AddRequest, Text,
};
use rospin_testkit::peers::python::Peer;
use rospin_testkit::peers::wire::WirePeer;
#[allow(unused_imports, reason = "no test uses all of it")]
pub(crate) use rospin_testkit::peers::{
    PATIENCE, context, executor, network, process_of, spin, take_failures, text, ticks, wait, wait_until,
};

/// Nothing but the loopback interface, whatever networks the machine has.
pub(crate) const LOOPBACK: &str = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>";

/// Returns a domain id that nobody else on this machine uses at the moment, for as long as the process lives.
pub(crate) fn domain_id() -> u16 {
    let OwnDomain { id, reservation } = OwnDomain::new();
    std::mem::forget(reservation);
    id
}

/// A domain id that is kept from the other tests of this machine while this lives.
pub(crate) struct OwnDomain {
    pub(crate) id: u16,
    reservation: TcpListener,
}

impl OwnDomain {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let process = u16::try_from(std::process::id() % 200).expect("a small number");
        let mut candidates = (0..200).map(|_| 20 + (process + NEXT.fetch_add(1, Ordering::Relaxed)) % 200);
        let reserve = |id: u16| {
            // Participants of a domain listen on its first port; tests that will join it hold a port for it.
            let nobody_is_in = [0, 10]
                .into_iter()
                .all(|port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 7400 + 250 * id + port)).is_ok());
            let reservation = TcpListener::bind((Ipv4Addr::LOCALHOST, 21_000 + id)).ok();
            reservation.filter(|_| nobody_is_in).map(|reservation| Self { id, reservation })
        };
        candidates.find_map(reserve).expect("a domain that nobody is in")
    }
}

/// Returns the options of a participant that uses the loopback interface only.
pub(crate) fn options(domain_id: u16) -> DomainOptions {
    DomainOptions::new().domain_id(domain_id).localhost().cyclonedds_uri(LOOPBACK)
}

/// Joins a domain on the loopback interface.
pub(crate) fn join(domain_id: u16) -> Domain {
    Domain::join(options(domain_id)).expect("a participant")
}

/// The same, for peers under Python.
const PEERS_LOOPBACK: (&str, &str) = (
    "CYCLONEDDS_URI",
    "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"false\"/></Interfaces>\
     </General><Discovery><ParticipantIndex>auto</ParticipantIndex>\
     <Peers><Peer address=\"localhost\"/></Peers></Discovery>\
     </Domain></CycloneDDS>",
);

/// Eclipse Cyclone DDS under Python: its package, and an import of it.
const PACKAGE: [&str; 2] = ["cyclonedds", "import cyclonedds.domain"];

/// Starts a part of a script: Eclipse Cyclone DDS under Python, or says that the test is skipped.
pub(crate) fn cyclonedds(script: &str, part: &str, domain_id: u16) -> Option<Peer> {
    Peer::start(PACKAGE, script, &[part, &domain_id.to_string()], &[PEERS_LOOPBACK])
}

/// Returns the peer with all of a node's parts, over Cyclone DDS, or says that the test is skipped.
pub(crate) fn cyclonedds_wire(domain_id: u16) -> Option<WirePeer> {
    WirePeer::find(PACKAGE, ["cyclonedds", &domain_id.to_string()], PEERS_LOOPBACK)
}
