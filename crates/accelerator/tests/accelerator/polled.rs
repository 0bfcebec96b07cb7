//! A device without threads, whose ends are found by those who ask: what a thread that waits does for itself, and for
//! others.

use std::sync::{Mutex, Weak};

use rospin_accelerator::{Backend, Ended, Launch, Listener, SegmentFailure};

use super::*;

/// A device with two lanes. Its time is what the test sets, and its segments have ended as soon as somebody asks.
#[derive(Default)]
struct Polled {
    now: Mutex<Instant>,
    listener: Mutex<Option<Weak<dyn Listener>>>,
    /// The segments on the device with their lanes, in order.
    running: Mutex<Vec<(usize, u64)>>,
    /// The names of all segments that were launched, in order.
    launched: Mutex<Vec<&'static str>>,
    /// The earliest alarm that was asked for and not told of.
    alarm: Mutex<Option<Instant>>,
}

impl Backend for Polled {
    type Work = &'static str;

    fn lanes(&self) -> usize {
        2
    }

    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        *self.listener.lock().unwrap() = Some(listener);
    }

    fn submit(&self, launch: Launch<&'static str>) -> Result<(), SegmentFailure> {
        self.running.lock().unwrap().push((launch.lane, launch.ticket));
        self.launched.lock().unwrap().push(launch.work);
        Ok(())
    }

    fn poll(&self, lane: usize) {
        let ended = {
            let mut running = self.running.lock().unwrap();
            let first = running.iter().position(|(on, _)| *on == lane);
            first.map(|first| running.remove(first).1)
        };
        if let Some(ticket) = ended {
            self.listener().ended(Ended { lane, ticket, at: self.now(), busy: ms(4), result: Ok(()) });
        }
    }

    fn set_alarm(&self, at: Instant) {
        let mut alarm = self.alarm.lock().unwrap();
        *alarm = Some(alarm.map_or(at, |set| set.min(at)));
    }
}

impl Polled {
    /// Tells of the alarm that was asked for, which must be due.
    fn tell_alarm(&self) {
        let alarm = self.alarm.lock().unwrap().take().expect("somebody asked for an alarm");
        assert!(alarm <= self.now(), "{alarm:?}");
        self.listener().alarm(self.now());
    }

    fn listener(&self) -> Arc<dyn Listener> {
        self.listener.lock().unwrap().clone().unwrap().upgrade().unwrap()
    }

    fn launched(&self) -> Vec<&'static str> {
        self.launched.lock().unwrap().clone()
    }
}

fn request_of(names: &[&'static str]) -> Request<&'static str> {
    names.iter().map(|name| Segment::new(*name)).collect()
}

#[test]
fn a_thread_that_does_not_sleep_needs_no_thread_of_the_device() {
    let device = Arc::new(Polled::default());
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("camera")).unwrap();
    let waiting = client.request(request_of(&["waits"])).unwrap();
    let outcome = client.request(request_of(&["first", "second"])).unwrap().busy_wait().unwrap();
    assert_eq!(outcome.busy, ms(8));
    assert_eq!(device.launched(), ["waits", "first", "second"]);
    // The end of the request before was told on the way.
    assert!(futures::executor::block_on(waiting).is_ok());
}

#[test]
fn the_end_of_an_urgent_segment_starts_nothing_of_others() {
    let device = Arc::new(Polled::default());
    let options = AcceleratorOptions::new().urgent(Priority(5)).ahead(ms(1));
    let gpu = Accelerator::new(Arc::clone(&device), options);
    let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9))).unwrap();
    let map = gpu.create_client(ClientOptions::new("map").priority(Priority(1))).unwrap();
    map.request(request_of(&["learnt"])).unwrap().busy_wait().unwrap();
    // Segments of the map are expected to take 4 ms, so the second one is due to be launched at 3 ms.
    let _maps = map.request(request_of(&["map", "map, next"])).unwrap();
    *device.now.lock().unwrap() = at(3);
    brake.request(request_of(&["brake"])).unwrap().busy_wait().unwrap();
    assert_eq!(device.launched(), ["learnt", "map", "brake"]);
    device.tell_alarm();
    assert_eq!(device.launched(), ["learnt", "map", "brake", "map, next"]);
}
