//! Small systems whose times are calculated by hand.

use rospin_core::Instant;
use rospin_scenario::Scenario;
use rospin_sim::{Outcome, Simulation, SimulationError, oracle};

fn run(text: &str) -> (Scenario, Outcome) {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let outcome = oracle::check(&scenario, scenario.seed, "run this test").unwrap_or_else(|error| panic!("{error}"));
    (scenario, outcome)
}

/// Returns release, start and end of each run of a callback, in ms.
fn times(scenario: &Scenario, outcome: &Outcome, name: &str) -> Vec<[u64; 3]> {
    let ms = |at: Instant| at.as_nanos() / 1_000_000;
    outcome.runs_of(scenario, name).map(|run| [ms(run.release), ms(run.start), ms(run.end)]).collect()
}

const ONE: &str = "duration = \"1 s\"\n[[executor]]\nname = \"main\"\n[[group]]\nname = \"g\"\n";

/// The five topics of Skoudlil et al. (2025), a thread each, rate monotonic, on one core. All are released at once at
/// the start, so the longest response times are those of the analysis (Audsley et al. 1993).
#[test]
fn preemptive_fixed_priority_agrees_with_the_analysis() {
    let mut text = "duration = \"2 s\"\ncores = 1\n".to_owned();
    for (number, (period, run)) in [(10, 2), (20, 4), (50, 5), (100, 15), (200, 50)].into_iter().enumerate() {
        let priority = 20 - number;
        text += &format!(
            "[[executor]]\nname = \"x{number}\"\nos_priority = {priority}\n\
             [[group]]\nname = \"g{number}\"\nexecutor = \"x{number}\"\n\
             [[callback]]\nname = \"c{number}\"\nkind = \"subscription\"\ngroup = \"g{number}\"\nexecution = \"{run} ms\"\n\
             [[release]]\nto = [\"c{number}\"]\nperiod = \"{period} ms\"\n"
        );
    }
    let (_, outcome) = run(&text);
    let longest: Vec<_> = outcome.callbacks.iter().map(|callback| callback.response.max.as_millis()).collect();
    assert_eq!(longest, [2, 6, 13, 36, 170]);
}

#[test]
fn equal_os_priorities_take_turns_by_arrival_and_are_not_preempted() {
    let (scenario, outcome) = run("duration = \"1 s\"\ncores = 1\n\
         [[executor]]\nname = \"a\"\n[[executor]]\nname = \"b\"\n[[executor]]\nname = \"urgent\"\nos_priority = 9\n\
         [[group]]\nname = \"ga\"\nexecutor = \"a\"\n[[group]]\nname = \"gb\"\nexecutor = \"b\"\n\
         [[group]]\nname = \"gu\"\nexecutor = \"urgent\"\n\
         [[callback]]\nname = \"A\"\nkind = \"subscription\"\ngroup = \"ga\"\nexecution = \"10 ms\"\n\
         [[callback]]\nname = \"B\"\nkind = \"subscription\"\ngroup = \"gb\"\nexecution = \"10 ms\"\n\
         [[callback]]\nname = \"U\"\nkind = \"subscription\"\ngroup = \"gu\"\nexecution = \"3 ms\"\n\
         [[release]]\nto = [\"B\"]\nat = [\"10 ms\"]\n[[release]]\nto = [\"A\"]\nat = [\"11 ms\"]\n\
         [[release]]\nto = [\"U\"]\nat = [\"12 ms\"]\n");
    assert_eq!(times(&scenario, &outcome, "U"), [[12, 12, 15]]);
    assert_eq!(times(&scenario, &outcome, "B"), [[10, 10, 23]], "goes on before A, which came later");
    assert_eq!(times(&scenario, &outcome, "A"), [[11, 23, 33]]);
}

/// One message was left when the first was taken. Its release is its own arrival.
#[test]
fn queued_messages_keep_their_arrivals() {
    let (scenario, outcome) = run(&format!(
        "{ONE}[[callback]]\nname = \"A\"\nkind = \"subscription\"\nexecution = \"10 ms\"\n\
         [[release]]\nto = [\"A\"]\nat = [\"0 ms\", \"1 ms\", \"2 ms\", \"40 ms\"]\n"
    ));
    assert_eq!(times(&scenario, &outcome, "A"), [[0, 0, 10], [1, 10, 20], [2, 20, 30], [40, 40, 50]]);
}

/// The message of 1 ms was displaced, so the callback has been ready since then.
#[test]
fn the_oldest_message_makes_room() {
    let (scenario, outcome) = run(&format!(
        "{ONE}[[callback]]\nname = \"A\"\nkind = \"subscription\"\nexecution = \"10 ms\"\ndepth = 2\n\
         [[release]]\nto = [\"A\"]\nat = [\"0 ms\", \"1 ms\", \"2 ms\", \"3 ms\", \"4 ms\"]\n"
    ));
    assert_eq!(times(&scenario, &outcome, "A"), [[0, 0, 10], [1, 10, 20], [4, 20, 30]]);
    assert_eq!(outcome.callbacks[0].dropped, 2);
}

/// A callback is due one deadline after it became ready, whichever message it takes then. A was ready at 0 ms and is
/// due at 100 ms, before B. A's message of 90 ms alone would be due at 190 ms.
#[test]
fn a_displaced_message_leaves_its_place_and_deadline_to_the_newer_one() {
    let (scenario, outcome) = run(&format!(
        "{}[[callback]]\nname = \"blocker\"\nkind = \"service\"\ndeadline = \"1 ms\"\nexecution = \"95 ms\"\n\
         [[callback]]\nname = \"A\"\nkind = \"service\"\ndepth = 1\ndeadline = \"100 ms\"\nexecution = \"58 ms\"\n\
         [[callback]]\nname = \"B\"\nkind = \"service\"\ndeadline = \"60 ms\"\nexecution = \"10 ms\"\n\
         [[release]]\nto = [\"blocker\"]\nat = [\"0 ms\"]\n[[release]]\nto = [\"A\"]\nat = [\"0 ms\", \"90 ms\"]\n\
         [[release]]\nto = [\"B\"]\nat = [\"91 ms\"]\n",
        ONE.replace("name = \"main\"\n", "name = \"main\"\npolicy = \"edf\"\n")
    ));
    assert_eq!(times(&scenario, &outcome, "A"), [[0, 95, 153]]);
    assert_eq!(times(&scenario, &outcome, "B"), [[91, 153, 163]]);
    let misses = |name: &str| outcome.callbacks.iter().find(|callback| callback.name == name).map(|of| of.misses);
    assert_eq!((misses("A"), misses("B")), (Some(1), Some(1)));
}

/// The sensor is faster than its callback's deadline, and the load leaves no time for it before that. If each message
/// had a deadline of its own, the callback would always be due later than the load, and never run.
#[test]
fn a_sensor_that_is_faster_than_its_deadline_is_served_in_an_overload() {
    let (scenario, outcome) = run(&format!(
        "{}[[callback]]\nname = \"load\"\nkind = \"timer\"\nperiod = \"50 ms\"\noffset = \"0 ms\"\nexecution = \"50 ms\"\n\
         [[callback]]\nname = \"sensor\"\nkind = \"subscription\"\ndepth = 1\ndeadline = \"100 ms\"\nexecution = \"5 ms\"\n\
         [[release]]\nto = [\"sensor\"]\nperiod = \"10 ms\"\noffset = \"1 ms\"\n",
        ONE.replace("name = \"main\"\n", "name = \"main\"\npolicy = \"edf\"\n")
    ));
    let sensor = &outcome.callbacks[1];
    assert!(sensor.response.count >= 6, "{} runs", sensor.response.count);
    assert!(sensor.response.max.as_millis() <= 160, "{:?}", sensor.response.max);
    let ends = times(&scenario, &outcome, "sensor").into_iter().map(|[release, start, _]| start - release);
    assert!(ends.max().is_some_and(|waited| waited >= 50), "it waits, and is measured from when it was ready");
}

#[test]
fn chains_are_measured_from_the_first_release_to_the_last_end() {
    let (_, outcome) = run(&format!(
        "topics = [\"/x\"]\n{ONE}\
         [[callback]]\nname = \"sense\"\nkind = \"timer\"\nperiod = \"400 ms\"\nexecution = \"10 ms\"\npublishes = [\"/x\"]\n\
         [[callback]]\nname = \"act\"\nkind = \"subscription\"\nsubscribes = \"/x\"\nexecution = \"5 ms\"\n\
         [[callback]]\nname = \"other\"\nkind = \"waitable\"\nexecution = \"30 ms\"\n\
         [[chain]]\nname = \"c\"\ndeadline = \"20 ms\"\ncallbacks = [\"sense\", \"act\"]\n\
         [[release]]\nto = [\"other\"]\nat = [\"390 ms\"]\n"
    ));
    let chain = &outcome.chains[0];
    let latencies: Vec<_> = chain.instances.iter().map(|(_, latency)| latency.as_millis()).collect();
    assert_eq!(latencies, [35, 15], "the first one waits 20 ms for `other`");
    assert_eq!(chain.misses, 1);
}

/// The thread is free while `ask` awaits. Its group is not, unless it is registered that way.
#[test]
fn asynchronous_callbacks_wait_without_a_thread() {
    for (releases, expected) in [(true, [2, 2, 7]), (false, [2, 14, 19])] {
        let (scenario, outcome) = run(&format!(
            "{ONE}[[callback]]\nname = \"ask\"\nkind = \"subscription\"\nexecution = \"2 ms\"\n\
             releases_group_at_await = {releases}\nawaits = [{{ wait = \"10 ms\", run = \"2 ms\" }}]\n\
             [[callback]]\nname = \"other\"\nkind = \"subscription\"\nexecution = \"5 ms\"\n\
             [[release]]\nto = [\"ask\"]\nat = [\"0 ms\"]\n[[release]]\nto = [\"other\"]\nat = [\"2 ms\"]\n"
        ));
        assert_eq!(times(&scenario, &outcome, "ask"), [[0, 0, 14]]);
        assert_eq!(times(&scenario, &outcome, "other"), [expected]);
    }
}

#[test]
fn reentrant_callbacks_run_in_parallel_on_as_many_threads() {
    let (scenario, outcome) = run("duration = \"1 s\"\n[[executor]]\nname = \"main\"\nthreads = 2\n\
         [[group]]\nname = \"g\"\nkind = \"reentrant\"\n\
         [[callback]]\nname = \"A\"\nkind = \"subscription\"\nexecution = \"10 ms\"\n\
         [[release]]\nto = [\"A\"]\nat = [\"0 ms\"]\nburst = { count = 3 }\n");
    assert_eq!(times(&scenario, &outcome, "A"), [[0, 0, 10], [0, 0, 10], [0, 10, 20]]);
}

#[test]
fn a_system_timer_waits_for_its_clock() {
    let timer = "[[callback]]\nname = \"T\"\nkind = \"timer\"\nclock = \"system\"\nperiod = \"300 ms\"\n";
    let jump = "[[fault]]\nkind = \"clock-jump\"\nat = \"100 ms\"\n";
    let (scenario, outcome) = run(&format!("{ONE}{timer}{jump}by = \"-200 ms\"\n"));
    let starts = |times: &[[u64; 3]]| times.iter().map(|[_, start, _]| *start).collect::<Vec<_>>();
    assert_eq!(starts(&times(&scenario, &outcome, "T")), [500, 800]);
    let (scenario, outcome) = run(&format!("{ONE}{timer}{jump}by = \"+350 ms\"\n"));
    assert_eq!(starts(&times(&scenario, &outcome, "T")), [100, 250, 550, 850], "due at 300, 600, 900 of the clock");
}

#[test]
fn a_timer_on_ros_time_waits_one_period_at_most_after_a_jump_back() {
    let timer = "[[callback]]\nname = \"T\"\nkind = \"timer\"\nclock = \"ros\"\nperiod = \"300 ms\"\n";
    let jump = "[[fault]]\nkind = \"clock-jump\"\nclock = \"ros\"\nat = \"100 ms\"\n";
    let starts = |by: &str| {
        let (scenario, outcome) = run(&format!("{ONE}{timer}{jump}by = \"{by}\"\n"));
        times(&scenario, &outcome, "T").iter().map(|[_, start, _]| *start).collect::<Vec<_>>()
    };
    assert_eq!(starts("-200 ms"), [400, 700]);
    assert_eq!(starts("+350 ms"), [100, 250, 550, 850], "due at 300, 600, 900 of the clock");
}

#[test]
fn messages_wait_for_the_spin_and_what_runs_is_waited_for() {
    let (scenario, outcome) = run("duration = \"1 s\"\n\
         [[executor]]\nname = \"main\"\nstart = \"100 ms\"\nstop = \"205 ms\"\n[[group]]\nname = \"g\"\n\
         [[callback]]\nname = \"A\"\nkind = \"subscription\"\nexecution = \"10 ms\"\n\
         [[release]]\nto = [\"A\"]\nat = [\"50 ms\", \"200 ms\", \"201 ms\"]\n");
    assert_eq!(times(&scenario, &outcome, "A"), [[50, 100, 110], [200, 200, 210]]);
    assert_eq!(outcome.callbacks[0].queued, 1);
}

#[test]
fn faults_do_what_they_say() {
    let (_, outcome) = run(&format!(
        "{ONE}[[callback]]\nname = \"A\"\nkind = \"subscription\"\nexecution = \"1 ms\"\ndeadline = \"5 ms\"\n\
         [[callback]]\nname = \"deaf\"\nkind = \"subscription\"\nexecution = \"1 ms\"\n\
         [[release]]\nto = [\"A\", \"deaf\"]\nperiod = \"20 ms\"\n\
         [[fault]]\nkind = \"overrun\"\ncallback = \"A\"\nprobability = 1.0\nextra = \"8 ms\"\n\
         [[fault]]\nkind = \"spurious-notification\"\ncallback = \"A\"\nperiod = \"10 ms\"\n\
         [[fault]]\nkind = \"lost-notification\"\ncallback = \"deaf\"\nprobability = 1.0\n"
    ));
    let [a, deaf] = &outcome.callbacks[..] else { panic!("two callbacks") };
    assert_eq!((a.misses, a.response.count), (50, 50), "each runs 9 ms");
    assert!(a.empty >= 20, "{a:?}");
    assert_eq!((deaf.response.count, deaf.queued, deaf.dropped), (0, 10, 40));
}

#[test]
fn time_that_stands_still_is_an_error() {
    let text = format!(
        "{ONE}[[callback]]\nname = \"A\"\nkind = \"service\"\npublishes = [\"B\"]\n\
         [[callback]]\nname = \"B\"\nkind = \"client\"\npublishes = [\"A\"]\n[[release]]\nto = [\"A\"]\nat = [\"7 ms\"]\n"
    );
    let scenario = Scenario::parse(&text).unwrap();
    let error = Simulation::new(&scenario).unwrap().run().unwrap_err();
    assert_eq!(error, SimulationError::Livelock { at: Instant::from_millis(7) });
}

#[test]
fn progress_is_told_and_changes_nothing() {
    let text = format!(
        "{ONE}[[callback]]\nname = \"T\"\nkind = \"timer\"\nperiod = \"20 us\"\nexecution = {{ uniform = [\"1 us\", \"9 us\"] }}\n"
    );
    let scenario = Scenario::parse(&text).unwrap();
    let silent = Simulation::new(&scenario).unwrap().run().unwrap();
    let mut shares = Vec::new();
    let mut note = |share| shares.push(share);
    let told = Simulation::new(&scenario).unwrap().progress(&mut note).run().unwrap();
    assert!(told == silent);
    assert!(shares.len() > 10 && shares.is_sorted(), "{shares:?}");
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)) && shares[shares.len() / 2] > 0.4, "{shares:?}");
}

#[test]
fn activations_publish_what_they_are_said_to_publish() {
    let text = ONE.to_owned()
        + "[[callback]]\nname = \"a\"\nkind = \"timer\"\nperiod = \"100 ms\"\npublishes = [\"b\", \"c\"]\nexecution = \"1 ms\"\n\
           [[callback]]\nname = \"b\"\nkind = \"subscription\"\n[[callback]]\nname = \"c\"\nkind = \"subscription\"\n";
    let scenario = Scenario::parse(&text).unwrap();
    // The timer runs at 100 to 900 ms: nine times.
    let outputs = vec![vec![2, 0], vec![0, 1], vec![0, 0]];
    let outcome = Simulation::new(&scenario).unwrap().outputs("a", outputs).unwrap().run().unwrap();
    let runs = |name| times(&scenario, &outcome, name).iter().map(|run| run[0]).collect::<Vec<_>>();
    assert_eq!(runs("b"), [101, 101, 401, 401, 701, 701]);
    assert_eq!(runs("c"), [201, 501, 801]);
    let unknown = Simulation::new(&scenario).unwrap().outputs("d", Vec::new()).err().unwrap();
    assert_eq!(unknown.to_string(), "the scenario has no callback `d` to give outputs to");
}
