//! Transforms that come over a topic, and look-ups that wait for them.
//!
//! A look-up gets the transform of its time. It ends with its timeout only after that, and when all is quiet, none
//! waits for a transform that is there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_engine::ClockKind;
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::geometry_msgs::msg::TransformStamped;
use rospin_tf2::{Buffer, StaticTransformBroadcaster, TransformBroadcaster, TransformListener, WaitError};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, give_up, lock};

/// The time between two transforms. All of a program are within the time that a buffer keeps.
const STEP_NS: u32 = 10_000_000;

#[derive(Default)]
struct Site {
    /// The number of the last transform that was sent.
    last: u32,
    is_sending: bool,
    has_static: bool,
    /// The look-ups that wait, with the numbers of their transforms.
    waiting: BTreeMap<u64, u32>,
    next: u64,
}

pub(crate) struct Transforms {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    dynamic: TransformBroadcaster,
    fixed: StaticTransformBroadcaster,
    buffer: Buffer,
    _listener: TransformListener,
}

fn time(number: u32) -> Time {
    Time { sec: 1, nanosec: number * STEP_NS }
}

fn transform(parent: &str, child: &str, number: u32) -> TransformStamped {
    let mut transform = TransformStamped { child_frame_id: child.to_owned(), ..TransformStamped::default() };
    transform.header.frame_id = parent.to_owned();
    transform.header.stamp = time(number);
    transform.transform.translation.x = f64::from(number);
    transform.transform.rotation.w = 1.0;
    transform
}

impl Transforms {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let sender = stage.node("odometry");
        let buffer = Buffer::new();
        let group = stage.group(rng, "transforms");
        let listener = TransformListener::on(&stage.node("planner"), &group, buffer.clone()).unwrap();
        Self {
            stage: stage.clone(),
            site: Arc::default(),
            dynamic: TransformBroadcaster::new(&sender).unwrap(),
            fixed: StaticTransformBroadcaster::new(&sender).unwrap(),
            buffer,
            _listener: listener,
        }
    }

    fn send(&self, rng: &mut Rng) {
        if rng.percent(20) {
            lock(&self.site).has_static = true;
            self.fixed.send_transform(transform("base", "laser", 1)).expect("there is room");
            return;
        }
        let number = {
            let mut site = lock(&self.site);
            if std::mem::replace(&mut site.is_sending, true) {
                return;
            }
            site.last += 1;
            site.last
        };
        self.stage.note(format!("sends transform {number}"));
        self.dynamic.send_transform(transform("map", "base", number)).expect("there is room");
        lock(&self.site).is_sending = false;
    }

    async fn wait(&self, mut rng: Rng) {
        let (number, id) = {
            let mut site = lock(&self.site);
            site.next += 1;
            let number = 1 + rng.below(site.last as usize + 2) as u32;
            (number, site.next)
        };
        let limit = Duration::from_millis(rng.in_range(0, 12));
        let due = self.stage.clock_now() + limit;
        let sleep = self.stage.executor(&mut rng).sleep(ClockKind::Steady, limit);
        let wait = self.buffer.wait_for_transform("map", "base", time(number)).timeout(sleep);
        if rng.percent(20) {
            drop(give_up(wait, rng.below(3)));
            return;
        }
        self.stage.note(format!("look-up {id} waits for transform {number}, at most for {limit:?}"));
        lock(&self.site).waiting.insert(id, number);
        let found = wait.await;
        lock(&self.site).waiting.remove(&id);
        self.stage.note(format!("look-up {id} ends: {:?}", found.as_ref().map(|found| found.transform.translation.x)));
        let is_right = match &found {
            Ok(found) => found.transform.translation.x == f64::from(number) && found.header.stamp == time(number),
            Err(WaitError::Timeout { .. }) => self.stage.clock_now() >= due,
            // A transform from before the first one never comes.
            Err(_) => false,
        };
        self.stage.check(is_right, || format!("the look-up of transform {number} for {limit:?} ended as {found:?}"));
    }
}

impl Feature for Transforms {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            match rng.below(10) {
                0..=4 => self.send(&mut rng),
                _ => self.wait(rng).await,
            }
        })
    }

    fn quiet(&self) {
        let (waiting, last, has_static) = {
            let site = lock(&self.site);
            (site.waiting.clone(), site.last, site.has_static)
        };
        if last > 0 {
            let newest = self.buffer.latest_common_time("map", "base");
            let is_there = newest == Ok(Some(time(last)));
            self.stage.check(is_there, || format!("transform {last} was sent, and the newest one is {newest:?}"));
        }
        if has_static {
            let is_there = self.buffer.can_transform("base", "laser", time(1)).is_ok();
            self.stage.check(is_there, || "a static transform was sent, and did not arrive".to_owned());
        }
        for (id, number) in waiting {
            let is_there = self.buffer.can_transform("map", "base", time(number)).is_ok();
            self.stage.check(!is_there, || format!("look-up {id} waits for transform {number}, which is there"));
        }
    }

    fn end(&self) {}
}
