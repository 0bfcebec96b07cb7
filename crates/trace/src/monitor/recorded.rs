//! A monitor that looks at recordings afterwards.

use std::collections::{BTreeMap, HashMap};

use rospin_core::recording::{Definition, Event, Sink, Step};

use super::{Monitor, order};
use crate::names::Name;
use crate::recording::{EventSorter, Recorded, Recording};

impl Monitor {
    /// Judges recordings, of a process each: as if one monitor had run beside all of them. So the program that is
    /// compared with the system file is all of them together, and chains are followed from process to process, as far
    /// as publishers have numbered their messages. The steady clocks of different machines have nothing to do with each
    /// other, so their recordings are judged one machine after the other.
    pub fn judge_recordings(&self, recordings: &[Recording]) {
        let mut machines: BTreeMap<&str, Vec<&Recording>> = BTreeMap::new();
        for recording in recordings {
            machines.entry(host(recording)).or_default().push(recording);
        }
        let mut sink = self.sink();
        let mut numbers = Numbers::default();
        for recordings in machines.values() {
            let mut order = EventSorter::default();
            for recording in recordings {
                for definition in recording.names.iter().filter_map(Name::definition) {
                    sink.define(&numbers.definition(definition));
                }
                order.add_all(recording.events.iter().map(|recorded| numbers.recorded(*recorded)).collect());
                numbers.process += 1;
            }
            let events = order.finish().into_iter().map(|of| (of.thread, of.at, of.event));
            let events: Vec<order::Ordered> = events.collect();
            let end = events.iter().map(|(_, at, _)| at.as_nanos()).max();
            self.judge(|_| events);
            self.judge(|inner| {
                if let Some(end) = end {
                    inner.judge.finish(end);
                }
                Vec::new()
            });
        }
    }
}

/// Returns the name of the machine on which the recording was made.
fn host(recording: &Recording) -> &str {
    for name in &recording.names {
        if let Name::Process { host, .. } = name {
            return host;
        }
    }
    ""
}

/// New numbers for those of executors, threads, accounts and queues, which processes count by themselves: each process
/// has others.
#[derive(Default)]
struct Numbers {
    /// The number of the process whose definitions and events come now.
    process: usize,
    executors: HashMap<(usize, u64), u64>,
    threads: HashMap<(usize, u64), u64>,
    /// Accounts and queues. Entities are known by their executors.
    others: HashMap<(usize, u64), u64>,
}

impl Numbers {
    fn executor(&mut self, number: u16) -> u16 {
        let number = fresh(&mut self.executors, self.process, number.into());
        // Of more executors than there are numbers, the last ones share one.
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    fn thread(&mut self, number: u32) -> u32 {
        u32::try_from(fresh(&mut self.threads, self.process, number.into())).unwrap_or(u32::MAX)
    }

    /// Returns the new number of an account or a queue. 0 stands for none.
    fn other(&mut self, number: u64) -> u64 {
        if number == 0 { 0 } else { fresh(&mut self.others, self.process, number) + 1 }
    }

    fn step(&mut self, step: Step) -> Step {
        Step { executor: self.executor(step.executor), ..step }
    }

    fn definition(&mut self, mut definition: Definition) -> Definition {
        match &mut definition {
            Definition::Executor { executor, .. } => *executor = self.executor(*executor),
            Definition::Thread { thread, .. } => *thread = self.thread(*thread),
            Definition::Entity { executor, account, .. } => {
                (*executor, *account) = (self.executor(*executor), self.other(*account));
            }
            Definition::Queue { queue, account, .. } => (*queue, *account) = (self.other(*queue), self.other(*account)),
            // Chains are the monitor's own, and publishers have numbers that no other process has.
            _ => {}
        }
        definition
    }

    fn recorded(&mut self, of: Recorded) -> Recorded {
        let mut event = of.event;
        if let Some(step) = event.step_mut() {
            *step = self.step(*step);
        }
        match &mut event {
            Event::PollingPoint { executor, .. }
            | Event::Overrun { executor, .. }
            | Event::Incident { executor, .. }
            | Event::HandedOver { executor, .. }
            | Event::Snapshot { executor, .. }
            | Event::FoundArmed { executor, .. }
            | Event::Discarded { executor, .. } => *executor = self.executor(*executor),
            Event::Violation { executor, culprit, .. } => {
                (*executor, *culprit) = (self.executor(*executor), self.other(*culprit));
            }
            Event::Queued { queue, .. } | Event::Taken { queue, .. } => *queue = self.other(*queue),
            Event::Lost { account, .. } => *account = self.other(*account),
            Event::Sent { .. } | Event::Received { .. } | Event::Dropped { .. } => {}
            // Segments have their numbers already. An event of a kind that came later than this version would have the
            // numbers of its process.
            _ => {}
        }
        Recorded { thread: self.thread(of.thread), event, ..of }
    }
}

/// Returns the new number for the process's own one.
fn fresh(numbers: &mut HashMap<(usize, u64), u64>, process: usize, number: u64) -> u64 {
    let next = numbers.len() as u64;
    *numbers.entry((process, number)).or_insert(next)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rospin_core::recording::Words;
    use rospin_core::{EntityKind, Instant};
    use rospin_scenario::Scenario;

    use super::*;
    use crate::file::ProcessName;

    const SYSTEM: &str = r#"
        duration = "1 s"
        topics = ["/scan"]
        [[executor]]
        name = "driver"
        [[executor]]
        name = "brain"
        [[group]]
        name = "lidar"
        executor = "driver"
        [[group]]
        name = "plan"
        executor = "brain"
        [[callback]]
        name = "lidar"
        kind = "timer"
        group = "lidar"
        period = "10 ms"
        execution = "2 ms"
        publishes = ["/scan"]
        [[callback]]
        name = "plan"
        kind = "subscription"
        group = "plan"
        subscribes = "/scan"
        execution = "3 ms"
        [[chain]]
        name = "see"
        deadline = "6 ms"
        callbacks = ["lidar", "plan"]
    "#;

    /// Returns the recording of a process with one executor and one callback, which runs from `start` to `end`
    /// milliseconds. Its numbers are those of any other process.
    fn recording(
        host: &str,
        executor: &str,
        name: &str,
        kind: EntityKind,
        start: u64,
        end: u64,
        inside: Event,
    ) -> Recording {
        let process = ProcessName { name: executor.into(), process: 1, host: host.into(), system_offset_ns: 0 };
        let definitions = [
            Definition::Executor { executor: 0, name: executor.into(), policy: "fixed-priority".into(), threads: 1 },
            Definition::Entity {
                executor: 0,
                entity: 1,
                account: 1,
                name: name.into(),
                group: String::new(),
                excludes: true,
                kind,
                priority: 0,
                deadline: None,
                period: if kind == EntityKind::Timer { Some(Duration::from_millis(10)) } else { None },
                rules: None,
            },
        ];
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let step = Step { executor: 0, entity: 1, sequence: 1, segment: 0 };
        let events: Vec<(u32, Words)> = vec![
            (0, Event::PollingPoint { executor: 0, thread: 0 }.encode(at(0))),
            (0, Event::Dispatched { step, thread: 0, release: at(start), cpu_ns: 0 }.encode(at(start))),
            (0, inside.encode(at(start + 1))),
            (0, Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 }.encode(at(end))),
        ];
        Recording::of(&process, &definitions, events.iter().map(|(thread, words)| (*thread, words)))
    }

    /// Returns what a monitor says of a lidar of one process, and a planner of another, which took its message.
    fn judged(hosts: [&str; 2]) -> (Vec<String>, Vec<String>) {
        let publisher = [7; 16];
        let received = Event::Received { publisher, number: 3 };
        let sent = Event::Sent { publisher, number: 3 };
        let recordings = [
            // In any order.
            recording(hosts[1], "brain", "plan", EntityKind::Subscription, 4, 7, received),
            recording(hosts[0], "driver", "lidar", EntityKind::Timer, 0, 2, sent),
        ];
        let monitor = Monitor::new(&Scenario::parse(SYSTEM).unwrap(), None);
        monitor.judge_recordings(&recordings);
        let told = monitor.counts().iter().map(|count| count.worst.to_string()).collect();
        (told, monitor.remarks())
    }

    #[test]
    fn a_chain_through_two_processes_is_judged_and_both_are_the_program() {
        let (told, remarks) = judged(["robot", "robot"]);
        let late = "chain `see` missed its deadline: 7ms instead of at most 6ms";
        assert!(told.len() == 1 && told[0].starts_with(late), "{told:?}");
        assert_eq!(remarks, [""; 0], "no callback is missing");
    }

    #[test]
    fn times_of_two_machines_are_not_compared() {
        assert_eq!(judged(["robot", "base"]), (Vec::new(), Vec::new()));
    }
}
