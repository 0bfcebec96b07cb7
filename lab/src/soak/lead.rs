//! The course of a run: faults at their times, rests in which everything must be right, and what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::accounts::Accounts;
use super::agreement::{self, Picture, Subject};
use super::fleet::Fleet;
use super::ledger::Ledger;
use super::log_lines::LogLines;
use super::outcome::{FaultRow, Flatness, Outcome};
use super::process::Said;
use super::resources::Resources;
use super::schedule::{Kind, STATION, Schedule};
use super::stalls::Stalls;
use super::words::{Fact, HeapUse, LATCHED, Outcome as Answer, Request, RobotSnapshot, RollAnswer, StationSnapshot};
use crate::middleware::Middleware;

/// Pause between two looks at what has come.
const STEP: Duration = Duration::from_millis(20);
/// Time between two times that the station tells what it has heard, while things break: it may be killed at any time.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// Time between two snapshots while everything becomes right.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The time that all processes have to tell what they see.
const ANSWER: Duration = Duration::from_secs(15);
/// Time that the station has to tell what it has heard before it is killed. It may be stopped.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Time that the last messages have to arrive.
const ARRIVAL: Duration = Duration::from_secs(1);
/// Age from which a process's memory counts as that of the beginning, and is compared with the end's.
const WARM: Duration = Duration::from_secs(600);
/// The time in which a process tells that it was late.
const TELLING: Duration = Duration::from_millis(300);
/// The most sentences about what is wrong that are kept.
const WRONG_MAX: usize = 200;

/// Why growth of memory over Zenoh is no finding.
const ZENOH_KEEPS: &str = "growth of memory over Zenoh is shown and not judged: Zenoh 1.10 keeps some 4 kB for each entity with a new \
                           name until the connection closes";

/// Returns the time in which everything has to be right again after it has healed.
pub(super) fn bound(middleware: Middleware) -> Duration {
    match middleware {
        // Leases of those that died last ten seconds, and strangers meet within eight seconds after that.
        Middleware::InProcess | Middleware::Dds => Duration::from_secs(30),
        // Connections that were cut are given up after ten seconds, or send again after as much as twice the cut.
        Middleware::Zenoh => Duration::from_secs(45),
    }
}

/// A run under way.
struct Lead<'a> {
    schedule: &'a Schedule,
    middleware: Middleware,
    fleet: Fleet,
    heard: Receiver<(i64, Said)>,
    ledger: Ledger,
    lines: LogLines,
    log: Option<File>,
    accounts: Accounts,
    /// True if the station was up at the last look.
    had_station: bool,
    stalls: Stalls,
    begun: Instant,
    /// Time that rests have taken.
    rested: Duration,
    station: Option<(i64, StationSnapshot)>,
    robots: BTreeMap<usize, (i64, RobotSnapshot)>,
    roll: Option<Vec<RollAnswer>>,
    /// Use of the heap as each process told it, by start.
    heaps: BTreeMap<i64, Option<HeapUse>>,
    faults: BTreeMap<&'static str, FaultRow>,
    /// Seconds from healing until each subject was right, a figure for each rest.
    healed_s: BTreeMap<Subject, Vec<f64>>,
    /// Resources of each start, the first that counts and the last: when, and what.
    resources: BTreeMap<i64, (String, Vec<(f64, Resources)>)>,
    wrong: Vec<String>,
    rests: u64,
    tell: &'a dyn Fn(&str),
}

/// Runs a schedule. `log` gets all log lines; `tell` is told of what happens; the run ends early if `is_over` becomes
/// true.
///
/// # Errors
/// If something is missing on this machine, or a process cannot be started; in words.
pub(super) fn run(
    schedule: &Schedule,
    middleware: Middleware,
    log: Option<File>,
    is_over: &Arc<AtomicBool>,
    tell: &dyn Fn(&str),
) -> Result<Outcome, String> {
    let stalls = Stalls::watch().map_err(|error| error.to_string())?;
    let (fleet, heard) = Fleet::start(schedule, middleware)?;
    let mut lead = Lead {
        schedule,
        middleware,
        fleet,
        heard,
        ledger: Ledger::default(),
        lines: LogLines::default(),
        log,
        accounts: Accounts::default(),
        had_station: false,
        stalls,
        begun: Instant::now(),
        rested: Duration::ZERO,
        station: None,
        robots: BTreeMap::new(),
        roll: None,
        heaps: BTreeMap::new(),
        faults: BTreeMap::new(),
        healed_s: BTreeMap::new(),
        resources: BTreeMap::new(),
        wrong: Vec::new(),
        rests: 0,
        tell,
    };
    lead.follow(is_over).map_err(|error| format!("the run cannot go on: {error}"))?;
    Ok(lead.outcome())
}

impl Lead<'_> {
    /// Time since the start, without the rests.
    fn now(&self) -> Duration {
        self.begun.elapsed().saturating_sub(self.rested)
    }

    /// Applies all faults at their times.
    fn follow(&mut self, is_over: &AtomicBool) -> io::Result<()> {
        let mut ends: Vec<(Duration, usize)> = Vec::new();
        let mut next = 0;
        let mut asked = Instant::now();
        while next < self.schedule.faults.len() && !is_over.load(Ordering::Relaxed) {
            self.look()?;
            if asked.elapsed() > ASK_EVERY {
                asked = Instant::now();
                self.fleet.ask(STATION, Request::Snapshot);
            }
            let now = self.now();
            ends.retain(|(at, number)| *at > now || self.fleet.end(*number).is_err());
            let fault = &self.schedule.faults[next];
            if Duration::from_secs_f64(fault.at_s.max(0.0)) > now {
                std::thread::sleep(STEP);
                continue;
            }
            next += 1;
            if fault.kind == Kind::Settle {
                (self.tell)(&format!("{:7.1} s: rest", now.as_secs_f64()));
                ends.clear();
                let begun = Instant::now();
                self.rest()?;
                self.rested += begun.elapsed();
                continue;
            }
            (self.tell)(&format!("{:7.1} s: {:?}", now.as_secs_f64(), fault.kind));
            if matches!(fault.kind, Kind::Kill { host: STATION, .. } | Kind::Terminate { host: STATION, .. }) {
                self.hear_last_words()?;
            }
            let did = self.fleet.begin(next, &fault.kind)?;
            let row = self.faults.entry(fault.kind.name()).or_default();
            if did {
                row.count += 1;
                row.seconds += fault.kind.duration().as_secs_f64();
                ends.push((self.now() + fault.kind.duration(), next));
            } else {
                row.skipped += 1;
            }
        }
        Ok(())
    }

    /// Has the station tell what it has heard so far: nobody knows it afterwards.
    fn hear_last_words(&mut self) -> io::Result<()> {
        self.station = None;
        self.fleet.ask(STATION, Request::Snapshot);
        let begun = Instant::now();
        while self.station.is_none() && begun.elapsed() < LAST_WORDS {
            self.look()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Takes what has been said, and looks for processes that have ended.
    fn look(&mut self) -> io::Result<()> {
        while let Ok((boot, said)) = self.heard.try_recv() {
            match said {
                Said::Log(line) => {
                    if let Some(log) = &mut self.log {
                        let _ = writeln!(log, "{:9.3} {boot:4} {line}", self.begun.elapsed().as_secs_f64());
                    }
                    if let Some(wrong) = self.lines.note(boot, &line, Instant::now()) {
                        self.found(wrong);
                    }
                }
                Said::Fact(fact) => self.note(boot, *fact),
            }
        }
        self.fleet.watch()?;
        let has_station = self.fleet.has_station();
        if has_station != self.had_station {
            self.had_station = has_station;
            self.accounts.note_station(has_station, self.fleet.published());
        }
        let wrong = std::mem::take(&mut self.fleet.wrong);
        let more = std::mem::take(&mut self.ledger.wrong);
        for text in wrong.into_iter().chain(more) {
            self.found(text);
        }
        Ok(())
    }

    fn note(&mut self, boot: i64, fact: Fact) {
        match fact {
            Fact::Ready => self.fleet.note_ready(boot),
            Fact::StationSnapshot(snapshot) => {
                self.accounts.note_heard(boot, &snapshot);
                self.station = Some((boot, *snapshot));
            }
            Fact::RobotSnapshot(snapshot) => {
                if let Some(host) = self.fleet.host_of(boot) {
                    self.robots.insert(host, (boot, *snapshot));
                }
            }
            Fact::RollCalled { answers } => self.roll = Some(answers),
            Fact::Heap { in_use } => _ = self.heaps.insert(boot, in_use),
            Fact::Late(late) => {
                let is_excused = self.fleet.is_excused(boot);
                let stalled = self.stalls.within(Duration::from_secs_f64(late.ms / 1e3) + TELLING);
                if !self.ledger.lateness.note(&late, is_excused, stalled) {
                    self.found(format!("start {boot}: a callback was late without a cause: {late:?}"));
                }
            }
            fact => self.ledger.note(boot, fact),
        }
    }

    /// Notes that something is wrong.
    fn found(&mut self, text: String) {
        let text = format!("{:.1} s: {text}", self.begun.elapsed().as_secs_f64());
        (self.tell)(&format!("WRONG {text}"));
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "WRONG {text}");
        }
        if self.wrong.len() < WRONG_MAX {
            self.wrong.push(text);
        }
    }

    /// Looks at what is said for a time.
    fn pass(&mut self, time: Duration) -> io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.look()?;
            std::thread::sleep(STEP);
        }
        self.look()
    }

    /// Heals everything, waits until everything is right, and judges.
    fn rest(&mut self) -> io::Result<()> {
        self.rests += 1;
        self.fleet.heal()?;
        let healed = Instant::now();
        self.fleet.ask_all(Request::Pause);
        let bound = bound(self.middleware);
        // When each subject was right for the first time since it was wrong last.
        let mut right: BTreeMap<Subject, f64> = BTreeMap::new();
        loop {
            let picture = self.picture()?;
            let at = healed.elapsed();
            let wrong = match &picture {
                Some(picture) => agreement::disagreements(picture, &self.ledger),
                None => vec![(Subject::Answers, format!("hosts {:?} do not tell what they see", self.silent()))],
            };
            for subject in Subject::ALL {
                if picture.is_none() || wrong.iter().any(|(other, _)| *other == subject) {
                    right.remove(&subject);
                } else {
                    right.entry(subject).or_insert(at.as_secs_f64());
                }
            }
            if wrong.is_empty() {
                break;
            }
            if at > bound {
                for (subject, text) in wrong {
                    self.found(format!("{at:.1?} after healing, {}: {text}", subject.name()));
                }
                break;
            }
            self.pass(LOOK_EVERY)?;
        }
        for (subject, seconds) in right {
            self.healed_s.entry(subject).or_default().push(seconds);
        }
        self.judge()?;
        self.fleet.ask_all(Request::Resume);
        Ok(())
    }

    /// Judges what must hold on a quiet network.
    fn judge(&mut self) -> io::Result<()> {
        self.fleet.ask_all(Request::PublishOnce);
        self.pass(ARRIVAL)?;
        if let Some(picture) = self.picture()? {
            for text in agreement::unaccounted(&picture) {
                self.found(text);
            }
            let live = self.fleet.live();
            let station = self.station.as_ref().map_or(0, |(boot, _)| *boot);
            self.accounts.note(station, &picture, &live);
        } else {
            self.found(format!("hosts {:?} do not tell what they have published and heard", self.silent()));
        }
        self.roll = None;
        self.fleet.ask(STATION, Request::RollCall);
        let begun = Instant::now();
        while self.roll.is_none() && begun.elapsed() < ANSWER * 3 {
            self.pass(STEP)?;
        }
        let Some(roll) = self.roll.take() else {
            self.found("the station has not called the roll".to_owned());
            return Ok(());
        };
        for (at, answer) in roll.into_iter().enumerate() {
            self.judge_roll(at + 1, &answer);
        }
        // What a process has told before it tells what it sees has come by then.
        self.wait_for_unloading()?;
        let live = self.fleet.live();
        self.ledger.settle(&live);
        self.look()?;
        self.measure()
    }

    /// Waits until nobody sees a component any more: the station has had all of them unloaded.
    fn wait_for_unloading(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let components = self.picture()?.map(|picture| agreement::components(&picture));
            if components.as_ref().is_some_and(BTreeSet::is_empty) {
                return Ok(());
            }
            if begun.elapsed() > bound(self.middleware) {
                self.found(format!("components that were unloaded are still seen: {components:?}"));
                return Ok(());
            }
            self.pass(LOOK_EVERY)?;
        }
    }

    /// Notes what all processes have.
    fn measure(&mut self) -> io::Result<()> {
        self.heaps.clear();
        let asked = self.fleet.ask_routers_too(Request::Heap);
        let begun = Instant::now();
        while begun.elapsed() < ANSWER && !asked.iter().all(|boot| self.heaps.contains_key(boot)) {
            self.pass(STEP)?;
        }
        for (name, boot, age, process) in self.fleet.running() {
            let Some(resources) = Resources::read(process) else { continue };
            let heap = self.heaps.get(&boot).copied().flatten();
            let resources = Resources { heap, ..resources };
            if let Some(log) = &mut self.log {
                let _ = writeln!(log, "{:9.3} {boot:4} {name}: {resources:?}", self.begun.elapsed().as_secs_f64());
            }
            let entry = self.resources.entry(boot).or_insert_with(|| (name, Vec::new()));
            entry.1.push((age.as_secs_f64(), resources));
        }
        Ok(())
    }

    fn judge_roll(&mut self, host: usize, answer: &RollAnswer) {
        let robot = self.robots.get(&host).map(|(boot, robot)| (*boot, robot.speed));
        let arm = robot.map_or("", |(boot, _)| self.ledger.arm(boot)).to_lowercase();
        let is_answered = |answer: &Answer| matches!(answer, Answer::Answered(_));
        let is_right = is_answered(&answer.doubled)
            && is_answered(&answer.relayed)
            && robot.is_some_and(|(_, speed)| answer.speed == Answer::Answered(speed))
            && answer.arm.as_deref() == Some(arm.as_str())
            && answer.goal.as_deref() == Some("Succeeded")
            && answer.feedback > 0;
        if !is_right {
            self.found(format!(
                "robot_{host}, whose speed is {robot:?} and arm {arm}, answers the roll call: {answer:?}"
            ));
        }
    }

    /// Returns what all processes see now; `None` if not all of them tell it in time.
    fn picture(&mut self) -> io::Result<Option<Picture>> {
        self.station = None;
        self.robots.clear();
        self.fleet.ask_all(Request::Snapshot);
        let begun = Instant::now();
        while begun.elapsed() < ANSWER {
            self.look()?;
            if let Some((_, station)) = &self.station
                && self.silent().is_empty()
            {
                let robots = self.robots.values().cloned().collect();
                return Ok(Some(Picture { station: station.clone(), robots }));
            }
            std::thread::sleep(STEP);
        }
        Ok(None)
    }

    /// Returns the hosts whose processes have not told what they see.
    fn silent(&self) -> Vec<usize> {
        let mut silent = Vec::new();
        for (host, boot) in self.fleet.boots().into_iter().enumerate() {
            let told = match host {
                STATION => self.station.as_ref().map(|(boot, _)| *boot),
                _ => self.robots.get(&host).map(|(boot, _)| *boot),
            };
            if told.is_none() || told != boot {
                silent.push(host);
            }
        }
        silent
    }

    fn outcome(mut self) -> Outcome {
        // Starts that ended, perhaps between two rests: their files say how much they had published.
        for (boot, published) in self.fleet.published() {
            self.accounts.note_published(boot, published);
        }
        for text in self.accounts.too_many(LATCHED, bound(self.middleware)) {
            self.found(text);
        }
        let flatness = self.flatness();
        let may_keep = self.middleware == Middleware::Zenoh;
        for row in &flatness {
            if let Some(text) = row.wrong(may_keep) {
                self.found(text);
            }
        }
        let mut remarks = self.fleet.remarks.clone();
        if may_keep {
            remarks.push(ZENOH_KEEPS.to_owned());
        }
        Outcome {
            middleware: self.middleware,
            schedule: self.schedule.clone(),
            seconds: self.begun.elapsed().as_secs_f64(),
            rests: self.rests,
            faults: self.faults,
            healed_s: self.healed_s,
            topics: self.accounts.totals(LATCHED),
            called: self.ledger.called,
            relayed: self.ledger.relayed,
            asked_goals: self.ledger.asked_goals,
            goals_told: self.ledger.goals_told,
            speed_sets: self.ledger.speed_sets,
            changed: self.ledger.changed,
            components: self.ledger.components,
            lateness: self.ledger.lateness,
            log_lines: self.lines.count,
            library_errors: self.lines.library_errors,
            packets: self.fleet.packets(),
            killed_for_memory: self.fleet.killed_for_memory,
            flatness,
            wrong: self.wrong,
            remarks,
        }
    }

    /// Compares what processes had when they were warm with what they have at the end.
    fn flatness(&self) -> Vec<Flatness> {
        let live = self.fleet.live();
        let mut rows = Vec::new();
        for (boot, (name, all)) in &self.resources {
            let is_router = name.starts_with("router");
            if !(live.contains(boot) || is_router) {
                continue;
            }
            let first = all.iter().find(|(age, _)| *age >= WARM.as_secs_f64());
            let (Some((from_s, first)), Some((to_s, last))) = (first, all.last()) else { continue };
            if to_s - from_s > 60.0 {
                let (from_s, to_s) = (*from_s, *to_s);
                rows.push(Flatness { name: name.clone(), from_s, to_s, first: *first, last: *last });
            }
        }
        rows
    }
}
