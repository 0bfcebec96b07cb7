//! Warnings about messages that do not match: each is told once.

use super::source::Counts;
use crate::complaints::Complaints;
use crate::sync::atomic::Ordering;

/// The messages that a synchronizer saw, to say why they do not match.
#[derive(Debug)]
pub(super) struct Watch {
    /// The entity's name.
    name: String,
    queue_size: usize,
    assumes_order: bool,
    inputs: Vec<Seen>,
    complaints: Complaints,
}

/// The messages of one input.
#[derive(Debug)]
struct Seen {
    topic: String,
    lower_bound_ns: i64,
    count: u64,
    last_stamp_ns: Option<i64>,
}

impl Watch {
    /// Creates the watch of a synchronizer, with the topics and the lower bounds of its inputs.
    pub(super) fn new(
        name: &str,
        queue_size: usize,
        assumes_order: bool,
        inputs: impl Iterator<Item = (String, i64)>,
    ) -> Self {
        let seen = |(topic, lower_bound_ns)| Seen { topic, lower_bound_ns, count: 0, last_stamp_ns: None };
        let inputs = inputs.map(seen).collect();
        Self { name: name.to_owned(), queue_size, assumes_order, inputs, complaints: Complaints::default() }
    }

    /// Takes note of a message, and warns if its stamp breaks an assumption.
    pub(super) fn see(&mut self, input: usize, stamp_ns: i64) {
        let seen = &mut self.inputs[input];
        seen.count += 1;
        let Some(last_ns) = seen.last_stamp_ns.replace(stamp_ns).filter(|_| self.assumes_order) else { return };
        let name = &self.name;
        let topic = &seen.topic;
        let stamp = seconds(stamp_ns);
        let last = seconds(last_ns);
        if stamp_ns < last_ns {
            let text = format!(
                "synchronizer `{name}`: messages of `{topic}` are out of order: the stamp {stamp} follows {last}. Some of them may \
                 match nothing, or not the best one"
            );
            self.complaints.tell(format!("order {topic}"), &text);
        } else if stamp_ns.saturating_sub(last_ns) < seen.lower_bound_ns {
            let text = format!(
                "synchronizer `{name}`: messages of `{topic}` are closer than its lower bound of {}: the stamp {stamp} follows \
                 {last}. Lower the bound",
                seconds(seen.lower_bound_ns)
            );
            self.complaints.tell(format!("bound {topic}"), &text);
        }
    }

    /// Warns if there was no set yet, and at least `queue_size` messages of an input were in none.
    pub(super) fn see_unmatched(&self, counts: &Counts) {
        let is_full = |unmatched: u64| unmatched >= self.queue_size as u64;
        if counts.matched.load(Ordering::Relaxed) > 0
            || !counts.unmatched.iter().any(|unmatched| is_full(unmatched.load(Ordering::Relaxed)))
        {
            return;
        }
        let inputs: Vec<_> = self.inputs.iter().map(Seen::describe).collect();
        let text = format!(
            "synchronizer `{}` drops messages, and has matched none so far: {}. Check that all topics are published, with a quality of \
             service that fits, and that their stamps are of the same clock",
            self.name,
            inputs.join("; ")
        );
        self.complaints.tell("no set", &text);
    }

    /// Forgets the stamps, because time has jumped.
    pub(super) fn forget(&mut self) {
        for seen in &mut self.inputs {
            seen.last_stamp_ns = None;
        }
    }
}

impl Seen {
    fn describe(&self) -> String {
        match self.last_stamp_ns {
            None => format!("no message on `{}`", self.topic),
            Some(last_ns) => {
                format!("{} messages on `{}`, the last one with the stamp {}", self.count, self.topic, seconds(last_ns))
            }
        }
    }
}

/// Returns a time as seconds, with all of its nanoseconds.
fn seconds(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}
