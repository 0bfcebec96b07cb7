//! Escapes in strings. `rosidl_adapter` replaces them by the rules of Python when it writes IDL, and `rosidl_parser`
//! those that are left by the rules of IDL.

use crate::error::Fault;

/// Replaces the escapes in a string: by both rules.
pub(super) fn of_text(text: &str) -> Result<String, Fault> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    replace(&replace(text, Rules::Python)?, Rules::Idl)
}

/// Replaces the escapes in a string of an array, which `rosidl` writes and reads as Python's, so that they are replaced
/// once.
pub(super) fn of_element(text: &str) -> Result<String, Fault> {
    replace(text, Rules::Python)
}

/// Replaces the escapes in a string of an IDL file.
pub(crate) fn of_idl(text: &str) -> Result<String, Fault> {
    replace(text, Rules::Idl)
}

/// The rules for escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// Those of Python's strings.
    Python,
    /// Those of IDL, where an escape that is incomplete is text.
    Idl,
}

/// Replaces escapes. A backslash before any other character is text.
fn replace(text: &str, rules: Rules) -> Result<String, Fault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(letter) = rest.chars().next() else {
            if rules == Rules::Python {
                return Err(Fault::new(format!("`{text}` ends with a backslash"), "write `\\\\` for a backslash"));
            }
            out.push('\\');
            break;
        };
        let after = &rest[letter.len_utf8()..];
        let single = match letter {
            'n' => Some('\n'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            'b' => Some('\u{8}'),
            'r' => Some('\r'),
            'f' => Some('\u{c}'),
            'a' => Some('\u{7}'),
            '\\' | '\'' | '"' => Some(letter),
            '?' if rules == Rules::Idl => Some('?'),
            _ => None,
        };
        if let Some(char) = single {
            out.push(char);
            rest = after;
            continue;
        }
        match number(letter, rest, rules) {
            Some((Some(char), length)) => {
                out.push(char);
                rest = &rest[length..];
            }
            Some((None, length)) if rules == Rules::Python => {
                let fix = "write two hexadecimal digits after `\\x`, four after `\\u`, eight after `\\U`, or `\\\\` \
                           for a backslash";
                return Err(Fault::new(format!("`\\{}` is not a character", &rest[..length]), fix));
            }
            _ => out.push('\\'),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads an escape that gives a character's number: `letter` is the first character of `rest`. Returns the character,
/// if it is one, and the length of the escape. `None` if it is not such an escape.
fn number(letter: char, rest: &str, rules: Rules) -> Option<(Option<char>, usize)> {
    let (begin, radix, wanted) = match (letter, rules) {
        ('0'..='7', _) => (0, 8, 3),
        ('x', _) => (1, 16, 2),
        ('u', _) => (1, 16, 4),
        ('U', Rules::Python) => (1, 16, 8),
        _ => return None,
    };
    let digits = rest[begin..].chars().take(wanted).take_while(|char| char.is_digit(radix)).count();
    let end = begin + digits;
    let is_complete = radix == 8 || digits == wanted || (rules == Rules::Idl && digits > 0);
    let char = u32::from_str_radix(&rest[begin..end], radix).ok().and_then(char::from_u32);
    Some((char.filter(|_| is_complete), end))
}
