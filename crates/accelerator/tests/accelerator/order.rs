//! The order in which requests get the device.

use rospin_accelerator::model::{ModelOptions, VirtualDevice};
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Discipline};

use super::*;

#[test]
fn an_urgent_request_waits_for_one_foreign_segment() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let mut slow = map.request(request(&[4, 4, 4])).unwrap();
    device.run_until(at(1));
    let mut urgent = brake.request(request(&[2, 1])).unwrap();
    device.run();
    let outcome = result(&mut urgent).unwrap();
    assert_eq!((outcome.requested, outcome.started, outcome.finished), (at(1), at(4), at(7)));
    assert_eq!((outcome.busy, outcome.response()), (ms(3), ms(6)));
    assert_eq!(end(&mut slow), 15);
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn first_come_first_served_ends_a_request_before_the_next_one_begins() {
    let (device, gpu) = gpu(AcceleratorOptions::new().discipline(Discipline::Fifo));
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let mut slow = map.request(request(&[4, 4, 4])).unwrap();
    device.run_until(at(1));
    let mut urgent = brake.request(request(&[2])).unwrap();
    device.run();
    assert_eq!((end(&mut slow), end(&mut urgent)), (12, 14));
}

#[test]
fn the_earliest_deadline_of_a_request_comes_first_even_between_its_segments() {
    let (device, gpu) = gpu(AcceleratorOptions::new().discipline(Discipline::Edf));
    let with = |name: &str, deadline| gpu.create_client(ClientOptions::new(name).deadline(ms(deadline))).unwrap();
    let early = with("early", 20);
    let late = with("late", 12);
    let mut first = early.request(request(&[4, 4])).unwrap();
    device.run_until(at(3));
    // Due at 15, before the other one's 20.
    let mut second = late.request(request(&[4])).unwrap();
    device.run_until(at(7));
    // Due at 19, after `second` has ended: still before 20.
    let mut third = late.request(request(&[4])).unwrap();
    device.run();
    assert_eq!((end(&mut second), end(&mut third), end(&mut first)), (8, 12, 16));
}

#[test]
fn requests_of_one_client_run_one_after_the_other() {
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(2).compute_engines(2)));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let one = client(&gpu, "one", 9);
    let other = client(&gpu, "other", 1);
    let mut first = one.request(request(&[3, 3])).unwrap();
    let mut second = one.request(request(&[1])).unwrap();
    let mut beside = other.request(request(&[10])).unwrap();
    device.run();
    assert_eq!((end(&mut first), end(&mut second), end(&mut beside)), (6, 7, 10));
}

#[test]
fn a_request_that_is_dropped_does_not_run() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let runs = map.request(request(&[4, 4])).unwrap();
    let waits = brake.request(request(&[5])).unwrap();
    let mut last = brake.request(request(&[1])).unwrap();
    drop(waits);
    // Its first segment goes on to its end, its second one does not start.
    drop(runs);
    device.run();
    assert_eq!(end(&mut last), 5);
    assert_eq!((gpu.statistics().cancelled, gpu.statistics().completed, gpu.requests_in_memory()), (2, 1, 0));
}

#[test]
fn a_cancelled_request_does_not_lend_its_place_to_the_next_one() {
    let (device, gpu) = gpu(AcceleratorOptions::new().discipline(Discipline::Fifo));
    let busy = client(&gpu, "busy", 0);
    let one = client(&gpu, "one", 0);
    let other = client(&gpu, "other", 0);
    let _runs = busy.request(request(&[10])).unwrap();
    device.run_until(at(1));
    let early = one.request(request(&[1])).unwrap();
    device.run_until(at(2));
    let mut before = other.request(request(&[1])).unwrap();
    device.run_until(at(3));
    drop(early);
    let mut after = one.request(request(&[1])).unwrap();
    device.run();
    assert_eq!((end(&mut before), end(&mut after)), (11, 12));
}

/// Returns an accelerator that gives a lane its next segment so many milliseconds before the end of the running one,
/// and has learnt that the only segment of a request of `map` takes 4 ms, and of `brake` 2.
fn ahead(before_end: u64) -> (Arc<VirtualDevice>, Gpu, Client<VirtualDevice>, Client<VirtualDevice>) {
    let (device, gpu) = gpu(AcceleratorOptions::new().ahead(ms(before_end)));
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let mut first = map.request(request(&[4])).unwrap();
    let mut second = brake.request(request(&[2])).unwrap();
    device.run_until(at(10));
    assert_eq!((end(&mut first), end(&mut second)), (4, 6));
    (device, gpu, map, brake)
}

#[test]
fn the_next_segment_is_picked_shortly_before_the_expected_end_and_not_earlier() {
    let (device, gpu, map, brake) = ahead(1);
    let mut runs = map.request(request(&[4])).unwrap();
    let mut waits = map.request(request(&[4])).unwrap();
    device.run_until(at(12));
    // At 13 the next one is picked, so that this one is in time.
    let mut urgent = brake.request(request(&[2])).unwrap();
    device.run();
    assert_eq!((end(&mut runs), end(&mut urgent), end(&mut waits)), (14, 16, 20));
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn a_request_that_comes_after_the_pick_waits_for_two_segments() {
    let (device, _gpu, map, brake) = ahead(1);
    let mut runs = map.request(request(&[4])).unwrap();
    let mut waits = map.request(request(&[4])).unwrap();
    device.run_until(at(13));
    let mut urgent = brake.request(request(&[2])).unwrap();
    device.run();
    assert_eq!((end(&mut runs), end(&mut waits), end(&mut urgent)), (14, 18, 20));
}

#[test]
fn a_request_whose_segment_was_picked_ahead_is_cancelled_after_that_segment() {
    let (device, gpu, map, brake) = ahead(1);
    let mut runs = map.request(request(&[4])).unwrap();
    let picked = map.request(request(&[4, 4])).unwrap();
    device.run_until(at(13));
    drop(picked);
    let mut last = brake.request(request(&[2])).unwrap();
    device.run();
    assert_eq!((end(&mut runs), end(&mut last)), (14, 20));
    assert_eq!((gpu.statistics().cancelled, gpu.requests_in_memory()), (1, 0));
}

#[test]
fn a_client_whose_segments_are_both_on_the_device_may_go() {
    let (device, gpu, map, brake) = ahead(1);
    let mut runs = map.request(request(&[4, 4, 4])).unwrap();
    device.run_until(at(13));
    drop(map);
    let mut last = brake.request(request(&[2])).unwrap();
    device.run();
    assert_eq!(result(&mut runs), Err(RequestError::ClientGone));
    assert_eq!(end(&mut last), 20);
    drop(runs);
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn a_segment_that_fails_ends_its_request_and_the_one_picked_ahead_runs_nevertheless() {
    let (device, gpu, map, brake) = ahead(1);
    let bad = Segment::new(ModelWork::kernel(ms(4)).failing("too hot"));
    let good = Segment::new(ModelWork::kernel(ms(4)));
    let mut fails = map.request(Request::new([bad, good])).unwrap();
    device.run_until(at(13));
    let mut last = brake.request(request(&[2])).unwrap();
    device.run_until(at(14));
    assert_eq!(result(&mut fails), Err(RequestError::Failed { reason: "too hot".to_owned() }));
    device.run();
    assert_eq!(end(&mut last), 20);
    assert_eq!(gpu.requests_in_memory(), 0);
}

/// Returns an accelerator whose first lane is for clients of priority 9 and more, on a device whose kernels are
/// preempted between blocks.
fn urgent_lane(lanes: usize) -> (Arc<VirtualDevice>, Gpu) {
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(lanes)));
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().urgent(Priority(9)));
    (device, gpu)
}

fn in_blocks(length: u64) -> Request<ModelWork> {
    Request::new([Segment::new(ModelWork::kernel(ms(length)).blocks(ms(1)))])
}

#[test]
fn an_urgent_lane_preempts_between_blocks() {
    let (device, gpu) = urgent_lane(2);
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let mut slow = map.request(in_blocks(10)).unwrap();
    let mut slower = map.request(in_blocks(10)).unwrap();
    device.run_until(at(3));
    let mut urgent = brake.request(in_blocks(2)).unwrap();
    device.run();
    // A block begins at 3 and ends at 4.
    assert_eq!((end(&mut urgent), end(&mut slow), end(&mut slower)), (6, 12, 22));
}

#[test]
fn clients_below_the_limit_do_not_use_the_urgent_lane_though_it_is_idle() {
    let (device, gpu) = urgent_lane(3);
    let clients: Vec<_> = (0..3).map(|_| client(&gpu, "map", 1)).collect();
    let mut all: Vec<_> = clients.iter().map(|client| client.request(in_blocks(4)).unwrap()).collect();
    device.run();
    let ends: Vec<u64> = all.iter_mut().map(end).collect();
    // The two ordinary lanes have the first two; the third one follows the one that ends first.
    assert_eq!(ends, [4, 8, 12]);
}

#[test]
fn on_a_device_with_one_lane_the_urgent_ones_share_it() {
    let (device, gpu) = urgent_lane(1);
    let map = client(&gpu, "map", 1);
    let brake = client(&gpu, "brake", 9);
    let mut slow = map.request(in_blocks(4)).unwrap();
    let mut urgent = brake.request(in_blocks(2)).unwrap();
    device.run();
    assert_eq!((end(&mut slow), end(&mut urgent)), (4, 6));
}
