//! Recordings of a device.

use std::sync::Mutex;

use rospin_accelerator::model::{RealTimeDevice, RealTimeOptions};
use rospin_engine::Recorder;
use rospin_engine::recording::{Definition, Event, Sink, Words};

use super::*;

/// The names of executors and entities, and the events in the order of their times.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    events: Vec<(Instant, Event)>,
}

struct Keep(Arc<Mutex<Seen>>);

impl Sink for Keep {
    fn define(&mut self, definition: &Definition) {
        let name = match definition {
            Definition::Executor { name, .. } | Definition::Entity { name, .. } => name.clone(),
            _ => return,
        };
        self.0.lock().unwrap().names.push(name);
    }

    fn record(&mut self, _: u32, events: &[Words]) {
        let mut seen = self.0.lock().unwrap();
        for words in events {
            seen.events.extend(Event::decode(words));
        }
    }

    fn flush(&mut self) {}
}

#[test]
fn a_recording_tells_which_client_had_which_lane_and_when() {
    let device = Arc::new(RealTimeDevice::start(RealTimeOptions::new(ModelOptions::new().lanes(2))).unwrap());
    let gpu = Accelerator::new(device, AcceleratorOptions::new().urgent(Priority(9)));
    let recorder = Recorder::new();
    gpu.record(&recorder, "gpu");
    let map = gpu.create_client(ClientOptions::new("map").priority(Priority(1))).unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let sink = recorder.start(Keep(Arc::clone(&seen))).unwrap();
    // This one comes while the recorder is on.
    let brake = gpu.create_client(ClientOptions::new("brake").priority(Priority(9))).unwrap();
    let slow = futures::executor::block_on(map.request(request(&[2, 1])).unwrap()).unwrap();
    let urgent = futures::executor::block_on(brake.request(request(&[1])).unwrap()).unwrap();
    sink.stop();
    // Nothing is recorded any more.
    futures::executor::block_on(brake.request(request(&[1])).unwrap()).unwrap();
    let mut seen = seen.lock().unwrap();
    // Each thread has a log of its own.
    seen.events.sort_by_key(|(at, _)| *at);
    for name in ["gpu", "gpu, urgent", "map", "brake"] {
        assert!(seen.names.iter().any(|seen| seen == name), "{name} in {:?}", seen.names);
    }
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for (at, event) in &seen.events {
        match event {
            Event::Dispatched { thread, .. } => starts.push((*at, *thread)),
            Event::Completed { .. } => ends.push(*at),
            _ => {}
        }
    }
    // Each lane is the only one of its executor.
    let threads: Vec<u8> = starts.iter().map(|(_, thread)| *thread).collect();
    assert_eq!(threads, [0, 0, 0]);
    assert_eq!(starts[0].0, slow.started);
    assert!(ends[0] >= starts[0].0 + ms(2) && ends[1] >= starts[1].0 + ms(1));
    assert_eq!(starts[2].0, urgent.started);
}
