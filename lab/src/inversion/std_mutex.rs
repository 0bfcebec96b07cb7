//! The case with an ordinary lock, which inherits no priority, in place of rospin's locks.

use std::sync::{Arc, Mutex, PoisonError};

use rospin_measure::setup::Setup;
use rospin_measure::wake_up::{Grid, Lateness, now_ns, sleep_until};

use super::figures::Row;
use super::interference::{Case, Others, Turn, TurnError};

/// Time for which the lock is held: about as long as rospin holds a lock to publish to nine subscriptions.
const HELD_NS: u64 = 1000;

/// Runs an urgent loop at the timer's rate. In each round, once the lateness of its start is recorded, it takes a lock
/// that an ordinary thread takes all the time.
pub(super) fn run(setup: &Setup, turn: Turn) -> Result<Row, TurnError> {
    let _set_up = setup.timer.apply_for_now();
    let shared = Arc::new(Mutex::new(0_u64));
    let mut others = Others::start(&setup.busy, turn)?;
    let ordinary = Arc::clone(&shared);
    others.repeat(&setup.ordinary(), move || hold(&ordinary))?;
    others.wait_until_at_work();
    let grid = Grid::soon(turn.period, turn.firings, std::time::Duration::ZERO);
    let (mut lateness, mut own_ns) = (Lateness::new(grid), Vec::with_capacity(turn.firings as usize));
    for number in 0..grid.count {
        let due_ns = grid.due_ns(number);
        sleep_until(due_ns);
        let more = lateness.start(due_ns);
        let begun = now_ns();
        hold(&shared);
        own_ns.push(now_ns() - begun);
        if !more {
            break;
        }
    }
    let (operations, bursts) = others.stop()?;
    Ok(Row::new(Case::StdMutex, turn.firings, lateness.into_us(), &own_ns, &[], operations, bursts))
}

/// Takes the lock, holds it for [`HELD_NS`] and releases it.
fn hold(shared: &Mutex<u64>) {
    let mut count = shared.lock().unwrap_or_else(PoisonError::into_inner);
    *count += 1;
    let until = now_ns() + HELD_NS;
    while now_ns() < until {
        std::hint::spin_loop();
    }
}
