//! Log levels of loggers by name.

use log::LevelFilter;

/// The beginning of the names of Zenoh's own loggers. As with `rmw_zenoh_cpp`, they log only errors unless a level is
/// set, because they report each session that is opened and closed.
const ZENOH: &str = "zenoh::";

/// The levels that `--log-level` sets.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LogLevels {
    /// The level of loggers without an own one. `None` is `info`, as in rcl, and `error` for Zenoh's loggers.
    default: Option<LevelFilter>,
    /// Loggers with levels of their own. The last one of a name counts.
    loggers: Vec<(String, LevelFilter)>,
}

impl LogLevels {
    /// Sets the default level (`debug`), or that of one logger (`talker:=debug`). The error is the problem, as text.
    pub(super) fn add(&mut self, text: &str) -> Result<(), String> {
        match text.split_once(":=") {
            None => self.default = Some(level(text)?),
            Some(("", _)) => return Err("there is no logger's name before `:=`".to_owned()),
            Some((logger, name)) => self.loggers.push((logger.to_owned(), level(name)?)),
        }
        Ok(())
    }

    /// Returns the level of a logger: its own one, or else that of the next one above it, whose name ends at a dot or,
    /// for a module of Rust, at two colons.
    pub(super) fn of(&self, logger: &str) -> LevelFilter {
        let mut name = logger;
        loop {
            if let Some((_, level)) = self.loggers.iter().rfind(|(with_level, _)| with_level == name) {
                return *level;
            }
            let Some((above, _)) = name.rsplit_once("::").or_else(|| name.rsplit_once('.')) else {
                let default = if logger.starts_with(ZENOH) { LevelFilter::Error } else { LevelFilter::Info };
                return self.default.unwrap_or(default);
            };
            name = above;
        }
    }

    /// Returns true if any level is set.
    pub(super) const fn is_set(&self) -> bool {
        self.default.is_some() || !self.loggers.is_empty()
    }

    /// Returns the most verbose of all levels.
    pub(super) fn most_verbose(&self) -> LevelFilter {
        let default = self.default.unwrap_or(LevelFilter::Info);
        self.loggers.iter().map(|(_, level)| *level).fold(default, Ord::max)
    }
}

/// Returns the level of that name, in upper or lower case. `fatal` is `error`, because the crate `log` has no such
/// level, and `unset` is `info`, the default.
fn level(name: &str) -> Result<LevelFilter, String> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "unset" | "info" => LevelFilter::Info,
        "trace" => LevelFilter::Trace,
        "debug" => LevelFilter::Debug,
        "warn" => LevelFilter::Warn,
        "error" | "fatal" => LevelFilter::Error,
        _ => return Err(format!("`{name}` is not a log level; those are debug, info, warn, error and fatal")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(given: &[&str]) -> LogLevels {
        let mut levels = LogLevels::default();
        for text in given {
            levels.add(text).unwrap();
        }
        levels
    }

    #[test]
    fn a_module_has_the_level_of_the_module_above_it() {
        let levels = levels(&["arm::motor:=debug", "robot.arm:=warn"]);
        let found = ["arm::motor::pid", "arm::motor", "arm", "robot.arm.motor"].map(|logger| levels.of(logger));
        assert_eq!(found, [LevelFilter::Debug, LevelFilter::Debug, LevelFilter::Info, LevelFilter::Warn]);
    }

    #[test]
    fn zenoh_logs_errors_only_unless_a_level_is_set() {
        let of = |given: &[&str]| levels(given).of("zenoh::net::runtime");
        assert_eq!(of(&[]), LevelFilter::Error);
        assert_eq!(of(&["info"]), LevelFilter::Info);
        assert_eq!(of(&["zenoh:=warn"]), LevelFilter::Warn);
        assert_eq!(levels(&[]).of("zenoh.talker"), LevelFilter::Info, "a node's logger");
    }
}
