//! `rospin completions` and `rospin man`: what a shell and a reader of manual pages know of this command, from the
//! same description as its help.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use clap_complete::Shell;
use rospin_report::Failure;

pub(crate) const COMPLETIONS: &str = "completions";
pub(crate) const MAN: &str = "man";

/// Prints a script that has a shell complete commands, options and files of `rospin`, and names of the running robot
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin completions bash > ~/.local/share/bash-completion/completions/rospin
  rospin completions zsh > /usr/local/share/zsh/site-functions/_rospin
  rospin completions fish > ~/.config/fish/completions/rospin.fish
The Debian package brings them along.")]
struct CompletionsOptions {
    /// The shell that is to complete
    shell: Shell,
}

/// Writes a manual page for each command
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin man ~/.local/share/man/man1      for `man rospin` and `man rospin-analyze`
The Debian package brings them along.")]
struct ManOptions {
    /// The folder that they go to; it is created if it is missing
    folder: PathBuf,
}

/// Returns the subcommand `completions` with all options.
pub(crate) fn completions_command() -> Command {
    CompletionsOptions::augment_args(Command::new(COMPLETIONS))
}

/// Returns the subcommand `man` with all options.
pub(crate) fn man_command() -> Command {
    ManOptions::augment_args(Command::new(MAN))
}

/// Prints the script for the shell that `matches` names, for all commands in the tree `command`.
pub(crate) fn complete(matches: &ArgMatches, mut command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    let options = CompletionsOptions::from_arg_matches(matches).map_err(Failure::input)?;
    // Written at once: the generator panics where nobody reads.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "rospin", &mut script);
    script.extend(crate::complete::script(options.shell).unwrap_or_default().as_bytes());
    Ok(out.write_all(&script)?)
}

/// Writes the pages of all commands in the tree `command` to the folder that `matches` names.
pub(crate) fn write_pages(matches: &ArgMatches, command: Command) -> Result<(), Failure> {
    let options = ManOptions::from_arg_matches(matches).map_err(Failure::input)?;
    let folder = &options.folder;
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.map_err(|error| Failure::Run(format!("{}: {error}", folder.display()).into()))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::command_line::command;

    /// Calls `visit` with each command that is not hidden, and with its words joined by `-`.
    fn visit_all(command: &Command, name: &str, visit: &mut dyn FnMut(&str, &Command)) {
        visit(name, command);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            visit_all(below, &format!("{name}-{}", below.get_name()), visit);
        }
    }

    /// Returns the text of a page as `man` shows it, roughly: hyphens are escaped in its source.
    fn page(folder: &std::path::Path, name: &str) -> String {
        fs::read_to_string(folder.join(format!("{name}.1"))).expect(name).replace('\\', "")
    }

    #[test]
    fn every_command_has_a_page_with_all_of_its_options() {
        let folder = std::env::temp_dir().join(format!("rospin-man-{}", std::process::id()));
        let matches = man_command().try_get_matches_from([MAN.as_ref(), folder.join("man1").as_os_str()]).unwrap();
        write_pages(&matches, command()).unwrap();
        let mut pages = 0;
        visit_all(&command(), "rospin", &mut |name, command| {
            let text = page(&folder.join("man1"), name);
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let Some(long) = option.get_long() else { continue };
                assert!(text.contains(&format!("--{long}")), "--{long} in {name}.1: {text}");
            }
            pages += 1;
        });
        assert_eq!(fs::read_dir(folder.join("man1")).unwrap().count(), pages);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let matches = man_command().try_get_matches_from([MAN, "/proc/none"]).unwrap();
        let failure = write_pages(&matches, command()).unwrap_err();
        assert!(failure.to_string().starts_with("/proc/none: "), "{failure}");
    }

    #[test]
    fn bash_completes_names_of_the_robot() {
        let matches = completions_command().try_get_matches_from([COMPLETIONS, "bash"]).unwrap();
        let mut script = Vec::new();
        complete(&matches, command(), &mut script).unwrap();
        let script = String::from_utf8(script).unwrap();
        // The robot has two topics, whose names the command would print.
        let robot = "rospin() { [[ $* == 'complete -- topic echo --once' ]] && printf '/chatter\\n/camera\\n'; }";
        let complete = |word: &str| {
            let words = format!("COMP_WORDS=(rospin topic echo --once '{word}'); COMP_CWORD=4");
            let ask = format!("_rospin_names rospin '{word}' --once; printf '%s\\n' \"${{COMPREPLY[@]}}\"");
            let output =
                std::process::Command::new("bash").args(["-c", &[&*script, robot, &words, &ask].join("\n")]).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        assert_eq!(complete("/c"), "/chatter\n/camera\n");
        assert_eq!(complete("/ch"), "/chatter\n");
        assert!(complete("--fie").contains("--field"));
    }

    #[test]
    fn every_shell_completes_all_commands_and_options() {
        for shell in Shell::value_variants() {
            let matches = completions_command().try_get_matches_from([COMPLETIONS, &shell.to_string()]).unwrap();
            let mut script = Vec::new();
            complete(&matches, command(), &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            visit_all(&command(), "rospin", &mut |name, command| {
                assert!(script.contains(command.get_name()), "{name} for {shell}");
                for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                    // fish names them without the dashes.
                    let Some(long) = option.get_long() else { continue };
                    assert!(script.contains(long), "--{long} of {name} for {shell}");
                }
            });
        }
    }
}
