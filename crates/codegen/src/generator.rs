//! The interface for build scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::emit::{self, Target};
use crate::error::GenerateError;
use crate::packages::{self, Origin, Packages};
use crate::shipped::{self, Distribution};
use crate::sources::Sources;

/// Generator of Rust types from interface packages. The [crate](crate) shows its use in a build script.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The folders of packages, with the definitions that the user names.
    folders: Vec<(PathBuf, Option<Vec<PathBuf>>)>,
    names: BTreeSet<String>,
    messages: String,
    wire: Option<String>,
    out: Option<PathBuf>,
    prefixes: Option<Vec<PathBuf>>,
    distribution: Option<String>,
    /// Name of the crate that includes the code; `None` for the one whose build script runs.
    crate_name: Option<String>,
    /// True if shipped packages are generated as well, which only `rospin-msgs` itself does.
    ships: bool,
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Generator {
    /// Returns a generator without packages.
    #[must_use]
    pub fn new() -> Self {
        Self {
            folders: Vec::new(),
            names: BTreeSet::new(),
            messages: "::rospin_msgs".to_owned(),
            wire: None,
            out: None,
            prefixes: None,
            distribution: None,
            crate_name: None,
            ships: false,
        }
    }

    /// Adds the package in a folder. Its definitions are those that its `CMakeLists.txt` gives to
    /// `rosidl_generate_interfaces`, or, without such a list, those in its folders `msg`, `srv` and `action` and in the
    /// folders below them. The package's name is that of its `package.xml`, or else the folder's.
    ///
    /// A list may be made of variables, globs, loops and conditions, which are those of a build for ROS 2. Functions
    /// and macros of the file are not run. If the list needs them, name the definitions by
    /// [`package_files`](Self::package_files).
    #[must_use]
    pub fn package(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push((folder.into(), None));
        self
    }

    /// Adds the package in a folder, with these definitions and no others. The files are relative to the folder, and
    /// may lie anywhere in it. As in ROS 2, their extensions say what they are: `ros2/Pose.msg` of the package
    /// `robot_msgs` is `robot_msgs::msg::Pose`.
    #[must_use]
    pub fn package_files(
        mut self,
        folder: impl Into<PathBuf>,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        let mut named = Vec::new();
        for file in files {
            named.push(file.into());
        }
        self.folders.push((folder.into(), Some(named)));
        self
    }

    /// Adds a package of the installed ROS 2, by its name. ROS 2's environment must be set up (`AMENT_PREFIX_PATH`). A
    /// package that is [shipped](crate::SHIPPED) is generated from the definitions that come with this crate.
    #[must_use]
    pub fn installed(mut self, name: impl Into<String>) -> Self {
        self.names.insert(name.into());
        self
    }

    /// Sets the path at which generated code finds the types of `rospin-msgs`. By default `::rospin_msgs`. Programs
    /// that depend only on `rospin` use `::rospin::msgs`.
    #[must_use]
    pub fn messages_at(mut self, path: impl Into<String>) -> Self {
        self.messages = path.into();
        self
    }

    /// Sets the output folder. By default that of the build script. With a folder that was set, Cargo is not told when
    /// to run the build script again.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out = Some(folder.into());
        self
    }

    /// Sets the folders where ROS 2 is installed. By default those of `AMENT_PREFIX_PATH`.
    #[must_use]
    pub fn prefixes(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.prefixes = Some(folders.into_iter().collect());
        self
    }

    /// Sets the distribution of ROS 2 for which types are generated, such as `humble`. The default is the one that
    /// `ROS_DISTRO` names, or Jazzy. Shipped packages get the definitions of that distribution. Types for Humble have
    /// no hash.
    #[must_use]
    pub fn distribution(mut self, name: impl Into<String>) -> Self {
        self.distribution = Some(name.into());
        self
    }

    /// Sets the name of the crate that includes the code. By default that of the crate whose build script runs. If a
    /// package has the crate's name, its modules `msg`, `srv` and `action` are also where the code is included, so that
    /// other crates write `robot_msgs::msg::Status`.
    #[must_use]
    pub fn crate_name(mut self, name: impl Into<String>) -> Self {
        self.crate_name = Some(name.into());
        self
    }

    /// Generates the packages `names`, which are shipped, in place of referring to `rospin-msgs`. `wire` is the path at
    /// which the generated code finds `rospin-wire`. Only `rospin-msgs` itself needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn ship(mut self, names: impl IntoIterator<Item = String>, wire: &str) -> Self {
        self.ships = true;
        self.names.extend(names);
        self.wire = Some(wire.to_owned());
        self
    }

    /// Writes a module for each package to `interfaces.rs` and the files that it includes. Tells Cargo when to run the
    /// build script again, unless an [output folder](Self::out_dir) was set.
    ///
    /// # Errors
    /// If a definition is invalid or missing, a file cannot be written, or the output folder is not known.
    pub fn generate(&self) -> Result<(), GenerateError> {
        let out = self.out.clone().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        let out = out.ok_or(GenerateError::NoFolder)?;
        let files = self.files()?;
        for (name, text) in &files {
            write_if_new(&out.join(name), text)?;
        }
        Ok(())
    }

    /// Calls [`generate`](Self::generate). On an error it prints the error and ends the build script.
    #[expect(clippy::print_stderr, reason = "Cargo shows what a build script says that failed")]
    pub fn generate_or_exit(&self) {
        if let Err(error) = self.generate() {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }

    /// Returns the text of `interfaces.rs` and of the files that it includes.
    fn files(&self) -> Result<BTreeMap<String, String>, GenerateError> {
        let packages = self.read()?;
        let wire = self.wire.clone().unwrap_or_else(|| format!("{}::wire", self.messages));
        let has_hashes = self.release().has_hashes();
        let target =
            Target { packages: &packages, messages: &self.messages, wire: &wire, has_hashes, ships: self.ships };
        let mut files = BTreeMap::new();
        let mut index = String::new();
        for (name, package) in packages.0.iter().filter(|(_, package)| package.origin == Origin::Generated) {
            let _ = writeln!(index, "/// The package `{name}`.");
            let _ = writeln!(index, "#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]");
            let _ = writeln!(index, "pub mod {name} {{\ninclude!(\"{name}.rs\");\n}}");
            files.insert(format!("{name}.rs"), emit::package(&target, package));
            self.watch(&package.read);
        }
        if let Some(name) = self.package_of_crate(&packages) {
            let _ = writeln!(index, "#[doc(no_inline)]\n#[allow(unused_imports)]\npub use self::{name}::*;");
        }
        files.insert("interfaces.rs".to_owned(), index);
        Ok(files)
    }

    /// Returns the generated package that the crate is named after, if one is: its types are `robot_msgs::msg::Status`
    /// for other crates then, and not only `robot_msgs::robot_msgs::msg::Status`.
    fn package_of_crate(&self, packages: &Packages) -> Option<String> {
        let name = match &self.crate_name {
            Some(name) => name.clone(),
            None => env::var("CARGO_PKG_NAME").ok()?,
        };
        let name = name.replace('-', "_");
        let package = packages.0.get(&name)?;
        if package.origin == Origin::Generated { Some(name) } else { None }
    }

    /// Reads the requested packages, and all packages that they refer to.
    fn read(&self) -> Result<Packages, GenerateError> {
        let mut packages = Packages::default();
        for (folder, files) in &self.folders {
            let name = packages::name(folder)?;
            let sources = match files {
                Some(files) => Sources::of_files(folder, files)?,
                None => Sources::of_folder(folder, self.release().name())?,
            };
            let mut read = vec![folder.clone()];
            // A list may name files outside of the folder.
            read.extend(
                sources.definitions.iter().map(|(_, file)| file.clone()).filter(|file| !file.starts_with(folder)),
            );
            packages.add(&name, Origin::Generated, read, vec![sources])?;
        }
        for name in &self.names {
            if !self.find(&mut packages, name, Origin::Generated)? {
                let fix = "set up the environment of an installed ROS 2 that has it, or correct the name".to_owned();
                return Err(GenerateError::Unknown { name: name.clone(), fix });
            }
        }
        let mut looked_for = BTreeSet::new();
        loop {
            let interfaces = packages.0.values().flat_map(|package| package.interfaces.values());
            let mentioned = interfaces.flat_map(|interface| interface.references().map(|(of, _)| &of.package));
            let missing = mentioned.filter(|name| !packages.0.contains_key(*name) && !looked_for.contains(*name));
            let Some(name) = missing.min().cloned() else {
                break;
            };
            // A package that was not found is reported by the check, which knows the line that refers to it.
            self.find(&mut packages, &name, Origin::Shipped)?;
            looked_for.insert(name);
        }
        packages.check()?;
        Ok(packages)
    }

    /// Returns the distribution for which types are generated.
    fn release(&self) -> Distribution {
        let name = self.distribution.clone().or_else(|| env::var("ROS_DISTRO").ok());
        Distribution::named(name.as_deref())
    }

    /// Adds a package by its name: from the definitions that come with this crate, or else from the installed ROS 2. A
    /// package that comes with this crate has the given `origin`, unless this generator ships; any other one is
    /// generated. Returns true if the package was found.
    fn find(&self, packages: &mut Packages, name: &str, origin: Origin) -> Result<bool, GenerateError> {
        if let Some(folders) = shipped::folders(name, self.release())? {
            let origin = if self.ships { Origin::Generated } else { origin };
            let sources = folders.iter().map(|folder| Sources::in_folders(folder)).collect::<Result<_, _>>()?;
            packages.add(name, origin, folders, sources)?;
            return Ok(true);
        }
        let prefixes = self.prefixes.clone().unwrap_or_else(|| {
            let variable = env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
            env::split_paths(&variable).collect()
        });
        for prefix in prefixes {
            if let Some(sources) = Sources::installed(&prefix, name)? {
                // `rospin-msgs` has no types of this package, so they are generated.
                let read = vec![prefix.join("share").join(name)];
                packages.add(name, Origin::Generated, read, vec![sources])?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells Cargo which files the generated code depends on.
    #[expect(clippy::print_stdout, reason = "that is how a build script talks to Cargo")]
    fn watch(&self, folders: &[PathBuf]) {
        if self.out.is_some() {
            return;
        }
        for variable in ["AMENT_PREFIX_PATH", "ROS_DISTRO"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        for folder in folders {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
    }
}

/// Writes a file unless it has this text already, so that unchanged code is not compiled again.
fn write_if_new(file: &Path, text: &str) -> Result<(), GenerateError> {
    if fs::read(file).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    fs::write(file, text).map_err(GenerateError::io(file))
}
