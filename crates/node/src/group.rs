//! Callback groups on which a node's entities are created.

use std::fmt;

use rospin_engine::{CallbackGroup, Context, Failures, ReentrantGroup};

/// A node's own group: mutually exclusive, without a payload, on the main executor of its [`Ros`](crate::Ros).
pub struct OwnGroup(pub(crate) CallbackGroup<()>);

impl fmt::Debug for OwnGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnGroup").field("name", &self.0.name()).finish_non_exhaustive()
    }
}

/// A callback group of any kind.
pub trait Group {
    #[doc(hidden)]
    fn name(&self) -> &str;
    #[doc(hidden)]
    fn context(&self) -> &Context;
    #[doc(hidden)]
    fn deployed_depth(&self, entity: &str) -> Option<usize>;
    #[doc(hidden)]
    fn failures(&self, entity: &str) -> Failures;
}

/// A group that runs at most one callback at a time.
pub trait Exclusive: Group {
    /// The state that the group's callbacks share.
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

/// Implements [`Group`] by forwarding to the engine's group.
macro_rules! group {
    ([$($generics:tt)*] $group:ty, |$given:ident| $inner:expr) => {
        impl<$($generics)*> Group for $group {
            fn name(&self) -> &str {
                let $given = self;
                $inner.name()
            }

            fn context(&self) -> &Context {
                let $given = self;
                $inner.context()
            }

            fn deployed_depth(&self, entity: &str) -> Option<usize> {
                let $given = self;
                $inner.deployed_depth(entity)
            }

            fn failures(&self, entity: &str) -> Failures {
                let $given = self;
                $inner.failures(entity)
            }
        }
    };
}

group!([P: Send + 'static] CallbackGroup<P>, |group| group);
group!([] OwnGroup, |group| group.0);
group!([] ReentrantGroup, |group| group);
