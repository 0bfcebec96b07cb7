//! The run of a CMake file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf, absolute};

use super::condition::{self, Word};
use super::lexer::{self, Argument, Command, Form};
use super::{FIX, GENERATE, List, glob};
use crate::error::{Fault, GenerateError};

/// The most commands that are run, those of loops counted each time.
const COMMANDS_MAX: usize = 100_000;

/// The longest value of a variable.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// The deepest nesting of included files.
const INCLUDES_MAX: usize = 8;

/// Outcome of running commands: the next step.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    Return,
}

/// Runs the commands of a file, and returns the list.
pub(super) fn run(file: &Path, commands: &[Command], distribution: &str) -> Result<List, GenerateError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let root = absolute(folder).map_err(GenerateError::io(folder))?.display().to_string();
    let mut run = Run { folder, root, variables: BTreeMap::new(), list: List::default(), commands: 0, includes: 0 };
    for name in ["PROJECT_SOURCE_DIR", "CMAKE_SOURCE_DIR", "CMAKE_CURRENT_SOURCE_DIR", "CMAKE_CURRENT_LIST_DIR"] {
        run.variables.insert(name.to_owned(), run.root.clone());
    }
    for (name, value) in [("ROS_VERSION", "2"), ("ROS_DISTRO", distribution), ("ROS_PYTHON_VERSION", "3")] {
        run.variables.insert(name.to_owned(), value.to_owned());
        run.variables.insert(format!("ENV{{{name}}}"), value.to_owned());
    }
    run.all(file, commands)?;
    Ok(run.list)
}

/// State of a run.
pub(super) struct Run<'a> {
    folder: &'a Path,
    /// The folder as an absolute path.
    root: String,
    /// Values by name. That of the environment's variable `X` is called `ENV{X}`.
    variables: BTreeMap<String, String>,
    list: List,
    commands: usize,
    includes: usize,
}

impl Run<'_> {
    /// Returns the value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns true if the variable, or `ENV{..}`, has a value.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Runs commands of a file.
    fn all(&mut self, file: &Path, commands: &[Command]) -> Result<Flow, GenerateError> {
        let mut at = 0;
        while let Some(command) = commands.get(at) {
            self.commands += 1;
            if self.commands > COMMANDS_MAX {
                let problem = format!("it runs more than {COMMANDS_MAX} commands");
                return Err(Fault::new(problem, FIX).at(file, command.line));
            }
            match &*command.name {
                "if" => at = self.enter(commands, at),
                // Reached after the branch that was taken.
                "elseif" | "else" => at = end(commands, at, "if", "endif"),
                "function" => at = end(commands, at, "function", "endfunction"),
                "macro" => at = end(commands, at, "macro", "endmacro"),
                "while" => at = end(commands, at, "while", "endwhile"),
                "foreach" => {
                    let last = end(commands, at, "foreach", "endforeach");
                    let body = &commands[(at + 1).min(commands.len())..last.min(commands.len())];
                    if self.each(file, command, body)? == Flow::Return {
                        return Ok(Flow::Return);
                    }
                    at = last;
                }
                "return" => return Ok(Flow::Return),
                _ => self.call(file, command)?,
            }
            at += 1;
        }
        Ok(Flow::Next)
    }

    /// Returns the position of the `if`, `elseif` or `else` whose branch is taken, or that of `endif`.
    fn enter(&self, commands: &[Command], at: usize) -> usize {
        let mut depth = 0;
        for (position, command) in commands.iter().enumerate().skip(at) {
            match &*command.name {
                "if" if position > at => depth += 1,
                "endif" if depth == 0 => return position,
                "endif" => depth -= 1,
                "else" if depth == 0 => return position,
                "if" | "elseif" if depth == 0 && condition::holds(self, &self.words(&command.arguments)) => {
                    return position;
                }
                _ => {}
            }
        }
        commands.len()
    }

    /// Runs the body of a loop for each item.
    fn each(&mut self, file: &Path, command: &Command, body: &[Command]) -> Result<Flow, GenerateError> {
        let arguments = self.expand_all(&command.arguments);
        let Some((variable, rest)) = arguments.split_first() else { return Ok(Flow::Next) };
        let mut items = Vec::new();
        match rest.first().map(String::as_str) {
            Some("RANGE") => {}
            Some("IN") => {
                let mut are_lists = false;
                for word in &rest[1..] {
                    match word.as_str() {
                        "LISTS" => are_lists = true,
                        "ITEMS" => are_lists = false,
                        name if are_lists => items.extend(self.items(name)),
                        item => items.push(item.to_owned()),
                    }
                }
            }
            _ => items.extend_from_slice(rest),
        }
        for item in items {
            self.set(variable, item).map_err(|fault| fault.at(file, command.line))?;
            if self.all(file, body)? == Flow::Return {
                return Ok(Flow::Return);
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a command that is no part of a block.
    fn call(&mut self, file: &Path, command: &Command) -> Result<(), GenerateError> {
        let arguments = self.expand_all(&command.arguments);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let done = match (&*command.name, words.as_slice()) {
            ("project", [name, ..]) => self.set("PROJECT_NAME", (*name).to_owned()),
            ("set", [name, values @ ..]) => {
                let is_value = |word: &&&str| !matches!(**word, "CACHE" | "PARENT_SCOPE");
                let values: Vec<_> = values.iter().take_while(is_value).copied().collect();
                match values.is_empty() && !name.starts_with("ENV{") {
                    true => self.unset(name),
                    false => self.set(name, values.join(";")),
                }
            }
            ("unset", [name, ..]) => self.unset(name),
            ("option", [name, _, value]) if !self.is_defined(name) => self.set(name, (*value).to_owned()),
            ("find_package", [name, ..]) if !name.starts_with("catkin") => {
                self.set(&format!("{name}_FOUND"), "1".to_owned())
            }
            ("list", [operation, name, rest @ ..]) => self.change_list(operation, name, rest),
            ("string", ["REPLACE", from, to, name, inputs @ ..]) if !from.is_empty() => {
                self.set(name, inputs.concat().replace(from, to))
            }
            ("string", ["CONCAT", name, inputs @ ..]) => self.set(name, inputs.concat()),
            ("file", [mode @ ("GLOB" | "GLOB_RECURSE"), name, rest @ ..]) => {
                let found = self.glob(*mode == "GLOB_RECURSE", rest);
                self.set(name, found)
            }
            ("get_filename_component", [name, path, mode, ..]) => {
                let part = component(path, mode, &self.root);
                self.set(name, part)
            }
            ("include", [path, ..]) => return self.include(path),
            (GENERATE, [_, rest @ ..]) => {
                self.list.line = command.line;
                self.generate(rest)
            }
            _ => Ok(()),
        };
        done.map_err(|fault| fault.at(file, command.line))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Fault> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(Fault::new(format!("the value of `{name}` is longer than {VALUE_BYTES_MAX} bytes"), FIX));
        }
        self.variables.insert(name.to_owned(), value);
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is a command as the others are")]
    fn unset(&mut self, name: &str) -> Result<(), Fault> {
        self.variables.remove(name);
        Ok(())
    }

    /// Returns the items of a list.
    fn items(&self, name: &str) -> Vec<String> {
        let value = self.variable(name).unwrap_or_default();
        value.split(';').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Changes a list. The order of a list, and items that it has twice, do not matter here.
    fn change_list(&mut self, operation: &str, name: &str, rest: &[&str]) -> Result<(), Fault> {
        let mut items = self.items(name);
        match (operation, rest) {
            ("APPEND" | "PREPEND", rest) | ("INSERT", [_, rest @ ..]) => {
                items.extend(rest.iter().map(|item| (*item).to_owned()));
            }
            ("REMOVE_ITEM", rest) => items.retain(|item| !rest.contains(&item.as_str())),
            ("TRANSFORM", ["PREPEND", text]) => items = items.iter().map(|item| format!("{text}{item}")).collect(),
            ("TRANSFORM", ["APPEND", text]) => items = items.iter().map(|item| format!("{item}{text}")).collect(),
            _ => return Ok(()),
        }
        self.set(name, items.join(";"))
    }

    /// Returns the files that match, as a list.
    fn glob(&self, deep: bool, words: &[&str]) -> String {
        let mut relative = None;
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            match *word {
                "RELATIVE" => relative = words.get(at + 1).copied(),
                "LIST_DIRECTORIES" => {}
                "CONFIGURE_DEPENDS" | "FOLLOW_SYMLINKS" => {
                    at += 1;
                    continue;
                }
                pattern => {
                    found.extend(glob::files(Path::new(&self.root), pattern, deep));
                    at += 1;
                    continue;
                }
            }
            at += 2;
        }
        let as_text = |path: &PathBuf| {
            let short = relative.and_then(|base| path.strip_prefix(base).ok());
            short.unwrap_or(path).display().to_string()
        };
        found.iter().map(as_text).collect::<Vec<_>>().join(";")
    }

    /// Runs an included file. A module of CMake has no file here, and does nothing.
    fn include(&mut self, path: &str) -> Result<(), GenerateError> {
        let file = self.folder.join(path);
        if self.includes >= INCLUDES_MAX || !file.is_file() {
            return Ok(());
        }
        let text = fs::read(&file).map_err(GenerateError::io(&file))?;
        let commands = lexer::read(&String::from_utf8_lossy(&text)).map_err(|(line, fault)| fault.at(&file, line))?;
        self.includes += 1;
        let result = self.all(&file, &commands);
        self.includes -= 1;
        result.map(drop)
    }

    /// Adds the definitions among the arguments of `rosidl_generate_interfaces` behind the target.
    fn generate(&mut self, words: &[&str]) -> Result<(), Fault> {
        // A list in quotes is one argument, and is split here.
        let mut words = words.iter().flat_map(|word| word.split(';')).filter(|word| !word.is_empty());
        let mut are_dependencies = false;
        while let Some(word) = words.next() {
            match word {
                "ADD_LINTER_TESTS" | "SKIP_INSTALL" | "SKIP_GROUP_MEMBERSHIP_CHECK" => are_dependencies = false,
                "LIBRARY_NAME" => {
                    are_dependencies = false;
                    words.next();
                }
                "DEPENDENCIES" => are_dependencies = true,
                _ if are_dependencies => {}
                definition => {
                    // An absolute path has a colon between its base and the rest.
                    let path = match definition.rsplit_once(':') {
                        Some((base, rest)) if definition.starts_with('/') => format!("{base}/{rest}"),
                        _ => definition.to_owned(),
                    };
                    let path = Path::new(&path);
                    let path = self.folder.join(path.strip_prefix(&self.root).unwrap_or(path));
                    if !path.is_file() {
                        return Err(Fault::new(
                            format!("`{definition}` in the list of definitions does not exist"),
                            FIX,
                        ));
                    }
                    if !self.list.files.contains(&path) {
                        self.list.files.push(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the words of a condition.
    fn words(&self, arguments: &[Argument]) -> Vec<Word> {
        let mut words = Vec::new();
        for argument in arguments {
            let is_quoted = argument.form != Form::Bare;
            words.extend(
                self.expand_all(std::slice::from_ref(argument)).into_iter().map(|text| Word { text, is_quoted }),
            );
        }
        words
    }

    /// Returns arguments after expansion. An argument without quotes becomes as many as its list has items.
    fn expand_all(&self, arguments: &[Argument]) -> Vec<String> {
        let mut expanded = Vec::new();
        for Argument { text, form } in arguments {
            match form {
                Form::Bracket => expanded.push(text.clone()),
                Form::Quoted => expanded.push(self.expand(text).into_owned()),
                Form::Bare => {
                    let value = self.expand(text);
                    expanded.extend(value.split(';').filter(|item| !item.is_empty()).map(str::to_owned));
                }
            }
        }
        expanded
    }

    /// Replaces references to variables, and escapes.
    fn expand<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(['$', '\\']) {
            return Cow::Borrowed(text);
        }
        // The texts around the references that are open, the innermost last, each with the text before its name.
        let mut open: Vec<(String, &str)> = Vec::new();
        let mut out = String::new();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            if let Some(begin) = ["${", "$ENV{", "$CACHE{"].into_iter().find(|begin| rest.starts_with(begin)) {
                open.push((std::mem::take(&mut out), begin));
                rest = &rest[begin.len()..];
                continue;
            }
            rest = &rest[char.len_utf8()..];
            match char {
                '}' if !open.is_empty() => {
                    let (before, begin) = open.pop().expect("there is one");
                    let name = std::mem::replace(&mut out, before);
                    let name = if begin == "$ENV{" { format!("ENV{{{name}}}") } else { name };
                    out += self.variable(&name).unwrap_or_default();
                }
                '\\' => {
                    let escaped = rest.chars().next().unwrap_or('\\');
                    rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                    out.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        other => other,
                    });
                }
                char => out.push(char),
            }
        }
        Cow::Owned(out)
    }
}

/// Returns the position of the command that ends the block at `at`, or the end of the commands.
fn end(commands: &[Command], at: usize, open: &str, close: &str) -> usize {
    let mut depth = 0;
    for (position, command) in commands.iter().enumerate().skip(at + 1) {
        if command.name == open {
            depth += 1;
        } else if command.name == close {
            if depth == 0 {
                return position;
            }
            depth -= 1;
        }
    }
    commands.len()
}

/// Returns a part of a path.
fn component(path: &str, mode: &str, root: &str) -> String {
    let as_path = Path::new(path);
    let name = as_path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match mode {
        "DIRECTORY" | "PATH" => as_path.parent().unwrap_or(Path::new("")).display().to_string(),
        "NAME" => name,
        "NAME_WE" => name.split('.').next().unwrap_or_default().to_owned(),
        "NAME_WLE" => as_path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        "EXT" => name.split_once('.').map(|(_, rest)| format!(".{rest}")).unwrap_or_default(),
        "LAST_EXT" => name.rsplit_once('.').map(|(_, rest)| format!(".{rest}")).unwrap_or_default(),
        _ => Path::new(root).join(path).display().to_string(),
    }
}
