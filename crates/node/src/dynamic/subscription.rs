//! Subscriptions of types that are known at run time.

use rospin::{CallbackGroup, EntityKind, Payload, ReentrantGroup};

use super::decode::DynamicSeed;
use super::message::DynamicMessage;
use super::message_type::MessageType;
use crate::middleware::Middleware;
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::subscription::{Draft, Subscription, TopicError};

impl<X: Middleware> Node<X> {
    fn dynamic_draft(
        &self,
        group: &str,
        options: SubscriptionOptions,
        message_type: &MessageType,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> Result<Draft<DynamicSeed, X>, TopicError> {
        let seed = DynamicSeed(message_type.clone());
        let draft = Draft::of_type(self, group, options, &message_type.type_name(), seed, deployed_depth)?;
        self.add_message_type(message_type);
        Ok(draft)
    }

    /// Creates a subscription of messages of that type on a group; a plain `&str` is its topic. From then on the node
    /// [knows the type](Self::add_message_type).
    ///
    /// It hears publishers of that type, whether they know it at run time or when they are compiled, but within one process
    /// [without a network](crate::InProcess) only the former. What is not of the type is counted as
    /// [`TakeFailed`](rospin::LossCause::TakeFailed).
    ///
    /// ```
    /// # use rospin::{Context, ContextOptions, ExecutorOptions};
    /// # use rospin_node::dynamic::{DynamicMessage, MessageType};
    /// # use rospin_node::{InProcess, Node};
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// # let node = Node::new(&InProcess::new(&context), "driver")?;
    /// # let group = executor.create_group("driver", ());
    /// # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
    /// let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
    /// let _subscription =
    ///     node.create_dynamic_subscription(&group, "cmd_vel", &twist, |(), message: DynamicMessage| {
    ///         println!("{message}\n---");
    ///     })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the topic's name is none, the middleware refuses, or the group is gone.
    pub fn create_dynamic_subscription<P, F>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        P: Send + 'static,
        F: FnMut(&mut P, DynamicMessage) + Send + 'static,
    {
        let deployed_depth = |name: &str| group.deployed_depth(name);
        let draft = self.dynamic_draft(group.name(), options.into(), message_type, deployed_depth)?;
        draft.finish(|options, messages| group.create_source(EntityKind::Subscription, options, messages, callback))
    }

    /// As [`create_dynamic_subscription`](Self::create_dynamic_subscription), with an asynchronous callback.
    ///
    /// # Errors
    /// If the topic's name is none, the middleware refuses, or the group is gone.
    pub fn create_dynamic_subscription_async<P, F, Fut>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        P: Send + 'static,
        F: FnMut(Payload<P>, DynamicMessage) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let deployed_depth = |name: &str| group.deployed_depth(name);
        let draft = self.dynamic_draft(group.name(), options.into(), message_type, deployed_depth)?;
        draft.finish(|options, messages| {
            group.create_source_async(EntityKind::Subscription, options, messages, callback)
        })
    }

    /// As [`create_dynamic_subscription`](Self::create_dynamic_subscription), on a reentrant group.
    ///
    /// # Errors
    /// If the topic's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_dynamic_subscription<F>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        F: Fn(DynamicMessage) + Send + Sync + 'static,
    {
        let deployed_depth = |name: &str| group.deployed_depth(name);
        let draft = self.dynamic_draft(group.name(), options.into(), message_type, deployed_depth)?;
        draft.finish(|options, messages| group.create_source(EntityKind::Subscription, options, messages, callback))
    }

    /// As [`create_dynamic_subscription`](Self::create_dynamic_subscription), with an asynchronous callback on a reentrant group.
    ///
    /// # Errors
    /// If the topic's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_dynamic_subscription_async<F, Fut>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<SubscriptionOptions>,
        message_type: &MessageType,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        F: Fn(DynamicMessage) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let deployed_depth = |name: &str| group.deployed_depth(name);
        let draft = self.dynamic_draft(group.name(), options.into(), message_type, deployed_depth)?;
        draft.finish(|options, messages| {
            group.create_source_async(EntityKind::Subscription, options, messages, callback)
        })
    }
}
