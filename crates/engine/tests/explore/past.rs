//! Small programs that broke a rule once. Mostly the engine did as it should, and the judge or the scheduler of these
//! tests was wrong.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::program::{
    Action, Clock, DuePlan, EntityPlan, ExecutorPlan, GroupPlan, Inbox, Kind, OverrunPlan, PanicPlan, PolicyKind,
    Program, Role, Round, SpinPlan, Style, TopicPlan, Until, Way,
};
use super::schedule::{Quiet, Steps};
use super::search::{Job, Jobs, any_failure, be_quiet};

/// Returns a program with one executor of two threads and a reentrant group.
fn program(spins: Vec<SpinPlan>, entities: Vec<EntityPlan>, rounds: Vec<Round>) -> Program {
    let executor =
        ExecutorPlan { id: 0, threads: 2, policy: PolicyKind::FixedPriority, role: Role::Own, polls: false, spins };
    let group = GroupPlan {
        id: 0,
        executor: 0,
        moved_to: None,
        reentrant: true,
        releases: false,
        on_panic: PanicPlan::Continue,
    };
    let topics = vec![TopicPlan::default(); 3];
    Program {
        executors: vec![executor],
        groups: vec![group],
        entities,
        topics,
        queues: Vec::new(),
        threads: Vec::new(),
        rounds,
        handles_first: true,
    }
}

fn entity(id: usize, kind: Kind, priority: u32, script: Vec<Action>) -> EntityPlan {
    EntityPlan {
        id,
        group: 0,
        kind,
        priority,
        deadline: None,
        asynchronous: false,
        releases_group: false,
        by_group: false,
        max_in_flight: None,
        at_start: true,
        bomb: false,
        slow: false,
        script,
    }
}

const fn subscription(depth: usize) -> Kind {
    Kind::Subscription { inbox: Inbox { topic: 0, depth, keeps_all: false, is_late: false }, by_queue: false }
}

const fn round(before: Vec<Action>, advance: u64) -> Round {
    Round { before, advance, set_system: None, while_blocked: true }
}

/// Checks that the program breaks no rule under many schedules.
fn breaks_no_rule(program: Program) {
    be_quiet();
    let failure = any_failure(program, 300);
    if let Some(failure) = failure {
        println!("schedule {}: {}\n{}", failure.job.schedule, failure.broken.message, failure.broken.story);
        panic!("it breaks a rule");
    }
}

/// Two threads take the numbers in order, and begin their callbacks in any order.
#[test]
fn callbacks_on_several_threads_may_tell_of_losses_in_any_order() {
    let entities =
        vec![entity(0, subscription(1), 10, Vec::new()), entity(1, Kind::LossWatch { of: 0 }, 20, Vec::new())];
    let mut program = program(Vec::new(), entities, vec![round(Vec::new(), 0)]);
    program.threads = vec![vec![Action::Burst(0, 77)]];
    breaks_no_rule(program);
}

/// The executor learns of the second item by a flag alone, if it takes the time of both with the first one.
#[test]
fn an_item_that_came_with_another_one_may_count_from_later() {
    let once = SpinPlan { until: Until::Once, timeout: None, main: None };
    let timer = Kind::Timer { clock: Clock::Steady, wait: 2, periodic: false, overrun: OverrunPlan::Skip };
    let mut reader = entity(1, Kind::Source { channel: 1, style: Style::AskAgain }, 30, Vec::new());
    (reader.asynchronous, reader.max_in_flight) = (true, Some(3));
    let mut sender = entity(2, subscription(300), 10, vec![Action::Send(1)]);
    sender.asynchronous = true;
    let entities = vec![entity(0, timer, 90, Vec::new()), reader, sender];
    let two = vec![Action::Publish(0, Way::Plain), Action::Publish(0, Way::Plain)];
    breaks_no_rule(program(vec![once], entities, vec![round(Vec::new(), 2), round(two, 0)]));
}

/// A timer on ROS time follows the system clock by the steady one. The clock may be moved between the engine's looks at
/// the two, which once made the timer late by as much.
#[test]
fn a_due_time_in_ros_time_that_is_set_while_the_clock_moves_is_kept() {
    let timer = Kind::Timer { clock: Clock::Ros, wait: 2, periodic: false, overrun: OverrunPlan::Skip };
    let mut program = program(Vec::new(), vec![entity(0, timer, 10, Vec::new())], vec![round(Vec::new(), 13)]);
    program.rounds[0].while_blocked = false;
    program.threads = vec![vec![Action::SetDue(0, DuePlan::At(5), false)]];
    breaks_no_rule(program);
}

/// The timer may have followed the system clock before it was set, or after.
#[test]
fn a_due_time_in_ros_time_that_is_set_while_the_system_clock_is_set_may_come_later() {
    let timer = Kind::Timer { clock: Clock::Ros, wait: 4, periodic: false, overrun: OverrunPlan::ShiftPhase };
    let mut program = program(Vec::new(), vec![entity(0, timer, 20, Vec::new())], vec![round(Vec::new(), 0)]);
    (program.rounds[0].while_blocked, program.rounds[0].set_system) = (false, Some(23));
    program.threads = vec![vec![Action::SetDue(0, DuePlan::In(10), false)]];
    breaks_no_rule(program);
}

/// A thread of the spin that goes on may have picked an item long before.
#[test]
fn callbacks_begin_in_any_order_while_a_second_spin_is_refused() {
    let spin = |timeout| SpinPlan { until: Until::Halted, timeout: Some(timeout), main: None };
    let publish = || Action::Publish(0, Way::Plain);
    let script = vec![Action::Spin(0, spin(2)), publish()];
    let mut program = program(Vec::new(), vec![entity(0, subscription(3), 40, script)], vec![round(Vec::new(), 0)]);
    (program.executors[0].threads, program.executors[0].role) = (3, Role::Spare);
    program.threads = vec![vec![publish(), publish(), Action::Spin(0, spin(5))]];
    breaks_no_rule(program);
}

/// It is there before the message that makes room in its queue has been sent, though that was begun before it.
#[test]
fn the_queue_of_a_late_subscription_may_be_empty_while_an_older_publication_makes_room() {
    let late =
        Kind::Subscription { inbox: Inbox { topic: 0, depth: 1, keeps_all: false, is_late: true }, by_queue: false };
    let mut urgent = entity(0, late, 40, Vec::new());
    urgent.at_start = false;
    let mut program = program(Vec::new(), vec![urgent, entity(1, subscription(3), 30, Vec::new())], Vec::new());
    program.executors[0].threads = 1;
    program.topics[0].keeps = 2;
    let publish = || Action::Publish(0, Way::Plain);
    program.threads = vec![vec![publish(), publish()], vec![Action::Create(0)]];
    program.rounds = vec![round(vec![publish(), publish()], 0)];
    program.executors[0].spins = vec![SpinPlan { until: Until::All, timeout: Some(12), main: None }];
    breaks_no_rule(program);
}

/// Nothing was kept for it, as far as anybody can tell.
#[test]
fn a_late_subscription_that_could_not_be_created_loses_nothing() {
    let kind =
        Kind::Subscription { inbox: Inbox { topic: 1, depth: 2, keeps_all: false, is_late: true }, by_queue: false };
    let mut program = program(Vec::new(), vec![entity(0, kind, 10, Vec::new())], vec![round(Vec::new(), 13)]);
    program.topics[1].keeps = 5;
    program.threads = vec![vec![Action::RemoveGroup(0)], vec![Action::Publish(1, Way::Plain), Action::Create(0)]];
    breaks_no_rule(program);
}

/// Threads that wait for each other by letting others go on, as at a spinlock. Once the schedules made each wait twice
/// as long as the one before.
#[test]
fn no_schedule_starves_a_thread_that_others_wait_for() {
    const THREADS: usize = 3;
    const TURNS: usize = 100;
    let mut schedules = 0..100;
    let program = Arc::new(Program::default());
    let jobs = Jobs::new(move || Some(Job { program: Arc::clone(&program), schedule: schedules.next()? }));
    let mut config = Config::new();
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(TURNS * 200);
    Runner::new(Steps::new(jobs, Arc::<Quiet>::default()), config).run(|| {
        let turn = Arc::new(shuttle::sync::atomic::AtomicUsize::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|me| {
                let turn = Arc::clone(&turn);
                shuttle::thread::spawn(move || {
                    for _ in 0..TURNS / THREADS {
                        while turn.load(Ordering::Relaxed) % THREADS != me {
                            shuttle::thread::yield_now();
                        }
                        turn.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    });
}
