//! `/clock` as the source of ROS time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::{ExecutorHandle, GroupOptions, RosTime};

use crate::interfaces::rosgraph_msgs::Clock;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::{Subscription, TopicError};

/// ROS time follows `/clock` for as long as this lives. Afterwards it stands still, until it is set otherwise.
///
/// If several nodes of a context do that, they follow one of them, and another one once that or its executor is dropped: the
/// same message in several queues is not several times.
#[derive(Debug)]
#[must_use = "time stands still when it is dropped"]
pub struct SimTime {
    _subscription: Subscription,
    follower: Follower,
}

impl SimTime {
    /// Has ROS time follow the system clock again, unless somebody else has it follow `/clock`.
    pub(crate) fn end(self) {
        let Self { _subscription: subscription, follower } = self;
        drop(subscription);
        let time = follower.0.time.clone();
        drop(follower);
        let is_followed = || Follower::all().iter().any(|other| other.time == time);
        if !is_followed() {
            drop(time.set_active(false));
            // Somebody may have come, and activated it, just before that.
            if is_followed() {
                drop(time.set_active(true));
            }
        }
    }
}

impl Node {
    /// Has ROS time follow the topic `/clock`, as the parameter `use_sim_time` does: timers and sleeps on it, with jump
    /// callbacks before time moves. Pass [`Context::ros_time`](rospin_engine::Context::ros_time).
    ///
    /// The topic is read by an entity of `executor`, in a group called `clock` of its own. Time does not move while that
    /// executor is busy, so give it one that has nothing else to do, on a thread of its own.
    ///
    /// # Errors
    /// If the middleware refuses, or the executor is gone.
    pub fn use_sim_time(&self, executor: &ExecutorHandle, time: &RosTime) -> Result<SimTime, TopicError> {
        let group = executor.create_group(GroupOptions::new("clock").node(self.fully_qualified_name()), time.clone());
        // Best effort as in rclcpp: a time that is late is of no use.
        let options = SubscriptionOptions::new("/clock").keep_last(1).best_effort();
        let follower = Follower::new(time);
        let of_callback = follower.clone();
        let subscription =
            self.on(&group).create_subscription(options, move |time: &mut RosTime, message: Clock| {
                if of_callback.leads() {
                    // Nobody is waited for here: the jump callbacks may be this executor's.
                    drop(time.set(message.clock.into()));
                }
            })?;
        drop(time.set_active(true));
        Ok(SimTime { _subscription: subscription, follower })
    }
}

/// Everyone who has a ROS time follow `/clock`. Of those with the same time the first one leads.
static FOLLOWERS: Mutex<Vec<Arc<Following>>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Following {
    time: RosTime,
    leads: AtomicBool,
}

/// One of [`FOLLOWERS`], until it or a clone is dropped: the handle has one, and the callback another one, so that nobody is led
/// by one whose executor is gone.
#[derive(Clone, Debug)]
struct Follower(Arc<Following>);

impl Follower {
    fn all() -> MutexGuard<'static, Vec<Arc<Following>>> {
        // No user code runs under the lock.
        FOLLOWERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(time: &RosTime) -> Self {
        let mut all = Self::all();
        let is_first = !all.iter().any(|other| other.time == *time);
        let following = Arc::new(Following { time: time.clone(), leads: AtomicBool::new(is_first) });
        all.push(Arc::clone(&following));
        Self(following)
    }

    fn leads(&self) -> bool {
        self.0.leads.load(Ordering::Relaxed)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut all = Self::all();
        all.retain(|other| !Arc::ptr_eq(other, &self.0));
        if let Some(next) = all.iter().find(|other| other.time == self.0.time) {
            next.leads.store(true, Ordering::Relaxed);
        }
    }
}
