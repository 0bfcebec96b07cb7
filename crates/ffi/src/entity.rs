//! Entities over sources, and what all kinds of entities have in common.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use rospin_engine::{Entity, EntityKind, EntityOptions, Instant, Priority, Timer, TimerOptions};

use crate::arguments::{Options, destroy, duration, give, given, needed_text, options, place};
use crate::foreign::{Bell, Foreign, ForeignSource, rospin_source};
use crate::group::{Group, rospin_group};
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of, value_of};
use crate::timer::Clockwork;

/// Kind of an entity, for policies and traces: a timer.
pub const ROSPIN_KIND_TIMER: i32 = 0;
/// Kind of an entity, for policies and traces: a subscription.
pub const ROSPIN_KIND_SUBSCRIPTION: i32 = 1;
/// Kind of an entity, for policies and traces: a service.
pub const ROSPIN_KIND_SERVICE: i32 = 2;
/// Kind of an entity, for policies and traces: a client.
pub const ROSPIN_KIND_CLIENT: i32 = 3;
/// Kind of an entity, for policies and traces: anything else.
pub const ROSPIN_KIND_WAITABLE: i32 = 4;

/// Options of an entity.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_entity_options {
    /// sizeof(rospin_entity_options).
    pub struct_size: usize,
    /// The full name, such as "robot1/camera/image". Must be given: deployment files, chains and traces use it.
    pub name: *const c_char,
    /// One of ROSPIN_KIND_... Ignored for timers and file descriptors.
    pub kind: i32,
    /// True: the entity has this priority, unless a deployment file gives it another one.
    pub has_priority: bool,
    /// The priority under "fixed-priority". Larger is more urgent.
    pub priority: u32,
    /// The time from the release to the end of the callback, for "edf" and for missed deadlines. 0: none.
    pub deadline_ns: i64,
    /// The number of items that the source keeps, for the template of a deployment file. 0: it is not said.
    pub depth: u32,
    /// The number of callbacks of the entity that may run at once in a reentrant group. 0: one for each thread.
    pub max_in_flight: u32,
    /// For timers: the usual time from one due time to the next, which recordings and models know of, and which is the
    /// deadline if there is no other one. rospin arms the timer for the next period by itself, and `next_due` corrects
    /// that. Periods that a late timer skips are counted as lost. 0: the due times have no period.
    pub period_ns: i64,
}

// SAFETY: it begins with its size, and zeros are null pointers, false and zero.
unsafe impl Options for rospin_entity_options {
    const NAME: &'static str = "rospin_entity_options";
}

/// Entity: what becomes ready and runs.
pub struct rospin_entity {
    pub(crate) kind: Kind,
    name: CString,
}

pub(crate) enum Kind {
    /// A source, with the way in which it notifies.
    Source(Entity, Arc<Bell>),
    /// The timer comes first: it is removed before the last owner of the caller's data is dropped.
    Timer(Timer, Arc<Clockwork>),
    Descriptor(Entity),
}

/// Options that a caller gave an entity.
pub(crate) struct Given<'a> {
    pub(crate) name: &'a str,
    from: rospin_entity_options,
}

impl<'a> Given<'a> {
    /// # Safety
    /// As the header demands.
    pub(crate) unsafe fn new(from: *const rospin_entity_options) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let from = unsafe { options(from) }?;
        // SAFETY: the caller promises it.
        let name = unsafe { needed_text(from.name, "name") }?;
        Ok(Self { name, from })
    }

    fn kind(&self) -> Result<EntityKind, Failure> {
        match self.from.kind {
            ROSPIN_KIND_TIMER => Err(Failure::invalid("a timer is created by rospin_timer_create()")),
            ROSPIN_KIND_SUBSCRIPTION => Ok(EntityKind::Subscription),
            ROSPIN_KIND_SERVICE => Ok(EntityKind::Service),
            ROSPIN_KIND_CLIENT => Ok(EntityKind::Client),
            ROSPIN_KIND_WAITABLE => Ok(EntityKind::Waitable),
            kind => Err(Failure::invalid(format!("there is no kind {kind} of an entity"))),
        }
    }

    pub(crate) fn entity(&self) -> EntityOptions {
        let mut options = EntityOptions::new(self.name);
        if self.from.has_priority {
            options = options.priority(Priority(self.from.priority));
        }
        if self.from.deadline_ns > 0 {
            options = options.deadline(duration(self.from.deadline_ns));
        }
        if self.from.max_in_flight > 0 {
            options = options.max_in_flight(self.from.max_in_flight);
        }
        if self.from.depth > 0 {
            options = options.depth(self.from.depth as usize);
        }
        options
    }

    /// Returns the options of a timer that is not due before it is told when.
    pub(crate) fn timer(&self) -> TimerOptions {
        let period = duration(self.from.period_ns);
        let options = if period.is_zero() { TimerOptions::one_shot(period) } else { TimerOptions::periodic(period) };
        let mut options = options.first_due(Instant::MAX).name(self.name);
        if self.from.has_priority {
            options = options.priority(Priority(self.from.priority));
        }
        if self.from.deadline_ns > 0 {
            options = options.deadline(duration(self.from.deadline_ns));
        }
        if self.from.max_in_flight > 0 {
            options = options.max_in_flight(self.from.max_in_flight);
        }
        options
    }

    pub(crate) fn handle(&self, kind: Kind) -> rospin_entity {
        rospin_entity { kind, name: CString::new(self.name).unwrap_or_default() }
    }
}

/// The arguments of a function that creates an entity.
pub(crate) struct Creation<'a> {
    pub(crate) foreign: Arc<Foreign>,
    /// The place for the handle.
    pub(crate) place: &'a mut *mut rospin_entity,
    pub(crate) group: &'a rospin_group,
    pub(crate) options: Given<'a>,
}

impl<'a> Creation<'a> {
    /// Reads the arguments. The caller's data are dropped whatever happens, unless `source` itself is invalid. `name` is
    /// what errors call the handle.
    ///
    /// # Safety
    /// The pointers are as the header demands.
    pub(crate) unsafe fn read(
        group: *const rospin_group,
        options: *const rospin_entity_options,
        source: *const rospin_source,
        handle: *mut *mut rospin_entity,
        name: &str,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it. It is first, so that the data are dropped if another argument is invalid.
        let foreign = Arc::new(unsafe { Foreign::new(source) }?);
        // SAFETY: the caller promises it.
        let place = unsafe { place(handle, name) }?;
        // SAFETY: the caller promises it.
        let group = unsafe { given(group, "group") }?;
        // SAFETY: the caller promises it.
        let options = unsafe { Given::new(options) }?;
        Ok(Self { foreign, place, group, options })
    }
}

/// Creates an entity. It is ready when it is notified. It also tries to take once at the beginning, since items may be
/// there already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_entity_create(
    group: *const rospin_group,
    options: *const rospin_entity_options,
    source: *const rospin_source,
    entity: *mut *mut rospin_entity,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let creation = unsafe { Creation::read(group, options, source, entity, "entity") }?;
        let Creation { foreign, place, group, options } = creation;
        let kind = options.kind()?;
        let bell = Bell::new();
        let source = ForeignSource { foreign: Arc::clone(&foreign), bell: Arc::clone(&bell) };
        let control = Arc::clone(&group.control);
        let created = match &group.group {
            Group::Exclusive(group) => {
                let run = move |(): &mut (), item| control.ran(foreign.run(item));
                group.create_source(kind, options.entity(), source, run)
            }
            Group::Reentrant(group) => {
                group.create_source(kind, options.entity(), source, move |item| control.ran(foreign.run(item)))
            }
        };
        let created = created.map_err(|error| Failure::of_source(&error))?;
        give(place, options.handle(Kind::Source(created, bell)));
        Ok(ROSPIN_OK)
    })
}

/// Removes the entity, and gives up the handle. Returns at once: from the executor's next pick on its callback does not
/// start any more, but one that is running is not waited for. The source's `drop` is called when nothing of the source
/// runs any more: before this returns if nothing spins, else by a thread of the executor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_entity_destroy(entity: *mut rospin_entity) {
    // SAFETY: as the header demands.
    unsafe { destroy(entity) };
}

/// Returns the entity's name, which is valid as long as the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_entity_name(entity: *const rospin_entity) -> *const c_char {
    // SAFETY: as the header demands.
    unsafe { entity.as_ref() }.map_or(c"".as_ptr(), |entity| entity.name.as_ptr())
}

/// Returns the number of callbacks that ended after their deadlines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_entity_missed_deadlines(entity: *const rospin_entity) -> u64 {
    // SAFETY: as the header demands.
    let entity = unsafe { entity.as_ref() };
    value_of(0, || match entity.map(|entity| &entity.kind) {
        Some(Kind::Source(entity, _) | Kind::Descriptor(entity)) => entity.missed_deadlines(),
        Some(Kind::Timer(timer, _)) => timer.missed_deadlines(),
        None => 0,
    })
}
