//! Model of rclcpp's events executor: a queue with an event for each message, first in, first out.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::thread;
use std::time::Instant;

use super::super::system::System;
use super::taken::Taken;
use super::timers::Heap;
use super::{Control, Failed};

/// Event, with the number of its entity.
enum Event {
    /// A message has arrived.
    Subscription(usize),
    /// A timer is due.
    Timer(usize),
    /// The contender must end. The event wakes its thread, which then checks for that.
    Look,
}

/// Queue without a bound, like rclcpp's simple events queue.
#[derive(Default)]
struct Events {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Event>,
    /// True if a thread waits for an event. Only then the condition variable is signalled: the standard library's makes
    /// a system call for it even if nobody waits, that of C++ does not.
    waiting: bool,
}

impl Events {
    /// Appends an event, and wakes the thread that waits for one.
    fn push(&self, event: Event) {
        let mut state = self.lock();
        state.queue.push_back(event);
        let waiting = state.waiting;
        drop(state);
        if waiting {
            self.arrived.notify_one();
        }
    }

    /// Takes the oldest event. Blocks until there is one.
    fn pop(&self) -> Event {
        let mut state = self.lock();
        loop {
            if let Some(event) = state.queue.pop_front() {
                return event;
            }
            state.waiting = true;
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting = false;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waker that puts an event into the queue when a subscription has a new message.
struct OnNewMessage {
    number: usize,
    events: Arc<Events>,
}

impl Wake for OnNewMessage {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.events.push(Event::Subscription(self.number));
    }
}

/// Runs the callbacks on the calling thread, and the timers manager on another one if there are timers, until `control`
/// ends it.
pub(super) fn spin(system: System, control: &Control) -> Result<(), Failed> {
    let System { context, subscriptions, timers, .. } = system;
    let events = Arc::new(Events::default());
    let mut subscriptions = Taken::all(&context, subscriptions)?;
    for (number, taken) in subscriptions.iter().enumerate() {
        taken.wakes(&Arc::new(OnNewMessage { number, events: Arc::clone(&events) }));
    }
    let heap = Heap::new(&timers);
    let mut ticks: Vec<_> = timers.into_iter().map(|timer| timer.callback).collect();
    let manager = if ticks.is_empty() { None } else { Some(heap) };
    thread::scope(|scope| {
        let timers_manager = manager.map(|heap| scope.spawn(|| manage(heap, &events, control)).thread().clone());
        let waking = Arc::clone(&events);
        control.running(move || {
            waking.push(Event::Look);
            timers_manager.iter().for_each(thread::Thread::unpark);
        });
        while !control.is_over() {
            match events.pop() {
                Event::Subscription(number) => _ = subscriptions[number].run_one(),
                Event::Timer(number) => ticks[number](),
                Event::Look => {}
            }
        }
    });
    Ok(())
}

/// Runs the timers manager on the calling thread until the contender must end: pushes an event whenever a timer is due.
fn manage(mut heap: Heap, events: &Events, control: &Control) {
    while !control.is_over() {
        let now = Instant::now();
        while let Some(number) = heap.fire(now) {
            events.push(Event::Timer(number));
        }
        if let Some(due) = heap.next() {
            thread::park_timeout(due.saturating_duration_since(now));
        }
    }
}
