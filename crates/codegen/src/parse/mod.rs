//! Parser of definitions, by the rules of ROS 2's own `rosidl_adapter`.
//!
//! That of `hiroz-codegen` skips constants that it does not understand, and has neither wide strings nor line numbers;
//! that of `roslibrust_codegen` panics and has no wide strings either; that of `ros2msg` counts lines from the first
//! one behind a comment, and needs a parser generator and regular expressions.

mod escapes;
mod names;
mod types;
pub(crate) mod values;

use std::collections::BTreeSet;
use std::path::Path;

pub(crate) use escapes::of_idl as unescape_idl;
pub(crate) use names::{check_field, check_interface, check_package};

use crate::error::{Fault, GenerateError};
use crate::model::{Constant, Field, Interface, Kind, Part};

/// Parses a definition.
///
/// # Errors
/// If a line is invalid, or the number of parts is wrong for the kind.
pub(crate) fn parse(package: &str, kind: Kind, file: &Path, text: &str) -> Result<Interface, GenerateError> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    names::check_interface(&name).map_err(|Fault { problem, fix }| GenerateError::File {
        file: file.to_owned(),
        problem,
        fix,
    })?;
    let mut parts = vec![PartBuilder::default()];
    for (line, content) in (1..).zip(text.lines()) {
        // A byte order mark is not part of the definition.
        let content = if line == 1 { content.trim_start_matches('\u{feff}') } else { content };
        if kind != Kind::Message && content.trim_end() == "---" {
            parts.push(PartBuilder::default());
        } else {
            let part = parts.last_mut().expect("there is one from the beginning");
            part.read(package, content).map_err(|fault| fault.at(file, line))?;
            part.set_line(line);
        }
    }
    let wanted = kind.parts().len();
    if parts.len() != wanted {
        return Err(GenerateError::File {
            file: file.to_owned(),
            problem: format!(
                "it has {} lines with only `---`, where a .{} file has {}",
                parts.len() - 1,
                kind.word(),
                wanted - 1
            ),
            fix: format!("separate {} by a line `---` each", kind.parts().join(", ").to_lowercase()),
        });
    }
    let parts = parts.into_iter().map(|builder| builder.part).collect();
    Ok(Interface { package: package.to_owned(), kind, name, file: file.to_owned(), text: text.to_owned(), parts })
}

/// A part whose lines are being read.
#[derive(Default)]
struct PartBuilder {
    part: Part,
    names: BTreeSet<String>,
}

impl PartBuilder {
    /// Reads a line: a field, a constant, a comment, or nothing.
    fn read(&mut self, package: &str, line: &str) -> Result<(), Fault> {
        // As in ROS 2, a comment starts at the first `#`, even inside a string.
        let content = line.split('#').next().unwrap_or_default().replace('\t', " ");
        let content = content.trim();
        if content.is_empty() {
            return Ok(());
        }
        let (of, rest) = content.split_once(' ').ok_or_else(|| {
            Fault::new(
                format!("`{content}` is neither a field nor a constant"),
                "write `type name`, `type name default` or `type NAME=value`",
            )
        })?;
        let rest = rest.trim_start();
        match rest.split_once('=') {
            Some((name, value)) => self.read_constant(of, name.trim_end(), value.trim_start()),
            None => self.read_field(package, of, rest),
        }
    }

    fn read_constant(&mut self, of: &str, name: &str, value: &str) -> Result<(), Fault> {
        let base = types::constant(of)?;
        names::check_constant(name)?;
        self.add_name(name)?;
        let value = values::one(&base, value)?;
        self.part.constants.push(Constant { name: name.to_owned(), base, value });
        Ok(())
    }

    fn read_field(&mut self, package: &str, of: &str, rest: &str) -> Result<(), Fault> {
        let (base, shape) = types::field(package, of)?;
        let (name, default) = rest.split_once(' ').unwrap_or((rest, ""));
        names::check_field(name)?;
        self.add_name(name)?;
        let default = match default.trim() {
            "" => None,
            value => Some(values::default(&base, shape, value)?),
        };
        self.part.fields.push(Field { name: name.to_owned(), base, shape, default, line: 0 });
        Ok(())
    }

    /// Notes the name of a field or constant, which must be new in this part.
    fn add_name(&mut self, name: &str) -> Result<(), Fault> {
        if self.names.insert(name.to_owned()) {
            Ok(())
        } else {
            Err(Fault::new(format!("`{name}` is there already"), "give it another name"))
        }
    }

    /// Sets the line of the last field, if it has none yet.
    fn set_line(&mut self, line: usize) {
        if let Some(field) = self.part.fields.last_mut().filter(|field| field.line == 0) {
            field.line = line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Base, Literal, Shape, TypeRef};

    fn message(text: &str) -> Part {
        parse("robot_msgs", Kind::Message, Path::new("Sample.msg"), text).unwrap().parts.remove(0)
    }

    fn fault(kind: Kind, text: &str) -> String {
        parse("robot_msgs", kind, Path::new("Sample.msg"), text).unwrap_err().to_string()
    }

    #[test]
    fn fields_and_constants_are_told_apart() {
        let text = "# first\nint8  LOW = -3  # why\nstring NAME=\"a b\"\n\nfloat64[<=2] pair [1.5, 2]\nPoint at\n";
        let part = message(text);
        let constants: Vec<_> = part.constants.iter().map(|constant| (&*constant.name, &constant.value)).collect();
        assert_eq!(constants, [("LOW", &Literal::Int(-3)), ("NAME", &Literal::Text("a b".to_owned()))]);
        assert_eq!(part.fields[0].shape, Shape::Sequence { max: 2 });
        assert_eq!(part.fields[0].default, Some(vec![Literal::Float(1.5), Literal::Float(2.0)]));
        assert_eq!(part.fields[0].line, 5);
        let point = TypeRef { package: "robot_msgs".to_owned(), name: "Point".to_owned() };
        assert_eq!((&part.fields[1].base, part.fields[1].line), (&Base::Nested(point), 6));
    }

    #[test]
    fn parts_are_divided_by_lines_of_three_dashes() {
        let text = "int32 a\n---\n---\nint32 b";
        let action = parse("robot_msgs", Kind::Action, Path::new("Walk.action"), text).unwrap();
        assert_eq!(action.parts.iter().map(|part| part.fields.len()).collect::<Vec<_>>(), [1, 0, 1]);
        assert_eq!(action.rust_name(2), "WalkFeedback");
        assert!(fault(Kind::Service, "int32 a\n").contains("it has 0 lines with only `---`"));
        assert!(fault(Kind::Message, "int32 a\n---\n").starts_with("Sample.msg:2: `---` is neither"));
    }

    #[test]
    fn faults_name_the_line() {
        for (text, expected) in [
            ("\n\nint33 a", "Sample.msg:3: `int33`"),
            ("int32 a\nint32 a", "Sample.msg:2: `a` is there already"),
            ("int32", "Sample.msg:1: `int32` is neither"),
            ("int32 Upper", "Sample.msg:1: `Upper`"),
            ("uint8 BIG=256", "Sample.msg:1: `256`"),
            ("string s \"a=b\"", "Sample.msg:1: `s \"a` "),
        ] {
            let said = fault(Kind::Message, text);
            assert!(said.starts_with(expected) && said.contains("\n  fix: "), "{text}: {said}");
        }
    }
}
