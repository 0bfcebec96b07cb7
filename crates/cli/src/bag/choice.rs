//! The choice of topics, by names and regular expressions, with the options of `ros2 bag`.

use clap::Args;
use regex::Regex;

use crate::ros::is_hidden;

/// Topics that are recorded or played.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Choice {
    /// Takes these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pub(super) topics: Vec<String>,

    /// Takes topics in whose names this regular expression is found, too
    #[arg(long, short = 'e', value_name = "REGEX")]
    pub(super) regex: Option<Regex>,

    /// Leaves out topics in whose names this regular expression is found
    #[arg(long, short = 'x', value_name = "REGEX")]
    pub(super) exclude_regex: Option<Regex>,

    /// Leaves out these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pub(super) exclude_topics: Vec<String>,
}

/// Returns true if both are the same topic; a slash at the beginning may be missing.
fn is_same(a: &str, b: &str) -> bool {
    a.trim_start_matches('/') == b.trim_start_matches('/')
}

impl Choice {
    /// Returns true if a topic is named, whether it is left out or not.
    pub(super) fn names(&self, topic: &str) -> bool {
        self.topics.iter().any(|named| is_same(named, topic))
    }

    /// Returns true if a topic is left out.
    pub(super) fn leaves_out(&self, topic: &str) -> bool {
        self.exclude_topics.iter().any(|named| is_same(named, topic))
            || self.exclude_regex.as_ref().is_some_and(|regex| regex.is_match(topic))
    }

    /// Returns true if topics are chosen by name or regular expression.
    pub(super) fn is_some(&self) -> bool {
        !self.topics.is_empty() || self.regex.is_some()
    }

    /// Returns true if a topic is taken: all are if none is chosen.
    pub(super) fn takes(&self, topic: &str) -> bool {
        let is_chosen =
            !self.is_some() || self.names(topic) || self.regex.as_ref().is_some_and(|regex| regex.is_match(topic));
        is_chosen && !self.leaves_out(topic)
    }

    /// Returns true if a topic of a running robot is taken. One that is hidden has to be named, unless `with_hidden`.
    pub(super) fn takes_live(&self, topic: &str, with_hidden: bool) -> bool {
        self.takes(topic) && (with_hidden || self.names(topic) || !is_hidden(topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(topics: &[&str], regex: &str, exclude: &str) -> Choice {
        let compiled = |text: &str| (!text.is_empty()).then(|| Regex::new(text).unwrap());
        Choice {
            topics: topics.iter().map(|&topic| topic.to_owned()).collect(),
            regex: compiled(regex),
            exclude_regex: compiled(exclude),
            exclude_topics: vec!["/left/out".to_owned()],
        }
    }

    #[test]
    fn topics_are_taken_by_name_or_expression_unless_they_are_left_out() {
        assert!(choice(&[], "", "").takes("/scan") && !choice(&[], "", "").takes("/left/out"));
        assert!(choice(&["scan"], "", "").takes("/scan") && !choice(&["scan"], "", "").takes("/scan2"));
        let both = choice(&["/scan"], "^/camera/", "depth");
        assert!(
            both.takes("/scan") && both.takes("/camera/image") && !both.takes("/camera/depth") && !both.takes("/x")
        );
    }

    #[test]
    fn hidden_topics_have_to_be_named() {
        assert!(!choice(&[], "", "").takes_live("/_secret", false) && choice(&[], "", "").takes_live("/_secret", true));
        assert!(choice(&["/_secret"], "", "").takes_live("/_secret", false));
        assert!(!choice(&[], "secret", "").takes_live("/_secret", false));
    }
}
