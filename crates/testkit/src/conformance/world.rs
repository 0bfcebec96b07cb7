//! Two nodes on a network of their own, and ways to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{
    CallbackGroup, ClockKind, Context, ContextOptions, Executor, ExecutorOptions, Incident, IncidentKind, SpinError,
    SpinOptions,
};
use rospin_node::{Encode, Node, PublishError, Publisher, Ros, Subscription, SubscriptionOptions};

use super::fixture::Fixture;
use super::messages::Number;
use super::seen::{Gate, Seen};

/// The set-up of every case.
///
/// A case creates the executors under test. Waiting spins another executor, the helper, on which the middleware's own
/// entities are.
pub struct World<F: Fixture> {
    /// The context of all nodes.
    pub context: Context,
    /// A node.
    pub here: Node,
    /// Another node, in a process of its own if the [fixture](Fixture::APART) says so.
    pub there: Node,
    /// Creates more nodes beside `here`.
    pub ros_here: Ros,
    /// Creates more nodes beside `there`.
    pub ros_there: Ros,
    /// Incidents of callbacks and sources.
    pub incidents: Seen<Incident>,
    helper: Executor,
    // Dropped last, after everything on it.
    _network: F,
}

/// A subscription in a group of its own, and the numbers that it received.
pub struct Listener {
    /// The numbers, in the order of reception.
    pub heard: Seen<i64>,
    /// The subscription.
    pub subscription: Subscription,
    _group: CallbackGroup<()>,
}

impl<F: Fixture> World<F> {
    /// Returns a world with default options of the context.
    #[must_use]
    pub fn new() -> Self {
        Self::with(ContextOptions::new())
    }

    /// Returns a world with these options of the context.
    #[must_use]
    pub fn with(options: ContextOptions) -> Self {
        let incidents = Seen::new();
        let kept = incidents.clone();
        let context = Context::new(options.on_incident(move |incident| kept.push(incident.clone())));
        let helper = context.create_executor(ExecutorOptions::new("helper"));
        let network = F::new();
        let ros = network.join(&context, &helper.handle());
        let other = if F::APART { network.join(&context, &helper.handle()) } else { ros.clone() };
        let here = ros.create_node("here").expect("a node");
        let there = other.create_node("there").expect("another node");
        Self { context, here, there, ros_here: ros, ros_there: other, incidents, helper, _network: network }
    }

    /// Creates an executor with one thread.
    #[must_use]
    pub fn executor(&self, name: &str) -> Executor {
        self.context.create_executor(ExecutorOptions::new(name))
    }

    /// Returns the executor that spins whenever the case waits.
    #[must_use]
    pub const fn helper(&self) -> &Executor {
        &self.helper
    }

    /// Returns a gate with the fixture's patience.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::new(F::PATIENCE)
    }

    /// Waits for `future`, while the helper spins. `what` ends the sentence of the panic: "waiting until" `what`.
    ///
    /// # Panics
    /// If it takes too long.
    #[track_caller]
    pub fn wait<O>(&self, what: &str, future: impl Future<Output = O>) -> O {
        match self.helper.spin_until(future, SpinOptions::new().timeout(F::PATIENCE)) {
            Ok(output) => output,
            Err(error) => panic!("waiting until {what}: {error}"),
        }
    }

    /// Waits until `condition` holds, by polling it. For conditions that nothing announces.
    ///
    /// # Panics
    /// If it takes too long.
    #[track_caller]
    pub fn until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let handle = self.helper.handle();
        self.wait(what, async {
            while !condition() {
                handle.sleep(ClockKind::Steady, Duration::from_millis(2)).await.expect("the executor is there");
            }
        });
    }

    /// Spins the executors on threads of their own while `body` runs, then halts them.
    ///
    /// # Panics
    /// If a spin ends with an error.
    pub fn spinning<R>(&self, executors: &[&Executor], body: impl FnOnce() -> R) -> R {
        struct Halt<'a>(&'a [&'a Executor]);
        impl Drop for Halt<'_> {
            fn drop(&mut self) {
                for executor in self.0 {
                    executor.halt();
                }
            }
        }
        thread::scope(|scope| {
            let halt = Halt(executors);
            let spins: Vec<_> =
                executors.iter().map(|executor| scope.spawn(|| executor.spin(SpinOptions::new()))).collect();
            let result = body();
            drop(halt);
            for spin in spins {
                spin.join().expect("callbacks' panics are caught").expect("the spin ends when it is halted");
            }
            result
        })
    }

    /// Spins one executor on this thread until `future` resolves. For cases in which nothing may run before or after.
    ///
    /// # Panics
    /// If it takes too long.
    #[track_caller]
    pub fn spin_until<O>(&self, executor: &Executor, what: &str, future: impl Future<Output = O>) -> O {
        match executor.spin_until(future, SpinOptions::new().timeout(F::PATIENCE)) {
            Ok(output) => output,
            Err(error) => panic!("spinning until {what}: {error}"),
        }
    }

    /// Runs everything that is ready on the executor.
    ///
    /// # Panics
    /// If the spin ends with an error.
    #[track_caller]
    pub fn spin_all(&self, executor: &Executor) {
        let end: Result<_, SpinError> = executor.spin(SpinOptions::spin_all());
        end.expect("`spin_all` has no reason to fail");
    }

    /// Publishes, and tries again while the middleware has no room, because cases are about received messages.
    ///
    /// # Panics
    /// If the middleware refuses for another reason, or for too long.
    #[track_caller]
    pub fn publish<M: Encode>(&self, publisher: &Publisher<M>, message: M) {
        let begin = Instant::now();
        while let Err(error) = publisher.publish(message.clone()) {
            assert!(matches!(error, PublishError::Full { .. }), "{error}");
            assert!(begin.elapsed() < F::PATIENCE, "{error}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Publishes the numbers.
    ///
    /// # Panics
    /// Those of [`publish`](Self::publish).
    #[track_caller]
    pub fn publish_all(&self, publisher: &Publisher<Number>, numbers: impl IntoIterator<Item = i64>) {
        for data in numbers {
            self.publish(publisher, Number { data });
        }
    }

    /// Creates a subscription on a group of its own, and records what it receives.
    ///
    /// # Panics
    /// If the subscription cannot be created.
    #[track_caller]
    pub fn listen(&self, node: &Node, executor: &Executor, options: impl Into<SubscriptionOptions>) -> Listener {
        let group = executor.create_group("listener", ());
        let heard = Seen::new();
        let log = heard.clone();
        let subscription = node.on(&group).create_subscription(options, move |number: Number| log.push(number.data));
        Listener { heard, subscription: subscription.expect("a subscription"), _group: group }
    }

    /// Waits until a publisher is matched with these subscriptions.
    #[track_caller]
    pub fn matched<M: Encode>(&self, publisher: &Publisher<M>, subscriptions: &[&Subscription]) {
        self.until("the publisher is matched", || publisher.subscription_count() >= subscriptions.len());
        for subscription in subscriptions {
            self.wait("the subscription is matched", subscription.wait_for_publisher());
        }
    }

    /// Returns how many callbacks panicked so far.
    ///
    /// # Panics
    /// If there was any other incident.
    #[must_use]
    pub fn panics(&self) -> usize {
        let incidents = self.incidents.all();
        let is_panic = |incident: &Incident| matches!(incident.kind, IncidentKind::Panicked(_));
        assert!(incidents.iter().all(is_panic), "{incidents:?}");
        incidents.len()
    }
}

impl<F: Fixture> Default for World<F> {
    fn default() -> Self {
        Self::new()
    }
}

/// Thread that publishes increasing numbers as fast as possible, until this value is dropped.
pub struct Flood {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Flood {
    /// Starts the thread. Its first number is 0.
    #[must_use]
    pub fn start<F: Fixture>(publisher: &Publisher<Number>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let publisher = publisher.clone();
        let thread = thread::spawn(move || {
            let mut data = 0;
            while !stopped.load(Ordering::Relaxed) {
                match publisher.publish(Number { data }) {
                    Ok(()) => data += 1,
                    // No room at the moment.
                    Err(_) => thread::sleep(Duration::from_micros(100)),
                }
                // Lets other threads run on machines with few cores.
                thread::yield_now();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A failure there shows as missing messages.
            let _ = thread.join();
        }
    }
}
