//! Events as text: a line for each, with names in place of numbers.

use std::collections::HashMap;
use std::fmt::Write;

use rospin_core::recording::{Event, INCIDENTS, LOSS_CAUSES, Step};

use crate::monitor::{Cause, ViolationKind, told};

use crate::names::{Name, hexadecimal};
use crate::recording::Recording;

/// Returns the events of the recording, a line for each: the milliseconds since the first one, the thread, and what
/// happened.
#[must_use]
pub fn render(recording: &Recording) -> String {
    let names = Names::of(recording);
    let begin = recording.events.first().map_or(0, |recorded| recorded.at.as_nanos());
    let mut text = String::new();
    for recorded in &recording.events {
        let ms = (recorded.at.as_nanos() as f64 - begin as f64) / 1e6;
        let thread = names.threads.get(&recorded.thread).copied().unwrap_or("?");
        let _ = writeln!(text, "{ms:>12.6}  {thread:<15}  {}", names.event(&recorded.event));
    }
    text
}

#[derive(Default)]
struct Names<'a> {
    threads: HashMap<u32, &'a str>,
    executors: HashMap<u16, &'a str>,
    entities: HashMap<(u16, u64), &'a str>,
    accounts: HashMap<u64, &'a str>,
    queues: HashMap<u64, (&'a str, u64)>,
    chains: HashMap<u32, &'a str>,
}

impl<'a> Names<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut names = Self::default();
        for name in &recording.names {
            match name {
                Name::Thread { thread, name, .. } => _ = names.threads.insert(*thread, name),
                Name::Executor { executor, name, .. } => _ = names.executors.insert(*executor, name),
                Name::Entity { executor, entity, account, name, .. } => {
                    names.entities.insert((*executor, *entity), name);
                    names.accounts.insert(*account, name);
                }
                Name::Chain { chain, name } => _ = names.chains.insert(*chain, name),
                Name::Queue { queue, topic, account, .. } => _ = names.queues.insert(*queue, (topic, *account)),
                _ => {}
            }
        }
        names
    }

    fn entity(&self, executor: u16, entity: u64) -> &str {
        self.entities.get(&(executor, entity)).copied().unwrap_or("?")
    }

    fn step(&self, step: &Step) -> String {
        let name = self.entity(step.executor, step.entity);
        if step.segment == 0 {
            format!("{name} #{}", step.sequence)
        } else {
            format!("{name} #{}.{}", step.sequence, step.segment)
        }
    }

    fn queue(&self, queue: u64) -> &str {
        self.queues.get(&queue).map_or("?", |(topic, _)| *topic)
    }

    fn event(&self, event: &Event) -> String {
        match event {
            Event::Released { step, .. } => format!("released   {}", self.step(step)),
            Event::Antedated { step, .. } => format!("antedated  {}", self.step(step)),
            Event::Dispatched { step, .. } => format!("runs       {}", self.step(step)),
            Event::Suspended { step, .. } => format!("waits      {}", self.step(step)),
            Event::Completed { step, .. } => format!("ends       {}", self.step(step)),
            Event::PollingPoint { executor, .. } => {
                format!("polls      {}", self.executors.get(executor).copied().unwrap_or("?"))
            }
            Event::Collected { step } => format!("collected  {}", self.step(step)),
            Event::Overrun { executor, entity, count } => {
                format!("skips      {} {count} due times", self.entity(*executor, *entity))
            }
            Event::Queued { queue, ticket, displaced } => {
                let displaced = if *displaced { ", displaces the oldest" } else { "" };
                format!("queued     {} message {ticket}{displaced}", self.queue(*queue))
            }
            Event::Taken { queue, ticket } => format!("taken      {} message {ticket}", self.queue(*queue)),
            Event::Sent { publisher, number } => format!("sent       {} {number}", hexadecimal(publisher)),
            Event::Received { publisher, number } => format!("received   {} {number}", hexadecimal(publisher)),
            Event::Lost { account, cause, count } => {
                let of = self.accounts.get(account).copied();
                let topic = || self.queues.values().find(|(_, of)| of == account).map(|(topic, _)| *topic);
                let cause = LOSS_CAUSES.get(usize::from(*cause)).unwrap_or(&"unknown");
                format!("lost       {} {count}, {cause}", of.or_else(topic).unwrap_or("?"))
            }
            Event::Incident { executor, entity, kind } => {
                let of = if *entity == u64::MAX { "the callback" } else { self.entity(*executor, *entity) };
                format!("incident   {of} {}", INCIDENTS.get(usize::from(*kind)).unwrap_or(&"unknown"))
            }
            Event::HandedOver { executor, .. } => {
                format!("takes over {}", self.executors.get(executor).copied().unwrap_or("?"))
            }
            Event::Withdrawn { step } => format!("withdrawn  {}", self.step(step)),
            Event::Discarded { executor, .. } => {
                format!("discards   {} the rest of its ready set", self.executors.get(executor).copied().unwrap_or("?"))
            }
            Event::Snapshot { executor, .. } => {
                format!("state      of {}", self.executors.get(executor).copied().unwrap_or("?"))
            }
            Event::FoundReady { step, .. } => format!("  ready    {}", self.step(step)),
            Event::FoundRunning { step } => format!("  running  {}", self.step(step)),
            Event::FoundSuspended { step } => format!("  waiting  {}", self.step(step)),
            Event::FoundArmed { executor, entity, .. } => format!("  armed    {}", self.entity(*executor, *entity)),
            Event::Violation { executor, entity, kind, cause, chain, culprit, measured, limit } => {
                let of = self.chains.get(chain).copied().unwrap_or_else(|| self.entity(*executor, *entity));
                let Some(kind) = ViolationKind::at(*kind) else {
                    return format!("violation  {of}, of an unknown kind");
                };
                let cause = Cause::at(*cause).describe(kind, self.accounts.get(culprit).copied());
                format!("violation  {of} {}, {cause}", told(kind, *measured, *limit))
            }
            Event::Dropped { count } => format!("missing    {count} events: the thread's buffer was full"),
            other => format!("{other:?}"),
        }
    }
}
