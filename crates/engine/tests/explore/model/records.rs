//! Recordings, which must have what certainly happened while the recorder was on.

use std::collections::{BTreeMap, BTreeSet};

use super::super::program::Kind;
use super::{At, Event, Model, Place, Rule};

/// The events of a recording that the model knows of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The names of entities, by their executor and their bits.
    pub(crate) entities: BTreeMap<(u16, u64), String>,
    /// The number of activations that began, by their executor and entity.
    pub(crate) dispatched: BTreeMap<(u16, u64), usize>,
    /// The messages that were appended to queues, and taken from them, by the queue and their number.
    pub(crate) queued: BTreeSet<(u64, u64)>,
    pub(crate) taken: BTreeSet<(u64, u64)>,
    /// True if a message was appended or taken twice, or an event came after the end.
    pub(crate) has_repeated: bool,
    pub(crate) is_over: bool,
    pub(crate) came_late: bool,
}

/// The notes at which the recorder was switched on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switched {
    starting: At,
    started: At,
}

impl Model {
    pub(crate) fn switches_recorder(&mut self, task: usize, on: bool) -> At {
        self.note(task, Event::Records { on })
    }

    pub(crate) fn started_recorder(&mut self, task: usize, starting: At) -> Switched {
        let started = self.note(task, Event::Did("records"));
        Switched { starting, started }
    }

    /// Judges the state of the recorder.
    pub(crate) fn judge_switch(&mut self, is: bool, should: bool) {
        if is != should {
            self.broken(Rule::Record, format!("the recorder says {is}, and it should be {should}"));
        }
    }

    /// Judges a recording that was begun at these notes, and was to stop from the note `stopping` on.
    pub(crate) fn judge_record(&mut self, task: usize, switched: Switched, stopping: At, record: &Record) {
        let stopped = self.note(task, Event::Did("records no more"));
        let Switched { starting, started } = switched;
        if record.has_repeated || record.came_late {
            self.broken(Rule::Record, "a recording has an event twice, or after its end".to_owned());
        }
        let mut began: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, count) in &record.dispatched {
            if let Some(name) = record.entities.get(key) {
                *began.entry(name).or_default() += count;
            }
        }
        for plan in &self.program.clone().entities {
            if matches!(plan.kind, Kind::Jump { .. }) {
                continue;
            }
            let runs = self.runs.iter().filter(|run| self.lives[run.life].entity == plan.id && run.began > 0);
            let least = runs.filter(|run| run.seen > started && run.began < stopping).count();
            let found = began.get(format!("e{}", plan.id).as_str()).copied().unwrap_or(0);
            if found < least {
                let message = format!("a recording has {found} activations of entity {}, of {least}", plan.id);
                self.broken(Rule::Record, message);
            }
        }
        self.judge_record_of_messages((starting, started), (stopping, stopped), record);
    }

    fn judge_record_of_messages(
        &mut self,
        (starting, started): (At, At),
        (stopping, stopped): (At, At),
        record: &Record,
    ) {
        let (mut least, mut most) = (0, 0);
        for item in self.items.iter().filter(|item| matches!(item.place, Place::Topic(_))) {
            let (queued, _) = item.delivery.unwrap_or((usize::MAX / 2, 0));
            let is_in = item.sending > started && item.sent.is_some_and(|sent| sent < stopping);
            let may_be_in = item.sent.is_none_or(|sent| sent > starting) && item.sending < stopped;
            least += if is_in { queued } else { 0 };
            most = usize::min(usize::MAX / 2, most + if may_be_in { queued } else { 0 });
        }
        let found = record.queued.len();
        if found < least || found > most {
            let message = format!("a recording has {found} messages in queues, of {least} to {most}");
            self.broken(Rule::Record, message);
        }
        let is_message = |item: &usize| matches!(self.items[*item].place, Place::Topic(_));
        let runs = self.runs.iter().filter(|run| run.item.as_ref().is_some_and(is_message));
        let least = runs.filter(|run| run.seen > started && run.began < stopping).count();
        let found = record.taken.len();
        if found < least {
            self.broken(Rule::Record, format!("a recording has {found} messages that were taken, of {least}"));
        }
    }
}
