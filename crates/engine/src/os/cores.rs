//! Sets of processor cores.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use rustix::process::Pid;

use super::kernel;
use super::threads::ThreadId;

/// No machine has a core of this number, or one beyond it.
const CORES_MAX: u16 = 1024;

#[cfg(test)]
std::thread_local! {
    /// Number of times that the calling thread has asked the kernel for a thread's cores.
    pub(crate) static CORE_READS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// A set of processor cores, by their numbers. Its text is that of the kernel: `0-2,5`.
///
/// ```
/// use rospin_engine::os::CoreSet;
///
/// let cores: CoreSet = "0-2,5".parse()?;
/// assert_eq!(cores, CoreSet::new([5, 0, 1, 2]));
/// assert_eq!((cores.as_slice().len(), cores.to_string().as_str()), (4, "0-2,5"));
/// assert!(!cores.is_empty());
/// let ours = CoreSet::of_current_thread()?;
/// assert!(ours.as_slice().iter().all(|core| CoreSet::online().is_ok_and(|online| online.as_slice().contains(core))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CoreSet(Vec<u16>);

impl CoreSet {
    /// Creates a set of these cores.
    #[must_use]
    pub fn new(cores: impl IntoIterator<Item = u16>) -> Self {
        let mut cores: Vec<u16> = cores.into_iter().collect();
        cores.sort_unstable();
        cores.dedup();
        Self(cores)
    }

    /// Returns the cores of the machine that are switched on. This process may not be allowed to use all of them.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn online() -> io::Result<Self> {
        if cfg!(any(not(target_os = "linux"), rospin_portable)) {
            return Ok(Self(kernel::cores(None)?));
        }
        let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
        text.trim().parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Returns the cores that the calling thread may use.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn of_current_thread() -> io::Result<Self> {
        Self::of(None)
    }

    /// Returns the cores that a thread of this process may use.
    ///
    /// # Errors
    /// If the thread has ended.
    pub(crate) fn of_thread(thread: ThreadId) -> io::Result<Self> {
        Self::of(Some(thread.0))
    }

    /// Returns the numbers in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }

    /// Returns true if the set has no core.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the cores that `thread` may use, or with `None` the calling thread.
    pub(crate) fn of(thread: Option<Pid>) -> io::Result<Self> {
        #[cfg(test)]
        CORE_READS.with(|reads| reads.set(reads.get() + 1));
        Ok(Self(kernel::cores(thread)?))
    }

    /// Restricts `thread` to these cores, or with `None` the calling thread.
    pub(crate) fn apply(&self, thread: Option<Pid>) -> io::Result<()> {
        kernel::set_cores(thread, &self.0)
    }

    /// Returns the cores of the set that the machine does not have: none if the kernel does not tell which it has.
    pub(crate) fn missing(&self) -> Self {
        // If the kernel does not tell, it refuses missing cores later, when they are set.
        let online = Self::online().unwrap_or_else(|_| self.clone());
        Self(self.0.iter().copied().filter(|core| !online.0.contains(core)).collect())
    }
}

/// Error of a text that is no set of cores.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is no set of cores; write numbers and ranges, as in 0-2,5")]
pub struct CoreSetError {
    /// Text that is no set of cores, as it was given.
    pub text: String,
}

impl FromStr for CoreSet {
    type Err = CoreSetError;

    fn from_str(text: &str) -> Result<Self, CoreSetError> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = first.trim().parse::<u16>().ok()?;
            let last = last.trim().parse::<u16>().ok()?;
            (first <= last && last < CORES_MAX).then_some(first..=last)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        let ranges = ranges.ok_or_else(|| CoreSetError { text: text.to_owned() })?;
        Ok(Self::new(ranges.into_iter().flatten()))
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, run) in self.0.chunk_by(|one, next| one + 1 == *next).enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_there_and_back() {
        for (text, written) in [("0", "0"), ("0-2,5", "0-2,5"), ("5, 1,0", "0-1,5"), ("3-3,3", "3")] {
            assert_eq!(text.parse::<CoreSet>().unwrap().to_string(), written);
        }
        for text in ["", "a", "2-1", "-1", "0,", "99999"] {
            let error = text.parse::<CoreSet>().unwrap_err();
            assert!(error.to_string().contains("0-2,5"), "{error}");
        }
    }

    #[test]
    fn a_core_that_is_not_there_is_missing() {
        let online = CoreSet::online().unwrap();
        assert!(!online.is_empty() && online.missing().is_empty());
        assert_eq!(CoreSet::new([0, 1000]).missing(), CoreSet::new([1000]));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(rospin_portable)))]
    fn affinity_is_read_back() {
        std::thread::spawn(|| {
            let mine = CoreSet::of_current_thread().unwrap();
            let one = CoreSet::new(mine.as_slice().last().copied());
            one.apply(None).unwrap();
            assert_eq!(CoreSet::of_current_thread().unwrap(), one);
        })
        .join()
        .unwrap();
    }
}
