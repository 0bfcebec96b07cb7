//! Each mistake is reported at its place, with its fix.

use rospin_scenario::Scenario;

/// A valid system, which the tests break line by line.
const RIGHT: &str = r#"duration = "1 s"
cores = 2
topics = ["/scan", "/out"]

[[executor]]
name = "main"
policy = "fifo"
cores = [0]

[[group]]
name = "node"
executor = "main"

[[callback]]
name = "lidar"
kind = "timer"
group = "node"
period = "100 ms"
publishes = ["/scan"]

[[callback]]
name = "detect"
kind = "subscription"
group = "node"
subscribes = "/scan"
execution = { uniform = ["1 ms", "5 ms"] }
publishes = ["/out"]

[[chain]]
name = "safety"
callbacks = ["lidar", "detect"]

[[release]]
to = ["detect"]
period = "10 ms"
"#;

/// Returns the error after `from` was replaced by `to`.
fn error(from: &str, to: &str) -> String {
    assert_eq!(RIGHT.matches(from).count(), 1, "`{from}` must be there once");
    Scenario::parse(&RIGHT.replace(from, to)).expect_err(to).to_string()
}

#[test]
fn the_steady_clock_is_never_set() {
    let fault = "[[fault]]\nkind = \"clock-jump\"\nclock = \"steady\"\nat = \"1 s\"\nby = \"+1 s\"\n";
    let said = Scenario::parse(&format!("{RIGHT}{fault}")).unwrap_err().to_string();
    assert!(said.ends_with("the steady clock is never set; name another one"), "{said}");
}

#[test]
fn articles_fit_their_words() {
    for (table, said) in [
        ("[[executor]]\nname = \"main\"\n", "there is an executor `main` already; rename one of them"),
        ("[[group]]\nname = \"node\"\n", "there is a group `node` already; rename one of them"),
    ] {
        let error = Scenario::parse(&format!("{RIGHT}{table}")).unwrap_err().to_string();
        assert!(error.ends_with(said), "{error}");
    }
}

#[test]
fn the_right_one_is_right() {
    Scenario::parse(RIGHT).unwrap();
}

#[test]
fn names_that_lead_nowhere() {
    for (from, to, expected) in [
        (
            "policy = \"fifo\"",
            "policy = \"fair\"",
            "line 7, column 10, `policy`: there is no policy `fair`; known are fifo, fixed-priority, edf, \
             wait-set-e1, wait-set-e2",
        ),
        (
            "executor = \"main\"",
            "executor = \"mian\"",
            "line 12, column 12, `executor`: there is no executor `mian`; known are main",
        ),
        (
            "period = \"100 ms\"\npublishes = [\"/scan\"]",
            "period = \"100 ms\"\npublishes = [\"/sacn\"]",
            "line 19, column 13, `publishes`: there is no topic `/sacn`; known are /scan, /out, detect",
        ),
        (
            "subscribes = \"/scan\"",
            "subscribes = \"/can\"",
            "line 25, column 14, `subscribes`: there is no topic `/can`; known are /scan, /out",
        ),
        (
            "[\"lidar\", \"detect\"]",
            "[\"ladar\", \"detect\"]",
            "line 31, column 13, `callbacks`: there is no callback `ladar`; known are lidar, detect",
        ),
        (
            "to = [\"detect\"]",
            "to = [\"lidar\"]",
            "line 34, column 6, `to`: `lidar` is a timer: its `period` and `offset` release it",
        ),
        (
            "name = \"detect\"",
            "name = \"lidar\"",
            "line 22, column 8, `name`: there is a callback `lidar` already; rename one of them",
        ),
        (
            "kind = \"subscription\"",
            "kind = \"subscriber\"",
            "line 23, column 8, `kind`: there is no kind of callback `subscriber`; known are timer, subscription, \
             service, client, waitable",
        ),
    ] {
        assert_eq!(error(from, to), expected);
    }
}

#[test]
fn values_that_are_impossible() {
    for (from, to, expected) in [
        (
            "cores = [0]",
            "cores = [2]",
            "line 8, column 9, `cores`: there is no core 2; the machine has 0 to 1: see `cores` at the top",
        ),
        (
            "period = \"100 ms\"",
            "period = \"0 s\"",
            "line 18, column 10, `period`: the period is zero: it would always be due; give one above, or only an \
             `offset` to fire once",
        ),
        ("period = \"10 ms\"", "period = \"0 s\"", "line 35, column 10, `period`: the period is zero; give one above"),
        (
            "period = \"10 ms\"",
            "period = \"-10 ms\"",
            "line 35, column 10, `period`: `-10 ms` is negative; a duration is 0 or more",
        ),
        (
            "duration = \"1 s\"",
            "duration = 1",
            "line 1, column 12, `duration`: invalid type: integer `1`, expected a duration as in \"500 ms\"",
        ),
        (
            "{ uniform = [\"1 ms\", \"5 ms\"] }",
            "{ uniform = [\"6 ms\", \"5 ms\"] }",
            "line 26, column 13, `execution`: the first time is the shorter one; swap them",
        ),
        (
            "cores = [0]",
            "cores = 0",
            "line 8, column 9, `cores`: invalid type: integer `0`, expected a list; write `cores = [1]`, or `cores = \
             [0, 1]` for several",
        ),
        (
            "[[release]]",
            "[release]",
            "line 33, column 1: invalid type: map, expected a list; write `[[release]]` above each release",
        ),
        ("cores = 2", "cores = 0", "line 2, column 9, `cores`: a machine has 1 to 64 cores"),
        (
            "period = \"10 ms\"",
            "period = \"10 ms\"\nat = [\"1 s\"]",
            "line 33, column 1: a release has exactly one of `at`, `period`, `gap`, `at_most` and `measured`: when \
             its messages arrive",
        ),
    ] {
        assert_eq!(error(from, to), expected);
    }
}

#[test]
fn keys_that_are_unknown_or_missing() {
    let unknown = error("policy = \"fifo\"", "polciy = \"fifo\"");
    assert!(unknown.starts_with("line 7, column 1"), "{unknown}");
    assert!(unknown.contains("unknown field `polciy`, expected one of `name`, `policy`, `threads`"), "{unknown}");
    let inline = Scenario::parse("executor = [{ name = \"main\", polciy = \"fifo\" }]").unwrap_err().to_string();
    assert!(inline.starts_with("line 1, column 30: unknown field `polciy`"), "{inline}");
    let missing = error("kind = \"subscription\"\n", "");
    let fix = "add to this `callback`: `kind = \"timer\"`, `\"subscription\"` or another one";
    assert_eq!(missing, format!("line 21, column 1: missing field `kind`; {fix}"));
    let broken = error("[[executor]]", "[[executor]");
    assert!(broken.starts_with("line 5, column "), "{broken}");
}

#[test]
fn chains_that_make_no_sense() {
    let cycle = error(
        "name = \"safety\"\ncallbacks = [\"lidar\", \"detect\"]",
        "name = \"safety\"\ncallbacks = [\"lidar\", \"detect\", \"lidar\"]",
    );
    assert!(cycle.starts_with("line 31, column 13, `callbacks`: chain `safety` closes a cycle: "), "{cycle}");
    let apart = error("[\"lidar\", \"detect\"]", "[\"detect\", \"lidar\"]");
    assert_eq!(
        apart,
        "line 31, column 13, `callbacks`: `lidar` is a timer and takes nothing from `detect`; let a chain of its own \
         start there"
    );
    let unlinked = error("publishes = [\"/scan\"]", "");
    assert_eq!(
        unlinked,
        "line 31, column 13, `callbacks`: `lidar` hands nothing on to `detect`; let it publish `/scan`"
    );
}

/// A scenario that was built by a program has the same errors, without a line.
#[test]
fn built_scenarios_are_checked_too() {
    let mut scenario = Scenario::parse(RIGHT).unwrap();
    scenario.callbacks[1].group = "nodes".to_owned();
    let error = scenario.check().unwrap_err();
    assert_eq!(error.to_string(), "`group` of callback 1: there is no group `nodes`; known are node");
}

/// Invalid releases, links, joins and locks.
#[test]
fn traffic_that_cannot_be() {
    let release = "to = [\"detect\"]\nperiod = \"10 ms\"";
    for (from, to, expected) in [
        (release, "to = [\"detect\"]", "exactly one of `at`, `period`, `gap`, `at_most` and `measured`"),
        (release, "to = [\"detect\"]\nat_most = []", "line 35, column 11, `at_most`: there is no limit"),
        (release, "to = [\"detect\"]\nat_most = [[0, \"1 s\"]]", "a limit is 1 to 1000 messages"),
        (release, "to = [\"detect\"]\nat_most = [[1, \"0 s\"]]", "in a time above zero"),
        (
            release,
            "to = [\"detect\"]\nat_most = [[1, \"1 s\"]]\njitter = \"1 s\"",
            "`jitter` does not go with `at_most`",
        ),
        (release, "to = [\"detect\"]\nmeasured = \"a.txt\"\noffset = \"1 s\"", "`offset` does not go with `measured`"),
        (release, "to = [\"detect\"]\nmeasured = \"\"", "name a file with one arrival time a line"),
        (
            "subscribes = \"/scan\"",
            "joins = [\"/scan\"]",
            "column 9, `joins`: a join has two topics or more; `subscribes` is for one",
        ),
        ("subscribes = \"/scan\"", "joins = [\"/scan\", \"/scan\"]", "topic `/scan` is there twice; leave one out"),
        (
            "subscribes = \"/scan\"",
            "joins = [\"/scan\", \"/sacn\"]",
            "there is no topic `/sacn`; known are /scan, /out",
        ),
        ("subscribes = \"/scan\"", "joins = \"/scan\"", "a list; write `joins = [\"left\", \"right\"]`"),
        (
            "subscribes = \"/scan\"",
            "subscribes = \"/scan\"\njoins = [\"/scan\", \"/out\"]",
            "add that to `joins`, and leave `subscribes` out",
        ),
        (
            "period = \"100 ms\"",
            "period = \"100 ms\"\njoins = [\"/scan\", \"/out\"]",
            "only a subscription joins topics",
        ),
        // A subscription that joins topics cannot receive messages by its own name.
        ("subscribes = \"/scan\"", "joins = [\"/scan\", \"/out\"]", "there is no topic or callback `detect`"),
        (
            "period = \"100 ms\"",
            "period = \"100 ms\"\ntolerates = { misses = 3, of = 3 }",
            "fewer misses than activations",
        ),
        ("period = \"100 ms\"", "period = \"100 ms\"\ntolerates = 3", "as in { misses = 1, of = 10 }"),
        (
            "subscribes = \"/scan\"",
            "subscribes = \"/scan\"\ntolerates = { misses = 1, of = 3 }",
            "there is no deadline to miss; give it a `deadline`",
        ),
    ] {
        let said = error(from, to);
        assert!(said.contains(expected), "{to}: {said}");
    }
    let execution = "execution = { uniform = [\"1 ms\", \"5 ms\"] }";
    let locked = |locks: &str| {
        let text = RIGHT.replace("topics =", "locks = [\"map\"]\ntopics =");
        let text = text.replace(execution, &format!("{execution}\nlocks = {locks}"));
        Scenario::parse(&text).map(|_| ()).map_err(|error| error.to_string())
    };
    locked("[{ lock = \"map\", hold = \"1 ms\" }, { lock = \"map\", after = \"1 ms\", hold = \"4 ms\" }]").unwrap();
    for (locks, expected) in [
        ("[{ lock = \"mop\", hold = \"1 ms\" }]", "column 9, `locks`: there is no lock `mop`; known are map"),
        ("[{ lock = \"map\", hold = \"0 s\" }]", "or held for no time"),
        ("[{ lock = \"map\", hold = \"6 ms\" }]", "beyond the longest execution time; shorten"),
        (
            "[{ lock = \"map\", hold = \"2 ms\" }, { lock = \"map\", after = \"1 ms\", hold = \"1 ms\" }]",
            "one after the other",
        ),
        ("\"map\"", "a list; write `locks = [{ lock = \"map\", hold = \"200 us\" }]`"),
        ("[{ lock = \"map\", hold = \"1 ms\" }]\nawaits = [{ wait = \"1 ms\" }]", "takes no locks"),
    ] {
        let said = locked(locks).expect_err(locks);
        assert!(said.contains(expected), "{locks}: {said}");
    }
    let awaiting = |rest: &str| {
        let execution = "execution = { uniform = [\"1 ms\", \"5 ms\"] }";
        let text = RIGHT.replace(execution, &format!("{execution}\nawaits = [{{ {rest} }}]"));
        let gpu = "[[accelerator]]\nname = \"gpu\"\nlanes = 2\n[[group]]";
        Scenario::parse(&text.replace("[[group]]", gpu)).map(|_| ()).map_err(|error| error.to_string())
    };
    awaiting("accelerator = \"gpu\", segments = [\"0 s\", \"1 ms\"], priority = 3, run = \"1 ms\"").unwrap();
    for (rest, expected) in [
        ("accelerator = \"tpu\", segments = [\"1 ms\"]", "`awaits`: there is no accelerator `tpu`; known are gpu"),
        ("accelerator = \"gpu\"", "no segments; write `segments = [\"2 ms\"]`"),
        ("accelerator = \"gpu\", segments = [\"1 ms\"], wait = \"1 ms\"", "leave one of them out"),
        ("accelerator = \"gpu\", segments = \"1 ms\"", "write `segments = [\"2 ms\", \"1 ms\"]`"),
        ("segments = [\"1 ms\"]", "name its `accelerator`"),
        ("run = \"1 ms\"", "missing field `wait`"),
    ] {
        let said = awaiting(rest).expect_err(rest);
        assert!(said.contains(expected), "{rest}: {said}");
    }
    for (keys, expected) in [
        ("name = \"gpu\"\npolicy = \"wait-set-e1\"", "known are fixed-priority, edf, fifo"),
        ("name = \"gpu\"\nlanes = 0", "an accelerator has 1 to 64 lanes"),
        (
            "name = \"gpu\"\nlanes = 2\nurgent = 9\nblock = \"1 ms\"",
            "an accelerator with an urgent lane has one other lane",
        ),
        ("name = \"gpu\"\nurgent = 9", "`urgent = 9` and `block = \"100 us\"` go together"),
        ("name = \"gpu\"\nblock = \"1 ms\"", "`urgent = 9` and `block = \"100 us\"` go together"),
        ("name = \"gpu\"\n[[accelerator]]\nname = \"gpu\"", "there is an accelerator `gpu` already"),
    ] {
        let said = Scenario::parse(&format!("{RIGHT}\n[[accelerator]]\n{keys}\n")).unwrap_err().to_string();
        assert!(said.contains(expected), "{keys}: {said}");
    }
    for (link, expected) in [
        ("to = [\"/scan\"]", "missing field `delay`"),
        ("to = []\ndelay = \"1 ms\"", "column 6, `to`: it leads to nobody; name a topic or a callback"),
        ("to = [\"lidar\"]\ndelay = \"1 ms\"", "there is no topic or callback `lidar`"),
        ("to = [\"/scan\", \"/scan\"]\ndelay = \"1 ms\"", "there is a link to `/scan` already; leave one out"),
        (
            "to = [\"/scan\"]\ndelay = { uniform = [\"2 ms\", \"1 ms\"] }",
            "the first time is the shorter one; swap them",
        ),
    ] {
        let said = Scenario::parse(&format!("{RIGHT}\n[[link]]\n{link}\n")).unwrap_err().to_string();
        assert!(said.contains(expected), "{link}: {said}");
    }
}
