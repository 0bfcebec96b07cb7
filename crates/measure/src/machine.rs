//! The machine on which a result is measured, and the choice of a core.

use std::fs;

use rospin_engine::os::CoreSet;
use serde::Serialize;

/// Description of the machine, as far as `/proc` has it.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name of the processor, or the architecture where the kernel does not name the processor.
    pub cpu_model: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Size of the main memory in MiB; `None` if unknown.
    pub memory_mib: Option<u64>,
    /// Name and release of the kernel, such as `linux 6.1.0`.
    pub kernel: String,
    /// Instruction set, such as `x86_64`.
    pub architecture: &'static str,
}

impl Machine {
    /// Reads the description of this machine. Values that cannot be read are left out, or replaced as the fields say.
    /// Cores that cannot be counted count as one.
    #[must_use]
    pub fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            cpu_model: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: field(&read("/proc/meminfo"), "MemTotal").and_then(|text| kib_to_mib(&text)),
            kernel: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
            architecture: std::env::consts::ARCH,
        }
    }

    /// Returns a fictitious machine for tests, with a name that must be escaped in HTML.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn made_up() -> Self {
        Self {
            cpu_model: "Test <CPU>".to_owned(),
            cores: 2,
            memory_mib: Some(8192),
            kernel: "linux 6.1".to_owned(),
            architecture: "x86_64",
        }
    }

    /// Returns a description of one line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let memory = self.memory_mib.map_or(String::new(), |mib| format!(", {:.1} GiB memory", mib as f64 / 1024.0));
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("{}, {} core{plural}{memory}, {}", self.cpu_model, self.cores, self.kernel)
    }
}

/// Error of a core on which this process may not run.
#[derive(Debug, thiserror::Error)]
#[error("--core {core}: this process may not use it; choose from {allowed}")]
pub struct CoreError {
    core: u16,
    allowed: CoreSet,
}

/// Returns the core `asked`, or the last of the cores `allowed` if `asked` is `None`: interrupts and other programs
/// tend to be on the first one. Returns core 0 if both are empty.
///
/// # Errors
/// If the process may not use the core that was asked for.
pub fn choose_core(asked: Option<u16>, allowed: &CoreSet) -> Result<u16, CoreError> {
    let last = allowed.as_slice().last().copied().unwrap_or(0);
    match asked {
        Some(core) if !allowed.as_slice().contains(&core) => Err(CoreError { core, allowed: allowed.clone() }),
        asked => Ok(asked.unwrap_or(last)),
    }
}

/// Returns the value of the first line `name : value` of `text`; `None` if there is no such line.
#[must_use]
pub fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// Returns the MiB in a text such as `8192 kB`, rounded down; `None` if the text is no such number.
fn kib_to_mib(text: &str) -> Option<u64> {
    text.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_whole_name() {
        let text = "model\t: 2\nmodel name\t: AMD EPYC: 2\nmodel name\t: other\n";
        assert_eq!(field(text, "model name").as_deref(), Some("AMD EPYC: 2"));
        assert_eq!(field(text, "name"), None);
        assert_eq!(kib_to_mib("4194304 kB"), Some(4096));
        assert_eq!(kib_to_mib("4194304"), None);
    }

    #[test]
    fn the_core_is_the_one_asked_for_or_the_last() {
        let allowed = CoreSet::new([0, 3]);
        assert_eq!(choose_core(None, &allowed).unwrap(), 3);
        assert_eq!(choose_core(Some(0), &allowed).unwrap(), 0);
        let error = choose_core(Some(1), &allowed).unwrap_err().to_string();
        assert_eq!(error, "--core 1: this process may not use it; choose from 0,3");
    }

    #[test]
    fn this_machine_is_described() {
        let machine = Machine::read();
        assert!(machine.cores >= 1 && !machine.cpu_model.is_empty());
        assert!(machine.describe().contains(&machine.cpu_model));
    }
}
