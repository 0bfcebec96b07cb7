//! Recordings of segments that hang, and of clients that wait for their budgets.

use std::sync::Mutex;

use rospin_engine::Recorder;
use rospin_engine::recording::{Definition, Event, Sink, Words};

use super::*;

struct Keep(Arc<Mutex<Vec<(Instant, Event)>>>);

impl Sink for Keep {
    fn define(&mut self, _: &Definition) {}

    fn record(&mut self, _: u32, events: &[Words]) {
        self.0.lock().unwrap().extend(events.iter().filter_map(Event::decode));
    }

    fn flush(&mut self) {}
}

fn recorded(gpu: &Gpu, run: impl FnOnce()) -> (Vec<Instant>, Vec<Instant>) {
    let recorder = Recorder::new();
    gpu.record(&recorder, "gpu");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = recorder.start(Keep(Arc::clone(&seen))).unwrap();
    run();
    sink.stop();
    let seen = seen.lock().unwrap();
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for (at, event) in seen.iter() {
        match event {
            Event::Dispatched { .. } => starts.push(*at),
            Event::Completed { .. } => ends.push(*at),
            _ => {}
        }
    }
    (starts, ends)
}

#[test]
fn a_recording_tells_how_long_the_segment_held_a_device_that_was_given_up() {
    let (device, gpu) = gpu(AcceleratorOptions::new().give_up(ms(50)));
    let client = client(&gpu, "hangs", 1);
    let (starts, ends) = recorded(&gpu, || {
        let work = ModelWork::kernel(ms(10_000));
        let _hung = client.request(Request::new([Segment::new(work).bound(ms(10))])).unwrap();
        device.run_until(at(100));
        assert!(gpu.lost().is_some());
    });
    assert_eq!((starts, ends), (vec![at(0)], vec![at(60)]));
}

#[test]
fn a_recording_has_no_activation_but_for_segments() {
    let (device, gpu) = gpu(AcceleratorOptions::new());
    let options = ClientOptions::new("map").budget(ms(1), ms(10));
    let client = gpu.create_client(options).unwrap();
    let (starts, ends) = recorded(&gpu, || {
        let _open: Vec<_> = (0..3).map(|_| client.request(request(&[1])).unwrap()).collect();
        device.run_until(at(50));
    });
    assert_eq!((starts.len(), ends.len()), (3, 3), "{starts:?} {ends:?}");
}
