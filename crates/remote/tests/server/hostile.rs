//! Clients that do not use the library: they send what they like.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use futures::executor::block_on;
use rospin_remote::RemoteSegment;
use rospin_remote::wire::{Answer, SegmentMessage, ToClient, ToServer, VERSION};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, connect, recv, sendmsg, socket_with,
};

use crate::{Setup, real_time, virtual_time};

/// A connection without any manners.
struct Raw(rustix::fd::OwnedFd);

impl Raw {
    fn connect<B: rospin_accelerator::Backend>(setup: &Setup<B>) -> Self {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(&setup.path).unwrap()).unwrap();
        Self(socket)
    }

    /// Connects, and sends memory of a page with the name.
    fn client<B: rospin_accelerator::Backend>(setup: &Setup<B>, name: &str) -> Self {
        let raw = Self::connect(setup);
        raw.hello(name, SealFlags::SHRINK | SealFlags::GROW);
        assert!(matches!(raw.receive(), Some(ToClient::Welcome { .. })));
        raw
    }

    fn hello(&self, name: &str, seals: SealFlags) {
        let memory = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&memory, 4096).unwrap();
        fcntl_add_seals(&memory, seals).unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        // A file more than is wanted.
        let files = [memory.as_fd(), memory.as_fd()];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
        let bytes = ToServer::Hello { version: VERSION, name: name.to_owned() }.encode();
        sendmsg(&self.0, &[io::IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
    }

    fn send(&self, bytes: &[u8]) -> bool {
        rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL).is_ok()
    }

    /// Returns the next message; `None` if the server closed the connection.
    fn receive(&self) -> Option<ToClient> {
        let mut buffer = vec![0; 1 << 16];
        let (bytes, _) = recv(&self.0, &mut buffer[..], RecvFlags::empty()).ok()?;
        if bytes > 0 { Some(ToClient::decode(&buffer[..bytes]).unwrap()) } else { None }
    }

    fn request(&self, number: u64, segment: SegmentMessage) -> Answer {
        self.send(&ToServer::Request { number, segments: vec![segment] }.encode());
        match self.receive() {
            Some(ToClient::Ended { number: of, answer }) if of == number => answer,
            other => panic!("{other:?}"),
        }
    }
}

fn segment(kernel: u32, length_us: u32) -> SegmentMessage {
    let arguments = length_us.to_le_bytes().to_vec();
    SegmentMessage { kernel, bound: Some(Duration::from_millis(1)), input: (0, 0), output: (0, 0), arguments }
}

/// Asserts that others can still use the device.
fn assert_others_go_on<B: rospin_accelerator::Backend<Work = rospin_accelerator::model::ModelWork>>(setup: &Setup<B>) {
    let brake = setup.connect("brake").unwrap();
    let short = RemoteSegment::new("invert").bound(Duration::from_millis(1));
    block_on(brake.request([short]).unwrap()).unwrap();
    drop(brake);
    setup.wait(|| setup.sessions() == 0);
}

#[test]
fn a_process_that_sends_garbage_loses_the_connection() {
    let setup = real_time();
    for garbage in [&[][..], &[0], &[9; 100], &[1; 20_000], &ToServer::Cancel { number: 1 }.encode()] {
        let raw = Raw::connect(&setup);
        raw.send(garbage);
        assert!(matches!(raw.receive(), None | Some(ToClient::Rejected(_))));
        assert_eq!(raw.receive(), None);
    }
    for garbage in [&[][..], &[9; 100], &[1; 20_000], &ToServer::Hello { version: 1, name: "map".into() }.encode()] {
        let raw = Raw::client(&setup, "map");
        raw.send(garbage);
        assert_eq!(raw.receive(), None);
        setup.wait(|| setup.sessions() == 0);
    }
    assert_others_go_on(&setup);
}

#[test]
fn a_greeting_that_is_no_good_says_why() {
    let setup = real_time();
    let rejected = |raw: &Raw| match raw.receive() {
        Some(ToClient::Rejected(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let raw = Raw::connect(&setup);
    raw.send(&ToServer::Hello { version: VERSION + 1, name: "map".into() }.encode());
    assert!(rejected(&raw).contains("speaks version 2 of the protocol"));
    let raw = Raw::connect(&setup);
    raw.send(&ToServer::Hello { version: VERSION, name: "map".into() }.encode());
    assert!(rejected(&raw).contains("brought no memory"));
    let raw = Raw::connect(&setup);
    raw.hello("map", SealFlags::GROW);
    assert!(rejected(&raw).contains("not sealed against shrinking"));
    assert_others_go_on(&setup);
}

#[test]
fn numbers_that_are_no_good_are_refused_and_the_session_goes_on() {
    let setup = real_time();
    let raw = Raw::client(&setup, "map");
    let out_of_memory = SegmentMessage { input: (u64::MAX, u64::MAX), ..segment(1, 0) };
    assert!(matches!(raw.request(1, out_of_memory), Answer::Refused(reason) if reason.contains("exceeds the memory")));
    assert!(matches!(raw.request(2, segment(77, 0)), Answer::Refused(reason) if reason.contains("no kernel 77")));
    // To cancel what is not there does nothing.
    raw.send(&ToServer::Cancel { number: 99 }.encode());
    assert!(matches!(raw.request(u64::MAX, segment(1, 0)), Answer::Done { .. }));
    drop(raw);
    setup.wait(|| setup.sessions() == 0);
    assert_others_go_on(&setup);
}

#[test]
fn a_number_that_is_used_twice_is_refused() {
    let setup = virtual_time();
    let raw = Raw::client(&setup, "map");
    let request = ToServer::Request { number: 5, segments: vec![segment(1, 10)] }.encode();
    raw.send(&request);
    setup.await_accepted(1);
    raw.send(&request);
    let Some(ToClient::Ended { number: 5, answer: Answer::Refused(reason) }) = raw.receive() else {
        panic!("an answer")
    };
    assert!(reason.contains("there already"), "{reason}");
    assert_eq!(setup.gpu.statistics().accepted, 1);
}

/// The flood is refused beyond the depth of 4, and whoever does not read the refusals is cut off. Nothing of it stays.
#[test]
fn a_process_that_floods_and_never_reads_is_cut_off() {
    let setup = virtual_time();
    let raw = Raw::client(&setup, "map");
    let mut sent = 0_u64;
    while raw.send(&ToServer::Request { number: sent, segments: vec![segment(1, 1_000)] }.encode()) {
        sent += 1;
        assert!(sent < 1_000_000, "the server keeps what nobody reads");
    }
    setup.wait(|| setup.sessions() == 0);
    assert!(setup.gpu.statistics().accepted <= 4, "{:?}", setup.gpu.statistics());
    // The segment that had started runs to its end.
    setup.device.run();
    setup.wait(|| setup.gpu.requests_in_memory() == 0);
}

/// A liar says a millisecond and takes fifty: the urgent client waits for that one segment, and the liar pays for it.
#[test]
fn a_liar_delays_others_by_one_segment() {
    let setup = virtual_time();
    let liar = Raw::client(&setup, "map");
    let brake = setup.connect("brake").unwrap();
    let long = (0..8).map(|_| segment(1, 50_000)).collect();
    liar.send(&ToServer::Request { number: 1, segments: long }.encode());
    setup.await_accepted(1);
    let short = RemoteSegment::new("invert").arguments(500_u32.to_le_bytes()).bound(Duration::from_micros(500));
    let urgent = brake.request([short]).unwrap();
    setup.await_accepted(2);
    setup.device.run();
    assert_eq!(block_on(urgent).unwrap().response, Duration::from_micros(50_500));
    assert!(setup.gpu.statistics().overruns >= 1);
}

/// Connections that say nothing keep no client out: the one that has been there for longest is closed.
#[test]
fn silent_connections_make_room_for_clients() {
    let setup = real_time();
    let silent: Vec<Raw> = (0..30).map(|_| Raw::connect(&setup)).collect();
    let brake = setup.connect("brake").unwrap();
    let map = setup.connect("map").unwrap();
    assert!(silent[..20].iter().all(|raw| raw.receive().is_none()));
    let short = || RemoteSegment::new("invert").bound(Duration::from_millis(1));
    let later: Vec<Raw> = (0..30).map(|_| Raw::connect(&setup)).collect();
    // Clients stay.
    block_on(brake.request([short()]).unwrap()).unwrap();
    block_on(map.request([short()]).unwrap()).unwrap();
    drop((silent, later));
}

/// A mistake of the server's own kernels refuses the request, and nothing else.
#[test]
fn a_kernel_that_panics_refuses_the_request() {
    let setup = real_time();
    let map = setup.connect("map").unwrap();
    let ended = block_on(map.request([RemoteSegment::new("panicking")]).unwrap());
    assert!(matches!(ended, Err(rospin_remote::RemoteError::Refused { reason }) if reason.contains("it panicked")));
    block_on(map.request([RemoteSegment::new("invert")]).unwrap()).unwrap();
}
