//! The paths between hosts, and the fate of each packet on them.

use std::time::{Duration, Instant};

use super::super::rng::Rng;

/// A path from one host to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct Link {
    /// True if nothing passes.
    pub(in super::super) is_cut: bool,
    /// Shortest and longest time that a packet takes.
    pub(in super::super) delay: [Duration; 2],
    /// Shares of the packets that are lost, come twice, and are overtaken.
    pub(in super::super) loss: f64,
    pub(in super::super) duplicates: f64,
    pub(in super::super) reordering: f64,
    /// Bytes a second; 0 for no limit.
    pub(in super::super) bytes_per_s: u64,
}

/// The longest time that packets wait for their turn on a path with a limit. Those that would wait longer are lost, as
/// in a full queue of a router.
const QUEUE: Duration = Duration::from_millis(500);
/// The longest further delay of a packet that is overtaken.
const OVERTAKEN: Duration = Duration::from_millis(20);

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Cut,
    Lost,
    /// The path had no room.
    Full,
    /// It arrives at these times: once, or twice.
    Arrives(Instant, Option<Instant>),
}

/// All paths between a number of hosts.
#[derive(Clone, Debug)]
pub(in super::super) struct Links {
    hosts: usize,
    links: Vec<Link>,
}

impl Links {
    /// Returns perfect paths between that many hosts.
    pub(in super::super) fn new(hosts: usize) -> Self {
        Self { hosts, links: vec![Link::default(); hosts * hosts] }
    }

    /// Returns the path from one host to another.
    pub(in super::super) fn get(&self, from: usize, to: usize) -> Link {
        self.links[from * self.hosts + to]
    }

    /// Changes the path from one host to another.
    pub(in super::super) fn change(&mut self, from: usize, to: usize, change: impl FnOnce(&mut Link)) {
        change(&mut self.links[from * self.hosts + to]);
    }
}

/// What a path remembers of the packets before.
#[derive(Clone, Debug)]
pub(super) struct Path {
    rng: Rng,
    /// The time at which the last packet arrives that was not overtaken.
    last: Option<Instant>,
    /// The time at which the path has sent all packets so far, if it has a limit.
    idle_from: Option<Instant>,
}

impl Path {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), last: None, idle_from: None }
    }

    /// Decides on the fate of a packet of `size` bytes that comes now.
    pub(super) fn decide(&mut self, link: Link, now: Instant, size: usize) -> Fate {
        if link.is_cut {
            return Fate::Cut;
        }
        if self.rng.share() < link.loss {
            return Fate::Lost;
        }
        let mut leaves = now;
        if link.bytes_per_s > 0 {
            let begins = self.idle_from.map_or(now, |idle| idle.max(now));
            leaves = begins + Duration::from_secs_f64(size as f64 / link.bytes_per_s as f64);
            if leaves - now > QUEUE {
                return Fate::Full;
            }
            self.idle_from = Some(leaves);
        }
        let [shortest, longest] = link.delay;
        let jitter = longest.saturating_sub(shortest).mul_f64(self.rng.share());
        let mut arrives = leaves + shortest + jitter;
        if self.rng.share() < link.reordering {
            arrives += OVERTAKEN.mul_f64(self.rng.share());
        } else {
            // Jitter alone does not change the order.
            arrives = self.last.map_or(arrives, |last| last.max(arrives));
            self.last = Some(arrives);
        }
        let again = (self.rng.share() < link.duplicates).then(|| arrives + OVERTAKEN.mul_f64(self.rng.share()));
        Fate::Arrives(arrives, again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn arrival(fate: Fate) -> Instant {
        let Fate::Arrives(at, _) = fate else { panic!("{fate:?}") };
        at
    }

    #[test]
    fn a_perfect_path_keeps_nothing_back() {
        let now = Instant::now();
        assert_eq!(Path::new(1).decide(Link::default(), now, 1500), Fate::Arrives(now, None));
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_does_not() {
        let now = Instant::now();
        let arrivals = |link: Link| {
            let mut path = Path::new(7);
            (0..200).map(|number| arrival(path.decide(link, now + MS * number, 100))).collect::<Vec<_>>()
        };
        let jitter = Link { delay: [MS, MS * 30], ..Link::default() };
        assert!(arrivals(jitter).is_sorted());
        assert!(!arrivals(Link { reordering: 0.3, ..jitter }).is_sorted());
    }

    #[test]
    fn shares_are_kept() {
        let link = Link { loss: 0.2, duplicates: 0.1, ..Link::default() };
        let (mut path, now) = (Path::new(3), Instant::now());
        let fates: Vec<Fate> = (0..10_000).map(|_| path.decide(link, now, 100)).collect();
        let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
        let twice = fates.iter().filter(|fate| matches!(fate, Fate::Arrives(_, Some(_)))).count();
        assert!((1800..2200).contains(&lost), "{lost}");
        assert!((640..960).contains(&twice), "{twice}");
    }

    #[test]
    fn a_limit_delays_and_then_loses() {
        let link = Link { bytes_per_s: 10_000, ..Link::default() };
        let (mut path, now) = (Path::new(3), Instant::now());
        assert_eq!(arrival(path.decide(link, now, 1000)), now + MS * 100);
        assert_eq!(arrival(path.decide(link, now, 1000)), now + MS * 200);
        let fates: Vec<Fate> = (0..9).map(|_| path.decide(link, now, 1000)).collect();
        assert_eq!(fates.iter().filter(|fate| **fate == Fate::Full).count(), 6);
    }
}
