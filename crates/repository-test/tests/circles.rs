//! Files that import each other in a circle are one thing to a reader, who has to know all of them to know one. So no
//! circle may have more than a few files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rospin_repository_test::repository;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// The most files that may import each other in a circle.
const LARGEST: usize = 4;

/// A module or an item by its names from the root of its crate on.
type Names = Vec<String>;

/// The modules of a crate that have a file of their own.
#[derive(Default)]
struct Modules {
    files: BTreeMap<Names, syn::File>,
    /// Names that a module hands on, with their homes.
    handed_on: BTreeMap<Names, Names>,
}

/// The modules that each module imports something from.
type Imports = BTreeMap<Names, BTreeSet<Names>>;

impl Modules {
    /// Reads the sources in a folder, which belong to `module`.
    fn read(&mut self, folder: &Path, module: &[String]) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry of a folder").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let mut inner = module.to_vec();
            inner.push(name.clone());
            if path.is_dir() {
                self.read(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                let text = fs::read_to_string(&path).expect("a text");
                let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let is_of_folder = ["lib", "main", "mod"].contains(&name.as_str());
                self.files.insert(if is_of_folder { module.to_vec() } else { inner }, file);
            }
        }
    }

    /// Returns what `path` means in `module`, as names from the root on; `None` if it is of another crate.
    fn absolute(&self, path: &[String], module: &[String]) -> Option<Names> {
        let mut names = module.to_vec();
        let mut rest = path;
        let mut is_here = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => names.clear(),
                "super" => drop(names.pop()),
                "self" => {}
                _ => break,
            }
            is_here = true;
            rest = others;
        }
        names.extend_from_slice(rest);
        let is_child = || self.files.contains_key(&names[..(module.len() + 1).min(names.len())]);
        if is_here || is_child() { Some(names) } else { None }
    }

    /// Returns the module in whose file the item of that name is.
    fn home(&self, mut names: Names) -> Option<Names> {
        // A name may be handed on several times.
        for _ in 0..8 {
            let first_handed_on = (1..=names.len()).find_map(|end| Some((end, self.handed_on.get(&names[..end])?)));
            let Some((end, home)) = first_handed_on else {
                break;
            };
            let mut next = home.clone();
            next.extend_from_slice(&names[end..]);
            names = next;
        }
        while !self.files.contains_key(&names) {
            names.pop()?;
        }
        Some(names)
    }
}

/// Returns true for an item that only tests have.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let conditions = list.tokens.to_string();
            conditions.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "test")
        }
        _ => false,
    })
}

/// Notes the paths that a `use` names.
fn paths_of(tree: &UseTree, before: &[String], paths: &mut Vec<Names>) {
    let mut path = before.to_vec();
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            paths_of(&inner.tree, &path, paths);
        }
        UseTree::Name(name) if name.ident == "self" => paths.push(path),
        UseTree::Name(name) => {
            path.push(name.ident.to_string());
            paths.push(path);
        }
        UseTree::Rename(name) => {
            path.push(name.ident.to_string());
            paths.push(path);
        }
        UseTree::Glob(_) => paths.push(path),
        UseTree::Group(group) => {
            for tree in &group.items {
                paths_of(tree, before, paths);
            }
        }
    }
}

/// Visitor of a file that notes the paths in it, except those that it hands on.
struct Paths<'a> {
    paths: &'a mut Vec<Names>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_of_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if matches!(item.vis, Visibility::Inherited) && !is_of_tests(&item.attrs) {
            paths_of(&item.tree, &[], self.paths);
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut names = Vec::new();
        for segment in &path.segments {
            names.push(segment.ident.to_string());
        }
        self.paths.push(names);
        visit::visit_path(self, path);
    }
}

/// Returns the imports between the files of the sources in a folder.
fn imports_in(folder: &Path) -> Imports {
    let mut modules = Modules::default();
    modules.read(folder, &[]);
    let mut handed_on = BTreeMap::new();
    for (module, file) in &modules.files {
        for item in &file.items {
            if let syn::Item::Use(item) = item
                && !matches!(item.vis, Visibility::Inherited)
            {
                let mut paths = Vec::new();
                paths_of(&item.tree, &[], &mut paths);
                for path in paths {
                    let mut name = module.clone();
                    name.extend(path.last().cloned());
                    handed_on.extend(modules.absolute(&path, module).map(|home| (name, home)));
                }
            }
        }
    }
    modules.handed_on = handed_on;
    let mut imports = Imports::new();
    for (module, file) in &modules.files {
        let mut paths = Vec::new();
        Paths { paths: &mut paths }.visit_file(file);
        let mut homes = BTreeSet::new();
        for path in paths {
            let home = modules.absolute(&path, module).and_then(|names| modules.home(names));
            // The root of a crate or a folder puts together what is below it, which is no circle to a reader.
            homes.extend(home.filter(|home| !home.starts_with(module) && !home.is_empty()));
        }
        imports.insert(module.clone(), homes);
    }
    imports
}

/// Returns the modules that can be reached from one, by imports.
fn reachable<'a>(from: &'a Names, imports: &'a Imports) -> BTreeSet<&'a Names> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for imported in imports.get(module).into_iter().flatten() {
            if seen.insert(imported) {
                next.push(imported);
            }
        }
    }
    seen
}

/// Returns the circles of at least two modules, the largest first.
fn circles(imports: &Imports) -> Vec<Vec<&Names>> {
    let mut reached = BTreeMap::new();
    for module in imports.keys() {
        reached.insert(module, reachable(module, imports));
    }
    let mut circles = BTreeSet::new();
    for (module, others) in &reached {
        let mut circle = Vec::new();
        for other in others {
            if reached.get(*other).is_some_and(|back| back.contains(*module)) {
                circle.push(*other);
            }
        }
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    let mut circles: Vec<_> = circles.into_iter().collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

#[test]
fn no_circle_of_files_is_large() {
    let mut too_large = Vec::new();
    let mut sources = vec![repository().join("lab/src")];
    for entry in fs::read_dir(repository().join("crates")).expect("the crates") {
        sources.push(entry.expect("a crate").path().join("src"));
    }
    for folder in sources {
        let imports = imports_in(&folder);
        for circle in circles(&imports) {
            let mut names = Vec::new();
            for module in &circle {
                names.push(module.join("/"));
            }
            if circle.len() > LARGEST {
                too_large.push(format!("{} files of {}: {}", circle.len(), folder.display(), names.join(", ")));
            }
        }
    }
    assert!(too_large.is_empty(), "these import each other in circles that are too large:\n{}", too_large.join("\n"));
}

#[test]
fn a_circle_is_found_however_its_files_are_named() {
    let folder = std::env::temp_dir().join(format!("rospin-circles-{}", std::process::id()));
    fs::create_dir_all(folder.join("inner")).expect("a folder");
    let sources = [
        ("lib.rs", "mod a; mod inner; pub use a::A;"),
        ("a.rs", "use crate::inner::b::B;\npub struct A(B);"),
        ("inner/mod.rs", "mod b; use b::B;\npub(crate) struct All(B);"),
        (
            "inner/b.rs",
            "pub(crate) struct B(Option<Box<super::super::a::A>>);\n#[cfg(test)]\nmod tests { use crate::c::C; }",
        ),
        ("c.rs", "use crate::{a, inner::{self}};\npub struct C;"),
    ];
    for (name, text) in sources {
        fs::write(folder.join(name), text).expect("a file");
    }
    let imports = imports_in(&folder);
    fs::remove_dir_all(&folder).expect("the folder");
    let a = vec!["a".to_owned()];
    let b = vec!["inner".to_owned(), "b".to_owned()];
    assert_eq!(circles(&imports), [vec![&a, &b]]);
    assert_eq!(imports[&vec!["c".to_owned()]], BTreeSet::from([a, vec!["inner".to_owned()]]));
}
