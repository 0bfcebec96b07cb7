//! Cores and OS priorities of executors: a chain on one core where it fits (Choi et al. 2022), then a search for an
//! allocation with which more deadlines hold.
//!
//! To pack executors onto cores so that all deadlines hold is at least as hard as bin packing: no exact method ends in
//! time. So there are some first allocations, and a local search from the best of them: one executor moves to another
//! core, two swap their cores, or two swap their ranks. Every step is judged by the analysis, so the analysis proves
//! what the result promises. The random numbers have a seed and steps are counted: the same system gives the same
//! assignment.
//!
//! The scenario may have an allocation already. If the first search leaves deadlines missed, a second search starts
//! from the given allocation. It looks for more deadlines that hold, and makes no bound of a chain longer than it is
//! there: no chain pays for others. Its result is taken if it helps the most critical chains that miss their deadlines
//! in the given allocation, or if neither search helps them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rospin_scenario::Scenario;
use rospin_scenario::draw::Stream;

use crate::analysis::Analysis;
use crate::budget::Budget;
use crate::busy::Windows;
use crate::chains;
use crate::error::AnalysisError;
use crate::known::Known;
use crate::solve::solve;
use crate::system::{System, nanos};

/// Largest number of allocations that the search looks at. It analyses each of them once.
const TRIALS: u64 = 10_000;
/// Budget of work for the analysis of one allocation.
const WORK_EACH: u64 = 600_000;
/// Budget of work for all allocations together.
const WORK: u64 = 900_000_000;
/// Number of steps without a better allocation after which the search continues from elsewhere.
const PATIENCE: u64 = 250;

/// Latencies may grow by this factor: some nanoseconds are not worth a search.
const LONGER: f64 = 1.0 + 1e-6;

/// Allocation: a core for each executor, which counts for [movable](Search::movable) ones only, and a rank for each
/// executor. The smallest rank is the most urgent.
#[derive(Clone)]
struct Choice {
    cores: Vec<u16>,
    ranks: Vec<usize>,
}

/// Distance of an allocation from holding all deadlines. A smaller one is better. The second search is the one from the
/// allocation that the scenario has already.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
struct Score {
    /// Sum of the cores' loads beyond 1.
    excess: f64,
    /// Sum of the shares by which latencies of chains exceed the longest ones that are allowed. Only in the second
    /// search.
    longer: f64,
    /// Number of chains that miss their deadlines or have no bound, by criticality, the most critical ones first: no
    /// number of less critical ones makes up for one of those.
    chains: Vec<usize>,
    /// Number of callbacks that miss their deadlines or have no bound; zero in the second search.
    callbacks: usize,
    /// Sum of the shares by which chains and callbacks exceed their deadlines; 100 deadlines at most, and without a
    /// bound. In the second search, sum of the latencies as shares of the longest ones that are allowed.
    late: f64,
    /// Sum of the chains' latencies as shares of their deadlines. In the second search, number of callbacks that miss
    /// their deadlines or have no bound.
    long: f64,
}

/// Returns the scenario with cores and OS priorities for its executors. `top` is the OS priority of the most urgent
/// one. If `is_free`, the search chooses the executors' order of urgency, too; otherwise they keep that of the
/// scenario.
pub(super) fn allocate(
    analysis: &Analysis<'_>,
    scenario: &Scenario,
    top: u8,
    is_free: bool,
) -> Result<Scenario, AnalysisError> {
    let mut search = Search::new(analysis, scenario, top)?;
    let order = search.ranks_of(scenario);
    let firsts = [search.by_chains(), search.by_load()].map(|cores| Choice { cores, ranks: order.clone() });
    let given = if is_free { search.given(analysis.scenario()) } else { None };
    // Half of the work is reserved for the second search.
    let share = if given.is_some() { 2 } else { 1 };
    let best = search.climb(firsts.into(), is_free, TRIALS / share, WORK / share);
    let Some((choice, latencies)) = given.filter(|_| best.0.is_open()) else { return Ok(search.scenario(&best.1)) };
    let there = search.judge(&choice);
    search.longest = Some(latencies);
    search.judged.clear();
    let kept = search.climb(vec![choice], is_free, TRIALS, WORK);
    // The first level of criticality at which a chain misses its deadline in the given allocation.
    let level = there.chains.iter().position(|count| *count > 0).unwrap_or(0);
    let helps = |score: &Score| score.chains[..=level] < there.chains[..=level];
    let is_kept = there.chains.is_empty() || helps(&kept.0) || !helps(&best.0);
    Ok(search.scenario(if is_kept { &kept.1 } else { &best.1 }))
}

impl Score {
    /// Returns true if a core is overloaded or a deadline is missed.
    fn is_open(&self) -> bool {
        self.excess > 0.0 || self.chains.iter().any(|count| *count > 0) || self.callbacks > 0
    }
}

/// Search for an allocation, with what each step needs of the scenario and its system.
struct Search<'a> {
    analysis: &'a Analysis<'a>,
    base: Scenario,
    /// Executors with callbacks and one thread. The others keep their cores.
    movable: Vec<usize>,
    /// Load of each executor, as a share of a core.
    loads: Vec<f64>,
    /// System from which the loads are, and the callbacks of each executor.
    system: System,
    /// Criticalities of the chains, the largest first.
    levels: Vec<u32>,
    /// OS priority of the executor with the smallest rank.
    top: u8,
    /// Longest latency that each chain may have, in nanoseconds. Only in the second search.
    longest: Option<Vec<u64>>,
    /// Scores of the allocations that this search has come to: many of its steps lead back to one of them.
    judged: BTreeMap<Vec<(u16, u8)>, Score>,
    /// Number of allocations that may still be looked at.
    trials: u64,
    /// Units of work that may still be spent.
    work: u64,
}

impl<'a> Search<'a> {
    fn new(analysis: &'a Analysis<'a>, scenario: &Scenario, top: u8) -> Result<Self, AnalysisError> {
        let mut base = scenario.clone();
        // All executors are put on the first core for now. The search moves them.
        base.executors
            .iter_mut()
            .filter(|executor| executor.threads == 1)
            .for_each(|executor| executor.cores = vec![0]);
        let system = match analysis.of(&base).unloaded_system() {
            Ok(system) => system,
            // An executor with several threads does not fit on one core.
            Err(_) => analysis.of(scenario).unloaded_system()?,
        };
        let rates = system.rates();
        let cost = |callback: &usize| rates[*callback] * system.callbacks[*callback].cost() as f64;
        let loads = system.executors.iter().map(|executor| executor.callbacks.iter().map(cost).sum()).collect();
        let movable =
            |number: &usize| system.executors[*number].threads == 1 && !system.executors[*number].callbacks.is_empty();
        let movable = (0..system.executors.len()).filter(movable).collect();
        let mut levels: Vec<u32> = scenario.chains.iter().map(|chain| chain.criticality).collect();
        levels.sort_unstable_by_key(|level| Reverse(*level));
        levels.dedup();
        Ok(Self {
            analysis,
            base: scenario.clone(),
            movable,
            loads,
            system,
            levels,
            top,
            longest: None,
            judged: BTreeMap::new(),
            trials: 0,
            work: 0,
        })
    }

    /// Returns the executors' order of urgency in that scenario.
    fn ranks_of(&self, scenario: &Scenario) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.loads.len()).collect();
        order.sort_by_key(|executor| Reverse(scenario.executors[*executor].os_priority));
        let mut ranks = vec![0; order.len()];
        order.into_iter().enumerate().for_each(|(rank, executor)| ranks[executor] = rank);
        ranks
    }

    /// Returns the allocation that a scenario has, and the latencies of its chains; `None` if an executor may use
    /// several cores, a chain has no bound, or the scenario cannot be analysed.
    fn given(&self, scenario: &Scenario) -> Option<(Choice, Vec<u64>)> {
        let mut cores = vec![0; self.loads.len()];
        for &executor in &self.movable {
            let [core] = scenario.executors[executor].cores[..] else { return None };
            cores[executor] = core;
        }
        let report = self.analysis.of(scenario).run().ok()?;
        let latencies = report.chains.iter().map(|chain| chain.latency.map(nanos)).collect::<Option<Vec<_>>>()?;
        Some((Choice { cores, ranks: self.ranks_of(scenario) }, latencies))
    }

    /// Returns the best allocation that is found by single steps from the best of `firsts`. It looks at no more than
    /// `trials` allocations, and spends at most `work` units besides those that are left from the search before.
    fn climb(&mut self, firsts: Vec<Choice>, is_free: bool, trials: u64, work: u64) -> (Score, Choice) {
        (self.trials, self.work) = (trials, self.work + work);
        let judged: Vec<_> = firsts.into_iter().map(|choice| (self.judge(&choice), choice)).collect();
        let better = |one: (Score, Choice), other: (Score, Choice)| if other.0 < one.0 { other } else { one };
        let (mut best_score, mut best) = judged.into_iter().reduce(better).expect("a first one");
        let (mut here_score, mut here) = (best_score.clone(), best.clone());
        let rng = &mut Stream::new(1, "assign");
        let mut since = 0;
        while self.trials > 0 && self.work > 0 && best_score.is_open() && self.movable.len() > 1 {
            since += 1;
            if since > PATIENCE {
                // The search continues from the best allocation so far, some random steps away from it.
                here = best.clone();
                for _ in 0..3 {
                    self.step(rng, &mut here, is_free);
                }
                here_score = self.judge(&here);
                since = 0;
            }
            let mut next = here.clone();
            self.step(rng, &mut next, is_free);
            let score = self.judge(&next);
            if score <= here_score {
                since = if score < here_score { 0 } else { since };
                (here_score, here) = (score, next);
                if here_score < best_score {
                    (best_score, best) = (here_score.clone(), here.clone());
                }
            }
        }
        (best_score, best)
    }

    fn core_count(&self) -> usize {
        usize::from(self.base.core_count())
    }

    /// Returns cores by chains: in the order of criticality, all executors of a chain that have no core yet go to the
    /// least loaded core, if they fit there. The executors that are left follow, the heaviest first.
    fn by_chains(&self) -> Vec<u16> {
        let (mut cores, mut used) = (vec![0; self.loads.len()], vec![0.0; self.core_count()]);
        let mut left = self.movable.clone();
        let mut chains: Vec<_> = self.base.chains.iter().collect();
        chains.sort_by_key(|chain| Reverse(chain.criticality));
        for chain in chains {
            let is_in = |executor: &usize| {
                let callbacks = &self.system.executors[*executor].callbacks;
                callbacks.iter().any(|callback| chain.callbacks.contains(&self.system.callbacks[*callback].name))
            };
            let members: Vec<usize> = left.iter().copied().filter(is_in).collect();
            let together: f64 = members.iter().map(|member| self.loads[*member]).sum();
            let core = least_loaded(&used);
            if used[core] + together <= 1.0 {
                left.retain(|executor| !members.contains(executor));
                members.iter().for_each(|member| cores[*member] = core as u16);
                used[core] += together;
            }
        }
        self.spread(left, &mut cores, &mut used);
        cores
    }

    /// Returns cores by load: the heaviest executor first, each on the least loaded core.
    fn by_load(&self) -> Vec<u16> {
        let (mut cores, mut used) = (vec![0; self.loads.len()], vec![0.0; self.core_count()]);
        self.spread(self.movable.clone(), &mut cores, &mut used);
        cores
    }

    /// Assigns a core to each of the executors in `left`, the heaviest first, each the least loaded one. `used` is the
    /// load of each core.
    fn spread(&self, mut left: Vec<usize>, cores: &mut [u16], used: &mut [f64]) {
        left.sort_by(|one, other| self.loads[*other].total_cmp(&self.loads[*one]));
        for executor in left {
            let core = least_loaded(used);
            used[core] += self.loads[executor];
            cores[executor] = core as u16;
        }
    }

    /// Changes the core of an executor, or swaps the cores or, if `is_free`, the ranks of two executors.
    fn step(&self, rng: &mut Stream, choice: &mut Choice, is_free: bool) {
        let any = |rng: &mut Stream| self.movable[rng.below(self.movable.len() as u64) as usize];
        let (one, other) = (any(rng), any(rng));
        match rng.below(if is_free { 3 } else { 2 }) {
            0 => choice.cores[one] = rng.below(self.core_count() as u64) as u16,
            1 => choice.cores.swap(one, other),
            _ => choice.ranks.swap(one, other),
        }
    }

    /// Returns the scenario with the cores and OS priorities of an allocation.
    fn scenario(&self, choice: &Choice) -> Scenario {
        let mut scenario = self.base.clone();
        for &executor in &self.movable {
            scenario.executors[executor].cores = vec![choice.cores[executor]];
        }
        for (executor, rank) in scenario.executors.iter_mut().zip(&choice.ranks) {
            executor.os_priority = self.os_priority(*rank);
        }
        scenario
    }

    fn os_priority(&self, rank: usize) -> u8 {
        self.top.saturating_sub(u8::try_from(rank).unwrap_or(u8::MAX)).max(1)
    }

    /// Returns the score of an allocation, and analyses it unless the search was there before.
    fn judge(&mut self, choice: &Choice) -> Score {
        self.trials = self.trials.saturating_sub(1);
        let priorities = choice.ranks.iter().map(|rank| self.os_priority(*rank));
        let key: Vec<_> = choice.cores.iter().copied().zip(priorities).collect();
        if let Some(score) = self.judged.get(&key) {
            return score.clone();
        }
        let score = self.analyse(choice);
        self.judged.insert(key, score.clone());
        score
    }

    /// Analyses an allocation. One that overloads a core has no other figures than its excess.
    fn analyse(&mut self, choice: &Choice) -> Score {
        let chains = vec![0; self.levels.len()];
        let nothing = Score { excess: f64::MAX, longer: 0.0, chains, callbacks: 0, late: 0.0, long: 0.0 };
        let scenario = self.scenario(choice);
        let Ok(system) = self.analysis.of(&scenario).unloaded_system() else { return nothing };
        let excess: f64 = system.loads().into_iter().map(|load| (load - 1.0 - 1e-9).max(0.0)).sum();
        if excess > 0.0 {
            self.work = self.work.saturating_sub(1_000);
            return Score { excess, ..nothing };
        }
        let budget = Budget::of(WORK_EACH, None);
        let solution = solve(&system, &budget);
        let known = Known::of(&system, &solution, &budget);
        let paces = chains::paces_for_latency(&system, &solution);
        let mut score = Score { excess: 0.0, ..nothing };
        let mut shares = 0.0;
        let mut windows = Windows::default();
        for (place, chain) in scenario.chains.iter().enumerate() {
            let found = chains::bound(&scenario, &solution, &known, &paces, &mut windows, chain);
            if let Some(longest) = &self.longest {
                let share = found.latency.map_or(100.0, |latency| nanos(latency) as f64 / longest[place].max(1) as f64);
                shares += share;
                score.longer += if share > LONGER { share - 1.0 } else { 0.0 };
            }
            let level = self.levels.iter().position(|level| *level == chain.criticality).unwrap_or(0);
            score.chains[level] += usize::from(!found.holds);
            if let Some(deadline) = chain.deadline {
                let share =
                    found.latency.map_or(100.0, |latency| latency.as_secs_f64() / deadline.as_secs_f64().max(1e-9));
                score.late += (share.min(100.0) - 1.0).max(0.0);
                score.long += share.min(100.0);
            }
        }
        for (plan, found) in system.callbacks.iter().zip(&solution.found) {
            let due = plan.due.unwrap_or(u64::MAX);
            let share = found.bound.map_or(100.0, |bound| bound as f64 / due.max(1) as f64).min(100.0);
            score.callbacks += usize::from(found.bound.is_none_or(|bound| bound > due));
            score.late += (share - 1.0).max(0.0);
        }
        self.work = self.work.saturating_sub(WORK_EACH - budget.left());
        if self.longest.is_some() {
            // Compared with the given allocation, every latency counts, and callbacks count only where latencies are
            // equal.
            (score.callbacks, score.late, score.long) = (0, shares, score.callbacks as f64);
        }
        score
    }
}

fn least_loaded(used: &[f64]) -> usize {
    (0..used.len()).min_by(|one, other| used[*one].total_cmp(&used[*other])).unwrap_or(0)
}
