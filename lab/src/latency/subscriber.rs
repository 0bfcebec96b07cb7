//! The subscriber process: the part that all variants share.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_engine::os::lock_memory;
use rospin_measure::process::{process_cpu_time, put_before_others};
use rospin_measure::wake_up::now_ns;
use serde::{Deserialize, Serialize};

use crate::crunch::{Calibration, crunch};

use super::settings::Settings;
use super::threads::{Crew, SAMPLING_PRIORITY, ThreadFacts};
use super::topics::{self, PERIODS_MS, TOPICS};
use super::transport::{Inlet, Invitation, Meeting, Message};
use super::variant::{Structure, Variant};
use super::wire::{Bridge, Wire};
use super::{engine, relay, runtimes};

/// Results of a subscriber.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Subscribed {
    /// Latencies from publication to the end of the callback in nanoseconds: one for each message that arrived, by
    /// topic.
    pub(crate) latencies_ns: [Vec<u64>; TOPICS],
    /// Processor time of the process from the first message of the first topic to the last one.
    pub(crate) processor: Duration,
    /// Number of messages for which a channel between sampling and callback had no room, by topic.
    pub(crate) dropped: [u64; TOPICS],
    /// Settings that the subscriber's threads had.
    pub(crate) threads: Vec<ThreadFacts>,
    /// Remarks for the reader of the results, for example on rights that were missing.
    pub(crate) remarks: Vec<String>,
}

/// Origin of the messages that a variant takes.
pub(crate) enum Messages {
    /// A Unix socket for each topic.
    Sockets([Inlet; TOPICS]),
    /// A middleware, from which rospin's executors take the messages.
    Wire(Wire),
}

impl Messages {
    /// Returns the sockets, or an error if a middleware brings the messages. Variants of R2R take from sockets only.
    pub(crate) fn into_sockets(self) -> Result<[Inlet; TOPICS], Box<dyn Error + Send + Sync>> {
        match self {
            Self::Sockets(inlets) => Ok(inlets),
            Self::Wire(_) => Err("only rospin takes messages from a middleware itself".into()),
        }
    }
}

/// Objects that a variant is built from.
pub(crate) struct Parts {
    /// Sockets or middleware from which the messages come.
    pub(crate) messages: Messages,
    /// Callbacks, by topic.
    pub(crate) callbacks: [Callback; TOPICS],
    /// Settings of the process's threads.
    pub(crate) crew: Crew,
    /// Sender of the message to the publisher that the variant is ready. The variant sends it before it takes messages.
    pub(crate) invitation: Invitation,
}

/// Numbers of messages that were dropped on their way to the callbacks, by topic; or the reason why a variant failed.
pub(crate) type Outcome = Result<[u64; TOPICS], Box<dyn Error + Send + Sync>>;

/// Runs a variant until the publisher has gone and all messages that arrived are dealt with. Meets the publisher at the
/// name `meeting`.
pub(crate) fn run(
    variant: Variant,
    settings: &Settings,
    meeting: &str,
) -> Result<Subscribed, Box<dyn Error + Send + Sync>> {
    let remarks = prepare_process(variant);
    let mut crew = Crew::new(settings.core, variant.real_time);
    if variant.structure.has_middleware_below() {
        crew = crew.with_middleware_below();
    }
    // The settings are applied before any thread starts, as the command `chrt` does it.
    crew.enlist("main", SAMPLING_PRIORITY);
    let records = Records::default();
    let work = topics::work(settings.load_percent);
    let callbacks = std::array::from_fn(|topic| {
        let capacity = settings.duration.as_millis() as u64 / PERIODS_MS[topic] + 1;
        Callback {
            topic,
            work: work[topic],
            calibration: settings.calibration,
            latencies_ns: Vec::with_capacity(capacity as usize),
            processor: None,
            records: records.clone(),
        }
    });
    let (inlets, invitation) = Meeting::open(meeting)?.wait()?;
    let (source, _bridge, _sockets) = match settings.wire {
        None if variant.structure == Structure::FuturesRtBelow => {
            (Messages::Sockets(relay::start(inlets, &crew)?), None, None)
        }
        None => (Messages::Sockets(inlets), None, None),
        Some(wire) if variant.structure.is_on_rospin() => (Messages::Wire(wire), None, Some(inlets)),
        Some(wire) => {
            let (bridge, handed_on) = Bridge::start(wire, &crew)?;
            (Messages::Sockets(handed_on), Some(bridge), Some(inlets))
        }
    };
    let parts = Parts { messages: source, callbacks, crew: crew.clone(), invitation };
    let dropped = build(variant.structure)(parts)?;
    let Record { latencies_ns, processor } =
        std::mem::take(&mut *records.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Subscribed { latencies_ns, processor, dropped, threads: crew.facts(), remarks })
}

/// Returns the function that runs a subscriber of this structure.
fn build(structure: Structure) -> fn(Parts) -> Outcome {
    match structure {
        Structure::Futures => runtimes::futures,
        Structure::FuturesJoin => runtimes::futures_join,
        Structure::FuturesRt | Structure::FuturesRtBelow => runtimes::futures_rt,
        Structure::FuturesThreadPool => runtimes::futures_thread_pool,
        Structure::FuturesTwoThreads => runtimes::futures_two_threads,
        Structure::Tokio => runtimes::tokio,
        Structure::TokioRt => runtimes::tokio_rt,
        Structure::WaitSet => engine::wait_set,
        Structure::RospinSingle => engine::single,
        Structure::RospinRt | Structure::RospinRtBelow => engine::one_each,
        Structure::RospinEdf => engine::edf,
    }
}

/// Gives this process the settings that all variants share. Returns remarks about those that it could not get.
fn prepare_process(variant: Variant) -> Vec<String> {
    let mut remarks = Vec::new();
    // In the published experiment, the core is isolated instead.
    if !put_before_others() && !variant.real_time {
        let load = "ran without the right to go before other programs, whose load shows in the figures";
        remarks.push(load.to_owned());
    }
    if let Err(error) = lock_memory() {
        remarks.push(format!("its memory is not locked ({error}), so that page faults show in the figures"));
    }
    remarks
}

/// Callback of a topic, which keeps a core busy.
pub(crate) struct Callback {
    /// The topic's index.
    pub(crate) topic: usize,
    /// Thread CPU time that each run burns.
    work: Duration,
    calibration: Calibration,
    /// Time from publication to the end of the callback, of each message so far.
    latencies_ns: Vec<u64>,
    /// Processor time of the process at the topic's first message and at its last one. Only the first topic asks for
    /// it, since that takes a system call.
    processor: Option<[Duration; 2]>,
    /// Place for the figures of all callbacks, to which this one adds its own when it is dropped.
    records: Records,
}

impl Callback {
    /// Burns the callback's share of thread CPU time, and records the time since the message's publication.
    pub(crate) fn run(&mut self, message: Message) {
        if self.topic == 0 {
            let now = process_cpu_time();
            self.processor.get_or_insert([now; 2])[1] = now;
        }
        crunch(self.work, self.calibration);
        self.latencies_ns.push(now_ns().saturating_sub(message.published_ns));
    }
}

impl Drop for Callback {
    /// Hands over the latencies. The callback keeps them to itself until then, so that it shares nothing while it runs.
    fn drop(&mut self) {
        let mut records = self.records.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.latencies_ns[self.topic] = std::mem::take(&mut self.latencies_ns);
        if let Some([first, last]) = self.processor {
            records.processor = last.saturating_sub(first);
        }
    }
}

/// Figures of the callbacks that have been dropped.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    latencies_ns: [Vec<u64>; TOPICS],
    processor: Duration,
}

/// Waits for a thread to end. If it panicked, the caller panics, too.
pub(crate) fn join<T>(thread: std::thread::JoinHandle<io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_hands_in_what_it_measured() {
        let records = Records::default();
        let calibration = Calibration { divisions_per_ns: 0.01 };
        let work = Duration::from_micros(50);
        let latencies_ns = Vec::new();
        let mut callback =
            Callback { topic: 2, work, calibration, latencies_ns, processor: None, records: records.clone() };
        callback.run(Message { published_ns: now_ns(), number: 0 });
        drop(callback);
        let latencies = &records.0.lock().unwrap().latencies_ns[2];
        assert!(latencies.len() == 1 && latencies[0] >= 50_000, "{latencies:?}");
    }
}
