//! Several threads, and units that send messages to each other: what may be left of them at any time, and follow from
//! it.
//!
//! See [`units`](crate::units) for units, their windows and the time for which they are passed over.
//!
//! **Left in a window.** Look at a unit at a time x in its window, and let a callback c have k(c) activations left
//! there. Each of them has its size left, which is the time of all that it is in this unit, and its tree, which is the
//! time of all that it is in the executor. In x the unit was passed over for the time Y, and ran or awaited something
//! in the rest. With E for what entered and F(x) for what follows from releases in x:
//!
//! - the sum of k(c) size(c) is no more than E + F(x) + Y - x;
//! - the sum of k(c) tree(c) is no more than V' and all that follows from releases in x, less m Y + (x - Y): all
//!   threads were busy in Y, and one in the rest.
//!
//! Both hold for the same Y. With the first one m - 1 times, their sum does not depend on it. That sum is what keeps
//! groups that send to each other from growing without end in the equations: what a unit has kept was not passed on, so
//! it did not keep the others busy.
//!
//! At most as many activations of a callback are left as were released in x, or entered. So the work that follows
//! elsewhere from activations that are left is at most the solution of a fractional knapsack, one for each of the two
//! limits. Activations that have begun count apart: less than their size is left, but all that follows from them is
//! still to come.
//!
//! Theorems and proofs: `book/src/analysis/several-threads.md`.

use crate::unit::{Part, Unit, Width};
use crate::units::Units;

/// Number of parts of a window in each of which the most is taken for what is left.
const PIECES: u64 = 16;

/// A time without and with what follows from it in other units.
#[derive(Clone, Copy)]
pub(crate) struct Both {
    pub(crate) own: u64,
    pub(crate) tree: u64,
}

/// By unit, what may be left at any time.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Lefts {
    /// Work of the unit's activations.
    pub(crate) own: Vec<u64>,
    /// Work of the unit that follows from all that is left, in this unit or in another one.
    all: Vec<u64>,
    /// Work of the unit's activations, and all that follows from it.
    tree: Vec<u64>,
    /// By unit, and last for all reentrant callbacks that wait for threads only: by unit, work there that follows from
    /// their activations.
    onward: Vec<Vec<u64>>,
    /// The same by part of all units: the number of activations of that callback that follow.
    releases: Vec<Vec<u64>>,
}

/// The most work that may be left of each unit, and the length of its longest window. For a free callback, the length
/// is its bound.
pub(crate) struct Windows {
    pub(crate) lefts: Lefts,
    pub(crate) lengths: Vec<Option<u64>>,
}

/// Work that enters a unit during its window although it was not released in it: it follows from work that was left of
/// other units when the window began.
pub(crate) struct Entering {
    pub(crate) work: u64,
    /// By part, the number of activations.
    numbers: Vec<u64>,
}

/// The most work that may be left at any time, and what follows from it.
pub(crate) struct State<'a> {
    pub(crate) lefts: &'a Lefts,
    pub(crate) entering: Vec<Entering>,
    /// By unit that has nothing left, and by unit: work there that follows from all that is left.
    following: Vec<Vec<u64>>,
    /// Work that may be left of all units together, with the rest of less urgent segments that have begun.
    pub(crate) left: Both,
    /// By unit, what may be left of all, with all that follows, at a time at which the unit has nothing left.
    without: Vec<u64>,
    /// The most work that may be left of all units together while a thread is idle, with all that follows from it.
    idle: u64,
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

impl Lefts {
    /// Returns that nothing is left of any unit.
    pub(crate) fn nothing(units: &Units<'_>) -> Self {
        let count = units.units.len();
        let parts = units.units.iter().map(|unit| unit.parts.len()).sum();
        Self {
            own: vec![0; count],
            all: vec![0; count],
            tree: vec![0; count],
            onward: vec![vec![0; count]; count + 1],
            releases: vec![vec![0; parts]; count + 1],
        }
    }

    fn values(&self) -> impl Iterator<Item = u64> {
        let rows = self.onward.iter().chain(&self.releases).flatten();
        self.own.iter().chain(&self.all).chain(&self.tree).chain(rows).copied()
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let rows = self.onward.iter_mut().chain(&mut self.releases).flatten();
        self.own.iter_mut().chain(&mut self.all).chain(&mut self.tree).chain(rows)
    }

    /// Returns by how much `now` is more than this, as a sum.
    pub(crate) fn growth(&self, now: &Self) -> f64 {
        self.values().zip(now.values()).map(|(known, now)| now.saturating_sub(known) as f64).sum()
    }

    /// Returns the unit whose work grows most, of those that are not `full`.
    pub(crate) fn fastest(&self, now: &Self, full: &[bool]) -> Option<usize> {
        let growth = |unit: &usize| now.own[*unit].saturating_sub(self.own[*unit]);
        (0..self.own.len()).filter(|unit| !full[*unit]).max_by_key(growth)
    }

    /// Returns the units of which more is left in `now`, of those that are not `full`.
    pub(crate) fn growing(&self, now: &Self, full: &[bool]) -> Vec<usize> {
        let grows = |unit: &usize| {
            let rows = self.onward[*unit].iter().zip(&now.onward[*unit]);
            now.own[*unit] > self.own[*unit]
                || now.tree[*unit] > self.tree[*unit]
                || rows.into_iter().any(|(known, now)| now > known)
        };
        (0..self.own.len()).filter(|unit| !full[*unit] && grows(unit)).collect()
    }

    /// Takes what is more in `now`.
    pub(crate) fn grow(&mut self, now: &Self) {
        self.values_mut().zip(now.values()).for_each(|(known, now)| *known = now.max(*known));
    }

    /// Returns this with what is more in `now`, and so many times as much again.
    pub(crate) fn leap(&self, now: &Self, factor: f64) -> Self {
        let mut leapt = self.clone();
        for (known, now) in leapt.values_mut().zip(now.values()) {
            let more = now.saturating_sub(*known);
            let leap = (more as f64 * factor) as u64;
            *known = known.saturating_add(more).saturating_add(leap).saturating_add(u64::from(more > 0));
        }
        leapt
    }
}

impl State<'_> {
    /// Returns how much work of the unit `to` follows from all that is left when the unit `from` has nothing left.
    pub(crate) fn following(&self, from: usize, to: usize) -> u64 {
        self.lefts.own[to].saturating_add(self.following[from][to]).min(self.lefts.all[to])
    }
}

/// Item of a knapsack: its value, its size, and the number of such items.
pub(crate) type Item = (u64, u64, u64);

/// Returns the largest value of items, and of fractions of them, that fit into `room`.
pub(crate) fn knapsack(items: &mut [Item], room: u64) -> u64 {
    items.sort_unstable_by(|one, other| {
        let (one, other) = (u128::from(one.0) * u128::from(other.1), u128::from(other.0) * u128::from(one.1));
        other.cmp(&one)
    });
    let (mut room, mut value) = (u128::from(room), 0_u128);
    for (each, size, number) in items.iter().filter(|item| item.0 > 0) {
        let size = u128::from((*size).max(1));
        let taken = (u128::from(*number) * size).min(room);
        room -= taken;
        value = value.saturating_add((taken * u128::from(*each)).div_ceil(size));
    }
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Limits of what is left of a unit in a part of its window.
struct Limits {
    /// By part, the largest number of activations.
    numbers: Vec<u64>,
    /// Work of the unit's activations.
    own: u64,
    /// The same, with what follows in the unit.
    size: u64,
    /// Size and tree together.
    both: u64,
}

impl Units<'_> {
    /// Returns what follows for all units if no more than `lefts` is ever left of them. As much is left of units that are
    /// `full`, and of those without a window, as their queues hold.
    pub(crate) fn follows(&self, bursts: Both, lefts: &Lefts, full: &[bool]) -> Windows {
        let state = self.state(bursts, lefts);
        let mut windows = Windows { lefts: Lefts::nothing(self), lengths: Vec::new() };
        for (number, unit) in self.units.iter().enumerate() {
            if unit.width == Width::Free {
                windows.lengths.push(self.free(number, &state));
                continue;
            }
            let (length, backlog) = self.window(number, &state).unzip();
            windows.lengths.push(length);
            match length.zip(backlog).filter(|_| !full[number]) {
                Some((length, backlog)) => {
                    windows.lefts.own[number] = backlog.min(unit.held(|part| part.serial));
                    self.left_in_window(number, length, &state, &mut windows.lefts);
                }
                None => self.left_in_queues(number, &mut windows.lefts),
            }
        }
        self.left_of_free(&state, &mut windows.lefts);
        windows
    }

    /// Returns what may be left at any time when each of the units has no more left than `lefts`.
    fn state<'b>(&self, bursts: Both, lefts: &'b Lefts) -> State<'b> {
        let begun = self.lower_on(self.threads);
        let own = self.largest(&lefts.own, |part| part.cost).saturating_add(bursts.own).saturating_add(begun);
        let idle = self.largest(&lefts.tree, |part| part.tree).saturating_add(begun);
        let tree = idle.saturating_add(bursts.tree);
        let count = self.units.len();
        let mut state = State {
            lefts,
            entering: Vec::new(),
            following: vec![vec![u64::MAX; count]; count],
            left: Both { own, tree },
            without: Vec::new(),
            idle,
        };
        let mut first = 0;
        for (to, unit) in self.units.iter().enumerate() {
            let others = self.units.iter().zip(&lefts.tree).enumerate().filter(|(other, _)| *other != to);
            let trees = others.map(|(_, (other, tree))| if other.width == Width::Free { u64::MAX } else { *tree });
            state.without.push(sum(trees).min(tree));
            state.entering.push(self.entering(to, first, &state));
            first += unit.parts.len();
            if !self.looks_onward {
                continue;
            }
            let most = self.most(to, &state);
            for (from, row) in state.following.iter_mut().enumerate() {
                // The last row of what follows is that of all reentrant callbacks.
                let others = (0..=count).filter(|other| *other != from).map(|other| lefts.onward[other][to]);
                row[to] = sum(others).min(most);
            }
        }
        state
    }

    /// Returns the most work of a unit that may follow from all that is left: all work that is left, with all that
    /// follows from it. That sum has no waits in it, so it is no limit for a unit that awaits.
    fn most(&self, unit: usize, state: &State<'_>) -> u64 {
        if self.units[unit].awaits { u64::MAX } else { state.left.tree }
    }

    /// Returns what enters a unit, whose first part has the number `first` among the parts of all units.
    fn entering(&self, to: usize, first: usize, state: &State<'_>) -> Entering {
        let unit = &self.units[to];
        let mut entering = Entering { work: u64::MAX, numbers: vec![u64::MAX; unit.parts.len()] };
        if !self.looks_onward {
            return entering;
        }
        let count = self.units.len();
        self.known.budget.spend((count * count) as u64);
        // The last row is that of all reentrant callbacks.
        let others = || (0..=count).filter(|other| *other != to);
        let rest = sum(others().map(|other| state.lefts.onward[other][to]));
        let among = self.among(to, |part| part.onward[to], state.without[to]);
        entering.work = rest.min(self.most(to, state)).min(among);
        if unit.parts.iter().any(|part| part.paths.is_empty()) {
            return entering;
        }
        let releases = |row: usize, place: usize| state.lefts.releases[row][first + place];
        let mut by_number = 0_u64;
        for (place, part) in unit.parts.iter().enumerate() {
            let number = if unit.width == Width::Free {
                // Since a thread was idle. At that time reentrant callbacks ran, and none waited.
                let free = self.units.iter().filter(|unit| unit.width == Width::Free);
                let paths = free.map(|free| free.parts[0].paths[part.callback]);
                let running = paths.max().unwrap_or(0).saturating_mul(self.threads - 1);
                sum((0..count).map(|row| releases(row, place))).saturating_add(running)
            } else {
                sum(others().map(|row| releases(row, place)))
            };
            entering.numbers[place] = number;
            by_number = by_number.saturating_add(number.saturating_mul(part.serial));
        }
        entering.work = entering.work.min(by_number);
        entering
    }

    /// Returns the most that may follow from what is left of all units but one, with so much that follows from one
    /// activation of each callback, when no more than `room` is left with all that follows.
    fn among(&self, but: usize, value: impl Fn(&Part) -> u64, room: u64) -> u64 {
        if room == u64::MAX {
            return u64::MAX;
        }
        let (mut items, mut begun, mut sum) = (Vec::new(), Vec::new(), 0_u64);
        for (_, unit) in self.units.iter().enumerate().filter(|(number, _)| *number != but) {
            items.extend(unit.parts.iter().map(|part| (value(part), part.tree, part.at_once)));
            let running = unit.begun(&value);
            match unit.width {
                Width::Free => begun.extend(std::iter::repeat_n(value(&unit.parts[0]), self.threads as usize)),
                Width::Narrow if !unit.awaits => begun.push(running),
                _ => sum = sum.saturating_add(running),
            }
        }
        begun.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
        let running = begun.into_iter().take(self.threads as usize).fold(sum, u64::saturating_add);
        knapsack(&mut items, room).saturating_add(running)
    }

    /// Stores what may follow from what is left of all reentrant callbacks that wait for threads only.
    ///
    /// None of them waited at the last time at which a thread was idle. Since then all threads were busy.
    fn left_of_free(&self, state: &State<'_>, lefts: &mut Lefts) {
        let is_free = |unit: &Unit| unit.width == Width::Free;
        let parts: Vec<(usize, &Part)> = self
            .units
            .iter()
            .enumerate()
            .filter(|(_, unit)| is_free(unit))
            .map(|(number, unit)| (number, &unit.parts[0]))
            .collect();
        if !self.looks_onward || parts.is_empty() {
            return;
        }
        let threads = self.threads;
        let trees = |length: u64| sum(self.units.iter().map(|unit| unit.fresh(length)));
        let length = self.least(1, |length| state.idle.saturating_add(trees(length)) / threads);
        let row = self.units.len();
        let pieces = if length.is_some() { PIECES } else { 1 };
        let mut from: u64 = 0;
        for piece in 1..=pieces {
            let to = length.map_or(u64::MAX, |length| {
                (u128::from(length) * u128::from(piece)).div_ceil(u128::from(PIECES)) as u64
            });
            self.known.budget.spend(self.weight());
            let room = match length {
                Some(_) => state.idle.saturating_add(trees(to)).saturating_sub(from.saturating_mul(threads)),
                None => state.left.tree,
            };
            let numbers: Vec<u64> = parts
                .iter()
                .map(|(number, part)| {
                    let fresh = if length.is_some() { part.fresh.number(to) } else { u64::MAX };
                    fresh.saturating_add(state.entering[*number].numbers[0]).min(part.at_once)
                })
                .collect();
            self.store(row, lefts, |value| {
                let item = |((_, part), number): (&(usize, &Part), &u64)| (value(part), part.tree, *number);
                let mut items: Vec<Item> = parts.iter().zip(&numbers).map(item).collect();
                let most = items.iter().map(|item| item.0).max().unwrap_or(0);
                if most == 0 { 0 } else { knapsack(&mut items, room).saturating_add(most.saturating_mul(threads)) }
            });
            from = to;
        }
    }

    /// Stores what may follow from what is left of a unit, by the value of each of its parts.
    fn store(&self, unit: usize, lefts: &mut Lefts, most: impl Fn(&dyn Fn(&Part) -> u64) -> u64) {
        for to in 0..self.units.len() {
            let value = |part: &Part| part.onward[to];
            lefts.onward[unit][to] = lefts.onward[unit][to].max(most(&value));
        }
        let parts =
            self.units.iter().enumerate().flat_map(|(number, unit)| unit.parts.iter().map(move |to| (number, to)));
        for (place, (_, to)) in parts.enumerate().filter(|(_, (number, _))| *number != unit) {
            let value = |part: &Part| part.paths.get(to.callback).copied().unwrap_or(0);
            lefts.releases[unit][place] = lefts.releases[unit][place].max(most(&value));
        }
    }

    /// Stores what is left of a unit at most, by the number of activations that its queues hold.
    fn left_in_queues(&self, unit: usize, lefts: &mut Lefts) {
        let own = &self.units[unit];
        lefts.own[unit] = own.held(|part| part.serial);
        lefts.tree[unit] = own.held(|part| part.tree);
        lefts.all[unit] = u64::MAX;
        if self.looks_onward {
            self.store(unit, lefts, |value| own.held(value));
        }
    }

    /// Stores what may be left of a unit at any time in a window of this length.
    fn left_in_window(&self, unit: usize, length: u64, state: &State<'_>, lefts: &mut Lefts) {
        let own = &self.units[unit];
        let by_number = |value: &dyn Fn(&Part) -> u64| own.held(value);
        if !self.looks_onward {
            lefts.all[unit] = u64::MAX;
            let own_left = by_number(&|part| part.cost).min(lefts.own[unit]);
            lefts.tree[unit] = own_left.saturating_add(own.rest(lefts.own[unit], |part| part.tree - part.cost));
            return;
        }
        let threads = self.threads;
        // By how much of the tree's time the unit is known to do in the time in which it is not passed over.
        let runs = u64::from(!own.awaits);
        let size = |part: &Part| part.serial.saturating_add(part.onward[unit]);
        let both = |part: &Part| size(part).saturating_mul(threads - runs).saturating_add(part.tree);
        let mut from: u64 = 0;
        for piece in 1..=PIECES {
            let to = (u128::from(length) * u128::from(piece)).div_ceil(u128::from(PIECES)) as u64;
            self.known.budget.spend(2 * self.weight());
            let passed_over = self.passed_over(unit, to, state);
            let fresh = own.fresh_serial(to).saturating_add(state.entering[unit].work).saturating_add(own.blocking);
            let serial = own.serial(to, state.entering[unit].work).saturating_add(own.blocking);
            let trees = sum(self.units.iter().map(|other| other.fresh(to)));
            let lower = self.lower_again(unit, to).saturating_add(self.lower_on(threads));
            let most = state.without[unit].saturating_add(trees).saturating_add(lower).saturating_add(own.blocking);
            let limits = Limits {
                numbers: own
                    .parts
                    .iter()
                    .zip(&state.entering[unit].numbers)
                    .map(|(part, entering)| part.fresh.number(to).saturating_add(*entering).min(part.at_once))
                    .collect(),
                own: serial.saturating_add(passed_over).saturating_sub(from).min(lefts.own[unit]),
                size: fresh.saturating_add(passed_over).saturating_sub(from),
                both: fresh
                    .saturating_mul(threads - runs)
                    .saturating_add(most)
                    .saturating_sub(from.saturating_mul(threads)),
            };
            let limited = |value: &dyn Fn(&Part) -> u64| {
                let items = |size: &dyn Fn(&Part) -> u64| -> Vec<Item> {
                    let parts = own.parts.iter().zip(&limits.numbers);
                    parts.map(|(part, number)| (value(part), size(part), *number)).collect()
                };
                if own.parts.iter().all(|part| value(part) == 0) {
                    return 0;
                }
                let cost = |part: &Part| if own.awaits { part.serial } else { part.cost };
                let by_own = knapsack(&mut items(&cost), limits.own);
                let by_size = knapsack(&mut items(&size), limits.size);
                let by_both = if self.is_linked { knapsack(&mut items(&both), limits.both) } else { u64::MAX };
                let begun = own.begun(value);
                by_own.min(by_size).min(by_both).saturating_add(begun).min(by_number(value))
            };
            self.store(unit, lefts, limited);
            let own_left = limits.own.min(by_number(&|part| part.cost));
            let tree = own_left.saturating_add(limited(&|part| part.tree - part.cost));
            lefts.tree[unit] = lefts.tree[unit].max(tree);
            lefts.all[unit] = lefts.all[unit].max(limits.size);
            from = to;
        }
    }
}
