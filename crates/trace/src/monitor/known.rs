//! The judge's knowledge of a program: executors and callbacks, by the numbers in events.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use rospin_core::EntityKind;
use rospin_core::recording::Definition;

use super::arrivals::{Gate, ns};
use super::judge::{Judge, REMEMBERED, UNKNOWN_DEPTH};
use super::limits::{ChainLimit, Limit};
use super::violation::Cause;

pub(super) struct Executor {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) threads: u64,
    /// Segments that ended, in the order of their ends.
    pub(super) segments: VecDeque<Segment>,
}

/// A segment that ended.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) callback: usize,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The time that it ran beyond the callback's execution time.
    pub(super) excess: u64,
    /// The time for which the kernel did not run its thread.
    pub(super) stall: u64,
}

pub(super) struct Callback {
    pub(super) name: String,
    pub(super) executor: u16,
    pub(super) entity: u64,
    pub(super) account: u64,
    pub(super) group: String,
    pub(super) excludes: bool,
    pub(super) kind: EntityKind,
    pub(super) priority: u32,
    pub(super) period_ns: Option<u64>,
    pub(super) depth: u64,
    pub(super) limit: Option<Arc<Limit>>,
    /// The chains that it is in, with its place in each.
    pub(super) links: Vec<(u32, usize)>,
    pub(super) gate: Gate,
    /// True if each message is seen when it is queued.
    pub(super) has_queue: bool,
    /// The times of the last arrivals.
    pub(super) arrivals: VecDeque<u64>,
    /// The last arrival that was too early: its time, the time that it should have kept, and who brought it.
    pub(super) early: Option<Early>,
    pub(super) activations: u64,
    /// The numbers of the last activations that missed their deadlines.
    pub(super) misses: VecDeque<u64>,
    pub(super) last_end: u64,
    /// The nanoseconds for which it had not run when that was told last; 0 since it runs again.
    pub(super) told_ns: u64,
}

/// An arrival that was too early.
#[derive(Clone, Copy)]
pub(super) struct Early {
    pub(super) at: u64,
    pub(super) allowed: u64,
    pub(super) cause: Cause,
    pub(super) culprit: Option<usize>,
}

impl Judge {
    /// Takes note of a definition. Returns true if it defines an executor, or a callback that was not known.
    pub(super) fn define(&mut self, definition: &Definition) -> bool {
        self.watch.define(definition);
        match definition {
            Definition::Executor { executor, name, policy, threads } => {
                let of = self.executor(*executor);
                (of.name, of.policy, of.threads) = (name.clone(), policy.clone(), u64::from(*threads).max(1));
                true
            }
            Definition::Entity { executor, entity, account, name, group, excludes, kind, priority, period, .. } => {
                let is_new = !self.entities.contains_key(&(*executor, *entity));
                let place = self.callback(*executor, *entity);
                let limit = self.limits.callbacks.get(name).cloned();
                let links = self.links(name);
                let depth = self.depths.get(account).copied();
                let of = &mut self.callbacks[place];
                if !is_new && (of.name != *name || of.account != *account) {
                    // The number had another meaning, which only a damaged recording has.
                    self.names.remove(&of.name);
                    self.accounts.remove(&of.account);
                }
                (of.name, of.group, of.excludes) = (name.clone(), group.clone(), *excludes);
                (of.account, of.kind, of.priority) = (*account, *kind, *priority);
                (of.period_ns, of.limit, of.links) = (period.map(ns), limit, links);
                of.depth = depth.unwrap_or(of.depth);
                self.accounts.insert(*account, place);
                self.names.insert(name.clone(), place);
                is_new
            }
            Definition::Queue { queue, account, depth, .. } => {
                self.make_room_for_queue(*queue);
                self.defined += 1;
                let of = self.queues.entry(*queue).or_default();
                (of.account, of.depth, of.used) = (*account, *depth, self.events.saturating_add(self.defined));
                self.depths.insert(*account, *depth);
                if let Some(place) = self.accounts.get(account) {
                    self.callbacks[*place].depth = *depth;
                }
                false
            }
            _ => false,
        }
    }

    /// Forgets the half of the queues that were not used for longest, if there are too many.
    fn make_room_for_queue(&mut self, queue: u64) {
        if self.queues.len() < REMEMBERED || self.queues.contains_key(&queue) {
            return;
        }
        let mut used: Vec<u64> = self.queues.values().map(|queue| queue.used).collect();
        let (_, middle, _) = used.select_nth_unstable(REMEMBERED / 2);
        let middle = *middle;
        let Self { queues, depths, .. } = self;
        queues.retain(|_, queue| queue.used > middle);
        let accounts: HashSet<u64> = queues.values().map(|queue| queue.account).collect();
        depths.retain(|account, _| accounts.contains(account));
    }

    fn links(&self, name: &str) -> Vec<(u32, usize)> {
        let chains = (1_u32..).zip(&self.limits.chains);
        let place = |(number, chain): (u32, &ChainLimit)| {
            Some((number, chain.callbacks.iter().position(|callback| callback == name)?))
        };
        chains.filter_map(place).collect()
    }

    pub(super) fn executor(&mut self, number: u16) -> &mut Executor {
        self.executors.entry(number).or_insert_with(|| Executor {
            name: "without a name".to_owned(),
            policy: String::new(),
            threads: 1,
            segments: VecDeque::new(),
        })
    }

    /// Returns the place of the callback, and adds the callback if it is not known. If there are too many, it replaces
    /// one that the system file does not have: the one that ended longest ago.
    pub(super) fn callback(&mut self, executor: u16, entity: u64) -> usize {
        if let Some(place) = self.entities.get(&(executor, entity)) {
            return *place;
        }
        self.executor(executor);
        let new = Callback {
            name: "without a name".to_owned(),
            executor,
            entity,
            account: 0,
            group: String::new(),
            excludes: false,
            kind: EntityKind::Waitable,
            priority: 0,
            period_ns: None,
            depth: UNKNOWN_DEPTH,
            limit: None,
            links: Vec::new(),
            gate: Gate::default(),
            has_queue: false,
            arrivals: VecDeque::new(),
            early: None,
            activations: 0,
            misses: VecDeque::new(),
            last_end: 0,
            told_ns: 0,
        };
        let oldest = |of: &&(usize, &Callback)| of.1.last_end;
        let place = if self.callbacks.len() < REMEMBERED {
            self.callbacks.push(new);
            self.callbacks.len() - 1
        } else {
            let others = self.callbacks.iter().enumerate().filter(|(_, of)| of.limit.is_none());
            let place = others.min_by_key(|of| oldest(&of)).map_or(0, |(place, _)| place);
            let former = std::mem::replace(&mut self.callbacks[place], new);
            self.entities.remove(&(former.executor, former.entity));
            self.accounts.remove(&former.account);
            self.names.remove(&former.name);
            place
        };
        self.entities.insert((executor, entity), place);
        place
    }
}
