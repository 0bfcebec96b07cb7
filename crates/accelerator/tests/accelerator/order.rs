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
