//! The tables' results in sentences: the best contenders, and the aims with the values that were reached.

use super::contenders::Contender;
use super::figures::{Figures, Row};
use super::workload::{Cell, Workload};

/// Contenders that the aims are for.
const OURS: [Contender; 2] = [Contender::RospinFifo, Contender::RospinFixedPriority];

/// One aim: a ratio of rospin's figure to another one, the wanted value, and the measured value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aim {
    pub(crate) contender: Contender,
    /// Ratio in words.
    pub(crate) text: String,
    /// Measured ratio.
    pub(crate) value: f64,
    pub(crate) wanted: Wanted,
}

/// The value that an aim wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Aim {
    /// Returns true if the measured value is as wanted.
    pub(crate) fn is_reached(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(least) => self.value >= least,
            Wanted::AtMost(most) => self.value <= most,
        }
    }

    /// Returns the aim's cells of a table, in the order of [`AIM_HEADER`].
    pub(crate) fn cells(&self) -> Vec<String> {
        let wanted = match self.wanted {
            Wanted::AtLeast(least) => format!("at least {least:.2}"),
            Wanted::AtMost(most) => format!("at most {most:.2}"),
        };
        let reached = if self.is_reached() { "yes" } else { "no" };
        vec![
            self.contender.name().to_owned(),
            self.text.clone(),
            wanted,
            format!("{:.2}", self.value),
            reached.to_owned(),
        ]
    }
}

/// Titles of [`Aim::cells`].
pub(crate) const AIM_HEADER: [&str; 5] = ["contender", "ratio", "wanted", "measured", "reached"];

/// Returns the aims for which the run has figures.
pub(crate) fn aims(figures: &Figures) -> Vec<Aim> {
    OURS.into_iter()
        .flat_map(|contender| {
            let judge = Judge { figures, contender };
            [judge.saturation(), judge.fixed_rate(), judge.many(), judge.fan_in(), judge.threads()].concat()
        })
        .collect()
}

/// Calculation of the aims of one contender. Each method returns the aims of a workload, none if it has no figures.
struct Judge<'a> {
    figures: &'a Figures,
    contender: Contender,
}

impl Judge<'_> {
    /// Returns the aim with this measured value; `None` without a finite value.
    fn aim(&self, text: &str, value: Option<f64>, wanted: Wanted) -> Option<Aim> {
        let value = value.filter(|value| value.is_finite())?;
        Some(Aim { contender: self.contender, text: text.to_owned(), value, wanted })
    }

    /// Returns the contender's row in the cell; `None` without a cell or a row.
    fn row(&self, cell: Option<Cell>) -> Option<&Row> {
        self.figures.row(self.contender, &cell?)
    }

    /// Returns the best figure among the designs of other projects in the cell; `None` if none of them ran there.
    /// `is_better` returns the better one of two.
    fn best_other(&self, cell: Cell, figure: impl Fn(&Row) -> f64, is_better: fn(f64, f64) -> f64) -> Option<f64> {
        let others = self.figures.of_cell(&cell).filter(|row| row.contender.is_other());
        others.map(figure).reduce(is_better)
    }

    fn saturation(&self) -> Vec<Aim> {
        let is_smallest = |cell: &Cell| cell.payload_bytes == 0 && cell.subscriptions == 1;
        let cell = self.figures.cell(Workload::Saturation, is_smallest);
        let Some(row) = self.row(cell) else {
            return Vec::new();
        };
        let rate = |row: &Row| row.messages_per_s.median;
        let to_limit = self.figures.to_limit(row, |row| Some(rate(row)));
        let to_best = self.best_other(row.cell, rate, f64::max).map(|best| rate(row) / best);
        let aims = [
            self.aim("saturation, messages/s to the limit's", to_limit, Wanted::AtLeast(0.8)),
            self.aim("saturation, messages/s to the best other design's", to_best, Wanted::AtLeast(1.5)),
        ];
        aims.into_iter().flatten().collect()
    }

    fn fixed_rate(&self) -> Vec<Aim> {
        let cell = self.figures.cell(Workload::FixedRate, |_| true);
        let Some(row) = self.row(cell) else {
            return Vec::new();
        };
        let cpu = |row: &Row| row.cpu_percent;
        let p99 = |row: &Row| row.latency_us.map(|latency| latency.p99);
        let to_limit = self.figures.to_limit(row, |row| Some(cpu(row)));
        let to_best = self.best_other(row.cell, cpu, f64::min).map(|best| cpu(row) / best);
        let aims = [
            self.aim("10 kHz, CPU to the limit's", to_limit, Wanted::AtMost(1.15)),
            self.aim("10 kHz, CPU to the best other design's", to_best, Wanted::AtMost(1.0)),
            self.aim("10 kHz, p99 latency to the limit's", self.figures.to_limit(row, p99), Wanted::AtMost(1.2)),
        ];
        aims.into_iter().flatten().collect()
    }

    /// Returns the aims of the cells in which an activation is seldom of the entity that ran last.
    fn many(&self) -> Vec<Aim> {
        let is_one = |cell: &Cell| match cell.workload {
            Workload::Saturation => cell.payload_bytes == 0 && cell.subscriptions > 1,
            workload => workload == Workload::FanIn,
        };
        let rate = |row: &Row| row.messages_per_s.median;
        let cells = self.figures.cells().into_iter().filter(is_one);
        cells
            .filter_map(|cell| {
                let row = self.row(Some(cell))?;
                let to_best = self.best_other(cell, rate, f64::max).map(|best| rate(row) / best);
                let to_events = self.figures.row(Contender::EventsQueue, &cell).map(|queue| rate(row) / rate(queue));
                let more_lost =
                    self.best_other(cell, |row| row.lost, f64::min).map(|least| (row.lost - least).max(0.0));
                let text = |what: &str| format!("{}, {what}", cell.name());
                Some([
                    self.aim(&text("messages/s to the best other design's"), to_best, Wanted::AtLeast(1.0)),
                    self.aim(&text("messages/s to the events queue's"), to_events, Wanted::AtLeast(1.5)),
                    self.aim(
                        &text("share of messages lost that another design delivers"),
                        more_lost,
                        Wanted::AtMost(0.0),
                    ),
                ])
            })
            .flatten()
            .flatten()
            .collect()
    }

    fn fan_in(&self) -> Vec<Aim> {
        let row = |entities| self.row(self.figures.cell(Workload::FanIn, |cell| cell.entities == entities));
        let ratio = row(10_000).zip(row(10)).map(|(many, few)| many.cpu_ns_per_message / few.cpu_ns_per_message);
        let text = "fan-in, CPU of a callback with 10000 entities to that with 10";
        self.aim(text, ratio, Wanted::AtMost(1.3)).into_iter().collect()
    }

    fn threads(&self) -> Vec<Aim> {
        let aim = |work_us, least| {
            let is_it = |cell: &Cell, threads| cell.threads == threads && cell.work_us == work_us;
            let row = |threads| self.row(self.figures.cell(Workload::Threads, |cell| is_it(cell, threads)));
            let ratio = row(2).zip(row(1)).map(|(two, one)| two.messages_per_s.median / one.messages_per_s.median);
            let text = format!("two threads, callbacks of {work_us} us, messages/s to one thread's");
            self.aim(&text, ratio, Wanted::AtLeast(least))
        };
        [aim(1, 1.5), aim(20, 1.7)].into_iter().flatten().collect()
    }
}

/// Returns a sentence about one cell that names the contender with the most messages a second. At a fixed rate, it
/// names those with the least CPU and the lowest p99 latency instead. The limit is left out. `None` if nothing else ran
/// in the cell.
pub(crate) fn winner(figures: &Figures, cell: &Cell) -> Option<String> {
    let rows = || figures.of_cell(cell).filter(|row| row.contender != Contender::Limit);
    let least = |figure: fn(&Row) -> f64| rows().min_by(|a, b| figure(a).total_cmp(&figure(b)));
    if cell.workload == Workload::FixedRate {
        let cpu = least(|row| row.cpu_percent)?;
        let p99 = least(|row| row.latency_us.map_or(f64::INFINITY, |latency| latency.p99))?;
        let latency = p99.latency_us?;
        return Some(format!(
            "{}: {} needs the least CPU ({:.1} %), {} has the lowest p99 latency ({:.1} us).",
            cell.name(),
            cpu.contender.name(),
            cpu.cpu_percent,
            p99.contender.name(),
            latency.p99,
        ));
    }
    let best = least(|row| -row.messages_per_s.median)?;
    let ratio = figures.to_limit(best, |row| Some(row.messages_per_s.median));
    let of_limit = ratio.map_or(String::new(), |ratio| format!(", {ratio:.2} of the limit"));
    let rate = best.messages_per_s.median / 1e3;
    Some(format!(
        "{}: {} wins with {rate:.0} thousand messages a second{of_limit}.",
        cell.name(),
        best.contender.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn winners_are_named_whoever_they_are() {
        let figures = testing::figures();
        let saturation = Workload::Saturation.cells()[0];
        let text = winner(&figures, &saturation).unwrap();
        assert_eq!(
            text,
            "saturation, 0 B, 1 subscription: tokio-mailbox wins with 889 thousand messages a second, 0.89 of the limit."
        );
        let text = winner(&figures, &Workload::FixedRate.cells()[0]).unwrap();
        assert!(text.contains("tokio-mailbox needs the least CPU (36.0 %)"), "{text}");
    }

    #[test]
    fn aims_that_are_missed_are_said_so() {
        let aims = aims(&testing::figures());
        assert_eq!(aims.len(), 2 * 26);
        let reached: Vec<_> = aims.iter().take(26).map(Aim::is_reached).collect();
        // Nobody loses more than another one: the third aim of each of the six cells with many entities, after the five
        // of others.
        let many: Vec<_> = (0..6).flat_map(|_| [false, false, true]).collect();
        assert_eq!(reached, [vec![false; 5], many, vec![true; 3]].concat());
        assert_eq!(aims[0].cells()[1..], ["saturation, messages/s to the limit's", "at least 0.80", "0.50", "no"]);
    }

    #[test]
    fn without_the_limit_there_is_no_ratio_to_it() {
        let mut figures = testing::figures();
        figures.rows.retain(|row| row.contender != Contender::Limit);
        assert!(aims(&figures).iter().all(|aim| !aim.text.contains("limit")));
        assert!(!winner(&figures, &Workload::Saturation.cells()[0]).unwrap().contains("limit"));
    }
}
