//! Recorders that start and stop while programs run.

use std::sync::{Arc, Mutex};

use rospin_engine::SinkHandle;
use rospin_engine::recording::{Definition, Event, Sink, Words};

use super::model::Record;
use super::operations::does_all;
use super::world::{World, lock};

/// The number of events that fit into the log of a thread: all that a program makes.
const EVENTS: usize = 1 << 14;

/// A recording under way.
pub(crate) struct Recording {
    handle: SinkHandle,
    record: Arc<Mutex<Record>>,
}

/// Creates the recorder of a program.
pub(crate) fn recorder() -> rospin_engine::Recorder {
    does_all(&["Recorder::new", "Recorder::set_capacity", "ContextOptions::recorder"]);
    let recorder = rospin_engine::Recorder::new();
    recorder.set_capacity(EVENTS);
    recorder
}

/// Starts the recorder, or stops it. Only the main thread does this: a thread that waits for the recorder's lock would
/// keep all threads of the model from going on.
pub(crate) fn record(world: &Arc<World>, on: bool) {
    let Some(recorder) = &world.recorder else {
        return;
    };
    if on {
        start(world, recorder);
    } else {
        stop(world, recorder);
    }
}

fn start(world: &Arc<World>, recorder: &rospin_engine::Recorder) {
    if lock(&world.recording).is_some() {
        return;
    }
    does_all(&["Recorder::start", "Recorder::is_on"]);
    let record = Arc::<Mutex<Record>>::default();
    let starting = world.note(|model, task| model.switches_recorder(task, true));
    let handle = recorder.start(Notebook(Arc::clone(&record))).expect("the recording thread can be started");
    let switched = world.note(|model, task| model.started_recorder(task, starting));
    world.note(|model, _| model.judge_switch(recorder.is_on(), true));
    *lock(&world.recording) = Some((switched, Recording { handle, record }));
}

fn stop(world: &Arc<World>, recorder: &rospin_engine::Recorder) {
    let Some((switched, recording)) = lock(&world.recording).take() else {
        return;
    };
    does_all(&["SinkHandle::stop", "Recorder::flush"]);
    let flushed = recorder.flush();
    world.note(|model, _| model.judge_switch(flushed, true));
    let stopping = world.note(|model, task| model.switches_recorder(task, false));
    recording.handle.stop();
    world.note(|model, _| model.judge_switch(recorder.is_on(), false));
    let mut record = lock(&recording.record);
    record.is_over = true;
    let contents = record.clone();
    drop(record);
    world.note(|model, task| model.judge_record(task, switched, stopping, &contents));
}

/// A sink that keeps what the model judges.
struct Notebook(Arc<Mutex<Record>>);

impl Sink for Notebook {
    fn define(&mut self, definition: &Definition) {
        if let Definition::Entity { executor, entity, name, .. } = definition {
            lock(&self.0).entities.insert((*executor, *entity), name.clone());
        }
    }

    fn record(&mut self, _thread: u32, events: &[Words]) {
        let mut record = lock(&self.0);
        record.came_late |= record.is_over && !events.is_empty();
        for words in events {
            let Some((_, event)) = Event::decode(words) else {
                continue;
            };
            let is_new = match event {
                Event::Dispatched { step, .. } if step.segment == 0 => {
                    *record.dispatched.entry((step.executor, step.entity)).or_default() += 1;
                    true
                }
                Event::Queued { queue, ticket, .. } => record.queued.insert((queue, ticket)),
                Event::Taken { queue, ticket } => record.taken.insert((queue, ticket)),
                _ => true,
            };
            record.has_repeated |= !is_new;
        }
    }

    fn flush(&mut self) {}
}
