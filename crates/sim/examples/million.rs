//! Simulates a million activations and prints how long that took.

#![allow(clippy::print_stdout, reason = "what the example is for")]

use rospin_scenario::Scenario;
use rospin_sim::Simulation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = "duration = \"1000 s\"\ncores = 2\ntopics = [\"/a\", \"/b\"]\n".to_owned();
    for (executor, priority) in [("fast", 80), ("slow", 20)] {
        text += &format!("[[executor]]\nname = \"{executor}\"\nthreads = 2\nos_priority = {priority}\n");
        text += &format!("[[group]]\nname = \"{executor}\"\nexecutor = \"{executor}\"\n");
    }
    text += "[[callback]]\nname = \"tick\"\nkind = \"timer\"\ngroup = \"fast\"\nperiod = \"3 ms\"\n\
             execution = { uniform = [\"100 us\", \"500 us\"] }\npublishes = [\"/a\"]\n\
             [[callback]]\nname = \"filter\"\nkind = \"subscription\"\ngroup = \"slow\"\nsubscribes = \"/a\"\n\
             execution = { uniform = [\"200 us\", \"900 us\"] }\npublishes = [\"/b\"]\n\
             [[callback]]\nname = \"act\"\nkind = \"subscription\"\ngroup = \"fast\"\nsubscribes = \"/b\"\nexecution = \"50 us\"\n\
             [[chain]]\nname = \"loop\"\ncallbacks = [\"tick\", \"filter\", \"act\"]\n";
    let scenario = Scenario::parse(&text)?;
    let begin = std::time::Instant::now();
    let outcome = Simulation::new(&scenario)?.run()?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{} activations in {seconds:.2} s, chain latency {:?}", outcome.runs.len(), outcome.chains[0].latency);
    Ok(())
}
