//! Log records on `/rosout`.
//!
//! Whoever logs leaves the record in a queue; an entity of the node publishes it. So a log record never waits for a middleware,
//! and it does not matter what locks of one are held where it is made.

mod logger;
mod queue;

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Entity, EntityKind, EntityOptions, ExecutorHandle, GroupOptions, LossCause, SourceError};

use crate::interfaces::rcl_interfaces as wire;
use crate::node::Node;
use crate::options::PublisherOptions;
use crate::subscription::TopicError;

pub use logger::{Logger, RosoutLog};
use queue::Records;
pub(crate) use queue::{Quiet, RecordQueue};

/// How many records are kept, for late subscriptions and until they are published: as in rcl.
const RECORDS_MAX: usize = 1000;

/// Why log records cannot be published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RosoutError {
    /// They are.
    #[error("the log of node `{node}` is published already; keep what the first call returned")]
    AlreadyPublished {
        /// The node.
        node: String,
    },
    /// The publisher could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The executor is gone.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Publishes the log records of a node on `/rosout`, until it is dropped.
#[must_use = "log records are no longer published when it is dropped"]
pub struct Rosout {
    entity: Entity,
    open: Open,
    _node: Node,
}

/// That records are kept for being published.
struct Open(Arc<RecordQueue>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Rosout {
    /// How many records made room for newer ones before the executor could publish them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.entity.lost(LossCause::QueueFull)
    }
}

impl fmt::Debug for Rosout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rosout").field("logger", &self.open.0.name()).finish_non_exhaustive()
    }
}

impl Node {
    /// What logs in the name of this node, with the macros of the `log` crate. Cheap; all of them are the same logger.
    ///
    /// See [`publish_rosout`](Self::publish_rosout).
    #[must_use]
    pub fn logger(&self) -> Logger {
        Logger::new(Arc::clone(self.records()))
    }

    /// Has `executor` publish on `/rosout` what is logged in the name of this node from here on: by an entity of a group called
    /// `rosout`, which a deployment file can move.
    ///
    /// Late subscriptions get the last 1000 records, if they are transient local.
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
    /// # use rospin_node::interfaces::rcl_interfaces::Log;
    /// # use rospin_node::{Ros, Node, SubscriptionOptions};
    /// # log::set_max_level(log::LevelFilter::Info);
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let node = Ros::in_process(&context).create_node("motor")?;
    /// let _rosout = node.publish_rosout(&executor.handle())?;
    /// log::warn!(logger: node.logger(), "{} degrees", 90);
    ///
    /// let group = executor.create_group("console", Vec::new());
    /// let rosout = SubscriptionOptions::new("/rosout").keep_last(1000).transient_local();
    /// let _console = node.on(&group).create_subscription(rosout, |lines: &mut Vec<String>, record: Log| {
    ///     lines.push(format!("{}: {}", record.name, record.msg));
    /// })?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(group.into_payload().unwrap(), ["motor: 90 degrees"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they are published already, the middleware refuses, or the executor is gone.
    pub fn publish_rosout(&self, executor: &ExecutorHandle) -> Result<Rosout, RosoutError> {
        let records = self.records();
        let node = self.fully_qualified_name();
        let options = PublisherOptions::new("/rosout").keep_last(RECORDS_MAX).transient_local();
        let publisher = self.create_publisher::<wire::Log>(options)?;
        if !records.open() {
            return Err(RosoutError::AlreadyPublished { node });
        }
        let open = Open(Arc::clone(records));
        let options = EntityOptions::new(format!("{node}/rosout")).depth(RECORDS_MAX);
        let group = executor.create_group(GroupOptions::new("rosout").node(node), ());
        let source = Records::new(records);
        let entity = group.create_source(EntityKind::Waitable, options, source, move |(), record| {
            // What is logged meanwhile is about the record, and would be followed by another one about itself.
            let _quiet = Quiet::here();
            if let Err(error) = publisher.publish(record) {
                log::warn!(target: "rospin", "{error}");
            }
        })?;
        Ok(Rosout { entity, open, _node: self.clone() })
    }
}
