//! Random programs: callbacks of several kinds that publish to each other, and timers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, Context, Executor, GroupOptions, Payload, Priority, Publisher, SubscriptionOptions, Timer,
    TimerOptions,
};

/// Numbers from a seed.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

pub(crate) fn work(us: u64) {
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_micros(us) {
        std::hint::spin_loop();
    }
}

/// Yields once, so that the callback is suspended and resumed at once.
async fn again() {
    let mut polled = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

pub(crate) const TOPICS: u64 = 4;

fn publish_some(publishers: &[Publisher<u64>], dice: &mut Dice, hops: u64) {
    if hops > 0 {
        let topic = dice.below(TOPICS) as usize;
        publishers[topic].publish(hops - 1);
    }
}

/// A gate at which asynchronous callbacks wait until it is opened.
#[derive(Default)]
pub(crate) struct Gate(Mutex<(u64, Vec<Waker>)>);

impl Gate {
    /// Waits until the gate is opened the next time.
    pub(crate) async fn pass(&self) {
        let mut from = None;
        std::future::poll_fn(|context| {
            let (opened, wakers) = &mut *self.0.lock().unwrap();
            if *from.get_or_insert(*opened) != *opened {
                return Poll::Ready(());
            }
            wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Lets all pass that wait now.
    pub(crate) fn open(&self) {
        let (opened, wakers) = &mut *self.0.lock().unwrap();
        *opened += 1;
        for waker in wakers.drain(..) {
            waker.wake();
        }
    }
}

/// A random program on an executor.
pub(crate) struct Program {
    pub(crate) gate: Arc<Gate>,
    pub(crate) dice: Dice,
    pub(crate) topics: Vec<Publisher<u64>>,
    pub(crate) kept: Vec<Box<dyn std::any::Any + Send>>,
    pub(crate) timers: Vec<Timer>,
    pub(crate) groups: Vec<CallbackGroup<u64>>,
    /// The number of callbacks that have run.
    pub(crate) ran: Arc<AtomicU64>,
}

impl Program {
    /// Creates the program of the dice.
    pub(crate) fn new(context: &Context, executor: &Executor, mut dice: Dice) -> Self {
        let topics: Vec<Publisher<u64>> = (0..TOPICS)
            .map(|topic| context.create_local_publisher(format!("topic{topic}").as_str()).unwrap())
            .collect();
        let mut kept: Vec<Box<dyn std::any::Any + Send>> = Vec::new();
        // The second one is like a node's own group.
        let options = |group: u64| match GroupOptions::new(format!("group{group}")) {
            options if group == 1 => options.releases_at_await(),
            options => options,
        };
        let groups: Vec<_> = (0..3).map(|group| executor.create_group(options(group), 0_u64)).collect();
        let ran = Arc::new(AtomicU64::new(0));
        let open = executor.create_reentrant_group("open");
        for number in 0..10_u64 {
            let topic = format!("topic{}", dice.below(TOPICS));
            let mut options = SubscriptionOptions::new(topic).name(format!("callback{number}")).keep_last(4);
            options = options.priority(Priority(dice.below(4) as u32));
            if dice.below(2) == 0 {
                options = options.deadline(Duration::from_micros(200 + dice.below(3000)));
            }
            if dice.below(4) == 0 {
                options = options.releases_group_at_await();
            }
            let publishers = topics.clone();
            let mut own = Dice(dice.below(1 << 40) | 1);
            let counted = Arc::clone(&ran);
            let group = &groups[dice.below(3) as usize];
            match dice.below(4) {
                0 => {
                    let handle =
                        group.create_local_subscription_async(options, move |payload: Payload<u64>, hops: Arc<u64>| {
                            let publishers = publishers.clone();
                            let mut own = Dice(own.below(1 << 40) | 1);
                            async move {
                                payload.with(|count| *count += 1);
                                for _ in 0..own.below(4) {
                                    again().await;
                                    work(own.below(40));
                                }
                                publish_some(&publishers, &mut own, *hops);
                            }
                        });
                    kept.push(Box::new(handle));
                }
                1 => {
                    let options = options.max_in_flight(1 + dice.below(3) as u32);
                    let handle = open.create_local_subscription_async(options, move |hops: Arc<u64>| {
                        let publishers = publishers.clone();
                        let mut own = Dice((*hops + 1) * 7919);
                        async move {
                            again().await;
                            publish_some(&publishers, &mut own, *hops);
                            again().await;
                        }
                    });
                    kept.push(Box::new(handle));
                }
                _ => {
                    let handle = group.create_local_subscription(options, move |count: &mut u64, hops: Arc<u64>| {
                        *count += 1;
                        counted.fetch_add(1, Ordering::Relaxed);
                        work(own.below(60));
                        publish_some(&publishers, &mut own, *hops);
                    });
                    kept.push(Box::new(handle));
                }
            }
        }
        let mut timers = Vec::new();
        for number in 0..4_u64 {
            let counted = Arc::clone(&ran);
            let options = TimerOptions::periodic(Duration::from_micros(700 + dice.below(2500)));
            let options = options.name(format!("timer{number}")).priority(Priority(dice.below(4) as u32));
            let publishers = topics.clone();
            let mut own = Dice(dice.below(1 << 40) | 1);
            let timer = groups[dice.below(3) as usize].create_timer(options, move |count, _| {
                *count += 1;
                counted.fetch_add(1, Ordering::Relaxed);
                work(own.below(50));
                publish_some(&publishers, &mut own, 4);
            });
            timers.push(timer.unwrap());
        }
        // Two that stay suspended for long: one holds its group, and the other one has several activations under way.
        let gate = Arc::new(Gate::default());
        for (number, options) in [
            (0, SubscriptionOptions::new("topic3").name("holds").keep_last(1)),
            (1, { SubscriptionOptions::new("topic2").name("waits").max_in_flight(3) }),
        ] {
            let at = Arc::clone(&gate);
            kept.push(if number == 0 {
                let callback = move |_: Payload<u64>, _: Arc<u64>| {
                    let at = Arc::clone(&at);
                    async move { at.pass().await }
                };
                Box::new(groups[2].create_local_subscription_async(options, callback))
            } else {
                let callback = move |_: Arc<u64>| {
                    let at = Arc::clone(&at);
                    async move { at.pass().await }
                };
                Box::new(open.create_local_subscription_async(options, callback))
            });
        }
        Self { gate, dice, topics, kept, timers, groups, ran }
    }

    /// Publishes some messages.
    pub(crate) fn publish(&mut self) {
        for _ in 0..20 {
            self.topics[self.dice.below(TOPICS) as usize].publish(3);
        }
    }

    /// Publishes some messages, and waits until enough callbacks have run: the machine may be busy.
    pub(crate) fn drive(&mut self) {
        self.gate.open();
        self.publish();
        let begin = std::time::Instant::now();
        let wanted = self.ran.load(Ordering::Relaxed) + 40;
        while self.ran.load(Ordering::Relaxed) < wanted && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_micros(300));
            if begin.elapsed() > Duration::from_millis(100) {
                // The group that is held may have all that would run.
                self.gate.open();
            }
        }
    }

    /// Changes the program: timers and callbacks come, go and change.
    pub(crate) fn change(&mut self, round: u64) {
        match round {
            2 => self.timers[0].cancel(),
            3 => drop(self.kept.swap_remove(self.dice.below(5) as usize)),
            4 => self.timers[0].reset(),
            5 => self.timers[1].set_period(Duration::from_micros(400)),
            6 => {
                let options = SubscriptionOptions::new("topic1").name("late").priority(Priority(2));
                let callback = move |count: &mut u64, _: Arc<u64>| *count += 1;
                self.kept.push(Box::new(self.groups[1].create_local_subscription(options, callback)));
            }
            _ => {}
        }
    }
}
