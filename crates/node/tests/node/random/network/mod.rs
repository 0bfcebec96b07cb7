//! Days of a fleet on a simulated network: robots and a station, each a process of its own, while the network delays,
//! loses, reorders, and is cut and healed, and hosts stall, die and start again.
//!
//! Every few minutes the station calls services, sends goals, sets parameters, changes states, and the robots publish. A
//! seed decides all of it. From time to time the network heals, and then all must agree:
//!
//! - A message was heard once and in order, or is counted as lost. Latched topics have their last value.
//! - A call had at most one effect, and has one answer or an error. So has a transition.
//! - A goal was accepted once and ended once, and its client has the same end. Its feedback was heard in order.
//! - Parameters have the value that the station reads, and their events came in the order of the changes.
//! - All see the same graph, and nothing is left of what has ended.
//!
//! `SIMULATED_DAYS=10000 cargo test -p rospin-node --test node fleets` runs so many robot-days, and `SIMULATED_SEED=4711`
//! one program again; with both, they begin with that program. It says how many robot-days a second took with
//! `-- --nocapture`.

mod calm;
mod extras;
mod robot;
mod settle;
mod station;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant as WallInstant};

use rospin::testing::{LinkOptions, SimulatedNetwork};
use rospin_engine::{Context, ContextOptions, Executor, ManualClock, SpinOptions};
use rospin_node::GoalId;

use super::{Rng, Shared, number};
use robot::{KEPT, Robot, Served, TOO_FAST};
use station::Station;

/// The robots of a fleet.
const ROBOTS: usize = 3;
/// The time that a program simulates.
const DAY: Duration = Duration::from_secs(86400);
/// The robot-days that the test simulates unless told otherwise. Checks before a merge simulate 500.
const ROBOT_DAYS: u64 = 50;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// What really happened, as callbacks and the program note it.
#[derive(Default)]
struct Facts {
    now: Duration,
    /// Number of executions of each request.
    effects: BTreeMap<i64, u32>,
    goals: BTreeMap<GoalId, Served>,
    /// Orders of the goals that were accepted.
    orders: BTreeSet<i32>,
    /// The speeds that each start of a robot had, in their order.
    speeds: BTreeMap<i64, Vec<i64>>,
    /// The last start of each robot.
    boots: Vec<i64>,
    /// Transitions that were requested, by the robot's start.
    changes: BTreeMap<i64, Changes>,
    /// How often each outcome came.
    outcomes: BTreeMap<&'static str, u64>,
    /// The number of ends that the network has when all is quiet.
    size: Option<usize>,
    /// What callbacks found to be wrong.
    wrong: Vec<String>,
}

#[derive(Clone, Copy, Default)]
struct Changes {
    asked: usize,
    succeeded: usize,
    refused: usize,
}

type Truth = Shared<Facts>;

impl Facts {
    /// Notes the text unless it is right.
    fn check(&mut self, is_right: bool, text: impl FnOnce() -> String) {
        if !is_right {
            self.wrong.push(text());
        }
    }

    /// Counts an outcome.
    fn saw(&mut self, outcome: &'static str) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    fn count_of_speed(&self, speed: i64) -> usize {
        self.speeds.values().flatten().filter(|other| **other == speed).count()
    }

    /// Returns the place of a speed in the order of changes, if it is after `after`.
    fn place_of_speed(&self, speed: i64, after: Option<(i64, usize)>) -> Option<(i64, usize)> {
        let mut places = self.speeds.iter().filter_map(|(boot, speeds)| {
            // The speed that a robot begins with is no change.
            let place =
                if speed == -boot { Some(0) } else { speeds.iter().position(|other| *other == speed).map(|at| at + 1) };
            place.map(|place| (*boot, place))
        });
        places.find(|place| after.is_none_or(|after| after < *place))
    }

    /// Returns true if a server may have forgotten the goal, because it ended long ago.
    fn is_old(&self, goal: &Served) -> bool {
        goal.end.is_some() && self.now.saturating_sub(goal.ended_at) >= KEPT
    }
}

/// A fleet and its network.
struct Fleet {
    rng: Rng,
    clock: ManualClock,
    context: Context,
    network: SimulatedNetwork,
    names: Vec<String>,
    robots: Vec<Option<Robot>>,
    station: Option<Station>,
    truth: Truth,
    /// Responses that the network could not deliver to anybody, until the last time that all was quiet.
    unmatched: u64,
    /// Questions for results that had no answer when they were asked again.
    open: u64,
    /// The last number that was given to a start, call, goal or speed.
    last: i64,
}

impl Fleet {
    fn new(seed: u64) -> Self {
        let clock = ManualClock::new();
        clock.advance(SECOND);
        let truth = Truth::new();
        let incidents = truth.clone();
        let options = ContextOptions::new().manual_clock(clock.clone());
        let tell =
            move |incident: &rospin_engine::Incident| incidents.with(|truth| truth.wrong.push(incident.to_string()));
        let context = Context::new(options.on_incident(tell));
        let network = SimulatedNetwork::new(seed);
        network.advance_to(context.clock().now());
        let names: Vec<String> = (0..ROBOTS).map(|robot| format!("robot_{robot}")).collect();
        let robots = names.iter().map(|_| None).collect();
        truth.with(|truth| truth.boots = vec![0; ROBOTS]);
        let mut fleet = Self {
            rng: Rng(seed),
            clock,
            context,
            network,
            names,
            robots,
            station: None,
            truth,
            unmatched: 0,
            open: 0,
            last: 0,
        };
        for robot in 0..ROBOTS {
            fleet.start(robot);
        }
        fleet.start_station();
        fleet.run(2 * SECOND);
        fleet
    }

    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn start(&mut self, robot: usize) {
        if self.robots[robot].is_none() {
            let boot = self.next();
            self.truth.with(|truth| {
                truth.boots[robot] = boot;
                truth.speeds.entry(boot).or_default();
            });
            let started = Robot::start(&self.network, &self.context, &self.names[robot], boot, &self.truth);
            self.robots[robot] = Some(started);
        }
    }

    fn start_station(&mut self) {
        if self.station.is_none() {
            let boot = self.next();
            self.station = Some(Station::start(&self.network, &self.context, &self.names, boot, &self.truth));
        }
    }

    /// Ends a host, with a power cut or an orderly exit.
    fn end(&mut self, host: usize) {
        let name = self.names.get(host).map_or("station", String::as_str);
        self.truth.with(|truth| truth.saw("host ended"));
        if self.rng.percent(70) {
            self.network.kill(name);
        }
        match self.robots.get_mut(host) {
            Some(robot) => {
                let Some(ended) = robot.take() else { return };
                // Executions end with their process.
                let left = ended.executions.with(std::mem::take);
                drop(ended);
                drop(left);
                if self.rng.percent(50) {
                    let pause = self.any_pause().min(20 * SECOND);
                    self.run(pause);
                    self.start(host);
                }
            }
            None => {
                self.station = None;
                if self.rng.percent(80) {
                    let pause = self.any_pause().min(20 * SECOND);
                    self.run(pause);
                    self.start_station();
                }
            }
        }
    }

    /// Runs the executors of hosts that are not stalled, until nothing is ready.
    fn spin(&self) {
        let now = self.context.clock().now();
        loop {
            for executor in self.executors() {
                executor.spin(SpinOptions::spin_all()).expect("nothing fails");
            }
            if !self.network.advance_to(now) {
                return;
            }
        }
    }

    fn executors(&self) -> impl Iterator<Item = &Executor> {
        let robots = self.robots.iter().flatten().filter(|robot| !robot.is_stalled).map(|robot| robot.ros.executor());
        let station = self.station.iter().filter(|station| !station.is_stalled).map(|station| station.ros.executor());
        robots.chain(station)
    }

    /// Lets time pass, from one due time to the next.
    fn run(&mut self, duration: Duration) {
        let end = self.context.clock().now() + duration;
        self.network.advance_to(self.context.clock().now());
        self.spin();
        loop {
            let now = self.context.clock().now();
            let due = self.executors().filter_map(Executor::next_due).chain(self.network.next_due());
            let next = due.filter(|due| *due > now).min().map_or(end, |due| due.min(end));
            if next == now {
                break;
            }
            self.clock.advance(next.saturating_since(now));
            self.network.advance_to(next);
            self.spin();
        }
        self.truth.with(|truth| truth.now += duration);
        if let Some(station) = &mut self.station {
            station.poll(&self.truth);
        }
        let wrong = self.truth.with(|truth| std::mem::take(&mut truth.wrong));
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    fn any_pause(&mut self) -> Duration {
        match self.rng.below(20) {
            0..=7 => MS * self.rng.below(20) as u32,
            8..=13 => MS * self.rng.below(2000) as u32,
            14..=16 => MS * self.rng.below(15_000) as u32,
            _ => SECOND * self.rng.below(2400) as u32,
        }
    }

    /// Does one thing on the network, or to a host.
    fn disturb(&mut self) {
        let robot = self.rng.below(ROBOTS);
        let name = self.names[robot].clone();
        self.truth.with(|truth| truth.saw("disturbance"));
        match self.rng.below(20) {
            0..=2 => self.network.cut("station", &name),
            3 => self.network.cut_one_way("station", &name),
            4 => self.network.cut_one_way(&name, "station"),
            5 => self.network.isolate(&name),
            6..=11 => self.network.heal("station", &name),
            12 => self.network.heal_all(),
            13 => {
                let delay = MS * self.rng.below(300) as u32;
                let part = |rng: &mut Rng| rng.below(40) as f64 / 100.0;
                let link = LinkOptions::new().delay(MS, MS + delay).loss(part(&mut self.rng));
                let link = link.duplicates(part(&mut self.rng)).reordering(part(&mut self.rng));
                self.network.set_link("station", &name, link);
            }
            14 => self.network.set_link("station", &name, LinkOptions::new()),
            15 if self.rng.percent(60) => self.end(robot),
            16 => (0..ROBOTS).for_each(|robot| self.start(robot)),
            17 if self.rng.percent(30) => self.end(ROBOTS),
            18 => {
                let is_stalled = self.rng.percent(50);
                match self.robots[robot].as_mut() {
                    Some(robot) if self.rng.percent(70) => robot.is_stalled = is_stalled,
                    _ => self.station.iter_mut().for_each(|station| station.is_stalled = is_stalled),
                }
            }
            _ => self.start_station(),
        }
    }

    /// Has a robot or the station do one thing.
    fn act(&mut self) {
        let at = self.rng.below(ROBOTS);
        let id = self.next();
        let Self { rng, robots, station, truth, .. } = self;
        if rng.percent(50)
            && let Some(robot) = &mut robots[at]
        {
            match rng.below(6) {
                0..=1 => {
                    let topic = rng.below(3);
                    for _ in 0..=rng.below(12) {
                        robot.talkers[topic].publish();
                    }
                }
                2 => assert_eq!(robot.speed.set(id).is_ok(), id % TOO_FAST != 0, "speed {id}"),
                _ => robot.execute(rng, truth, false),
            }
        } else if let Some(station) = station {
            match rng.below(16) {
                0..=2 => station.call(at, id, rng),
                3..=4 => station.send(at, id as i32),
                12 => station.relay(at, id),
                13 => station.change_guests(at, rng),
                14 => station.send(at, id as i32),
                15 => station.wait(at, rng),
                5..=7 => station.ask(rng),
                8 => station.set_speed(at, id),
                9..=10 => station.change(at, 1 + rng.below(4) as u8, truth),
                _ => station.mission.publish(),
            }
        }
    }

    /// Runs the program for that time.
    fn live(&mut self, time: Duration) {
        let begin = self.truth.with(|truth| truth.now);
        let mut settled = begin;
        loop {
            let now = self.truth.with(|truth| truth.now);
            if now - settled > DAY / 8 || now - begin >= time {
                self.settle();
                settled = self.truth.with(|truth| truth.now);
            }
            if now - begin >= time {
                return;
            }
            match self.rng.below(10) {
                0..=1 => self.disturb(),
                _ => self.act(),
            }
            let pause = self.any_pause();
            self.run(pause);
        }
    }
}

/// How often each outcome came.
type Outcomes = BTreeMap<&'static str, u64>;

/// Runs a day of a fleet by its seed. Returns what happened on the network, as a number, and what came of it.
fn day(seed: u64) -> (u64, Outcomes) {
    let mut fleet = Fleet::new(seed);
    fleet.live(DAY);
    let mut outcomes = fleet.truth.with(|truth| std::mem::take(&mut truth.outcomes));
    outcomes.insert("sample delivered", fleet.network.counts().delivered);
    (fleet.network.fingerprint(), outcomes)
}

#[test]
#[expect(clippy::print_stderr, reason = "it tells which program failed")]
fn fleets_agree_whenever_their_network_has_healed() {
    let days = number("SIMULATED_DAYS");
    let seed = number("SIMULATED_SEED");
    let count = match (days, seed) {
        (None, Some(_)) => 1,
        (days, _) => days.unwrap_or(ROBOT_DAYS).div_ceil(ROBOTS as u64),
    };
    let first = seed.unwrap_or_default();
    let seeds = first..first + count;
    let (begin, mut all) = (WallInstant::now(), Outcomes::new());
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| day(seed))) {
            Ok((_, outcomes)) => {
                for (outcome, count) in outcomes {
                    *all.entry(outcome).or_default() += count;
                }
            }
            Err(panic) => {
                eprintln!("this is the fleet of SIMULATED_SEED={seed}");
                resume_unwind(panic);
            }
        }
    }
    let robot_days = count * ROBOTS as u64;
    let took = begin.elapsed();
    let rate = robot_days as f64 / took.as_secs_f64();
    for (outcome, count) in all {
        eprintln!("{count:9} times: {outcome}");
    }
    eprintln!("{robot_days} robot-days in {took:.1?}: {rate:.1} robot-days a second");
}

#[test]
fn a_seed_makes_one_day() {
    assert_eq!(day(3), day(3));
    assert_ne!(day(3), day(4));
}
