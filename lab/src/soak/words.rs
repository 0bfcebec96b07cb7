//! What the processes of a run say to each other: orders and requests on stdin, facts on stdout, a line of JSON each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::middleware::Middleware;

/// The processes of a run beside the one that leads it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Role {
    /// Calls and commands the robots, and hears them.
    Station,
    Robot,
    /// The Zenoh router of a host.
    Router,
}

/// The first line to a process: what it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Order {
    pub(super) role: Role,
    /// The host: 0 for the station, and robots from 1.
    pub(super) host: usize,
    pub(super) robots: usize,
    /// The number of this start, which no other start has. Starts are numbered in their order, from 1.
    pub(super) boot: i64,
    pub(super) seed: u64,
    pub(super) middleware: Middleware,
    /// The endpoints that a router connects to.
    pub(super) connect: Vec<String>,
    /// The file in which a robot writes how much it has published, so that it is known if the robot is killed.
    pub(super) published: PathBuf,
}

/// What the leading process asks for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Request {
    /// Publish, call and command nothing from now on.
    Pause,
    /// Go on.
    Resume,
    /// Publish each topic once.
    PublishOnce,
    /// Say what you have and see.
    Snapshot,
    /// To the station: call each service and action of every robot once, and have it unload all components.
    RollCall,
    /// Say how much of the heap is in use.
    Heap,
}

/// A message: the start of its publisher, and a number that counts from 1.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(super) struct Count {
    pub(super) boot: i64,
    pub(super) number: i64,
    /// Messages before this one that were published while no subscription matched.
    pub(super) unmatched: i64,
    /// True if no subscription matched when this one was published, either.
    pub(super) is_unmatched: bool,
}

impl Count {
    /// Returns the next message. `is_unmatched` if no subscription matches now.
    pub(super) fn next(self, is_unmatched: bool) -> Self {
        Self { boot: self.boot, number: self.number + 1, unmatched: self.unmatched_with(), is_unmatched }
    }

    /// Returns the number of messages up to this one that were published while no subscription matched.
    pub(super) fn unmatched_with(self) -> i64 {
        self.unmatched + i64::from(self.is_unmatched)
    }
}

/// Topics of a robot, in the order of all arrays by topic: reliable, of best effort, and latched.
pub(super) const TOPICS: [&str; 3] = ["odom", "scan", "map"];
/// The place of the latched topic in these arrays.
pub(super) const LATCHED: usize = 2;

/// The end of a call or request, as its client has it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Outcome {
    Answered(i64),
    /// No server was known, so that nothing was sent.
    Unavailable,
    /// There will be no answer.
    Unanswered,
    /// There was no answer in the time that the client has.
    TimedOut,
    /// The server refused.
    Refused,
    /// An outcome that should not occur.
    Other(String),
}

/// What is known of a goal's end.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct End {
    pub(super) state: String,
    pub(super) result: Vec<i32>,
}

impl End {
    /// Returns true if nobody has ended the goal: it was aborted when its execution was dropped.
    pub(super) fn is_aborted_unasked(&self) -> bool {
        self.state == "Aborted" && self.result.is_empty()
    }
}

/// A fact that a process tells, as it comes about.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Fact {
    /// The process is up.
    Ready,
    /// A service ran for the request of that number.
    Effect {
        id: i64,
    },
    /// The call of that number ended. `relayed` if a robot's service asked the station's.
    Called {
        id: i64,
        outcome: Outcome,
        relayed: bool,
    },
    /// The server accepted a goal.
    Accepted {
        goal: String,
        order: i32,
    },
    /// The server agreed to cancel a goal.
    Canceling {
        goal: String,
    },
    /// The server ended a goal.
    Ended {
        goal: String,
        end: End,
    },
    /// The client asked for a goal to be executed, and this came of it. `goal` is its name if it was accepted.
    Asked {
        order: i32,
        goal: Option<String>,
        outcome: Outcome,
    },
    /// The client was told the end of a goal.
    Told {
        goal: String,
        end: End,
    },
    /// The client was told that a goal is being canceled.
    CancelTold {
        goal: String,
    },
    /// A robot took over a value of its parameter.
    Speed {
        value: i64,
    },
    /// The station's request to set it ended.
    SpeedSet {
        value: i64,
        outcome: Outcome,
    },
    /// A callback of the robot's managed node ran.
    Transition {
        callback: String,
        from: String,
    },
    /// Requests to change its state that had these outcomes since the last fact of this kind, by the robot's host.
    Changed {
        host: usize,
        outcome: Outcome,
    },
    /// A component was loaded or unloaded, or that was not answered.
    Component {
        outcome: Outcome,
    },
    /// Something is not as it must be.
    Wrong {
        text: String,
    },
    /// A callback was late.
    Late(Late),
    /// How many callbacks were timed since the last fact of this kind.
    Timed {
        count: u64,
    },
    RobotSnapshot(Box<RobotSnapshot>),
    StationSnapshot(Box<StationSnapshot>),
    RollCalled {
        answers: Vec<RollAnswer>,
    },
    /// How much of the heap is in use; `None` if the process does not count it.
    Heap {
        in_use: Option<HeapUse>,
    },
}

/// How much of a process's heap is in use.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct HeapUse {
    pub(super) all_bytes: u64,
    /// Those of these bytes that Rust code has allocated.
    pub(super) rust_bytes: u64,
}

/// A callback that was late, and what its thread did since it ran last, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Late {
    pub(super) ms: f64,
    /// It could run, and had no processor.
    pub(super) waited_ms: f64,
    /// Other threads of the process could run, and had no processor, all together. One of them may have a lock for
    /// which this one waits.
    pub(super) others_waited_ms: f64,
    /// It ran.
    pub(super) ran_ms: f64,
    /// It published messages.
    pub(super) publishing_ms: f64,
    /// Pages of the process that had to be read from a disk, by any of its threads.
    pub(super) pages_read: u64,
    /// True if the kernel has accounted nothing to the thread since then: it was on a processor all the time, and that
    /// stood still, as a virtual machine's does while its host runs something else.
    pub(super) has_stood_still: bool,
}

/// The part of the graph that a node sees.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Seen {
    pub(super) nodes: Vec<String>,
    /// Numbers of publishers and subscriptions, or of servers and clients.
    pub(super) ends: BTreeMap<String, [usize; 2]>,
}

/// What a robot has and sees.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct RobotSnapshot {
    /// The last messages that were published, by topic.
    pub(super) published: [Count; 3],
    pub(super) speed: i64,
    /// The state of the managed node.
    pub(super) arm: String,
    pub(super) active_goals: usize,
    /// The last mission that was heard.
    pub(super) mission: Option<Count>,
    pub(super) seen: Seen,
    /// Losses that services and the action server have counted.
    pub(super) lost_requests: u64,
    /// Responses that could not be sent.
    pub(super) unsent: u64,
}

/// Messages that were heard of one start of a publisher.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Heard {
    pub(super) boot: i64,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) count: i64,
    /// Messages that were published while no subscription matched: before the first one, and up to the last one.
    pub(super) unmatched_before: i64,
    pub(super) unmatched_with: i64,
    /// Those of them that are missing between the first and the last one.
    pub(super) unmatched_missing: i64,
}

impl Heard {
    /// Returns the number of messages that are missing between the first and the last one.
    pub(super) fn missing(&self) -> i64 {
        self.last - self.first + 1 - self.count
    }
}

/// What was heard of a topic.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct EarSnapshot {
    pub(super) last: Option<Count>,
    pub(super) heard: Vec<Heard>,
    /// Messages that the subscription has counted as lost.
    pub(super) counted: i64,
    /// Publishers that match now.
    pub(super) matched: usize,
    /// Matches so far. A publisher that was forgotten and found again counts twice.
    pub(super) matches: u64,
}

impl EarSnapshot {
    /// Returns the number of messages that are missing between those that were heard.
    pub(super) fn missing(&self) -> i64 {
        self.heard.iter().map(Heard::missing).sum()
    }

    /// Returns the number of those that were published while no subscription matched.
    pub(super) fn unmatched_missing(&self) -> i64 {
        self.heard.iter().map(|heard| heard.unmatched_missing).sum()
    }
}

/// What the station has of one robot.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct LineSnapshot {
    pub(super) ears: [EarSnapshot; 3],
    /// The last value of the robot's parameter that an event told.
    pub(super) speed: Option<i64>,
    /// Transforms of the robot that cannot be looked up.
    pub(super) frames: Option<String>,
}

/// What the station has and sees.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct StationSnapshot {
    pub(super) mission: Option<Count>,
    pub(super) lines: Vec<LineSnapshot>,
    pub(super) seen: Seen,
    /// Calls and requests that have neither an answer nor an error, in words.
    pub(super) open: Vec<String>,
}

/// What a robot answers when all is quiet.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct RollAnswer {
    pub(super) doubled: Outcome,
    pub(super) relayed: Outcome,
    pub(super) speed: Outcome,
    /// The state of the robot's managed node.
    pub(super) arm: Option<String>,
    /// The state in which a goal ended.
    pub(super) goal: Option<String>,
    /// Feedback of that goal that was heard.
    pub(super) feedback: usize,
}
