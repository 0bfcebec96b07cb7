//! The schedule of a run: its faults, each with its time. A seed generates one, and a file has one.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rng::Rng;
use crate::middleware::Middleware;

/// Host of the station. The robots have the numbers from 1.
pub(super) const STATION: usize = 0;
/// Time from the start to the first fault, so that all have found each other.
pub(super) const BEGINNING: Duration = Duration::from_secs(8);
/// Time after which a long run kills neither the station nor the first robot any more, so that their memory can be
/// compared with that of the end.
const VETERANS_FROM: f64 = 480.0;
/// The shortest and longest time in seconds that a fault has lasted when a rest ends it. Leases of ten seconds are between.
const LASTING: (f64, f64) = (2.0, 14.0);
/// Length of a run that has veterans.
const LONG: f64 = 1200.0;

/// Something that goes wrong, or a rest.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Kind {
    /// Nothing passes between two hosts.
    Cut { host: usize, other: usize, for_s: f64 },
    /// Nothing passes from a host to the other one.
    CutOneWay { host: usize, other: usize, for_s: f64 },
    /// Nothing passes between a host and any other.
    Isolate { host: usize, for_s: f64 },
    /// The paths of a host to all others, and back, are poor. Shares are from 0 to 1.
    Poor {
        host: usize,
        for_s: f64,
        delay_ms: [f64; 2],
        loss: f64,
        duplicates: f64,
        reordering: f64,
        /// Kilobytes a second on each path; 0 for no limit.
        kb_per_s: u64,
    },
    /// The host's process gets SIGKILL, and starts again after a time.
    Kill { host: usize, after_s: f64 },
    /// The host's process gets SIGTERM, ends as it likes, and starts again.
    Terminate { host: usize, after_s: f64 },
    /// The host's process gets SIGSTOP, and SIGCONT after a time.
    Stop { host: usize, for_s: f64 },
    /// Threads keep the machine's processors busy.
    Hog { threads: usize, for_s: f64 },
    /// The disk of a host is full.
    FillDisk { host: usize, for_s: f64 },
    /// The memory of a host's process is limited to what it has, and that many KiB.
    LimitMemory { host: usize, for_s: f64, kib: u64 },
    /// The Zenoh router of a host gets SIGKILL, and starts again after a time.
    KillRouter { host: usize, after_s: f64 },
    /// All faults end, and everything must be right.
    Settle,
}

impl Kind {
    /// Returns the fault's name in files and tables.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Cut { .. } => "cut",
            Self::CutOneWay { .. } => "cut-one-way",
            Self::Isolate { .. } => "isolate",
            Self::Poor { .. } => "poor",
            Self::Kill { .. } => "kill",
            Self::Terminate { .. } => "terminate",
            Self::Stop { .. } => "stop",
            Self::Hog { .. } => "hog",
            Self::FillDisk { .. } => "fill-disk",
            Self::LimitMemory { .. } => "limit-memory",
            Self::KillRouter { .. } => "kill-router",
            Self::Settle => "settle",
        }
    }

    /// Returns the time after which the fault is over, and what it stopped starts again.
    pub(super) fn duration(&self) -> Duration {
        let seconds = match self {
            Self::Cut { for_s, .. }
            | Self::CutOneWay { for_s, .. }
            | Self::Isolate { for_s, .. }
            | Self::Poor { for_s, .. }
            | Self::Stop { for_s, .. }
            | Self::Hog { for_s, .. }
            | Self::FillDisk { for_s, .. }
            | Self::LimitMemory { for_s, .. } => *for_s,
            Self::Kill { after_s, .. } | Self::Terminate { after_s, .. } | Self::KillRouter { after_s, .. } => *after_s,
            Self::Settle => 0.0,
        };
        Duration::from_secs_f64(seconds.max(0.0))
    }

    /// Returns the hosts that the fault names.
    fn hosts(&self) -> Vec<usize> {
        match self {
            Self::Cut { host, other, .. } | Self::CutOneWay { host, other, .. } => vec![*host, *other],
            Self::Isolate { host, .. }
            | Self::Poor { host, .. }
            | Self::Kill { host, .. }
            | Self::Terminate { host, .. }
            | Self::Stop { host, .. }
            | Self::FillDisk { host, .. }
            | Self::LimitMemory { host, .. }
            | Self::KillRouter { host, .. } => vec![*host],
            Self::Hog { .. } | Self::Settle => Vec::new(),
        }
    }
}

/// A fault with its time since the start.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Fault {
    pub(super) at_s: f64,
    #[serde(flatten)]
    pub(super) kind: Kind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, kind } = self;
        write!(f, "{at_s:.1} s: {kind:?}")
    }
}

/// All faults of a run, in the order of their times.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Schedule {
    /// Decides everything that the faults do not: what the hosts do, and the fate of packets on poor paths.
    pub(super) seed: u64,
    pub(super) robots: usize,
    pub(super) minutes: f64,
    #[serde(rename = "fault")]
    pub(super) faults: Vec<Fault>,
}

/// Reasons for which a schedule's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScheduleError {
    #[error("{0}")]
    Text(#[from] toml::de::Error),
    #[error("fault {number} (at {at_s} s) names host {host}; there are the station, 0, and {robots} robots from 1")]
    Host { number: usize, at_s: f64, host: usize, robots: usize },
    #[error("fault {number} is at {at_s} s, before the one above it")]
    Order { number: usize, at_s: f64 },
}

impl Schedule {
    /// Reads a schedule from the text of a file.
    ///
    /// # Errors
    /// If the text is no schedule, or a fault names a host that is not there or comes before the one above it.
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let schedule: Self = toml::from_str(text)?;
        let robots = schedule.robots;
        let mut before = 0.0;
        for (index, fault) in schedule.faults.iter().enumerate() {
            let (number, at_s) = (index + 1, fault.at_s);
            if let Some(host) = fault.kind.hosts().into_iter().find(|host| *host > robots) {
                return Err(ScheduleError::Host { number, at_s, host, robots });
            }
            if at_s < before {
                return Err(ScheduleError::Order { number, at_s });
            }
            before = at_s;
        }
        Ok(schedule)
    }

    /// Returns the text of the schedule's file.
    ///
    /// # Errors
    /// None that a schedule can cause.
    pub(super) fn to_text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// Generates a schedule: a fault every ten seconds on average, a rest every two minutes, and one at the end.
    pub(super) fn generate(seed: u64, robots: usize, minutes: f64, middleware: Middleware) -> Self {
        let mut rng = Rng::new(seed);
        let end = minutes * 60.0;
        // The last rest takes its time, too.
        let last = (end - 25.0).max(BEGINNING.as_secs_f64() + 1.0);
        let mut faults = Vec::new();
        let mut at_s = BEGINNING.as_secs_f64();
        let mut rested = 0.0;
        while at_s < last {
            let has_veterans = end >= LONG && at_s > VETERANS_FROM;
            if at_s - rested > 120.0 && at_s + LASTING.1 < last {
                faults.push(Fault { at_s, kind: any_lasting_fault(&mut rng, robots, has_veterans) });
                at_s += rng.between(LASTING.0, LASTING.1);
                rested = at_s;
                faults.push(Fault { at_s, kind: Kind::Settle });
                at_s += rng.between(1.0, 5.0);
                continue;
            }
            faults.push(Fault { at_s, kind: any_fault(&mut rng, robots, middleware, has_veterans) });
            // Faults overlap now and then.
            at_s += rng.between(1.0, 19.0);
        }
        let has_veterans = end >= LONG;
        faults
            .push(Fault { at_s: (last - LASTING.1).max(0.0), kind: any_lasting_fault(&mut rng, robots, has_veterans) });
        faults.push(Fault { at_s: last, kind: Kind::Settle });
        for fault in &mut faults {
            fault.at_s = rounded(fault.at_s);
        }
        faults.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        Self { seed, robots, minutes, faults }
    }
}

/// Returns the number with two decimals, so that files are readable.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Returns a fault that lasts until a rest ends it, so that something has to heal there.
fn any_lasting_fault(rng: &mut Rng, robots: usize, has_veterans: bool) -> Kind {
    let host = 1 + rng.below(robots);
    let for_s = 60.0;
    match rng.below(5) {
        0..=1 => Kind::Isolate { host, for_s },
        2 => Kind::Cut { host, other: STATION, for_s },
        3 => Kind::Stop { host, for_s },
        _ => Kind::Kill { host: if has_veterans { any_mortal(rng, robots) } else { host }, after_s: for_s },
    }
}

/// Returns a robot that may be killed at any time: not the first one, if there is another.
fn any_mortal(rng: &mut Rng, robots: usize) -> usize {
    2.min(robots) + rng.below(robots.saturating_sub(1).max(1))
}

/// Returns any fault. `has_veterans` if neither the station nor the first robot may be killed.
fn any_fault(rng: &mut Rng, robots: usize, middleware: Middleware, has_veterans: bool) -> Kind {
    let robot = 1 + rng.below(robots);
    let mut other = rng.below(robots + 1);
    if other == robot {
        other = STATION;
    }
    let mortal = if has_veterans { any_mortal(rng, robots) } else { robot };
    // Short ones, and some that last longer than leases.
    let for_s = rounded(if rng.percent(65) { rng.between(0.3, 6.0) } else { rng.between(6.0, 25.0) });
    let after_s = rounded(rng.between(0.2, 15.0));
    match rng.below(20) {
        0..=2 => Kind::Cut { host: robot, other, for_s },
        3 => Kind::CutOneWay { host: robot, other, for_s },
        4 => Kind::CutOneWay { host: other, other: robot, for_s },
        5 => Kind::Isolate { host: robot, for_s },
        6..=9 => {
            let shortest = rounded(rng.between(0.0, 40.0));
            Kind::Poor {
                host: rng.below(robots + 1),
                for_s,
                delay_ms: [shortest, rounded(shortest + rng.between(0.0, 120.0))],
                loss: rounded(rng.between(0.0, 0.3)),
                duplicates: rounded(rng.between(0.0, 0.2)),
                reordering: rounded(rng.between(0.0, 0.4)),
                kb_per_s: if rng.percent(25) { 50 + rng.below(200) as u64 } else { 0 },
            }
        }
        10..=11 => Kind::Kill { host: mortal, after_s },
        12 if has_veterans => Kind::Kill { host: mortal, after_s },
        12 => Kind::Kill { host: STATION, after_s },
        13 => Kind::Terminate { host: mortal, after_s },
        14..=15 => Kind::Stop { host: rng.below(robots + 1), for_s },
        16 => Kind::Hog { threads: 1 + rng.below(4), for_s: rounded(rng.between(0.5, 4.0)) },
        17 => Kind::FillDisk { host: robot, for_s },
        18 => Kind::LimitMemory { host: robot, for_s, kib: 4096 + rng.below(8192) as u64 },
        _ if middleware == Middleware::Zenoh => Kind::KillRouter { host: rng.below(robots + 1), after_s },
        _ => Kind::Stop { host: rng.below(robots + 1), for_s },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_schedule_and_a_file_has_it() {
        for middleware in [Middleware::Dds, Middleware::Zenoh] {
            let schedule = Schedule::generate(7, 5, 45.0, middleware);
            assert_eq!(schedule, Schedule::generate(7, 5, 45.0, middleware));
            assert_ne!(schedule, Schedule::generate(8, 5, 45.0, middleware));
            let text = schedule.to_text().unwrap();
            assert_eq!(Schedule::parse(&text).unwrap(), schedule);
            // A fault every ten seconds on average.
            let faults = schedule.faults.iter().filter(|fault| fault.kind != Kind::Settle).count();
            assert!((220..330).contains(&faults), "{faults}");
        }
    }

    #[test]
    fn every_run_ends_with_a_rest_and_long_ones_have_veterans() {
        for seed in 0..20 {
            let short = Schedule::generate(seed, 2, 1.0, Middleware::Dds);
            assert_eq!(short.faults.last().map(|fault| &fault.kind), Some(&Kind::Settle));
            for fault in Schedule::generate(seed, 2, 30.0, Middleware::Dds).faults {
                let is_killed = |host: &usize| *host <= 1 && fault.at_s > VETERANS_FROM;
                if let Kind::Kill { host, .. } | Kind::Terminate { host, .. } = &fault.kind {
                    assert!(!is_killed(host), "{fault}");
                }
            }
        }
    }

    #[test]
    fn a_file_that_makes_no_sense_names_the_fault() {
        let file = |faults: &str| format!("seed = 1\nrobots = 2\nminutes = 1.0\n{faults}");
        let stop = |host: usize, at_s: f64| {
            format!("[[fault]]\nat_s = {at_s:?}\nkind = \"stop\"\nhost = {host}\nfor_s = 1.0\n")
        };
        assert!(Schedule::parse(&file(&stop(2, 1.0))).is_ok());
        let error = Schedule::parse(&file(&stop(3, 1.0))).unwrap_err().to_string();
        assert!(error.contains("fault 1") && error.contains("host 3"), "{error}");
        let error = Schedule::parse(&file(&(stop(1, 2.0) + &stop(1, 1.0)))).unwrap_err().to_string();
        assert!(error.contains("fault 2") && error.contains("before"), "{error}");
        let error = Schedule::parse(&file("[[fault]]\nat_s = 1.0\nkind = \"flood\"\n")).unwrap_err().to_string();
        assert!(error.contains("flood"), "{error}");
    }
}
