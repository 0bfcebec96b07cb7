//! Drafts of entities: a draft has options and a source, and becomes an entity with its callback.

use crate::sync::Mutex;
use std::sync::Arc;

use rospin_core::{EntityKind, EntitySpec, GroupKind, Priority, TimerSpec};
use rospin_scenario::deployment::CallbackPlan;

use crate::body::{AsyncBody, Attached, Direct, Due, ExclusiveBody, Locked, Payload, SharedBody, Take};
use crate::entity::EntityHandle;
use crate::error::{GroupGone, TimerError, depth_of};
use crate::group_core::GroupCore;
use crate::jump_source::JumpSource;
use crate::loss::LossCounters;
use crate::membership::{Membership, TimerKind, TimerShared};
use crate::options::{Common, EntityOptions, ServiceOptions, SubscriptionOptions, TimerOptions};
use crate::ros_time::JumpThreshold;
use crate::service::{ServiceError, ServiceSource};
use crate::signal::Signal;
use crate::source::{Closer, Notifier, Source, SourceError, TakeError};
use crate::state::{NewEntity, NewTimer};
use crate::timer::Timer;
use crate::topic::{TopicError, TopicSource};
use crate::work::{Callback, Label};

/// The default number of activations that an asynchronous callback may have under way, if its group allows several.
const ASYNC_IN_FLIGHT: u32 = 16;

/// An entity without its callback.
pub(crate) struct Draft<'a, T> {
    outline: Outline<'a>,
    take: T,
}

/// The part of a draft that depends neither on the source's type nor on the callback's. Its functions are compiled
/// once, and not again for each callback of each program.
struct Outline<'a> {
    group: &'a Arc<GroupCore>,
    kind: EntityKind,
    common: Common,
    name: String,
    losses: Arc<LossCounters>,
    timer: Option<NewTimer>,
    /// Function that ends the source's input as soon as the handle is dropped.
    closer: Option<Closer>,
    /// Signal that the source notifies by; `None` for a timer, which has no source that notifies.
    signal: Option<Arc<Signal>>,
}

impl<'a> Outline<'a> {
    /// Begins an entity without a source: applies the deployment, and opens the loss counters. `depth` is the depth of
    /// the entity's queue, which the deployment may replace; `None` if the entity has no queue.
    fn new(
        group: &'a Arc<GroupCore>,
        kind: EntityKind,
        mut common: Common,
        depth: Option<&mut usize>,
        default_name: &dyn Fn() -> String,
    ) -> Result<Self, GroupGone> {
        group.check()?;
        let name = common.name.clone().unwrap_or_else(default_name);
        let losses = group.context.open_counters(&name, common.name.as_ref().unwrap_or(&group.name));
        deploy(group, (&name, &losses), &mut common, depth);
        Ok(Self { group, kind, common, name, losses, timer: None, closer: None, signal: None })
    }

    /// Begins an entity over a source, and also returns the signal to attach the source to.
    fn with_source(
        group: &'a Arc<GroupCore>,
        kind: EntityKind,
        common: Common,
        depth: Option<&mut usize>,
        default_name: &dyn Fn() -> String,
    ) -> Result<(Self, Arc<Signal>), GroupGone> {
        let mut outline = Self::new(group, kind, common, depth, default_name)?;
        let signal = Signal::new(&group.executor.shared, Some(Arc::clone(&outline.losses)));
        outline.signal = Some(Arc::clone(&signal));
        Ok((outline, signal))
    }

    /// Returns the notifier that tells the executor of further items before the callback of the first one has ended;
    /// `None` if only one activation may be under way.
    fn more(&self, in_flight: u32) -> Option<Notifier> {
        // A timer has no signal: the scheduler starts its next activation by itself.
        let signal = self.signal.as_ref().filter(|_| in_flight > 1);
        signal.map(|signal| Notifier(Arc::clone(signal)))
    }

    /// Returns what the entity's callbacks know of it.
    fn label(&self) -> Arc<Label> {
        Arc::new(Label {
            entity: self.name.as_str().into(),
            group: self.group.name.as_str().into(),
            on_panic: self.group.on_panic,
            losses: Arc::clone(&self.losses),
        })
    }

    /// Hands the entity over to its executor, with its callback. Returns the entity's handle.
    fn finish(self, max_in_flight: u32, callback: Box<Callback>) -> EntityHandle {
        let Self { group, kind, common, name, losses, timer, closer, signal } = self;
        let priority =
            common.priority.or_else(|| group.context.priority_of(&name, &group.namespace)).unwrap_or_default();
        let excludes = group.kind == GroupKind::MutuallyExclusive;
        let membership = Membership::new(&group.executor.shared);
        let group_id = Arc::clone(&group.id);
        let member = Arc::clone(&membership);
        let full_name = name.clone();
        let timer_shared = timer.as_ref().map(|timer| Arc::clone(&timer.shared));
        let addition = group.executor.submit(move |state| {
            let Some(group) = group_id.get() else {
                // The group was removed meanwhile.
                state.drop_later(callback);
                return;
            };
            let mut spec = EntitySpec::new(full_name, kind, *group)
                .priority(priority)
                .max_in_flight(max_in_flight)
                .releases_group_at_await(excludes && common.releases_group_at_await)
                .precedes_all(common.precedes_all);
            spec.deadline = common.deadline;
            state.add_entity(NewEntity { spec, timer, callback, membership: member, signal });
        });
        EntityHandle { group: Arc::clone(group), name, losses, membership, addition, closer, timer: timer_shared }
    }
}

/// Enters the entity, with its name and its counters, into the catalog, and applies the settings of the deployment
/// file, which take precedence.
fn deploy(
    group: &GroupCore,
    (name, losses): (&str, &Arc<LossCounters>),
    common: &mut Common,
    depth: Option<&mut usize>,
) {
    let context = &group.context;
    let namespace = group.namespace.as_str();
    context.catalog().callback(namespace, losses, || {
        let mut plan = CallbackPlan::new(name);
        plan.priority =
            common.priority.or_else(|| context.priority_of(name, namespace)).map(|Priority(priority)| priority);
        plan.deadline = common.deadline;
        plan.depth = depth.as_ref().map(|depth| u32::try_from(**depth).unwrap_or(u32::MAX));
        plan
    });
    let Some(deployed) = context.deployed() else {
        return;
    };
    let plan = deployed.callback(name, namespace);
    common.priority = plan.priority.map(Priority).or(common.priority);
    common.deadline = plan.deadline.or(common.deadline);
    if let (Some(depth), Some(planned)) = (depth, plan.depth) {
        *depth = planned as usize;
    }
}

fn attach<S: Source>(mut source: S, signal: &Arc<Signal>) -> Result<Attached<S>, TakeError> {
    let attachment = source.attach(Notifier(Arc::clone(signal)))?;
    Ok(Attached::new(source, attachment))
}

/// Attaches a source of rospin's own, which can always notify.
fn attach_own<S: Source<Attachment = ()>>(mut source: S, signal: &Arc<Signal>) -> Attached<S> {
    let attached = source.attach(Notifier(Arc::clone(signal)));
    debug_assert!(attached.is_ok(), "topics and services always notify");
    Attached::new(source, ())
}

impl<'a> Draft<'a, Due> {
    pub(crate) fn timer(group: &'a Arc<GroupCore>, options: TimerOptions) -> Result<Self, TimerError> {
        let TimerOptions { common, period, delay, first_due, clock, overrun } = options;
        let kind = EntityKind::Timer;
        let mut outline = Outline::new(group, kind, common, None, &|| group.unnamed(kind))?;
        if period.is_some_and(|period| period.is_zero()) {
            return Err(TimerError::ZeroPeriod { timer: outline.name });
        }
        group.context.catalog().timer(&outline.name);
        let begin = group.context.clock().begin_wait(clock);
        let reckoned = first_due.is_none().then_some((begin, delay));
        let first_due = first_due.unwrap_or(begin.now + delay);
        let spec = match period {
            Some(period) => TimerSpec::periodic(first_due, period),
            None if reckoned.is_some() => TimerSpec::one_shot(first_due).delay(delay),
            None => TimerSpec::one_shot(first_due),
        };
        let is_relative = period.is_some() || reckoned.is_some();
        let kind = TimerKind { clock, is_periodic: period.is_some(), is_relative };
        let shared = Arc::new(TimerShared::new(kind, delay, first_due));
        outline.timer = Some(NewTimer { spec: spec.clock(clock).overrun(overrun), shared, reckoned });
        Ok(Self { outline, take: Due::new(clock, group.context.clock()) })
    }

    /// Creates the timer; `finish` adds the callback.
    pub(crate) fn into_timer(self, finish: impl FnOnce(Self) -> EntityHandle) -> Timer {
        let shared = self.outline.timer.as_ref().map(|timer| Arc::clone(&timer.shared));
        Timer::new(finish(self), shared.expect("a timer's draft has a timer"))
    }
}

impl<'a> Draft<'a, Attached<JumpSource>> {
    pub(crate) fn jump(group: &'a Arc<GroupCore>, threshold: JumpThreshold) -> Result<Self, GroupGone> {
        let kind = EntityKind::Waitable;
        let common = Common { max_in_flight: Some(1), precedes_all: true, ..Common::default() };
        let (mut outline, signal) = Outline::with_source(group, kind, common, None, &|| group.unnamed(kind))?;
        let driver = Arc::clone(group.context.clock().driver());
        let hook = driver.add_hook(threshold);
        let source = JumpSource::new(Arc::clone(&driver), hook);
        let take = attach_own(source, &signal);
        // The closer removes the jump callback from the driver at once: ROS time must not wait until the executor has
        // removed the entity.
        outline.closer = Some(Box::new(move || driver.unhook(hook)));
        Ok(Self { outline, take })
    }
}

impl<'a, T: Send + Sync + 'static> Draft<'a, Attached<TopicSource<Arc<T>>>> {
    pub(crate) fn subscription(
        group: &'a Arc<GroupCore>,
        mut options: SubscriptionOptions,
    ) -> Result<Self, TopicError> {
        let kind = EntityKind::Subscription;
        let common = std::mem::take(&mut options.common);
        let default_name = || group.entity_name(&options.topic);
        let (mut outline, signal) = Outline::with_source(group, kind, common, Some(&mut options.depth), &default_name)?;
        let depth = depth_of(&outline.name, options.depth)?;
        let source = TopicSource::subscribe(&group.context, (&options, depth), Arc::clone(&outline.losses))?;
        outline.closer = Some(Box::new(source.any().closer()));
        Ok(Self { outline, take: attach_own(source, &signal) })
    }
}

impl<'a, Req: Send + 'static, Resp: Send + 'static> Draft<'a, Attached<ServiceSource<Req, Resp>>> {
    pub(crate) fn service(group: &'a Arc<GroupCore>, mut options: ServiceOptions) -> Result<Self, ServiceError> {
        let kind = EntityKind::Service;
        let common = std::mem::take(&mut options.common);
        let default_name = || group.entity_name(&options.service);
        let (mut outline, signal) = Outline::with_source(group, kind, common, Some(&mut options.depth), &default_name)?;
        let depth = depth_of(&outline.name, options.depth)?;
        let losses = Arc::clone(&outline.losses);
        let key = group.key();
        let source = ServiceSource::serve(&group.context, (&options, depth), losses, key)?;
        outline.closer = Some(Box::new(source.closer()));
        Ok(Self { outline, take: attach_own(source, &signal) })
    }
}

impl<'a, S: Source> Draft<'a, Attached<S>> {
    pub(crate) fn source(
        group: &'a Arc<GroupCore>,
        kind: EntityKind,
        options: EntityOptions,
        source: S,
    ) -> Result<Self, SourceError> {
        let EntityOptions { common, mut depth } = options;
        let default_name = || group.unnamed(kind);
        let (mut outline, signal) = Outline::with_source(group, kind, common, depth.as_mut(), &default_name)?;
        let take = attach(source, &signal)?;
        outline.closer = take.source.closer();
        Ok(Self { outline, take })
    }
}

impl<T: Take> Draft<'_, T> {
    /// Creates the entity with a synchronous callback of a mutually exclusive group.
    pub(crate) fn exclusive<P, F>(self, callback: F) -> EntityHandle
    where
        P: Send + 'static,
        F: FnMut(&mut P, T::Item) + Send + 'static,
    {
        let Self { outline, take } = self;
        let body = ExclusiveBody::new(take, callback, outline.group.key());
        let label = outline.label();
        outline.finish(1, Callback::new(body, label, 0))
    }

    /// Creates the entity with an asynchronous callback of a mutually exclusive group.
    pub(crate) fn exclusive_async<P, F, Fut>(self, callback: F) -> EntityHandle
    where
        P: Send + 'static,
        F: FnMut(Payload<P>, T::Item) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let Self { mut outline, take } = self;
        let default_in_flight = if outline.common.releases_group_at_await { ASYNC_IN_FLIGHT } else { 1 };
        outline.common.releases_group_at_await |= outline.group.releases_at_await;
        let (in_flight, held, more) = if outline.common.releases_group_at_await {
            let in_flight = outline.common.max_in_flight.unwrap_or(default_in_flight);
            (in_flight, None, outline.more(in_flight))
        } else {
            (1, outline.group.key(), None)
        };
        let body = AsyncBody::new(take, Locked(Mutex::new(callback)), held, more);
        let label = outline.label();
        outline.finish(in_flight, Callback::new(body, label, 0))
    }

    /// Creates the entity with a synchronous callback of a reentrant group.
    pub(crate) fn reentrant<F>(self, callback: F) -> EntityHandle
    where
        F: Fn(T::Item) + Send + Sync + 'static,
    {
        let Self { outline, take } = self;
        let threads = u32::from(outline.group.threads);
        let in_flight = outline.common.max_in_flight.unwrap_or(threads);
        let body = SharedBody::new(take, callback, outline.more(in_flight));
        let label = outline.label();
        outline.finish(in_flight, Callback::new(body, label, 0))
    }

    /// Creates the entity with an asynchronous callback of a reentrant group.
    pub(crate) fn reentrant_async<F, Fut>(self, callback: F) -> EntityHandle
    where
        F: Fn(T::Item) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let Self { outline, take } = self;
        let in_flight = outline.common.max_in_flight.unwrap_or(ASYNC_IN_FLIGHT);
        let body = AsyncBody::new(take, Direct(callback), None, outline.more(in_flight));
        let label = outline.label();
        outline.finish(in_flight, Callback::new(body, label, 0))
    }
}
