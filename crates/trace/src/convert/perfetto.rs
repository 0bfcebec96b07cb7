//! The model as a trace of Perfetto, in protocol buffers.
//!
//! The messages here have only those of Perfetto's fields that are written, with the numbers of its published
//! definitions.

use prost::Message as _;

use crate::blame::{Blame, Share};
use crate::model::Model;

/// A trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

/// A packet: a description of a track, or an event on one.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct Packet {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A description of a track.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// Process of a track that stands for a process.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(string, tag = "6")]
    pub process_name: String,
}

/// Thread of a track that stands for a thread.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(int64, tag = "2")]
    pub tid: i64,
    #[prost(string, tag = "5")]
    pub thread_name: String,
}

/// Mark of a track that stands for a counter. It needs no fields.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {}

/// An event on a track.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    pub r#type: i32,
    #[prost(uint64, tag = "11")]
    pub track_uuid: u64,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// An argument of an event.
#[derive(Clone, PartialEq, prost::Message)]
#[expect(missing_docs, reason = "named as in Perfetto")]
pub struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    #[prost(double, optional, tag = "5")]
    pub double_value: Option<f64>,
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    #[prost(string, tag = "10")]
    pub name: String,
}

/// Type of an event that begins a slice. The three constants below are the other types.
pub const BEGIN: i32 = 1;
/// Type of an event that ends a slice.
pub const END: i32 = 2;
/// Type of an event without a duration.
pub const INSTANT: i32 = 3;
/// Type of an event that sets the value of a counter.
pub const COUNTER: i32 = 4;

/// Identity of the sequence of packets. One is enough for all, since no packet refers to an earlier one.
const SEQUENCE: u32 = 1;

/// Returns the trace as bytes.
#[must_use]
pub fn encode(model: &Model) -> Vec<u8> {
    trace(model).encode_to_vec()
}

/// Returns the identity of a track, from its kind and the place in the model of the item that it shows.
fn track(kind: u64, place: usize) -> u64 {
    kind << 32 | (place as u64 + 1)
}

const PROCESS: u64 = 1;
const THREAD: u64 = 2;
const QUEUE: u64 = 3;

/// Returns the trace: a track for each thread with the activations, whose arguments say what they waited for; flows
/// from publications to the callbacks that take them; a counter for each queue; instants for missed deadlines,
/// violations, losses and incidents.
#[must_use]
pub fn trace(model: &Model) -> Trace {
    let mut packets = describe(model);
    // Times of events decide their order; at the same time, ends come before beginnings.
    let mut events = Vec::new();
    activations(model, &mut events);
    for (place, message) in model.messages.iter().enumerate() {
        let mut event = event(INSTANT, track(THREAD, message.thread), &format!("publish {}", message.topic));
        if message.taken.is_some() {
            event.flow_ids = vec![place as u64 + 1];
        }
        events.push((message.published_ns, 2, event));
    }
    for (place, queue) in model.queues.iter().enumerate() {
        for (at, level) in &queue.levels {
            let mut counter = event(COUNTER, track(QUEUE, place), "");
            counter.name = None;
            counter.counter_value = i64::try_from(*level).ok();
            events.push((*at, 2, counter));
        }
    }
    for loss in &model.losses {
        let of = loss.callback.map_or_else(|| loss.topic.clone(), |callback| model.label(callback));
        let name = format!("lost: {of} {} ({})", loss.count, loss.cause);
        events.push((loss.at_ns, 2, event(INSTANT, track(PROCESS, loss.process), &name)));
    }
    for violation in &model.violations {
        let name = model.tell(violation);
        let process = track(PROCESS, model.callbacks[violation.callback].process);
        events.push((violation.at_ns, 2, event(INSTANT, process, &name)));
    }
    for incident in &model.incidents {
        let kind = rospin_core::recording::INCIDENTS.get(usize::from(incident.kind)).unwrap_or(&"failed");
        let Some(callback) = incident.callback else { continue };
        let name = format!("{} {kind}", model.label(callback));
        let process = track(PROCESS, model.callbacks[callback].process);
        events.push((incident.at_ns, 2, event(INSTANT, process, &name)));
    }
    events.sort_by_key(|(at, order, _)| (*at, *order));
    packets.extend(events.into_iter().map(|(at, _, event)| Packet {
        timestamp: Some(at),
        trusted_packet_sequence_id: SEQUENCE,
        track_event: Some(event),
        track_descriptor: None,
    }));
    Trace { packet: packets }
}

fn event(r#type: i32, track_uuid: u64, name: &str) -> TrackEvent {
    TrackEvent {
        r#type,
        track_uuid,
        name: Some(name.to_owned()),
        categories: vec!["rospin".to_owned()],
        ..TrackEvent::default()
    }
}

fn describe(model: &Model) -> Vec<Packet> {
    let pid = |process: usize| i32::try_from(model.processes[process].process).unwrap_or(0);
    let processes = model.processes.iter().enumerate().map(|(place, process)| TrackDescriptor {
        uuid: track(PROCESS, place),
        process: Some(ProcessDescriptor { pid: pid(place), process_name: process.name.clone() }),
        ..TrackDescriptor::default()
    });
    let threads = model.threads.iter().enumerate().map(|(place, thread)| TrackDescriptor {
        uuid: track(THREAD, place),
        parent_uuid: Some(track(PROCESS, thread.process)),
        thread: Some(ThreadDescriptor {
            pid: pid(thread.process),
            tid: i64::from(thread.kernel_id),
            thread_name: thread.name.clone(),
        }),
        ..TrackDescriptor::default()
    });
    let queues = model.queues.iter().enumerate().filter(|(_, queue)| !queue.levels.is_empty());
    let queues = queues.map(|(place, queue)| {
        let of = queue.callback.map_or_else(String::new, |callback| format!(" of {}", model.label(callback)));
        TrackDescriptor {
            uuid: track(QUEUE, place),
            parent_uuid: Some(track(PROCESS, queue.process)),
            name: Some(format!("queue {}{of}", queue.topic)),
            counter: Some(CounterDescriptor {}),
            ..TrackDescriptor::default()
        }
    });
    let all = processes.chain(threads).chain(queues);
    all.map(|descriptor| Packet {
        timestamp: None,
        trusted_packet_sequence_id: SEQUENCE,
        track_event: None,
        track_descriptor: Some(descriptor),
    })
    .collect()
}

/// Appends a slice for each segment of all activations; the first one says what the activation waited for. Each event
/// has its time, and a number by which events of the same time are ordered.
fn activations(model: &Model, events: &mut Vec<(u64, u8, TrackEvent)>) {
    let blame = Blame::new(model);
    let labels: Vec<String> = (0..model.callbacks.len()).map(|callback| model.label(callback)).collect();
    for (place, activation) in model.activations.iter().enumerate() {
        let callback = &model.callbacks[activation.callback];
        for (number, segment) in activation.segments.iter().enumerate() {
            let thread = track(THREAD, segment.thread);
            let mut begin = event(BEGIN, thread, &labels[activation.callback]);
            if number == 0 {
                begin.terminating_flow_ids = activation.inputs.iter().map(|message| *message as u64 + 1).collect();
                begin.debug_annotations = arguments(model, place, &blame.of(place), &labels);
            }
            // A slice of length zero ends behind its beginning.
            let is_empty = segment.end_ns == segment.start_ns;
            events.push((segment.start_ns, 1, begin));
            let mut end = event(END, thread, "");
            end.name = None;
            events.push((segment.end_ns, if is_empty { 3 } else { 0 }, end));
        }
        if let (true, Some(end), Some(last)) = (activation.is_late(), activation.end_ns, activation.segments.last()) {
            let name = format!("deadline missed: {}", callback.name);
            events.push((end, 4, event(INSTANT, track(THREAD, last.thread), &name)));
        }
    }
}

fn arguments(model: &Model, activation: usize, shares: &[Share], labels: &[String]) -> Vec<DebugAnnotation> {
    let of = &model.activations[activation];
    let callback = &model.callbacks[of.callback];
    let us = |name: &str, ns: u64| DebugAnnotation {
        name: format!("{name}_us"),
        double_value: Some(ns as f64 / 1e3),
        ..DebugAnnotation::default()
    };
    let text = |name: &str, value: String| DebugAnnotation {
        name: name.to_owned(),
        string_value: Some(value),
        ..DebugAnnotation::default()
    };
    let number = |name: &str, value| DebugAnnotation {
        name: name.to_owned(),
        uint_value: Some(value),
        ..DebugAnnotation::default()
    };
    let mut arguments = vec![
        text("executor", model.executors[callback.executor].name.clone()),
        text("group", callback.group.clone()),
        number("priority", callback.priority.into()),
        number("sequence", of.sequence),
        us("waiting", of.waiting_ns()),
    ];
    arguments.extend(of.response_ns().map(|response| us("response", response)));
    arguments.extend(of.stalled_ns().map(|stalled| us("not_scheduled", stalled)));
    for share in shares {
        let who = share.callback.map_or_else(String::new, |callback| format!(": {}", labels[callback]));
        arguments.push(us(&format!("waited for {}{who}", share.reason.as_str()), share.ns));
    }
    arguments
}
