//! The choice of topics, services and parameters that watchers see.

use clap::Args;
use regex::Regex;

use crate::ros::is_hidden;

/// Topics, services and parameters that watchers see.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Choice {
    /// Shows only topics whose whole names match this regular expression; may be given several times
    #[arg(long = "topic", alias = "topic-whitelist", value_name = "REGEX", value_parser = whole)]
    topics: Vec<Regex>,

    /// Leaves out topics whose whole names match
    #[arg(long, value_name = "REGEX", value_parser = whole)]
    exclude_topic: Vec<Regex>,

    /// Shows only services whose whole names match
    #[arg(long = "service", alias = "service-whitelist", value_name = "REGEX", value_parser = whole)]
    services: Vec<Regex>,

    /// Shows only parameters whose whole names match, such as /arm.gain
    #[arg(long = "param", alias = "param-whitelist", value_name = "REGEX", value_parser = whole)]
    parameters: Vec<Regex>,

    /// Lets watchers publish only topics whose whole names match
    #[arg(long = "publish", alias = "client-topic-whitelist", value_name = "REGEX", value_parser = whole)]
    published: Vec<Regex>,

    /// Shows topics and services that begin with an underscore, too
    #[arg(long, alias = "include-hidden")]
    include_hidden_topics: bool,
}

/// Parses a regular expression for whole names.
fn whole(text: &str) -> Result<Regex, regex::Error> {
    // Alone first, so that an error shows what the user has written.
    Regex::new(text)?;
    Regex::new(&format!("^(?:{text})$"))
}

/// Returns true if a name matches one of the expressions, or if there are no expressions.
fn is_in(expressions: &[Regex], name: &str) -> bool {
    expressions.is_empty() || expressions.iter().any(|expression| expression.is_match(name))
}

impl Choice {
    fn shows_hidden(&self, name: &str) -> bool {
        self.include_hidden_topics || !is_hidden(name)
    }

    pub(super) fn takes_topic(&self, name: &str) -> bool {
        let is_out = self.exclude_topic.iter().any(|expression| expression.is_match(name));
        is_in(&self.topics, name) && !is_out && self.shows_hidden(name)
    }

    pub(super) fn takes_service(&self, name: &str) -> bool {
        is_in(&self.services, name) && self.shows_hidden(name)
    }

    pub(super) fn takes_parameter(&self, name: &str) -> bool {
        is_in(&self.parameters, name)
    }

    pub(super) fn takes_published(&self, name: &str) -> bool {
        is_in(&self.published, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_whole_names() {
        let choice = Choice {
            topics: vec![whole("/camera/.*").unwrap(), whole("/tf|/scan").unwrap()],
            exclude_topic: vec![whole(".*/depth").unwrap()],
            ..Choice::default()
        };
        for taken in ["/camera/image", "/tf", "/scan"] {
            assert!(choice.takes_topic(taken), "{taken}");
        }
        for left in ["/tf_static", "/camera/depth", "/robot/camera/image", "/camera/_secret"] {
            assert!(!choice.takes_topic(left), "{left}");
        }
        assert!(choice.takes_service("/any") && choice.takes_parameter("/any.thing"));
        assert!(whole("(").is_err());
    }
}
