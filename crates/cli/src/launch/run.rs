//! A launch while it runs. One thread decides; others wait for signals, lines and ends of processes, and send events.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rospin_report::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::group::Alive;
use super::guard::{self, Guard};
use super::lead::{self, Said};
use super::output::{Level, Output};
use super::plan::Planned;
use super::process::{End, Running};

/// A signal so soon after the first one is the same request: a shell and a terminal may both send it.
const SAME_REQUEST: Duration = Duration::from_millis(200);
/// Pause before the launch looks again whether a group has gone.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest time without an event that the launch waits.
const LONGEST: Duration = Duration::from_secs(60);

/// What a launch reacts to.
pub(super) enum Event {
    Signal(i32),
    /// A process has ended, after that many starts.
    Ended {
        number: usize,
        start: u32,
        end: End,
    },
    /// A line of the leader; `None` if it has ended.
    Led(Option<String>),
}

/// State of a process of the launch.
enum State {
    /// It starts at that time, once those that it comes after are ready.
    Waiting(Instant),
    Running(Running),
    Over,
}

/// A process of the launch.
struct Slot {
    planned: Planned,
    state: State,
    /// How often it was started.
    starts: u32,
    /// Number of its managed nodes that are in their states.
    reached: usize,
    /// True if its managed nodes were all in their states once.
    was_ready: bool,
}

impl Slot {
    /// Returns true if its process has ended, while others of the group may be left.
    fn has_ended(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.end.is_some())
    }

    /// Returns true if its process starts anew when it ends.
    fn comes_back(&self) -> bool {
        let Some(respawn) = self.planned.respawn else { return false };
        respawn.max_retries.is_none_or(|retries| self.starts <= retries)
    }
}

/// Starts the processes and waits until all have ended.
pub(super) fn run(processes: Vec<Planned>, logs: &Path) -> Result<(), Failure> {
    let (events, received) = mpsc::channel();
    listen(events.clone()).map_err(Failure::run)?;
    let (output, screen) = Output::start(logs).map_err(Failure::run)?;
    let guard = Guard::start().map_err(Failure::run)?;
    let mut launch = Launch::new(processes, output.clone(), guard, events);
    launch.last(&received);
    let failures = std::mem::take(&mut launch.failures);
    drop(launch);
    screen.finish(output);
    if failures.is_empty() { Ok(()) } else { Err(Failure::Run(failures.join("; ").into())) }
}

/// Sends signals as events.
fn listen(events: Sender<Event>) -> io::Result<()> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted)?;
    let pass_on = move || {
        for signal in &mut signals {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass_on).map(drop)
}

/// Returns true if this process was started with that signal ignored, as `nohup` does.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

struct Launch {
    slots: Vec<Slot>,
    output: Output,
    guard: Guard,
    leader: Option<Leader>,
    events: Sender<Event>,
    /// Time at which the end began.
    ending: Option<Instant>,
    /// What went wrong, for the exit status.
    failures: Vec<String>,
    is_guard_lost: bool,
}

impl Launch {
    fn new(processes: Vec<Planned>, output: Output, guard: Guard, events: Sender<Event>) -> Self {
        let now = Instant::now();
        let mut slots = Vec::new();
        for planned in processes {
            slots.push(Slot { planned, state: State::Waiting(now), starts: 0, reached: 0, was_ready: false });
        }
        Self { slots, output, guard, leader: None, events, ending: None, failures: Vec::new(), is_guard_lost: false }
    }

    /// Runs until all processes are over.
    fn last(&mut self, received: &Receiver<Event>) {
        loop {
            // One look for all of them, after their ends were noted.
            let alive = if self.slots.iter().any(Slot::has_ended) { Alive::now().ok() } else { None };
            let now = Instant::now();
            for number in 0..self.slots.len() {
                self.advance(number, alive.as_ref(), now);
            }
            if self.slots.iter().all(|slot| matches!(slot.state, State::Over)) {
                return;
            }
            match received.recv_timeout(self.patience(now)) {
                Ok(event) => {
                    self.react(event);
                    while let Ok(event) = received.try_recv() {
                        self.react(event);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Returns the time until the next thing that no event announces.
    fn patience(&self, now: Instant) -> Duration {
        let mut next = now + LONGEST;
        for slot in &self.slots {
            let due = match &slot.state {
                State::Waiting(from) if self.is_decided(slot) => Some(*from),
                State::Waiting(_) | State::Over => None,
                State::Running(running) if running.end.is_some() => Some(now + PAUSE),
                State::Running(running) => running.due(&slot.planned),
            };
            next = due.map_or(next, |due| due.min(next));
        }
        next.saturating_duration_since(now)
    }

    /// Returns true if it is known of all processes that this one comes after whether they are ready.
    fn is_decided(&self, slot: &Slot) -> bool {
        let mut before = slot.planned.after.iter().map(|number| &self.slots[*number]);
        before.all(|slot| slot.was_ready || matches!(slot.state, State::Over))
    }

    fn tell(&self, number: usize, level: Level, text: &str) {
        self.output.tell(level, &self.slots[number].planned.label, text);
    }

    /// Notes that something of a process went wrong.
    fn fail(&mut self, number: usize, text: &str) {
        self.tell(number, Level::Error, text);
        self.failures.push(format!("{}: {text}", self.slots[number].planned.label));
    }

    /// Does what is due for a process.
    fn advance(&mut self, number: usize, alive: Option<&Alive>, now: Instant) {
        let slot = &mut self.slots[number];
        match &mut slot.state {
            State::Waiting(from) if *from <= now => self.start_in_order(number, now),
            State::Waiting(_) | State::Over => {}
            State::Running(running) => {
                let is_left = running.end.is_none() || alive.is_some_and(|alive| alive.has(running.group()));
                if is_left && running.end.is_some() {
                    running.terminate_others(now);
                }
                let text = if is_left { running.escalate(&slot.planned, now) } else { None };
                let is_gone = !is_left || running.is_given_up();
                if let Some(text) = text {
                    self.tell(number, Level::Error, &text);
                }
                if is_gone {
                    self.gone(number, now);
                }
            }
        }
    }

    /// Starts a process if those that it comes after are ready.
    fn start_in_order(&mut self, number: usize, now: Instant) {
        for before in self.slots[number].planned.after.clone() {
            let before = &self.slots[before];
            if before.was_ready {
                continue;
            }
            if matches!(before.state, State::Over) {
                let text = format!("process is not started: {} never came to its state", before.planned.label);
                self.fail(number, &text);
                self.over(number);
            }
            return;
        }
        self.start(number, now);
    }

    fn start(&mut self, number: usize, now: Instant) {
        let slot = &mut self.slots[number];
        slot.starts += 1;
        slot.reached = 0;
        match Running::start(number, slot.starts, &slot.planned, &self.output, &self.events) {
            Ok(running) => {
                let noted = self.guard.add(running.group());
                slot.state = State::Running(running);
                if noted.is_err() && !self.is_guard_lost {
                    self.is_guard_lost = true;
                    let text = "the launch's guard has ended: if the launch is killed, its processes stay";
                    self.output.tell(Level::Warning, "launch", text);
                }
                self.lead(number);
            }
            Err(error) => {
                let text = format!("process cannot be started: {error}");
                self.tell(number, Level::Error, &format!("{text}: {}", self.slots[number].planned.line()));
                self.ended(number, now, Some(text));
            }
        }
    }

    /// Asks the leader to lead the managed nodes of a process.
    fn lead(&mut self, number: usize) {
        let managed = &self.slots[number].planned.managed;
        if managed.is_empty() {
            return;
        }
        let orders: String = managed.iter().map(|(node, goal)| lead::order(number, *goal, node)).collect();
        if self.leader.is_none() {
            match Leader::start(&self.output, &self.events) {
                Ok(leader) => self.leader = Some(leader),
                Err(error) => return self.fail(number, &format!("its managed nodes cannot be led: {error}")),
            }
        }
        if let Some(leader) = &mut self.leader {
            leader.write(&orders);
        }
    }

    fn react(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Signal(signal) => self.signaled(signal, now),
            Event::Led(Some(line)) => self.led(&line),
            Event::Led(None) => {
                if self.ending.is_none() {
                    self.failures.push("managed nodes cannot be led, see above".to_owned());
                    self.end(Level::Error, "the leader of managed nodes has ended, so the launch ends", now);
                }
            }
            Event::Ended { number, start, end } => {
                let slot = &mut self.slots[number];
                if slot.starts != start {
                    return;
                }
                let comes_back = slot.comes_back();
                let State::Running(running) = &mut slot.state else { return };
                running.end = Some(end);
                running.has_failed = !end.is_clean() && self.ending.is_none() && !comes_back;
                let pid = running.id();
                self.tell_end(number, pid, end);
                if let Some(leader) = &mut self.leader {
                    leader.write(&lead::stop(number));
                }
            }
        }
    }

    fn tell_end(&self, number: usize, pid: u32, end: End) {
        if end.is_clean() {
            return self.tell(number, Level::Info, &format!("process has finished cleanly [pid {pid}]"));
        }
        // After SIGINT, a program may end with any status.
        let level = if self.ending.is_some() { Level::Info } else { Level::Error };
        let line = self.slots[number].planned.line();
        self.tell(number, level, &format!("process has died [pid {pid}, {end}, cmd {line}]"));
    }

    fn signaled(&mut self, signal: i32, now: Instant) {
        let name = match signal {
            SIGINT => "SIGINT",
            SIGTERM => "SIGTERM",
            _ => "SIGHUP",
        };
        match self.ending {
            None => self.end(Level::Warning, &format!("{name}: all processes end"), now),
            Some(begun) if now < begun + SAME_REQUEST => {}
            Some(_) => {
                self.output.tell(Level::Warning, "launch", &format!("{name} again: all processes are killed"));
                for slot in &mut self.slots {
                    if let State::Running(running) = &mut slot.state {
                        running.kill(now);
                    }
                }
            }
        }
    }

    /// Begins to end all processes.
    fn end(&mut self, level: Level, text: &str, now: Instant) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(now);
        self.output.tell(level, "launch", text);
        self.leader = None;
        for number in 0..self.slots.len() {
            match &mut self.slots[number].state {
                State::Waiting(_) => self.over(number),
                State::Over => {}
                State::Running(running) => {
                    if running.interrupt(now) {
                        self.tell(number, Level::Info, "sending signal SIGINT to the process");
                    }
                }
            }
        }
    }

    fn led(&mut self, line: &str) {
        match Said::read(line) {
            Some(Said::Waits { process, text }) => self.tell(process, Level::Warning, &text),
            Some(Said::Reached { process, text }) => {
                self.tell(process, Level::Info, &text);
                let slot = &mut self.slots[process];
                slot.reached += 1;
                if slot.reached >= slot.planned.managed.len() {
                    slot.was_ready = true;
                }
            }
            Some(Said::Failed { process, text }) => {
                self.fail(process, &text);
                if self.slots[process].planned.is_required {
                    return self.end(Level::Error, "a required process failed, so the launch ends", Instant::now());
                }
                self.give_up_after(process);
            }
            None => self.output.tell(Level::Warning, "launch", &format!("the leader of managed nodes said: {line}")),
        }
    }

    /// Gives up the processes that come after one whose nodes will not come to their states.
    fn give_up_after(&mut self, failed: usize) {
        for number in 0..self.slots.len() {
            let slot = &self.slots[number];
            if matches!(slot.state, State::Waiting(_)) && slot.planned.after.contains(&failed) {
                let text =
                    format!("process is not started: {} did not come to its state", self.slots[failed].planned.label);
                self.fail(number, &text);
                self.over(number);
                self.give_up_after(number);
            }
        }
    }

    /// Reacts to the end of a process of whose group nobody is left.
    fn gone(&mut self, number: usize, now: Instant) {
        let slot = &mut self.slots[number];
        let State::Running(running) = std::mem::replace(&mut slot.state, State::Over) else { return };
        // If the guard has gone, that was told.
        let _ = self.guard.remove(running.group());
        let was_killed = running.was_killed();
        let failure = match running.end {
            None => Some("process could not be ended".to_owned()),
            Some(_) if was_killed && self.ending.is_some() => Some("process had to be killed".to_owned()),
            Some(end) if running.has_failed => Some(format!("process has died ({end})")),
            Some(_) => None,
        };
        running.reap();
        self.ended(number, now, failure);
    }

    /// Starts an ended process anew, or reacts to its end for good. `failure` says what went wrong, if anything did: it
    /// was told already.
    fn ended(&mut self, number: usize, now: Instant, failure: Option<String>) {
        let slot = &mut self.slots[number];
        slot.state = State::Over;
        if let Some(respawn) = slot.planned.respawn
            && self.ending.is_none()
            && slot.comes_back()
        {
            slot.state = State::Waiting(now + respawn.delay);
            let text = format!("process starts anew in {} s", respawn.delay.as_secs_f64());
            return self.tell(number, Level::Info, &text);
        }
        if let Some(failure) = failure {
            self.failures.push(format!("{}: {failure}", self.slots[number].planned.label));
        }
        if self.slots[number].planned.is_required {
            let text = format!("{} has ended, so the launch ends", self.slots[number].planned.label);
            self.end(Level::Info, &text, now);
        }
    }

    fn over(&mut self, number: usize) {
        self.slots[number].state = State::Over;
    }
}

/// The leader of managed nodes, as the launch sees it. It ends with its input; its drop ends it at once.
struct Leader {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Leader {
    fn start(output: &Output, events: &Sender<Event>) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([super::NAME, "--part", "lead"]).process_group(0).env_remove(guard::MARK);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let orders = child.stdin.take();
        if let Some(stderr) = child.stderr.take() {
            // Its file is not `launch.log`, which has another writer.
            drop(output.follow(0, "leader", stderr));
        }
        if let Some(stdout) = child.stdout.take() {
            let events = events.clone();
            let read = move || {
                for line in BufReader::new(stdout).lines() {
                    let Ok(line) = line else { break };
                    if events.send(Event::Led(Some(line))).is_err() {
                        return;
                    }
                }
                // Nobody listens if the launch is over.
                let _ = events.send(Event::Led(None));
            };
            thread::Builder::new().name("leader".to_owned()).spawn(read)?;
        }
        Ok(Self { child, orders })
    }

    fn write(&mut self, orders: &str) {
        if let Some(input) = &mut self.orders {
            // If it has gone, its output ends, which is an event.
            let _ = input.write_all(orders.as_bytes());
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.orders = None;
        // It has nothing to finish. Both only fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
