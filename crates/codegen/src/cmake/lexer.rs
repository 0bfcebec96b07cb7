//! Commands of a CMake file, with their arguments as they are written.

use crate::error::Fault;

/// Call of a command.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// The name, in lower case.
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
    /// Number of the line, from 1.
    pub(super) line: usize,
}

/// Argument of a command.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    pub(super) text: String,
    pub(super) form: Form,
}

/// The forms in which an argument is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Without quotes: a list is several arguments.
    Bare,
    /// In quotes: one argument.
    Quoted,
    /// In long brackets: nothing in it is expanded.
    Bracket,
}

/// Reads the commands of a file.
///
/// # Errors
/// Names the line, from 1.
pub(super) fn read(text: &str) -> Result<Vec<Command>, (usize, Fault)> {
    let mut lexer = Lexer { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut commands = Vec::new();
    while let Some(command) = lexer.command().map_err(|fault| (lexer.line, fault))? {
        commands.push(command);
    }
    Ok(commands)
}

/// The part of a text that is not read yet.
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    /// Takes this many bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            let Some(comment) = self.rest.strip_prefix('#') else { return Ok(()) };
            if bracket_of(comment).is_some() {
                self.take(1);
                self.bracket()?;
            } else {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            }
        }
    }

    /// Reads the next command. Returns `None` at the end of the text.
    fn command(&mut self) -> Result<Option<Command>, Fault> {
        self.skip()?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let end = self.rest.find(|char| !is_part(char)).unwrap_or(self.rest.len());
        let name = self.take(end).to_ascii_lowercase();
        self.skip()?;
        if name.is_empty() || !self.rest.starts_with('(') {
            return Err(Fault::new("this is not a call of a command", "write `command(arguments)`"));
        }
        self.take(1);
        let mut arguments = Vec::new();
        let mut depth = 1;
        loop {
            self.skip()?;
            let argument = match self.rest.chars().next() {
                None => return Err(Fault::new(format!("`{name}(` has no end"), "close it with `)`")),
                Some('(') => {
                    depth += 1;
                    Argument { text: self.take(1).to_owned(), form: Form::Bare }
                }
                Some(')') => {
                    depth -= 1;
                    let text = self.take(1).to_owned();
                    if depth == 0 {
                        return Ok(Some(Command { name, arguments, line }));
                    }
                    Argument { text, form: Form::Bare }
                }
                Some('"') => Argument { text: self.quoted()?.to_owned(), form: Form::Quoted },
                Some('[') if bracket_of(self.rest).is_some() => {
                    Argument { text: self.bracket()?.to_owned(), form: Form::Bracket }
                }
                Some(_) => Argument { text: self.bare()?.to_owned(), form: Form::Bare },
            };
            arguments.push(argument);
        }
    }

    /// Reads what is in quotes.
    fn quoted(&mut self) -> Result<&'a str, Fault> {
        let mut escaped = false;
        for (at, char) in self.rest.char_indices().skip(1) {
            if char == '"' && !escaped {
                let taken = self.take(at + 1);
                return Ok(&taken[1..at]);
            }
            escaped = char == '\\' && !escaped;
        }
        Err(Fault::new("a text in quotes has no end", "close it with `\"`"))
    }

    /// Reads what is in long brackets, such as `[[text]]` or `[=[text]=]`.
    fn bracket(&mut self) -> Result<&'a str, Fault> {
        let equals = bracket_of(self.rest).expect("the caller has seen it");
        let close = format!("]{}]", "=".repeat(equals));
        let open = equals + 2;
        let Some(end) = self.rest[open..].find(&close) else {
            return Err(Fault::new("a text in brackets has no end", format!("close it with `{close}`")));
        };
        let taken = self.take(open + end + close.len());
        Ok(&taken[open..open + end])
    }

    /// Reads an argument without quotes. It may have quotes inside.
    fn bare(&mut self) -> Result<&'a str, Fault> {
        let mut escaped = false;
        let mut quoted = false;
        for (at, char) in self.rest.char_indices() {
            let ends = char.is_whitespace() || matches!(char, '(' | ')' | '#');
            if ends && !escaped && !quoted {
                return Ok(self.take(at));
            }
            quoted ^= char == '"' && !escaped;
            escaped = char == '\\' && !escaped;
        }
        let fault = Fault::new("a command has no end", "close it with `)`");
        Err(fault)
    }
}

/// Returns the number of equals signs, if the text begins with long brackets.
fn bracket_of(text: &str) -> Option<usize> {
    let after = text.strip_prefix('[')?;
    let equals = after.len() - after.trim_start_matches('=').len();
    if after[equals..].starts_with('[') { Some(equals) } else { None }
}
