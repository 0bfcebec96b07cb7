//! Handles of timers on a manual clock: changes from outside and from callbacks, and queries.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use crate::common::timers::{Fixture, at, timer};
use crate::common::{manual_executor, ms, spin_all, watchdog};
use rospin_engine::{DueSetter, Instant, LossCause, Overrun, Payload, Tick, Timer, TimerOptions};

#[test]
fn a_one_shot_fires_once_and_again_when_it_is_reset() {
    watchdog(|| {
        let timer = timer(TimerOptions::one_shot(ms(10)));
        assert_eq!(timer.after(9), []);
        assert_eq!(timer.after(1), [10]);
        assert_eq!(timer.after(100), []);
        timer.timer.reset();
        assert_eq!(timer.after(9), []);
        assert_eq!(timer.after(5), [120], "its delay from the reset on");
        timer.timer.set_period(ms(3));
        assert_eq!(timer.after(3), [127], "another delay");
        assert_eq!(timer.after(100), [], "still a one-shot");
        assert_eq!(timer.overruns(), 0);
    });
}

#[test]
fn a_due_time_that_is_set_takes_the_place_of_the_others() {
    watchdog(|| {
        let timer = timer(TimerOptions::one_shot(ms(10)));
        timer.timer.set_due(at(25));
        assert_eq!(timer.timer.time_until_next_call(), Some(ms(25)));
        assert_eq!(timer.after(24), []);
        assert_eq!(timer.after(3), [25], "not the time at which it was noticed");
        assert_eq!(timer.after(100), [], "still a one-shot");
        timer.timer.set_due(at(100));
        assert_eq!(timer.after(0), [100], "a time that has passed is due at once");
        timer.timer.cancel();
        timer.timer.set_due(at(130));
        assert!(!timer.timer.is_canceled());
        assert_eq!(timer.after(3), [130]);
        timer.timer.set_due(at(140));
        timer.clock.advance(ms(20));
        timer.timer.set_due(at(160));
        assert_eq!(timer.after(0), [], "it was due, and is no more");
        assert_eq!(timer.after(10), [160]);
    });
}

#[test]
fn a_periodic_timer_keeps_its_period_after_the_due_time_that_is_set() {
    watchdog(|| {
        let timer = timer(ms(10));
        timer.timer.set_due(at(7));
        assert_eq!(timer.after(30), [7], "due times that passed meanwhile are skipped");
        assert_eq!(timer.after(10), [37]);
        assert_eq!(timer.timer.period(), Some(ms(10)));
    });
}

#[test]
fn a_periodic_callback_that_sets_the_due_time_that_comes_anyway_changes_nothing() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let setter = Arc::new(OnceLock::<DueSetter>::new());
        let own = Arc::clone(&setter);
        let timer = group.create_timer(ms(10), move |due: &mut Vec<Instant>, tick| {
            due.push(tick.due);
            // The third time is another one than that of the period.
            let next = if due.len() == 3 { tick.due + ms(4) } else { tick.due + ms(10) };
            own.get().unwrap().set(next);
        });
        let timer = timer.unwrap();
        setter.set(timer.due_setter()).unwrap();
        for _ in 0..50 {
            clock.advance(ms(1));
            spin_all(&executor);
        }
        timer.cancel();
        setter.get().unwrap().set(at(54));
        clock.advance(ms(4));
        spin_all(&executor);
        assert_eq!(timer.lost(LossCause::TimerOverrun), 0);
        assert_eq!(group.into_payload().unwrap(), [at(10), at(20), at(30), at(34), at(44), at(54)]);
    });
}

#[test]
fn a_callback_that_sets_its_own_due_times_misses_none() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let setter = Arc::new(OnceLock::<DueSetter>::new());
        let own = Arc::clone(&setter);
        let timer = group.create_timer(TimerOptions::one_shot(ms(5)), move |due: &mut Vec<Instant>, tick| {
            due.push(tick.due);
            // A period that grows.
            own.get().unwrap().set(tick.due + ms(due.len() as u64));
        });
        let timer = timer.unwrap();
        setter.set(timer.due_setter()).unwrap();
        clock.advance(ms(12));
        spin_all(&executor);
        setter.get().unwrap().cancel();
        clock.advance(ms(12));
        spin_all(&executor);
        drop(timer);
        setter.get().unwrap().set(at(24));
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), [at(5), at(6), at(8), at(11)]);
    });
}

#[test]
fn a_cancelled_timer_does_not_fire_until_it_is_reset() {
    watchdog(|| {
        let timer = timer(ms(10));
        timer.timer.cancel();
        assert_eq!(timer.after(25), []);
        timer.timer.cancel();
        timer.timer.reset();
        assert_eq!(timer.after(9), []);
        assert_eq!(timer.after(1), [35], "one period from the reset on");
        assert_eq!(timer.after(10), [45]);
        timer.clock.advance(ms(10));
        timer.timer.cancel();
        assert_eq!(timer.after(0), [], "due, but not yet noticed");
        assert_eq!(timer.overruns(), 0, "what was cancelled was not lost");
    });
}

#[test]
fn a_timer_that_fired_but_did_not_run_is_cancelled_by_a_callback() {
    watchdog(|| {
        let victim = timer(ms(10));
        let handle = Arc::new(OnceLock::new());
        let slot = Arc::clone(&handle);
        let early = TimerOptions::one_shot(ms(5));
        let cancel = move |(): &mut (), _: Tick| slot.get().map(Timer::cancel).unwrap();
        let _killer = victim.group.create_timer(early, cancel).unwrap();
        let Fixture { clock, executor, due_ms, timer, .. } = victim;
        assert!(handle.set(timer).is_ok());
        clock.advance(ms(10));
        // Both are released at the same moment. The one that was due first runs first.
        spin_all(&executor);
        assert_eq!(due_ms.take(), []);
        handle.get().unwrap().reset();
        clock.advance(ms(10));
        spin_all(&executor);
        assert_eq!(due_ms.take(), [20]);
    });
}

#[test]
fn a_timer_cancels_itself() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let slot = Arc::new(OnceLock::<Timer>::new());
        let own = Arc::clone(&slot);
        let options = TimerOptions::periodic(ms(10)).overrun(Overrun::CatchUp(9));
        let timer = group.create_timer(options, move |ticks, _| {
            *ticks += 1;
            if *ticks == 3 {
                own.get().unwrap().cancel();
            }
        });
        slot.set(timer.unwrap()).unwrap();
        for _ in 0..5 {
            clock.advance(ms(20));
            spin_all(&executor);
        }
        assert_eq!(group.into_payload().ok(), Some(3));
    });
}

#[test]
fn the_period_is_changed_from_outside() {
    watchdog(|| {
        let timer = timer(ms(10));
        assert_eq!(timer.after(4), []);
        timer.timer.set_period(ms(3));
        assert_eq!(timer.after(2), []);
        assert_eq!(timer.after(1), [7], "from the change on");
        assert_eq!(timer.after(3), [10]);
        timer.timer.set_period(ms(100));
        assert_eq!(timer.after(99), []);
        assert_eq!(timer.after(1), [110]);
        timer.timer.cancel();
        timer.timer.set_period(ms(5));
        assert_eq!(timer.after(5), [115], "also if it was cancelled");
        timer.timer.set_period(Duration::ZERO);
        assert_eq!(timer.after(5), [120], "zero is ignored");
        assert_eq!(timer.overruns(), 0);
    });
}

#[test]
fn the_period_is_changed_by_the_timer_itself() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let slot = Arc::new(OnceLock::<Timer>::new());
        let own = Arc::clone(&slot);
        let timer = group.create_timer(ms(10), move |dues: &mut Vec<Instant>, tick| {
            dues.push(tick.due);
            if dues.len() == 2 {
                own.get().unwrap().set_period(ms(3));
            }
        });
        slot.set(timer.unwrap()).unwrap();
        for _ in 0..30 {
            clock.advance(ms(1));
            spin_all(&executor);
        }
        assert_eq!(group.into_payload().unwrap(), [10, 20, 23, 26, 29].map(at));
    });
}

#[test]
fn a_handle_tells_how_its_timer_stands() {
    watchdog(|| {
        let timer = timer(ms(10));
        let (handle, left) = (&timer.timer, |timer: &Timer| timer.time_until_next_call());
        assert_eq!((handle.period(), handle.is_canceled(), left(handle)), (Some(ms(10)), false, Some(ms(10))));
        timer.clock.advance(ms(4));
        assert_eq!((left(handle), handle.is_ready()), (Some(ms(6)), false));
        timer.clock.advance(ms(8));
        assert_eq!((left(handle), handle.is_ready()), (Some(Duration::ZERO), true), "due, but not run");
        assert_eq!(timer.after(0), [10]);
        assert_eq!((left(handle), handle.is_ready()), (Some(ms(8)), false));
        handle.cancel();
        assert_eq!((handle.is_canceled(), left(handle), handle.is_ready()), (true, None, false));
        assert_eq!(timer.after(100), []);
        assert!(handle.is_canceled());
        handle.set_period(ms(7));
        assert_eq!((handle.period(), handle.is_canceled(), left(handle)), (Some(ms(7)), false, Some(ms(7))));
    });
}

#[test]
fn a_handle_tells_how_its_one_shot_stands() {
    watchdog(|| {
        let timer = timer(TimerOptions::one_shot(ms(10)));
        let handle = &timer.timer;
        assert_eq!((handle.period(), handle.time_until_next_call()), (None, Some(ms(10))));
        assert_eq!(timer.after(10), [10]);
        assert_eq!((handle.is_canceled(), handle.time_until_next_call()), (false, None), "it has fired");
        handle.reset();
        assert_eq!(handle.time_until_next_call(), Some(ms(10)));
    });
}

#[test]
fn changes_show_at_once_while_the_executor_is_busy() {
    watchdog(|| {
        let (_clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let slot = Arc::new(OnceLock::<Timer>::new());
        let other = Arc::clone(&slot);
        let _busy = group.create_timer(TimerOptions::one_shot(Duration::ZERO), move |seen: &mut Vec<_>, _| {
            let other = other.get().unwrap();
            let look = || (other.is_canceled(), other.time_until_next_call());
            other.cancel();
            seen.push(look());
            other.set_period(ms(3));
            seen.push(look());
            other.cancel();
            seen.push(look());
            other.reset();
            seen.push(look());
        });
        slot.set(group.create_timer(ms(10), |_, _| {}).unwrap()).unwrap();
        spin_all(&executor);
        let started = (false, Some(ms(3)));
        assert_eq!(group.into_payload().unwrap(), [(true, None), started, (true, None), started]);
    });
}

/// A step makes 32 changes, so that the reset is still to be made when the callback goes on.
#[test]
fn a_suspended_callback_goes_on_although_the_reset_of_its_timer_waits_behind_other_changes() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let others = executor.create_group("others", ());
        let mut crowd = Some(Vec::from_iter((0..40).map(|_| others.create_timer(ms(1_000), |(), _| {}).unwrap())));
        let group = executor.create_group("group", [0, 0]);
        let slot = Arc::new(OnceLock::<Timer>::new());
        let own = Arc::clone(&slot);
        let callback = move |counts: Payload<[u32; 2]>, _: Tick| {
            let crowd = crowd.take();
            let own = Arc::clone(&own);
            async move {
                counts.with(|counts| counts[0] += 1);
                drop(crowd);
                own.get().unwrap().reset();
                let mut is_woken = false;
                poll_fn(|cx| {
                    if std::mem::replace(&mut is_woken, true) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                counts.with(|counts| counts[1] += 1);
            }
        };
        slot.set(group.create_timer_async(ms(10), callback).unwrap()).unwrap();
        for _ in 0..3 {
            clock.advance(ms(10));
            spin_all(&executor);
        }
        assert_eq!(group.into_payload().unwrap(), [3, 3], "begun and ended");
    });
}
