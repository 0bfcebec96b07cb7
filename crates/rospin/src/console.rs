//! Logger of a program: it writes log records to the console, in rclcpp's format.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, SystemTime};

use log::{Level, Log, Metadata, Record};
use rospin_node::RosArguments;

/// The form of a line unless `RCUTILS_CONSOLE_OUTPUT_FORMAT` has another one.
const FORMAT: &str = "[{severity}] [{time}] [{name}]: {message}";

/// Installs the console as the program's logger, unless the program has a logger already or the arguments disable the
/// console.
pub(crate) fn install(arguments: &RosArguments) {
    if !arguments.logs_to_console() {
        return;
    }
    let console = Console::from_env(arguments.clone());
    if log::set_boxed_logger(Box::new(console)).is_ok() {
        log::set_max_level(arguments.log_level_max());
    }
}

/// Logger that writes records to the standard error, or to the standard output if `RCUTILS_LOGGING_USE_STDOUT` is 1.
struct Console {
    arguments: RosArguments,
    format: String,
    has_colors: bool,
    to_stdout: bool,
}

impl Console {
    fn from_env(arguments: RosArguments) -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let to_stdout = variable("RCUTILS_LOGGING_USE_STDOUT").as_deref() == Some("1");
        let is_terminal = if to_stdout { io::stdout().is_terminal() } else { io::stderr().is_terminal() };
        Self {
            arguments,
            format: variable("RCUTILS_CONSOLE_OUTPUT_FORMAT").unwrap_or_else(|| FORMAT.to_owned()),
            has_colors: variable("RCUTILS_COLORIZED_OUTPUT").map_or(is_terminal, |value| value == "1"),
            to_stdout,
        }
    }

    /// Returns the line for a record that was made at this time since the beginning of 1970.
    fn line(&self, record: &Record<'_>, time: Duration) -> String {
        let mut line = String::new();
        let mut rest = self.format.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            line.push_str(before);
            let Some((token, after)) = after.split_once('}') else {
                line.push('{');
                rest = after;
                continue;
            };
            rest = after;
            // Writing to a string cannot fail.
            let _ = match token {
                "severity" => write!(line, "{}", severity(record.level())),
                "name" => write!(line, "{}", record.target()),
                "message" => write!(line, "{}", record.args()),
                "time" => write!(line, "{}.{:09}", time.as_secs(), time.subsec_nanos()),
                "time_as_nanoseconds" => write!(line, "{}", time.as_nanos()),
                "file_name" => write!(line, "{}", record.file().unwrap_or_default()),
                "function_name" => write!(line, "{}", record.module_path().unwrap_or_default()),
                "line_number" => write!(line, "{}", record.line().unwrap_or_default()),
                _ => write!(line, "{{{token}}}"),
            };
        }
        line.push_str(rest);
        match color(record.level()) {
            Some(color) if self.has_colors => format!("\x1b[{color}m{line}\x1b[0m\n"),
            _ => line + "\n",
        }
    }
}

impl Log for Console {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= self.arguments.log_level(metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = self.line(record, time);
        // If the console is closed, the error cannot be reported. A record is written with one call, so records of
        // several threads do not mix.
        let _ = match self.to_stdout {
            true => io::stdout().write_all(line.as_bytes()),
            false => io::stderr().write_all(line.as_bytes()),
        };
    }

    fn flush(&self) {
        let _ = io::stdout().flush();
    }
}

const fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        Level::Warn => "WARN",
        Level::Info => "INFO",
        Level::Debug | Level::Trace => "DEBUG",
    }
}

/// Returns the terminal's number of the color that rcutils has for a level; `None` is no color.
const fn color(level: Level) -> Option<u8> {
    match level {
        Level::Error => Some(31),
        Level::Warn => Some(33),
        Level::Info => None,
        Level::Debug | Level::Trace => Some(32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(format: &str, has_colors: bool, arguments: &[&str]) -> Console {
        let arguments = RosArguments::parse(["node"].iter().chain(arguments)).unwrap();
        Console { arguments, format: format.to_owned(), has_colors, to_stdout: false }
    }

    fn line(console: &Console) -> String {
        let mut record = Record::builder();
        record.level(Level::Warn).target("robot.arm").file(Some("arm.rs")).module_path(Some("arm")).line(Some(7));
        console.line(&record.args(format_args!("hot")).build(), Duration::new(5, 42))
    }

    #[test]
    fn lines_are_those_of_rclcpp() {
        assert_eq!(line(&console(FORMAT, false, &[])), "[WARN] [5.000000042] [robot.arm]: hot\n");
        assert_eq!(line(&console("{message}", true, &[])), "\x1b[33mhot\x1b[0m\n");
        let all = "{time_as_nanoseconds} {file_name}:{line_number} {function_name} {other} {";
        assert_eq!(line(&console(all, false, &[])), "5000000042 arm.rs:7 arm {other} {\n");
    }

    #[test]
    fn each_logger_has_its_level() {
        let console = console(FORMAT, false, &["--ros-args", "--log-level", "error", "--log-level", "arm:=debug"]);
        let is_enabled = |target, level| console.enabled(&Metadata::builder().target(target).level(level).build());
        assert!(is_enabled("arm", Level::Debug) && is_enabled("arm.left", Level::Debug));
        assert!(!is_enabled("army", Level::Warn) && is_enabled("army", Level::Error));
    }
}
