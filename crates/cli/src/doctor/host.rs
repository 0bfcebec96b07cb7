//! Checks of the process's surroundings: container, virtual machine, memory.

use super::finding::{Finding, Read};

pub(crate) const CGROUP: &str = "/proc/self/cgroup";
pub(crate) const CPUINFO: &str = "/proc/cpuinfo";
pub(crate) const STAT: &str = "/proc/stat";
pub(crate) const SWAPS: &str = "/proc/swaps";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const MOUNT: &str = "/sys/fs/cgroup";

/// Judges if the process's control group limits its processor time.
pub(crate) fn cgroup(read: Read<'_>) -> Finding {
    const NAME: &str = "cgroup CPU limit";
    let groups = read(CGROUP).unwrap_or_default();
    let limit = groups.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok());
    let limit = limit.filter_map(|[_, controllers, path]: [&str; 3]| quota(read, controllers, path));
    let Some((cores, folder)) = limit.min_by(|one, other| one.0.total_cmp(&other.0)) else {
        return Finding::good(NAME, "none", "no control group stops ordinary threads");
    };
    let meaning = "once ordinary threads used that much of a period, they stand still until the next one; real-time threads do not";
    let fix = format!(
        "`docker run` without --cpus and --cpu-quota, `systemctl set-property UNIT CPUQuota=`, or `echo max > {folder}/cpu.max`"
    );
    Finding::limits(NAME, format!("{cores:.2} cores in {folder}"), meaning, fix)
}

/// Returns the tightest limit of a control group and those around it in cores, with the folder of the group that has
/// it; `None` if none of them has a limit. `controllers` and `path` are those of a line of [`CGROUP`]; the former is
/// empty for version 2.
fn quota(read: Read<'_>, controllers: &str, path: &str) -> Option<(f64, String)> {
    let is_second_version = controllers.is_empty();
    if !is_second_version && !controllers.split(',').any(|controller| controller == "cpu") {
        return None;
    }
    let mount = if is_second_version { MOUNT.to_owned() } else { format!("{MOUNT}/{controllers}") };
    // A container may see itself as the root, so the root is read, too.
    let around = path.trim_end_matches('/').split('/').scan(mount, |folder, name| {
        if !name.is_empty() {
            folder.push('/');
            folder.push_str(name);
        }
        Some(folder.clone())
    });
    let limit = |folder: String| {
        let cores =
            if is_second_version { parse_max(&read(&format!("{folder}/cpu.max"))?) } else { old_quota(read, &folder) };
        Some((cores?, folder))
    };
    around.filter_map(limit).min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Returns the limit in cores that a `cpu.max` file has: 0.5 for `50000 100000`, `None` for `max 100000`.
fn parse_max(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?)
}

/// Returns the limit in cores of a control group of version 1, whose files are in `folder`; `None` if it has none.
fn old_quota(read: Read<'_>, folder: &str) -> Option<f64> {
    let number = |file: &str| read(&format!("{folder}/{file}"))?.parse::<f64>().ok().filter(|number| *number > 0.0);
    Some(number("cpu.cfs_quota_us")? / number("cpu.cfs_period_us")?)
}

/// Processor time of all cores since the machine started, in ticks of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ticks {
    /// Whole time, idle time included.
    pub(crate) all: u64,
    /// Time that this machine wanted while the host gave it to others.
    pub(crate) stolen: u64,
}

impl Ticks {
    /// Parses the first line of `/proc/stat`; `None` if `text` does not begin with such a line.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        // The time of guests is part of the first numbers already.
        let numbers: Option<Vec<u64>> = numbers.take(8).map(|number| number.parse().ok()).collect();
        let numbers = numbers?;
        Some(Self { all: numbers.iter().sum(), stolen: numbers.get(7).copied().unwrap_or(0) })
    }

    /// Returns the share of time that the host took away since `before`, in percent.
    pub(crate) fn stolen_percent(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64 * 100.0
    }
}

/// Judges if a hypervisor schedules this machine below the kernel.
pub(crate) fn virtualization(read: Read<'_>) -> Finding {
    const NAME: &str = "virtualization";
    let flags = rospin_measure::machine::field(&read(CPUINFO).unwrap_or_default(), "flags").unwrap_or_default();
    let stolen = read(STAT).and_then(|text| Ticks::parse(&text)).unwrap_or_default();
    let is_virtual = flags.split_whitespace().any(|flag| flag == "hypervisor") || stolen.stolen > 0;
    if !is_virtual {
        return Finding::good(NAME, "none found", "the kernel has its cores for itself");
    }
    let percent = stolen.stolen_percent(Ticks::default());
    let meaning = "the host may take a core away at any time, for milliseconds, whatever the priorities in here";
    let fix = "measure on bare metal; or let the host pin the virtual cores and give them real-time priority (libvirt: vcpupin, \
                vcpusched)";
    Finding::limits(NAME, format!("virtual machine; {percent:.2} % of its time since boot was stolen"), meaning, fix)
}

/// Judges if memory may be swapped out to a disk. `can_lock` is true if the process may lock its memory.
pub(crate) fn swap(read: Read<'_>, can_lock: bool) -> Finding {
    const NAME: &str = "swap";
    let swaps = read(SWAPS).unwrap_or_default().lines().skip(1).filter(|line| !line.trim().is_empty()).count();
    let meaning = "memory that was not used for long is read from disk when it is needed: milliseconds";
    match (swaps, can_lock) {
        (0, _) => Finding::good(NAME, "none", "memory stays where it is"),
        (_, true) => {
            Finding::good(NAME, "on", "keep the program's memory out of it with `rospin_engine::os::lock_memory()`")
        }
        _ => Finding::limits(
            NAME,
            "on, and memory cannot be locked",
            meaning,
            "`swapoff -a` (as root), or the right to lock memory",
        ),
    }
}

/// Judges if the kernel rearranges memory into large pages by itself.
pub(crate) fn huge_pages(read: Read<'_>) -> Finding {
    const NAME: &str = "transparent huge pages";
    if !read(HUGE_PAGES).is_some_and(|text| text.contains("[always]")) {
        return Finding::good(NAME, "not unless asked for", "the kernel does not rearrange memory under the program");
    }
    let meaning = "a page fault may wait until the kernel has put a large page together";
    Finding::limits(NAME, "always", meaning, format!("`echo madvise > {HUGE_PAGES}` (as root)"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Verdict, files};
    use super::*;

    #[test]
    fn the_tightest_limit_of_all_groups_around_counts() {
        let texts = [
            (CGROUP, "0::/robot/nav\n"),
            ("/sys/fs/cgroup/robot/nav/cpu.max", "max 100000"),
            ("/sys/fs/cgroup/robot/cpu.max", "150000 100000"),
            ("/sys/fs/cgroup/cpu.max", "200000 100000"),
        ];
        assert_eq!(cgroup(&files(&texts)).value, "1.50 cores in /sys/fs/cgroup/robot");
        assert_eq!(cgroup(&files(&texts[..2])).verdict, Verdict::Good);
    }

    #[test]
    fn a_container_that_sees_itself_as_the_root_finds_its_limit() {
        let texts = [(CGROUP, "0::/"), ("/sys/fs/cgroup/cpu.max", "50000 100000")];
        assert_eq!(cgroup(&files(&texts)).value, "0.50 cores in /sys/fs/cgroup");
    }

    #[test]
    fn the_first_version_has_its_limit_elsewhere() {
        let texts = [
            (CGROUP, "4:memory:/x\n2:cpu,cpuacct:/x\n0::/\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "300000"),
            ("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
        ];
        assert_eq!(cgroup(&files(&texts)).value, "3.00 cores in /sys/fs/cgroup/cpu,cpuacct/x");
        assert_eq!(cgroup(&files(&[])).verdict, Verdict::Good);
        assert_eq!(cgroup(&files(&[(CGROUP, "nonsense\n")])).verdict, Verdict::Good);
    }

    #[test]
    fn stolen_time_is_the_eighth_number() {
        let ticks = Ticks::parse("cpu  10 0 10 60 0 0 0 20 5 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!(ticks, Ticks { all: 100, stolen: 20 });
        assert!((ticks.stolen_percent(Ticks { all: 0, stolen: 10 }) - 10.0).abs() < 1e-9);
        assert_eq!(Ticks::parse("cpu  1 2 3"), Some(Ticks { all: 6, stolen: 0 }));
        assert_eq!((Ticks::parse(""), Ticks::parse("cpu  a b")), (None, None));
    }

    #[test]
    fn a_hypervisor_is_found_by_its_flag() {
        let found =
            virtualization(&files(&[(CPUINFO, "flags\t\t: fpu hypervisor sse\n"), (STAT, "cpu  0 0 0 99 0 0 0 1")]));
        assert_eq!(found.verdict, Verdict::LimitsYou);
        assert!(found.value.contains("1.00 %"), "{}", found.value);
        assert_eq!(virtualization(&files(&[(CPUINFO, "flags : fpu\n")])).verdict, Verdict::Good);
        assert_eq!(virtualization(&files(&[])).verdict, Verdict::Good);
    }

    #[test]
    fn swap_matters_where_memory_cannot_be_locked() {
        let on = [(SWAPS, "Filename Type Size\n/dev/sda2 partition 1\n")];
        assert_eq!(swap(&files(&on), false).verdict, Verdict::LimitsYou);
        assert_eq!(swap(&files(&on), true).verdict, Verdict::Good);
        assert_eq!(swap(&files(&[(SWAPS, "Filename Type Size\n")]), false).verdict, Verdict::Good);
        assert_eq!(huge_pages(&files(&[(HUGE_PAGES, "[always] madvise never")])).verdict, Verdict::LimitsYou);
        assert_eq!(huge_pages(&files(&[])).verdict, Verdict::Good);
    }
}
