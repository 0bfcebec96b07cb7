//! `/clock` as the source of ROS time.

use rospin::{ExecutorHandle, GroupOptions, RosTime};

use crate::interfaces::rosgraph_msgs::Clock;
use crate::middleware::Middleware;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::{Subscription, TopicError};

/// ROS time follows `/clock` for as long as this lives. Afterwards it stands still, until it is set otherwise.
#[derive(Debug)]
#[must_use = "time stands still when it is dropped"]
pub struct SimTime<X: Middleware> {
    _subscription: Subscription<X>,
}

impl<X: Middleware> Node<X> {
    /// Has ROS time follow the topic `/clock`, as the parameter `use_sim_time` does: timers and sleeps on it, with jump
    /// callbacks before time moves. Pass [`Context::ros_time`](rospin::Context::ros_time).
    ///
    /// The topic is read by an entity of `executor`, in a group called `clock` of its own. Time does not move while that
    /// executor is busy, so give it one that has nothing else to do, on a thread of its own.
    ///
    /// # Errors
    /// If the middleware refuses, or the executor is gone.
    pub fn use_sim_time(&self, executor: &ExecutorHandle, time: &RosTime) -> Result<SimTime<X>, TopicError> {
        let group = executor.create_group(GroupOptions::new("clock").node(self.fully_qualified_name()), time.clone());
        // Best effort as in rclcpp: a time that is late is of no use.
        let options = SubscriptionOptions::new("/clock").keep_last(1).best_effort();
        let subscription = self.create_subscription(&group, options, |time: &mut RosTime, message: Clock| {
            // Nobody is waited for here: the jump callbacks may be this executor's.
            drop(time.set(message.clock.into()));
        })?;
        drop(time.set_active(true));
        Ok(SimTime { _subscription: subscription })
    }
}
