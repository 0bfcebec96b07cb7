//! Limits of the kernel for real-time threads.

use std::fs;

use serde::Serialize;

/// Settings of the kernel that matter for the experiment, as far as the kernel tells them.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Kernel {
    /// Time that real-time threads may use of a core in each period, in microseconds; -1 for no limit. `None` if it
    /// cannot be read.
    pub(crate) rt_runtime_us: Option<i64>,
    /// The period to which `rt_runtime_us` applies, in microseconds.
    pub(crate) rt_period_us: Option<i64>,
    /// Cores on which only threads run that were put there, as the kernel lists them; empty if there are none.
    pub(crate) isolated_cores: String,
}

impl Kernel {
    /// Reads the settings from the kernel's files.
    pub(crate) fn read() -> Self {
        let text = |path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let number = |path| text(path).and_then(|text| text.parse().ok());
        Self {
            rt_runtime_us: number("/proc/sys/kernel/sched_rt_runtime_us"),
            rt_period_us: number("/proc/sys/kernel/sched_rt_period_us"),
            isolated_cores: text("/sys/devices/system/cpu/isolated").unwrap_or_default(),
        }
    }

    /// Returns a text about the limits and the isolated cores, for a measurement on core `core`.
    pub(crate) fn describe(&self, core: u16) -> String {
        let share = match self.rt_percent() {
            Some(percent) if percent >= 100.0 => "real-time threads are not throttled".to_owned(),
            Some(percent) => format!("real-time threads may use {percent:.0} % of a core"),
            None => "the kernel does not tell how much real-time threads may use of a core".to_owned(),
        };
        let isolated = match self.isolated_cores.as_str() {
            "" => "no core is isolated".to_owned(),
            cores => format!("isolated cores: {cores}"),
        };
        format!("{share}; {isolated}; measured on core {core}")
    }

    /// Returns a remark if the load is more than the kernel lets real-time threads have; `None` if it is not, or the
    /// kernel does not tell.
    pub(crate) fn remark(&self, load_percent: f64) -> Option<String> {
        let percent = self.rt_percent().filter(|percent| load_percent > *percent)?;
        Some(format!(
            "{load_percent} % load is more than the {percent:.0} % that the kernel lets real-time threads have: lower \
             --load, or write -1 to /proc/sys/kernel/sched_rt_runtime_us"
        ))
    }

    /// Returns the percentage of a core that real-time threads may use: 100 without a limit, `None` if the kernel does
    /// not tell.
    fn rt_percent(&self) -> Option<f64> {
        let (runtime_us, period_us) = self.rt_runtime_us.zip(self.rt_period_us)?;
        Some(if runtime_us < 0 { 100.0 } else { 100.0 * runtime_us as f64 / period_us as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_told_where_it_matters() {
        let with =
            |runtime_us| Kernel { rt_runtime_us: Some(runtime_us), rt_period_us: Some(1000), ..Kernel::default() };
        assert_eq!(with(950).remark(90.0), None);
        assert!(with(800).remark(90.0).unwrap().contains("90 % load is more than the 80 %"));
        assert_eq!(with(-1).remark(100.0), None);
        assert!(with(-1).describe(3).contains("not throttled; no core is isolated; measured on core 3"));
        assert_eq!(Kernel::default().remark(90.0), None);
    }
}
