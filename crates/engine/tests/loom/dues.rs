//! The due times of sleepers: the loop of an executor sees each in time, and knows which turn of ROS time it is of.

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::lock_free::dues::Dues;
use super::lock_free::news::News;
use super::lock_free::parker::Parker;
use super::parking::park_until;

/// Two sleepers come while an executor is about to park. The one that is due before all others pokes it, as in
/// `sleep/mod.rs`. The executor must park for no later due time than the earliest one.
///
/// Fails with: no poke, a sleeper that pokes before it is noted, news that are taken after the due times were read.
#[test]
fn an_executor_parks_for_the_earliest_sleeper() {
    loom::model(|| {
        let shared = Arc::new((Dues::new(), News::new(), Parker::new(), Mutex::new(Vec::<u64>::new())));
        let sleepers = [20, 10].map(|due_ns| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (dues, news, parker, queue) = &*shared;
                let mut queue = queue.lock().unwrap();
                let is_first = dues.earliest_ns(0).is_none_or(|earliest_ns| due_ns < earliest_ns);
                queue.push(due_ns);
                dues.note([queue.iter().copied().min(), None, None], 0);
                drop(queue);
                if is_first {
                    news.tell();
                    parker.unpark_one();
                }
            })
        });
        let executor = thread::spawn(move || {
            let (dues, news, parker, _) = &*shared;
            let mut due_ns = None;
            while due_ns != Some(10) {
                // It parks until that time, which never comes here.
                park_until(parker, || news.take());
                due_ns = if dues.are_none() { None } else { dues.earliest_ns(0) };
            }
        });
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        executor.join().unwrap();
    });
}

/// Whoever sees that somebody sleeps sees the due time. A due time that belongs to one turn of ROS time is never taken
/// for one of a later turn.
///
/// Fails with: `turn` or `has_any` stored or loaded relaxed or before the due times, a turn that is read after the due
/// time.
#[test]
fn a_due_time_is_of_its_turn_or_a_later_one() {
    loom::model(|| {
        let dues = Arc::new(Dues::new());
        let jump = thread::spawn({
            let dues = Arc::clone(&dues);
            move || {
                dues.note([None, None, Some(30)], 0);
                dues.note([None, None, Some(10)], 1);
            }
        });
        let loops = thread::spawn(move || {
            if !dues.are_none() {
                assert!(dues.earliest_ns(2).is_some());
            }
            let (turn, due_ns) = dues.earliest_of_turn(2);
            assert!(turn == 0 || due_ns == Some(10));
        });
        jump.join().unwrap();
        loops.join().unwrap();
    });
}
