//! rclrs nodes on a rospin executor: the rules that rclrs's own executor keeps, and the order of urgency that it does
//! not have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rclrs::*;
use ros_env::std_msgs::msg::Int64;
use rospin_rclrs::{CreateRospinExecutor, Deployment, Priority, RospinOptions, Scope, with_priority};

/// A time that nothing here takes, unless a wake-up was lost.
const LONG: Duration = Duration::from_secs(20);

fn executor() -> Executor {
    Context::default().create_rospin_executor(RospinOptions::new())
}

/// Spins until the promise resolves, which must be soon.
fn spin_until(executor: &mut Executor, promise: Promise<()>) {
    let errors = executor.spin(SpinOptions::new().until_promise_resolved(promise).timeout(LONG));
    assert!(errors.is_empty(), "{errors:?}");
}

/// Returns a promise, and a function that resolves it.
fn promise() -> (Promise<()>, impl FnMut() + Send + Sync + 'static) {
    let (sender, promise) = futures::channel::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let resolve = move || {
        if let Some(sender) = sender.lock().expect("a lock").take() {
            // The spin may have ended for another reason.
            let _ = sender.send(());
        }
    };
    (promise, resolve)
}

/// Messages that wait at the beginning of a spin run in the order of the priorities of their subscriptions.
#[test]
fn the_most_urgent_message_runs_first() {
    let mut executor = executor();
    let node = executor.create_node("urgency").expect("a node");
    let order = Arc::new(Mutex::new(Vec::new()));
    let (done, mut resolve) = promise();
    let worker = node.create_worker(());
    let mut subscriptions = Vec::new();
    for (name, priority) in [("low", 1), ("high", 8), ("middle", 4)] {
        let order = Arc::clone(&order);
        let note = move |_: &mut (), _: Int64| order.lock().expect("a lock").push(name);
        let create = || worker.create_subscription::<Int64, _>(name.reliable().transient_local(), note);
        subscriptions.push(with_priority(Priority(priority), create).expect("a subscription"));
    }
    let last = move |_: &mut (), _: Int64| resolve();
    let _last =
        worker.create_subscription::<Int64, _>("last".reliable().transient_local(), last).expect("a subscription");
    let mut publishers = Vec::new();
    for name in ["last", "low", "middle", "high"] {
        let publisher = node.create_publisher::<Int64>(name.reliable().transient_local()).expect("a publisher");
        publisher.publish(Int64 { data: 0 }).expect("a message");
        publishers.push(publisher);
    }
    wait_for(|| publishers.iter().all(|publisher| publisher.get_subscription_count().is_ok_and(|count| count == 1)));
    // All ends match in one process, and the middleware delivers before `publish` returns.
    for publisher in &publishers {
        publisher.publish(Int64 { data: 1 }).expect("a message");
    }
    spin_until(&mut executor, done);
    let order = order.lock().expect("a lock");
    assert_eq!(order[..3], ["high", "high", "middle"], "{order:?}");
}

/// An entity that goes on with its next message at once does so only while no other one waits that is as urgent.
#[test]
fn subscriptions_of_equal_priority_take_turns() {
    const COUNT: usize = 10;
    let mut executor = executor();
    let node = executor.create_node("turns").expect("a node");
    let order = Arc::new(Mutex::new(Vec::new()));
    let (done, resolve) = promise();
    let resolve = Arc::new(Mutex::new(resolve));
    let worker = node.create_worker(());
    let mut ends = Vec::new();
    for name in ["turns_left", "turns_right"] {
        let (order, resolve) = (Arc::clone(&order), Arc::clone(&resolve));
        let note = move |_: &mut (), _: Int64| {
            let mut order = order.lock().expect("a lock");
            order.push(name);
            if order.len() == 2 * COUNT {
                (resolve.lock().expect("a lock"))();
            }
        };
        let subscription = worker.create_subscription::<Int64, _>(name.reliable().keep_last(100), note);
        let publisher = node.create_publisher::<Int64>(name.reliable().keep_last(100)).expect("a publisher");
        wait_for(|| publisher.get_subscription_count().is_ok_and(|count| count == 1));
        ends.push((subscription.expect("a subscription"), publisher));
    }
    for (_, publisher) in &ends {
        for _ in 0..COUNT {
            publisher.publish(Int64 { data: 0 }).expect("a message");
        }
    }
    spin_until(&mut executor, done);
    let order = order.lock().expect("a lock");
    assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
}

/// Waits for what other threads do, which takes no more than moments.
fn wait_for(mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < LONG, "it does not come");
        thread::yield_now();
    }
}

#[test]
fn every_message_of_a_burst_runs_its_callback() {
    let mut executor = executor();
    let node = executor.create_node("burst").expect("a node");
    let (done, mut resolve) = promise();
    let worker = node.create_worker(0);
    let count = move |sum: &mut i64, _: Int64| {
        *sum += 1;
        if *sum == 10_000 {
            resolve();
        }
    };
    let _subscription =
        worker.create_subscription::<Int64, _>("burst".keep_all().reliable(), count).expect("a subscription");
    let publisher = node.create_publisher::<Int64>("burst".keep_all().reliable()).expect("a publisher");
    wait_for(|| publisher.get_subscription_count().is_ok_and(|count| count == 1));
    let sender = thread::spawn(move || {
        for data in 0..10_000 {
            publisher.publish(Int64 { data }).expect("a message");
        }
    });
    spin_until(&mut executor, done);
    sender.join().expect("the sender");
}

/// The middleware may tell only once of messages that come at the same time, so that the executor has to look for the
/// others.
#[test]
fn messages_of_several_threads_are_all_found() {
    const THREADS: i64 = 4;
    const EACH: i64 = 2_000;
    let mut executor = executor();
    let node = executor.create_node("crowd").expect("a node");
    let (done, mut resolve) = promise();
    let worker = node.create_worker(0);
    let count = move |sum: &mut i64, _: Int64| {
        *sum += 1;
        if *sum == THREADS * EACH {
            resolve();
        }
    };
    let _subscription =
        worker.create_subscription::<Int64, _>("crowd".keep_all().reliable(), count).expect("a subscription");
    let publisher = node.create_publisher::<Int64>("crowd".keep_all().reliable()).expect("a publisher");
    wait_for(|| publisher.get_subscription_count().is_ok_and(|count| count == 1));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for data in 0..EACH {
                    publisher.publish(Int64 { data }).expect("a message");
                }
            });
        }
        spin_until(&mut executor, done);
    });
}

/// A one-shot subscription: its callback drops it, while further messages wait.
#[test]
fn a_subscription_that_its_callback_drops_runs_no_more() {
    let mut executor = executor();
    let node = executor.create_node("once").expect("a node");
    let (done, mut resolve) = promise();
    type Held = Option<WorkerSubscription<Int64, Slot>>;
    struct Slot(Held, u64);
    let worker = node.create_worker(Slot(None, 0));
    let once = |slot: &mut Slot, _: Int64| {
        slot.0 = None;
        slot.1 += 1;
    };
    let subscription = worker.create_subscription::<Int64, _>("once".keep_last(10), once).expect("a subscription");
    let publisher = node.create_publisher::<Int64>("once".keep_last(10)).expect("a publisher");
    wait_for(|| publisher.get_subscription_count().is_ok_and(|count| count == 1));
    drop(worker.run(move |slot: &mut Slot| slot.0 = Some(subscription)));
    for data in 0..5 {
        publisher.publish(Int64 { data }).expect("a message");
    }
    // The subscription is deleted in the middleware, too, by the thread that sweeps.
    let watched = publisher.clone();
    let watcher = thread::spawn(move || {
        wait_for(|| watched.get_subscription_count().is_ok_and(|count| count == 0));
        resolve();
    });
    spin_until(&mut executor, done);
    watcher.join().expect("the watcher");
    let (count, done) = executor.commands().create_notice(worker.run(|slot: &mut Slot| slot.1));
    spin_until(&mut executor, done);
    assert_eq!(futures::executor::block_on(count), Ok(1));
}

/// A callback that subscribes anew in the place of its own subscription, while further messages wait: each subscription
/// runs once.
#[test]
fn a_subscription_that_its_callback_replaces_runs_no_more() {
    const ROUNDS: u64 = 50;
    type Held = Arc<Mutex<Option<WorkerSubscription<Int64, Vec<u64>>>>>;
    fn subscribe(worker: &Worker<Vec<u64>>, held: &Held, round: u64) {
        let (again, own) = (worker.clone(), Arc::clone(held));
        let hear = move |heard: &mut Vec<u64>, _: Int64| {
            heard.push(round);
            // The old one is dropped after the new one was created.
            subscribe(&again, &own, round + 1);
        };
        let topic = "replaced".keep_last(10).reliable();
        let subscription = worker.create_subscription::<Int64, _>(topic, hear).expect("a subscription");
        let old = held.lock().expect("a lock").replace(subscription);
        drop(old);
    }
    let mut executor = executor();
    let node = executor.create_node("replaced").expect("a node");
    let (worker, held) = (node.create_worker(Vec::new()), Held::default());
    subscribe(&worker, &held, 0);
    let publisher = node.create_publisher::<Int64>("replaced".keep_last(10).reliable()).expect("a publisher");
    let (ended, is_ended) = mpsc::channel::<()>();
    let publishing = thread::spawn(move || {
        while is_ended.try_recv() == Err(mpsc::TryRecvError::Empty) {
            publisher.publish(Int64 { data: 0 }).expect("a message");
            thread::yield_now();
        }
    });
    let (done, mut resolve) = promise();
    let listener = worker.listen_until(move |heard: &mut Vec<u64>| {
        if heard.len() as u64 >= ROUNDS {
            resolve();
        }
        None::<()>
    });
    spin_until(&mut executor, done);
    drop((ended, listener));
    publishing.join().expect("the publisher");
    held.lock().expect("a lock").take();
    let (heard, done) = executor.commands().create_notice(worker.run(std::mem::take::<Vec<u64>>));
    spin_until(&mut executor, done);
    let heard = futures::executor::block_on(heard).expect("what was heard");
    assert_eq!(heard, (0..heard.len() as u64).collect::<Vec<_>>());
}

/// Another thread drops a subscription while its messages come all the time, and sends further ones. At most the run
/// that had begun when the subscription was dropped takes one of them.
#[test]
fn a_subscription_that_another_thread_dropped_begins_no_run() {
    const BEFORE: i64 = 0;
    const AFTER: i64 = 1;
    let mut executor = executor();
    let node = executor.create_node("dropped").expect("a node");
    let commands = executor.commands().clone();
    let dropping = thread::spawn(move || {
        for round in 0..50 {
            let worker = node.create_worker(());
            let heard = Arc::new([const { AtomicU64::new(0) }; 2]);
            let count = Arc::clone(&heard);
            let hear = move |_: &mut (), message: Int64| {
                count[usize::from(message.data == AFTER)].fetch_add(1, Ordering::AcqRel);
            };
            let topic = format!("dropped{round}");
            let (to, from) = (topic.as_str().keep_last(10).reliable(), topic.as_str().keep_last(10).reliable());
            let subscription = worker.create_subscription::<Int64, _>(to, hear).expect("a subscription");
            let publisher = node.create_publisher::<Int64>(from).expect("a publisher");
            let publish = |data| publisher.publish(Int64 { data }).expect("a message");
            wait_for(|| {
                publish(BEFORE);
                heard[0].load(Ordering::Acquire) > 0
            });
            drop(subscription);
            for _ in 0..20 {
                publish(AFTER);
            }
            // Functions of the same worker take turns with its subscriptions.
            for _ in 0..3 {
                let _ = futures::executor::block_on(worker.run(|()| ()));
            }
            assert!(heard[1].load(Ordering::Acquire) <= 1, "round {round}");
        }
        commands.halt_spinning();
    });
    let errors = executor.spin(SpinOptions::new().timeout(LONG));
    assert!(errors.is_empty(), "{errors:?}");
    dropping.join().expect("the thread");
}

#[test]
fn entities_may_be_created_and_dropped_while_the_executor_spins() {
    let mut executor = executor();
    let commands = executor.commands().clone();
    let creator = thread::spawn(move || {
        for round in 0..20 {
            let node = commands.create_node(&format!("guest{round}")).expect("a node");
            let (sender, received) = mpsc::channel();
            let hear = move |message: Int64| {
                // Only the first message is waited for.
                let _ = sender.send(message.data);
            };
            let topic = "guests".reliable().transient_local();
            let _subscription = node.create_subscription::<Int64, _>(topic, hear).expect("a subscription");
            let topic = "guests".reliable().transient_local();
            let publisher = node.create_publisher::<Int64>(topic).expect("a publisher");
            publisher.publish(Int64 { data: round }).expect("a message");
            assert_eq!(received.recv_timeout(LONG), Ok(round));
        }
        commands.halt_spinning();
    });
    let errors = executor.spin(SpinOptions::new().timeout(LONG));
    assert!(errors.is_empty(), "{errors:?}");
    creator.join().expect("the creator");
}

/// rclrs's locks are poisoned after a panic in a worker's callback, so that it cannot run again.
#[test]
fn a_callback_that_panics_takes_nothing_else_down() {
    let mut executor = executor();
    let node = executor.create_node("panics").expect("a node");
    let (done, mut resolve) = promise();
    let worker = node.create_worker(0_u64);
    let panics = |_: &mut u64, _: Int64| panic!("as the test wants");
    let _bad = worker.create_subscription::<Int64, _>("bad".keep_last(10), panics).expect("a subscription");
    let good = move |count: &mut u64, _: Int64| {
        *count += 1;
        if *count == 2 {
            resolve();
        }
    };
    let _good = worker.create_subscription::<Int64, _>("good".keep_last(10), good).expect("a subscription");
    let publishers =
        ["bad", "good"].map(|topic| node.create_publisher::<Int64>(topic.keep_last(10)).expect("a publisher"));
    wait_for(|| publishers.iter().all(|publisher| publisher.get_subscription_count().is_ok_and(|count| count == 1)));
    for data in 0..2 {
        for publisher in &publishers {
            publisher.publish(Int64 { data }).expect("a message");
        }
    }
    spin_until(&mut executor, done);
}

#[test]
fn a_spin_ends_after_its_timeout_with_one_error() {
    let mut executor = executor();
    let _node = executor.create_node("timeout").expect("a node");
    let errors = executor.spin(SpinOptions::new().timeout(Duration::from_millis(5)));
    assert!(matches!(&errors[..], [error] if error.is_timeout()), "{errors:?}");
}

#[test]
fn a_halt_from_another_thread_ends_a_spin_that_has_nothing_to_do() {
    let mut executor = executor();
    let commands = executor.commands().clone();
    // It may come before the spin, which clears it: so it is repeated until the spin has ended.
    let (ended, is_ended) = mpsc::channel::<()>();
    let halting = thread::spawn(move || {
        while is_ended.recv_timeout(Duration::from_millis(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            commands.halt_spinning();
        }
    });
    let errors = executor.spin(SpinOptions::new().timeout(LONG));
    assert!(errors.is_empty(), "{errors:?}");
    drop(ended);
    halting.join().expect("the thread");
}

#[test]
fn an_executor_that_spins_asynchronously_comes_back() {
    let executor = executor();
    let spinning = executor.spin_async(SpinOptions::new().timeout(Duration::from_millis(5)));
    let (mut executor, errors) = futures::executor::block_on(spinning);
    assert!(matches!(&errors[..], [error] if error.is_timeout()), "{errors:?}");
    let errors = executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO));
    assert!(errors.iter().all(RclrsError::is_timeout), "{errors:?}");
}

#[test]
fn a_timer_can_be_cancelled_and_reset() {
    let mut executor = executor();
    let node = executor.create_node("timers").expect("a node");
    let (sender, ticks) = mpsc::channel();
    let tick = move |_: &Timer| {
        // The test reads the ticks that it waits for.
        let _ = sender.send(());
    };
    let timer =
        node.create_timer_repeating(Duration::from_millis(1), move |timer: &Timer| tick(timer)).expect("a timer");
    let spin = |executor: &mut Executor| {
        let (done, resolve) = promise();
        let end = node.create_timer_oneshot(Duration::from_millis(20), resolve).expect("a timer");
        spin_until(executor, done);
        drop(end);
    };
    spin(&mut executor);
    assert!(ticks.try_iter().count() > 0);
    timer.cancel().expect("a cancellation");
    spin(&mut executor);
    assert_eq!(ticks.try_iter().count(), 0);
    timer.reset().expect("a reset");
    spin(&mut executor);
    assert!(ticks.try_iter().count() > 0);
}

/// The file turns the order of the program around.
#[test]
fn a_deployment_file_sets_the_priorities_of_topics() {
    let text = "[[callback]]\nname = \"sensors/urgent\"\npriority = 9\n";
    let deployment: Deployment = Deployment::parse(text).expect("a deployment");
    let mut executor = Context::default().create_rospin_executor(RospinOptions::new().deployment(deployment));
    let node = executor.create_node("deployed").expect("a node");
    let (done, resolve) = promise();
    let (resolve, runs) = (Mutex::new(resolve), AtomicU64::new(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::new(move |name: &'static str, order: &Mutex<Vec<&'static str>>| {
        order.lock().expect("a lock").push(name);
        if runs.fetch_add(1, Ordering::Relaxed) == 1 {
            (resolve.lock().expect("a lock"))();
        }
    });
    let worker = Scope::new().name("sensors").run(|| node.create_worker(()));
    let mut subscriptions = Vec::new();
    for name in ["plain", "urgent"] {
        let (note, order) = (Arc::clone(&note), Arc::clone(&order));
        let callback = move |_: &mut (), _: Int64| note(name, &order);
        subscriptions.push(worker.create_subscription::<Int64, _>(name, callback).expect("a subscription"));
    }
    let publishers = ["plain", "urgent"].map(|topic| node.create_publisher::<Int64>(topic).expect("a publisher"));
    wait_for(|| publishers.iter().all(|publisher| publisher.get_subscription_count().is_ok_and(|count| count == 1)));
    for publisher in &publishers {
        publisher.publish(Int64 { data: 0 }).expect("a message");
    }
    spin_until(&mut executor, done);
    assert_eq!(*order.lock().expect("a lock"), ["urgent", "plain"]);
}

/// A file moves a worker to an executor that only the file names.
#[test]
fn a_deployment_file_moves_a_worker_to_another_executor() {
    let text = "[[executor]]\nname = \"other\"\n\n[[group]]\nnode = \"*\"\nname = \"moved\"\nexecutor = \"other\"\n";
    let deployment = Deployment::parse(text).expect("a deployment");
    let mut executor = Context::default().create_rospin_executor(RospinOptions::new().deployment(deployment));
    let node = executor.create_node("moving").expect("a node");
    let threads = Arc::new(Mutex::new(Vec::new()));
    let (done, mut resolve) = promise();
    let worker = Scope::new().name("moved").run(|| node.create_worker(()));
    let noted = Arc::clone(&threads);
    let timer = worker.create_timer_repeating(Duration::from_millis(1), move |_: &mut ()| {
        noted.lock().expect("a lock").push(thread::current().id());
        resolve();
    });
    let _timer = timer.expect("a timer");
    spin_until(&mut executor, done);
    let threads = threads.lock().expect("a lock");
    assert!(
        threads.iter().all(|id| *id != thread::current().id()),
        "it ran on the thread of the program's own executor"
    );
}
