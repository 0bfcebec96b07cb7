//! Generates programs from seeds.

use super::program::{
    Action, Clock, DuePlan, EntityPlan, ExecutorPlan, GroupPlan, Inbox, Kind, Main, Ms, OverrunPlan, PanicPlan,
    PolicyKind, Program, QueuePlan, Role, Round, SpinPlan, Style, TopicPlan, Until, Way,
};
use super::rng::Rng;

/// The number of topics, which is small so that publishers and subscriptions meet.
pub(crate) const TOPICS: usize = 3;
pub(crate) const SERVICES: usize = 2;
pub(crate) const CHANNELS: usize = 2;

/// The theme of a program. Small programs that do a little of everything find little.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theme {
    Everything,
    /// Entities that come and go, timers and sleeps.
    Churn,
    /// ROS time that jumps.
    Ros,
    /// Callbacks that wait, for each other and for time.
    Waiting,
    /// Several threads, and callbacks that take long.
    Threads,
    /// One thread, and priorities.
    Order,
    /// Several executors, moved groups, spins within callbacks.
    Executors,
    /// Panics, streams, drops that panic.
    Panics,
    /// All ways to publish, queues, and what is kept for late subscriptions.
    Topics,
    /// Many entities with short callbacks, and bursts of messages.
    Many,
}

const THEMES: [Theme; 11] = [
    Theme::Everything,
    Theme::Churn,
    Theme::Ros,
    Theme::Waiting,
    Theme::Threads,
    Theme::Order,
    Theme::Executors,
    Theme::Panics,
    Theme::Topics,
    Theme::Topics,
    Theme::Many,
];

struct Generator {
    rng: Rng,
    theme: Theme,
    program: Program,
    /// The number of entities of the program.
    entities: usize,
}

/// Generates the program of that seed, which is always the same.
pub(crate) fn generate(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let theme = *rng.pick(&THEMES);
    let entities = if theme == Theme::Many { rng.in_range(8, 16) } else { rng.in_range(2, 6) } as usize;
    let mut generator = Generator { rng, theme, program: Program::default(), entities };
    generator.executors();
    generator.topics();
    generator.groups();
    generator.all_entities();
    generator.outside();
    generator.program
}

impl Generator {
    fn is(&self, theme: Theme) -> bool {
        self.theme == theme || self.theme == Theme::Everything
    }

    fn executors(&mut self) {
        let count = if self.is(Theme::Executors) { self.rng.in_range(1, 3) } else { 1 };
        for _ in 0..count {
            let spins = (0..self.rng.below(4)).map(|_| self.spin()).collect();
            self.executor(Role::Own, spins);
        }
        if self.is(Theme::Executors) && self.rng.percent(60) {
            self.executor(Role::Companion, Vec::new());
        }
        if self.is(Theme::Executors) && self.rng.percent(40) {
            self.executor(Role::Spare, Vec::new());
        }
    }

    fn topics(&mut self) {
        let is_plain = !self.is(Theme::Topics) && self.rng.percent(80);
        for _ in 0..TOPICS {
            let plan = if is_plain { TopicPlan::default() } else { self.topic() };
            self.program.topics.push(plan);
        }
        let count = if self.is(Theme::Topics) { self.rng.below(4) } else { 0 };
        for id in 0..count {
            let inbox = self.inbox();
            self.program.queues.push(QueuePlan { id, inbox });
        }
    }

    fn topic(&mut self) -> TopicPlan {
        TopicPlan {
            keeps: *self.rng.pick(&[0, 0, 1, 2, 5]),
            patience: self.rng.percent(50).then(|| *self.rng.pick(&[0, 3, 40])),
            keeps_all: self.rng.percent(50),
        }
    }

    fn inbox(&mut self) -> Inbox {
        let is_deep = self.theme == Theme::Many && self.rng.percent(50);
        Inbox {
            topic: self.topic_at_hand(),
            depth: if is_deep { 300 } else { *self.rng.pick(&[1, 2, 3, 10]) },
            keeps_all: self.is(Theme::Topics) && self.rng.percent(40),
            is_late: self.is(Theme::Topics) && self.rng.percent(50),
        }
    }

    fn executor(&mut self, role: Role, spins: Vec<SpinPlan>) {
        let threads = match self.theme {
            Theme::Order => 1,
            Theme::Threads => self.rng.in_range(2, 4),
            _ => *self.rng.pick(&[1, 1, 1, 2, 2, 3]),
        };
        let policies = [PolicyKind::FixedPriority, PolicyKind::FixedPriority, PolicyKind::Fifo, PolicyKind::Edf];
        let policy = if self.rng.percent(8) { PolicyKind::WaitSet } else { *self.rng.pick(&policies) };
        let id = self.program.executors.len();
        let polls = self.rng.percent(10);
        self.program.executors.push(ExecutorPlan { id, threads: threads as u16, policy, role, polls, spins });
    }

    fn spin(&mut self) -> SpinPlan {
        let until = *self.rng.pick(&[Until::Halted, Until::Once, Until::Some, Until::All]);
        let timeout = self.rng.percent(50).then(|| self.rng.in_range(0, 15));
        let main = self.rng.percent(40).then(|| match self.rng.below(7) {
            0 => Main::Sleep(0, self.clock(), self.rng.in_range(0, 10)),
            1 => Main::Call(self.rng.below(SERVICES)),
            2 => Main::Yields(self.rng.in_range(1, 6)),
            3 => Main::Gates(self.rng.in_range(1, 4)),
            4 => Main::Listens(self.rng.below(CHANNELS)),
            5 => Main::AwaitService(self.rng.below(SERVICES)),
            _ => Main::Never,
        });
        SpinPlan { until, timeout, main }
    }

    fn clock(&mut self) -> Clock {
        let ros = match self.theme {
            Theme::Ros => 60,
            Theme::Order => 3,
            _ => 15,
        };
        match self.rng.below(100) {
            roll if roll < ros => Clock::Ros,
            roll if roll < ros + 15 => Clock::System,
            _ => Clock::Steady,
        }
    }

    fn groups(&mut self) {
        // These themes are about shared groups, and need few of them.
        let most = if matches!(self.theme, Theme::Ros | Theme::Order) { 2 } else { 4 };
        let count = self.rng.in_range(1, most) as usize;
        for id in 0..count {
            let hosts: Vec<_> =
                self.program.executors.iter().filter(|executor| executor.role != Role::Companion).collect();
            let executor = self.rng.pick(&hosts).id;
            let companion = self.program.executors.iter().find(|executor| executor.role == Role::Companion);
            let moved_to = companion.map(|companion| companion.id).filter(|_| self.rng.percent(50));
            let on_panic = *self.rng.pick(&[PanicPlan::Continue, PanicPlan::Remove, PanicPlan::Halt]);
            let reentrant = self.rng.percent(35);
            let releases = !reentrant && self.rng.percent(15);
            self.program.groups.push(GroupPlan { id, executor, moved_to, reentrant, releases, on_panic });
        }
    }

    fn all_entities(&mut self) {
        for id in 0..self.entities {
            let kind = self.kind();
            let group = self.rng.below(self.program.groups.len());
            let is_jump = matches!(kind, Kind::Jump { .. });
            let waits = matches!(self.theme, Theme::Waiting | Theme::Order);
            let asynchronous = !is_jump && self.rng.percent(if waits { 65 } else { 45 });
            let length = if self.theme == Theme::Many { self.rng.below(2) } else { self.rng.below(5) };
            let in_callback = true;
            let by_group = asynchronous && self.program.groups[group].releases && self.rng.percent(70);
            let script = (0..length).map(|_| self.action(in_callback)).collect();
            let entity = EntityPlan {
                id,
                group,
                kind,
                priority: 0,
                deadline: self.rng.percent(50).then(|| self.rng.in_range(1, 20)),
                asynchronous,
                by_group,
                releases_group: asynchronous
                    && (self.program.groups[group].releases
                        || self.rng.percent(if self.theme == Theme::Order { 15 } else { 40 })),
                max_in_flight: self.rng.percent(15).then(|| self.rng.in_range(1, 3) as u32),
                at_start: self.rng.percent(75),
                bomb: self.theme == Theme::Panics && self.rng.percent(6),
                slow: self.is(Theme::Threads) && self.rng.percent(20),
                script,
            };
            self.program.entities.push(entity);
        }
        if self.rng.percent(25) {
            // Few priorities, so that several entities have the same.
            for entity in &mut self.program.entities {
                entity.priority = *self.rng.pick(&[10, 20]);
            }
            return;
        }
        // All priorities differ, in random order.
        let mut priorities: Vec<u32> = (1..=self.entities as u32).map(|number| number * 10).collect();
        for entity in &mut self.program.entities {
            let at = self.rng.below(priorities.len());
            entity.priority = priorities.swap_remove(at);
        }
    }

    fn kind(&mut self) -> Kind {
        let timer = match self.theme {
            Theme::Churn | Theme::Ros => 45,
            Theme::Panics | Theme::Topics | Theme::Many => 15,
            _ => 28,
        };
        let (streams, jumps) = match self.theme {
            Theme::Panics => (30, 0),
            Theme::Many => (2, 0),
            Theme::Ros => (4, 20),
            Theme::Everything => (10, 5),
            _ => (10, 0),
        };
        let sources = if self.theme == Theme::Many { 20 } else { 4 };
        match self.rng.below(100) {
            roll if roll < timer => Kind::Timer {
                clock: self.clock(),
                wait: self.rng.in_range(1, 12),
                periodic: self.rng.percent(60),
                overrun: *self.rng.pick(&[OverrunPlan::Skip, OverrunPlan::CatchUp(2), OverrunPlan::ShiftPhase]),
            },
            roll if roll < timer + streams => Kind::Stream { channel: self.rng.below(CHANNELS) },
            roll if roll < timer + streams + jumps => Kind::Jump { all: self.rng.percent(50) },
            roll if roll < timer + streams + jumps + sources => {
                let style = *self.rng.pick(&[Style::Plain, Style::Looks, Style::AskAgain]);
                Kind::Source { channel: self.rng.below(CHANNELS), style }
            }
            roll if roll < timer + streams + jumps + sources + 2 => Kind::LossWatch { of: self.entity() },
            roll if roll < timer + streams + jumps + sources + 13 => Kind::Service {
                name: self.rng.below(SERVICES),
                depth: *self.rng.pick(&[1, 2, 10]),
                by_queue: self.rng.percent(30),
            },
            _ => Kind::Subscription { inbox: self.inbox(), by_queue: self.rng.percent(15) },
        }
    }

    fn outside(&mut self) {
        // A recording takes a thread of the operating system.
        let records = self.rng.percent(3);
        for _ in 0..self.rng.in_range(1, 3) {
            let length = self.rng.in_range(1, 8);
            let actions = (0..length).map(|_| self.action(false)).collect();
            self.program.threads.push(actions);
        }
        for _ in 0..self.rng.in_range(2, 5) {
            let mut before: Vec<_> = (0..self.rng.below(4)).map(|_| self.action(false)).collect();
            if records && self.rng.percent(60) {
                before.insert(self.rng.below(before.len() + 1), Action::Record(self.rng.percent(60)));
            }
            let round = Round {
                before,
                advance: *self.rng.pick(&[0, 1, 2, 5, 8, 13]),
                set_system: (self.is(Theme::Ros) && self.rng.percent(15)).then(|| self.rng.in_range(0, 60)),
                while_blocked: self.rng.percent(60),
            };
            self.program.rounds.push(round);
        }
        self.program.handles_first = self.rng.percent(50);
    }

    /// With many entities, most have one topic, so that many are ready at once.
    fn topic_at_hand(&mut self) -> usize {
        if self.theme == Theme::Many && self.rng.percent(60) { 0 } else { self.rng.below(TOPICS) }
    }

    fn executor_at_hand(&mut self) -> usize {
        self.rng.below(self.program.executors.len())
    }

    fn entity(&mut self) -> usize {
        self.rng.below(self.entities)
    }

    fn ms(&mut self) -> Ms {
        self.rng.in_range(0, 12)
    }

    /// Generates an action, with probabilities that depend on the theme.
    fn action(&mut self, in_callback: bool) -> Action {
        let themed = self.rng.percent(50);
        match self.theme {
            Theme::Churn if themed => self.churn(),
            Theme::Ros if themed => self.ros(),
            Theme::Waiting | Theme::Order if themed => self.waiting(),
            Theme::Threads if themed && in_callback && self.rng.percent(40) => Action::Gate,
            Theme::Executors if themed && self.rng.percent(25) => self.spin_spare(),
            Theme::Topics if themed => self.on_topics(),
            Theme::Many if themed => match self.rng.below(8) {
                0 if !in_callback => Action::Burst(self.topic_at_hand(), self.rng.in_range(10, 80) as usize),
                1..=2 => Action::Send(self.rng.below(CHANNELS)),
                _ => Action::Publish(self.topic_at_hand(), Way::Plain),
            },
            Theme::Panics if themed => match self.rng.below(5) {
                0 if in_callback => Action::Panic,
                4 => Action::PanicWaker,
                1 => Action::Poison(self.rng.below(CHANNELS)),
                2 => Action::CloseChannel(self.rng.below(CHANNELS)),
                _ => Action::Send(self.rng.below(CHANNELS)),
            },
            _ => self.any_action(in_callback),
        }
    }

    fn any_action(&mut self, in_callback: bool) -> Action {
        match self.rng.below(100) {
            0..=29 => self.publish(),
            30..=34 => self.on_topics(),
            35..=41 => Action::Send(self.rng.below(CHANNELS)),
            42..=57 => self.waiting(),
            58..=73 => self.churn(),
            74..=78 => Action::Touch,
            79..=82 => Action::Yield,
            83..=85 if in_callback => Action::Gate,
            86..=87 if in_callback => Action::Panic,
            88 => Action::Halt(self.rng.below(2)),
            89 => match self.rng.below(8) {
                0..=2 => Action::HaltAll,
                3..=5 => Action::Ask(self.entity()),
                _ => Action::Halt(self.rng.below(2)),
            },
            90..=94 => self.ros(),
            95 => Action::RemoveGroup(self.rng.below(4)),
            96 => Action::CloseChannel(self.rng.below(CHANNELS)),
            97 => self.spin_spare(),
            98 => Action::Ask(self.entity()),
            _ => Action::PanicWaker,
        }
    }

    fn publish(&mut self) -> Action {
        let way = if self.rng.percent(85) { Way::Plain } else { self.way() };
        Action::Publish(self.rng.below(TOPICS), way)
    }

    fn way(&mut self) -> Way {
        match self.rng.below(5) {
            0 => Way::Plain,
            1 => Way::Try,
            2 => Way::IfRoom,
            3 => Way::Begin(self.rng.below(TOPICS)),
            _ => Way::Waits,
        }
    }

    /// Generates an action on topics, and on queues if the program has any.
    fn on_topics(&mut self) -> Action {
        let queues = self.program.queues.len();
        let queue = self.rng.below(queues);
        match self.rng.below(12) {
            0..=1 if queues > 0 => Action::CreateQueue(queue),
            2..=4 if queues > 0 => Action::TakeFromQueue(queue),
            5 if queues > 0 => Action::SetWaker(queue, self.rng.percent(40)),
            6 if queues > 0 && self.rng.percent(50) => Action::DropQueue(queue),
            7 => Action::LookAtKept(self.rng.below(TOPICS)),
            8 => Action::Create(self.entity()),
            _ => Action::Publish(self.rng.below(TOPICS), self.way()),
        }
    }

    fn waiting(&mut self) -> Action {
        match self.rng.below(16) {
            0..=2 => Action::Call(self.rng.below(SERVICES)),
            3 => {
                let executor = self.rng.percent(50).then(|| self.executor_at_hand());
                Action::CallWithin(self.rng.below(SERVICES), executor, self.ms())
            }
            4..=5 => Action::CallAndForget(self.rng.below(SERVICES)),
            6..=9 => Action::Sleep(self.executor_at_hand(), self.clock(), self.ms()),
            10 => Action::SleepUntil(self.executor_at_hand(), self.clock(), self.rng.in_range(0, 40)),
            11 => Action::SleepAndForget(self.executor_at_hand(), self.clock(), self.ms()),
            12 if self.rng.percent(80) => Action::Tick(self.executor_at_hand(), self.clock(), self.rng.in_range(1, 6)),
            12 => Action::ResetRates,
            13 if self.rng.percent(50) => Action::AwaitService(self.rng.below(SERVICES)),
            13 => Action::AwaitSubscription(self.rng.below(TOPICS)),
            14 if self.rng.percent(30) => Action::PanicWaker,
            _ => self.publish(),
        }
    }

    fn churn(&mut self) -> Action {
        let entity = self.entity();
        match self.rng.below(15) {
            0..=3 => Action::Create(entity),
            4..=5 => Action::Drop(entity),
            6 => Action::Cancel(entity),
            7..=8 => Action::Reset(entity),
            9 => Action::SetPeriod(entity, self.rng.in_range(1, 12)),
            10 if self.rng.percent(30) => Action::Detach(entity),
            11..=12 => Action::SetDue(entity, self.due(), self.rng.percent(50)),
            13 if self.rng.percent(30) => Action::CancelBySetter(entity),
            _ => Action::SleepAndForget(self.executor_at_hand(), self.clock(), self.ms()),
        }
    }

    fn due(&mut self) -> DuePlan {
        match self.rng.below(5) {
            0..=1 => DuePlan::At(self.rng.in_range(0, 40)),
            2..=3 => DuePlan::In(self.ms()),
            _ => DuePlan::Same,
        }
    }

    fn ros(&mut self) -> Action {
        match self.rng.below(6) {
            0..=2 => Action::SetRos(self.rng.in_range(0, 40)),
            3 => Action::AwaitRos(self.rng.in_range(0, 40)),
            4 => Action::ActivateRos(self.rng.percent(60)),
            _ => Action::Sleep(self.executor_at_hand(), Clock::Ros, self.ms()),
        }
    }

    fn spin_spare(&mut self) -> Action {
        let spare = self.program.executors.iter().find(|executor| executor.role == Role::Spare);
        let Some(spare) = spare.map(|spare| spare.id) else {
            return self.publish();
        };
        let until = *self.rng.pick(&[Until::All, Until::Some, Until::Halted]);
        let timeout = (until == Until::Halted || self.rng.percent(30)).then(|| self.rng.in_range(0, 5));
        Action::Spin(spare, SpinPlan { until, timeout, main: None })
    }
}
