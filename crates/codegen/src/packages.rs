//! Interface packages: their folders and definitions.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Fault, GenerateError};
use crate::idl;
use crate::model::{Interface, Kind, TypeRef};
use crate::parse;
use crate::sources::Sources;

/// The origin of a package's Rust types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Generated into this crate.
    Generated,
    /// Types that `rospin-msgs` has.
    Shipped,
}

/// A package with its definitions.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) origin: Origin,
    /// The folders and files from which definitions were read.
    pub(crate) read: Vec<PathBuf>,
    /// The definitions, by kind and name.
    pub(crate) interfaces: BTreeMap<(Kind, String), Interface>,
}

/// The packages from which types are generated, and all packages that they refer to.
#[derive(Default, Debug)]
pub(crate) struct Packages(pub(crate) BTreeMap<String, Package>);

impl Packages {
    /// Reads the definitions of a package. A definition of later sources is used only if earlier ones have none of that
    /// name. `read` are the folders and files that the sources come from.
    pub(crate) fn add(
        &mut self,
        name: &str,
        origin: Origin,
        read: Vec<PathBuf>,
        sources: Vec<Sources>,
    ) -> Result<(), GenerateError> {
        let mut interfaces: BTreeMap<(Kind, String), Interface> = BTreeMap::new();
        for source in sources {
            let mut own = BTreeMap::new();
            for (kind, file) in source.definitions {
                let text = fs::read_to_string(&file).map_err(GenerateError::io(&file))?;
                let interface = match kind {
                    Some(kind) => parse::parse(name, kind, &file, &text)?,
                    None => idl::parse(name, &file, &text)?,
                };
                match own.entry((interface.kind, interface.name.clone())) {
                    Entry::Vacant(entry) => {
                        entry.insert(interface);
                    }
                    Entry::Occupied(other) => return Err(twice(other.get(), file)),
                }
            }
            for (key, interface) in own {
                interfaces.entry(key).or_insert(interface);
            }
        }
        self.0.insert(name.to_owned(), Package { origin, read, interfaces });
        Ok(())
    }

    /// Returns the definition of a message; `None` if there is none.
    pub(crate) fn message(&self, of: &TypeRef) -> Option<&Interface> {
        self.0.get(&of.package)?.interfaces.get(&(Kind::Message, of.name.clone()))
    }

    /// Adds one definition to a package, which may lack all others.
    pub(crate) fn add_interface(&mut self, interface: Interface) {
        let package = self.0.entry(interface.package.clone());
        let package = package.or_insert_with(|| Package {
            origin: Origin::Generated,
            read: Vec::new(),
            interfaces: BTreeMap::new(),
        });
        package.interfaces.insert((interface.kind, interface.name.clone()), interface);
    }

    /// Checks that every message that is referred to exists, and that no message contains itself.
    ///
    /// # Errors
    /// Names the line of the reference.
    pub(crate) fn check(&self) -> Result<(), GenerateError> {
        let generated = self.0.values().filter(|package| package.origin == Origin::Generated);
        for interface in generated.flat_map(|package| package.interfaces.values()) {
            for (reference, line) in interface.references() {
                if self.message(reference).is_none() {
                    return Err(self.missing(reference).at(&interface.file, line));
                }
            }
            let own = TypeRef { package: interface.package.clone(), name: interface.name.clone() };
            if interface.kind == Kind::Message {
                self.check_circle(&own, interface)?;
            }
        }
        Ok(())
    }

    /// Checks that no message that this one refers to contains it.
    fn check_circle(&self, own: &TypeRef, interface: &Interface) -> Result<(), GenerateError> {
        for (reference, line) in interface.references() {
            let mut seen = BTreeSet::new();
            let mut next = vec![reference];
            while let Some(reached) = next.pop() {
                if reached == own {
                    let fault = Fault::new(
                        format!("`{own}` contains itself, by way of `{reference}`"),
                        "break the circle: messages are trees",
                    );
                    return Err(fault.at(&interface.file, line));
                }
                if seen.insert(reached) {
                    next.extend(
                        self.message(reached).iter().flat_map(|inner| inner.references()).map(|(inner, _)| inner),
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns the error of a reference to a missing message.
    fn missing(&self, of: &TypeRef) -> Fault {
        let fix = match self.0.get(&of.package) {
            _ if of.name == "Header" => "write `std_msgs/Header`".to_owned(),
            Some(package) => {
                let messages = package.interfaces.keys().filter(|(kind, _)| *kind == Kind::Message);
                let close = messages.map(|(_, name)| name).find(|name| name.eq_ignore_ascii_case(&of.name));
                match close {
                    Some(close) => format!("write `{}/{close}`", of.package),
                    None => format!("add `msg/{}.msg` to the package, or correct the name", of.name),
                }
            }
            None => format!(
                "name the folder of `{}` by `Generator::package`, or set up the environment of an installed ROS 2",
                of.package
            ),
        };
        Fault::new(format!("there is no message `{of}`"), fix)
    }
}

/// Returns the error of a name that two files have.
fn twice(one: &Interface, file: PathBuf) -> GenerateError {
    let problem = format!("`{}` is also defined by `{}`", one.name, one.file.display());
    let fix = "leave one of them out: rename it, or name the definitions by `Generator::package_files`".to_owned();
    GenerateError::File { file, problem, fix }
}

/// Returns the name of the package in a folder: that in its `package.xml`, or else the folder's.
pub(crate) fn name(folder: &Path) -> Result<String, GenerateError> {
    let refuse =
        |fault: Fault| GenerateError::Package { folder: folder.to_owned(), problem: fault.problem, fix: fault.fix };
    if !folder.is_dir() {
        return Err(refuse(Fault::new("there is no such folder", "name the folder of a package")));
    }
    let manifest = folder.join("package.xml");
    let name = if manifest.is_file() {
        let text = fs::read_to_string(&manifest).map_err(GenerateError::io(&manifest))?;
        let inner = text.split_once("<name>").and_then(|(_, rest)| rest.split_once("</name>"));
        inner.map(|(name, _)| name.trim().to_owned()).ok_or_else(|| {
            refuse(Fault::new("its package.xml names no package", "write `<name>my_msgs</name>` into it"))
        })?
    } else {
        let folder = fs::canonicalize(folder).map_err(GenerateError::io(folder))?;
        folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    parse::check_package(&name).map_err(refuse)?;
    Ok(name)
}
