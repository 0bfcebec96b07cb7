//! Measurement in this process: the driving end, which sends and measures, or the other end, which sends back what it
//! receives.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rospin_measure::wake_up::{now_ns, sleep_until};
use serde::{Deserialize, Serialize};

use crate::middleware::Process;

use super::cell::Cell;
use super::end::{BACK, End, Hear, Sender, THERE};
use super::flood::{self, Heard, Published};
use super::message::{self, BEGIN, COUNTED, END, HELLO};
use super::usage::{Reading, Usage};

/// Time within which the other end has to answer for the first time.
const MEET_WITHIN: Duration = Duration::from_secs(10);
/// Time without any arrival after which messages that have not arrived are lost.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two attempts to get an answer from the other end.
const HELLO_EVERY: Duration = Duration::from_millis(50);
/// Number of messages that are sent before the number of arrived ones is read again.
const BATCH: u64 = 16;

/// Order to a process: the end that it is, and the cell that is measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Order {
    pub(crate) cell: Cell,
    pub(crate) process: Process,
    /// True for the end that sends back the messages that it receives.
    pub(crate) echoes: bool,
    /// Length of each of the two measurements.
    pub(crate) duration: Duration,
}

/// Answer of a process.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Answer {
    /// Figures of the driving end.
    Drove(Sample),
    /// Cost of the messages at the end that sends them back.
    Echoed(Usage),
    /// Figures of an end that published as fast as it could.
    Published(Published),
    /// Figures of the end that heard it.
    Heard(Heard),
}

/// Figures of the driving end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// Messages a second in the first measurement, with a bounded number of them under way.
    pub(crate) per_s: f64,
    /// Number of messages that were sent in the second measurement, which is at a fixed rate.
    pub(crate) sent: u64,
    /// Seconds for which messages were sent at the fixed rate.
    pub(crate) seconds: f64,
    /// Microseconds from sending each message at the fixed rate to its arrival at this end, ascending.
    pub(crate) latencies_us: Vec<f64>,
    /// Number of messages of both measurements that did not arrive.
    pub(crate) lost: u64,
    /// Number of messages that their publisher refused with an error, because there was no room.
    pub(crate) refused: u64,
    /// Cost of the messages at the fixed rate.
    pub(crate) usage: Usage,
}

/// Carries out an order: drives the measurement, or sends back what the driving end sends.
///
/// # Errors
/// If the middleware cannot be started, or the other end is not found or falls silent.
pub(crate) fn run(order: &Order) -> Result<Answer, Box<dyn Error + Send + Sync>> {
    Ok(match (order.cell.place.is_flood(), order.echoes) {
        (false, false) => Answer::Drove(drive(order)?),
        (false, true) => Answer::Echoed(echo(order)?),
        (true, false) => Answer::Published(flood::publish(order)?),
        (true, true) => Answer::Heard(flood::listen(order)?),
    })
}

/// Record of the messages that arrived at the driving end.
struct Ear {
    /// Number of messages of both measurements that arrived.
    count: AtomicU64,
    /// Number of arrived messages that belong to no measurement: [`HELLO`], [`BEGIN`] and [`END`].
    hellos: AtomicU64,
    /// Latencies in nanoseconds, by the number of the message; 0 for messages that have not arrived.
    latencies: Vec<AtomicU64>,
}

impl Ear {
    /// Returns an empty record with room for the latencies of `count` messages.
    fn with_room(count: u64) -> Arc<Self> {
        let latencies = (0..count).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { count: AtomicU64::new(0), hellos: AtomicU64::new(0), latencies })
    }

    /// Records a message that arrives now. Messages that are too short for a stamp are left out.
    fn hear(&self, bytes: &[u8]) {
        let now = now_ns();
        let Some((number, sent_ns)) = message::read_stamp(bytes) else { return };
        if matches!(number, HELLO | BEGIN | END) {
            self.hellos.fetch_add(1, Ordering::Release);
            return;
        }
        if number != COUNTED
            && let Some(latency) = usize::try_from(number).ok().and_then(|number| self.latencies.get(number))
        {
            latency.store(now.saturating_sub(sent_ns).max(1), Ordering::Relaxed);
        }
        // Only the thread that receives writes the count.
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    fn hellos(&self) -> u64 {
        self.hellos.load(Ordering::Acquire)
    }

    /// Waits until `count` messages have arrived. Gives up when none has arrived for [`PATIENCE`]. Returns the number
    /// of missing ones.
    fn wait_for(&self, count: u64) -> u64 {
        let (mut seen, mut at) = (self.count(), Instant::now());
        while seen < count && at.elapsed() < PATIENCE {
            thread::sleep(Duration::from_micros(200));
            let now = self.count();
            if now != seen {
                (seen, at) = (now, Instant::now());
            }
        }
        count.saturating_sub(seen)
    }
}

/// Takes both measurements as the driving end: first the messages a second, then the latencies at a fixed rate.
fn drive(order: &Order) -> Result<Sample, String> {
    let Cell { place, size, middleware, contender } = order.cell;
    let period = size.period(place);
    let count = (order.duration.as_nanos() / period.as_nanos()).max(5) as u64;
    let ear = Ear::with_room(count);
    let hear: Hear = Arc::new({
        let ear = Arc::clone(&ear);
        move |bytes: &[u8]| ear.hear(bytes)
    });
    let topics = if place.is_round_trip() { [THERE, BACK] } else { [THERE, THERE] };
    let end = End::open(middleware, contender, &order.process, topics, false, hear)?;
    let send = end.sender();
    let mut bytes = message::bytes(size.0);
    meet(&ear, &send, &mut bytes)?;
    let (per_s, lost) = throughput(&ear, &send, &mut bytes, size.under_way(), order.duration)?;
    tell(&ear, &send, &mut bytes, BEGIN)?;
    let mut sample = latency(&ear, &send, &mut bytes, period)?;
    // A missing answer changes no figure: all messages of the measurement have arrived, or are counted as lost.
    let _ = tell(&ear, &send, &mut bytes, END);
    sample.per_s = per_s;
    sample.lost += lost;
    Ok(sample)
}

/// Sends messages until the first one comes back, and waits up to 300 ms for the others. Fails if none has come back
/// after [`MEET_WITHIN`].
fn meet(ear: &Ear, send: &Sender, bytes: &mut [u8]) -> Result<(), String> {
    message::stamp(bytes, HELLO, 0);
    let begun = Instant::now();
    let mut sent = 0;
    while ear.hellos() == 0 {
        if begun.elapsed() > MEET_WITHIN {
            let seconds = MEET_WITHIN.as_secs();
            return Err(format!(
                "nothing came back within {seconds} s; the other end has to send back on `{BACK}` what it hears on `{THERE}`, both \
                 std_msgs/msg/UInt8MultiArray and reliable, in the same domain"
            ));
        }
        // The middleware may refuse the message while it has no subscription.
        sent += u64::from(send(bytes).is_ok());
        thread::sleep(HELLO_EVERY);
    }
    // Late messages must not be taken for answers to the next ones.
    let quiet = Instant::now();
    while ear.hellos() < sent && quiet.elapsed() < Duration::from_millis(300) {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Sends the message with this number, [`BEGIN`] or [`END`], which marks the beginning or the end of a measurement, and
/// waits until it comes back. Fails after [`PATIENCE`].
fn tell(ear: &Ear, send: &Sender, bytes: &mut [u8], number: u64) -> Result<(), String> {
    message::stamp(bytes, number, 0);
    let (begun, heard) = (Instant::now(), ear.hellos());
    send(bytes)?;
    while ear.hellos() == heard {
        if begun.elapsed() > PATIENCE {
            return Err("the other end does not answer any more".to_owned());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Sends messages for `duration`, at most `under_way` of which have not arrived yet. Returns the messages a second, and
/// the number of lost ones.
fn throughput(
    ear: &Ear,
    send: &Sender,
    bytes: &mut [u8],
    under_way: u64,
    duration: Duration,
) -> Result<(f64, u64), String> {
    message::stamp(bytes, COUNTED, 0);
    let (begin, first) = (Instant::now(), ear.count());
    let batch = BATCH.min(under_way);
    let mut sent = first;
    let mut stalled = false;
    while !stalled && begin.elapsed() < duration {
        let (mut heard, mut at) = (ear.count(), Instant::now());
        while sent - heard > under_way - batch && !stalled {
            thread::yield_now();
            let now = ear.count();
            if now != heard {
                (heard, at) = (now, Instant::now());
            }
            // Messages were lost, and a wait for them would never end.
            stalled = at.elapsed() > PATIENCE;
        }
        for _ in 0..if stalled { 0 } else { batch } {
            send(bytes)?;
            sent += 1;
        }
    }
    let lost = if stalled { sent - ear.count() } else { ear.wait_for(sent) };
    // The time of waiting in vain does not count.
    let waited = if lost > 0 { PATIENCE } else { Duration::ZERO };
    let took = begin.elapsed().saturating_sub(waited).as_secs_f64().max(1e-9);
    Ok(((sent - first - lost) as f64 / took, lost))
}

/// Sends as many messages as `ear` has room for, one each `period`. Returns their figures, without the messages a
/// second.
fn latency(ear: &Ear, send: &Sender, bytes: &mut [u8], period: Duration) -> Result<Sample, String> {
    let (count, heard) = (ear.latencies.len() as u64, ear.count());
    let reading = Reading::of_others();
    let begin_ns = now_ns() + 1_000_000;
    for number in 0..count {
        sleep_until(begin_ns + number * period.as_nanos() as u64);
        message::stamp(bytes, number, now_ns());
        send(bytes)?;
    }
    let seconds = (now_ns() - begin_ns) as f64 / 1e9;
    let usage = reading.cost();
    let lost = ear.wait_for(heard + count);
    let latencies = ear.latencies.iter().map(|latency| latency.load(Ordering::Relaxed));
    let mut latencies_us: Vec<f64> = latencies.filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e3).collect();
    latencies_us.sort_by(f64::total_cmp);
    Ok(Sample { per_s: 0.0, sent: count, seconds, latencies_us, lost, refused: 0, usage })
}

/// Sends every message back until [`END`] arrives. Returns the cost of the messages at a fixed rate, which are those
/// between [`BEGIN`] and [`END`]. Fails if [`BEGIN`] is missing, or [`END`] does not arrive in time.
fn echo(order: &Order) -> Result<Usage, String> {
    let Cell { middleware, contender, .. } = order.cell;
    let (told, telling) = channel();
    let sender = Arc::new(OnceLock::<Sender>::new());
    let hear: Hear = Arc::new({
        let sender = Arc::clone(&sender);
        move |bytes: &[u8]| {
            let number = message::read_stamp(bytes).map(|(number, _)| number);
            if matches!(number, Some(BEGIN | END)) {
                // The other thread waits for this answer.
                let _ = told.send((number == Some(END), Reading::of_all()));
            }
            if let Some(send) = sender.get() {
                // A message that cannot be sent back is lost, and counted at the other end.
                let _ = send(bytes);
            }
        }
    });
    let end = End::open(middleware, contender, &order.process, [BACK, THERE], false, hear)?;
    let _ = sender.set(end.sender());
    let mut begin = None;
    let limit = MEET_WITHIN + order.duration * 2 + PATIENCE * 4;
    loop {
        match telling.recv_timeout(limit) {
            Ok((false, reading)) => begin = Some(reading),
            Ok((true, reading)) => {
                // The pause lets the answer to the last message leave.
                thread::sleep(Duration::from_millis(100));
                return begin.map(|begin| reading.since(&begin)).ok_or_else(|| "it was not told to begin".to_owned());
            }
            Err(_) => return Err(format!("it was not told to end within {} s", limit.as_secs())),
        }
    }
}
