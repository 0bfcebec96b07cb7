//! The subscribers to compare.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Deserialize, Serialize};

/// rospin's variant that is compared with the analysis and with the paper's proposal.
pub(super) const OURS: Variant = Variant::real_time(Structure::RospinRt);

/// Structure of a subscriber.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Structure {
    /// R2R, sampling and a futures `LocalPool` in turn on one thread.
    Futures,
    /// R2R, all callbacks joined into one task of a futures thread pool.
    FuturesJoin,
    /// R2R as the paper proposes: a thread a callback.
    FuturesRt,
    /// R2R, callbacks on a futures thread pool of two.
    FuturesThreadPool,
    /// R2R, callbacks in a `LocalPool` on a second thread.
    FuturesTwoThreads,
    /// R2R, callbacks on Tokio, all threads alike.
    Tokio,
    /// R2R, callbacks on Tokio, whose workers have a lower priority than sampling.
    TokioRt,
    /// rclcpp's single-threaded executor, emulated.
    WaitSet,
    /// rospin: one executor with priorities.
    RospinSingle,
    /// rospin: an executor for each callback.
    RospinRt,
    /// rospin: one executor with earliest deadline first.
    RospinEdf,
    /// As `FuturesRt`, with the middleware's threads below the callbacks.
    FuturesRtBelow,
    /// As `RospinRt`, with the middleware's threads below the callbacks.
    RospinRtBelow,
}

impl Structure {
    /// All structures, in the order of the table.
    pub(crate) const ALL: [Self; 13] = [
        Self::Futures,
        Self::FuturesJoin,
        Self::FuturesThreadPool,
        Self::FuturesTwoThreads,
        Self::Tokio,
        Self::TokioRt,
        Self::WaitSet,
        Self::RospinSingle,
        Self::RospinEdf,
        Self::FuturesRtBelow,
        Self::RospinRtBelow,
        Self::FuturesRt,
        Self::RospinRt,
    ];

    /// Returns the names of the variants: with real-time threads, and without.
    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Futures => ["futures", "nort-futures"],
            Self::FuturesJoin => ["futures-join", "nort-futures-join"],
            Self::FuturesRt => ["futures-rt", "nort-futures-rt"],
            Self::FuturesThreadPool => ["futures-thread-pool", "nort-futures-thread-pool"],
            Self::FuturesTwoThreads => ["futures-2-threads", "nort-futures-2-threads"],
            Self::Tokio => ["tokio", "nort-tokio"],
            Self::TokioRt => ["tokio-rt", "nort-tokio-rt"],
            Self::WaitSet => ["wait-set", "nort-wait-set"],
            Self::RospinSingle => ["rospin-single", "nort-rospin-single"],
            Self::RospinRt => ["rospin-rt", "nort-rospin-rt"],
            Self::RospinEdf => ["rospin-edf", "nort-rospin-edf"],
            Self::FuturesRtBelow => ["futures-rt-below", "nort-futures-rt-below"],
            Self::RospinRtBelow => ["rospin-rt-below", "nort-rospin-rt-below"],
        }
    }

    /// Returns true if the middleware's threads are less urgent than all callbacks, as in the paper's Figure 8. Without
    /// real-time threads there is no such structure.
    pub(crate) const fn has_middleware_below(self) -> bool {
        matches!(self, Self::FuturesRtBelow | Self::RospinRtBelow)
    }

    /// Returns true if rospin's engine runs the callbacks.
    pub(crate) const fn is_on_rospin(self) -> bool {
        matches!(self, Self::WaitSet | Self::RospinSingle | Self::RospinRt | Self::RospinEdf | Self::RospinRtBelow)
    }

    /// Returns a description of the structure in one sentence.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Futures => {
                "R2R's usual loop on one thread: sample one message of each ready topic, then run callbacks in a \
                 futures LocalPool until it stalls."
            }
            Self::FuturesJoin => {
                "R2R, sampling on the main thread; all callbacks joined into one task of a futures ThreadPool."
            }
            Self::FuturesRt => {
                "R2R as the paper proposes: sampling at the highest priority, and a thread with a LocalPool a \
                 callback, rate-monotonic."
            }
            Self::FuturesThreadPool => {
                "R2R, sampling on the main thread, callbacks on a futures ThreadPool of two threads, all alike."
            }
            Self::FuturesTwoThreads => {
                "R2R, sampling at the highest priority, all callbacks in a LocalPool on a second thread."
            }
            Self::Tokio => "R2R, sampling on a thread of its own, callbacks on Tokio's workers, all of one priority.",
            Self::TokioRt => "R2R, sampling on a thread of its own, callbacks on Tokio's workers at a lower priority.",
            Self::WaitSet => {
                "rclcpp's single-threaded executor, emulated by rospin: one thread empties a ready set, in order of \
                 registration, before it looks again."
            }
            Self::RospinSingle => "rospin, one executor that picks the most urgent ready callback each time.",
            Self::RospinRt => {
                "rospin with one executor a callback, rate-monotonic; a receiving thread at the highest priority only \
                 notifies, messages are taken by the executors."
            }
            Self::RospinEdf => {
                "rospin, one executor that picks the ready callback with the earliest deadline each time."
            }
            Self::FuturesRtBelow => {
                "As futures-rt, with the middleware's threads less urgent than every callback. Over sockets, a thread that \
                 hands messages on stands for these."
            }
            Self::RospinRtBelow => {
                "As rospin-rt, with the middleware's threads less urgent than every callback. Over sockets, the receiving \
                 thread stands for these."
            }
        }
    }
}

/// A structure with or without real-time threads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Variant {
    /// Structure of the subscriber.
    pub(crate) structure: Structure,
    /// True if the subscriber's threads are `SCHED_FIFO`.
    pub(crate) real_time: bool,
}

/// All variants, in the order of the table: first those without real-time threads.
static ALL: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let of = |real_time| Structure::ALL.into_iter().map(move |structure| Variant { structure, real_time });
    of(false).filter(|variant| !variant.structure.has_middleware_below()).chain(of(true)).collect()
});

impl Variant {
    /// Returns the variant of that structure with real-time threads.
    pub(crate) const fn real_time(structure: Structure) -> Self {
        Self { structure, real_time: true }
    }

    /// Returns all variants, in the order of the table.
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    /// Returns the variant's name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        let [real_time, ordinary] = self.structure.names();
        if self.real_time { real_time } else { ordinary }
    }
}

impl ValueEnum for Variant {
    fn value_variants<'a>() -> &'a [Self] {
        Self::all()
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_a_name_of_its_own() {
        let mut names: Vec<_> = Variant::all().iter().map(|variant| variant.name()).collect();
        for name in &names {
            assert!(Variant::from_str(name, false).is_ok(), "{name}");
        }
        names.sort_unstable();
        names.dedup();
        let below = Structure::ALL.iter().filter(|structure| structure.has_middleware_below()).count();
        assert_eq!(names.len(), 2 * Structure::ALL.len() - below);
    }

    #[test]
    fn those_without_real_time_threads_say_so() {
        for variant in Variant::all() {
            assert_eq!(variant.name().starts_with("nort-"), !variant.real_time);
        }
    }
}
