//! Sentences about callbacks that do not run.

use rospin_core::EntityKind;

use crate::waits::Reason;

/// Parts of a sentence about a callback that does not run, beside the callback's name.
pub(crate) struct Told<'a> {
    pub(crate) kind: EntityKind,
    pub(crate) for_ns: u64,
    pub(crate) is_at_least: bool,
    /// The period of a timer, or else the deadline.
    pub(crate) limit_ns: Option<u64>,
    pub(crate) reason: Reason,
    pub(crate) culprit: Option<&'a str>,
}

impl Told<'_> {
    /// Returns the sentence without its subject and its full stop:
    /// `has not run for 8.0 s (period 25 ms): planner/plan held its thread`.
    pub(crate) fn text(&self) -> String {
        let least = if self.is_at_least { "at least " } else { "" };
        let (waiting, limit) = match self.kind {
            EntityKind::Timer => ("", "period"),
            EntityKind::Subscription => (" although a message waits", "deadline"),
            EntityKind::Service => (" although a request waits", "deadline"),
            EntityKind::Client => (" although a response waits", "deadline"),
            _ => (" although something waits for it", "deadline"),
        };
        let limit = self.limit_ns.map_or_else(String::new, |ns| format!(" ({limit} {})", length(ns)));
        let who = self.culprit.unwrap_or("another callback");
        let why = match self.reason {
            Reason::Group => format!("{who} held its group"),
            Reason::Idle => "its executor does not spin, or the kernel does not run its thread".to_owned(),
            Reason::Priority | Reason::Order | Reason::Running => format!("{who} held its thread"),
        };
        format!("has not run for {least}{}{waiting}{limit}: {why}", during(self.for_ns))
    }
}

/// Returns a measured time as people say it: `8.0 s`, `125 ms`.
pub(crate) fn during(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.0} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// Returns a time that somebody chose, without zeros behind the point: `25 ms`, `2.5 ms`, `1 s`.
pub(crate) fn length(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => (ns as f64, "ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_time_the_limit_and_who_held_what() {
        let mut told = Told {
            kind: EntityKind::Timer,
            for_ns: 8_000_000_000,
            is_at_least: false,
            limit_ns: Some(25_000_000),
            reason: Reason::Priority,
            culprit: Some("planner/plan"),
        };
        assert_eq!(told.text(), "has not run for 8.0 s (period 25 ms): planner/plan held its thread");
        (told.kind, told.limit_ns, told.reason, told.is_at_least) = (EntityKind::Service, None, Reason::Group, true);
        assert_eq!(told.text(), "has not run for at least 8.0 s although a request waits: planner/plan held its group");
        told.reason = Reason::Idle;
        assert!(told.text().ends_with(": its executor does not spin, or the kernel does not run its thread"));
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        assert_eq!([during(7_975_000_000), during(125_400_000), during(80_000)], ["8.0 s", "125 ms", "80 us"]);
        assert_eq!(
            [length(25_000_000), length(2_500_000), length(1_000_000_000), length(333)],
            ["25 ms", "2.5 ms", "1 s", "333 ns"]
        );
    }
}
