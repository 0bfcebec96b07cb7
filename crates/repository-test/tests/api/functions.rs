//! The public functions of a crate, with their documentation.

use std::collections::BTreeMap;

use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, ReturnType, Signature, TraitItem, Visibility};

use crate::crates::{Crate, Names, name_of, text_of};
use crate::listing::{Impl, impls};

pub(crate) struct Function {
    pub(crate) path: String,
    pub(crate) documentation: String,
    /// True if an example on its page calls it.
    pub(crate) is_shown: bool,
    pub(crate) is_asynchronous: bool,
}

/// Returns the text of the documentation comments.
fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            text += line.value().strip_prefix(' ').unwrap_or(&line.value());
            text.push('\n');
        }
    }
    text
}

/// Returns the examples of a documentation: its blocks of Rust.
fn examples(documentation: &str) -> String {
    let mut text = String::new();
    let mut is_inside = None;
    for line in documentation.lines() {
        match (line.trim_start().strip_prefix("```"), is_inside) {
            (Some(kind), None) => {
                is_inside = Some(!kind.contains("text") && !kind.contains("toml") && !kind.contains("sh"))
            }
            (Some(_), Some(_)) => is_inside = None,
            (None, Some(true)) => {
                text += line;
                text.push('\n');
            }
            _ => {}
        }
    }
    text
}

/// Returns true if the code calls a function of that name.
fn calls(code: &str, name: &str) -> bool {
    let is_call = |(at, found): (usize, &str)| {
        let before = code[..at].chars().next_back();
        let after = code[at + found.len()..].chars().next();
        matches!(before, Some('.' | ':' | ' ' | '(' | '!' | '&' | '\n') | None)
            && matches!(after, Some('(' | ':' | ')' | ','))
    };
    code.match_indices(name).any(is_call)
}

fn is_asynchronous(signature: &Signature) -> bool {
    let returns_future = match &signature.output {
        ReturnType::Default => false,
        ReturnType::Type(_, returned) => text_of(returned).contains("Future<"),
    };
    signature.asyncness.is_some() || returns_future
}

/// Returns the public functions: free ones, those of types, and those of traits. One that has several paths is there
/// once.
pub(crate) fn functions(of: &Crate) -> Vec<Function> {
    let public = of.public();
    let impls = impls(of);
    // The examples of each page, which is a type's or a trait's, and those of public modules.
    let mut pages = BTreeMap::<(Names, String), String>::new();
    let mut modules = BTreeMap::<Names, String>::new();
    let mut found = BTreeMap::new();
    let mut add = |page: &(Names, String), path: String, attributes: &[Attribute], signature: &Signature| {
        let documentation = documentation(attributes);
        let code = examples(&documentation);
        pages.entry(page.clone()).or_default().push_str(&code);
        let name = signature.ident.to_string();
        let is_asynchronous = is_asynchronous(signature);
        let function = Function { path, documentation, is_shown: !code.is_empty(), is_asynchronous };
        found.entry((page.clone(), name)).or_insert(function);
    };
    let mut own = Vec::new();
    for public in &public {
        let Some((names, item)) = public.defined else { continue };
        let name = name_of(item).unwrap_or_default();
        let page = (names.clone(), name.clone());
        let path = |function: &Signature| format!("{}::{}", public.path, function.ident);
        match item {
            Item::Fn(function) => add(&page, public.path.clone(), &function.attrs, &function.sig),
            Item::Mod(_) => {
                let inner: Names = names.iter().cloned().chain([name]).collect();
                let attributes = of.attributes.get(&inner).map_or(&[][..], Vec::as_slice);
                modules.insert(inner, examples(&documentation(attributes)));
            }
            Item::Trait(item) => {
                own.push((page.clone(), examples(&documentation(&item.attrs))));
                for member in &item.items {
                    if let TraitItem::Fn(function) = member {
                        add(&page, path(&function.sig), &function.attrs, &function.sig);
                    }
                }
            }
            Item::Struct(syn::ItemStruct { attrs, .. }) | Item::Enum(syn::ItemEnum { attrs, .. }) => {
                own.push((page.clone(), examples(&documentation(attrs))));
                let blocks = impls.get(&page).into_iter().flatten().map(|one| one.block);
                for member in blocks.filter(|block| block.trait_.is_none()).flat_map(|block| &block.items) {
                    if let ImplItem::Fn(function) = member
                        && matches!(function.vis, Visibility::Public(_))
                    {
                        add(&page, path(&function.sig), &function.attrs, &function.sig);
                    }
                }
            }
            _ => {}
        }
    }
    for (page, code) in own {
        pages.entry(page).or_default().push_str(&code);
    }
    let is_shown = |(page, name): &((Names, String), String)| {
        let around = modules.iter().filter(|(module, _)| page.0.starts_with(module)).map(|(_, code)| code);
        pages.get(page).into_iter().chain(around).any(|code| calls(code, name))
    };
    let all = found.into_iter().map(|(key, function)| {
        let is_shown = function.is_shown || is_shown(&key);
        Function { is_shown, ..function }
    });
    all.collect()
}

/// Returns the public types that are futures, with their documentation.
pub(crate) fn futures(of: &Crate) -> Vec<(String, String)> {
    let impls = impls(of);
    let mut found = Vec::new();
    for public in of.public() {
        let Some((names, Item::Struct(item))) = public.defined else { continue };
        let is_future = |one: &Impl| {
            let implemented = one.block.trait_.as_ref().and_then(|(path, _)| path.segments.last());
            implemented.is_some_and(|last| last.ident == "Future")
        };
        let all = impls.get(&(names.clone(), item.ident.to_string()));
        if all.is_some_and(|all| all.iter().any(is_future)) {
            found.push((public.path, documentation(&item.attrs)));
        }
    }
    found
}
