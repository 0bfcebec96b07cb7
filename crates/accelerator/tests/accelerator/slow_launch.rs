//! A device whose launches take long: what other threads may do meanwhile.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, Weak};

use rospin_accelerator::{Backend, Ended, Launch, Listener, SegmentFailure};

use super::*;

/// A device that the test ends segments of, and whose next launch waits for the test if it is asked to.
#[derive(Default)]
struct ByHand {
    listener: Mutex<Option<Weak<dyn Listener>>>,
    /// The names of the segments that were launched, with their tickets, in order.
    launched: Mutex<Vec<(&'static str, u64)>>,
    /// Tells that the next launch has begun, and then waits for the word to go on.
    gate: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Backend for ByHand {
    type Work = &'static str;

    fn lanes(&self) -> usize {
        1
    }

    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn connect(&self, listener: Weak<dyn Listener>) {
        *self.listener.lock().unwrap() = Some(listener);
    }

    fn submit(&self, launch: Launch<&'static str>) -> Result<(), SegmentFailure> {
        let gate = self.gate.lock().unwrap().take();
        if let Some((begun, go_on)) = gate {
            begun.send(()).unwrap();
            go_on.recv().unwrap();
        }
        self.launched.lock().unwrap().push((launch.work, launch.ticket));
        Ok(())
    }

    fn set_alarm(&self, _: Instant) {}
}

impl ByHand {
    /// Ends the segment that was launched as the `nth` one, after a millisecond on the device.
    fn end(&self, nth: usize) {
        let ticket = self.launched.lock().unwrap()[nth].1;
        let listener = self.listener.lock().unwrap().clone().unwrap().upgrade().unwrap();
        listener.ended(Ended { lane: 0, ticket, at: Instant::ZERO, busy: ms(1), result: Ok(()) });
    }

    fn names(&self) -> Vec<&'static str> {
        self.launched.lock().unwrap().iter().map(|(name, _)| *name).collect()
    }
}

#[test]
fn a_segment_that_is_picked_ahead_is_not_launched_before_the_one_that_it_follows() {
    let device = Arc::new(ByHand::default());
    let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new().ahead(ms(5)));
    let create = |name| gpu.create_client(ClientOptions::new(name)).unwrap();
    let first = create("first");
    let second = create("second");
    // From now on, the end of the first client's segment is expected at once.
    let learnt = first.request(Request::new([Segment::new("learnt")])).unwrap();
    device.end(0);
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel();
    *device.gate.lock().unwrap() = Some((begun, may_go_on));
    let both = std::thread::scope(|scope| {
        let running = scope.spawn(|| first.request(Request::new([Segment::new("running")])).unwrap());
        has_begun.recv().unwrap();
        // It is to follow the one whose launch takes so long.
        let following = second.request(Request::new([Segment::new("following")])).unwrap();
        let meanwhile = device.names();
        go_on.send(()).unwrap();
        assert_eq!(meanwhile, ["learnt"]);
        (running.join().unwrap(), following)
    });
    assert_eq!(device.names(), ["learnt", "running", "following"]);
    device.end(1);
    device.end(2);
    for mut completion in [learnt, both.0, both.1] {
        assert!(completion.try_take().unwrap().is_ok());
    }
}
