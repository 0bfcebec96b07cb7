//! Checks of the kernel: its preemption and its measurement of time.

use std::time::Duration;

use super::finding::{Finding, Read};

pub(crate) const REALTIME: &str = "/sys/kernel/realtime";
pub(crate) const VERSION: &str = "/proc/sys/kernel/version";
pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";
pub(crate) const PREEMPT: &str = "/sys/kernel/debug/sched/preempt";
pub(crate) const CMDLINE: &str = "/proc/cmdline";
pub(crate) const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
pub(crate) const RT_PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
pub(crate) const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Preemption model of the kernel: how soon it leaves a core to a more urgent thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Preemption {
    /// The real-time model, `PREEMPT_RT`.
    RealTime,
    /// Another model, by the kernel's name for it.
    Model(String),
    /// The model can be chosen at boot (`PREEMPT_DYNAMIC`), and the choice cannot be read.
    Dynamic,
    /// The kernel's files name no model.
    Unknown,
}

/// Finds the preemption model in the kernel's files about itself. The most reliable file that names a model counts.
pub(crate) fn preemption(read: Read<'_>) -> Preemption {
    let version = read(VERSION).unwrap_or_default();
    if read(REALTIME).as_deref() == Some("1") || version.contains("PREEMPT_RT") {
        return Preemption::RealTime;
    }
    let chosen = read(PREEMPT).and_then(|text| in_parentheses(&text));
    let cmdline = read(CMDLINE).unwrap_or_default();
    let asked = cmdline.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt=").map(str::to_owned));
    match chosen.or(asked).or_else(|| built_in(read)) {
        Some(model) => Preemption::Model(model),
        None if version.contains("PREEMPT_DYNAMIC") => Preemption::Dynamic,
        None if version.contains("PREEMPT") => Preemption::Model("full".to_owned()),
        None => Preemption::Unknown,
    }
}

/// Returns the model that the kernel was built with; `None` if no file with its configuration names one.
fn built_in(read: Read<'_>) -> Option<String> {
    let config = read(&format!("/boot/config-{}", read(RELEASE)?))?;
    let has = |option: &str| config.lines().any(|line| line.trim() == format!("CONFIG_PREEMPT{option}=y"));
    let models = [("_NONE", "none"), ("_VOLUNTARY", "voluntary"), ("_LAZY", "lazy"), ("", "full")];
    models.into_iter().find(|(option, _)| has(option)).map(|(_, model)| model.to_owned())
}

/// Returns the choice in a text such as `none voluntary (full)`; `None` if nothing is in parentheses.
fn in_parentheses(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('(')?;
    rest.split_once(')').map(|(choice, _)| choice.to_owned())
}

/// Judges the kernel's preemption model.
pub(crate) fn kernel(read: Read<'_>) -> Finding {
    const NAME: &str = "preemption";
    const REAL_TIME: &str = "boot a kernel with PREEMPT_RT (`apt install linux-image-rt-amd64`, `pro enable realtime-kernel`, or \
                             CONFIG_PREEMPT_RT=y from Linux 6.12 on)";
    let release = read(RELEASE).unwrap_or_else(|| "of unknown release".to_owned());
    match preemption(read) {
        Preemption::RealTime => Finding::good(
            NAME,
            format!("Linux {release}, PREEMPT_RT"),
            "the kernel lets go almost everywhere: wake-ups take tens of microseconds at worst on good hardware",
        ),
        Preemption::Model(model) if model == "full" => Finding::limits(
            NAME,
            format!("Linux {release}, full preemption without PREEMPT_RT"),
            "usually soon, but interrupt handlers and spin locks delay without a bound",
            REAL_TIME,
        ),
        Preemption::Model(model) => Finding::limits(
            NAME,
            format!("Linux {release}, preemption model `{model}`"),
            "a system call of any thread delays real-time threads on its core until it ends: milliseconds",
            format!("boot with preempt=full, or at once: `echo full > {PREEMPT}` (as root); better: {REAL_TIME}"),
        ),
        Preemption::Dynamic => Finding::limits(
            NAME,
            format!("Linux {release}, PREEMPT_DYNAMIC without PREEMPT_RT; the model in use cannot be read here"),
            "if it is not `full`, a system call of any thread delays real-time threads on its core until it ends",
            format!(
                "boot with preempt=full; to see it: `mount -t debugfs none /sys/kernel/debug; cat {PREEMPT}` (as root); better: \
                 {REAL_TIME}"
            ),
        ),
        Preemption::Unknown => Finding::limits(
            NAME,
            format!("Linux {release}, no preemption that it tells of"),
            "a system call of any thread delays real-time threads on its core until it ends: milliseconds",
            REAL_TIME,
        ),
    }
}

/// Judges the share of a core that real-time threads may take.
pub(crate) fn throttling(read: Read<'_>) -> Finding {
    const NAME: &str = "RT throttling";
    let number = |path| read(path).and_then(|text| text.parse::<i64>().ok());
    let period = number(RT_PERIOD).unwrap_or(1_000_000).max(1);
    match number(RT_RUNTIME) {
        None => {
            Finding::good(NAME, "not to be read here", "the kernel's default leaves real-time threads 95 % of a core")
        }
        Some(-1) => Finding::good(
            NAME,
            "off",
            "a real-time thread that never waits keeps its core for good: mind endless loops",
        ),
        Some(runtime) if runtime >= period => {
            Finding::good(NAME, "all of a core", "real-time threads are never stopped")
        }
        Some(0) => Finding::limits(
            NAME,
            "real-time threads get nothing",
            "no thread can have a real-time priority",
            "`sysctl -w kernel.sched_rt_runtime_us=950000`",
        )
        .broken(),
        Some(runtime) => Finding::limits(
            NAME,
            format!("real-time threads get {:.0} % of a core", runtime as f64 / period as f64 * 100.0),
            format!(
                "if they want more than that, they stand still for up to {} ms a second where others wait; harmless below",
                (period - runtime) / 1000
            ),
            "stay below it; or, if no real-time thread ever loops without end: `sysctl -w kernel.sched_rt_runtime_us=-1`",
        ),
    }
}

/// Judges the hardware from which the kernel reads the time.
pub(crate) fn clock_source(read: Read<'_>) -> Finding {
    const NAME: &str = "clock source";
    match read(CLOCK_SOURCE) {
        None => Finding::good(NAME, "not to be read here", "what reading the clock takes is measured below"),
        Some(source) if ["hpet", "acpi_pm", "pit"].contains(&source.as_str()) => Finding::limits(
            NAME,
            source,
            "every look at the clock is a system call and takes a microsecond or more",
            "boot with tsc=reliable if the processor's counter is (see `dmesg | grep -i tsc`)",
        ),
        Some(source) if source.contains("jiffies") => Finding::limits(
            NAME,
            source,
            "the clock moves in steps of milliseconds",
            "boot without notsc, nohpet or acpi=off",
        )
        .broken(),
        Some(source) => Finding::good(NAME, source, "the clock is read without a system call"),
    }
}

/// Judges the resolution with which the kernel can wake a thread.
pub(crate) fn timer_resolution(resolution: Duration) -> Finding {
    const NAME: &str = "timer resolution";
    if resolution < Duration::from_micros(1) {
        return Finding::good(NAME, format!("{resolution:?}"), "timers are not bound to the kernel's tick");
    }
    let meaning = "timers only fire at the kernel's tick";
    let fix = "boot without highres=off and nohz=off, with a kernel that has CONFIG_HIGH_RES_TIMERS=y";
    Finding::limits(NAME, format!("{resolution:?}"), meaning, fix).broken()
}

/// Judges `slack`, the delay that the kernel may add to wake-ups of an ordinary thread. `has_real_time` is true if the
/// process may have real-time threads, which the kernel wakes without this delay.
pub(crate) fn timer_slack(slack: Duration, has_real_time: bool) -> Finding {
    const NAME: &str = "timer slack";
    let value = format!("{slack:?} for ordinary threads");
    if slack <= Duration::from_micros(1) {
        return Finding::good(NAME, value, "sleeps end when they should");
    }
    if has_real_time {
        return Finding::good(NAME, value, "real-time threads have none");
    }
    let meaning = "every sleep may take that much longer, since there are no real-time priorities here";
    Finding::limits(NAME, value, meaning, "`ThreadOptions::timer_slack(Duration::from_nanos(1))` in the program")
}

/// Judges `slice`, the time slice of ordinary threads, which is `None` if the kernel has one length for all of them.
/// `has_real_time` is true if the process may have real-time threads.
pub(crate) fn time_slices(slice: Option<Duration>, has_real_time: bool) -> Finding {
    const NAME: &str = "time slices";
    match slice {
        Some(slice) => {
            let value = format!("{slice:?} for ordinary threads");
            Finding::good(NAME, value, "executors ask for shorter ones, so they run as soon as they are woken")
        }
        None if has_real_time => Finding::good(NAME, "one length", "real-time threads have none"),
        None => {
            let meaning = "a thread that is woken may wait for some milliseconds while others work on its core";
            Finding::limits(NAME, "one length", meaning, "Linux 6.12 or later, or real-time priorities")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Verdict, files};
    use super::*;

    fn model(texts: &[(&str, &str)]) -> Preemption {
        preemption(&files(texts))
    }

    #[test]
    fn preemption_is_taken_from_the_most_reliable_source() {
        let dynamic = (VERSION, "#1 SMP PREEMPT_DYNAMIC Tue Mar 4");
        let named = |name: &str| Preemption::Model(name.to_owned());
        assert_eq!(model(&[(REALTIME, "1\n"), dynamic]), Preemption::RealTime);
        assert_eq!(model(&[(VERSION, "#1 SMP PREEMPT_RT Debian 6.12")]), Preemption::RealTime);
        assert_eq!(
            model(&[dynamic, (PREEMPT, "none (voluntary) full lazy\n"), (CMDLINE, "preempt=full")]),
            named("voluntary")
        );
        assert_eq!(model(&[dynamic, (CMDLINE, "quiet preempt=none ro preempt=full")]), named("full"));
        let config =
            ("/boot/config-6.1.0", "# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_BUILD=y\n");
        assert_eq!(model(&[dynamic, (RELEASE, "6.1.0"), config]), named("voluntary"));
        assert_eq!(model(&[dynamic]), Preemption::Dynamic);
        assert_eq!(model(&[(VERSION, "#1 SMP PREEMPT x")]), named("full"));
        assert_eq!(model(&[(VERSION, "#1 SMP x")]), Preemption::Unknown);
        assert_eq!(model(&[]), Preemption::Unknown);
    }

    #[test]
    fn only_a_real_time_kernel_is_good_and_the_others_get_a_fix() {
        assert_eq!(kernel(&files(&[(REALTIME, "1")])).verdict, Verdict::Good);
        for texts in
            [&[][..], &[(VERSION, "PREEMPT_DYNAMIC")], &[(PREEMPT, "(none) full")], &[(PREEMPT, "none (full)")]]
        {
            let finding = kernel(&files(texts));
            assert_eq!(finding.verdict, Verdict::LimitsYou);
            assert!(finding.fix.unwrap().contains("PREEMPT_RT"));
        }
    }

    #[test]
    fn throttling_is_told_in_percent() {
        let of = |runtime| throttling(&files(&[(RT_RUNTIME, runtime), (RT_PERIOD, "1000000")]));
        assert_eq!(of("-1").verdict, Verdict::Good);
        assert_eq!(of("1000000").verdict, Verdict::Good);
        assert_eq!(of("0").verdict, Verdict::Broken);
        let usual = of("950000");
        assert_eq!((usual.verdict, usual.value.as_str()), (Verdict::LimitsYou, "real-time threads get 95 % of a core"));
        assert!(usual.meaning.contains("50 ms"), "{}", usual.meaning);
        assert_eq!(throttling(&files(&[])).verdict, Verdict::Good);
    }

    #[test]
    fn slow_clocks_are_found() {
        let of = |source| clock_source(&files(&[(CLOCK_SOURCE, source)])).verdict;
        assert_eq!(
            (of("tsc\n"), of("kvm-clock"), of("arch_sys_counter")),
            (Verdict::Good, Verdict::Good, Verdict::Good)
        );
        assert_eq!((of("hpet"), of("refined-jiffies")), (Verdict::LimitsYou, Verdict::Broken));
        assert_eq!(clock_source(&files(&[])).verdict, Verdict::Good);
    }

    #[test]
    fn coarse_timers_slack_and_slices_are_found() {
        assert_eq!(timer_resolution(Duration::from_nanos(1)).verdict, Verdict::Good);
        assert_eq!(timer_resolution(Duration::from_millis(4)).verdict, Verdict::Broken);
        let slack = Duration::from_micros(50);
        assert_eq!(timer_slack(slack, true).verdict, Verdict::Good);
        assert_eq!(timer_slack(slack, false).verdict, Verdict::LimitsYou);
        assert_eq!(time_slices(Some(Duration::from_millis(3)), false).verdict, Verdict::Good);
        assert_eq!(time_slices(None, true).verdict, Verdict::Good);
        assert_eq!(time_slices(None, false).verdict, Verdict::LimitsYou);
    }
}
