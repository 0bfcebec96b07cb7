//! Entities that are made of a source: of the tests' own, of a queue without a callback, or of the losses of another
//! entity.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rospin_engine::{EntityKind, EntityOptions, LossCause, Reply, ServiceOptions, Source};

use super::channel::{ChannelSource, Parcel};
use super::create::{Callback, common};
use super::model::Arrival;
use super::operations::does;
use super::program::{EntityPlan, Kind, Style};
use super::publish::inbox_options;
use super::world::{Group, Handle, Load, Message, Request, Response, World};

/// An item of a source, as the model sees it.
#[derive(Default)]
pub(crate) struct Taken {
    /// The number of the message or request.
    pub(crate) item: Option<usize>,
    pub(crate) arrival: Option<Arrival>,
    pub(crate) losses: Option<u64>,
    pub(crate) reply: Option<Reply<Response>>,
}

/// Creates the entity if its plan makes it of a source. Otherwise returns its callback.
pub(crate) fn create_of_source(
    world: &Arc<World>,
    group: &Group,
    plan: &EntityPlan,
    this: Callback,
) -> Result<Result<Handle, String>, Callback> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let created = match plan.kind {
        Kind::Subscription { inbox, by_queue: true } => {
            does("Context::create_local_queue");
            let options = inbox_options(inbox).name(format!("e{}", plan.id));
            match world.context.create_local_queue::<Message>(options) {
                Ok(queue) => of_source(group, plan, queue, this, |message| Taken {
                    item: Some(message.item),
                    ..Taken::default()
                }),
                Err(error) => Err(text(&error)),
            }
        }
        Kind::Service { name, depth, by_queue: true } => {
            does("Context::create_local_request_queue");
            let options = ServiceOptions::new(format!("s{name}")).keep_last(depth).name(format!("e{}", plan.id));
            match world.context.create_local_request_queue::<Request, Response>(options) {
                Ok(queue) => of_source(group, plan, queue, this, |(request, reply)| Taken {
                    item: Some(request.item),
                    reply: Some(reply),
                    ..Taken::default()
                }),
                Err(error) => Err(text(&error)),
            }
        }
        Kind::Source { channel, style } => {
            let source = ChannelSource::new(world, channel, style, this.life);
            let open: fn(Parcel) -> Taken = if style == Style::Plain {
                |_: Parcel| Taken::default()
            } else {
                |item: Parcel| Taken {
                    arrival: Some(Arrival {
                        at: item.arrival,
                        sending: item.sending,
                        told: item.told.load(Ordering::Relaxed),
                    }),
                    ..Taken::default()
                }
            };
            of_source(group, plan, source, this, open)
        }
        Kind::LossWatch { of } => watch(world, group, plan, this, of),
        _ => return Err(this),
    };
    Ok(created)
}

/// Creates an entity that is told of the losses of another one.
fn watch(world: &Arc<World>, group: &Group, plan: &EntityPlan, this: Callback, of: usize) -> Result<Handle, String> {
    let watched = world.tables().entities.get(of).and_then(|lives| lives.last().cloned());
    let Some((_, watched)) = watched else {
        return Err("there is nothing to watch".to_owned());
    };
    let cause = if let Handle::Timer(_) = &*watched { LossCause::TimerOverrun } else { LossCause::QueueFull };
    let (source, life) = (watched.watch_losses(cause), this.life);
    drop(watched);
    let probe = source.clone();
    let created = of_source(group, plan, source, this, |count| Taken { losses: Some(count), ..Taken::default() });
    if created.is_ok() {
        world.tables().watches.push((life, probe));
    }
    created
}

fn of_source<S: Source>(
    group: &Group,
    plan: &EntityPlan,
    source: S,
    this: Callback,
    open: fn(S::Item) -> Taken,
) -> Result<Handle, String> {
    does("EntityOptions::new");
    let options = common!(plan, EntityOptions::new(""));
    let kind = EntityKind::Waitable;
    let created = match group {
        Group::Exclusive(group) if plan.asynchronous => {
            does("CallbackGroup::create_source_async");
            group.create_source_async(kind, options, source, move |load, item| this.begin(open(item), Some(load)))
        }
        Group::Exclusive(group) => {
            does("CallbackGroup::create_source");
            group.create_source(kind, options, source, move |load: &mut Load, item| this.run(open(item), Some(load)))
        }
        Group::Reentrant(group) if plan.asynchronous => {
            does("ReentrantGroup::create_source_async");
            group.create_source_async(kind, options, source, move |item| this.begin(open(item), None))
        }
        Group::Reentrant(group) => {
            does("ReentrantGroup::create_source");
            group.create_source(kind, options, source, move |item| this.run(open(item), None))
        }
    };
    created.map(Handle::Entity).map_err(|error| error.to_string())
}
