//! The columns of the table of callbacks: what they show, and how they are sorted.

use std::time::Duration;

use rospin_trace::live::CallbackView;

use super::programs::Shown;

/// A callback to be shown.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) program: &'a Shown,
    pub(super) callback: &'a CallbackView,
    /// The longest time from release to end, as the analysis proves it for the system file; `None` without a bound.
    pub(super) bound: Option<Duration>,
}

impl Row<'_> {
    /// Returns the process and the place, which identify the callback among those of all programs.
    pub(super) const fn id(&self) -> Id {
        (self.program.pid, self.callback.place)
    }

    /// Returns the process and the name of the program.
    fn whose(&self) -> String {
        format!("{} {}", self.program.pid, self.program.name)
    }

    /// Returns true if the callback should have run by now and has not.
    pub(super) fn is_overdue(&self) -> bool {
        self.program.view.overdue.iter().any(|one| one.place == self.callback.place)
    }

    fn limit_ns(&self) -> Option<u64> {
        let bound = self.bound.map(|bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
        [self.callback.deadline_ns, bound].into_iter().flatten().min()
    }

    /// Returns the longest response that was seen, and false; or the time for which an activation waits already, and
    /// true, if that is longer.
    fn worst_ns(&self) -> (Option<u64>, bool) {
        let (seen, waits) = (self.callback.response_max_total_ns, self.callback.waiting_ns);
        if waits > seen { (waits, true) } else { (seen, false) }
    }

    /// Returns true if a response took longer than its deadline or its bound, or an activation waits longer already.
    pub(super) fn is_beyond(&self) -> bool {
        self.worst_ns().0.zip(self.limit_ns()).is_some_and(|(worst, limit)| worst > limit)
    }
}

/// The process, and the place of the callback in it.
pub(super) type Id = (u32, rospin_trace::live::Place);

/// A column of the table of callbacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Column {
    /// Name of the callback
    Name,
    /// Process and name of the program; shown if two programs have callbacks of the same name
    Program,
    /// Activations in a second
    Rate,
    /// Part of a thread's time
    Util,
    /// Execution time that half of the activations do not exceed
    Exec50,
    /// Execution time that 99 of 100 activations do not exceed
    Exec99,
    /// Longest execution time
    Exmax,
    /// Time from release to end that 99 of 100 activations do not exceed
    Resp99,
    /// Longest time from release to end since the program is watched
    Rspmax,
    /// Deadline
    Deadln,
    /// Bound of the analysis
    Bound,
    /// Messages in the queue, and the number that it holds
    Queue,
    /// Items lost since the program is watched
    Lost,
    /// Deadlines missed since the program is watched
    Miss,
}

impl Column {
    /// All columns, in their order.
    pub(super) const ALL: [Self; 14] = [
        Self::Name,
        Self::Program,
        Self::Rate,
        Self::Util,
        Self::Exec50,
        Self::Exec99,
        Self::Exmax,
        Self::Resp99,
        Self::Rspmax,
        Self::Deadln,
        Self::Bound,
        Self::Queue,
        Self::Lost,
        Self::Miss,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Name => "CALLBACK",
            Self::Program => "PROGRAM",
            Self::Rate => "RATE",
            Self::Util => "UTIL",
            Self::Exec50 => "EXEC50",
            Self::Exec99 => "EXEC99",
            Self::Exmax => "EXMAX",
            Self::Resp99 => "RESP99",
            Self::Rspmax => "RSPMAX",
            Self::Deadln => "DEADLN",
            Self::Bound => "BOUND",
            Self::Queue => "QUEUE",
            Self::Lost => "LOST",
            Self::Miss => "MISS",
        }
    }

    /// Returns the width, without the space before it. The names have what is left.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::Name | Self::Program => 12,
            Self::Rspmax => 7,
            Self::Util | Self::Lost | Self::Miss => 5,
            _ => 6,
        }
    }

    /// Returns the columns that fit into the width, and the width that is left for the names. Without bounds, their
    /// column is left out, and that of programs unless callbacks of two programs have the same name.
    pub(super) fn fitting(width: usize, has_bounds: bool, has_twins: bool) -> (Vec<Self>, usize) {
        let mut columns = Self::ALL.to_vec();
        columns.retain(|column| match column {
            Self::Bound => has_bounds,
            Self::Program => has_twins,
            _ => true,
        });
        let taken = |columns: &[Self]| columns[1..].iter().map(|column| column.width() + 1).sum::<usize>();
        // The names of twenty letters are worth more than these, and the last ones are worth the least.
        for (least, column) in [
            (20, Self::Exec50),
            (20, Self::Exmax),
            (12, Self::Exec99),
            (12, Self::Bound),
            (12, Self::Queue),
            (12, Self::Resp99),
            (12, Self::Deadln),
            (12, Self::Lost),
            (12, Self::Util),
            (12, Self::Rate),
            (12, Self::Miss),
            (12, Self::Program),
        ] {
            if taken(&columns) + least > width {
                columns.retain(|other| *other != column);
            }
        }
        let name = width.saturating_sub(taken(&columns)).max(1);
        (columns, name)
    }

    /// Returns the text of a cell, in the column's width.
    pub(super) fn cell(self, row: &Row<'_>, name_width: usize) -> String {
        let of = row.callback;
        let execution = |of_summary: fn(rospin_trace::live::Summary) -> u64| time(of.execution.map(of_summary));
        let count = |number: u64| if number == 0 { "-".to_owned() } else { short(number as f64) };
        let text = match self {
            Self::Name => return pad_name(&of.name, name_width),
            Self::Program => {
                let whose: String = row.whose().chars().take(self.width()).collect();
                return pad_name(&whose, self.width());
            }
            Self::Rate => short(of.rate_hz),
            Self::Util => format!("{:.1}%", of.utilisation * 100.0),
            Self::Exec50 => execution(|summary| summary.p50_ns),
            Self::Exec99 => execution(|summary| summary.p99_ns),
            Self::Exmax => execution(|summary| summary.max_ns),
            Self::Resp99 => time(of.response.map(|summary| summary.p99_ns)),
            Self::Rspmax => {
                let (worst, waits) = row.worst_ns();
                let mark = if row.is_beyond() { "!" } else { "" };
                if waits { format!(">{}", time(worst)) } else { format!("{}{mark}", time(worst)) }
            }
            Self::Deadln => time(of.deadline_ns),
            Self::Bound => time(row.bound.map(|bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX))),
            Self::Queue => match (of.queue_fill, of.queue_depth) {
                (Some((fill, _)), Some(depth)) => format!("{}/{}", short(fill as f64), short(depth as f64)),
                _ => "-".to_owned(),
            },
            Self::Lost => count(of.lost_total),
            Self::Miss => count(of.missed_total),
        };
        format!("{text:>width$}", width = self.width())
    }

    /// Returns the title in the column's width.
    pub(super) fn head(self, name_width: usize) -> String {
        match self {
            Self::Name => pad_name(self.title(), name_width),
            Self::Program => pad_name(self.title(), self.width()),
            _ => format!("{:>width$}", self.title(), width = self.width()),
        }
    }

    /// Returns the number by which rows are sorted, the largest first: 0 for names and programs, -1 for what is
    /// unknown.
    fn key(self, row: &Row<'_>) -> f64 {
        let of = row.callback;
        let known = |ns: Option<u64>| ns.map_or(-1.0, |ns| ns as f64);
        match self {
            Self::Name | Self::Program => 0.0,
            Self::Rate => of.rate_hz,
            Self::Util => of.utilisation,
            Self::Exec50 => known(of.execution.map(|summary| summary.p50_ns)),
            Self::Exec99 => known(of.execution.map(|summary| summary.p99_ns)),
            Self::Exmax => known(of.execution.map(|summary| summary.max_ns)),
            Self::Resp99 => known(of.response.map(|summary| summary.p99_ns)),
            Self::Rspmax => known(row.worst_ns().0),
            Self::Deadln => known(of.deadline_ns),
            Self::Bound => row.bound.map_or(-1.0, |bound| bound.as_secs_f64()),
            Self::Queue => match (of.queue_fill, of.queue_depth) {
                (Some((fill, _)), Some(depth)) => fill as f64 / depth.max(1) as f64,
                _ => -1.0,
            },
            Self::Lost => of.lost_total as f64,
            Self::Miss => of.missed_total as f64,
        }
    }

    /// Sorts the rows: numbers from the largest on, names from A on, or the other way round. Equal rows are sorted by
    /// name.
    pub(super) fn sort(self, rows: &mut [Row<'_>], is_reversed: bool) {
        rows.sort_by(|one, other| {
            let by_key = self.key(other).total_cmp(&self.key(one));
            let by_name = || one.callback.name.cmp(&other.callback.name).then(one.id().cmp(&other.id()));
            let order = match self {
                Self::Name => by_name(),
                Self::Program => one.whose().cmp(&other.whose()),
                _ => by_key,
            };
            (if is_reversed { order.reverse() } else { order }).then_with(by_name)
        });
    }
}

/// Returns a name in a width. The end of a long one says more than its beginning.
pub(super) fn pad_name(name: &str, width: usize) -> String {
    // Names come from programs, and may have anything in them.
    let name: String = name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let letters = name.chars().count();
    if letters <= width {
        return format!("{name:<width$}");
    }
    let end: String = name.chars().skip(letters - width.saturating_sub(1)).collect();
    format!("…{end}")
}

/// Returns a duration in at most six characters: `9.87us`, `123ms`, and `-` for none.
pub(super) fn time(ns: Option<u64>) -> String {
    let Some(ns) = ns else { return "-".to_owned() };
    let ns = ns as f64;
    let (value, unit) = match ns {
        ns if ns < 999.5 => return format!("{ns:.0}ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "us"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns if ns < 9_999.5e9 => (ns / 1e9, "s"),
        _ => return ">9999s".to_owned(),
    };
    format!("{}{unit}", three(value))
}

/// Returns a number in at most six characters, with three digits that count: `12.3`, `4.56k`.
pub(super) fn short(number: f64) -> String {
    match number {
        number if number < 0.005 => "0".to_owned(),
        number if number < 9_999.5 && number.fract() == 0.0 => format!("{number:.0}"),
        number if number < 999.5 => three(number),
        number if number < 999.5e3 => format!("{}k", three(number / 1e3)),
        number if number < 999.5e6 => format!("{}M", three(number / 1e6)),
        _ => ">999M".to_owned(),
    }
}

fn three(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_numbers_have_at_most_six_characters() {
        let of = |ns| time(Some(ns));
        assert_eq!([of(0), of(999), of(1_000), of(9_995), of(123_456)], ["0ns", "999ns", "1.00us", "10.0us", "123us"]);
        assert_eq!([of(999_499), of(999_500), of(1_500_000_000)], ["999us", "1.00ms", "1.50s"]);
        assert_eq!(
            [short(0.0), short(0.5), short(99.96), short(1_000.0), short(12_345.0)],
            ["0", "0.50", "100", "1000", "12.3k"]
        );
        let mut number = 1_u64;
        while number < u64::MAX / 3 {
            for number in [number, number * 3 - 1] {
                assert!(of(number).len() <= 6 && short(number as f64).len() <= 6, "{number}");
            }
            number = number * 3 / 2 + 1;
        }
        assert_eq!(time(None), "-");
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(pad_name("lidar", 8), "lidar   ");
        assert_eq!(pad_name("left/camera/driver/frame", 12), "…river/frame");
        assert_eq!(pad_name("a\x1b[2Jb", 8), "a?[2Jb  ");
        assert_eq!(pad_name("frame", 1), "…");
    }

    #[test]
    fn columns_fill_the_width_and_leave_room_for_names() {
        for width in [1, 10, 20, 40, 60, 79, 80, 100, 200] {
            for has_bounds in [false, true] {
                let (columns, name) = Column::fitting(width, has_bounds, false);
                let taken = columns[1..].iter().map(|column| column.width() + 1).sum::<usize>() + name;
                assert!(taken == width || (width < 20 && columns.len() == 2), "{width}: {taken}");
                assert!(width < 30 || name >= 12, "{width}: {name}");
                assert_eq!(columns.contains(&Column::Bound), has_bounds && width >= 71);
                let (columns, name) = Column::fitting(width, has_bounds, true);
                assert_eq!(columns.contains(&Column::Program), width >= 33, "{width}");
                assert!(width < 33 || name >= 12, "{width}: {name}");
            }
        }
    }
}
