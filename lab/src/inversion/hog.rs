//! The hog: less urgent than the executor, more urgent than ordinary threads, and busy.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rospin_measure::wake_up::now_ns;

use super::interference::Turn;

/// Pauses and keeps the core busy in turns until `stop` is set. Adds the number of its bursts to `bursts`.
pub(super) fn run(turn: Turn, stop: &AtomicBool, bursts: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(turn.pause);
        let over_ns = now_ns() + turn.burst.as_nanos() as u64;
        while now_ns() < over_ns && !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        bursts.fetch_add(1, Ordering::Relaxed);
    }
}
