//! The rules that must hold once everything was dropped.

use super::super::program::Kind;
use super::lives::Place;
use super::{Model, Rule};

impl Model {
    /// Judges the end of the program. `lost` returns the number of items that an entity or a queue of that name lost to
    /// a full queue, and in all.
    pub(crate) fn judge_end(&mut self, lost: &dyn Fn(&str) -> (u64, u64)) {
        let program = self.program.clone();
        for plan in &program.entities {
            if !matches!(plan.kind, Kind::Subscription { .. } | Kind::Service { .. }) {
                continue;
            }
            let lives = self.lives.iter().filter(|life| life.entity == plan.id);
            let (mut least, mut most, mut taken) = (0, 0, 0);
            for life in lives {
                let Some(receiver) = self.receiver(life, plan) else {
                    continue;
                };
                let (at_least, at_most) = self.sent_to(&receiver);
                least += at_least;
                most += at_most;
                taken += life.taken.len();
            }
            let (_, all) = lost(&format!("e{}", plan.id));
            let accounted = taken + all as usize;
            if accounted < least || accounted > most {
                let message = format!(
                    "entity {} took {taken} items and lost {all}, but {least} to {most} were sent to it",
                    plan.id
                );
                self.broken(Rule::Loss, message);
            }
        }
        for queue in &program.queues {
            self.judge_queue(*queue, lost(&format!("q{}", queue.id)).1);
        }
        for topic in 0..program.topics.len() {
            self.judge_displaced(topic, lost);
        }
        if let Some(item) = self.unanswered() {
            self.broken(Rule::Future, format!("request {item} was never answered"));
        }
        if self.panics != self.incidents {
            let message = format!("{} panics, and {} were reported", self.panics, self.incidents);
            self.broken(Rule::Incident, message);
        }
    }

    fn judge_displaced(&mut self, topic: usize, lost: &dyn Fn(&str) -> (u64, u64)) {
        let items = self.items.iter().filter(|item| item.place == Place::Topic(topic));
        let told: usize = items.filter_map(|item| item.delivery).map(|(_, displaced)| displaced).sum();
        let is_of = |kind: Kind| matches!(kind, Kind::Subscription { inbox, .. } if inbox.topic == topic);
        let entities = self.program.entities.iter().filter(|plan| is_of(plan.kind));
        let names = entities.map(|plan| format!("e{}", plan.id));
        let queues = self.program.queues.iter().filter(|plan| plan.inbox.topic == topic);
        let names = names.chain(queues.map(|plan| format!("q{}", plan.id)));
        let counted: u64 = names.map(|name| lost(&name).0).sum();
        if told as u64 != counted {
            let message = format!("publishers of topic {topic} were told of {told} displaced messages, not {counted}");
            self.broken(Rule::Loss, message);
        }
    }

    /// Returns a request whose response an outside thread still waits for.
    fn unanswered(&self) -> Option<usize> {
        self.waits.iter().find_map(|wait| match wait.on {
            super::WaitOn::Call { item } | super::WaitOn::Within { item, .. } if wait.main_of.is_none() => Some(item),
            _ => None,
        })
    }
}
