//! Results of a replay in words.

use std::fmt;

use super::{Candidate, Difference, Replayed, State, Verdict};

/// The most ready activations that are listed.
const LISTED: usize = 40;

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, policy, replayed_policy, threads, decisions, choices, .. } = self;
        let policy = if replayed_policy == policy || replayed_policy.is_empty() {
            policy.clone()
        } else {
            format!("recorded {policy}, replayed {replayed_policy}")
        };
        let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        write!(f, "{executor} ({policy}, {threads}): ")?;
        match &self.verdict {
            Verdict::Same if *decisions == 0 => write!(f, "no decision to compare; {} events", self.events)?,
            Verdict::Same => write!(
                f,
                "the same {decisions} decisions, {choices} of them with more than one activation ready; {} events",
                self.events
            )?,
            Verdict::NotChecked(reason) => write!(f, "not checked: {reason}")?,
            Verdict::Differs(difference) => {
                write!(f, "after {} decisions that are the same, one differs\n{difference}", difference.decision - 1)?;
            }
        }
        if self.unchecked > 0 {
            write!(
                f,
                "\n  The first {} decisions were not compared: the recording has the state of the executor only after \
                 them.",
                self.unchecked
            )?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choice = |choice: &Option<Candidate>| match choice {
            Some(candidate) => candidate.name(),
            None => "nothing".to_owned(),
        };
        writeln!(
            f,
            "  Decision {}, {:.6} ms after the beginning of the recording, for thread {}:",
            self.decision,
            self.since_begin_ns as f64 / 1e6,
            self.thread
        )?;
        writeln!(f, "    recorded: {}", choice(&self.recorded))?;
        writeln!(f, "    replayed: {}", choice(&self.replayed))?;
        if let Some(what) = &self.what {
            writeln!(f, "    {what}")?;
        }
        if let Some(recorded) = &self.recorded
            && !self.ready.iter().any(|ready| ready.is(recorded))
        {
            writeln!(
                f,
                "    {} was not ready in the replay: its release is missing in the recording",
                recorded.name()
            )?;
        }
        if self.ready.is_empty() {
            write!(f, "  Nothing was ready.")?;
        } else {
            write!(f, "  Ready then, in the order of registration (times are relative to the decision):")?;
            self.table(f, &self.ready)?;
        }
        if !self.under_way.is_empty() {
            write!(f, "\n  Under way then:")?;
            self.table(f, &self.under_way)?;
        }
        Ok(())
    }
}

impl Difference {
    /// Writes the candidates as a table, each line after a line break.
    fn table(&self, f: &mut fmt::Formatter<'_>, candidates: &[Candidate]) -> fmt::Result {
        let listed = &candidates[..candidates.len().min(LISTED)];
        let names: Vec<String> = listed.iter().map(Candidate::name).collect();
        let width = |of: &dyn Fn(usize) -> usize, head: usize| (0..listed.len()).map(of).max().unwrap_or(0).max(head);
        let name_width = width(&|place| names[place].chars().count(), "callback".len());
        let group_width = width(&|place| listed[place].group.chars().count(), "group".len());
        write!(
            f,
            "\n       {:<name_width$}  {:<group_width$}  {:>8}  {:>14}  {:>14}  state",
            "callback", "group", "priority", "release", "deadline"
        )?;
        for (candidate, name) in listed.iter().zip(&names) {
            let is = |choice: &Option<Candidate>| choice.as_ref().is_some_and(|choice| choice.is(candidate));
            let mark = match (is(&self.recorded), is(&self.replayed)) {
                (true, true) => "rec+rep",
                (true, false) => "rec",
                (false, true) => "rep",
                (false, false) => "",
            };
            let deadline = candidate.deadline_ns.map_or_else(|| "-".to_owned(), |deadline| self.relative(deadline));
            write!(
                f,
                "\n  {mark:>3}  {name:<name_width$}  {:<group_width$}  {:>8}  {:>14}  {deadline:>14}  {}",
                candidate.group,
                candidate.priority,
                self.relative(candidate.release_ns),
                candidate.state
            )?;
        }
        if candidates.len() > LISTED {
            write!(f, "\n       and {} more", candidates.len() - LISTED)?;
        }
        Ok(())
    }

    /// Returns the milliseconds from the decision to `time_ns`, with a sign: negative before the decision.
    fn relative(&self, time_ns: u64) -> String {
        format!("{:+.6} ms", (i128::from(time_ns) - i128::from(self.at_ns)) as f64 / 1e6)
    }
}

impl Candidate {
    /// Returns the callback with the number of the activation, and of the segment unless it is the first one.
    #[must_use]
    pub fn name(&self) -> String {
        match self.segment {
            0 => format!("{} #{}", self.callback, self.sequence),
            segment => format!("{} #{}.{segment}", self.callback, self.sequence),
        }
    }

    /// Returns true if this is the same segment.
    fn is(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.registration, of.sequence, of.segment);
        key(self) == key(other) && self.callback == other.callback
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MayRun => "may run",
            Self::Polled => "may run, in the ready set",
            Self::Blocked => "waits for its group",
            Self::Running => "runs",
            Self::Suspended => "awaits",
        })
    }
}
