//! Callbacks that wait for one that is suspended are told of, after a second of the steady clock.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::common::Log;
use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, GroupOptions, Incident, IncidentKind, ManualClock, Payload,
    SpinOptions, SubscriptionOptions, TimerOptions,
};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

struct World {
    clock: ManualClock,
    context: Context,
    executor: Executor,
    incidents: Log<Incident>,
}

impl World {
    fn new() -> Self {
        let (clock, incidents) = (ManualClock::new(), Log::new());
        let log: Log<Incident> = incidents.clone();
        let options = ContextOptions::new().manual_clock(clock.clone());
        let context = Context::new(options.on_incident(move |incident| log.push(incident.clone())));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        Self { clock, context, executor, incidents }
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }

    /// Returns the entities that were told of since the last call: which one waits for which, and for how long.
    fn told(&self) -> Vec<(String, String, Duration)> {
        let parts = |incident: Incident| match incident.kind {
            IncidentKind::HeldUp { by, waited } => (incident.entity, by, waited),
            kind => panic!("{kind:?}"),
        };
        self.incidents.take().into_iter().map(parts).collect()
    }
}

fn told(waiter: &str, by: &str, waited: Duration) -> Vec<(String, String, Duration)> {
    vec![(waiter.to_owned(), by.to_owned(), waited)]
}

#[test]
fn a_timer_that_waits_for_a_second_for_a_suspended_callback_is_told_once() {
    let world = World::new();
    let group = world.executor.create_group("arm", ());
    let _serve = group.create_timer_async(TimerOptions::one_shot(Duration::ZERO).name("serve"), |_, _| pending());
    let _serve = _serve.unwrap();
    let _tick = group.create_timer(TimerOptions::periodic(100 * MS).name("tick"), |(), _| {}).unwrap();
    world.advance(Duration::ZERO);
    assert_eq!(world.executor.next_due(), Some(rospin_engine::Instant::ZERO + 100 * MS));
    world.advance(100 * MS);
    assert_eq!(world.executor.next_due(), Some(rospin_engine::Instant::ZERO + 1100 * MS), "it wakes by itself");
    world.advance(999 * MS);
    assert_eq!(world.told(), []);
    world.advance(MS);
    let incident = world.incidents.take().remove(0);
    assert_eq!((incident.executor.as_str(), incident.group.as_str()), ("main", "arm"));
    let text = incident.to_string();
    assert!(
        text.starts_with("`tick` has waited 1.0s for its group `arm`, which `serve` holds while it awaits"),
        "{text}"
    );
    assert!(text.contains("Node::create_group") && text.contains("releases_group_at_await"), "{text}");
    (0..10).for_each(|_| world.advance(SECOND));
    assert_eq!((world.told(), world.executor.next_due()), (vec![], None));
}

#[test]
fn time_counts_from_the_later_one_of_release_and_suspension_and_short_waits_are_not_told() {
    let world = World::new();
    let group = world.executor.create_group("group", ());
    let topic = |name: &str| SubscriptionOptions::new("topic").name(name.to_owned());
    let handle = world.executor.handle();
    let pauses = move |_: Payload<()>, millis: Arc<u64>| {
        let pause = handle.sleep(rospin_engine::ClockKind::Steady, Duration::from_millis(*millis));
        async move { pause.await.unwrap() }
    };
    let _pauses = group.create_local_subscription_async(topic("pauses"), pauses).unwrap();
    let _other = group.create_local_subscription(topic("other"), |(), _: Arc<u64>| {}).unwrap();
    let publisher = world.context.create_local_publisher("topic").unwrap();
    publisher.publish(999_u64);
    world.advance(Duration::ZERO);
    (0..999).for_each(|_| world.advance(MS));
    assert_eq!((world.told(), world.executor.next_due()), (vec![], None));
    world.advance(10 * SECOND);
    publisher.publish(1001);
    world.advance(Duration::ZERO);
    world.advance(SECOND);
    assert_eq!(world.told(), told("other", "pauses", SECOND));
}

#[test]
fn a_callback_that_awaits_a_further_run_of_itself_is_told() {
    let world = World::new();
    for options in [GroupOptions::new("held"), GroupOptions::new("released").releases_at_await()] {
        let group = world.executor.create_group(options, ());
        let topic = SubscriptionOptions::new("topic").name(group.name().to_owned());
        let never = group.create_local_subscription_async(topic, |_, _: Arc<u64>| pending()).unwrap();
        let publisher = world.context.create_local_publisher("topic").unwrap();
        publisher.publish(1_u64);
        publisher.publish(2);
        world.advance(Duration::ZERO);
        world.advance(SECOND);
        assert_eq!(world.told(), told(group.name(), group.name(), SECOND));
        drop(never);
    }
    let group = world.executor.create_group(GroupOptions::new("two").releases_at_await(), ());
    let topic = SubscriptionOptions::new("topic").max_in_flight(2);
    let _never = group.create_local_subscription_async(topic, |_, _: Arc<u64>| pending()).unwrap();
    let publisher = world.context.create_local_publisher("topic").unwrap();
    publisher.publish(1_u64);
    publisher.publish(2);
    world.advance(Duration::ZERO);
    world.advance(SECOND);
    assert_eq!(world.told(), []);
}

#[test]
fn an_executor_that_always_has_something_to_run_tells_too() {
    let world = World::new();
    let group = world.executor.create_group("group", ());
    let never = TimerOptions::one_shot(Duration::ZERO).name("never");
    let _never = group.create_timer_async(never, |_, _| pending()).unwrap();
    let _tick = group.create_timer(TimerOptions::periodic(100 * MS).name("tick"), |(), _| {}).unwrap();
    world.advance(Duration::ZERO);
    let busy = world.executor.create_group("busy", 0_u32);
    let publisher = world.context.create_local_publisher::<u32>("busy").unwrap();
    let (again, clock, stop) = (publisher.clone(), world.clock.clone(), world.executor.handle());
    // Each run takes 100 ms, and the next message is there before it ends.
    let _busy = busy.create_local_subscription("busy", move |runs, _: Arc<u32>| {
        *runs += 1;
        clock.advance(100 * MS);
        if *runs < 20 {
            again.publish(*runs);
        } else {
            stop.halt();
        }
    });
    publisher.publish(0);
    world.executor.spin(SpinOptions::new()).unwrap();
    let told = world.told();
    assert_eq!((told.len(), told[0].0.as_str()), (1, "tick"));
    assert!(told[0].2 >= SECOND && told[0].2 <= 2 * SECOND, "{told:?}");
}

#[test]
fn idle_threads_wake_by_themselves_to_tell() {
    let (sender, told) = std::sync::mpsc::channel();
    let context =
        Context::new(ContextOptions::new().on_incident(move |incident| sender.send(incident.clone()).unwrap()));
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    let group = executor.create_group("group", ());
    let never = TimerOptions::one_shot(Duration::ZERO).name("never");
    let _never = group.create_timer_async(never, |_, _| pending()).unwrap();
    let _other = group.create_timer(TimerOptions::one_shot(MS).name("other"), |(), _| {}).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| executor.spin(SpinOptions::new()).unwrap());
        let incident = told.recv_timeout(60 * SECOND).unwrap();
        executor.halt();
        assert!(matches!(incident.kind, IncidentKind::HeldUp { by, waited } if by == "never" && waited >= SECOND));
    });
}
