//! The dial of ROS time: a reading belongs to one turn, and no thread sleeps through a timer that became due.

use loom::sync::Arc;
use loom::thread;

use super::lock_free::dial::{Dial, Watch};
use super::lock_free::parker::Parker;
use super::parking::park_until;

/// Fails with: no second look at the turns, turns stored relaxed or before the face, a face stored or loaded relaxed,
/// time that moves on relaxed.
#[test]
fn a_reading_is_of_one_turn() {
    loom::model(|| {
        let dial = Arc::new(Dial::new());
        let setter = thread::spawn({
            let dial = Arc::clone(&dial);
            move || {
                for turn in 1..=3_u64 {
                    dial.turn(turn * 10, false, turn as i64);
                }
                dial.advance(35);
            }
        });
        let reader = thread::spawn(move || {
            let reading = dial.read();
            let turn = reading.turn;
            assert_eq!(reading.shift_ns, turn as i64);
            assert_eq!(reading.base_ns, turn * 10);
            let later = if turn == 3 { 35 } else { turn * 10 };
            assert!(reading.time_ns == (turn > 0).then_some(turn * 10) || reading.time_ns == Some(later));
        });
        setter.join().unwrap();
        reader.join().unwrap();
    });
}

/// Fails with: the setter's fence dropped.
#[test]
fn an_executor_is_woken_for_its_timer() {
    for jumps in [false, true] {
        loom::model(move || {
            let shared = Arc::new((Dial::new(), Watch::new(), Parker::new()));
            let setter = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let (dial, watch, parker) = &*shared;
                    if jumps {
                        dial.turn(3, false, 0);
                    } else {
                        dial.advance(10);
                    }
                    if watch.is_up_now(dial) {
                        parker.unpark_one();
                    }
                }
            });
            let sleeper = thread::spawn(move || {
                let (dial, watch, parker) = &*shared;
                watch.set(Some(10), 0);
                park_until(parker, || watch.is_up(dial));
            });
            setter.join().unwrap();
            sleeper.join().unwrap();
        });
    }
}
