//! Messages that are published as fast as possible, one way, between two processes: how many a second arrive, how
//! late, and which share does not.
//!
//! The driving end publishes without a pause and without waiting for anything but its publisher. The other end counts
//! and notes each message's time on the way: both processes read the same clock of one machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rospin_measure::wake_up::now_ns;
use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::end::{BACK, End, Hear, Sender, THERE};
use super::measure::{Order, Sample};
use super::message::{self, COUNTED, END, HELLO};
use super::usage::{Reading, Usage};

/// Time within which the ends have to meet, and the last message has to be answered.
const MEET_WITHIN: Duration = Duration::from_secs(20);
/// Time between two attempts to get an answer.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Time without any arrival after which no message is waited for.
const QUIET: Duration = Duration::from_millis(300);
/// Number of latencies that the listening end passes on: quantiles at equal distances.
const QUANTILES: usize = 1000;
/// Number of latencies for which there is room, so that noting one allocates nothing.
const LATENCIES: usize = 1 << 22;

/// Figures of the listening end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Heard {
    /// Number of messages that arrived.
    received: u64,
    /// Seconds from the first message's sending to the last one's arrival.
    seconds: f64,
    /// Quantiles of the microseconds from sending to the callback, ascending.
    latencies_us: Vec<f64>,
    usage: Usage,
}

/// Figures of the publishing end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Published {
    /// Number of messages that were accepted.
    accepted: u64,
    /// Number of messages that were refused with an error.
    refused: u64,
    /// Seconds for which messages were published.
    seconds: f64,
    usage: Usage,
}

/// Returns the figures of both ends together.
pub(super) fn combined(published: &Published, heard: Heard) -> Sample {
    Sample {
        per_s: heard.received as f64 / heard.seconds.max(1e-9),
        sent: published.accepted,
        seconds: published.seconds,
        latencies_us: heard.latencies_us,
        lost: published.accepted.saturating_sub(heard.received),
        refused: published.refused,
        usage: published.usage.plus(heard.usage),
    }
}

/// Sends the message of that number until `is_answered`.
///
/// # Errors
/// If that takes too long.
fn tell(send: &Sender, bytes: &mut [u8], number: u64, is_answered: impl Fn() -> bool) -> Result<(), String> {
    message::stamp(bytes, number, 0);
    let begun = Instant::now();
    while !is_answered() {
        if begun.elapsed() > MEET_WITHIN {
            return Err(format!("nothing came back within {} s", MEET_WITHIN.as_secs()));
        }
        // It may be refused while there is no room.
        let _ = send(bytes);
        thread::sleep(AGAIN_AFTER);
    }
    Ok(())
}

/// Publishes for the order's duration.
///
/// # Errors
/// If the middleware cannot be started, or the other end is not found or falls silent.
pub(super) fn publish(order: &Order) -> Result<Published, String> {
    let Cell { place, size, middleware, contender } = order.cell;
    let hellos = Arc::new(AtomicU64::new(0));
    let ends = Arc::new(AtomicU64::new(0));
    let hear: Hear = Arc::new({
        let hellos = Arc::clone(&hellos);
        let ends = Arc::clone(&ends);
        move |bytes: &[u8]| match message::read_stamp(bytes) {
            Some((HELLO, _)) => _ = hellos.fetch_add(1, Ordering::Relaxed),
            Some((END, _)) => _ = ends.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
    });
    let end = End::open(middleware, contender, &order.process, [THERE, BACK], place.keeps_all(), hear)?;
    let send = end.sender();
    let mut short = message::bytes(0);
    tell(&send, &mut short, HELLO, || hellos.load(Ordering::Relaxed) > 0)?;
    thread::sleep(QUIET);
    let mut bytes = message::bytes(size.0);
    let reading = Reading::of_others();
    let begin = Instant::now();
    let mut accepted = 0;
    let mut refused = 0;
    while begin.elapsed() < order.duration {
        message::stamp(&mut bytes, COUNTED, now_ns());
        if send(&bytes).is_ok() { accepted += 1 } else { refused += 1 }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let usage = reading.cost();
    tell(&send, &mut short, END, || ends.load(Ordering::Relaxed) > 0)?;
    Ok(Published { accepted, refused, seconds, usage })
}

/// The messages of the listening end.
struct Arrivals {
    first_ns: u64,
    last_ns: u64,
    latencies_ns: Vec<u64>,
    received: u64,
}

/// Listens until the other end has published its last message.
///
/// # Errors
/// If the middleware cannot be started, or the last message does not come.
pub(super) fn listen(order: &Order) -> Result<Heard, String> {
    let Cell { place, middleware, contender, .. } = order.cell;
    let arrivals =
        Arrivals { first_ns: u64::MAX, last_ns: 0, latencies_ns: Vec::with_capacity(LATENCIES), received: 0 };
    let arrivals = Arc::new(Mutex::new(arrivals));
    let (ended, ending) = channel();
    let sender = Arc::new(OnceLock::<Sender>::new());
    let hear: Hear = Arc::new({
        let sender = Arc::clone(&sender);
        let arrivals = Arc::clone(&arrivals);
        move |bytes: &[u8]| {
            let now = now_ns();
            let Some((number, sent_ns)) = message::read_stamp(bytes) else { return };
            if number == COUNTED {
                let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
                arrivals.first_ns = arrivals.first_ns.min(sent_ns);
                arrivals.last_ns = now;
                arrivals.received += 1;
                if arrivals.latencies_ns.len() < LATENCIES {
                    arrivals.latencies_ns.push(now.saturating_sub(sent_ns));
                }
                return;
            }
            if let Some(send) = sender.get() {
                // The other end asks again if it gets no answer.
                let _ = send(bytes);
            }
            if number == END {
                let _ = ended.send(());
            }
        }
    });
    let end = End::open(middleware, contender, &order.process, [BACK, THERE], place.keeps_all(), hear)?;
    let _ = sender.set(end.sender());
    let reading = Reading::of_all();
    let limit = 2 * MEET_WITHIN + order.duration;
    ending.recv_timeout(limit).map_err(|_| format!("it was not told to end within {} s", limit.as_secs()))?;
    let usage = Reading::of_all().since(&reading);
    // The answer is on its way, and asked for again if it is lost.
    thread::sleep(QUIET);
    let arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    let mut latencies = arrivals.latencies_ns.clone();
    latencies.sort_unstable();
    let seconds = arrivals.last_ns.saturating_sub(arrivals.first_ns) as f64 / 1e9;
    Ok(Heard { received: arrivals.received, seconds, latencies_us: quantiles(&latencies), usage })
}

/// Returns at most [`QUANTILES`] and one of sorted times, the least and the greatest included, in microseconds.
fn quantiles(sorted_ns: &[u64]) -> Vec<f64> {
    let Some(last) = sorted_ns.len().checked_sub(1) else { return Vec::new() };
    let count = last.min(QUANTILES);
    let mut quantiles = Vec::new();
    for number in 0..=count {
        quantiles.push(sorted_ns[last * number / count.max(1)] as f64 / 1e3);
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_both_ends() {
        assert_eq!(quantiles(&[]), Vec::<f64>::new());
        assert_eq!(quantiles(&[3000]), [3.0]);
        let many: Vec<u64> = (0..100_000).map(|us| us * 1000).collect();
        let few = quantiles(&many);
        assert_eq!((few.len(), few[0], few[500], few[1000]), (1001, 0.0, 49_999.0, 99_999.0));
    }

    #[test]
    fn what_was_accepted_and_did_not_arrive_is_lost() {
        let published = Published { accepted: 10, refused: 2, seconds: 1.0, usage: Usage::default() };
        let heard = Heard { received: 7, seconds: 2.0, latencies_us: vec![1.0], usage: Usage::default() };
        let sample = combined(&published, heard);
        assert_eq!((sample.sent, sample.lost, sample.refused, sample.per_s), (10, 3, 2, 3.5));
    }
}
