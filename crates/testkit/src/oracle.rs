//! Rules that hold for every implementation, checked from its trace alone.

use rospin_core::GroupKind;

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;

/// Check of a trace: nothing is lost or runs twice, and no mutually exclusive group runs two callbacks at once.
#[derive(Default)]
pub struct Oracle {
    groups: Vec<GroupKind>,
    plans: Vec<EntityPlan>,
    removed: Vec<usize>,
    /// Activations that were released and not dispatched.
    ready: Vec<Decision>,
    running: Vec<Decision>,
    suspended: Vec<Decision>,
    sequences: Option<u64>,
}

impl Oracle {
    /// Records a new group.
    pub fn group_added(&mut self, kind: GroupKind) {
        self.groups.push(kind);
    }

    /// Records an accepted entity.
    pub fn entity_added(&mut self, plan: EntityPlan) {
        self.plans.push(plan);
    }

    /// Records the removal of an entity: its ready and suspended activations end, its running ones continue.
    pub fn entity_removed(&mut self, entity: usize) {
        self.removed.push(entity);
        self.ready.retain(|decision| decision.entity != entity);
        self.suspended.retain(|decision| decision.entity != entity);
    }

    /// Records that a running activation was suspended. If its entity was removed, that ends it; otherwise this does
    /// nothing.
    ///
    /// The trace records neither that nor the end of suspended activations when their entity is removed.
    pub fn ended_by_removal(&mut self, decision: &Decision) {
        if self.removed.contains(&decision.entity) {
            self.running.retain(|running| running.identity() != decision.identity());
        }
    }

    /// Records that a timer was canceled or restarted: it does not run even if it has fired already. Its resumed
    /// segments stay. Does nothing for other entities.
    pub fn withdrawn(&mut self, entity: usize) {
        let timer = self.plans[entity].timer.is_some();
        self.ready.retain(|decision| decision.entity != entity || decision.segment > 0 || !timer);
    }

    /// Checks the next entry of the trace.
    ///
    /// # Errors
    /// The rule that the entry breaks.
    pub fn note(&mut self, note: &Note) -> Result<(), String> {
        match note {
            Note::Released(decision) => self.released(decision),
            Note::Antedated(decision) => {
                let of_entity = |known: &Decision| known.entity == decision.entity && known.segment == 0;
                let Some(at) = self.ready.iter().position(of_entity) else {
                    return Err(format!("{decision} was antedated without being ready"));
                };
                if self.ready.remove(at).release <= decision.release {
                    return Err(format!("{decision} was antedated to a later release"));
                }
                self.sequences = self.sequences.max(Some(decision.sequence));
                self.ready.push(*decision);
                Ok(())
            }
            Note::Dispatched(_, decision) => self.dispatched(decision),
            Note::Suspended(decision) => {
                end(&mut self.running, decision, "was suspended")?;
                self.suspended.push(*decision);
                Ok(())
            }
            Note::Completed(decision) => end(&mut self.running, decision, "completed"),
            Note::Overrun(..) => Ok(()),
        }
    }

    fn released(&mut self, decision: &Decision) -> Result<(), String> {
        if decision.segment > 0 {
            end(&mut self.suspended, decision, "was resumed")?;
            // A resumed segment holds its group from its suspension on: see `holders`.
        } else if self.sequences.is_some_and(|last| decision.sequence <= last) {
            return Err(format!("{decision} was released under a sequence number that is not new"));
        } else {
            self.sequences = Some(decision.sequence);
        }
        self.ready.push(*decision);
        Ok(())
    }

    fn dispatched(&mut self, decision: &Decision) -> Result<(), String> {
        let Some(at) = self.ready.iter().position(|ready| ready == decision) else {
            return Err(format!("{decision} was dispatched without being ready"));
        };
        self.ready.remove(at);
        if self.groups[decision.group] == GroupKind::MutuallyExclusive {
            let of_group = |other: &&Decision| other.group == decision.group;
            if let Some(other) = self.running.iter().find(of_group) {
                return Err(format!("{decision} was dispatched while {other} runs in the group"));
            }
            let holder = self.holders().find(of_group).filter(|holder| holder.identity() != decision.identity());
            if let Some(holder) = holder.filter(|_| !self.plans[decision.entity].precedes_all) {
                return Err(format!("{decision} was dispatched while {holder} holds the group"));
            }
        }
        self.running.push(*decision);
        Ok(())
    }

    /// Returns the activations that hold a mutually exclusive group without running: those that were suspended without
    /// releasing it.
    fn holders(&self) -> impl Iterator<Item = &Decision> {
        let keeps = |decision: &&Decision| {
            let plan = &self.plans[decision.entity];
            !plan.releases_group_at_await && !plan.precedes_all
        };
        let resumed = self.ready.iter().filter(|decision| decision.segment > 0);
        self.suspended.iter().chain(resumed).filter(keeps)
    }

    /// Checks the end: no activation is left.
    ///
    /// # Errors
    /// The activations that were lost.
    pub fn finish(&self) -> Result<(), String> {
        match self.ready.iter().chain(&self.running).find(|decision| !self.removed.contains(&decision.entity)) {
            Some(lost) => Err(format!("{lost} was released and never run to its end")),
            None => Ok(()),
        }
    }
}

fn end(list: &mut Vec<Decision>, decision: &Decision, what: &str) -> Result<(), String> {
    match list.iter().position(|known| known.identity() == decision.identity()) {
        Some(at) => {
            list.remove(at);
            Ok(())
        }
        None => Err(format!("{decision} {what} without having been there")),
    }
}
