//! An emulation of rclcpp's wait set, for comparisons with rospin's own policies.
//!
//! A ready set is built at a polling point. It is served in a fixed order: timers, subscriptions, services, clients,
//! waitables, and by registration within each kind. Nothing enters it before the next polling point (Casini et al.,
//! ECRTS 2019; Dust et al. 2023).
//!
//! That is rclcpp up to Iron. Since Jazzy it has no defined order within a kind (rclcpp#2532), so what holds for this
//! emulation by order of registration holds there in some order.

use super::places::Places;
use super::private::Hooks;
use super::{Policy, View};
use crate::activation::Activation;
use crate::entity::{EntityKind, EntitySpec};
use crate::id::{EntityId, GroupId};

pub(super) const NAME_E1: &str = "wait-set-e1";
pub(super) const SUMMARY_E1: &str = "rclcpp's wait set up to Dashing: timers outside the ready set";
pub(super) const NAME_E2: &str = "wait-set-e2";
pub(super) const SUMMARY_E2: &str = "rclcpp's wait set from Eloquent to Iron: timers inside the ready set";

/// The position of timers: inside or outside the ready set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timers {
    /// E1 (Dashing and older): timers are checked before every pick.
    Outside,
    /// E2 (Eloquent to Iron): timers wait for the next polling point like everything else.
    Inside,
}

/// rclcpp's wait set, for one thread and for several.
///
/// Within a kind, rclcpp orders by node and group first. The emulation orders by registration, which is the same if
/// nodes are created one after the other.
///
/// With several threads, a thread that finds nothing to run in the ready set polls anew and discards the rest of the
/// set. Entities of a held group are not polled, so they can be left out for ever: if two timers of a mutually
/// exclusive group are always due together, the one that was registered later starves. rclcpp behaves like that, and so
/// does this emulation. There is no priority inheritance either, since there are no priorities.
pub struct WaitSet {
    timers: Timers,
    /// All ready activations, polled or not.
    places: Places,
    /// The places of activations that go through the ready set, in no particular order.
    available: Vec<u32>,
    /// The places of timers that are outside the ready set, in no particular order. A pick looks at all of them, as
    /// rclcpp does.
    due: Vec<u32>,
    /// The index of each place that is taken in `available` or `due`, by place.
    positions: Vec<u32>,
    /// The ready set of the last polling point, in reverse: the next activation to run is last. Activations that were
    /// run or withdrawn since stay until the next polling point, or until they are last.
    ready_set: Vec<Polled>,
}

/// An activation that was ready at the polling point. Another activation may have its place since.
#[derive(Clone, Copy)]
struct Polled {
    place: u32,
    sequence: u64,
    segment: u32,
}

impl WaitSet {
    /// Creates an empty wait set.
    #[must_use]
    pub const fn new(timers: Timers) -> Self {
        Self {
            timers,
            places: Places::new(),
            available: Vec::new(),
            due: Vec::new(),
            positions: Vec::new(),
            ready_set: Vec::new(),
        }
    }

    /// Takes the timer that was registered first, of those outside the ready set that are due and that their group
    /// admits; `None` if there is none.
    fn take_timer(&mut self, view: &View<'_>) -> Option<Activation> {
        let admitted = |place: &u32| view.groups.admits(&self.places.activation(*place));
        let order = |place: &u32| {
            let timer = self.places.activation(*place);
            (timer.registration, timer.sequence)
        };
        let first = self.due.iter().copied().filter(admitted).min_by_key(order)?;
        Some(self.take(first))
    }

    /// Takes the first activation of the ready set that its group admits; `None` if there is none.
    fn take_from_ready_set(&mut self, view: &View<'_>) -> Option<Activation> {
        let admitted = |polled: &Polled| self.ready(polled).is_some_and(|activation| view.groups.admits(&activation));
        let at = self.ready_set.iter().rposition(admitted)?;
        let next = self.take(self.ready_set[at].place);
        while self.ready_set.last().is_some_and(|polled| self.ready(polled).is_none()) {
            self.ready_set.pop();
        }
        Some(next)
    }

    /// Returns the activation that was polled; `None` if it is not ready any more.
    fn ready(&self, polled: &Polled) -> Option<Activation> {
        let there = self.places.activation(polled.place);
        ((there.sequence, there.segment) == (polled.sequence, polled.segment)).then_some(there)
    }

    /// Builds a new ready set of all ready activations that their groups admit. Timers are part of it only with
    /// [`Timers::Inside`].
    fn poll(&mut self, view: &mut View<'_>) {
        let is_rest_left = view.is_traced() && self.ready_set.iter().any(|polled| self.ready(polled).is_some());
        let Self { places, available, ready_set, .. } = self;
        let ready = available.iter().map(|place| (*place, places.activation(*place)));
        let inside = ready.filter(|(_, ready)| view.groups.admits(ready));
        ready_set.clear();
        ready_set.extend(inside.map(|(place, ready)| {
            let Activation { sequence, segment, .. } = ready;
            Polled { place, sequence, segment }
        }));
        ready_set.sort_unstable_by_key(|polled| {
            let Activation { kind, registration, sequence, .. } = places.activation(polled.place);
            std::cmp::Reverse((kind, registration, sequence))
        });
        // An empty ready set is no polling point: rclcpp would go on waiting.
        if !ready_set.is_empty() {
            view.record_polling_point(ready_set.iter().rev().map(|polled| places.activation(polled.place)));
        } else if is_rest_left {
            view.record_discard();
        }
    }

    /// Removes and returns the activation at `place`, which must be taken.
    fn take(&mut self, place: u32) -> Activation {
        let position = self.positions[place as usize] as usize;
        let activation = self.places.remove(place);
        let list = if self.is_outside(&activation) { &mut self.due } else { &mut self.available };
        list.swap_remove(position);
        if let Some(moved) = list.get(position) {
            self.positions[*moved as usize] = position as u32;
        }
        activation
    }

    /// Returns true if the activation does not go through the ready set.
    fn is_outside(&self, activation: &Activation) -> bool {
        self.timers == Timers::Outside && activation.kind == EntityKind::Timer
    }
}

impl Policy for WaitSet {
    fn name(&self) -> &'static str {
        match self.timers {
            Timers::Outside => NAME_E1,
            Timers::Inside => NAME_E2,
        }
    }

    fn register(&mut self, id: EntityId, spec: &EntitySpec) {
        let room = self.places.register(id, spec);
        self.available.reserve(room.saturating_sub(self.available.len()));
        self.due.reserve(room.saturating_sub(self.due.len()));
        self.positions.resize(self.places.len(), 0);
        self.ready_set.reserve(room.saturating_sub(self.ready_set.len()));
    }

    fn unregister(&mut self, id: EntityId, _: &EntitySpec) {
        self.places.unregister(id);
    }

    fn release(&mut self, activation: &Activation) {
        let place = self.places.insert(activation);
        let list = if self.is_outside(activation) { &mut self.due } else { &mut self.available };
        let position = list.len() as u32;
        list.push(place);
        self.positions[place as usize] = position;
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        if let Some(timer) = self.take_timer(view) {
            return Some(timer);
        }
        if let Some(next) = self.take_from_ready_set(view) {
            return Some(next);
        }
        self.poll(view);
        self.take_from_ready_set(view)
    }

    fn group_freed(&mut self, _: GroupId) {}

    fn withdraw(&mut self, activation: &Activation) {
        if let Some(place) = self.places.find(activation) {
            self.take(place);
        }
    }

    fn has_candidates(&self) -> bool {
        !(self.available.is_empty() && self.due.is_empty())
    }

    fn with_hooks(self: Box<Self>) -> Box<dyn Hooks> {
        self
    }
}

impl Hooks for WaitSet {
    fn orders_by_release(&self) -> bool {
        false
    }

    fn visit_ready_set(&self, visit: &mut dyn FnMut(&Activation)) {
        for ready in self.ready_set.iter().rev().filter_map(|polled| self.ready(polled)) {
            visit(&ready);
        }
    }

    fn restore_ready_set(&mut self, ready_set: &[Activation]) {
        let Self { places, ready_set: restored, .. } = self;
        restored.clear();
        restored.extend(ready_set.iter().rev().filter_map(|ready| {
            let place = places.find(ready)?;
            Some(Polled { place, sequence: ready.sequence, segment: ready.segment })
        }));
    }
}
