//! Work that was released and had not run by the end: late activations, and due times that passed.

use rospin_core::{Instant, Overrun};

use crate::driver::Driver;

/// Unfinished work of a callback when its executor stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unfinished {
    /// Waiting times of the activations that did not run, the longest first.
    pub(crate) waited: Vec<std::time::Duration>,
    /// Number of a timer's due times that passed and will not be caught up on.
    pub(crate) lost: u64,
}

impl Driver<'_> {
    /// Returns the time at which the executor stopped looking for work.
    fn stopped(&self, executor: usize, end: Instant) -> Instant {
        self.scenario.executors[executor].stop.map_or(end, |stop| end.min(Instant::ZERO + stop))
    }

    /// Returns the ages of the messages in the callback's queue, the oldest first.
    fn ages(&self, callback: usize, stopped: Instant) -> Vec<std::time::Duration> {
        let messages = self.callbacks[callback].queue.iter().filter(|message| message.arrival < stopped);
        messages.map(|message| stopped.saturating_since(message.arrival)).collect()
    }

    /// Returns the unfinished work of a callback after the simulation. `end` is the end of the scenario's time.
    pub(crate) fn unfinished(&self, callback: usize, end: Instant) -> Unfinished {
        let own = &self.callbacks[callback];
        let stopped = self.stopped(own.executor, end);
        if !own.is_timer {
            let mut waited = self.ages(callback, stopped);
            // The callback has been ready for longer than its oldest message is old.
            if let (Some(first), Some(since)) = (waited.first_mut(), own.displaced) {
                *first = stopped.saturating_since(since);
            }
            return Unfinished { waited, lost: 0 };
        }
        let scheduler = &self.executors[own.executor].scheduler;
        let (Some(due), Some(timer)) = (scheduler.timer_due(own.id), scheduler.timer(own.id)) else {
            return Unfinished::default();
        };
        let reading = self.clocks.read(timer.clock, stopped);
        if due >= reading {
            return Unfinished::default();
        }
        let first = reading.saturating_since(due);
        let Some(period) = timer.period.filter(|period| !period.is_zero()) else {
            return Unfinished { waited: vec![first], lost: 0 };
        };
        // Due times after the first one may have passed, too.
        let passed = u64::try_from((first.as_nanos() - 1) / period.as_nanos()).unwrap_or(u64::MAX);
        let made_up = match timer.overrun {
            Overrun::CatchUp(limit) => passed.min(u64::from(limit)),
            _ => 0,
        };
        // The catch-up policy runs the latest due times.
        let later = (passed - made_up + 1..=passed).map(|number| {
            let after = period.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
            first.saturating_sub(after)
        });
        Unfinished { waited: std::iter::once(first).chain(later).collect(), lost: passed - made_up }
    }

    /// Returns the ages of a chain's unfinished instances: messages in queues that nobody took, and activations of its
    /// first callback that did not run. Messages that are delayed, or that wait in a join for others, do not count.
    pub(crate) fn unfinished_instances(&self, chain: usize, end: Instant) -> Vec<std::time::Duration> {
        let names = &self.scenario.chains[chain].callbacks;
        let place = |name: &String| self.scenario.callbacks.iter().position(|callback| callback.name == *name);
        let first = names.first().and_then(place);
        let of_first = |first: usize| match &self.callbacks[first] {
            callback if callback.is_timer => self.unfinished(first, end).waited,
            callback => self.ages(first, self.stopped(callback.executor, end)),
        };
        let mut waited = first.map(of_first).unwrap_or_default();
        for (number, callback) in self.callbacks.iter().enumerate() {
            if Some(number) == first {
                continue;
            }
            let stopped = self.stopped(callback.executor, end);
            let comes_by = |position: usize| callback.chains.contains(&(chain, position + 1));
            for message in &callback.queue {
                let under_way =
                    message.origins.iter().find(|origin| origin.chain == chain && comes_by(origin.position));
                waited.extend(under_way.map(|origin| stopped.saturating_since(origin.release)));
            }
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rospin_scenario::Scenario;

    use crate::Simulation;

    /// The timer takes all of the time, so less urgent callbacks are never served.
    const FULL: &str = r#"
        duration = "1 s"
        [[executor]]
        name = "x"
        policy = "fixed-priority"
        [[group]]
        name = "g"
        [[callback]]
        name = "busy"
        kind = "timer"
        offset = "0 s"
        period = "100 ms"
        execution = "100 ms"
        priority = 2
        [[callback]]
        name = "timer"
        kind = "timer"
        offset = "50 ms"
        period = "200 ms"
        execution = "1 ms"
        priority = 1
        [[callback]]
        name = "messages"
        kind = "service"
        deadline = "300 ms"
        depth = 3
        execution = "1 ms"
        priority = 1
        [[chain]]
        name = "chain"
        callbacks = ["messages"]
        deadline = "500 ms"
        [[release]]
        to = ["messages"]
        period = "250 ms"
        offset = "10 ms"
    "#;

    #[test]
    fn what_never_ran_is_late_and_lost() {
        for (overrun, unfinished, lost) in [("\"skip\"", 1, 4), ("{ catch-up = 2 }", 3, 2), ("\"shift-phase\"", 1, 4)] {
            let text = FULL.replace("offset = \"50 ms\"", &format!("offset = \"50 ms\"\noverrun = {overrun}"));
            let scenario = Scenario::parse(&text).unwrap();
            let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
            let [busy, timer, messages] = &outcome.callbacks[..] else { panic!("three callbacks") };
            assert_eq!((busy.response.count, busy.unfinished, busy.misses), (10, 0, 0));
            // Its due times are 50, 250, 450, 650 and 850 ms.
            assert_eq!(
                (timer.unfinished, timer.overruns, timer.waited),
                (unfinished, lost, Duration::from_millis(950))
            );
            assert_eq!(timer.misses, if unfinished == 3 { 2 } else { 1 }, "{overrun}: late are 950 and 350 ms");
            // The messages of 260, 510 and 760 ms wait. The first message was displaced.
            assert_eq!((messages.unfinished, messages.dropped, messages.misses), (3, 1, 2));
            assert!(timer.is_starved(scenario.duration) && messages.is_starved(scenario.duration));
            assert!(!busy.is_starved(scenario.duration));
            assert_eq!(outcome.chains[0].misses, 1);
        }
    }
}
