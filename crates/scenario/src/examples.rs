//! Texts of examples: the files in the folder `scenarios` of this crate that other crates run.

/// A safety chain beside a comfort chain, with priorities that follow from them.
pub const CHAIN: &str = include_str!("../scenarios/chain.toml");
/// Experiment 1 of Dust et al. (2023): one-shot timers among subscriptions, one thread.
pub const EXP1: &str = include_str!("../scenarios/exp1.toml");
/// Experiment 2: a periodic timer, one thread.
pub const EXP2: &str = include_str!("../scenarios/exp2.toml");
/// Experiment 3: as experiment 2, with two threads and one mutually exclusive group.
pub const EXP3: &str = include_str!("../scenarios/exp3.toml");
/// Experiment 4: as experiment 3, with the timer in a group of its own.
pub const EXP4: &str = include_str!("../scenarios/exp4.toml");
/// The subscriber of the latency experiment of Skoudlil et al. (2025): a thread for each of five topics.
pub const LATENCY: &str = include_str!("../scenarios/latency.toml");
