//! The book against a naive model that keeps every goal with its history.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const ROOM: usize = 4;
const RETENTION: Duration = Duration::from_secs(10);

/// Returns the id of a number. The tests use few numbers, so that ids collide.
fn id(n: u8) -> GoalId {
    GoalId::from_bytes([n; 16])
}

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

fn stamp(seconds: u64) -> Time {
    rospin_engine::Time::from_secs(seconds).into()
}

#[derive(Clone, Debug)]
enum Op {
    Accept(u8),
    Apply(u8, GoalEvent),
    Finish(u8, GoalEvent),
    Ask(u8),
    Cancel(u8, u64),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let goal = 1..7_u8;
    let passing = prop_oneof![Just(GoalEvent::Execute), Just(GoalEvent::RequestCancel)];
    let ending = prop_oneof![Just(GoalEvent::Succeed), Just(GoalEvent::Abort), Just(GoalEvent::Cancel)];
    prop_oneof![
        goal.clone().prop_map(Op::Accept),
        (goal.clone(), passing).prop_map(|(n, event)| Op::Apply(n, event)),
        (goal.clone(), ending).prop_map(|(n, event)| Op::Finish(n, event)),
        goal.prop_map(Op::Ask),
        // Id zero and stamp zero have special meanings.
        (0..7_u8, 0..40_u64).prop_map(|(n, stamp)| Op::Cancel(n, stamp)),
        (0..6_u64).prop_map(Op::Wait),
    ]
}

/// A goal of the naive model.
#[derive(Clone)]
struct Naive {
    n: u8,
    accepted_s: u64,
    events: Vec<GoalEvent>,
    ended_s: Option<u64>,
    waiting: Vec<usize>,
    forgotten: bool,
}

impl Naive {
    fn state(&self) -> GoalState {
        let step = |state: GoalState, event: &GoalEvent| state.after(*event).expect("only events that can happen");
        self.events.iter().fold(GoalState::Accepted, step)
    }
}

proptest! {
    #[test]
    fn the_book_does_what_a_list_of_all_histories_does(ops in vec(op(), 1..80)) {
        let mut book = Book::<u8, String, usize>::new(ROOM, RETENTION);
        let mut all: Vec<Naive> = Vec::new();
        // The time is never zero, which would mean "no stamp".
        let mut now_s = 1;
        for (sequence, op) in ops.into_iter().enumerate() {
            for goal in all.iter_mut().filter(|goal| goal.ended_s.is_some_and(|end_s| end_s + 10 <= now_s)) {
                goal.forgotten = true;
            }
            let known = |all: &[Naive], n: u8| all.iter().position(|goal| goal.n == n && !goal.forgotten);
            match op {
                Op::Accept(n) => {
                    let is_known = known(&all, n).is_some();
                    let room = all.iter().filter(|goal| !goal.forgotten).count() < ROOM;
                    let oldest = all
                        .iter_mut()
                        .filter(|goal| !goal.forgotten && goal.ended_s.is_some())
                        .min_by_key(|goal| goal.ended_s);
                    let result = book.accept(id(n), stamp(now_s), n);
                    let expected = match oldest {
                        _ if is_known => Err(NoRoom::Duplicate),
                        _ if room => Ok(None),
                        Some(goal) => {
                            goal.forgotten = true;
                            Ok(Some(goal.n))
                        }
                        None => Err(NoRoom::Full),
                    };
                    prop_assert_eq!(result.map(|entry| entry.map(|entry| entry.goal)), expected);
                    if expected.is_ok() {
                        let events = Vec::new();
                        let waiting = Vec::new();
                        all.push(Naive { n, accepted_s: now_s, events, ended_s: None, waiting, forgotten: false });
                    }
                }
                Op::Apply(n, event) => {
                    let possible = known(&all, n).filter(|goal| all[*goal].state().after(event).is_some());
                    prop_assert_eq!(book.apply(id(n), event), possible.is_some());
                    if let Some(goal) = possible {
                        all[goal].events.push(event);
                    }
                }
                Op::Finish(n, event) => {
                    let finished = book.finish(id(n), event, &Arc::new(format!("result of {n}")), at(now_s));
                    let active = known(&all, n).filter(|goal| all[*goal].ended_s.is_none());
                    prop_assert_eq!(finished.is_some(), active.is_some());
                    if let (Some(goal), Some(finished)) = (active, finished) {
                        let goal = &mut all[goal];
                        if goal.state() == GoalState::Accepted {
                            goal.events.push(GoalEvent::Execute);
                        }
                        let possible = goal.state().after(event).is_some();
                        goal.events.push(if possible { event } else { GoalEvent::Abort });
                        goal.ended_s = Some(now_s);
                        prop_assert_eq!(finished.state, goal.state());
                        prop_assert_eq!(Vec::from(finished.waiting), std::mem::take(&mut goal.waiting));
                    }
                }
                Op::Ask(n) => {
                    let asked = book.ask(id(n), sequence);
                    match (known(&all, n), asked) {
                        (None, Asked::Unknown(who)) => prop_assert_eq!(who, sequence),
                        (Some(goal), Asked::Ended(who, state, result)) => {
                            prop_assert!(all[goal].ended_s.is_some());
                            prop_assert_eq!((who, state, &*result), (sequence, all[goal].state(), &format!("result of {n}")));
                        }
                        (Some(goal), Asked::Waits(None)) => {
                            prop_assert!(all[goal].ended_s.is_none());
                            all[goal].waiting.push(sequence);
                        }
                        (goal, asked) => prop_assert!(false, "{goal:?} {asked:?}"),
                    }
                }
                Op::Cancel(n, stamp_s) => {
                    let selected = book.select(id(n), stamp(stamp_s));
                    let meant: Vec<_> = all
                        .iter()
                        .filter(|goal| !goal.forgotten)
                        .filter(|goal| goal.n == n || (n, stamp_s) == (0, 0) || goal.accepted_s <= stamp_s)
                        .collect();
                    let active: Vec<_> =
                        meant.iter().filter(|goal| goal.ended_s.is_none()).map(|goal| (goal.n, goal.state())).collect();
                    match selected {
                        Selected::Unknown => prop_assert!(n != 0 && stamp_s == 0 && meant.is_empty()),
                        Selected::Terminated => prop_assert!(n != 0 && stamp_s == 0 && meant.len() == 1 && active.is_empty()),
                        Selected::Active(goals) => {
                            let goals: Vec<_> = goals.into_iter().map(|(_, _, state, n)| (n, state)).collect();
                            prop_assert!(n == 0 || stamp_s != 0 || goals.len() == 1);
                            prop_assert_eq!(goals, active);
                        }
                    }
                }
                Op::Wait(seconds) => {
                    now_s += seconds;
                    let due = |goal: &&mut Naive| !goal.forgotten && goal.ended_s.is_some_and(|end_s| end_s + 10 <= now_s);
                    let expected: Vec<_> = all.iter_mut().filter(due).map(|goal| {
                        goal.forgotten = true;
                        goal.n
                    }).collect();
                    prop_assert_eq!(book.expire(at(now_s)).iter().map(|entry| entry.goal).collect::<Vec<_>>(), expected);
                }
            }
            let remembered = all.iter().filter(|goal| !goal.forgotten);
            let expected: Vec<_> = remembered.clone().map(|goal| (goal.n, goal.state())).collect();
            prop_assert_eq!(book.goals().map(|entry| (entry.goal, entry.state)).collect::<Vec<_>>(), expected);
            let next = remembered.filter_map(|goal| goal.ended_s).min().map(|end_s| at(end_s + 10));
            prop_assert_eq!(book.next_expiry(), next);
        }
    }
}

#[test]
fn the_oldest_of_too_many_who_wait_makes_room() {
    let mut book = Book::<(), (), usize>::new(1, RETENTION);
    book.accept(id(1), Time::ZERO, ()).unwrap();
    for who in 0..WAITING {
        assert!(matches!(book.ask(id(1), who), Asked::Waits(None)));
    }
    assert!(matches!(book.ask(id(1), 99), Asked::Waits(Some(0))));
    let finished = book.finish(id(1), GoalEvent::Succeed, &Arc::new(()), at(1)).unwrap();
    assert_eq!((finished.waiting.len(), finished.waiting.back()), (WAITING, Some(&99)));
}

#[test]
fn a_goal_that_nobody_asked_to_cancel_is_aborted_instead() {
    let mut book = Book::<(), i32, ()>::new(1, RETENTION);
    book.accept(id(1), Time::ZERO, ()).unwrap();
    let finished = book.finish(id(1), GoalEvent::Cancel, &Arc::new(7), at(1)).unwrap();
    assert_eq!((finished.state, *finished.result), (GoalState::Aborted, 7));
    assert!(book.finish(id(1), GoalEvent::Succeed, &Arc::new(8), at(1)).is_none(), "it has ended");
}

#[test]
fn a_server_that_ends_aborts_what_is_active_and_tells_who_waits() {
    let mut book = Book::<u8, i32, usize>::new(3, Duration::MAX);
    for n in 1..=3 {
        book.accept(id(n), Time::ZERO, n).unwrap();
    }
    book.finish(id(2), GoalEvent::Succeed, &Arc::new(2), at(1)).unwrap();
    book.ask(id(3), 33);
    assert_eq!(book.active().copied().collect::<Vec<_>>(), [1, 3]);
    let finished = book.abort_all(&Arc::new(0), at(2));
    assert_eq!(finished.iter().map(|end| end.waiting.len()).collect::<Vec<_>>(), [0, 1]);
    assert!(finished.iter().all(|end| (end.state, *end.result) == (GoalState::Aborted, 0)));
    assert!(book.expire(at(1_000_000)).is_empty(), "kept for ever");
}

#[test]
fn a_stamp_from_the_wire_need_not_be_normalized() {
    let mut book = Book::<u8, (), ()>::new(3, RETENTION);
    for n in 1..=3 {
        book.accept(id(n), Time { sec: n.into(), nanosec: 0 }, n).unwrap();
    }
    let selected = |id, sec, nanosec| match book.select(id, Time { sec, nanosec }) {
        Selected::Active(goals) => goals.into_iter().map(|(_, _, _, n)| n).collect::<Vec<_>>(),
        none => panic!("{none:?}"),
    };
    assert_eq!(selected(GoalId::ZERO, 0, 2_000_000_000), [1, 2]);
    assert_eq!(selected(GoalId::ZERO, -1, 3_500_000_000), [1, 2]);
    assert_eq!(selected(GoalId::ZERO, i32::MAX, u32::MAX), [1, 2, 3]);
    assert_eq!(selected(GoalId::ZERO, i32::MIN, 0), [0; 0]);
    // The parts of both stamps add up to zero, which means "no time", however it is written.
    assert_eq!(selected(id(3), -1, 1_000_000_000), [3]);
    assert_eq!(selected(GoalId::ZERO, -4, 4_000_000_000), [1, 2, 3]);
}

#[test]
fn of_results_that_are_kept_for_ever_the_oldest_makes_room() {
    let mut book = Book::<u8, (), ()>::new(2, Duration::MAX);
    book.accept(id(1), Time::ZERO, 1).unwrap();
    book.accept(id(2), Time::ZERO, 2).unwrap();
    book.finish(id(2), GoalEvent::Succeed, &Arc::new(()), at(1)).unwrap();
    book.finish(id(1), GoalEvent::Succeed, &Arc::new(()), at(2)).unwrap();
    let displaced = book.accept(id(3), Time::ZERO, 3).unwrap();
    assert_eq!(displaced.map(|entry| entry.goal), Some(2), "it ended first");
}
