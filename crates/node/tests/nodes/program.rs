//! A program: its executors, its features, and the steps of its threads.

use std::fmt;

use super::rng::Rng;

/// A kind of feature, of which a program has one at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Services,
    Actions,
    Parameters,
    Lifecycle,
    Topics,
    Transforms,
    Synchronizers,
}

const KINDS: [Kind; 7] = [
    Kind::Services,
    Kind::Actions,
    Kind::Parameters,
    Kind::Lifecycle,
    Kind::Topics,
    Kind::Transforms,
    Kind::Synchronizers,
];

/// A step of a thread. A seed decides what the feature does then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
}

/// A program, which a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The seed of all that the steps do not decide.
    pub(crate) seed: u64,
    /// The number of threads of each executor.
    pub(crate) executors: Vec<u16>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) threads: Vec<Vec<Step>>,
}

impl Program {
    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let executors = (0..1 + rng.below(2)).map(|_| 1 + rng.below(3) as u16).collect();
        let mut kinds = Vec::new();
        for _ in 0..1 + rng.below(2) {
            let kind = *rng.pick(&KINDS);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut thread = || {
            let steps = 1 + rng.below(6);
            (0..steps).map(|_| Step { kind: *rng.pick(&kinds), seed: rng.next() }).collect()
        };
        let first: Vec<Step> = thread();
        let mut threads = vec![first, thread()];
        if seed.is_multiple_of(3) {
            threads.push(thread());
        }
        Self { seed, executors, kinds, threads }
    }

    /// Returns the programs that are smaller than this one by a little.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() {
            let mut without = self.clone();
            without.threads.remove(thread);
            all.push(without);
            for step in 0..self.threads[thread].len() {
                let mut without = self.clone();
                without.threads[thread].remove(step);
                all.push(without);
            }
        }
        for (executor, threads) in self.executors.iter().enumerate() {
            if *threads > 1 {
                let mut with_less = self.clone();
                with_less.executors[executor] -= 1;
                all.push(with_less);
            }
        }
        for kind in &self.kinds {
            let mut without = self.clone();
            without.kinds.retain(|other| other != kind);
            without.threads.iter_mut().for_each(|steps| steps.retain(|step| step.kind != *kind));
            all.push(without);
        }
        all
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "threads of the executors: {:?}, features: {:?}", self.executors, self.kinds)?;
        for (number, steps) in self.threads.iter().enumerate() {
            let steps: Vec<String> = steps.iter().map(|step| format!("{:?}({})", step.kind, step.seed)).collect();
            writeln!(f, "thread {number}: {}", steps.join(", "))?;
        }
        Ok(())
    }
}
