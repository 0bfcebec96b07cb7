//! Callback groups on which a node's entities are created.

use std::fmt;
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, Context, Entity, EntityKind, EntityOptions, Failures, GroupGone, JumpCallback, JumpThreshold,
    ReentrantGroup, Source, SourceError, TimeJump, Timer, TimerError, TimerOptions,
};

/// Own group of a node: mutually exclusive, without a payload, on the main executor of its [`Ros`](crate::Ros) or the
/// one that the node's [options](crate::NodeOptions::executor) name.
///
/// One of its callbacks runs at a time. While an asynchronous one awaits, others run, so that it may await what they
/// do: the answer of a service of the same node, a transform, a parameter, a tick. One activation of each entity is
/// under way at a time, so that messages of a topic are handled one after the other, unless
/// [`max_in_flight`](crate::SubscriptionOptions::max_in_flight) says otherwise. A group that a node
/// [creates](crate::Node::create_group) is held across awaits instead.
#[derive(Clone)]
pub struct OwnGroup(pub(crate) CallbackGroup<()>);

impl fmt::Debug for OwnGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnGroup").field("name", &self.0.name()).finish_non_exhaustive()
    }
}

/// A callback group of any kind: a node's [own](OwnGroup), one that a node created
/// ([`CallbackGroup`](crate::CallbackGroup), [`ReentrantGroup`](crate::ReentrantGroup)), or one of an executor.
pub trait Group {
    /// The group for which callbacks are checked: a node's own group, or the engine's group.
    type Kind: Group + Clone
    where
        Self: Sized;

    #[doc(hidden)]
    fn kind(&self) -> &Self::Kind
    where
        Self: Sized;
    #[doc(hidden)]
    fn name(&self) -> &str;
    #[doc(hidden)]
    fn context(&self) -> &Context;
    /// Returns the default name of an entity of this group: the names of node and group, and `of`, such as a topic or
    /// `timer`.
    #[doc(hidden)]
    fn entity_name(&self, of: &str) -> String;
    /// Returns the full name of an entity that its options call `given`.
    #[doc(hidden)]
    fn name_given(&self, given: &str) -> String;
    /// Returns the full name of an entity: the one that its options give it, or else the default one for what it
    /// serves.
    #[doc(hidden)]
    fn name_of(&self, given: Option<&str>, of: &str) -> String {
        match given {
            Some(given) => self.name_given(given),
            None => self.entity_name(of),
        }
    }
    /// Returns the queue depth that the deployment file has for an entity of that name.
    #[doc(hidden)]
    fn deployed_depth(&self, entity: &str) -> Option<usize>;
    /// Returns the way by which errors of an entity's callback are reported.
    #[doc(hidden)]
    fn failures(&self, entity: &str) -> Failures;
    /// Creates an entity whose callback uses no payload.
    #[doc(hidden)]
    fn create_inner<S: Source>(
        &self,
        kind: EntityKind,
        options: EntityOptions,
        source: S,
        callback: impl Fn(S::Item) + Send + Sync + 'static,
    ) -> Result<Entity, SourceError>
    where
        Self: Sized;
    /// Creates a timer whose callback uses no payload.
    #[doc(hidden)]
    fn create_inner_timer(
        &self,
        options: TimerOptions,
        callback: impl Fn() + Send + Sync + 'static,
    ) -> Result<Timer, TimerError>
    where
        Self: Sized;
    /// Creates a callback that runs when ROS time jumps back, or changes its source.
    #[doc(hidden)]
    fn create_reset_callback(
        &self,
        callback: impl Fn(&TimeJump) + Send + Sync + 'static,
    ) -> Result<JumpCallback, GroupGone>
    where
        Self: Sized;
}

/// The jumps after which earlier stamps mean nothing any more.
pub(crate) const RESET: JumpThreshold =
    JumpThreshold { min_forward: None, min_backward: Some(Duration::from_nanos(1)), on_clock_change: true };

/// Callback group that runs at most one callback at a time.
pub trait Exclusive: Group {
    /// Type of the payload, which the group's callbacks share.
    type Payload: Send + 'static;

    #[doc(hidden)]
    fn group(&self) -> &CallbackGroup<Self::Payload>;
}

impl<P: Send + 'static> Exclusive for CallbackGroup<P> {
    type Payload = P;

    fn group(&self) -> &Self {
        self
    }
}

impl Exclusive for OwnGroup {
    type Payload = ();

    fn group(&self) -> &CallbackGroup<()> {
        &self.0
    }
}

/// Implements [`Group`] for `$group` by forwarding to the engine's group: `$inner`, from the group `$given`. The
/// callbacks of the engine's group take `$payload`, if there is one, before their item. Callbacks are checked for the
/// group `$of_kind` of type `$kind`.
macro_rules! group {
    ([$($generics:tt)*] $group:ty, ($($payload:pat)?), |$given:ident| $inner:expr, $kind:ty: $of_kind:expr) => {
        impl<$($generics)*> Group for $group {
            type Kind = $kind;

            fn kind(&self) -> &$kind {
                let $given = self;
                $of_kind
            }

            fn name(&self) -> &str {
                let $given = self;
                $inner.name()
            }

            fn context(&self) -> &Context {
                let $given = self;
                $inner.context()
            }

            fn entity_name(&self, of: &str) -> String {
                let $given = self;
                $inner.entity_name(of)
            }

            fn name_given(&self, given_name: &str) -> String {
                let $given = self;
                $inner.name_given(given_name)
            }

            fn deployed_depth(&self, entity: &str) -> Option<usize> {
                let $given = self;
                $inner.deployed_depth(entity)
            }

            fn failures(&self, entity: &str) -> Failures {
                let $given = self;
                $inner.failures(entity)
            }

            fn create_inner<S: Source>(
                &self,
                kind: EntityKind,
                options: EntityOptions,
                source: S,
                callback: impl Fn(S::Item) + Send + Sync + 'static,
            ) -> Result<Entity, SourceError> {
                let $given = self;
                $inner.create_source(kind, options, source, move |$($payload,)? item| callback(item))
            }

            fn create_inner_timer(
                &self,
                options: TimerOptions,
                callback: impl Fn() + Send + Sync + 'static,
            ) -> Result<Timer, TimerError> {
                let $given = self;
                $inner.create_timer(options, move |$($payload,)? _| callback())
            }

            fn create_reset_callback(
                &self,
                callback: impl Fn(&TimeJump) + Send + Sync + 'static,
            ) -> Result<JumpCallback, GroupGone> {
                let $given = self;
                $inner.create_jump_callback(RESET, move |$($payload,)? jump| callback(jump))
            }
        }
    };
}

group!([P: Send + 'static] CallbackGroup<P>, (_), |group| group, Self: group);
group!([] OwnGroup, (_), |group| group.0, Self: group);
group!([] ReentrantGroup, (), |group| group, Self: group);

pub(crate) use group;
