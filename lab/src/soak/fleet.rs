//! The processes of a run, and what faults do to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::accounts::{self, Published};
use super::network::{Forwarder, Hosts, Links, PacketCounts};
use super::process::{Hog, Place, Process, Said, fill};
use super::rng::Rng;
use super::schedule::{Kind, STATION, Schedule};
use super::words::{Order, Request, Role};
use crate::middleware::Middleware;

/// Name of the program whose allocator counts. It is expected in the folder of this program.
const COUNTING: &str = "rospin-counting";
/// Room on the disk of each robot.
const DISK: &str = "size=8m";
/// The time for which a process that starts, was stopped or has little memory may be late.
const RECOVERY: Duration = Duration::from_secs(3);
/// The time that a process has to end after SIGTERM.
const ENDING: Duration = Duration::from_secs(20);
/// The port of the routers.
const ROUTER_PORT: u16 = 7447;

/// A fault that is not over.
struct Active {
    number: usize,
    kind: Kind,
    _hog: Option<Hog>,
}

/// All processes of a run, their hosts, and the faults that last.
pub(super) struct Fleet {
    /// The program of all processes.
    program: PathBuf,
    middleware: Middleware,
    seed: u64,
    robots: usize,
    rng: Rng,
    /// The station, then the robots.
    processes: Vec<Option<Process>>,
    routers: Vec<Option<Process>>,
    active: Vec<Active>,
    boots: i64,
    /// The host of each start.
    hosts_of: BTreeMap<i64, usize>,
    /// Times until which a start may be late because of a fault.
    excused: BTreeMap<i64, Instant>,
    /// Starts that a fault has ended, or that ended while they had little memory.
    pub(super) killed_for_memory: u64,
    pub(super) wrong: Vec<String>,
    pub(super) remarks: Vec<String>,
    forwarder: Forwarder,
    said: Sender<(i64, Said)>,
    can_shift_clocks: bool,
    cgroups: Option<Cgroups>,
    disks: Disks,
    // Dropped last: the processes are on them.
    hosts: Hosts,
}

impl Fleet {
    /// Creates the hosts and starts all processes.
    ///
    /// # Errors
    /// If something is missing; in words, with the fix.
    pub(super) fn start(schedule: &Schedule, middleware: Middleware) -> Result<(Self, Receiver<(i64, Said)>), String> {
        let count = schedule.robots + 1;
        let (hosts, ends) = Hosts::new(count)?;
        let words = |error: io::Error| error.to_string();
        let forwarder = Forwarder::start(ends, schedule.seed).map_err(words)?;
        let disks = Disks::new(count)?;
        let mut remarks = Vec::new();
        let cgroups = Cgroups::new(count);
        if cgroups.is_none() {
            remarks.push("memory is not limited: there is no memory cgroup that this program may change".to_owned());
        }
        let can_shift_clocks = has_time_namespaces();
        if !can_shift_clocks {
            remarks.push("all clocks are the machine's: `unshare --time` is not allowed".to_owned());
        }
        let (said, heard) = channel();
        let this = std::env::current_exe().map_err(words)?;
        let counting = this.with_file_name(COUNTING);
        if !counting.exists() {
            remarks.push(format!("memory is judged by pages: the program {COUNTING} is not beside this one"));
        }
        let mut fleet = Self {
            program: if counting.exists() { counting } else { this },
            middleware,
            seed: schedule.seed,
            robots: schedule.robots,
            rng: Rng::new(schedule.seed ^ 0xc10c),
            processes: (0..count).map(|_| None).collect(),
            routers: (0..count).map(|_| None).collect(),
            active: Vec::new(),
            boots: 0,
            hosts_of: BTreeMap::new(),
            excused: BTreeMap::new(),
            killed_for_memory: 0,
            wrong: Vec::new(),
            remarks,
            forwarder,
            said,
            can_shift_clocks,
            cgroups,
            disks,
            hosts,
        };
        fleet.start_missing().map_err(words)?;
        Ok((fleet, heard))
    }

    /// Starts every process that does not run.
    fn start_missing(&mut self) -> io::Result<()> {
        for host in 0..self.processes.len() {
            if self.middleware == Middleware::Zenoh && self.routers[host].is_none() {
                self.start_router(host)?;
            }
        }
        for host in 0..self.processes.len() {
            self.start_process(host)?;
        }
        Ok(())
    }

    fn order(&mut self, role: Role, host: usize) -> Order {
        self.boots += 1;
        self.hosts_of.insert(self.boots, host);
        self.excused.insert(self.boots, Instant::now() + RECOVERY * 2);
        let connect = match role {
            Role::Router if host != STATION => vec![format!("tcp/{}:{ROUTER_PORT}", Hosts::address(STATION))],
            _ => Vec::new(),
        };
        Order {
            role,
            host,
            robots: self.robots,
            boot: self.boots,
            seed: self.seed,
            middleware: self.middleware,
            connect,
            published: self.published_file(self.boots),
        }
    }

    fn place(&mut self, host: usize) -> Place {
        // Up to four months, and never the same.
        let ahead = self.rng.below(10_000_000) as u64;
        Place {
            program: self.program.clone(),
            middleware: self.middleware,
            disk: self.disks.folder(host),
            clock_ahead_s: self.can_shift_clocks.then_some(ahead),
            cgroup: self.cgroups.as_ref().map(|cgroups| cgroups.folder(host)),
        }
    }

    /// Starts the station or a robot unless it runs.
    fn start_process(&mut self, host: usize) -> io::Result<()> {
        if self.processes[host].is_none() {
            let role = if host == STATION { Role::Station } else { Role::Robot };
            // A recording keeps the files of its own process alone.
            self.disks.remove_recordings(host);
            let (order, place) = (self.order(role, host), self.place(host));
            self.processes[host] = Some(Process::start(order, &self.hosts, &place, &self.said)?);
        }
        Ok(())
    }

    fn start_router(&mut self, host: usize) -> io::Result<()> {
        if self.routers[host].is_none() {
            let order = self.order(Role::Router, host);
            let place = Place { clock_ahead_s: None, cgroup: None, ..self.place(host) };
            self.routers[host] = Some(Process::start(order, &self.hosts, &place, &self.said)?);
        }
        Ok(())
    }

    /// Returns the file in which the start of a robot writes how much it has published.
    fn published_file(&self, boot: i64) -> PathBuf {
        self.disks.root.join(format!("published-{boot}"))
    }

    /// Returns what every start of a robot has published so far, from their files.
    pub(super) fn published(&self) -> BTreeMap<i64, [Published; 3]> {
        let mut all = BTreeMap::new();
        for boot in self.all_boots() {
            if let Ok(bytes) = fs::read(self.published_file(boot)) {
                all.insert(boot, accounts::published(&bytes));
            }
        }
        all
    }

    /// Returns true if the station is up.
    pub(super) fn has_station(&self) -> bool {
        self.processes[STATION].as_ref().is_some_and(|process| process.is_ready)
    }

    /// Begins a fault. Returns false if it cannot be: a process that should be stopped does not run, for instance.
    ///
    /// # Errors
    /// If a process cannot be started, or a disk not filled.
    pub(super) fn begin(&mut self, number: usize, kind: &Kind) -> io::Result<bool> {
        let mut hog = None;
        match kind {
            Kind::Kill { host, .. } => {
                let Some(mut process) = self.processes[*host].take() else { return Ok(false) };
                process.signal(Signal::KILL);
            }
            Kind::Terminate { host, .. } => {
                if self.processes[*host].as_ref().is_none_or(|process| process.is_stopped || !process.is_ready) {
                    return Ok(false);
                }
                let Some(mut process) = self.processes[*host].take() else { return Ok(false) };
                process.signal(Signal::TERM);
                if !process.wait(ENDING) {
                    self.wrong.push(format!("start {} has not ended {ENDING:?} after SIGTERM", process.order.boot));
                } else if process.ended().is_some_and(|status| !status.success()) {
                    let status = process.ended();
                    self.wrong.push(format!("start {} ended with {status:?} after SIGTERM", process.order.boot));
                }
            }
            Kind::KillRouter { host, .. } => {
                let Some(mut router) = self.routers[*host].take() else { return Ok(false) };
                router.signal(Signal::KILL);
            }
            Kind::Stop { host, .. } => {
                let Some(process) = self.processes[*host].as_mut().filter(|process| !process.is_stopped) else {
                    return Ok(false);
                };
                process.signal(Signal::STOP);
            }
            Kind::Hog { threads, .. } => hog = Some(Hog::start(*threads)?),
            Kind::FillDisk { host, .. } => _ = fill(&self.disks.folder(*host))?,
            Kind::LimitMemory { host, kib, .. } => match &self.cgroups {
                Some(cgroups) if self.processes[*host].is_some() => cgroups.limit(*host, Some(*kib))?,
                _ => return Ok(false),
            },
            Kind::Cut { .. } | Kind::CutOneWay { .. } | Kind::Isolate { .. } | Kind::Poor { .. } | Kind::Settle => {}
        }
        self.active.push(Active { number, kind: kind.clone(), _hog: hog });
        self.forwarder.set_links(self.links());
        Ok(true)
    }

    /// Ends a fault. Does nothing if it is over already.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub(super) fn end(&mut self, number: usize) -> io::Result<()> {
        let Some(at) = self.active.iter().position(|active| active.number == number) else { return Ok(()) };
        let kind = self.active.swap_remove(at).kind;
        self.forwarder.set_links(self.links());
        match kind {
            Kind::Kill { host, .. } | Kind::Terminate { host, .. } => self.start_process(host)?,
            Kind::KillRouter { host, .. } => self.start_router(host)?,
            Kind::Stop { host, .. } => {
                if let Some(process) = &mut self.processes[host] {
                    process.signal(Signal::CONT);
                    self.excused.insert(process.order.boot, Instant::now() + RECOVERY);
                }
            }
            Kind::FillDisk { host, .. } => _ = fs::remove_file(self.disks.folder(host).join("filled")),
            Kind::LimitMemory { host, .. } => {
                if let Some(cgroups) = &self.cgroups {
                    cgroups.limit(host, None)?;
                }
                if let Some(process) = &self.processes[host] {
                    self.excused.insert(process.order.boot, Instant::now() + RECOVERY);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends all faults, and starts all that does not run.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub(super) fn heal(&mut self) -> io::Result<()> {
        while let Some(active) = self.active.last() {
            self.end(active.number)?;
        }
        self.start_missing()
    }

    /// Looks for processes that have ended by themselves, and starts them again.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        for host in 0..self.processes.len() {
            let Some(status) = self.processes[host].as_mut().and_then(Process::ended) else { continue };
            let Some(process) = self.processes[host].take() else { continue };
            let has_limit =
                |active: &Active| matches!(&active.kind, Kind::LimitMemory { host: other, .. } if *other == host);
            if self.active.iter().any(has_limit) {
                self.killed_for_memory += 1;
            } else {
                self.wrong.push(format!("start {} of host {host} ended by itself ({status})", process.order.boot));
            }
            self.start_process(host)?;
        }
        for host in 0..self.routers.len() {
            let Some(status) = self.routers[host].as_mut().and_then(Process::ended) else { continue };
            self.wrong.push(format!("the router of host {host} ended by itself ({status})"));
            self.routers[host] = None;
            self.start_router(host)?;
        }
        Ok(())
    }

    /// Notes that a process is up.
    pub(super) fn note_ready(&mut self, boot: i64) {
        for process in self.processes.iter_mut().chain(&mut self.routers).flatten() {
            process.is_ready |= process.order.boot == boot;
        }
    }

    /// Returns true if a fault explains that callbacks of that start are late now.
    pub(super) fn is_excused(&self, boot: i64) -> bool {
        let host = self.hosts_of.get(&boot).copied();
        let is_disturbed = |active: &Active| match &active.kind {
            Kind::Stop { host: other, .. } | Kind::LimitMemory { host: other, .. } => Some(*other) == host,
            _ => false,
        };
        self.active.iter().any(is_disturbed) || self.excused.get(&boot).is_some_and(|until| Instant::now() < *until)
    }

    /// Asks the station, or a robot, for something.
    pub(super) fn ask(&mut self, host: usize, request: Request) {
        if let Some(process) = &mut self.processes[host] {
            process.ask(request);
        }
    }

    /// Asks the station and all robots for something.
    pub(super) fn ask_all(&mut self, request: Request) {
        for host in 0..self.processes.len() {
            self.ask(host, request);
        }
    }

    /// Asks every process, routers too, for something. Returns their starts.
    pub(super) fn ask_routers_too(&mut self, request: Request) -> BTreeSet<i64> {
        let mut asked = BTreeSet::new();
        for process in self.processes.iter_mut().chain(&mut self.routers).flatten() {
            process.ask(request);
            asked.insert(process.order.boot);
        }
        asked
    }

    /// Returns the start that runs on each host, the station's first.
    pub(super) fn boots(&self) -> Vec<Option<i64>> {
        self.processes.iter().map(|process| process.as_ref().map(|process| process.order.boot)).collect()
    }

    /// Returns the starts that run.
    pub(super) fn live(&self) -> BTreeSet<i64> {
        self.boots().into_iter().flatten().collect()
    }

    /// Returns all running processes: name, start, age and number.
    pub(super) fn running(&self) -> Vec<(String, i64, Duration, u32)> {
        let mut running = Vec::new();
        for process in self.processes.iter().chain(&self.routers).flatten() {
            let name = match process.order.role {
                Role::Station => "station".to_owned(),
                Role::Robot => format!("robot_{}", process.order.host),
                Role::Router => format!("router of host {}", process.order.host),
            };
            running.push((name, process.order.boot, process.started.elapsed(), process.id()));
        }
        running
    }

    /// Returns all starts so far.
    fn all_boots(&self) -> impl Iterator<Item = i64> {
        1..=self.boots
    }

    /// Returns the host of a start.
    pub(super) fn host_of(&self, boot: i64) -> Option<usize> {
        self.hosts_of.get(&boot).copied()
    }

    /// Returns the number of packets so far.
    pub(super) fn packets(&self) -> PacketCounts {
        self.forwarder.counts()
    }

    /// Returns the paths as the faults that last make them.
    fn links(&self) -> Links {
        let hosts = self.robots + 1;
        let mut links = Links::new(hosts);
        for active in &self.active {
            match &active.kind {
                Kind::Cut { host, other, .. } => {
                    links.change(*host, *other, |link| link.is_cut = true);
                    links.change(*other, *host, |link| link.is_cut = true);
                }
                Kind::CutOneWay { host, other, .. } => links.change(*host, *other, |link| link.is_cut = true),
                Kind::Isolate { host, .. } => {
                    for other in 0..hosts {
                        links.change(*host, other, |link| link.is_cut = true);
                        links.change(other, *host, |link| link.is_cut = true);
                    }
                }
                Kind::Poor { host, delay_ms, loss, duplicates, reordering, kb_per_s, .. } => {
                    for other in 0..hosts {
                        for (from, to) in [(*host, other), (other, *host)] {
                            links.change(from, to, |link| {
                                link.delay = delay_ms.map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1e3));
                                link.loss = link.loss.max(*loss);
                                link.duplicates = link.duplicates.max(*duplicates);
                                link.reordering = link.reordering.max(*reordering);
                                link.bytes_per_s = kb_per_s * 1000;
                            });
                        }
                    }
                }
                _ => {}
            }
        }
        links
    }
}

/// Returns true if processes can be started with clocks of their own.
fn has_time_namespaces() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--time", "--monotonic", "1", "--boottime", "1", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A folder for each host that is a disk of its own, and one for files of the run. They are removed when this value is
/// dropped.
struct Disks {
    root: PathBuf,
    count: usize,
}

impl Disks {
    fn new(count: usize) -> Result<Self, String> {
        // In memory: who writes to the machine's disk waits for all others that do.
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let root = base.join(format!("rospin-soak-{}", std::process::id()));
        let mut disks = Self { root, count: 0 };
        for host in 0..count {
            let folder = disks.folder(host);
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(&folder).output();
            let mounted = mounted.map_err(|error| format!("the program `mount` cannot be run: {error}"))?;
            if !mounted.status.success() {
                let said = String::from_utf8_lossy(&mounted.stderr);
                return Err(format!("a tmpfs cannot be mounted: {}; that needs root", said.trim()));
            }
            disks.count += 1;
        }
        Ok(disks)
    }

    fn folder(&self, host: usize) -> PathBuf {
        self.root.join(format!("host-{host}"))
    }

    fn remove_recordings(&self, host: usize) {
        for file in fs::read_dir(self.folder(host)).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|extension| extension == "mcap") {
                // Its process has ended.
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for host in 0..self.count {
            // Lazily: a process that ends may still have a file open.
            let _ = Command::new("umount").arg("-l").arg(self.folder(host)).stderr(Stdio::null()).status();
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A group of processes for each host, whose memory can be limited. They are removed when this value is dropped.
struct Cgroups {
    root: PathBuf,
    count: usize,
    /// Names of the files with the limit and the current size, and the text for no limit.
    files: [&'static str; 3],
}

impl Cgroups {
    /// Creates the groups; `None` if they cannot be created.
    fn new(count: usize) -> Option<Self> {
        let first = Path::new("/sys/fs/cgroup/memory");
        let (root, files) = if first.is_dir() {
            (first.to_owned(), ["memory.limit_in_bytes", "memory.usage_in_bytes", "-1"])
        } else {
            (PathBuf::from("/sys/fs/cgroup"), ["memory.max", "memory.current", "max"])
        };
        let mut cgroups = Self { root, count: 0, files };
        for host in 0..count {
            let folder = cgroups.folder(host);
            fs::create_dir(&folder).ok()?;
            cgroups.count += 1;
            // Without this file, groups here do not limit memory.
            folder.join(files[0]).exists().then_some(())?;
        }
        Some(cgroups)
    }

    fn folder(&self, host: usize) -> PathBuf {
        self.root.join(format!("rospin-soak-{}-{host}", std::process::id()))
    }

    /// Limits a host's memory to what it uses and that many KiB, or removes the limit.
    fn limit(&self, host: usize, kib: Option<u64>) -> io::Result<()> {
        let [limit, usage, none] = self.files;
        let folder = self.folder(host);
        let text = match kib {
            Some(kib) => {
                let used: u64 = fs::read_to_string(folder.join(usage))?.trim().parse().unwrap_or(0);
                (used + kib * 1024).to_string()
            }
            None => none.to_owned(),
        };
        fs::write(folder.join(limit), text)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for host in 0..self.count {
            let _ = fs::remove_dir(self.folder(host));
        }
    }
}
