//! The topic `/clock` as the source of ROS time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rospin_engine::{ExecutorHandle, GroupOptions, RosTime};

use crate::error::TopicError;
use crate::interfaces::rosgraph_msgs::Clock;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::Subscription;

/// Guard that makes ROS time follow `/clock` until it is dropped. ROS time then stands still until it is set again.
///
/// If several nodes of a context follow `/clock`, only one of them sets the time, because each of them gets the same
/// messages. When that node's guard or its executor is dropped, another node takes over.
#[derive(Debug)]
#[must_use = "time stands still when it is dropped"]
pub struct SimTime {
    _subscription: Subscription,
    follower: Follower,
}

impl SimTime {
    /// Makes ROS time follow the system clock again, unless another `SimTime` makes it follow `/clock`.
    pub(crate) fn end(self) {
        let Self { _subscription: subscription, follower } = self;
        drop(subscription);
        let time = follower.0.time.clone();
        drop(follower);
        let is_followed = || Follower::all().iter().any(|other| other.time == time);
        if !is_followed() {
            drop(time.set_active(false));
            // Another thread may have begun to follow `/clock` since the check. The call above has then undone its
            // activation.
            if is_followed() {
                drop(time.set_active(true));
            }
        }
    }
}

impl Node {
    /// Makes ROS time follow the topic `/clock` until the result is dropped, as the parameter `use_sim_time` does.
    /// Timers and sleeps on ROS time move with it, and jump callbacks run before the time moves. `time` is the
    /// [`ros_time`](rospin_engine::Context::ros_time) of the node's context.
    ///
    /// The topic is read by an entity of `executor`, in a group of its own called `clock`. Time does not move while
    /// that executor is busy, so use an executor that does nothing else, on a thread of its own.
    ///
    /// # Errors
    /// If the middleware refuses, or the executor was dropped.
    pub fn use_sim_time(&self, executor: &ExecutorHandle, time: &RosTime) -> Result<SimTime, TopicError> {
        let group = executor.create_group(GroupOptions::new("clock").node(self.fully_qualified_name()), time.clone());
        // Best effort, as in rclcpp: a clock message that arrives late is useless.
        let options = SubscriptionOptions::new("/clock").keep_last(1).best_effort();
        let follower = Follower::new(time);
        let of_callback = follower.clone();
        let subscription =
            self.on(&group).create_subscription(options, move |time: &mut RosTime, message: Clock| {
                if of_callback.leads() {
                    // The barrier is not awaited: the jump callbacks may be on this executor, and then waiting would
                    // deadlock.
                    drop(time.set(message.clock.into()));
                }
            })?;
        drop(time.set_active(true));
        Ok(SimTime { _subscription: subscription, follower })
    }
}

/// All followers of `/clock` in this process. Among those of the same ROS time the first one leads, that is, sets the
/// time.
static FOLLOWERS: Mutex<Vec<Arc<Following>>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Following {
    time: RosTime,
    /// True if this one sets the time.
    leads: AtomicBool,
}

/// An entry in [`FOLLOWERS`]. It is removed when the first of its clones is dropped: the guard's, or that of the
/// callback, which is dropped with its executor. So a follower whose executor is gone does not lead.
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
