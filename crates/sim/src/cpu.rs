//! The cores of the machine, and the threads that run on them.
//!
//! Scheduling is preemptive with fixed priorities and affinities. Threads get cores in the order of their priority. A
//! thread whose cores are taken by more urgent threads may move these to other cores of theirs (an augmenting path).
//! The sets of threads that can be placed at once form a matroid, so this greedy choice is optimal: no thread waits
//! that could run without taking a core from a more urgent one.

use std::cmp::Reverse;

/// A runnable thread.
#[derive(Clone, Copy, Debug)]
struct Runnable {
    thread: usize,
    priority: u8,
    /// The order of becoming runnable, which a preemption keeps.
    order: u64,
    /// Cores that the thread may use, a bit per core.
    affinity: u64,
    /// Core that the thread has; `None` while it waits for one.
    core: Option<usize>,
}

/// Event of a thread that gets or loses a core: the number of the thread, then that of the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Placed(usize, usize),
    Displaced(usize, usize),
}

/// Cores, and the threads that are runnable.
#[derive(Debug)]
pub(crate) struct Cpu {
    cores: usize,
    /// The runnable threads, the most urgent first.
    runnable: Vec<Runnable>,
    order: u64,
    /// True if the cores must be distributed anew.
    changed: bool,
}

impl Cpu {
    pub(crate) const fn new(cores: usize) -> Self {
        Self { cores, runnable: Vec::new(), order: 0, changed: false }
    }

    /// Makes a thread runnable.
    pub(crate) fn add(&mut self, thread: usize, priority: u8, affinity: u64) {
        let order = self.order;
        self.order += 1;
        let at = self.runnable.partition_point(|other| Reverse(other.priority) <= Reverse(priority));
        self.runnable.insert(at, Runnable { thread, priority, order, affinity, core: None });
        self.changed = true;
    }

    /// Sets the priority of a thread, if it is runnable. Among equal priorities its place is by the time of becoming
    /// runnable.
    pub(crate) fn set_priority(&mut self, thread: usize, priority: u8) {
        let Some(at) = self.runnable.iter().position(|runnable| runnable.thread == thread) else { return };
        let runnable = Runnable { priority, ..self.runnable.remove(at) };
        let key = |other: &Runnable| (Reverse(other.priority), other.order);
        let at = self.runnable.partition_point(|other| key(other) < key(&runnable));
        self.runnable.insert(at, runnable);
        self.changed = true;
    }

    /// Removes a thread that waits, and returns the core that it had; `None` if it had none, or was not runnable.
    pub(crate) fn remove(&mut self, thread: usize) -> Option<usize> {
        let at = self.runnable.iter().position(|runnable| runnable.thread == thread)?;
        self.changed = true;
        self.runnable.remove(at).core
    }

    /// Returns the numbers of the threads that have a core.
    pub(crate) fn on_cores(&self) -> impl Iterator<Item = usize> {
        self.runnable.iter().filter(|runnable| runnable.core.is_some()).map(|runnable| runnable.thread)
    }

    /// Gives the cores to the most urgent threads. Reports changes, losses first.
    pub(crate) fn place(&mut self, mut report: impl FnMut(Change)) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        debug_assert!(self.runnable.is_sorted_by_key(|runnable| (Reverse(runnable.priority), runnable.order)));
        let before: Vec<Option<usize>> = self.runnable.iter().map(|runnable| runnable.core).collect();
        let mut owners: Vec<Option<usize>> = vec![None; self.cores];
        let occupied = before.iter().flatten().fold(0_u64, |bits, core| bits | 1 << core);
        for (place, had) in before.iter().enumerate() {
            self.find_core(place, *had, occupied, &mut owners);
        }
        for runnable in &mut self.runnable {
            runnable.core = None;
        }
        for (core, owner) in owners.iter().enumerate() {
            if let Some(owner) = owner {
                self.runnable[*owner].core = Some(core);
            }
        }
        for (runnable, before) in self.runnable.iter().zip(&before) {
            if let Some(core) = before.filter(|_| runnable.core != *before) {
                report(Change::Displaced(runnable.thread, core));
            }
        }
        for (runnable, before) in self.runnable.iter().zip(&before) {
            if let Some(core) = runnable.core.filter(|_| runnable.core != *before) {
                report(Change::Placed(runnable.thread, core));
            }
        }
    }

    /// Gives the thread at `place` of `runnable` a core, if there is one: the one that it `had`, else one that was
    /// idle, else one that no thread has now, else one whose owner can move. `occupied` has a bit for each core that
    /// was not idle, and `owners` the place of the thread that has each core now.
    fn find_core(&self, place: usize, had: Option<usize>, occupied: u64, owners: &mut [Option<usize>]) {
        let affinity = self.runnable[place].affinity;
        let free = |core: &usize| affinity & 1 << core != 0 && owners[*core].is_none();
        let idle = (0..self.cores).filter(free).find(|core| occupied & 1 << core == 0);
        let choice = had.filter(free).or(idle).or_else(|| (0..self.cores).find(free));
        match choice {
            Some(core) => owners[core] = Some(place),
            None => {
                self.augment(place, owners, &mut 0);
            }
        }
    }

    /// Finds a core for the thread by moving others. Returns true if there is one. Each core is tried once, so the
    /// recursion is at most as deep as there are cores.
    fn augment(&self, place: usize, owners: &mut [Option<usize>], tried: &mut u64) -> bool {
        for core in 0..self.cores {
            if self.runnable[place].affinity & !*tried & 1 << core == 0 {
                continue;
            }
            *tried |= 1 << core;
            let moved = match owners[core] {
                None => true,
                Some(owner) => self.augment(owner, owners, tried),
            };
            if moved {
                owners[core] = Some(place);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(cpu: &mut Cpu) -> Vec<usize> {
        cpu.place(|_| {});
        let mut threads: Vec<_> = cpu.on_cores().collect();
        threads.sort_unstable();
        threads
    }

    #[test]
    fn urgent_threads_preempt_and_the_preempted_go_on_first() {
        let mut cpu = Cpu::new(1);
        cpu.add(0, 5, 1);
        cpu.add(1, 5, 1);
        assert_eq!(placed(&mut cpu), [0], "first come, first served");
        cpu.add(2, 9, 1);
        assert_eq!(placed(&mut cpu), [2]);
        assert_eq!(cpu.remove(2), Some(0));
        assert_eq!(placed(&mut cpu), [0], "not behind the other one");
    }

    #[test]
    fn threads_move_to_let_another_one_run() {
        let mut cpu = Cpu::new(2);
        cpu.add(0, 9, 0b11);
        assert_eq!(placed(&mut cpu), [0]);
        cpu.add(1, 5, 0b01);
        let mut changes = Vec::new();
        cpu.place(|change| changes.push(change));
        assert_eq!(changes, [Change::Displaced(0, 0), Change::Placed(0, 1), Change::Placed(1, 0)]);
        cpu.add(2, 1, 0b10);
        assert_eq!(placed(&mut cpu), [0, 1], "nobody less urgent to displace");
    }

    #[test]
    fn running_threads_stay_where_they_are() {
        let mut cpu = Cpu::new(2);
        cpu.add(0, 1, 0b11);
        cpu.place(|_| {});
        cpu.add(1, 9, 0b11);
        let mut changes = Vec::new();
        cpu.place(|change| changes.push(change));
        assert_eq!(changes, [Change::Placed(1, 1)], "there is an idle core");
    }
}
