//! The model device in real time.

use rospin_accelerator::model::{RealTimeDevice, RealTimeOptions};

use super::*;

fn start(options: AcceleratorOptions) -> (Arc<RealTimeDevice>, Accelerator<RealTimeDevice>) {
    let device = Arc::new(RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new())).unwrap());
    let gpu = Accelerator::new(Arc::clone(&device), options);
    (device, gpu)
}

fn kernel(us: u64) -> Segment<ModelWork> {
    let length = Duration::from_micros(us);
    Segment::new(ModelWork::kernel(length)).bound(length)
}

#[test]
fn an_urgent_request_waits_for_one_segment_in_real_time_too() {
    let (_device, gpu) = start(AcceleratorOptions::new());
    let slow = gpu.create_client(ClientOptions::new("slow")).unwrap();
    let urgent = gpu.create_client(ClientOptions::new("urgent").priority(Priority(9))).unwrap();
    let background = slow.request((0..20).map(|_| kernel(5_000)).collect()).unwrap();
    let outcome = futures::executor::block_on(urgent.request(Request::new([kernel(1_000)])).unwrap()).unwrap();
    let last = futures::executor::block_on(background).unwrap();
    // Nothing but the order is certain on a busy machine: 19 segments of the slow client follow.
    assert!(outcome.finished + ms(5 * 19) <= last.finished, "{outcome:?} {last:?}");
    assert_eq!(last.busy, ms(100));
}

#[test]
fn threads_that_request_and_cancel_at_once_leave_nothing() {
    let (_device, gpu) = start(AcceleratorOptions::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let gpu = &gpu;
            scope.spawn(move || {
                let client = gpu.create_client(ClientOptions::new("one").priority(Priority(thread))).unwrap();
                for turn in 0..300 {
                    let completion = client.request(Request::new([kernel(1), kernel(1)])).unwrap();
                    if turn % 3 == 0 {
                        drop(completion);
                    } else {
                        futures::executor::block_on(completion).unwrap();
                    }
                }
            });
        }
    });
    // A cancelled request's segment may still be on the device; the end of a last request is the end of it.
    let last = gpu.create_client(ClientOptions::new("last")).unwrap();
    futures::executor::block_on(last.request(Request::new([kernel(1)])).unwrap()).unwrap();
    assert_eq!(gpu.requests_in_memory(), 0);
    let counts = gpu.statistics();
    assert_eq!(counts.completed + counts.cancelled, counts.accepted);
}

#[test]
fn a_device_that_is_lost_in_the_middle_wakes_its_waiters() {
    let (device, gpu) = start(AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("one")).unwrap();
    let completion = client.request(Request::new([kernel(60_000_000)])).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| futures::executor::block_on(completion));
        device.lose("cable pulled");
        assert!(matches!(waits.join().unwrap(), Err(RequestError::DeviceLost { .. })));
    });
}

#[test]
fn a_thread_that_does_not_sleep_gets_what_the_future_gives() {
    let (device, gpu) = start(AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("one")).unwrap();
    let outcome = client.request(Request::new([kernel(1_000), kernel(500)])).unwrap().busy_wait().unwrap();
    assert_eq!(outcome.busy, Duration::from_micros(1_500));
    let bad = Segment::new(ModelWork::kernel(ms(1)).failing("too hot"));
    let failed = client.request(Request::new([bad])).unwrap().busy_wait();
    assert_eq!(failed, Err(RequestError::Failed { reason: "too hot".to_owned() }));
    device.lose("fell off");
    assert!(client.request(Request::new([kernel(1)])).is_err());
    assert_eq!(gpu.requests_in_memory(), 0);
}

#[test]
fn segments_of_a_client_run_in_order_when_threads_pick_ahead_for_each_others_lanes() {
    let model = ModelOptions::new().lanes(3).compute_engines(3);
    let device = Arc::new(RealTimeDevice::start(RealTimeOptions::new(model)).unwrap());
    let options = AcceleratorOptions::new().urgent(Priority(3)).ahead(Duration::from_micros(200));
    let gpu = Accelerator::new(device, options);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let gpu = &gpu;
            scope.spawn(move || {
                let client =
                    gpu.create_client(ClientOptions::new("one").priority(Priority(thread)).depth(1_000)).unwrap();
                let ended = Arc::new(std::sync::Mutex::new(Vec::new()));
                let mut expected = Vec::new();
                for turn in 0..200 {
                    let segment = |nth: u64| {
                        let ended = Arc::clone(&ended);
                        let work = ModelWork::kernel(Duration::from_micros(50 + 30 * nth));
                        Segment::new(work.then(move || ended.lock().unwrap().push((turn, nth))))
                    };
                    expected.extend([(turn, 0), (turn, 1), (turn, 2)]);
                    let completion = client.request(Request::new([segment(0), segment(1), segment(2)])).unwrap();
                    // Requests come while others of the same client run. Their futures are never read, and never
                    // dropped.
                    if turn % 4 == 3 {
                        futures::executor::block_on(completion).unwrap();
                    } else {
                        std::mem::forget(completion);
                    }
                }
                assert_eq!(*ended.lock().unwrap(), expected);
            });
        }
    });
}
