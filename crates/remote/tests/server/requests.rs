//! Requests of clients, and their results.

use std::time::Duration;

use futures::executor::block_on;
use rospin_remote::{Access, CallError, ConnectError, RemoteError, RemoteSegment, Server, ServerError, ServerOptions};
use rospin_scenario::Deployment;

use crate::{Inverting, Setup, real_time, virtual_time};
use rospin_accelerator::model::VirtualDevice;

fn us(n: u32) -> [u8; 4] {
    n.to_le_bytes()
}

#[test]
fn a_kernel_reads_and_writes_the_memory_of_its_client() {
    let setup = real_time();
    let client = setup.connect("brake").unwrap();
    assert_eq!(client.kernels(), ["refusing", "invert", "panicking"]);
    client.memory().write(100, &[1, 2, 3]);
    let bound = Duration::from_millis(1);
    let invert = |from, to| RemoteSegment::new("invert").bound(bound).arguments(us(10)).input(from, 3).output(to, 3);
    let outcome = block_on(client.request([invert(100, 200), invert(200, 300)]).unwrap()).unwrap();
    assert!(outcome.waiting <= outcome.response && outcome.busy == Duration::from_micros(20), "{outcome:?}");
    let mut bytes = [0; 3];
    client.memory().read(200, &mut bytes);
    assert_eq!(bytes, [!1, !2, !3]);
    client.memory().read(300, &mut bytes);
    assert_eq!(bytes, [1, 2, 3]);
}

/// In virtual time: the urgent one waits for one segment, whatever the other has sent.
#[test]
fn the_deployment_file_gives_clients_their_priorities() {
    let setup = virtual_time();
    let map = setup.connect("map").unwrap();
    let brake = setup.connect("brake").unwrap();
    let long = || RemoteSegment::new("invert").arguments(us(5_000));
    let all: Vec<_> = (0..4).map(|_| map.request([long(), long()]).unwrap()).collect();
    setup.await_accepted(4);
    let short = RemoteSegment::new("invert").arguments(us(500)).bound(Duration::from_micros(500));
    let urgent = brake.request([short]).unwrap();
    setup.await_accepted(5);
    setup.device.run();
    assert_eq!(block_on(urgent).unwrap().response, Duration::from_micros(5_500));
    let last = all.into_iter().map(|completion| block_on(completion).unwrap().response).max();
    assert_eq!(last, Some(Duration::from_micros(40_500)));
}

#[test]
fn dropped_requests_do_not_run() {
    let setup = virtual_time();
    let map = setup.connect("map").unwrap();
    let segment = || RemoteSegment::new("invert").arguments(us(1_000));
    let first = map.request([segment()]).unwrap();
    let dropped = map.request([segment(), segment()]).unwrap();
    setup.await_accepted(2);
    drop(dropped);
    setup.wait(|| setup.gpu.statistics().cancelled == 1);
    setup.device.run();
    block_on(first).unwrap();
    assert_eq!(setup.gpu.statistics().segments, 1);
    setup.wait(|| setup.gpu.requests_in_memory() == 0);
}

#[test]
fn a_request_that_is_no_good_is_refused_and_says_why() {
    let setup = real_time();
    let map = setup.connect("map").unwrap();
    let refused = |segment: RemoteSegment| match block_on(map.request([segment]).unwrap()) {
        Err(RemoteError::Refused { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let invert = || RemoteSegment::new("invert");
    assert_eq!(
        refused(invert().input(4000, 97).output(0, 97)),
        "the input, 97 bytes at 4000, exceeds the memory of 4096 bytes"
    );
    assert!(refused(invert().output(usize::MAX, 2)).contains("the output"));
    assert_eq!(refused(invert().input(0, 1)), "kernel `invert`: input and output have the same length");
    assert!(refused(RemoteSegment::new("refusing")).starts_with("kernel `refusing`"));
    assert!(matches!(map.request([RemoteSegment::new("sort")]), Err(CallError::NoSuchKernel { .. })));
    assert!(matches!(map.request(vec![invert(); 65]), Err(CallError::TooManySegments)));
    assert!(matches!(map.request([invert().arguments([0; 129])]), Err(CallError::ArgumentsTooLong)));
    let brake = setup.connect("brake").unwrap();
    let unbounded = block_on(brake.request([invert()]).unwrap());
    assert!(matches!(unbounded, Err(RemoteError::Refused { reason }) if reason.contains("at most 1ms is allowed")));
    assert!(matches!(block_on(map.request([]).unwrap()), Err(RemoteError::Refused { .. })));
}

#[test]
fn a_client_that_the_file_does_not_name_is_told_so() {
    let setup = real_time();
    let rejected = |name: &str| match setup.connect(name) {
        Err(ConnectError::Rejected { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        rejected("camera"),
        "the deployment file of the accelerator `gpu` names no client `camera`; it has `brake`, `map`, `stranger`"
    );
    assert!(rejected("stranger").contains("is for processes of the user 4242"));
    let _map = setup.connect("map").unwrap();
    assert!(rejected("map").contains("is there already"));
    let large = rospin_remote::RemoteClient::connect(
        &setup.path,
        "map",
        (1 << 20) + 1,
        rospin_engine::os::ThreadOptions::new(),
    );
    let large = large.unwrap_err().to_string();
    assert!(large.contains("the deployment file allows 1048576"), "{large}");
}

#[test]
fn a_server_that_ends_fails_what_waits_for_it() {
    let mut setup = virtual_time();
    let map = setup.connect("map").unwrap();
    let waiting = map.request([RemoteSegment::new("invert").arguments(us(1_000))]).unwrap();
    setup.await_accepted(1);
    setup.server = None;
    assert_eq!(block_on(waiting), Err(RemoteError::ServerGone));
    assert!(matches!(map.request([RemoteSegment::new("invert")]), Err(CallError::NotSent { .. })));
    let refused = setup.connect("map").unwrap_err().to_string();
    assert!(refused.contains("no server of an accelerator listens there"), "{refused}");
}

#[test]
fn one_server_listens_at_a_path_and_a_dead_one_is_replaced() {
    let setup: Setup<VirtualDevice> = virtual_time();
    let access = || Access::new(&Deployment::parse(crate::CLIENTS).unwrap(), "gpu").unwrap();
    let start = || {
        let kernels = Inverting::<VirtualDevice>(std::marker::PhantomData);
        Server::start(&setup.path, setup.gpu.clone(), kernels, access(), ServerOptions::new())
    };
    assert!(matches!(start(), Err(ServerError::Busy { .. })));
    let abandoned = crate::path();
    drop(std::os::unix::net::UnixListener::bind(&abandoned).unwrap());
    assert!(abandoned.exists());
    let kernels = Inverting::<VirtualDevice>(std::marker::PhantomData);
    let server = Server::start(&abandoned, setup.gpu.clone(), kernels, access(), ServerOptions::new()).unwrap();
    drop(server);
    assert!(!abandoned.exists());
    assert!(Access::new(&Deployment::default(), "gpu").unwrap_err().to_string().contains("add `[[client]]`"));
}
