//! Checks of the cores: their speed, and the other users of each.

use rospin_engine::os::CoreSet;

use super::finding::{Finding, Read};

const CPUS: &str = "/sys/devices/system/cpu";
/// Longest time in microseconds to leave an idle state that is acceptable. A longer one visibly delays every wake-up.
const SLOW_EXIT_US: u64 = 10;

/// Judges the frequency governor of each core.
pub(crate) fn governors(read: Read<'_>, online: &CoreSet) -> Finding {
    const NAME: &str = "frequency governor";
    let governor = |core: &u16| read(&format!("{CPUS}/cpu{core}/cpufreq/scaling_governor"));
    let found: Vec<(u16, String)> = cores(online).filter_map(|core| Some((core, governor(&core)?))).collect();
    if found.is_empty() {
        let meaning = "this kernel does not change frequencies (in a virtual machine the host may)";
        return Finding::good(NAME, "none", meaning);
    }
    let slow = found.iter().filter(|(_, governor)| governor != "performance");
    let slow: Vec<String> = slow.map(|(core, governor)| format!("core {core}: {governor}")).collect();
    if slow.is_empty() {
        return Finding::good(NAME, "performance on all cores", "cores do not slow down when they have little to do");
    }
    let meaning = "a core that had little to do runs slowly at first: callbacks take several times as long";
    Finding::limits(NAME, slow.join(", "), meaning, "`cpupower frequency-set -g performance` (as root)")
}

/// Judges the time that `core` takes to leave the deepest sleep that it may enter.
pub(crate) fn idle_states(read: Read<'_>, core: u16) -> Finding {
    const NAME: &str = "idle states";
    let of = |state: u32, file: &str| read(&format!("{CPUS}/cpu{core}/cpuidle/state{state}/{file}"));
    let states = (0..16).map_while(|state| Some((state, of(state, "latency")?)));
    let enabled = states.filter(|(state, _)| of(*state, "disable").as_deref() != Some("1"));
    let Some(latency_us) = enabled.filter_map(|(_, latency)| latency.parse::<u64>().ok()).max() else {
        return Finding::good(NAME, "none", "this kernel puts the core to no deeper sleep than it has to");
    };
    let value = format!("core {core} takes up to {latency_us} us to get up");
    if latency_us <= SLOW_EXIT_US {
        return Finding::good(NAME, value, "that hardly delays a wake-up");
    }
    let fix = format!(
        "`cpupower idle-set -D {SLOW_EXIT_US}` (as root), or a program that holds /dev/cpu_dma_latency open with a 0 in it"
    );
    Finding::limits(NAME, value, "an idle core is late by that for every wake-up", fix)
}

/// Judges if `core` is reserved for threads that are put there.
pub(crate) fn isolation(read: Read<'_>, core: u16) -> Finding {
    const NAME: &str = "isolated cores";
    let list = |file| read(&format!("{CPUS}/{file}")).filter(|text| !text.is_empty() && text != "(null)");
    let (isolated, tickless) = (list("isolated"), list("nohz_full"));
    let has = |cores: &Option<String>| {
        cores.as_ref().and_then(|text| text.parse::<CoreSet>().ok()).is_some_and(|set| set.as_slice().contains(&core))
    };
    let or_none = |cores: &Option<String>| cores.clone().unwrap_or_else(|| "none".to_owned());
    let value = format!("isolated: {}; without tick: {}", or_none(&isolated), or_none(&tickless));
    if has(&isolated) && has(&tickless) {
        return Finding::good(NAME, value, format!("nothing runs on core {core} unless it is put there"));
    }
    let meaning = format!("the kernel puts ordinary threads, its own work and its tick on core {core}, too");
    let fix = format!(
        "boot with isolcpus=domain,managed_irq,{core} nohz_full={core} rcu_nocbs={core}, and leave at least one core to the others"
    );
    Finding::limits(NAME, value, meaning, fix)
}

/// Judges the interrupts that `core` may handle. `affinities` has the number of each interrupt, and the list of cores
/// that may handle it, such as `0-3`. It is empty if that cannot be read, which is judged good.
pub(crate) fn interrupts(affinities: &[(u32, String)], core: u16) -> Finding {
    const NAME: &str = "interrupts";
    let here = |text: &String| text.parse::<CoreSet>().is_ok_and(|set| set.as_slice().contains(&core));
    let count = affinities.iter().filter(|(_, cores)| here(cores)).count();
    if affinities.is_empty() {
        return Finding::good(NAME, "not to be read here", "what they cost shows in the measured floor");
    }
    let value = format!("{count} of {} may come to core {core}", affinities.len());
    if count == 0 {
        return Finding::good(NAME, value, "devices do not interrupt real-time threads there");
    }
    let fix = format!(
        "boot with irqaffinity= and all cores but {core}, or write them to /proc/irq/*/smp_affinity_list (as root); with irqbalance \
         set IRQBALANCE_BANNED_CPULIST={core}"
    );
    Finding::limits(NAME, value, "a device's interrupt handler runs before every thread, of any priority", fix)
}

/// Judges if two logical cores share a physical one.
pub(crate) fn smt(read: Read<'_>) -> Finding {
    const NAME: &str = "hyper-threading";
    if read(&format!("{CPUS}/smt/active")).as_deref() != Some("1") {
        return Finding::good(NAME, "off", "no core shares its units with another one");
    }
    let meaning = "whatever runs on the other half of a core slows callbacks down, up to twofold";
    Finding::limits(NAME, "on", meaning, format!("boot with nosmt, or `echo off > {CPUS}/smt/control` (as root)"))
}

/// Judges the set of cores that this process may use, compared with those that are online.
pub(crate) fn cpuset(allowed: &CoreSet, online: &CoreSet) -> Finding {
    const NAME: &str = "cores";
    if online.as_slice().iter().all(|core| allowed.as_slice().contains(core)) {
        return Finding::good(NAME, format!("all: {allowed}"), "executors can be put on any of them");
    }
    let meaning = "executors cannot be put on the others";
    let fix = "ask for them: `docker run --cpuset-cpus`, `systemctl set-property UNIT AllowedCPUs=`, `taskset`";
    Finding::limits(NAME, format!("{allowed} of {online}"), meaning, fix)
}

fn cores(set: &CoreSet) -> impl Iterator<Item = u16> {
    set.as_slice().iter().copied()
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Verdict, files};
    use super::*;

    #[test]
    fn slow_governors_are_named_by_core() {
        let of = |texts: &[(&str, &str)]| governors(&files(texts), &CoreSet::new([0, 1]));
        let fast = ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
        let slow = ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
        assert_eq!(of(&[fast]).verdict, Verdict::Good);
        let mixed = of(&[fast, slow]);
        assert_eq!((mixed.verdict, mixed.value.as_str()), (Verdict::LimitsYou, "core 1: powersave"));
        assert_eq!(of(&[]).value, "none");
    }

    #[test]
    fn the_deepest_idle_state_that_is_enabled_counts() {
        let (shallow, deep) =
            ("/sys/devices/system/cpu/cpu2/cpuidle/state0", "/sys/devices/system/cpu/cpu2/cpuidle/state1");
        let texts = |disabled| {
            let of = |folder: &str, file: &str, text: &str| (format!("{folder}/{file}"), text.to_owned());
            [
                of(shallow, "latency", "2"),
                of(shallow, "disable", "0"),
                of(deep, "latency", "133"),
                of(deep, "disable", disabled),
            ]
        };
        let check = |texts: &[(String, String)]| {
            let texts: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            idle_states(&files(&texts), 2)
        };
        assert_eq!(check(&texts("0")).value, "core 2 takes up to 133 us to get up");
        assert_eq!(check(&texts("0")).verdict, Verdict::LimitsYou);
        assert_eq!(check(&texts("1")).verdict, Verdict::Good);
        assert_eq!(check(&[]).value, "none");
    }

    #[test]
    fn isolation_is_that_of_the_core_in_question() {
        let texts = [("/sys/devices/system/cpu/isolated", "2-3"), ("/sys/devices/system/cpu/nohz_full", "2-3")];
        assert_eq!(isolation(&files(&texts), 3).verdict, Verdict::Good);
        assert!(isolation(&files(&texts), 1).fix.unwrap().contains("nohz_full=1 "));
        let none = [("/sys/devices/system/cpu/isolated", "\n"), ("/sys/devices/system/cpu/nohz_full", " (null)\n")];
        assert_eq!(isolation(&files(&none), 0).value, "isolated: none; without tick: none");
        assert_eq!(isolation(&files(&[]), 0).verdict, Verdict::LimitsYou);
    }

    #[test]
    fn interrupts_are_counted() {
        let affinities = [(24, "0-1".to_owned()), (25, "0".to_owned()), (26, "odd".to_owned())];
        assert_eq!(interrupts(&affinities, 1).value, "1 of 3 may come to core 1");
        assert_eq!(interrupts(&affinities, 2).verdict, Verdict::Good);
        assert_eq!(interrupts(&[], 0).verdict, Verdict::Good);
    }

    #[test]
    fn shared_and_missing_cores_are_found() {
        assert_eq!(smt(&files(&[("/sys/devices/system/cpu/smt/active", "1\n")])).verdict, Verdict::LimitsYou);
        assert_eq!(smt(&files(&[])).verdict, Verdict::Good);
        let (two, four) = (CoreSet::new([0, 1]), CoreSet::new(0..4));
        assert_eq!(cpuset(&four, &four).verdict, Verdict::Good);
        assert_eq!(cpuset(&two, &four).value, "0-1 of 0-3");
    }
}
