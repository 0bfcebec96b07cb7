//! Log records on `/rosout`.
//!
//! A logger only appends the record to a queue; an entity of the node publishes it. So logging never waits for a
//! middleware, and is safe while locks of a middleware are held.

mod limited;
mod limits;
mod logger;
pub(crate) mod queue;

use std::fmt;
use std::sync::Arc;

use rospin_engine::{Entity, EntityKind, EntityOptions, ExecutorHandle, GroupOptions, LossCause, SourceError};

use crate::error::TopicError;
use crate::interfaces::rcl_interfaces as wire;
use crate::node::Node;
use crate::options::PublisherOptions;

pub use limited::LimitedLogger;
pub use logger::{Logger, RosoutLog};
pub(crate) use queue::{Quiet, RecordQueue};
use queue::{RECORDS_MAX, Records};

/// Reasons for which log records cannot be published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RosoutError {
    /// The node's log records are published already.
    #[error("the log of node `{node}` is published already; keep what the first call returned")]
    AlreadyPublished {
        /// Fully qualified name of the node.
        node: String,
    },
    /// The publisher could not be created.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The executor was dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Publisher of the log records of a node on `/rosout`, until it is dropped.
#[must_use = "log records are no longer published when it is dropped"]
pub struct Rosout {
    entity: Entity,
    open: Open,
    _node: Node,
}

/// Guard that keeps the queue open for records until it is dropped.
struct Open(Arc<RecordQueue>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Rosout {
    /// Returns the number of records that newer ones displaced before the executor could publish them.
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
    /// Returns the node's logger, which works with the macros of the crate `log`. Cheap; every call returns the same
    /// logger.
    ///
    /// [`publish_rosout`](Self::publish_rosout) has an example.
    #[must_use]
    #[doc(alias = "get_logger")]
    pub fn logger(&self) -> Logger {
        Logger::new(Arc::clone(self.part()))
    }

    /// Makes `executor` publish on `/rosout` the records that are logged in the name of this node from now on. By
    /// default, the executor of the node's own group does that; this method has `executor` do it instead. The entity is
    /// in a group called `rosout`, which a deployment file can move.
    ///
    /// Late transient local subscriptions get the last 1000 records.
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions, SubscriptionOptions};
    /// # use rospin::message::interfaces::rcl_interfaces::Log;
    /// # log::set_max_level(log::LevelFilter::Info);
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let node = Ros::in_process(&context).create_node("motor")?;
    /// let _rosout = node.publish_rosout(&executor.handle())?;
    /// log::warn!(logger: node.logger(), "{} degrees", 90);
    ///
    /// let group = node.create_group_on(&executor.handle(), "console", Vec::new());
    /// let rosout = SubscriptionOptions::new("/rosout").keep_last(1000).transient_local();
    /// let _console = group.create_subscription(rosout, |lines: &mut Vec<String>, record: Log| {
    ///     lines.push(format!("{}: {}", record.name, record.msg));
    /// })?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(group.into_payload().unwrap(), ["motor: 90 degrees"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If another [`Rosout`] of the node exists, the middleware refuses, or the executor was dropped.
    pub fn publish_rosout(&self, executor: &ExecutorHandle) -> Result<Rosout, RosoutError> {
        self.end_kept::<Rosout>();
        let records = self.part::<RecordQueue>();
        let node = self.fully_qualified_name();
        let options = PublisherOptions::new("/rosout").keep_last(RECORDS_MAX).transient_local();
        let publisher = self.create_publisher::<wire::Log>(options)?;
        if !records.open() {
            return Err(RosoutError::AlreadyPublished { node });
        }
        let open = Open(Arc::clone(records));
        let group = executor.create_group(GroupOptions::new("rosout").node(node), ());
        let options = EntityOptions::new(group.entity_name("records")).depth(RECORDS_MAX);
        let source = Records::new(records);
        let entity = group.create_source(EntityKind::Waitable, options, source, move |(), record| {
            // Records that are logged during the publication are about it, and would cause the next publication.
            let _quiet = Quiet::here();
            if let Err(error) = publisher.publish(record) {
                log::warn!(target: "rospin", "{error}");
            }
        })?;
        Ok(Rosout { entity, open, _node: self.clone() })
    }
}
