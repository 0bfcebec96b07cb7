//! Clients that crash, lie, flood, send garbage or never read their results, and devices that fail.

use std::sync::atomic::{AtomicU64, Ordering};

use rospin_accelerator::{AcceleratorOptions, OnOverrun, SubmitError};

use super::*;

/// A request of one segment that says it takes 1 ms.
fn lie(real_ms: u64) -> Request<ModelWork> {
    Request::new([Segment::new(ModelWork::kernel(ms(real_ms))).bound(ms(1))])
}

#[test]
fn a_client_that_lies_pays_from_its_budget_and_others_keep_their_share() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let liar = ClientOptions::new("liar").priority(Priority(9)).budget(ms(2), ms(10)).depth(1000);
    let liar = gpu.create_client(liar).unwrap();
    let honest = client(&gpu, "honest", 1);
    let flood: Vec<_> = (0..100).map(|_| liar.request(lie(5)).unwrap()).collect();
    let mut ends = Vec::new();
    for period in 0..20 {
        device.run_until(at(period * 20));
        let mut completion = honest.request(request(&[8])).unwrap();
        device.run_until(at(period * 20 + 19));
        ends.push(result(&mut completion).unwrap().response());
    }
    // One segment of the liar may run, and another one if its budget is full again meanwhile.
    assert!(ends.iter().all(|response| *response <= ms(8 + 2 * 5)), "{ends:?}");
    let counts = liar.statistics();
    // 2 ms in 10 for 400 ms, and one segment more.
    assert!(counts.busy <= ms(80 + 5) && counts.overruns == counts.segments, "{counts:?}");
    assert!(counts.throttled > 0);
    drop(flood);
    assert_eq!(honest.statistics().completed, 20);
}

#[test]
fn a_client_that_lies_can_be_expelled() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let liar = gpu.create_client(ClientOptions::new("liar").on_overrun(OnOverrun::Expel)).unwrap();
    let mut first = liar.request(lie(5)).unwrap();
    let mut second = liar.request(lie(1)).unwrap();
    device.run();
    assert_eq!(result(&mut first), Err(RequestError::Expelled));
    assert_eq!(result(&mut second), Err(RequestError::Expelled));
    assert_eq!(liar.request(lie(1)).err(), Some(SubmitError::Expelled { client: "liar".to_owned() }));
}

#[test]
fn a_request_can_end_at_its_overrun() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let liar = gpu.create_client(ClientOptions::new("liar").on_overrun(OnOverrun::Fail)).unwrap();
    let segments = [5, 1].map(|n| Segment::new(ModelWork::kernel(ms(n))).bound(ms(1)));
    let mut ended = liar.request(Request::new(segments)).unwrap();
    let mut next = liar.request(lie(1)).unwrap();
    device.run();
    assert_eq!(result(&mut ended), Err(RequestError::Overrun));
    assert_eq!(end(&mut next), 6);
}

#[test]
fn the_watchdog_ends_a_request_whose_segment_does_not_end() {
    let (device, gpu) = gpu(AcceleratorOptions::new().patience(ms(10)));
    let stuck = client(&gpu, "stuck", 1);
    let waits = client(&gpu, "waits", 9);
    let mut overdue = stuck.request(lie(500)).unwrap();
    let mut other = waits.request(request(&[1])).unwrap();
    device.run_until(at(10));
    assert_eq!(overdue.try_take(), None);
    device.run_until(at(11));
    assert_eq!(result(&mut overdue), Err(RequestError::Overrun));
    device.run();
    // The device cannot interrupt a segment, so the other request waits for it.
    assert_eq!(end(&mut other), 501);
    assert_eq!((gpu.statistics().overruns, gpu.requests_in_memory()), (1, 0));
}

#[test]
fn a_device_that_does_not_end_a_segment_is_lost_and_nobody_hangs() {
    let (device, gpu) = gpu(AcceleratorOptions::new().patience(ms(10)).give_up(ms(100)));
    let stuck = client(&gpu, "stuck", 1);
    let waits = client(&gpu, "waits", 9);
    let mut overdue = stuck.request(lie(1_000_000)).unwrap();
    let mut others: Vec<_> = (0..5).map(|_| waits.request(request(&[1, 1])).unwrap()).collect();
    device.run_until(at(101));
    assert_eq!(result(&mut overdue), Err(RequestError::Overrun));
    let lost = RequestError::DeviceLost { reason: "a segment did not end".to_owned() };
    assert!(others.iter_mut().all(|other| result(other) == Err(lost.clone())));
    assert!(matches!(waits.request(request(&[1])).err(), Some(SubmitError::DeviceLost { .. })));
    assert_eq!(gpu.lost().as_deref(), Some("a segment did not end"));
    device.run();
    drop((overdue, others));
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn all_waiters_of_a_lost_device_get_an_error() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let clients = [client(&gpu, "a", 1), client(&gpu, "b", 2), client(&gpu, "c", 3)];
    let mut all: Vec<_> =
        clients.iter().flat_map(|one| [1, 2].map(|_| one.request(request(&[3, 3])).unwrap())).collect();
    device.run_until(at(4));
    // Even the request of a client that is gone, whose segment runs.
    let [a, b, c] = clients;
    drop(a);
    device.lose("cable pulled");
    let errors: Vec<_> = all.iter_mut().map(|completion| result(completion).unwrap_err()).collect();
    let lost = errors.iter().filter(|error| matches!(error, RequestError::DeviceLost { .. })).count();
    let gone = errors.iter().filter(|error| **error == RequestError::ClientGone).count();
    assert_eq!(lost + gone, 6, "{errors:?}");
    assert_eq!(gpu.statistics().failed, 6);
    device.run();
    drop((b, c, all));
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn a_client_that_floods_gets_no_more_than_its_depth() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let flood = gpu.create_client(ClientOptions::new("flood").depth(3)).unwrap();
    let kept: Vec<_> = (0..1000).filter_map(|_| flood.request(request(&[1])).ok()).collect();
    assert_eq!((kept.len(), flood.statistics().refused), (3, 997));
    // Results that nobody reads count, too.
    device.run();
    let full = SubmitError::Full { client: "flood".to_owned(), depth: 3 };
    assert_eq!(flood.request(request(&[1])).err(), Some(full));
    drop(kept);
    assert!(flood.request(request(&[1])).is_ok());
}

#[test]
fn garbage_is_refused_with_its_reason() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let careful = gpu.create_client(ClientOptions::new("careful").longest_segment(ms(2))).unwrap();
    assert_eq!(careful.request(Request::new([])).err(), Some(SubmitError::Empty { client: "careful".to_owned() }));
    let long = careful.request(request(&[1, 3])).err().unwrap();
    assert!(long.to_string().contains("may take Some(3ms); at most 2ms"), "{long}");
    let unbounded = careful.request(Request::new([Segment::new(ModelWork::kernel(ms(1)))])).err().unwrap();
    assert!(matches!(unbounded, SubmitError::TooLong { bound: None, .. }));
    assert!(gpu.create_client(ClientOptions::new("none").depth(0)).is_err());
    assert!(gpu.create_client(ClientOptions::new("none").budget(ms(0), ms(1))).is_err());
    assert_eq!((device.run(), gpu.requests_in_memory()), (at(0), 0));
}

#[test]
fn a_segment_that_fails_ends_its_request_alone() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let bad = client(&gpu, "bad", 9);
    let good = client(&gpu, "good", 1);
    let failing = Segment::new(ModelWork::kernel(ms(1)).failing("illegal address"));
    let panicking = Segment::new(ModelWork::kernel(ms(1)).then(|| panic!("as asked")));
    let mut failed = bad.request(Request::new([failing, Segment::new(ModelWork::kernel(ms(50)))])).unwrap();
    let mut panicked = bad.request(Request::new([panicking])).unwrap();
    let mut other = good.request(request(&[3])).unwrap();
    device.run();
    assert_eq!(result(&mut failed), Err(RequestError::Failed { reason: "illegal address".to_owned() }));
    assert!(result(&mut panicked).unwrap_err().to_string().contains("panicked"));
    assert_eq!(end(&mut other), 5);
}

#[test]
fn a_client_that_crashes_leaves_nothing_behind() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let honest = client(&gpu, "honest", 1);
    let count = Arc::new(AtomicU64::new(0));
    for round in 0..100 {
        let crashing = client(&gpu, "crashing", 9);
        let counts = Arc::clone(&count);
        let crash = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let counted = || {
                let count = Arc::clone(&counts);
                Segment::new(ModelWork::kernel(ms(1)).then(move || _ = count.fetch_add(1, Ordering::Relaxed)))
            };
            let _requests: Vec<_> =
                (0..5).map(|_| crashing.request(Request::new([counted(), counted()])).unwrap()).collect();
            if round % 2 == 0 {
                drop(crashing);
            }
            std::panic::resume_unwind(Box::new("crash"));
        }));
        assert!(crash.is_err());
        let mut completion = honest.request(request(&[2])).unwrap();
        device.run();
        assert_eq!(result(&mut completion).unwrap().response(), ms(3));
    }
    // At each of the hundred crashes, the device ran one segment already. The others never ran.
    assert_eq!((count.load(Ordering::Relaxed), gpu.requests_in_memory()), (100, 0));
    assert_eq!(Arc::strong_count(&count), 1, "the work of segments that did not run is dropped");
}
