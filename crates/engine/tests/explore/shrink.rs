//! Makes a failing program small enough to be understood.

use std::time::{Duration, Instant};

use super::program::{Action, Inbox, Kind, PolicyKind, Program, SpinPlan, Style, TopicPlan, Way};
use super::search::{Failure, try_program};

/// The time for the search for a smaller program.
const LIMIT: Duration = Duration::from_secs(60);
/// The number of schedules that each candidate is tried with.
const SCHEDULES: u64 = 150;

/// Returns the smallest program found that fails in the same way.
pub(crate) fn shrink(failure: Failure) -> Failure {
    let mut search = Search { best: failure, until: Instant::now() + LIMIT };
    loop {
        let before = search.best.job.program.size();
        search.drop_parts();
        search.make_plain();
        if search.best.job.program.size() >= before || Instant::now() > search.until {
            return search.best;
        }
    }
}

struct Search {
    best: Failure,
    until: Instant,
}

impl Search {
    /// Tries the program with a change, and keeps the change if the program fails in the same way. Returns true if it
    /// does.
    fn accept(&mut self, change: impl FnOnce(&mut Program)) -> bool {
        let mut candidate = (*self.best.job.program).clone();
        change(&mut candidate);
        if candidate == *self.best.job.program || Instant::now() > self.until {
            return false;
        }
        let key = self.best.broken.key();
        // The same schedule comes first, since it often still fails.
        let found = try_program(&candidate, self.best.job.schedule, 1, &key)
            .or_else(|| try_program(&candidate, 0, SCHEDULES, &key));
        match found {
            Some(failure) => {
                self.best = failure;
                true
            }
            None => false,
        }
    }

    /// Leaves out the parts of one list that the failure does not need: tries halves first, then smaller pieces.
    fn without<T>(&mut self, list: impl Fn(&mut Program) -> Option<&mut Vec<T>>) {
        let length = |search: &Self| {
            let mut program = (*search.best.job.program).clone();
            list(&mut program).map_or(0, |items| items.len())
        };
        let mut size = length(self).div_ceil(2);
        while size > 0 {
            let mut end = length(self);
            while end > 0 {
                let start = end.saturating_sub(size);
                self.accept(|program| {
                    if let Some(items) = list(program) {
                        items.drain(start..end.min(items.len()));
                    }
                });
                end = start.min(length(self));
            }
            size /= 2;
        }
    }

    fn drop_parts(&mut self) {
        self.without(|program| Some(&mut program.threads));
        self.without(|program| Some(&mut program.rounds));
        self.without(|program| Some(&mut program.entities));
        self.without(|program| Some(&mut program.queues));
        self.without(|program| Some(&mut program.groups));
        self.without(|program| Some(&mut program.executors));
        for number in 0..self.best.job.program.threads.len() {
            self.without(|program| program.threads.get_mut(number));
        }
        for number in 0..self.best.job.program.rounds.len() {
            self.without(|program| program.rounds.get_mut(number).map(|round| &mut round.before));
        }
        for number in 0..self.best.job.program.entities.len() {
            self.without(|program| program.entities.get_mut(number).map(|entity| &mut entity.script));
        }
        for number in 0..self.best.job.program.executors.len() {
            self.without(|program| program.executors.get_mut(number).map(|executor| &mut executor.spins));
        }
    }

    /// Makes topics, queues, sources, and the ways to publish plain.
    fn make_topics_plain(&mut self) {
        let plain = |inbox: &mut Inbox| (inbox.keeps_all, inbox.is_late) = (false, false);
        for topic in 0..self.best.job.program.topics.len() {
            self.accept(|program| program.topics[topic] = TopicPlan::default());
            self.accept(|program| program.topics[topic].patience = None);
        }
        for number in 0..self.best.job.program.queues.len() {
            self.accept(|program| plain(&mut program.queues[number].inbox));
        }
        for number in 0..self.best.job.program.entities.len() {
            self.accept(|program| match &mut program.entities[number].kind {
                Kind::Subscription { inbox, .. } => plain(inbox),
                Kind::Source { style, .. } => *style = Style::Plain,
                _ => {}
            });
            self.accept(|program| match &mut program.entities[number].kind {
                Kind::Subscription { by_queue, .. } | Kind::Service { by_queue, .. } => *by_queue = false,
                _ => {}
            });
        }
        self.accept(|program| {
            for action in program.actions_mut() {
                if let Action::Publish(_, way) = action {
                    *way = Way::Plain;
                }
            }
        });
    }

    fn make_plain(&mut self) {
        self.make_topics_plain();
        for number in 0..self.best.job.program.executors.len() {
            self.accept(|program| program.executors[number].threads = 1);
            self.accept(|program| program.executors[number].polls = false);
            self.accept(|program| program.executors[number].policy = PolicyKind::FixedPriority);
            for spin in 0..self.best.job.program.executors[number].spins.len() {
                self.accept(|program| program.executors[number].spins[spin].main = None);
                self.accept(|program| program.executors[number].spins[spin].timeout = None);
                self.accept(|program| program.executors[number].spins[spin] = SpinPlan::HALTED);
            }
        }
        for number in 0..self.best.job.program.groups.len() {
            self.accept(|program| program.groups[number].reentrant = false);
            self.accept(|program| {
                let id = program.groups[number].id;
                program.groups[number].releases = false;
                let entities = program.entities.iter_mut().filter(|entity| entity.group == id);
                entities.for_each(|entity| entity.by_group = false);
            });
            self.accept(|program| program.groups[number].moved_to = None);
            self.accept(|program| program.groups[number].on_panic = super::program::PanicPlan::Continue);
        }
        for number in 0..self.best.job.program.entities.len() {
            self.accept(|program| {
                let entity = &mut program.entities[number];
                (entity.asynchronous, entity.by_group) = (false, false);
            });
            self.accept(|program| {
                let group = program.group(program.entities[number].group).is_some_and(|group| group.releases);
                program.entities[number].releases_group &= group;
            });
            self.accept(|program| program.entities[number].max_in_flight = None);
            self.accept(|program| program.entities[number].deadline = None);
            self.accept(|program| program.entities[number].bomb = false);
            self.accept(|program| program.entities[number].slow = false);
            self.accept(|program| program.entities[number].at_start = true);
            self.accept(|program| {
                if let Kind::Timer { periodic, .. } = &mut program.entities[number].kind {
                    *periodic = false;
                }
            });
        }
        for number in 0..self.best.job.program.rounds.len() {
            self.accept(|program| program.rounds[number].set_system = None);
            self.accept(|program| program.rounds[number].advance = 0);
            self.accept(|program| program.rounds[number].while_blocked = true);
        }
    }
}
