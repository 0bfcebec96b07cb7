//! The designs that are compared, a file each. Those of other projects are models: for each message they do the work of
//! the design on the same rings, and leave out the work of the middleware.

mod control;
mod engine;
mod events_queue;
mod limit;
mod mailbox;
mod r2r;
mod taken;
mod timers;
mod wait_set;

use std::error::Error;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub(crate) use self::control::Control;

use super::system::System;
use super::workload::{Cell, Workload};

/// Reason for which a contender failed.
pub(crate) type Failed = Box<dyn Error + Send + Sync>;

/// A design that is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[value(rename_all = "kebab-case")]
pub(crate) enum Contender {
    /// No executor: a thread takes from the rings and calls the closures. This is the limit.
    Limit,
    /// rclrs: a Tokio task and a mailbox for each group.
    TokioMailbox,
    /// R2R: a wait set that fills channels, and tasks that read them and call the callbacks, all on one thread.
    R2rLocal,
    /// R2R: a wait set on one thread that fills channels, and tasks on a pool of threads that read them.
    R2rPool,
    /// R2R: a wait set on one thread that fills channels, and tasks on Tokio that read them.
    R2rTokio,
    /// rclcpp: a wait set on one thread.
    WaitSetSingle,
    /// rclcpp: a wait set that several threads share.
    WaitSetMulti,
    /// rclcpp: a queue with an event for each message.
    EventsQueue,
    /// rospin, first in, first out.
    RospinFifo,
    /// rospin, by priority.
    RospinFixedPriority,
    /// rospin, by deadline.
    RospinEdf,
    /// rospin, emulating rclcpp's wait set with timers outside the ready set (E1).
    RospinWaitSetE1,
    /// rospin, emulating rclcpp's wait set with timers inside the ready set (E2).
    RospinWaitSetE2,
}

impl Contender {
    /// All contenders, in the order of the tables.
    pub(crate) const ALL: [Self; 13] = [
        Self::Limit,
        Self::TokioMailbox,
        Self::R2rLocal,
        Self::R2rPool,
        Self::R2rTokio,
        Self::WaitSetSingle,
        Self::WaitSetMulti,
        Self::EventsQueue,
        Self::RospinFifo,
        Self::RospinFixedPriority,
        Self::RospinEdf,
        Self::RospinWaitSetE1,
        Self::RospinWaitSetE2,
    ];

    /// Returns the contender's name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::TokioMailbox => "tokio-mailbox",
            Self::R2rLocal => "r2r-local",
            Self::R2rPool => "r2r-pool",
            Self::R2rTokio => "r2r-tokio",
            Self::WaitSetSingle => "wait-set-single",
            Self::WaitSetMulti => "wait-set-multi",
            Self::EventsQueue => "events-queue",
            Self::RospinFifo => "rospin-fifo",
            Self::RospinFixedPriority => "rospin-fixed-priority",
            Self::RospinEdf => "rospin-edf",
            Self::RospinWaitSetE1 => "rospin-wait-set-e1",
            Self::RospinWaitSetE2 => "rospin-wait-set-e2",
        }
    }

    /// Returns a description of the contender for people.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Limit => "no executor: a bare thread takes from the rings in turn, calls the closures, and parks",
            Self::TokioMailbox => {
                "one Tokio task and mailbox a group, one pending mail an entity (rclrs, pull request 654)"
            }
            Self::R2rLocal => "wait set, a channel of 10 a subscription, and a LocalPool on the same thread (R2R)",
            Self::R2rPool => "wait set on a thread, a channel of 10 a subscription, futures' ThreadPool (R2R)",
            Self::R2rTokio => "wait set on a thread, a channel of 10 a subscription, Tokio's runtime (R2R)",
            Self::WaitSetSingle => "wait set rebuilt on every poll, one thread (rclcpp's single-threaded executor)",
            Self::WaitSetMulti => {
                "wait set rebuilt on every poll, two threads that poll in turn (rclcpp's multi-threaded executor)"
            }
            Self::EventsQueue => "a queue with an event a message (rclcpp's events executor)",
            Self::RospinFifo => "rospin under Fifo",
            Self::RospinFixedPriority => "rospin under FixedPriority",
            Self::RospinEdf => "rospin under Edf",
            Self::RospinWaitSetE1 => "rospin under WaitSet, timers outside",
            Self::RospinWaitSetE2 => "rospin under WaitSet, timers inside",
        }
    }

    /// Returns the name of rospin's policy; `None` if the contender is another design.
    pub(crate) const fn policy(self) -> Option<&'static str> {
        match self {
            Self::RospinFifo => Some("fifo"),
            Self::RospinFixedPriority => Some("fixed-priority"),
            Self::RospinEdf => Some("edf"),
            Self::RospinWaitSetE1 => Some("wait-set-e1"),
            Self::RospinWaitSetE2 => Some("wait-set-e2"),
            _ => None,
        }
    }

    /// Returns true if the contender is the design of another project.
    pub(crate) const fn is_other(self) -> bool {
        self.policy().is_none() && !matches!(self, Self::Limit)
    }

    /// Returns the number of threads on which the contender runs callbacks in the cell: that of the cell, except that a
    /// multi-threaded wait set has two under every workload but [`Workload::Threads`]. `None` if the contender has only
    /// one thread and the cell wants several.
    pub(crate) const fn threads(self, cell: &Cell) -> Option<usize> {
        match self {
            Self::WaitSetMulti if !matches!(cell.workload, Workload::Threads) => Some(2),
            Self::R2rLocal | Self::WaitSetSingle | Self::EventsQueue if cell.threads > 1 => None,
            _ => Some(cell.threads),
        }
    }

    /// Runs the system on the calling thread, and on others that it starts, until `control` ends it.
    pub(crate) fn spin(self, system: System, control: &Control) -> Result<(), Failed> {
        match self {
            Self::Limit => limit::spin(system, control),
            Self::TokioMailbox => mailbox::spin(system, control),
            Self::R2rLocal => r2r::spin(system, control, r2r::Tasks::Local),
            Self::R2rPool => r2r::spin(system, control, r2r::Tasks::Pool),
            Self::R2rTokio => r2r::spin(system, control, r2r::Tasks::Tokio),
            Self::WaitSetSingle => wait_set::spin_single(system, control),
            Self::WaitSetMulti => wait_set::spin_multi(system, control),
            Self::EventsQueue => events_queue::spin(system, control),
            Self::RospinFifo
            | Self::RospinFixedPriority
            | Self::RospinEdf
            | Self::RospinWaitSetE1
            | Self::RospinWaitSetE2 => engine::spin(system, control, self.policy().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_on_the_command_line_in_results_and_here() {
        assert_eq!(Contender::ALL, Contender::value_variants());
        for contender in Contender::ALL {
            assert_eq!(Contender::from_str(contender.name(), false), Ok(contender));
            assert_eq!(serde_json::to_string(&contender).unwrap(), format!("\"{}\"", contender.name()));
        }
    }

    #[test]
    fn every_policy_of_rospin_takes_part() {
        let ours: Vec<_> = Contender::ALL.iter().filter_map(|contender| contender.policy()).collect();
        let all: Vec<_> = rospin_engine::policy::POLICIES.iter().map(|entry| entry.name).collect();
        assert_eq!(ours, all);
    }
}
