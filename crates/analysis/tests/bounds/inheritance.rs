//! Each term that priority inheritance adds to a bound is needed: in these schedules the response is within the bound,
//! and would be beyond it without that term.
//!
//! A mate that comes first counts once more for what inherits after it has ended. No schedule is known that needs this
//! last term, and there is no proof that none does, so it stays.

use std::time::Duration;

use rospin_analysis::Analysis;
use rospin_scenario::Scenario;
use rospin_sim::Simulation;

use crate::common::us;

/// `holder` keeps its group while it waits, and `urgent` of the same group, which comes meanwhile, lends it its
/// priority: the 5 ms that it runs then go before `control`. `long` is what runs when these become ready.
const SYSTEM: &str = r#"
duration = "1 s"
cores = 1

[[executor]]
name = "x"
policy = "fixed-priority"

[[group]]
name = "held"
executor = "x"

[[group]]
name = "held too"
executor = "x"

[[group]]
name = "control"
executor = "x"

[[group]]
name = "long"
executor = "x"

[[callback]]
name = "urgent"
kind = "service"
group = "held"
priority = 9
execution = "10 us"

[[callback]]
name = "holder"
kind = "service"
group = "held"
priority = 1
execution = "100 us"
awaits = [{ wait = "100 us", run = "5 ms" }]

[[callback]]
name = "long"
kind = "service"
group = "long"
priority = 0
execution = "7 ms"
"#;

/// Returns, with `more` callbacks and these arrivals, the bound of `control` and its longest response in a simulation.
fn control(more: &str, arrivals: &[(&str, &[u64])]) -> (Duration, Duration) {
    let mut text = format!("{SYSTEM}{more}");
    for (name, times) in arrivals {
        let times: Vec<String> = times.iter().map(|at| format!("\"{at} us\"")).collect();
        text += &format!("\n[[release]]\nto = [\"{name}\"]\nat = [{}]\n", times.join(", "));
    }
    let scenario = Scenario::parse(&text).unwrap();
    let report = Analysis::new(&scenario).run().unwrap();
    let outcome = Simulation::new(&scenario).unwrap().run().unwrap();
    let seen = outcome.callbacks.iter().find(|callback| callback.name == "control").unwrap().response.max;
    (report.callback("control").unwrap().bound.unwrap(), seen)
}

/// A callback that inherits goes before another one each time that it becomes ready: when it is released, and when what
/// it awaits is there.
#[test]
fn what_inherits_counts_for_each_segment() {
    let more = "\n[[callback]]\nname = \"control\"\nkind = \"service\"\ngroup = \"control\"\npriority = 5\nexecution = \"1 ms\"\n\
        awaits = [{ wait = \"20 ms\", run = \"1 ms\" }]\n";
    let (bound, seen) = control(
        more,
        &[("holder", &[0, 32_900]), ("long", &[100, 33_000]), ("control", &[101]), ("urgent", &[150, 33_050])],
    );
    assert_eq!(seen, us(45_909), "waits twice for 7 ms, 5 ms and 10 us");
    assert!(seen <= bound && seen > bound - us(5_000), "{seen:?}, bound {bound:?}");
}

/// The same each time that a less urgent callback becomes ready which has the group of one that inherits.
#[test]
fn what_inherits_counts_for_each_segment_of_who_holds_the_group() {
    let more = "\n[[callback]]\nname = \"control\"\nkind = \"service\"\ngroup = \"control\"\npriority = 5\nexecution = \"1 ms\"\n\
        \n[[callback]]\nname = \"mate\"\nkind = \"service\"\ngroup = \"control\"\npriority = 4\nexecution = \"100 us\"\n\
        awaits = [{ wait = \"1 ms\", run = \"500 us\" }, { wait = \"1 ms\", run = \"500 us\" }]\n";
    let (bound, seen) = control(
        more,
        &[
            ("mate", &[0]),
            ("holder", &[100, 12_200]),
            ("long", &[200, 12_250]),
            ("control", &[201]),
            ("urgent", &[300, 13_000]),
        ],
    );
    assert!(seen > us(26_000), "the mate is kept waiting twice for 12 ms: {seen:?}");
    // Two segments of the other callback of the group are resumed.
    assert!(seen <= bound && seen > bound - us(2 * 5_000), "{seen:?}, bound {bound:?}");
}

/// One callback inherits in each group, and they do so one after the other.
#[test]
fn what_inherits_counts_for_each_group() {
    let more = "\n[[callback]]\nname = \"control\"\nkind = \"service\"\ngroup = \"control\"\npriority = 5\nexecution = \"1 ms\"\n\
        \n[[callback]]\nname = \"urgent too\"\nkind = \"service\"\ngroup = \"held too\"\npriority = 9\nexecution = \"10 us\"\n\
        \n[[callback]]\nname = \"holder too\"\nkind = \"service\"\ngroup = \"held too\"\npriority = 1\nexecution = \"50 us\"\n\
        awaits = [{ wait = \"200 us\", run = \"5 ms\" }]\n";
    let (bound, seen) = control(
        more,
        &[
            ("holder", &[10]),
            ("holder too", &[0]),
            ("long", &[140]),
            ("control", &[201]),
            ("urgent", &[300]),
            ("urgent too", &[300]),
        ],
    );
    assert_eq!(seen, us(7_150 + 2 * 5_010 + 1_000 - 201));
    assert!(seen <= bound && seen > bound - us(5_000), "{seen:?}, bound {bound:?}");
}
