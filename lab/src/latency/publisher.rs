//! The publisher process.

use std::io;
use std::time::Duration;

use rospin_measure::process::process_cpu_time;
use rospin_measure::wake_up::{now_ns, sleep_until};
use serde::{Deserialize, Serialize};

use super::settings::Settings;
use super::stalls::{self, Stalls};
use super::threads::{Crew, METER_PRIORITY, PUBLISHER_MAIN_PRIORITY, PUBLISHER_PRIORITY, ThreadFacts};
use super::topics::{PERIODS_MS, TOPICS, phase};
use super::transport::{self, Message, Outlet};
use super::wire::WireOutlets;

/// Time from the subscriber's message that it is ready to the first publication, so that threads that it still starts
/// are there then.
const LEAD_NS: u64 = 200_000_000;

/// Results of the publisher.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Published {
    /// Number of messages that were published, by topic, with the refused ones.
    pub(crate) sent: [u64; TOPICS],
    /// Number of these messages for which the transport had no room, by topic.
    pub(crate) refused: [u64; TOPICS],
    /// Processor time of the process from the first publication to the last one.
    pub(crate) processor: Duration,
    /// Stalls of the machine during the run.
    pub(crate) stalls: Stalls,
    /// Settings that the publisher's threads had.
    pub(crate) threads: Vec<ThreadFacts>,
}

/// Publishes for the duration in the settings, after it has met the subscriber at the name `meeting`.
pub(crate) fn run(settings: &Settings, meeting: &str) -> io::Result<Published> {
    let crew = Crew::new(settings.core, true);
    crew.enlist("publisher-main", PUBLISHER_MAIN_PRIORITY);
    let sockets = transport::meet(meeting)?;
    let outlets = match settings.wire {
        None => Outlets::Sockets(sockets),
        Some(wire) => Outlets::Wire(WireOutlets::meet(wire, crew.options(PUBLISHER_MAIN_PRIORITY), sockets)?),
    };
    let start_ns = now_ns() + LEAD_NS;
    let end_ns = start_ns + settings.duration.as_nanos() as u64;

    let core = settings.core;
    let meter = crew.spawn("stall-meter", METER_PRIORITY, move || {
        sleep_until(start_ns);
        stalls::watch(core, end_ns)
    })?;
    let publisher = crew.spawn("publisher", PUBLISHER_PRIORITY, move || {
        sleep_until(start_ns);
        let before = process_cpu_time();
        let published = publish(&outlets, start_ns, end_ns);
        published.map(|(sent, refused)| (sent, refused, process_cpu_time().saturating_sub(before)))
    })?;
    // A panic here is a bug, and is passed on.
    let (sent, refused, processor) = publisher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let stalls = meter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok(Published { sent, refused, processor, stalls, threads: crew.facts() })
}

/// The way on which messages are published.
enum Outlets {
    Sockets([Outlet; TOPICS]),
    Wire(WireOutlets),
}

impl Outlets {
    /// Sends a message. Returns true if there was room.
    fn send(&self, topic: usize, message: Message) -> io::Result<bool> {
        match self {
            Self::Sockets(outlets) => outlets[topic].send(message),
            Self::Wire(outlets) => Ok(outlets.send(topic, message)),
        }
    }

    /// Tells the subscriber that no more messages will come. Sockets tell that by themselves when they are closed.
    fn end(&self) {
        if let Self::Wire(outlets) = self {
            outlets.end();
        }
    }
}

/// Publishes all topics from `start_ns` to `end_ns`. Returns the numbers of messages that were published, and of those
/// among them that were refused, by topic. Due times are absolute, so that a late message does not delay later ones.
fn publish(outlets: &Outlets, start_ns: u64, end_ns: u64) -> io::Result<([u64; TOPICS], [u64; TOPICS])> {
    let (mut sent, mut refused) = ([0; TOPICS], [0; TOPICS]);
    loop {
        let due_ns: [u64; TOPICS] =
            std::array::from_fn(|topic| start_ns + first_ns(topic) + sent[topic] * PERIODS_MS[topic] * 1_000_000);
        let next_ns = *due_ns.iter().min().expect("there are topics");
        if next_ns >= end_ns {
            outlets.end();
            return Ok((sent, refused));
        }
        sleep_until(next_ns);
        for topic in (0..TOPICS).filter(|topic| due_ns[*topic] == next_ns) {
            let message = Message { published_ns: now_ns(), number: sent[topic] };
            refused[topic] += u64::from(!outlets.send(topic, message)?);
            sent[topic] += 1;
        }
    }
}

/// Returns the time from the start of the run to the topic's first publication.
const fn first_ns(topic: usize) -> u64 {
    phase(topic).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::super::transport::{Found, pair};
    use super::*;

    #[test]
    fn every_topic_is_published_at_its_rate() {
        let ends: [_; TOPICS] = std::array::from_fn(|_| pair().unwrap());
        let (outlets, inlets): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let outlets = Outlets::Sockets(<[Outlet; TOPICS]>::try_from(outlets).unwrap());
        let start_ns = now_ns();
        let (sent, refused) = publish(&outlets, start_ns, start_ns + 100_000_000).unwrap();
        assert_eq!((sent, refused), ([10, 5, 2, 1, 1], [0; TOPICS]));
        for number in 0..10 {
            let Found::Message(message) = inlets[0].take().unwrap() else { panic!("{number} is missing") };
            assert_eq!(message.number, number);
            assert!(message.published_ns >= start_ns + first_ns(0) + number * 10_000_000, "it came too early");
        }
    }
}
