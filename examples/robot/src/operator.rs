//! The operator: asks the robot to face the lamp, and logs how it goes.

use rospin::log;
use rospin::prelude::*;

use crate::robot_interfaces::action::{Face, FaceGoal};

/// The node `operator`.
pub struct Operator {
    _begin: Timer,
}

impl Operator {
    /// Starts the node.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub fn new(ros: &Ros) -> rospin::Result<Self> {
        // ANCHOR: client
        let node = ros.create_node("operator")?;
        let client = Arc::new(node.create_action_client::<Face>("face")?);
        let logger = node.logger();
        let begin = node.create_timer(TimerOptions::one_shot(Duration::ZERO), move |_: Tick| {
            let client = Arc::clone(&client);
            let logger = logger.clone();
            async move {
                client.wait_for_server().await;
                log::info!(logger: logger, "the robot is asked to face the lamp");
                let goal = client.send_goal(FaceGoal::default()).await?;
                if let Some(mut feedback) = goal.take_feedback() {
                    while let Some(seen) = feedback.next().await {
                        log::debug!(logger: logger, "the lamp is at {:.3} rad", seen.bearing);
                    }
                }
                let outcome = goal.result().await?;
                log::info!(logger: logger, "{:?}: the lamp is at {:.3} rad", outcome.state, outcome.result.bearing);
                rospin::Ok(())
            }
        })?;
        // ANCHOR_END: client
        Ok(Self { _begin: begin })
    }
}
