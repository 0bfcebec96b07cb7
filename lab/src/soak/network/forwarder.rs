//! The thread that passes packets on between the hosts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::hosts::Hosts;
use super::links::{Fate, Links, Path};

/// The longest time for which the thread waits, so that it sees that it shall end.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// Room for the longest packet.
const PACKET_MAX: usize = 65_536;

/// Number of packets by their fate. A multicast packet counts once for each host that it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(in super::super) struct PacketCounts {
    /// Arrived, without duplicates.
    pub(in super::super) passed: u64,
    pub(in super::super) lost: u64,
    pub(in super::super) cut: u64,
    /// Lost because the path had no room, or because the host's queue was full.
    pub(in super::super) full: u64,
    pub(in super::super) duplicated: u64,
}

#[derive(Debug)]
struct Shared {
    links: Mutex<Links>,
    counts: Mutex<PacketCounts>,
    is_over: AtomicBool,
}

impl Shared {
    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, PacketCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running forwarder. Its thread ends when this value is dropped.
pub(in super::super) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Starts to pass packets on between the hosts whose interfaces have these ends.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(in super::super) fn start(ends: Vec<File>, seed: u64) -> io::Result<Self> {
        let hosts = ends.len();
        let shared = Shared {
            links: Mutex::new(Links::new(hosts)),
            counts: Mutex::new(PacketCounts::default()),
            is_over: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        let paths = (0..hosts * hosts).map(|path| Path::new(seed ^ ((path as u64 + 1) << 32))).collect();
        let passing = Passing { shared: Arc::clone(&shared), ends, paths, under_way: BinaryHeap::new(), number: 0 };
        let thread = thread::Builder::new().name("forwarder".to_owned()).spawn(move || passing.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Replaces all paths.
    pub(in super::super) fn set_links(&self, links: Links) {
        *self.shared.links() = links;
    }

    /// Returns the number of packets so far.
    pub(in super::super) fn counts(&self) -> PacketCounts {
        *self.shared.counts()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A packet on its way. Packets are in the order of their arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    due: Instant,
    number: u64,
    to: usize,
    bytes: Arc<[u8]>,
}

struct Passing {
    shared: Arc<Shared>,
    ends: Vec<File>,
    paths: Vec<Path>,
    under_way: BinaryHeap<Reverse<Packet>>,
    /// The number of the last packet.
    number: u64,
}

impl Passing {
    fn run(mut self) {
        let mut room = vec![0; PACKET_MAX];
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let links = self.shared.links().clone();
            for from in 0..self.ends.len() {
                // An end without a packet would block.
                while let Ok(size) = (&self.ends[from]).read(&mut room) {
                    self.pass(from, &room[..size], &links);
                }
            }
            self.deliver();
            self.wait();
        }
    }

    /// Decides on a packet that a host sends.
    fn pass(&mut self, from: usize, bytes: &[u8], links: &Links) {
        let hosts = self.ends.len();
        // Anything but IPv4 is not forwarded: the hosts have no other addresses.
        let Some(destination) = destination(bytes) else { return };
        let is_multicast = destination[0] >= 224;
        let single = Hosts::number(destination, hosts);
        let bytes: Arc<[u8]> = bytes.into();
        let now = Instant::now();
        for to in 0..hosts {
            if to == from || !(is_multicast || single == Some(to)) {
                continue;
            }
            let fate = self.paths[from * hosts + to].decide(links.get(from, to), now, bytes.len());
            let mut counts = self.shared.counts();
            match fate {
                Fate::Cut => counts.cut += 1,
                Fate::Lost => counts.lost += 1,
                Fate::Full => counts.full += 1,
                Fate::Arrives(at, again) => {
                    counts.passed += 1;
                    counts.duplicated += u64::from(again.is_some());
                    drop(counts);
                    for due in [Some(at), again].into_iter().flatten() {
                        self.number += 1;
                        let packet = Packet { due, number: self.number, to, bytes: Arc::clone(&bytes) };
                        self.under_way.push(Reverse(packet));
                    }
                }
            }
        }
    }

    /// Delivers the packets whose time has come.
    fn deliver(&mut self) {
        let now = Instant::now();
        while self.under_way.peek().is_some_and(|Reverse(packet)| packet.due <= now) {
            let Some(Reverse(packet)) = self.under_way.pop() else { return };
            if (&self.ends[packet.to]).write(&packet.bytes).is_err() {
                let mut counts = self.shared.counts();
                counts.passed = counts.passed.saturating_sub(1);
                counts.full += 1;
            }
        }
    }

    /// Waits for a packet of a host, or until one on its way is due.
    fn wait(&self) {
        let due = self.under_way.peek().map(|Reverse(packet)| packet.due);
        let time = due.map_or(WAIT_MAX, |due| due.saturating_duration_since(Instant::now()).min(WAIT_MAX));
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut ends: Vec<PollFd<'_>> = self.ends.iter().map(|end| PollFd::new(end, PollFlags::IN)).collect();
        // A signal ends the wait early, which does no harm.
        let _ = poll(&mut ends, Some(&time));
    }
}

/// Returns the destination of an IPv4 packet; `None` if it is something else.
fn destination(bytes: &[u8]) -> Option<[u8; 4]> {
    let is_v4 = bytes.first()? >> 4 == 4;
    let destination = bytes.get(16..20)?.try_into().ok()?;
    is_v4.then_some(destination)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ipv4_has_a_destination() {
        let mut bytes = [0; 20];
        assert_eq!(destination(&bytes), None);
        bytes[0] = 0x45;
        bytes[16..].copy_from_slice(&[10, 213, 78, 2]);
        assert_eq!(destination(&bytes), Some([10, 213, 78, 2]));
        assert_eq!(destination(&bytes[..19]), None);
    }
}
