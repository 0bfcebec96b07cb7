//! The sources of a crate as modules, and its public items: those that users reach by a path from the root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rospin_repository_test::repository;
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

use crate::expand::expand;

/// The names of a module below the root.
pub(crate) type Names = Vec<String>;

/// All modules of a crate.
pub(crate) struct Crate {
    pub(crate) modules: BTreeMap<Names, Vec<Item>>,
    /// The attributes at the top of the modules' files.
    pub(crate) attributes: BTreeMap<Names, Vec<Attribute>>,
}

/// An item that users reach: its name for them, and where it is.
pub(crate) struct Public<'a> {
    /// The path from the root, as users write it.
    pub(crate) path: String,
    /// The module that defines it, and the item; `None` if it is another crate's.
    pub(crate) defined: Option<(&'a Names, &'a Item)>,
}

/// Returns true if the attributes leave an item out of what users get.
fn is_left_out(attributes: &[Attribute]) -> bool {
    let is_for_tests = |attribute: &&Attribute| {
        let text = text_of(attribute);
        text.contains("cfg(test)") || text.contains("cfg(all(test") || text.contains("cfg(rospin_shuttle)")
    };
    attributes.iter().any(|attribute| is_for_tests(&attribute))
}

/// Returns tokens as text without the spaces around punctuation.
pub(crate) fn text_of(tokens: &impl quote::ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" [", "["),
        ("[ ", "["),
        (" ]", "]"),
        (" < ", "<"),
        (" <(", "<("),
        (" >", ">"),
        (" ,", ","),
        (" ;", ";"),
        (" : ", ": "),
        ("& ", "&"),
        (":: ", "::"),
        ("# [", "#["),
        (" !", "!"),
        ("< ", "<"),
        (" ?", "?"),
        (",)", ")"),
    ] {
        text = text.replace(from, to);
    }
    text
}

/// Returns the name of an item; `None` if it has none.
pub(crate) fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn visibility_of(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Use(item) => &item.vis,
        _ => return None,
    })
}

/// Returns true if the item is public, or a macro that is exported.
fn is_public(item: &Item) -> bool {
    matches!(visibility_of(item), Some(Visibility::Public(_)))
}

/// Returns the paths that a `use` names, each with the name under which it imports. A glob imports under `*`.
fn imports(item: &ItemUse) -> Vec<(Names, String)> {
    fn walk(tree: &UseTree, before: &Names, out: &mut Vec<(Names, String)>) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Names>();
        match tree {
            UseTree::Path(path) => walk(&path.tree, &with(path.ident.to_string()), out),
            UseTree::Name(name) if name.ident == "self" => {
                out.push((before.clone(), before.last().cloned().unwrap_or_default()));
            }
            UseTree::Name(name) => out.push((with(name.ident.to_string()), name.ident.to_string())),
            UseTree::Rename(name) => out.push((with(name.ident.to_string()), name.rename.to_string())),
            UseTree::Glob(_) => out.push((before.clone(), "*".to_owned())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, out)),
        }
    }
    let mut out = Vec::new();
    walk(&item.tree, &Vec::new(), &mut out);
    out
}

impl Crate {
    /// Reads the crate in that folder of `crates/`.
    pub(crate) fn read(folder: &str) -> Self {
        let mut all = Self { modules: BTreeMap::new(), attributes: BTreeMap::new() };
        let library = repository().join("crates").join(folder).join("src/lib.rs");
        all.read_file(&library, library.parent().expect("a folder"), Vec::new());
        expand(&mut all.modules);
        all
    }

    /// Returns the public items, in the order of their paths.
    pub(crate) fn public(&self) -> Vec<Public<'_>> {
        let mut out = BTreeMap::new();
        self.collect(&Vec::new(), "", &mut BTreeSet::new(), &mut out);
        out.into_values().collect()
    }

    /// Adds what the module `names` has for users, who know it as `path`.
    fn collect<'a>(
        &'a self,
        names: &Names,
        path: &str,
        seen: &mut BTreeSet<(Names, String)>,
        out: &mut BTreeMap<String, Public<'a>>,
    ) {
        if !seen.insert((names.clone(), path.to_owned())) {
            return;
        }
        let Some((names, items)) = self.modules.get_key_value(names) else { return };
        for item in items.iter().filter(|item| is_public(item)) {
            if let Item::Use(uses) = item {
                for (from, name) in imports(uses) {
                    self.collect_import(names, &from, &name, path, seen, out);
                }
            } else if let Some(name) = name_of(item) {
                let inner: Names = names.iter().cloned().chain([name.clone()]).collect();
                let outer = format!("{path}{name}");
                if matches!(item, Item::Mod(_)) {
                    self.collect(&inner, &format!("{outer}::"), seen, out);
                }
                out.insert(outer.clone(), Public { path: outer, defined: Some((names, item)) });
            }
        }
    }

    fn collect_import<'a>(
        &'a self,
        at: &Names,
        from: &Names,
        name: &str,
        path: &str,
        seen: &mut BTreeSet<(Names, String)>,
        out: &mut BTreeMap<String, Public<'a>>,
    ) {
        if name == "*" {
            match self.module(at, from) {
                Some(module) => self.collect(&module, path, seen, out),
                None => {
                    let whole = format!("{path}{}::*", from.join("::"));
                    out.insert(whole.clone(), Public { path: whole, defined: None });
                }
            }
            return;
        }
        let outer = format!("{path}{name}");
        if let Some(module) = self.module(at, from) {
            self.collect(&module, &format!("{outer}::"), seen, out);
        }
        let defined = self.find(at, from);
        let shown = if defined.is_none() { format!("{outer} = {}", from.join("::")) } else { outer.clone() };
        out.insert(outer, Public { path: shown, defined });
    }

    /// Returns the module that a path in the module `at` names.
    fn module(&self, at: &Names, path: &Names) -> Option<Names> {
        let mut names = at.clone();
        for part in path {
            match part.as_str() {
                "crate" => names.clear(),
                "self" => {}
                "super" => drop(names.pop()),
                part => names.push(part.to_owned()),
            }
        }
        self.modules.contains_key(&names).then_some(names)
    }

    /// Returns the item that a path in the module `at` names, with the module that defines it.
    pub(crate) fn find(&self, at: &Names, path: &Names) -> Option<(&Names, &Item)> {
        let (name, before) = path.split_last()?;
        let module = self.module(at, &before.to_vec())?;
        let (names, items) = self.modules.get_key_value(&module)?;
        if let Some(item) = items.iter().find(|item| name_of(item).as_ref() == Some(name)) {
            return Some((names, item));
        }
        let uses = items.iter().filter_map(|item| if let Item::Use(uses) = item { Some(uses) } else { None });
        for (from, imported) in uses.flat_map(imports) {
            if imported == *name && from != *path {
                return self.find(names, &from);
            }
            let inside = || from.iter().cloned().chain([name.clone()]).collect::<Names>();
            if imported == "*"
                && self.module(names, &from).is_some_and(|module| module != *names)
                && let Some(found) = self.find(names, &inside())
            {
                return Some(found);
            }
        }
        None
    }
}

impl Crate {
    fn read_file(&mut self, file: &Path, folder: &Path, names: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.attributes.insert(names.clone(), parsed.attrs);
        self.add_module(parsed.items, folder, names);
    }

    fn add_module(&mut self, items: Vec<Item>, folder: &Path, names: Names) {
        for item in &items {
            let Item::Mod(module) = item else { continue };
            if is_left_out(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let inner: Names = names.iter().cloned().chain([name.clone()]).collect();
            let below = folder.join(&name);
            match &module.content {
                Some((_, items)) => self.add_module(items.clone(), &below, inner),
                None => {
                    let files: [PathBuf; 2] = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
                    if let Some(file) = files.iter().find(|file| file.exists()) {
                        self.read_file(file, &below, inner);
                    }
                }
            }
        }
        self.modules.insert(names, items);
    }
}
