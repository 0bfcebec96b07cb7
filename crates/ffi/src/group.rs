//! Groups of both kinds.

use std::ffi::c_char;
use std::sync::Arc;

use rospin_engine::{CallbackGroup, GroupOptions, ReentrantGroup};

use crate::arguments::{Options, destroy, give, given, needed_text, place, text};
use crate::control::Control;
use crate::executor::rospin_executor;
use crate::status::{ROSPIN_OK, rospin_status, status_of, value_of};

/// Options of a group.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_group_options {
    /// sizeof(rospin_group_options).
    pub struct_size: usize,
    /// The name, which must be given.
    pub name: *const c_char,
    /// The full name of the node that the group belongs to, such as "/robot1/camera". NULL: none.
    pub node: *const c_char,
    /// False: one callback of the group runs at a time. True: any number runs at once.
    pub is_reentrant: bool,
}

// SAFETY: it begins with its size, and zeros are null pointers and false.
unsafe impl Options for rospin_group_options {
    const NAME: &'static str = "rospin_group_options";
}

/// Group of callbacks that exclude each other, or run at once.
pub struct rospin_group {
    pub(crate) group: Group,
    /// The executor whose spin the group's callbacks may end.
    pub(crate) control: Arc<Control>,
}

#[derive(Clone)]
pub(crate) enum Group {
    Exclusive(CallbackGroup<()>),
    Reentrant(ReentrantGroup),
}

/// Creates a group on the executor, or on the one that the deployment file names for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_group_create(
    executor: *const rospin_executor,
    options: *const rospin_group_options,
    group: *mut *mut rospin_group,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let place = unsafe { place(group, "group") }?;
        // SAFETY: as the header demands.
        let spun = &unsafe { given(executor, "executor") }?.0;
        // SAFETY: as the header demands.
        let from = unsafe { crate::arguments::options(options) }?;
        // SAFETY: as the header demands.
        let mut options = GroupOptions::new(unsafe { needed_text(from.name, "name") }?);
        // SAFETY: as the header demands.
        if let Some(node) = unsafe { text(from.node, "node") }? {
            options = options.node(node);
        }
        let handle = &spun.control.handle;
        let (group, on) = if from.is_reentrant {
            let group = handle.create_reentrant_group(options);
            let on = group.executor_name().to_owned();
            (Group::Reentrant(group), on)
        } else {
            let group = handle.create_group(options, ());
            let on = group.executor_name().to_owned();
            (Group::Exclusive(group), on)
        };
        // Several executors may have one name: it says only where a deployment file has moved a group to. An executor
        // that only the file names spins along with those of the caller.
        let moved = if on == spun.control.name() { None } else { spun.home.executor(&on) };
        let control = moved.unwrap_or_else(|| Arc::clone(&spun.control));
        give(place, rospin_group { group, control });
        Ok(ROSPIN_OK)
    })
}

/// Gives up the handle. The group lives on as long as one of its entities.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_group_destroy(group: *mut rospin_group) {
    // SAFETY: as the header demands.
    unsafe { destroy(group) };
}

/// Removes the group with all of its entities, as rospin_entity_destroy() does. Their handles do nothing from then on,
/// and must still be destroyed; so must that of the group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_group_remove(group: *const rospin_group) {
    // SAFETY: as the header demands.
    let group = unsafe { group.as_ref() };
    value_of((), || match group.map(|group| group.group.clone()) {
        Some(Group::Exclusive(group)) => group.remove(),
        Some(Group::Reentrant(group)) => group.remove(),
        None => {}
    });
}
