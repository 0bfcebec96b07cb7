//! Alarms of requests that are sent at once.

use std::sync::{Mutex, Weak};

use rospin_accelerator::{Backend, Launch, Listener, SegmentFailure};

use super::*;

type Hook = Box<dyn FnOnce() + Send>;

/// A device whose first launch calls a function, as a segment's work may, and that keeps the alarm.
#[derive(Default)]
struct Hooked {
    hook: Mutex<Option<Hook>>,
    alarm: Mutex<Option<Instant>>,
    listener: Mutex<Option<Weak<dyn Listener>>>,
}

impl Backend for Hooked {
    type Work = ();

    fn lanes(&self) -> usize {
        2
    }

    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        *self.listener.lock().unwrap() = Some(listener);
    }

    fn submit(&self, _: Launch<()>) -> Result<(), SegmentFailure> {
        let hook = self.hook.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
        Ok(())
    }

    fn set_alarm(&self, at: Instant) {
        let mut alarm = self.alarm.lock().unwrap();
        *alarm = Some(alarm.map_or(at, |set| set.min(at)));
    }
}

#[test]
fn a_slow_launch_does_not_put_off_the_alarm_of_another_request() {
    let device = Arc::new(Hooked::default());
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().patience(ms(0)));
    let slow = gpu.create_client(ClientOptions::new("slow")).unwrap();
    let quick = Arc::new(gpu.create_client(ClientOptions::new("quick")).unwrap());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let to_keep = Arc::clone(&kept);
    *device.hook.lock().unwrap() = Some(Box::new(move || {
        to_keep.lock().unwrap().push(quick.request(Request::new([Segment::new(()).bound(ms(1))])).unwrap());
    }));
    let _slow = slow.request(Request::new([Segment::new(()).bound(ms(1_000))])).unwrap();
    assert_eq!(*device.alarm.lock().unwrap(), Some(at(1)), "the quick segment is looked at after its bound");
    drop(device.hook.lock().unwrap().take());
}
