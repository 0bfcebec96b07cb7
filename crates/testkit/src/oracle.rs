//! Rules that hold for every implementation, checked from its trace alone, without a second opinion.

use rospin_core::GroupKind;

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;

/// Watches a trace: nothing is lost or run twice, and no mutually exclusive group runs two callbacks at once.
#[derive(Default)]
pub struct Oracle {
    groups: Vec<GroupKind>,
    plans: Vec<EntityPlan>,
    removed: Vec<usize>,
    /// Released and not dispatched.
    ready: Vec<Decision>,
    running: Vec<Decision>,
    suspended: Vec<Decision>,
    sequences: Option<u64>,
}

impl Oracle {
    /// A group was added.
    pub fn group_added(&mut self, kind: GroupKind) {
        self.groups.push(kind);
    }

    /// An entity was accepted.
    pub fn entity_added(&mut self, plan: EntityPlan) {
        self.plans.push(plan);
    }

    /// An entity was removed: what was ready or suspended of it ends, what runs goes on.
    pub fn entity_removed(&mut self, entity: usize) {
        self.removed.push(entity);
        self.ready.retain(|decision| decision.entity != entity);
        self.suspended.retain(|decision| decision.entity != entity);
    }

    /// A running activation of an entity that was removed was suspended: it ends there.
    ///
    /// That is not recorded; nor is the end of a suspended activation at the removal of its entity.
    pub fn ended_by_removal(&mut self, decision: &Decision) {
        if self.removed.contains(&decision.entity) {
            self.running.retain(|running| running.identity() != decision.identity());
        }
    }

    /// A timer was cancelled: it does not run even if it has fired already. Its resumed segments stay.
    pub fn withdrawn(&mut self, entity: usize) {
        let timer = self.plans[entity].timer.is_some();
        self.ready.retain(|decision| decision.entity != entity || decision.segment > 0 || !timer);
    }

    /// The next thing that was recorded.
    ///
    /// # Errors
    /// Which rule it breaks, in words.
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
            // Whether it holds its group is a matter of the suspension: see `holds`.
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

    /// What holds its group without running, if that is mutually exclusive: what waits in the middle without freeing it.
    fn holders(&self) -> impl Iterator<Item = &Decision> {
        let keeps = |decision: &&Decision| {
            let plan = &self.plans[decision.entity];
            !plan.releases_group_at_await && !plan.precedes_all
        };
        let resumed = self.ready.iter().filter(|decision| decision.segment > 0);
        self.suspended.iter().chain(resumed).filter(keeps)
    }

    /// Nothing runs or can run any more.
    ///
    /// # Errors
    /// What was lost.
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
