//! Orders and results of a run, and the interface behind which it happens.

use serde::{Deserialize, Serialize};

use crate::children::{self, ChildError};

use super::publisher::{self, Published};
use super::settings::Settings;
use super::subscriber::{self, Subscribed};
use super::threads::ThreadFacts;
use super::variant::Variant;

/// The name of the experiment, on the command line and in its result files.
pub(crate) const NAME: &str = "latency";

/// Results of one run of one variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunResult {
    /// The variant that was run.
    pub(crate) variant: Variant,
    /// The number of the run, from 1; 0 for the one that measures the overhead.
    pub(crate) run: u32,
    /// Results of the subscriber.
    pub(crate) subscribed: Subscribed,
    /// Results of the publisher.
    pub(crate) published: Published,
}

impl RunResult {
    /// Returns the settings that the threads of both processes had.
    pub(crate) fn threads(&self) -> impl Iterator<Item = &ThreadFacts> {
        self.published.threads.iter().chain(&self.subscribed.threads)
    }

    /// Returns true if a thread lacks a setting that was asked for.
    pub(crate) fn lacks_something(&self) -> bool {
        self.threads().any(|thread| !thread.shortfalls.is_empty())
    }
}

/// Runner of one variant at a time.
pub(crate) trait Runner {
    /// Runs `variant` once; `progress` is told the share that is done, 0 to 1. `run` is the number of the run in the
    /// result.
    fn run(
        &self,
        variant: Variant,
        run: u32,
        settings: &Settings,
        progress: &dyn Fn(f64),
    ) -> Result<RunResult, RunError>;
}

/// Error of a variant that gave no result.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", variant.name())]
pub(crate) struct RunError {
    /// The variant that was run.
    pub(crate) variant: Variant,
    /// Reason for which a process of the run gave no result.
    pub(crate) reason: ChildError,
}

/// Order to a child. The publisher and the subscriber of a run find each other by the name in their orders.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Order {
    /// Be the subscriber of this variant, with these settings; the publisher comes to this name.
    Subscribe(Variant, Settings, String),
    /// Be the publisher, with these settings; the subscriber waits at this name.
    Publish(Settings, String),
}

/// Answer of a child.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Answer {
    /// Results of the subscriber.
    Subscribed(Subscribed),
    /// Results of the publisher.
    Published(Published),
}

impl Order {
    /// Carries out the order: runs the subscriber or the publisher in this process.
    pub(crate) fn obey(self) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        match self {
            Self::Subscribe(variant, settings, name) => {
                subscriber::run(variant, &settings, &name).map(Answer::Subscribed)
            }
            Self::Publish(settings, name) => Ok(Answer::Published(publisher::run(&settings, &name)?)),
        }
    }
}

/// Runner that starts the publisher and the subscriber as two processes.
pub(crate) struct TwoProcesses;

impl Runner for TwoProcesses {
    fn run(
        &self,
        variant: Variant,
        run: u32,
        settings: &Settings,
        progress: &dyn Fn(f64),
    ) -> Result<RunResult, RunError> {
        // The name is unique on this machine.
        let name = format!("rospin-latency-{}-{}-{run}", std::process::id(), variant.name());
        let orders = [Order::Subscribe(variant, *settings, name.clone()), Order::Publish(*settings, name)];
        let answers = children::run(NAME, &orders, settings.duration, progress);
        let answers: Vec<Answer> = answers.map_err(|reason| RunError { variant, reason })?;
        let (mut subscribed, mut published) = (Subscribed::default(), Published::default());
        for answer in answers {
            match answer {
                Answer::Subscribed(answer) => subscribed = answer,
                Answer::Published(answer) => published = answer,
            }
        }
        Ok(RunResult { variant, run, subscribed, published })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn orders_and_answers_survive_the_pipe() {
        let result = testing::results().remove(0);
        let order = Order::Subscribe(result.variant, testing::settings(), "name".to_owned());
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), order);
        for answer in [Answer::Subscribed(result.subscribed), Answer::Published(result.published)] {
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
        }
    }
}
