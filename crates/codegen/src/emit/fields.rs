//! Fields: their Rust types and their encoding.

use std::fmt::Write;

use super::Target;
use crate::hash::NOTHING;
use crate::model::{Base, Field, Part, Shape};

/// Keywords of Rust that a field's name may be, with `r#` before it.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Returns the Rust name of a field or a constant.
pub(super) fn identifier(name: &str) -> String {
    match name {
        // `r#` is not allowed for these keywords.
        "self" | "super" | "crate" => format!("{name}_"),
        name if KEYWORDS.contains(&name) => format!("r#{name}"),
        name => name.to_owned(),
    }
}

/// Returns the Rust type of one element; an empty text for a message, see [`rust_type`].
pub(super) fn element_type(base: &Base) -> &'static str {
    match base {
        Base::Bool => "bool",
        Base::Byte | Base::Char | Base::Uint8 => "u8",
        Base::Float32 => "f32",
        Base::Float64 => "f64",
        Base::Int8 => "i8",
        Base::Int16 => "i16",
        Base::Uint16 => "u16",
        Base::Int32 => "i32",
        Base::Uint32 => "u32",
        Base::Int64 => "i64",
        Base::Uint64 => "u64",
        // A message may be called `String`, so the path is absolute.
        Base::String { .. } | Base::WString { .. } => "::std::string::String",
        Base::Nested(_) => "",
    }
}

/// Returns the Rust type of a field.
pub(super) fn rust_type(target: &Target<'_>, field: &Field) -> String {
    let element = match &field.base {
        Base::Nested(reference) => target.path(reference),
        base => element_type(base).to_owned(),
    };
    match field.shape {
        Shape::One => element,
        Shape::Array(length) => format!("[{element}; {length}]"),
        Shape::Sequence { .. } if field.is_blob() => format!("{}::Blob", target.wire),
        Shape::Sequence { .. } => format!("::std::vec::Vec<{element}>"),
    }
}

/// Returns the marker of `rospin_wire::field` with which the field is encoded.
fn marker(field: &Field) -> String {
    let one = match &field.base {
        Base::String { max } if *max > 0 => format!("f::Text<{max}>"),
        Base::WString { max } => format!("f::Wide<{max}>"),
        _ => "f::Plain".to_owned(),
    };
    match (field.shape, &field.base) {
        (Shape::One, _) => one,
        _ if field.is_blob() => one,
        (Shape::Array(_), base) if base.is_number() => "f::BulkArray".to_owned(),
        (Shape::Array(_), _) => format!("f::Array<{one}>"),
        (Shape::Sequence { max }, base) if base.is_number() => format!("f::Bulk<{max}>"),
        (Shape::Sequence { max }, Base::Bool) => format!("f::Bools<{max}>"),
        (Shape::Sequence { max }, _) => format!("f::Sequence<{one}, {max}>"),
    }
}

/// Writes the encoding and decoding of a message, or of a part of a service or an action.
pub(super) fn write(out: &mut String, name: &str, part: &Part) {
    let fields: Vec<_> =
        part.fields.iter().map(|field| (&*field.name, identifier(&field.name), marker(field))).collect();
    let names: Vec<_> = match fields.is_empty() {
        true => vec![format!("\"{NOTHING}\"")],
        false => fields.iter().map(|(name, ..)| format!("\"{name}\"")).collect(),
    };
    let _ = writeln!(
        out,
        "impl f::Fields for {name} {{\nconst NAME: &'static str = \"{name}\";\n\
         const FIELDS: &'static [&'static str] = &[{}];\n\
         fn write<S: s::ser::SerializeStruct>(&self, out: &mut f::Writer<S>) -> ::core::result::Result<(), S::Error> {{",
        names.join(", ")
    );
    if fields.is_empty() {
        let _ = writeln!(out, "out.put::<f::Plain, u8>(\"{NOTHING}\", &0)?;");
    }
    for (ros, rust, marker) in &fields {
        let _ = writeln!(out, "out.put::<{marker}, _>(\"{ros}\", &self.{rust})?;");
    }
    out.push_str(
        "Ok(())\n}\n\
         fn read<'de, A: s::de::SeqAccess<'de>>(fields: &mut f::Reader<A>) -> ::core::result::Result<Self, A::Error> {\n",
    );
    if fields.is_empty() {
        out.push_str("fields.get::<f::Plain, u8>()?;\n");
    }
    out.push_str("Ok(Self {\n");
    for (_, rust, marker) in &fields {
        let _ = writeln!(out, "{rust}: fields.get::<{marker}, _>()?,");
    }
    out.push_str(
        "})\n}\n\
         fn set<'de, A: s::de::MapAccess<'de>>(&mut self, index: usize, value: f::Entry<'_, A>)\n\
         -> ::core::result::Result<(), A::Error> {\nmatch index {\n",
    );
    for (index, (_, rust, marker)) in fields.iter().enumerate() {
        let _ = writeln!(out, "{index} => self.{rust} = value.get::<{marker}, _>()?,");
    }
    let _ = writeln!(
        out,
        "_ => value.skip()?,\n}}\nOk(())\n}}\n}}\n\
         impl s::Serialize for {name} {{\n\
         fn serialize<S: s::Serializer>(&self, to: S) -> ::core::result::Result<S::Ok, S::Error> {{\n\
         f::serialize(self, to)\n}}\n}}\n\
         impl<'de> s::Deserialize<'de> for {name} {{\n\
         fn deserialize<D: s::Deserializer<'de>>(from: D) -> ::core::result::Result<Self, D::Error> {{\n\
         f::deserialize(from)\n}}\n}}"
    );
}
