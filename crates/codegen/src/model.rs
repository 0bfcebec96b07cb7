//! Interfaces as data.

use std::fmt;
use std::path::PathBuf;

/// The kinds of interfaces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Message,
    Service,
    Action,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Message, Self::Service, Self::Action];

    /// Returns the name of the kind's folder in a package, which is also the extension of its files.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }

    /// Returns the suffixes of the parts of a definition, which are the same in ROS and in Rust.
    pub(crate) const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Message => &[""],
            Self::Service => &["Request", "Response"],
            Self::Action => &["Goal", "Result", "Feedback"],
        }
    }
}

/// A reference to a message: package and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TypeRef {
    pub(crate) package: String,
    pub(crate) name: String,
}

impl fmt::Display for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/msg/{}", self.package, self.name)
    }
}

/// The type of a field, or of its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    Bool,
    Byte,
    Char,
    Float32,
    Float64,
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    /// A string; with a bound of 0, of any length.
    String {
        max: usize,
    },
    /// A wide string; with a bound of 0, of any length.
    WString {
        max: usize,
    },
    Nested(TypeRef),
}

impl Base {
    /// Returns the primitive type with this name; `None` if there is none.
    pub(crate) fn primitive(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "byte" => Self::Byte,
            "char" => Self::Char,
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "int8" => Self::Int8,
            "uint8" => Self::Uint8,
            "int16" => Self::Int16,
            "uint16" => Self::Uint16,
            "int32" => Self::Int32,
            "uint32" => Self::Uint32,
            "int64" => Self::Int64,
            "uint64" => Self::Uint64,
            "string" => Self::String { max: 0 },
            "wstring" => Self::WString { max: 0 },
            _ => return None,
        })
    }

    /// Returns the range of an integer type; `None` for other types.
    pub(crate) const fn range(&self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Int8 => (i8::MIN as i128, i8::MAX as i128),
            Self::Byte | Self::Char | Self::Uint8 => (0, u8::MAX as i128),
            Self::Int16 => (i16::MIN as i128, i16::MAX as i128),
            Self::Uint16 => (0, u16::MAX as i128),
            Self::Int32 => (i32::MIN as i128, i32::MAX as i128),
            Self::Uint32 => (0, u32::MAX as i128),
            Self::Int64 => (i64::MIN as i128, i64::MAX as i128),
            Self::Uint64 => (0, u64::MAX as i128),
            _ => return None,
        })
    }

    /// Returns true for numbers of a fixed size, whose arrays are copied as a whole.
    pub(crate) const fn is_number(&self) -> bool {
        self.range().is_some() || self.is_float()
    }

    pub(crate) const fn is_float(&self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

/// The number of elements of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    One,
    Array(usize),
    /// A sequence; with a bound of 0, of any length.
    Sequence {
        max: usize,
    },
}

/// A value of a constant, or an element of a default.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

/// Field of a part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) base: Base,
    pub(crate) shape: Shape,
    /// The elements of the default, which is one element if the field is neither an array nor a sequence. `None` if the
    /// definition gives no default.
    pub(crate) default: Option<Vec<Literal>>,
    /// Number of the field's line in the file, from 1.
    pub(crate) line: usize,
}

impl Field {
    /// Returns true for bytes without a bound, which may be a large part of a message.
    pub(crate) const fn is_blob(&self) -> bool {
        matches!((&self.base, self.shape), (Base::Byte | Base::Char | Base::Uint8, Shape::Sequence { max: 0 }))
    }
}

/// Constant of a part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) base: Base,
    pub(crate) value: Literal,
}

/// A message, or a part of a service or an action.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Part {
    pub(crate) fields: Vec<Field>,
    pub(crate) constants: Vec<Constant>,
}

/// Definition of a message, a service or an action.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) package: String,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// Text of the definition, for the documentation of the generated types.
    pub(crate) text: String,
    /// The parts: as many as a definition of this kind has.
    pub(crate) parts: Vec<Part>,
}

impl Interface {
    /// Returns the name in ROS: package, kind, name.
    pub(crate) fn ros_name(&self) -> String {
        format!("{}/{}/{}", self.package, self.kind.word(), self.name)
    }

    /// Returns the name of a part in Rust.
    pub(crate) fn rust_name(&self, part: usize) -> String {
        format!("{}{}", self.name, self.kind.parts()[part])
    }

    /// Returns the message types that the definition refers to, each with the number of the line.
    pub(crate) fn references(&self) -> impl Iterator<Item = (&TypeRef, usize)> {
        let fields = self.parts.iter().flat_map(|part| &part.fields);
        fields.filter_map(|field| match &field.base {
            Base::Nested(reference) => Some((reference, field.line)),
            _ => None,
        })
    }
}
