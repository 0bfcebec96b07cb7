//! Generation of Rust code from interfaces.
//!
//! The code is written as text, without syntax trees, and has no serde derives, so all shipped packages together
//! compile in a few seconds. A definition stands in its type's documentation as a block of text, because comments in
//! definitions are not Markdown.

mod fields;
mod traits;
mod values;

use std::fmt::Write;

use crate::hash::{self, Identity};
use crate::model::{Base, Interface, Kind, Part, Shape, TypeRef};
use crate::packages::{Origin, Package, Packages};
use crate::shipped;

/// The surroundings of the generated code.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) packages: &'a Packages,
    /// The path of `rospin-msgs`, or of a module that exports its types.
    pub(crate) messages: &'a str,
    /// The path of `rospin-wire`.
    pub(crate) wire: &'a str,
    /// False for a distribution without type hashes.
    pub(crate) has_hashes: bool,
    /// True for shipped packages, whose definitions are without comments: documentation leads to the pages that have
    /// them.
    pub(crate) ships: bool,
}

impl Target<'_> {
    /// Returns the path of a message's Rust type, as code in a module such as `std_msgs::msg` writes it.
    fn path(&self, of: &TypeRef) -> String {
        let TypeRef { package, name } = of;
        match self.packages.0.get(package).map(|package| package.origin) {
            Some(Origin::Shipped) => format!("{}::{package}::msg::{name}", self.messages),
            _ => format!("super::super::{package}::msg::{name}"),
        }
    }
}

/// Returns the code of a package's types, which is the content of the package's module.
pub(crate) fn package(target: &Target<'_>, package: &Package) -> String {
    let mut out = String::new();
    for kind in Kind::ALL {
        let mut interfaces = package.interfaces.values().filter(|interface| interface.kind == kind).peekable();
        if interfaces.peek().is_none() {
            continue;
        }
        let what = match kind {
            Kind::Message => "Messages",
            Kind::Service => "Services",
            Kind::Action => "Actions",
        };
        let _ = writeln!(out, "/// {what}.\npub mod {} {{", kind.word());
        let _ = writeln!(out, "use {}::field as f;\nuse {}::serde as s;", target.wire, target.wire);
        for interface in interfaces {
            write_interface(&mut out, target, interface);
        }
        out.push_str("}\n");
    }
    out
}

/// Writes the types of an interface: a struct for each part, and their traits.
fn write_interface(out: &mut String, target: &Target<'_>, interface: &Interface) {
    let Interface { name, kind, .. } = interface;
    let ros_name = interface.ros_name();
    let wire = target.wire;
    let mut sentence = format!("`{ros_name}`");
    if target.ships {
        let _ = write!(sentence, ", which [ROS 2 explains]({})", shipped::page(&ros_name));
    }
    if *kind != Kind::Message {
        write_doc(out, &sentence, Some(&interface.text));
        let _ = writeln!(out, "#[derive(Clone, Copy, Debug)]\npub enum {name} {{}}");
    }
    for (index, part) in interface.parts.iter().enumerate() {
        let rust_name = interface.rust_name(index);
        match kind {
            Kind::Message => write_doc(out, &sentence, Some(&interface.text)),
            _ => write_doc(out, &format!("The {} of [`{name}`].", kind.parts()[index].to_lowercase()), None),
        }
        write_part(out, target, &rust_name, part);
    }
    match kind {
        Kind::Message => {
            let _ = writeln!(out, "impl {wire}::Message for {name} {{\nconst TYPE: &'static str = \"{ros_name}\";");
            write_identity(out, target, "TYPE_HASH", "DESCRIPTION", &hash::message(target.packages, interface));
            out.push_str("}\n");
            write_stamp(out, target, interface);
        }
        Kind::Service => {
            let _ = writeln!(
                out,
                "impl {wire}::ServiceInterface for {name} {{\n\
                 type Request = {name}Request;\n\
                 type Response = {name}Response;\n\
                 const TYPE: &'static str = \"{ros_name}\";"
            );
            let (service, event_hash) = hash::service(target.packages, interface);
            write_identity(out, target, "TYPE_HASH", "DESCRIPTION", &service);
            write_hash(out, target, "EVENT_TYPE_HASH", &event_hash);
            out.push_str("}\n");
            for part in ["Request", "Response"] {
                let _ = writeln!(out, "impl {wire}::ServicePart<{name}> for {name}{part} {{}}");
            }
        }
        Kind::Action => {
            let _ = writeln!(
                out,
                "impl {wire}::Action for {name} {{\ntype Goal = {name}Goal;\ntype Result = {name}Result;\n\
                 type Feedback = {name}Feedback;\nconst TYPE: &'static str = \"{ros_name}\";"
            );
            for (part, identity) in hash::action(target.packages, interface) {
                write_identity(out, target, &format!("{part}_HASH"), &format!("{part}_DESCRIPTION"), &identity);
            }
            out.push_str("}\n");
        }
    }
}

/// Writes the constant `name` with the hash of a type.
fn write_hash(out: &mut String, target: &Target<'_>, name: &str, hash: &str) {
    let value = match target.has_hashes {
        true => format!("::core::option::Option::Some(\"{hash}\")"),
        false => "::core::option::Option::None".to_owned(),
    };
    let _ = writeln!(out, "const {name}: ::core::option::Option<&'static str> = {value};");
}

/// Writes the constants with the hash and the description of a type.
fn write_identity(out: &mut String, target: &Target<'_>, hash: &str, description: &str, identity: &Identity) {
    write_hash(out, target, hash, &identity.hash);
    let wire = target.wire;
    let text = &identity.text;
    let mut contained = String::new();
    for of in &identity.contained {
        let _ = write!(contained, "<{} as {wire}::Message>::DESCRIPTION, ", target.path(of));
    }
    let _ = writeln!(
        out,
        "const {description}: ::core::option::Option<&'static {wire}::Description> =\n\
         ::core::option::Option::Some(&{wire}::Description::of({text:?}, &[{contained}]));"
    );
}

/// Writes the implementation of `Stamped` for the header itself, and for messages whose first field is one.
fn write_stamp(out: &mut String, target: &Target<'_>, interface: &Interface) {
    let Some(first) = interface.parts[0].fields.first() else { return };
    let Base::Nested(of) = &first.base else { return };
    let field = fields::identifier(&first.name);
    let stamp = match (interface.ros_name().as_str(), of.to_string().as_str()) {
        ("std_msgs/msg/Header", "builtin_interfaces/msg/Time") => {
            format!("i64::from(self.{field}.sec) * 1_000_000_000 + i64::from(self.{field}.nanosec)")
        }
        (_, "std_msgs/msg/Header") if first.shape == Shape::One => {
            format!("{}::Stamped::stamp_ns(&self.{field})", target.wire)
        }
        _ => return,
    };
    let wire = target.wire;
    let name = &interface.name;
    let _ = writeln!(out, "impl {wire}::Stamped for {name} {{\nfn stamp_ns(&self) -> i64 {{\n{stamp}\n}}\n}}");
}

/// Writes documentation: a sentence, and the definition's text.
fn write_doc(out: &mut String, sentence: &str, definition: Option<&str>) {
    let _ = writeln!(out, "/// {sentence}");
    if let Some(text) = definition.filter(|text| !text.trim().is_empty()) {
        // Four backticks, so that the text cannot end the block.
        out.push_str("///\n/// ````text\n");
        for line in text.trim_start_matches('\u{feff}').trim_end().lines() {
            let _ = writeln!(out, "/// {}", line.trim_end().replace('\r', ""));
        }
        out.push_str("/// ````\n");
    }
}

/// Writes the struct of a part, with its constants, its defaults and its encoding.
fn write_part(out: &mut String, target: &Target<'_>, name: &str, part: &Part) {
    let traits = traits::of(target.packages, part);
    let mut derives = vec!["Clone", "Debug", "PartialEq"];
    if traits.copy {
        derives.push("Copy");
    }
    if traits.eq {
        derives.extend(["Eq", "Hash"]);
    }
    if traits.default {
        derives.push("Default");
    }
    let _ = writeln!(out, "#[derive({})]\npub struct {name} {{", derives.join(", "));
    for field in &part.fields {
        let _ = writeln!(out, "pub {}: {},", fields::identifier(&field.name), fields::rust_type(target, field));
    }
    out.push_str("}\n");
    if !part.constants.is_empty() {
        let _ = writeln!(out, "impl {name} {{");
        for constant in &part.constants {
            let of = values::constant_type(&constant.base);
            let value = values::constant(&constant.base, &constant.value);
            let _ = writeln!(out, "pub const {}: {of} = {value};", fields::identifier(&constant.name));
        }
        out.push_str("}\n");
    }
    if !traits.default {
        let _ = writeln!(out, "impl ::core::default::Default for {name} {{\nfn default() -> Self {{\nSelf {{");
        for field in &part.fields {
            let _ = writeln!(out, "{}: {},", fields::identifier(&field.name), values::default(field));
        }
        out.push_str("}\n}\n}\n");
    }
    fields::write(out, name, part);
}
