//! Flow of messages between callbacks: cycles, and the number of activations that follow.

use std::time::Duration;

use rospin_core::EntityKind;

use crate::check::Table;
use crate::error::CheckError;
use crate::model::Scenario;
use crate::traffic::{Limit, Pattern};

impl Scenario {
    /// Checks that the scenario can be simulated to its end: there is no endless cycle of messages, and there are at
    /// most `activations_max` activations.
    ///
    /// # Errors
    /// If there is a cycle of messages, or there are more activations. The error names a callback of the cycle, or the
    /// one that runs most often, with a fix.
    pub fn check_flow(&self, activations_max: f64) -> Result<(), CheckError> {
        let (order, rest) = self.flow();
        if let Some(first) = rest.first() {
            let circle = self.circle(*first, &rest);
            let names: Vec<_> = circle.iter().map(|callback| self.callbacks[*callback].name.as_str()).collect();
            let message = format!(
                "callbacks release each other in a circle: {}; break it where data is only cached, with a timer",
                names.join(" -> ")
            );
            return Table("callback", circle[0]).wrong("publishes", message);
        }
        let counts = self.own_releases();
        let with_messages = self.activations(counts.clone(), &order);
        let all: f64 = with_messages.iter().sum();
        if all <= activations_max {
            return Ok(());
        }
        // If the releases from outside are few, messages between callbacks are the cause.
        let largest = |counts: &[f64]| (0..counts.len()).max_by(|one, other| counts[*one].total_cmp(&counts[*other]));
        let follows = counts.iter().all(|count| *count < all / 1e3);
        let counts = if follows { with_messages } else { counts };
        let most = largest(&counts).unwrap_or(0);
        let fits = Duration::from_secs_f64(self.duration.as_secs_f64() * (activations_max / all).min(1.0));
        let plan = &self.callbacks[most];
        let message = format!(
            "`{}` alone is released {:.0} times in {}, and a simulation has at most {activations_max:.0} activations; \
             simulate at most {}, or let it run less often",
            plan.name,
            counts[most],
            crate::duration::format(self.duration),
            crate::duration::format(rounded(fits)),
        );
        let key = if plan.kind == EntityKind::Timer { "period" } else { "name" };
        Table("callback", most).wrong(key, message)
    }

    /// Returns the callbacks in topological order, publishers before receivers, and those that cycles exclude from it.
    fn flow(&self) -> (Vec<usize>, Vec<usize>) {
        let receivers = self.all_receivers();
        let mut open = vec![0_usize; self.callbacks.len()];
        for receiver in receivers.iter().flatten() {
            open[*receiver] += 1;
        }
        let mut order: Vec<usize> = (0..open.len()).filter(|callback| open[*callback] == 0).collect();
        let mut done = 0;
        while let Some(callback) = order.get(done).copied() {
            done += 1;
            for receiver in &receivers[callback] {
                open[*receiver] -= 1;
                if open[*receiver] == 0 {
                    order.push(*receiver);
                }
            }
        }
        (order, (0..open.len()).filter(|callback| open[*callback] > 0).collect())
    }

    /// Returns for each callback the receivers of its messages; a receiver of several messages occurs several times.
    fn all_receivers(&self) -> Vec<Vec<usize>> {
        let of = |name: &String| self.receivers(name).map(|(receiver, _)| receiver).collect::<Vec<_>>();
        self.callbacks.iter().map(|callback| callback.publishes.iter().flat_map(of).collect()).collect()
    }

    /// Returns a cycle that is upstream of one of the excluded callbacks. Its first callback is repeated at the end.
    fn circle(&self, from: usize, rest: &[usize]) -> Vec<usize> {
        let receivers = self.all_receivers();
        let mut path = vec![from];
        while let Some(last) = path.last() {
            let Some(before) = rest.iter().copied().find(|other| receivers[*other].contains(last)) else { break };
            let seen = path.iter().position(|known| *known == before);
            path.push(before);
            if let Some(start) = seen {
                path.drain(..start);
                break;
            }
        }
        path.reverse();
        path
    }

    /// Returns the maximum number of times that periodic timers and releases from outside activate each callback. A
    /// timer that fires once does not count.
    fn own_releases(&self) -> Vec<f64> {
        let seconds = self.duration.as_secs_f64();
        let every = |period: Duration| seconds / period.as_secs_f64().max(1e-9) + 1.0;
        let timers = self.callbacks.iter().map(|callback| callback.period.map_or(0.0, every));
        let mut counts: Vec<f64> = timers.collect();
        for release in &self.releases {
            let burst = release.burst.map_or(1.0, |burst| f64::from(burst.count));
            let count = match &release.pattern {
                Pattern::Periodic { period, .. } => every(*period),
                Pattern::Sporadic { min, .. } => every(*min),
                Pattern::List(times) | Pattern::Measured { times, .. } => times.len() as f64,
                Pattern::Limited { limits, .. } => {
                    let of = |limit: &Limit| f64::from(limit.count) * every(limit.within);
                    limits.iter().map(of).fold(f64::MAX, f64::min)
                }
            };
            for (receiver, _) in release.to.iter().flat_map(|name| self.receivers(name)) {
                counts[receiver] += count * burst;
            }
        }
        counts
    }

    /// Returns the activations of each callback: `counts`, and those by messages between callbacks. `order` is a
    /// topological one.
    fn activations(&self, mut counts: Vec<f64>, order: &[usize]) -> Vec<f64> {
        let receivers = self.all_receivers();
        for callback in order {
            for receiver in &receivers[*callback] {
                counts[*receiver] += counts[*callback];
            }
        }
        counts
    }
}

/// Rounds down to two significant digits.
fn rounded(time: Duration) -> Duration {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
    let unit = 10_u64.pow(nanos.ilog10().saturating_sub(1));
    Duration::from_nanos(nanos / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = r#"
        duration = "10 s"
        [[executor]]
        name = "x"
        [[group]]
        name = "g"
        [[callback]]
        name = "a"
        kind = "timer"
        period = "2 ns"
        publishes = ["b"]
        [[callback]]
        name = "b"
        kind = "service"
        [[callback]]
        name = "c"
        kind = "service"
        publishes = ["d"]
        [[callback]]
        name = "d"
        kind = "service"
    "#;

    #[test]
    fn too_much_to_simulate_names_the_most_frequent_callback() {
        let scenario = Scenario::parse(SYSTEM).unwrap();
        assert_eq!(scenario.check_flow(2e10), Ok(()));
        let error = scenario.check_flow(1e7).unwrap_err().to_string();
        assert!(error.contains("`a` alone is released 5000000001 times in 10 s"), "{error}");
        assert!(error.contains("simulate at most 9.9 ms") || error.contains("simulate at most 10 ms"), "{error}");
    }

    /// Each callback sends two messages to the next one, so a few releases become many activations.
    #[test]
    fn too_many_messages_name_who_gets_them() {
        let mut text = SYSTEM.replace("2 ns", "10 ms").replace("[\"b\"]", "[\"e0\", \"e0\"]");
        for number in 0..30 {
            let next = format!("e{}", number + 1);
            text += &format!(
                "[[callback]]\nname = \"e{number}\"\nkind = \"service\"\npublishes = [\"{next}\", \"{next}\"]\n"
            );
        }
        text += "[[callback]]\nname = \"e30\"\nkind = \"service\"\n";
        let error = Scenario::parse(&text).unwrap().check_flow(1e7).unwrap_err().to_string();
        assert!(error.contains("`e30` alone is released"), "{error}");
    }

    #[test]
    fn circles_are_named() {
        let circle = SYSTEM.replace("2 ns", "1 s") + "publishes = [\"c\"]\n";
        let error = Scenario::parse(&circle).unwrap().check_flow(1e7).unwrap_err().to_string();
        assert!(error.contains("in a circle: ") && error.contains("c -> d"), "{error}");
    }
}
