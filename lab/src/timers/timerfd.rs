//! A plain loop of epoll and a timer of the kernel for each timer, as programs without any framework have it.

use std::io;

use rospin_measure::wake_up::Lateness;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Most events that one wait returns. There is one timer here, and the loop is written for more.
const EVENTS: usize = 16;

/// Records a start for each due time that the kernel's timer counts. The timer has an absolute first due time and a
/// period, so it does not drift, and periods that passed meanwhile are made up for.
pub(super) fn timerfd_loop(lateness: &mut Lateness) -> io::Result<()> {
    let grid = *lateness.grid();
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let times = Itimerspec { it_interval: timespec(grid.period_ns), it_value: timespec(grid.first_ns) };
    timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &times)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &timer, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; EVENTS];
    let mut number = 0;
    loop {
        let ready = match epoll::wait(&poll, &mut events, None) {
            Ok(ready) => ready,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for _ in 0..ready {
            for _ in 0..expired(&timer)? {
                if !lateness.start(grid.due_ns(number)) {
                    return Ok(());
                }
                number += 1;
            }
        }
    }
}

/// Returns the number of due times since the last call.
fn expired(timer: impl rustix::fd::AsFd) -> io::Result<u64> {
    let mut count = [0; size_of::<u64>()];
    match rustix::io::read(timer, &mut count) {
        Ok(_) => Ok(u64::from_ne_bytes(count)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}
