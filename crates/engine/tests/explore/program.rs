//! Programs, as data: the things that a user's code might do with the engine.
//!
//! Every part has a number that stays the same when other parts are taken out, so that a failing program can be made
//! smaller. An action on a part that does not exist does nothing.

use std::fmt;

/// A number of notes that the spins and the threads of a program do not come near.
const SPINS_AND_THREADS: usize = 2_000;

/// Milliseconds of the model's clocks.
pub(crate) type Ms = u64;

/// A program: executors with their groups and entities, threads beside them, and the rounds of the main thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Program {
    pub(crate) executors: Vec<ExecutorPlan>,
    pub(crate) groups: Vec<GroupPlan>,
    pub(crate) entities: Vec<EntityPlan>,
    /// The publishers, by the number of their topic.
    pub(crate) topics: Vec<TopicPlan>,
    /// Subscriptions without a callback.
    pub(crate) queues: Vec<QueuePlan>,
    /// The actions of threads that belong to no executor.
    pub(crate) threads: Vec<Vec<Action>>,
    /// The rounds of the main thread. Between two rounds it waits until all threads are blocked, and judges.
    pub(crate) rounds: Vec<Round>,
    /// True if handles are dropped before executors in the end.
    pub(crate) handles_first: bool,
}

/// An executor of a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ExecutorPlan {
    pub(crate) id: usize,
    pub(crate) threads: u16,
    pub(crate) policy: PolicyKind,
    pub(crate) role: Role,
    /// True if its idle threads are to poll, which has no effect under a manual clock.
    pub(crate) polls: bool,
    /// The spins on its own thread, one after the other. After the last one it spins until it is halted in the end.
    pub(crate) spins: Vec<SpinPlan>,
}

/// The way in which an executor comes to spin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It is spun by a thread of its own.
    Own,
    /// It is spun by [`Action::Spin`].
    Spare,
    /// Only the deployment file names it.
    Companion,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolicyKind {
    FixedPriority,
    Fifo,
    Edf,
    WaitSet,
}

/// The end of a spin: only a halt, or that of `spin_once`, `spin_some` or `spin_all`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    Halted,
    Once,
    Some,
    All,
}

impl Until {
    /// Returns true if such a spin never waits for something to become ready.
    pub(crate) const fn is_impatient(self) -> bool {
        matches!(self, Self::Some | Self::All)
    }
}

/// One spin of an executor. `main` is the future that `spin_until` gets; without one it is a plain `spin`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SpinPlan {
    pub(crate) until: Until,
    pub(crate) timeout: Option<Ms>,
    pub(crate) main: Option<Main>,
}

impl SpinPlan {
    pub(crate) const HALTED: Self = Self { until: Until::Halted, timeout: None, main: None };
}

/// The future that `spin_until` gets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Main {
    /// Sleeps on the executor of that number.
    Sleep(usize, Clock, Ms),
    Call(usize),
    AwaitService(usize),
    /// Wakes itself this number of times.
    Yields(u64),
    /// Wakes itself this number of times, and before each blocks its thread until the next round.
    Gates(u64),
    /// Waits twice for a change of that channel, and after each blocks its thread until the next round.
    Listens(usize),
    Never,
}

/// The publisher of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TopicPlan {
    /// The number of messages that it keeps for late subscriptions.
    pub(crate) keeps: usize,
    /// The number of looks that it waits for room; `None` if it never waits.
    pub(crate) patience: Option<u64>,
    /// True if it waits only for subscriptions that keep all.
    pub(crate) keeps_all: bool,
}

/// The properties of a queue of messages, with a callback or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inbox {
    pub(crate) topic: usize,
    pub(crate) depth: usize,
    /// True if it keeps all.
    pub(crate) keeps_all: bool,
    /// True if it also gets what the publisher keeps for late subscriptions.
    pub(crate) is_late: bool,
}

/// A subscription without a callback. Actions create it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueuePlan {
    pub(crate) id: usize,
    pub(crate) inbox: Inbox,
}

/// A callback group of a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GroupPlan {
    pub(crate) id: usize,
    pub(crate) executor: usize,
    /// The companion that the deployment file puts it on.
    pub(crate) moved_to: Option<usize>,
    pub(crate) reentrant: bool,
    /// True if all its asynchronous callbacks release it.
    pub(crate) releases: bool,
    pub(crate) on_panic: PanicPlan,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PanicPlan {
    Continue,
    Remove,
    Halt,
}

/// An entity of a program. It may be created several times; each time begins a life.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EntityPlan {
    pub(crate) id: usize,
    pub(crate) group: usize,
    pub(crate) kind: Kind,
    /// The priority, which is different for every entity in most programs.
    pub(crate) priority: u32,
    pub(crate) deadline: Option<Ms>,
    pub(crate) asynchronous: bool,
    pub(crate) releases_group: bool,
    /// True if only the group's options say that it releases the group.
    pub(crate) by_group: bool,
    pub(crate) max_in_flight: Option<u32>,
    /// True if the entity is created at the start. Otherwise an action creates it.
    pub(crate) at_start: bool,
    /// True if its callback has captured a value whose drop panics.
    pub(crate) bomb: bool,
    /// True if its callback has captured a value whose drop blocks its thread until the next round.
    pub(crate) slow: bool,
    /// The actions of its callback.
    pub(crate) script: Vec<Action>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    Steady,
    System,
    Ros,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OverrunPlan {
    Skip,
    CatchUp(u32),
    ShiftPhase,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    Timer {
        clock: Clock,
        wait: Ms,
        periodic: bool,
        overrun: OverrunPlan,
    },
    Subscription {
        inbox: Inbox,
        /// True if the entity is made of a queue, as user code makes a source into an entity.
        by_queue: bool,
    },
    Service {
        name: usize,
        depth: usize,
        /// True if the entity is made of a queue of requests.
        by_queue: bool,
    },
    /// A stream over a channel of the tests.
    Stream {
        channel: usize,
    },
    /// A source over a channel of the tests.
    Source {
        channel: usize,
        style: Style,
    },
    /// The losses of another entity, which are there when the entity is created.
    LossWatch {
        of: usize,
    },
    /// A callback for jumps back of ROS time, or for jumps in both directions and changes of the source.
    Jump {
        all: bool,
    },
}

/// The methods that a source of the tests has of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// None: it is taken from until there is nothing.
    Plain,
    /// It tells what is left, and when that arrived.
    Looks,
    /// As [`Self::Looks`], but it notifies only after it was asked, and found empty.
    AskAgain,
}

/// A due time on the timer's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DuePlan {
    At(Ms),
    /// That long from now.
    In(Ms),
    /// The one that the timer has anyway; if it has none, the one that it would have after a reset, and probably had.
    Same,
}

/// A way to publish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Plain,
    /// Gets the message back if nobody is there to have it.
    Try,
    /// Only if that displaces nothing.
    IfRoom,
    /// In two steps. Between them, the thread lets others go on, and publishes on that other topic.
    Begin(usize),
    /// Waits for room before.
    Waits,
}

/// An action of a callback, of an outside thread, or of the main thread in a round.
///
/// Numbers without a name of their own are those of the part that the action is on: the topic of [`Self::Publish`], the
/// entity of [`Self::Drop`] and so on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action {
    Publish(usize, Way),
    /// Publishes that many messages.
    Burst(usize, usize),
    /// Looks at the messages that the publisher of that topic keeps.
    LookAtKept(usize),
    CreateQueue(usize),
    DropQueue(usize),
    TakeFromQueue(usize),
    /// Sets the waker of the queue, which panics when it is called, and when it is dropped, if that is true.
    SetWaker(usize, bool),
    /// Sends a request, and awaits the response if it can.
    Call(usize),
    /// Sends a request and forgets it.
    CallAndForget(usize),
    /// Calls with a time limit, of the call itself if the executor is `None`, or else one that the executor measures.
    CallWithin(usize, Option<usize>, Ms),
    /// Waits until the service exists.
    AwaitService(usize),
    /// Waits until the topic has a subscription.
    AwaitSubscription(usize),
    /// Has the next waker of this script that is waited with panic when it is called, and when it is dropped.
    PanicWaker,
    /// Waits for the next tick of a rate that the script creates when it first does this.
    Tick(usize, Clock, Ms),
    /// Begins the rates of the script anew.
    ResetRates,
    /// Sleeps on that executor until a time, if it can await.
    SleepUntil(usize, Clock, Ms),
    Send(usize),
    CloseChannel(usize),
    /// Makes every stream of the channel panic whenever it is polled from now on.
    Poison(usize),
    Create(usize),
    Drop(usize),
    Detach(usize),
    Cancel(usize),
    Reset(usize),
    SetPeriod(usize, Ms),
    /// Sets the next due time of the timer, by its setter if that is true, which may have outlived the timer.
    SetDue(usize, DuePlan, bool),
    /// Cancels the timer by its setter.
    CancelBySetter(usize),
    /// Asks the entity, and the timer if it is one, for all that its handle tells.
    Ask(usize),
    /// Sleeps on that executor, if it can await.
    Sleep(usize, Clock, Ms),
    /// Creates a sleep and drops it.
    SleepAndForget(usize, Clock, Ms),
    /// Lets other callbacks go first.
    Yield,
    /// Blocks the thread until the next round, like a callback that takes long. Does nothing outside of callbacks.
    Gate,
    Panic,
    Halt(usize),
    HaltAll,
    /// Starts the recorder, or stops it. Only the main thread does it.
    Record(bool),
    SetRos(Ms),
    ActivateRos(bool),
    /// Sets ROS time, and awaits the move if it can. A synchronous callback asks to wait, which may be refused.
    AwaitRos(Ms),
    RemoveGroup(usize),
    /// Changes the payload of the callback's group. Does nothing outside of callbacks and in reentrant groups.
    Touch,
    /// Spins a spare executor on the calling thread. The main thread leaves it out.
    Spin(usize, SpinPlan),
}

/// A round of the main thread, after which everything that waits at the gate goes on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Round {
    /// The actions of the main thread, before time moves.
    pub(crate) before: Vec<Action>,
    /// The time by which all clocks move after that, except ROS time while it is active.
    pub(crate) advance: Ms,
    /// The time that the system clock is set to afterwards.
    pub(crate) set_system: Option<Ms>,
    /// True if time moves once all threads are blocked, and false if it moves while they may be busy.
    pub(crate) while_blocked: bool,
}

impl Program {
    pub(crate) fn executor(&self, id: usize) -> Option<&ExecutorPlan> {
        self.executors.iter().find(|executor| executor.id == id)
    }

    pub(crate) fn group(&self, id: usize) -> Option<&GroupPlan> {
        self.groups.iter().find(|group| group.id == id)
    }

    pub(crate) fn entity(&self, id: usize) -> Option<&EntityPlan> {
        self.entities.iter().find(|entity| entity.id == id)
    }

    /// Returns true if the program publishes many messages at once.
    pub(crate) fn has_bursts(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Burst(..)))
    }

    /// Returns true if the program uses a recorder.
    pub(crate) fn records(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Record(_)))
    }

    pub(crate) fn actions_mut(&mut self) -> impl Iterator<Item = &mut Action> {
        let scripts = self.entities.iter_mut().flat_map(|entity| &mut entity.script);
        let rounds = self.rounds.iter_mut().flat_map(|round| &mut round.before);
        scripts.chain(rounds).chain(self.threads.iter_mut().flatten())
    }

    fn actions(&self) -> impl Iterator<Item = &Action> {
        let scripts = self.entities.iter().flat_map(|entity| &entity.script);
        let rounds = self.rounds.iter().flat_map(|round| &round.before);
        scripts.chain(rounds).chain(self.threads.iter().flatten())
    }

    /// Returns a number of notes that the program does not come near, if it does `budget` things and its entities have
    /// up to `lives` lives at once. Each of those things, and each millisecond, starts about one callback of each life.
    /// Among the first 20,000 programs, none took 7 percent of that number.
    pub(crate) fn most_notes(&self, budget: usize, lives: usize) -> usize {
        let passed: Ms = self.rounds.iter().map(|round| round.advance).sum();
        let callbacks = (budget + passed as usize) * (self.entities.len() * lives + self.queues.len() + 1);
        let longest = self.entities.iter().map(|entity| entity.script.len()).max().unwrap_or(0);
        // A callback begins and ends; an action takes up to six notes, if the callback waits for it.
        callbacks * (2 + 6 * longest) + SPINS_AND_THREADS
    }

    /// Returns true if several entities have the same priority.
    pub(crate) fn has_ties(&self) -> bool {
        let mut priorities: Vec<_> = self.entities.iter().map(|entity| entity.priority).collect();
        priorities.sort_unstable();
        priorities.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns the number of the executor that runs the group: its companion, if it is moved to one that exists.
    pub(crate) fn runs(&self, group: &GroupPlan) -> usize {
        let moved = group.moved_to.filter(|to| self.executor(*to).is_some());
        moved.unwrap_or(group.executor)
    }

    /// Returns the size of the program, for the search for a smaller one.
    pub(crate) fn size(&self) -> usize {
        let scripts: usize = self.entities.iter().map(|entity| entity.script.len()).sum();
        let threads: usize = self.threads.iter().map(|actions| actions.len() + 1).sum();
        let rounds: usize = self.rounds.iter().map(|round| round.before.len() + 1).sum();
        let spins: usize = self.executors.iter().map(|executor| executor.spins.len() + 1).sum();
        self.groups.len() + self.entities.len() + self.queues.len() + scripts + threads + rounds + spins
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for executor in &self.executors {
            let ExecutorPlan { id, threads, policy, role, polls, spins } = executor;
            let polls = if *polls { ", polls" } else { "" };
            writeln!(f, "executor {id}: {policy:?}, {threads} threads, {role:?}{polls}")?;
            spins.iter().try_for_each(|spin| writeln!(f, "    {}", plain(spin)))?;
        }
        for group in &self.groups {
            let GroupPlan { id, executor, moved_to, reentrant, releases, on_panic } = group;
            let kind = match (reentrant, releases) {
                (true, _) => "reentrant",
                (_, true) => "exclusive, released at await",
                _ => "exclusive",
            };
            write!(f, "group {id} on executor {executor}: {kind}, on panic {on_panic:?}")?;
            moved_to.iter().try_for_each(|to| write!(f, ", moved to executor {to}"))?;
            writeln!(f)?;
            for entity in self.entities.iter().filter(|entity| entity.group == *id) {
                write_entity(f, entity)?;
            }
        }
        for (topic, plan) in self.topics.iter().enumerate().filter(|(_, plan)| **plan != TopicPlan::default()) {
            writeln!(f, "topic {topic}: {}", plain(plan))?;
        }
        for queue in &self.queues {
            writeln!(f, "queue {}", plain(queue))?;
        }
        for (number, actions) in self.threads.iter().enumerate() {
            writeln!(f, "thread {number}")?;
            actions.iter().try_for_each(|action| writeln!(f, "    {action:?}"))?;
        }
        for (number, round) in self.rounds.iter().enumerate() {
            let Round { before, advance, set_system, while_blocked } = round;
            let when = if *while_blocked { "while all are blocked" } else { "meanwhile" };
            writeln!(f, "round {number}: {advance} ms pass {when}, before that {before:?}")?;
            set_system.iter().try_for_each(|to| writeln!(f, "    the system clock is set to {to}"))?;
        }
        writeln!(f, "in the end {} first", if self.handles_first { "handles" } else { "executors" })
    }
}

fn write_entity(f: &mut fmt::Formatter<'_>, entity: &EntityPlan) -> fmt::Result {
    let EntityPlan { id, kind, priority, deadline, asynchronous, releases_group, max_in_flight, .. } = entity;
    write!(f, "  entity {id}: {}, priority {priority}", plain(kind))?;
    deadline.iter().try_for_each(|deadline| write!(f, ", deadline {deadline}"))?;
    let words = [
        (*asynchronous, "async"),
        (*releases_group, "releases its group"),
        (!entity.at_start, "not at the start"),
        (entity.bomb, "panics when dropped"),
        (entity.slow, "takes long to drop"),
    ];
    words.iter().filter(|(holds, _)| *holds).try_for_each(|(_, word)| write!(f, ", {word}"))?;
    max_in_flight.iter().try_for_each(|count| write!(f, ", {count} in flight"))?;
    writeln!(f)?;
    entity.script.iter().try_for_each(|action| writeln!(f, "      {action:?}"))
}

/// Returns the text of `{:?}`, without the braces.
fn plain(value: &impl fmt::Debug) -> String {
    format!("{value:?}").replace(['{', '}'], "").split_whitespace().collect::<Vec<_>>().join(" ")
}
