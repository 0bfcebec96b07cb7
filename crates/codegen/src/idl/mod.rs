//! Parser of IDL files: the part of IDL that ROS 2 reads, which is that in which `rosidl_adapter` writes.
//!
//! A file has a message, or the structures of a service or an action, in the modules of its package and kind. Types are
//! basic ones, strings, sequences, arrays, messages, and names of these.

mod lexer;

use std::collections::BTreeMap;
use std::path::Path;

use lexer::Word;

use crate::error::{Fault, GenerateError};
use crate::hash::NOTHING;
use crate::model::{Base, Constant, Field, Interface, Kind, Literal, Part, Shape, TypeRef};
use crate::parse::{self, values};

/// Ending of the module with the constants of a structure.
const CONSTANTS: &str = "_Constants";

/// The deepest nesting of modules, and of names that stand for types.
const LEVELS_MAX: usize = 16;

/// Parses a file.
///
/// # Errors
/// If a line is invalid or in a part of IDL that ROS 2 does not have, or the structures are not those of one interface.
pub(crate) fn parse(package: &str, file: &Path, text: &str) -> Result<Interface, GenerateError> {
    let words = lexer::words(text).map_err(|(line, fault)| fault.at(file, line))?;
    let mut reader = Reader { package, words: &words, at: 0, modules: Vec::new(), found: Found::default() };
    while !reader.is_at_end() {
        reader.definition().map_err(|fault| fault.at(file, reader.line()))?;
    }
    let Found { structures, mut constants, .. } = reader.found;
    let whole =
        |problem: String, fix: &str| GenerateError::File { file: file.to_owned(), problem, fix: fix.to_owned() };
    let Some(kind) = structures.len().checked_sub(1).and_then(|more| Kind::ALL.get(more).copied()) else {
        let problem = format!("it has {} structures", structures.len());
        return Err(whole(problem, "write one for a message, two for a service, three for an action"));
    };
    let (modules, first, _) = &structures[0];
    if modules.iter().map(String::as_str).ne([package, kind.word()]) {
        let problem = format!("`{first}` is in the module `{}`", modules.join("::"));
        return Err(whole(problem, &format!("put it into the module `{package}::{}`", kind.word())));
    }
    let suffix = |part: &str| if part.is_empty() { String::new() } else { format!("_{part}") };
    let name = first.strip_suffix(&suffix(kind.parts()[0])).unwrap_or(first).to_owned();
    parse::check_interface(&name).map_err(|fault| whole(fault.problem, &fault.fix))?;
    let mut parts = Vec::new();
    for ((_, own, fields), part) in structures.iter().zip(kind.parts()) {
        let wanted = format!("{name}{}", suffix(part));
        if *own != wanted {
            return Err(whole(format!("it has a structure `{own}`"), &format!("call it `{wanted}`")));
        }
        parts.push(Part { fields: fields.clone(), constants: constants.remove(own).unwrap_or_default() });
    }
    Ok(Interface { package: package.to_owned(), kind, name, file: file.to_owned(), text: text.to_owned(), parts })
}

/// Definitions in a file.
#[derive(Default)]
struct Found {
    /// Modules, names and fields of structures.
    structures: Vec<(Vec<String>, String, Vec<Field>)>,
    /// Constants by the name of their structure.
    constants: BTreeMap<String, Vec<Constant>>,
    /// Types by name.
    types: BTreeMap<String, (Base, Shape)>,
}

/// Words that are read one after the other.
struct Reader<'a> {
    package: &'a str,
    words: &'a [(Word, usize)],
    at: usize,
    /// The modules around the next word.
    modules: Vec<String>,
    found: Found,
}

impl Reader<'_> {
    fn is_at_end(&self) -> bool {
        self.at >= self.words.len()
    }

    /// Returns the number of the line of the last word that was read.
    fn line(&self) -> usize {
        self.words.get(self.at.saturating_sub(1)).map_or(1, |(_, line)| *line)
    }

    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at).map(|(word, _)| word)
    }

    /// Takes the next word if it is this sign.
    fn take(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Word::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes this sign.
    fn expect(&mut self, sign: char) -> Result<(), Fault> {
        if self.take(sign) {
            return Ok(());
        }
        let found = match self.peek() {
            Some(Word::Name(name)) => format!("`{name}`"),
            Some(Word::Text(_)) => "a string".to_owned(),
            Some(Word::Sign(sign)) => format!("`{sign}`"),
            None => "the end".to_owned(),
        };
        self.at += 1;
        Err(Fault::new(format!("there is {found} where `{sign}` should be"), "see the part of IDL that ROS 2 reads"))
    }

    /// Takes a name, a keyword or a number.
    fn name(&mut self) -> Result<String, Fault> {
        let name = match self.peek() {
            Some(Word::Name(name)) => name.clone(),
            _ => return Err(Fault::new("a name is missing", "see the part of IDL that ROS 2 reads")),
        };
        self.at += 1;
        Ok(name)
    }

    /// Reads a module, a structure, a constant or a name for a type, with the semicolon behind it.
    fn definition(&mut self) -> Result<(), Fault> {
        while self.take('@') {
            self.annotation()?;
        }
        match &*self.name()? {
            "module" => self.module()?,
            "struct" => self.structure()?,
            "const" => self.constant()?,
            "typedef" => {
                let of = self.type_of()?;
                let name = self.name()?;
                let of = self.array(of)?;
                self.found.types.insert(name, of);
            }
            other => {
                let fix = "write `module`, `struct`, `const` or `typedef`; ROS 2 reads no other definitions";
                return Err(Fault::new(format!("`{other}` begins no definition"), fix));
            }
        }
        self.expect(';')
    }

    fn module(&mut self) -> Result<(), Fault> {
        let name = self.name()?;
        if self.modules.len() >= LEVELS_MAX {
            return Err(Fault::new(format!("modules are nested more than {LEVELS_MAX} deep"), "nest them less"));
        }
        self.modules.push(name);
        self.expect('{')?;
        while !self.take('}') {
            self.definition()?;
        }
        self.modules.pop();
        Ok(())
    }

    fn constant(&mut self) -> Result<(), Fault> {
        let (base, shape) = self.type_of()?;
        let name = self.name()?;
        self.expect('=')?;
        let value = self.value(&base, shape)?;
        let [literal] = &value[..] else {
            return Err(Fault::new(format!("the constant `{name}` is a list"), "give it one value"));
        };
        let of = self.modules.last().and_then(|module| module.strip_suffix(CONSTANTS)).unwrap_or_default();
        let constant = Constant { name, base, value: literal.clone() };
        self.found.constants.entry(of.to_owned()).or_default().push(constant);
        Ok(())
    }

    fn structure(&mut self) -> Result<(), Fault> {
        let name = self.name()?;
        self.expect('{')?;
        let mut fields: Vec<Field> = Vec::new();
        while !self.take('}') {
            let mut default = None;
            while self.take('@') {
                default = self.annotation()?.or(default);
            }
            let of = self.type_of()?;
            let field = self.name()?;
            let line = self.line();
            let (base, shape) = self.array(of)?;
            self.expect(';')?;
            parse::check_field(&field)?;
            if fields.iter().any(|other| other.name == field) {
                return Err(Fault::new(format!("`{field}` is there already"), "give it another name"));
            }
            let after = self.at;
            let default = match default {
                // The value is read again, now that its type is known.
                Some(at) => {
                    self.at = at;
                    let value = self.value(&base, shape)?;
                    self.at = after;
                    Some(value)
                }
                None => None,
            };
            fields.push(Field { name: field, base, shape, default, line });
        }
        // The member that stands for none.
        if matches!(&fields[..], [only] if only.name == NOTHING) {
            fields.clear();
        }
        self.found.structures.push((self.modules.clone(), name, fields));
        Ok(())
    }

    /// Reads an annotation behind its `@`. Returns the position of the value of a `@default`.
    fn annotation(&mut self) -> Result<Option<usize>, Fault> {
        let name = self.name()?;
        let mut value = None;
        if self.take('(') {
            let mut depth = 1;
            while depth > 0 {
                let is_value = name == "default" && self.peek() == Some(&Word::Name("value".to_owned()));
                match self.peek() {
                    None => return Err(Fault::new(format!("`@{name}` has no end"), "close it with `)`")),
                    Some(Word::Sign('(')) => depth += 1,
                    Some(Word::Sign(')')) => depth -= 1,
                    _ => {}
                }
                self.at += 1;
                if is_value && self.take('=') {
                    value = Some(self.at);
                }
            }
        }
        Ok(value)
    }

    /// Reads a value of a type.
    fn value(&mut self, base: &Base, shape: Shape) -> Result<Vec<Literal>, Fault> {
        let text = match self.peek() {
            Some(Word::Text(_)) => {
                let mut text = String::new();
                while let Some(Word::Text(part)) = self.peek() {
                    text += part;
                    self.at += 1;
                }
                if shape == Shape::One && matches!(base, Base::String { .. } | Base::WString { .. }) {
                    return Ok(vec![Literal::Text(text)]);
                }
                text
            }
            _ => self.name()?,
        };
        if shape == Shape::One {
            return Ok(vec![values::one(base, &text)?]);
        }
        // `rosidl_adapter` writes lists as Python writes tuples: `(1, 2)`, and `(1,)` for one element.
        let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(&text);
        let inner = inner.trim().strip_suffix(',').unwrap_or(inner);
        values::default(base, shape, &format!("[{inner}]"))
    }

    /// Reads a type.
    fn type_of(&mut self) -> Result<(Base, Shape), Fault> {
        let name = self.name()?;
        let of = |base| Ok((base, Shape::One));
        match &*name {
            "boolean" => of(Base::Bool),
            "octet" => of(Base::Byte),
            "float" => of(Base::Float32),
            "double" => of(Base::Float64),
            "int8" => of(Base::Int8),
            "uint8" => of(Base::Uint8),
            "int16" | "short" => of(Base::Int16),
            "uint16" => of(Base::Uint16),
            "int32" => of(Base::Int32),
            "uint32" => of(Base::Uint32),
            "int64" => of(Base::Int64),
            "uint64" => of(Base::Uint64),
            "long" | "unsigned" => self.long(name == "unsigned"),
            "string" => of(Base::String { max: self.bound()? }),
            "wstring" => of(Base::WString { max: self.bound()? }),
            "sequence" => {
                self.expect('<')?;
                let (base, shape) = self.type_of()?;
                let max = if self.take(',') { length(&self.name()?)? } else { 0 };
                self.expect('>')?;
                match shape {
                    Shape::One => Ok((base, Shape::Sequence { max })),
                    _ => Err(Fault::new("a sequence has elements that are lists", "put the inner list into a message")),
                }
            }
            "char" | "wchar" | "fixed" | "map" | "any" => {
                Err(Fault::new(format!("the type `{name}` is not supported"), "use a type that `.msg` files have, too"))
            }
            name => self.named(name),
        }
    }

    /// Reads the rest of `long` or `unsigned long` and its like.
    fn long(&mut self, is_unsigned: bool) -> Result<(Base, Shape), Fault> {
        let mut words = if is_unsigned { Vec::new() } else { vec!["long".to_owned()] };
        while matches!(self.peek(), Some(Word::Name(name)) if matches!(name.as_str(), "long" | "short" | "double")) {
            words.push(self.name()?);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let base = match (is_unsigned, &words[..]) {
            (true, ["short"]) => Base::Uint16,
            (true, ["long"]) => Base::Uint32,
            (true, ["long", "long"]) => Base::Uint64,
            (false, ["long"]) => Base::Int32,
            (false, ["long", "long"]) => Base::Int64,
            _ => return Err(Fault::new(format!("the type `{}` is not supported", words.join(" ")), "use `double`")),
        };
        Ok((base, Shape::One))
    }

    /// Returns the type of that name: one of this file, or a message.
    fn named(&self, name: &str) -> Result<(Base, Shape), Fault> {
        let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        if let Some(of) = parts.last().and_then(|last| self.found.types.get(*last)) {
            return Ok(of.clone());
        }
        let (package, message) = match parts[..] {
            [message] => (self.package, message),
            ["msg", message] => (self.package, message),
            [package, "msg", message] => (package, message),
            _ => return Err(Fault::new(format!("`{name}` is not a type"), "write `package::msg::Name` for a message")),
        };
        parse::check_package(package)?;
        parse::check_interface(message)?;
        let of = TypeRef { package: package.to_owned(), name: message.to_owned() };
        Ok((Base::Nested(of), Shape::One))
    }

    /// Reads the bound of a string; 0 if it has none.
    fn bound(&mut self) -> Result<usize, Fault> {
        if !self.take('<') {
            return Ok(0);
        }
        let max = length(&self.name()?)?;
        self.expect('>')?;
        Ok(max)
    }

    /// Reads the length of an array behind a name, if there is one.
    fn array(&mut self, of: (Base, Shape)) -> Result<(Base, Shape), Fault> {
        if !self.take('[') {
            return Ok(of);
        }
        let (base, shape) = of;
        let length = length(&self.name()?)?;
        self.expect(']')?;
        match shape {
            Shape::One => Ok((base, Shape::Array(length))),
            _ => Err(Fault::new("an array has elements that are lists", "put the inner list into a message")),
        }
    }
}

/// Parses a length.
fn length(text: &str) -> Result<usize, Fault> {
    text.parse().ok().filter(|length| *length > 0).ok_or_else(|| {
        Fault::new(format!("`{text}` is not a length"), "write a number above 0; names of constants are not read here")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        #include \"geometry_msgs/msg/Point.idl\"
        module robot_msgs { module msg { // a comment
            typedef geometry_msgs::msg::Point geometry_msgs__msg__Point;
            typedef geometry_msgs__msg__Point geometry_msgs__msg__Point__4[4];
            module Sample_Constants {
                @verbatim (language=\"comment\", text=\"one\" \"\\n\" \"two\")
                const uint8 CAR = 1;
                const string NAME = \"a\\tb\";
                const boolean ON = TRUE;
            };
            @verbatim (language=\"comment\", text=\" a (message\")
            struct Sample {
                @default (value=-1.5)
                double speed;
                @default (value=\"C:\\\\dir\") @unit (value=\"m\")
                string<20> path;
                @default (value=\"('a', 'b,c')\")
                sequence<string, 4> names;
                @default (value=\"(1,)\")
                sequence<int32> one;
                geometry_msgs__msg__Point__4 corners;
                unsigned long long big[2];
                Other other;
            };
        }; };";

    #[test]
    fn a_message_has_its_fields_constants_and_defaults() {
        let read = parse("robot_msgs", Path::new("Sample.idl"), TEXT).unwrap();
        assert_eq!((read.kind, read.ros_name().as_str()), (Kind::Message, "robot_msgs/msg/Sample"));
        let part = &read.parts[0];
        let text = |text: &str| Literal::Text(text.to_owned());
        let constants: Vec<_> =
            part.constants.iter().map(|constant| (&*constant.name, constant.value.clone())).collect();
        assert_eq!(constants, [("CAR", Literal::Int(1)), ("NAME", text("a\tb")), ("ON", Literal::Bool(true))]);
        let field = |name: &str| part.fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(field("speed").default, Some(vec![Literal::Float(-1.5)]));
        assert_eq!(
            (&field("path").base, &field("path").default),
            (&Base::String { max: 20 }, &Some(vec![text("C:\\dir")]))
        );
        assert_eq!(field("names").default, Some(vec![text("a"), text("b,c")]));
        assert_eq!(
            (field("one").shape, &field("one").default),
            (Shape::Sequence { max: 0 }, &Some(vec![Literal::Int(1)]))
        );
        assert_eq!((field("corners").shape, field("big").shape), (Shape::Array(4), Shape::Array(2)));
        let other = TypeRef { package: "robot_msgs".to_owned(), name: "Other".to_owned() };
        assert_eq!((&field("other").base, field("other").line), (&Base::Nested(other), 24));
    }

    #[test]
    fn services_and_actions_have_a_structure_for_each_part() {
        let service = "module p { module srv { struct Go_Request { uint8 structure_needs_at_least_one_member; };
            struct Go_Response { boolean done; }; }; };";
        let read = parse("p", Path::new("Go.idl"), service).unwrap();
        assert_eq!((read.kind, read.parts[0].fields.len(), read.parts[1].fields.len()), (Kind::Service, 0, 1));
        for (text, said) in [
            ("module q { module msg { struct A { octet a; }; }; };", "`A` is in the module `q::msg`"),
            ("module p { module msg { }; };", "it has 0 structures"),
            ("module p { module srv { struct Go_Request {}; struct Go_Answer {}; }; };", "call it `Go_Response`"),
            ("\nmodule p { union U {}; };", "X.idl:2: `union` begins no definition"),
            ("module p { module msg { struct A {\n sequence<sequence<octet>> a; }; }; };", "X.idl:2: a sequence has"),
            ("module p { module msg { struct A { char a; }; }; };", "`char` is not supported"),
            ("module p { module msg { struct A { octet a", "X.idl:1: there is the end where `;`"),
        ] {
            let error = parse("p", Path::new("X.idl"), text).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("\n  fix: "), "{error}");
        }
    }
}
