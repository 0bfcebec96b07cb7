//! Weakly hard deadlines: the misses in a row that a simulation has are no more than what is proven.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_scenario::Scenario;
use rospin_sim::Simulation;

use crate::common::misses::misses;

/// Every 40 ms the map keeps the control from its deadline, once: three times in ten activations in a row, not four.
#[test]
fn misses_are_counted_as_they_come() {
    let text = |offset: &str, of: u32| {
        format!(
            "duration = \"2 s\"\ncores = 1\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n\
             [[callback]]\nname = \"control\"\nkind = \"timer\"\npriority = 2\nperiod = \"10 ms\"\nexecution = \"2 ms\"\n\
             offset = \"{offset}\"\ntolerates = {{ misses = 3, of = {of} }}\n\
             [[callback]]\nname = \"map\"\nkind = \"timer\"\npriority = 1\nperiod = \"40 ms\"\nexecution = \"9 ms\"\noffset = \"0 s\"\n"
        )
    };
    for (of, most) in [(4, 1), (5, 2), (9, 3), (10, 3), (13, 4)] {
        let scenario = Scenario::parse(&text("1 us", of)).unwrap();
        let report = Analysis::new(&scenario).run().unwrap();
        let control = report.callback("control").unwrap();
        let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
        let seen = misses(&outcome, 0, u64::from(of), Duration::from_millis(10));
        // The bound is the number of misses that are seen, or one more, because `map` may be late itself.
        let bound = control.misses.unwrap();
        assert!(seen == most && (most..=most + 1).contains(&bound), "{of}: {seen} misses, bound {bound}");
        assert_eq!(control.holds, bound <= 3);
    }
}

/// Runs one executor with fixed priorities. Returns the most that miss of `of` activations of `control` in a row, and
/// the bound of it.
fn control(deadline: &str, of: u64, callbacks: &str) -> (u64, u64) {
    let text = format!(
        "duration = \"100 ms\"\ncores = 1\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n\
         [[callback]]\nname = \"control\"\nkind = \"timer\"\ndeadline = \"{deadline}\"\n\
         tolerates = {{ misses = 1, of = {of} }}\n{callbacks}"
    );
    let scenario = Scenario::parse(&text).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    let control = report.callback("control").unwrap();
    (misses(&outcome, 0, of, control.deadline.unwrap()), control.misses.unwrap())
}

/// `map` makes `control` late by having begun just before. It comes every 50 ms, but the first time it is kept waiting
/// for 30 ms by `plan`, so it begins twice in 20 ms.
#[test]
fn what_comes_rarely_can_run_soon_after_the_last_time() {
    let (seen, bound) = control(
        "10 ms",
        3,
        r#"
priority = 5
period = "10 ms"
offset = "1 us"
execution = "2 ms"

[[callback]]
name = "plan"
kind = "service"
priority = 4
execution = "8 ms"

[[callback]]
name = "map"
kind = "service"
priority = 1
execution = "9 ms"

[[release]]
to = ["plan"]
at = ["0 s", "0 s", "0 s"]

[[release]]
to = ["map"]
at = ["0 s", "50 ms"]
"#,
    );
    assert_eq!((seen, bound), (2, 2));
}

/// Four activations of `control` from 3.5 ms on. The first one misses in a busy window that began 3.5 ms before it,
/// with `stop`. The last one misses since `stop` comes once more, shortly before it would have started.
#[test]
fn a_window_begins_before_a_miss_and_ends_after_it() {
    let (seen, bound) = control(
        "3500 us",
        4,
        r#"
priority = 1
period = "3500 us"
offset = "0 s"
execution = "1 ms"

[[callback]]
name = "lidar"
kind = "service"
priority = 3
execution = "1 ms"

[[callback]]
name = "camera"
kind = "service"
priority = 2
execution = "1 ms"

[[callback]]
name = "stop"
kind = "service"
priority = 4
execution = "200 us"

[[release]]
to = ["lidar"]
at = ["0 s", "2500 us", "5 ms", "10500 us", "13 ms", "15500 us"]

[[release]]
to = ["camera"]
at = ["0 s", "3500 us", "10500 us", "14 ms"]

[[release]]
to = ["stop"]
at = ["0 s", "16400 us"]
"#,
    );
    assert_eq!((seen, bound), (2, 2));
}
